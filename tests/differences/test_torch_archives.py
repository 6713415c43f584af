"""Archives of torch.package, and checkpoints in shards, on either side; written here without torch."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from packager import ArchiveError, LegacyFormatError, PackageExporter
from packager._cli import main
from packager._differences import compare_files
from tests.weights.test_torch_packages import STATE, pid, text

LEGACY = Path(__file__).resolve().parents[2] / "fixtures" / "legacy"
BASE = {
    ".data/extern_modules": b"numpy\ntorch\n",
    ".data/python_version": b"3.11.7",
    ".data/0.storage": struct.pack("<2f", 1, 2),
    "net/__init__.py": b"from .layers import scale\n",
    "net/layers.py": b"scale = 2\n",
    "notes/read.txt": b"one\n",
    "m/state.pkl": STATE,
}
# An object that is made by the code of the archive.
OWN = b"\x80\2" + pid(text("reduce_package")) + b"."

Package = Callable[..., Path]


@pytest.fixture
def package(tmp_path: Path) -> Package:
    def write(name: str, entries: Mapping[str, bytes | None]) -> Path:
        path = tmp_path / f"{name}.pt"
        with zipfile.ZipFile(path, "w") as archive:
            for entry, data in {**BASE, **entries}.items():
                if data is not None:
                    archive.writestr(f"{name}/{entry}", data)
        return path

    return write


def told(before: Path, after: Path) -> dict[str, list[Any]]:
    found = compare_files(before, after)
    return {
        "code": [(one.kind, one.old_name, one.name) for one in found.code],
        "changes": [(one.section, str(one)) for one in found.changes],
        "files": [(one.kind, one.name) for one in found.files],
        "keys": [(one.state, one.kind, one.old_keys, one.key) for one in found.keys],
        "tensors": [(one.state, one.key, one.largest) for one in found.tensors],
    }


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"net/layers.py": b"scale = 3\n"}, {"code": [("changed", "", "net.layers")]}),
        (
            {"net/layers.py": None, "net/parts.py": BASE["net/layers.py"]},
            {"code": [("moved", "net.layers", "net.parts")]},
        ),
        ({"net/__init__.py": None}, {"code": [("removed", "", "net")]}),
        ({".data/extern_modules": b"numpy\n"}, {"changes": [("decisions", "torch: extern")]}),
        ({".data/python_version": b"3.12.1"}, {"changes": [("environment", "python: 3.11.7 -> 3.12.1")]}),
        ({"notes/read.txt": b"two\n"}, {"files": [("changed", "notes/read.txt")]}),
        ({"notes/more.bin": b"\0"}, {"files": [("added", "notes/more.bin")]}),
        (
            {".data/0.storage": struct.pack("<2f", 1, 4)},
            {"tensors": [("m/state.pkl", "w", 2.0)]},
        ),
        (
            {"m/state.pkl": STATE.replace(text("w"), text("v"))},
            {"files": [("changed", "m/state.pkl")], "keys": [("m/state.pkl", "renamed", ("w",), "v")]},
        ),
        ({"m/state.pkl": None, ".data/0.storage": None}, {"files": [("removed", "m/state.pkl")]}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_each_change_of_an_archive_of_torch_package_is_told_once(
    package: Package, entries: Mapping[str, bytes | None], expected: dict[str, list[Any]]
) -> None:
    found = told(package("old", {}), package("new", entries))
    assert {section: changes for section, changes in found.items() if changes} == expected


def test_archives_that_differ_in_their_name_alone_are_equal(package: Package) -> None:
    """Also with a pickle that is of no use as data: then what it refers to is compared by its bytes."""
    for more in ({}, {"m/own.pkl": OWN}):
        assert not compare_files(package("old", more), package("new", more))


def test_behind_a_pickle_that_cannot_be_read_bytes_are_compared(package: Package) -> None:
    old = {"m/own.pkl": OWN, ".data/1.storage": b"\0\0\0\0"}
    found = told(package("old", old), package("new", {**old, ".data/1.storage": b"\0\0\0\1"}))
    assert found["files"] == [("changed", ".data/1.storage")]
    assert found["tensors"] == []


def test_a_storage_that_no_tensor_shows_is_no_equal_one(package: Package) -> None:
    one, other = ({".data/7.storage": data} for data in (b"\0\0\0\0", b"\0\0\0\1"))
    assert told(package("old", one), package("new", other))["files"] == [("changed", ".data/7.storage")]


def test_an_archive_of_torch_package_is_a_state_dict_beside_other_files(
    package: Package, tmp_path: Path
) -> None:
    np.savez(tmp_path / "w.npz", w=np.array([1, 3], "f4"))
    found = compare_files(package("old", {}), tmp_path / "w.npz")
    assert [(one.key, one.largest) for one in found.tensors] == [("w", 1.0)]
    assert not compare_files(LEGACY / "package.pt", LEGACY / "package.pt")


# --- shards ---


def shards(folder: Path, state: Mapping[str, Any]) -> Path:
    """Write a folder as libraries of language models do: two files, an index, a configuration."""
    folder.mkdir()
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    places = {key: names[number % 2] for number, key in enumerate(state)}
    for name in names:
        save_file({key: state[key] for key in state if places[key] == name}, folder / name)
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text("{}")
    return folder


WEIGHTS = {"a.weight": np.ones((2, 2), "f4"), "a.bias": np.zeros(2, "f4"), "b.weight": np.full(3, 2.0)}


def test_folders_of_shards_are_compared_with_each_other_files_and_archives(tmp_path: Path) -> None:
    old = shards(tmp_path / "old", WEIGHTS)
    new = shards(tmp_path / "new", {"b.bias": np.full(5, 9.0), **WEIGHTS, "a.bias": np.full(2, 0.5, "f4")})
    save_file(WEIGHTS, tmp_path / "one.safetensors")
    with PackageExporter(tmp_path / "one.kellet", prove=False) as exporter:
        exporter.save_state_dict("net", "weights", WEIGHTS)
    index = old / "model.safetensors.index.json"
    for side in (old, index, tmp_path / "one.safetensors", tmp_path / "one.kellet"):
        assert not compare_files(side, old)
        assert not compare_files(old, side)
        found = compare_files(side, new)
        assert [(one.kind, one.key) for one in found.keys] == [("added", "b.bias")]
        assert [(one.key, one.largest) for one in found.tensors] == [("a.bias", 0.5)]


def test_shards_of_torch_are_compared_by_their_folder_or_index() -> None:
    folder = LEGACY / "conjugated_shards"
    assert not compare_files(folder, folder / "model.bin.index.json")
    found = compare_files(folder, LEGACY / "conjugated_zip.pt")
    assert "conj" not in {one.key for one in found.keys if one.kind == "removed"}


def test_a_folder_with_two_indices_of_shards_is_refused_with_both(tmp_path: Path) -> None:
    folder = shards(tmp_path / "both", WEIGHTS)
    (folder / "pytorch_model.bin.index.json").write_text("{}")
    with pytest.raises(
        ArchiveError,
        match=r"name the file that holds the weights: "
        r"model\.safetensors\.index\.json, pytorch_model\.bin\.index\.json$",
    ):
        compare_files(folder, folder)


# --- a name for one of several ---


def test_a_name_need_be_on_the_side_alone_that_holds_several(
    package: Package, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with PackageExporter(tmp_path / "two.kellet", prove=False) as exporter:
        exporter.save_state_dict("net", "best", WEIGHTS)
        exporter.save_state_dict("net", "last", {"w": np.array([1, 2], "f4")})
    assert not compare_files(tmp_path / "two.kellet", package("old", {}), unwrap="net/last")
    folder = shards(tmp_path / "shards", WEIGHTS)
    assert not compare_files(folder, tmp_path / "two.kellet", unwrap="net/best")
    assert main(["diff", str(folder), str(tmp_path / "two.kellet"), "--unwrap", "net/lost"]) == 3
    said = capsys.readouterr().err
    assert "'net/lost' is in neither file" in said
    assert "The archive holds net/best, net/last" in said
    with pytest.raises(LegacyFormatError, match="no 'net/best' in the archive; it holds"):
        compare_files(package("two", {"m/other.pkl": STATE}), tmp_path / "two.kellet", unwrap="net/best")
