"""What `inspect`, `extract` and `why` tell of an archive beyond its lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from packager import PackageExporter
from packager._cli import main

Project = Callable[[Mapping[str, str]], Path]
Out = Callable[..., str]


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Out:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, code: int = 0) -> str:
        assert main(arguments) == code
        said = capsys.readouterr()
        return said.err if code else said.out

    return call


def test_extract_names_the_tensors_that_a_safetensors_header_has_no_place_for(out: Out) -> None:
    weights = np.ones((4, 4), "f4")
    many = {f"tied.{number:02}": weights for number in range(9)}
    with PackageExporter("net.kellet", prove=False) as exporter:
        exporter.save_state_dict(
            "net", "tied", {"a": weights, "b": weights, "c": weights.T, "own": np.zeros(3)}
        )
        exporter.save_state_dict("net", "many", {**many, "part": weights[1:], "turned": weights.T})
        exporter.save_state_dict("net", "plain", {"x": np.arange(5)})
    lacking = "net/tied: as safetensors it lacks b (the bytes of a), c (the bytes of a)"
    assert out("extract", "net.kellet", "some", "net/tied", "net/plain") == (
        f"some: 2 files of net.kellet\n{lacking}\n"
    )
    lines = out("extract", "net.kellet", "all").splitlines()
    assert lines[0] == "all: 8 files of net.kellet"
    assert lacking in lines


def test_extract_names_ten_of_many(out: Out) -> None:
    weights = np.ones(4)
    with PackageExporter("net.kellet", prove=False) as exporter:
        exporter.save_state_dict("net", "many", {f"k{number:02}": weights for number in range(14)})
    lines = out("extract", "net.kellet", "all").splitlines()[1:]
    assert max(map(len, lines)) <= 80
    said = " ".join(line.strip() for line in lines)
    assert said.startswith("net/many: as safetensors it lacks k01 (the bytes of k00), k02 (the bytes of k00)")
    assert said.endswith("k10 (the bytes of k00) and 3 more")


def test_inspect_lists_licences_by_what_they_stand_over(
    out: Out, project: Project, installed: Callable[..., Path]
) -> None:
    net = {"shop/__init__.py": "import inked, msgpack", "shop/own.py": "# SPDX-License-Identifier: 0BSD\n"}
    project({**net, "pyproject.toml": '[project]\nlicense = "ISC"\n'})
    installed("inked", {"inked.py": ""}, origin=None)
    with PackageExporter("net.kellet", policy="auto", prove=False) as exporter:
        exporter.intern("inked")
        exporter.save_module("shop")
        exporter.save_module("shop.own")
    lines = out("inspect", "net.kellet").split("licences:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split() for line in lines] == [
        ["inked", "none", "found", "2", "files"],
        ["shop", "0BSD", "1", "file"],
        ["shop", "ISC", "1", "file"],
        ["msgpack", "Apache-2.0", "at", "the", "target"],
    ]
    told = json.loads(out("inspect", "net.kellet", "--json"))["licenses"]
    assert told["stored"]["shop/own.py"] == [{"text": "0BSD", "source": "header"}]
    assert told["distributions"] == {"msgpack": [{"text": "Apache-2.0", "source": "expression"}]}


def test_inspect_reads_folders_of_arrays(out: Out) -> None:
    Path("arrays").mkdir()
    np.save("arrays/a.npy", np.ones(3))
    np.save("arrays/b.npy", np.ones((2, 2), "f4"))
    assert out("inspect", "arrays") == (
        "arrays: no archive of packager, but weights (npy)\n"
        "    kellet convert makes an archive of them\n"
        "    kellet suggest-migration drafts how they fit a model of today\n"
        "tensors:\n    a    float64  [3]\n    b    float32  [2, 2]\n\n"
    )
    assert [row["key"] for row in json.loads(out("inspect", "arrays", "--json"))["tensors"]] == ["a", "b"]


def test_inspect_says_of_another_folder_what_it_is_not(out: Out) -> None:
    Path("arrays").mkdir()
    said = out("inspect", "arrays", code=3)
    assert said.startswith(
        "kellet: arrays: neither an archive nor a file of weights.\n  As an archive: folder"
    )
    assert said.endswith("To look into a package before it is exported: kellet plan PACKAGE\n")


def test_inspect_never_reads_a_damaged_archive_as_something_else(out: Out) -> None:
    Path("net/.data").mkdir(parents=True)
    Path("net/.data/manifest.msgpack").write_bytes(b"no manifest")
    np.save("net/a.npy", np.ones(3))
    assert "manifest" in out("inspect", "net", code=3)


def test_inspect_shows_that_an_archive_carries_the_loader(project: Project, out: Out) -> None:
    project({"runnet.py": "import sys\n"})
    with PackageExporter("net.kellet", policy="auto", runnable=True, prove=False) as exporter:
        exporter.save_module("runnet")
    said = out("inspect", "net.kellet")
    assert "\nrunnable: it carries its loader, and `python FILE --info` starts it\n" in said
    assert json.loads(out("inspect", "net.kellet", "--json"))["runnable"] is True


def test_why_shows_who_imports_modules_of_a_package(project: Project, out: Out) -> None:
    """`from whypkg.sub import x` brings whypkg, too: its own importers alone would explain nothing."""
    project(
        {
            "whyshop.py": "from whypkg.sub import x\nimport whypkg.deep.more\n",
            "whypkg/__init__.py": "",
            "whypkg/sub.py": "from whypkg.deep import more\nx = 1\n",
            "whypkg/deep/__init__.py": "",
            "whypkg/deep/more.py": "",
        }
    )
    with PackageExporter("net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_module("whyshop")
    lines = out("why", "net.kellet", "whypkg").splitlines()
    assert lines[0] == "whypkg: intern by preset auto (project code)"
    assert "    whyshop at whyshop.py:1, which imports whypkg.sub" in lines
    assert "    whyshop at whyshop.py:2, which imports whypkg.deep.more" in lines
    assert not [line for line in lines if "whypkg.sub at" in line and "which imports" in line]
    found = json.loads(out("why", "net.kellet", "whypkg", "--json"))
    assert [site["line"] for site in found["submodules"]["whypkg.sub"]] == [1]
