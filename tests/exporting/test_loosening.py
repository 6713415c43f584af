"""Requirements that are loosened: what is recorded, what an older version here is called, what is refused."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter
from packager._archive import ArchiveReader
from packager._cli import main
from packager._environment import Fingerprint
from packager.errors import ArgumentError, PackagingError

Project = Callable[[Mapping[str, str]], Path]
CODE = """
import os
import numpy
class Net:
    def __call__(self, x):
        return x * float(os.environ.get("TIMES", 2))
def build():
    return Net()
"""


@pytest.mark.parametrize("asked", ["numpy", "NumPy>=1.26", "numpy >= 1.26 , < 99"])
def test_the_requirement_is_recorded_beside_the_version_that_was_here(asked: str) -> None:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", loosen=[asked], prove=False) as exporter:
        exporter.save_source_string("net", "import numpy\n")
    with ArchiveReader(file) as reader:
        (extern,) = (row for row in reader.manifest.externs if row.distribution == "numpy")
    assert (extern.version, extern.requirement) == (np.__version__, asked.replace(" ", ""))


def test_what_cannot_be_loosened_so_is_told_at_once() -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto", loosen=["numpy>=99", "torch"], prove=False)
    exporter.save_source_string("net", "import numpy\n")
    with pytest.raises(PackagingError) as caught:
        exporter.close()
    assert str(caught.value).splitlines() == [
        "",
        "* A requirement cannot be loosened like this.",
        "    numpy>=99",
        f"      Context: the installed numpy {np.__version__} does not meet it",
        "    torch",
        "      Context: torch is not required at the target; required: numpy",
    ]


@pytest.mark.parametrize(
    ("loosen", "told"),
    [
        (["numpy @ file:///x"], r"loosen: not a requirement: 'numpy @ file:///x'; expected a name and comp"),
        (["numpy", "NumPy<3"], r"loosen: two requirements of numpy; write one, as numpy>=1,<3"),
        ([3], r"loosen=3: expected requirements as text, found int"),
        ("numpy", r"loosen='numpy': expected a list of requirements, found str"),
    ],
)
def test_what_is_no_requirement_is_told_by_the_constructor(loosen: Any, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        PackageExporter(io.BytesIO(), loosen=loosen, prove=False)


def test_the_command_takes_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project({"loosenet.py": CODE}))
    assert main(["plan", "loosenet:build", "--loosen", "numpy>=1.26"]) == 0
    assert "    numpy  numpy>=1.26  (compiled distribution" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["plan", "loosenet:build", "--loosen", "-e ."])
    assert "argument --loosen: not a requirement: '-e .'" in capsys.readouterr().err
    for asked, told in (
        ("Num_py>=1", "'Num_py>=1': no distribution Num_py is installed here; did you mean numpy?"),
        ("no-such-thing", "'no-such-thing': no distribution no-such-thing is installed here\n"),
    ):
        with pytest.raises(SystemExit, match=r"^2$"):
            main(["export", "loosenet:build", "-o", "net.kellet", "--loosen", asked])
        assert f"argument --loosen: {told}" in capsys.readouterr().err
    assert not Path("net.kellet").exists()
    assert main(["plan", "loosenet:build", "--loosen", "msgpack"]) == 1
    assert "Context: msgpack is not required at the target; required: numpy" in capsys.readouterr().out


@pytest.fixture
def elsewhere(project: Project, monkeypatch: pytest.MonkeyPatch) -> str:
    """An archive with a golden call, made with another Python."""
    monkeypatch.chdir(project({"elsenet.py": CODE}))
    with monkeypatch.context() as there:
        there.setattr(Fingerprint, "here", lambda: Fingerprint("3.99.1", "cpython", "linux-x86_64", "little"))
        from elsenet import build  # type: ignore[import-not-found]  # written above

        with PackageExporter("net.kellet", policy="auto", prove=False) as exporter:
            exporter.save_object("model", "model", build())
            exporter.save_example("model", {"x": np.ones(2)})
    return "net.kellet"


@pytest.mark.filterwarnings("always")
def test_an_archive_that_gives_the_same_bits_is_not_called_a_mismatch(
    elsewhere: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", elsewhere]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out == (
        "model: output: the same bits\n"
        "the environment differs from the recorded one, and the outputs are the same\n"
    )


@pytest.mark.filterwarnings("always")
def test_one_that_gives_others_or_fails_is(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for times, code, told in (("3", 1, "model: output: off by 1 at most\n"), ("no number", 4, "")):
        monkeypatch.setenv("TIMES", times)
        assert main(["check", elsewhere]) == code
        out, err = capsys.readouterr()
        assert out == told
        assert err.startswith(f"kellet: warning: {elsewhere}: the environment is not as recorded:\n")
