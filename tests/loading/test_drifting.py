"""Golden calls with a trace: where an answer is off, the submodule, its place and the versions are named."""

from __future__ import annotations

import importlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from packager import PackageExporter, PackageImporter, PackagingError, verify
from packager._archive import ArchiveWriter, CheckRecord, EntryPoint, Manifest, TraceRecord, add_tensors
from packager._cli import main
from packager._differences import compare_files
from packager.errors import ArgumentError

NET = """
from kellet import nn
import driftlib

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.act = nn.ReLU()
    def forward(self, x):
        return driftlib.scaled(self.act(self.linear(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), nn.Linear(4, 2)
    def forward(self, x):
        return self.second(self.first(x))
"""
X = np.ones((3, 4), "float32")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, float], None]]:
    """Install `driftlib` in a version, with the factor that it scales by, and a neighbour that never runs."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))

    def install(version: str, factor: float) -> None:
        for info in folder.glob("*.dist-info"):
            for file in info.iterdir():
                file.unlink()
            info.rmdir()
        for name, requires in (("driftlib", "Requires-Dist: aside\n"), ("aside", "")):
            info = folder / f"{name}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}", encoding="utf-8"
            )
            (info / "RECORD").write_text(f"{name}.py,,\n{info.name}/METADATA,,\n", encoding="utf-8")
        (folder / "aside.py").write_text("", encoding="utf-8")
        (folder / "driftlib.py").write_text(f"def scaled(x):\n    return x * {factor}\n", encoding="utf-8")
        sys.modules.pop("driftlib", None)
        importlib.invalidate_caches()

    install("1.0", 1.0)
    yield install
    sys.modules.pop("driftlib", None)


@pytest.fixture
def archive(project: Any, library: Any, tmp_path: Path) -> Path:
    """A net that scales with a library, with a traced golden call."""
    project({"driftnet.py": NET})
    return packed(tmp_path / "net.kellet")


def packed(path: Path, *, trace: bool = True) -> Path:
    net = importlib.import_module("driftnet").Net()
    for parameter in net.parameters():
        parameter.data.fill_(0.25)
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", net)
        exporter.save_example("model", {"arg0": X}, trace=trace)
    return path


def test_an_answer_that_comes_back_is_looked_into_no_further(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        [outcome] = importer.check()
    assert (outcome.traced, outcome.drift) == (True, None)
    assert outcome.within(0)


def test_the_submodule_its_place_and_the_versions_that_changed_are_named(archive: Path, library: Any) -> None:
    library("1.1", 1.5)
    with PackageImporter(archive) as importer:
        [outcome] = importer.check()
    found = outcome.drift
    assert found is not None
    assert (found.first.path, found.first.kind, found.first.part) == ("first", "driftnet:Block", "output")
    assert (found.file, found.line) == (
        "driftnet.py",
        NET.splitlines().index("    def forward(self, x):") + 1,
    )
    assert [(one.name, one.recorded, one.found, one.runs) for one in found.distributions] == [
        ("driftlib", "1.0", "1.1", True),
        ("aside", "1.0", "1.1", False),
    ]
    assert sys.getprofile() is None


def test_within_the_tolerance_that_is_asked_for_nothing_is_named(archive: Path, library: Any) -> None:
    library("1.1", 1.0001)
    with PackageImporter(archive) as importer:
        assert [one.drift for one in importer.check(tolerance=0.1)] == [None]
        assert [one.drift.first.path for one in importer.check() if one.drift] == ["first"]
        with pytest.raises(ArgumentError, match="tolerance=-1: expected 0 or more"):
            importer.check(tolerance=-1)


def test_the_command_says_it_as_text_and_as_json_by_the_same_exit_code(
    archive: Path, library: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    library("1.1", 1.5)
    assert main(["check", str(archive)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[1:] == [
        "model: first differs: first (driftnet:Block, driftnet.py:10)",
        "model:   output: off by 0.625, 5,242,880 ulps",
        "model:   driftlib: recorded 1.0, found 1.1; its code runs in this submodule",
        "model:   aside: recorded 1.0, found 1.1",
    ]
    assert main(["check", str(archive), "--json"]) == 1
    [outcome] = json.loads(capsys.readouterr().out)
    assert (outcome["traced"], outcome["drift"]["first"]["path"], outcome["drift"]["line"]) == (
        True,
        "first",
        10,
    )
    assert main(["check", str(archive), "--tolerance", "10"]) == 0


def test_without_a_trace_the_command_says_how_to_store_one(
    project: Any, library: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project({"driftnet.py": NET})
    file = packed(tmp_path / "net.kellet", trace=False)
    with PackageImporter(file) as importer:
        assert importer.manifest.traces == ()
    library("1.0", 1.5)
    assert main(["check", str(file)]) == 1
    assert "no trace is stored, so the part of the model that differs is unknown" in (capsys.readouterr().err)


def test_the_command_stores_traces_and_shows_that_it_has(
    project: Any, library: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project({"driftnet.py": NET})
    np.savez(tmp_path / "x.npz", arg0=X)
    file = str(tmp_path / "net.kellet")
    told = ["export", "driftnet:Net", "--example", str(tmp_path / "x.npz"), "--no-proof", "-o", file]
    assert main([*told, "--trace-calls"]) == 0
    capsys.readouterr()
    assert main(["inspect", file]) == 0
    assert "model  model        trace of its submodules, " in capsys.readouterr().out
    assert main(["verify", file, "--deep"]) == 0
    page = tmp_path / "page.html"
    assert main(["report", file, "-o", str(page)]) == 0
    assert "what its submodules took and gave" in page.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_a_step_of_a_pipeline_of_another_library_is_named(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(40, 4))
    pipeline = Pipeline([("scale", StandardScaler()), ("parts", PCA(2)), ("answer", LinearRegression())])
    pipeline.fit(x, x[:, 0])
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", pipeline)
        exporter.save_entry_point("model", "model", "model", "predict")
        exporter.save_example("model", {"X": x}, trace=True)
    own = PCA._transform
    with PackageImporter(file) as importer, pytest.MonkeyPatch.context() as patch:
        patch.setattr(PCA, "_transform", lambda self, *args, **kwargs: own(self, *args, **kwargs) * 1.5)
        [outcome] = importer.check()
    assert outcome.drift is not None
    assert (outcome.drift.first.path, outcome.drift.first.method) == ("steps.parts", "transform")
    assert outcome.drift.file.endswith("_base.py")


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_an_object_without_parts_is_named_itself() -> None:
    x = np.arange(6.0).reshape(3, 2)
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", LinearRegression().fit(x, x[:, 0]))
        exporter.save_entry_point("model", "model", "model", "predict")
        exporter.save_example("model", {"X": x}, trace=True)
    own = LinearRegression._decision_function
    with PackageImporter(file) as importer, pytest.MonkeyPatch.context() as patch:
        patch.setattr(LinearRegression, "_decision_function", lambda self, x: own(self, x) + 1)
        [outcome] = importer.check()
    assert outcome.drift is not None
    assert (outcome.drift.first.path, outcome.drift.first.part) == ("", "output")
    assert "the object itself (sklearn.linear_model._base:LinearRegression" in next(outcome.drift.lines())


def test_the_same_calls_give_the_same_bytes_and_other_traces_are_a_difference(
    project: Any, library: Any, tmp_path: Path
) -> None:
    project({"driftnet.py": NET})
    one, same = packed(tmp_path / "one.kellet"), packed(tmp_path / "same.kellet")
    assert one.read_bytes() == same.read_bytes()
    without = packed(tmp_path / "without.kellet", trace=False)
    assert str(compare_files(one, without)).splitlines()[-1] == "  ~ trace of model"


def test_a_model_that_asks_for_hooks_cannot_be_traced() -> None:
    from kellet import nn

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", nn.Sequential(nn.ReLU()))
    exporter.save_example("model", {"arg0": X}, trace=True)
    own = nn.ReLU.forward
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nn.ReLU, "forward", lambda self, x: own(self, x) + len(self._forward_hooks))
        with pytest.raises(PackagingError, match="the output differs while it is traced"):
            exporter.close()


def test_a_bad_trace_is_found_by_verifying_and_refused_by_a_check() -> None:
    file = io.BytesIO()
    manifest = Manifest(
        entry_points=(EntryPoint("model", "model", "model"),),
        checks=(CheckRecord("model", "model", "in", "out"),),
        traces=(TraceRecord("model", "trace"),),
    )
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "in", [], [])
        add_tensors(writer, "out", [], [])
        writer.add("trace", b"\xc0", kind="check")
        writer.seal(manifest)
    assert [one.message for one in verify(file).problems] == [
        "trace of check model: found no map, or other keys; expected calls, cut, modules, order and values"
    ]


def test_a_trace_of_no_call_and_one_without_its_entry_are_problems() -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("other", b"", kind="resource")
        writer.seal(Manifest(traces=(TraceRecord("a", "absent"), TraceRecord("b", "other"))))
    assert [one.message for one in verify(file).problems] == [
        "trace of check a names the entry 'absent', which the archive does not have",
        "trace of check b names the entry 'other' of kind resource; expected check",
        "manifest, traces: 'a' is not an example of the archive; expected one of none",
        "manifest, traces: 'b' is not an example of the archive; expected one of none",
    ]
