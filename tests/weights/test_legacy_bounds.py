"""Each side of the bounds on files of weights: what has exactly so many is read, and one more is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from packager._weights import legacy_bounds, open_checkpoint
from packager._weights.torch_packages import open_torch_package
from packager.errors import LegacyFormatError


def npy(path: Path, header: str) -> Path:
    text = header.encode()
    path.write_bytes(b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + bytes(4))
    return path


def header_of(extra: str = "", size: int = 0) -> str:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1,){extra}}}"
    return text.ljust(size)


def test_a_header_of_numpy_has_as_many_bytes_as_numpy_reads(tmp_path: Path) -> None:
    path = npy(tmp_path / "a.npy", header_of(size=10_000))
    assert open_checkpoint(path)["a"].numpy().tolist() == [0.0]
    assert np.load(path).tolist() == [0.0]
    npy(path, header_of(size=10_001))
    with pytest.raises(LegacyFormatError, match=r"a header of 10001 bytes in 10017; .* of at most 10000"):
        open_checkpoint(path)
    with pytest.raises(ValueError, match="max_header_size"):
        np.load(path)


@pytest.mark.parametrize(
    ("brackets", "message"), [(198, "of other entries"), (199, "201 brackets, at most 200 are read")]
)
def test_brackets_of_a_header_are_counted(tmp_path: Path, brackets: int, message: str) -> None:
    path = npy(tmp_path / "a.npy", header_of(extra=", 'x': [" + "(), " * (brackets - 1) + "]"))
    with pytest.raises(LegacyFormatError, match=message):
        open_checkpoint(path)


def test_an_index_names_as_many_files_as_may_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "model.safetensors.index.json"
    for count in (900, 901):
        index.write_text(json.dumps({"weight_map": {f"k{n}": f"{n}.safetensors" for n in range(count)}}))
        message = "it names 901 files, each of which would be held open; expected at most 900; join some"
        with pytest.raises(
            (LegacyFormatError, FileNotFoundError), match=message if count > 900 else "no such"
        ):
            open_checkpoint(index)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return tmp_path / "old.pt"


def write(path: Path, externs: bytes, text: bytes = b"", method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("old/.data/extern_modules", externs)
        file.writestr("old/text.txt", text)
    return path


def test_the_list_of_modules_of_a_package_is_bounded(package: Path) -> None:
    most = 1 << 20
    assert open_torch_package(write(package, b"numpy\n".ljust(most))).extern_modules == ("numpy",)
    with pytest.raises(
        LegacyFormatError, match="extern_modules has 1048577 bytes; expected a list of modules"
    ):
        open_torch_package(write(package, b"numpy\n".ljust(most + 1))).extern_modules  # it raises


def test_a_resource_unpacks_to_no_more_than_the_file_pays_for(package: Path) -> None:
    free = 4 << 20
    write(package, b"", bytes(free))
    most = free + 4 * package.stat().st_size
    assert open_torch_package(package).load_binary("", "text.txt") == bytes(free)
    opened = open_torch_package(write(package, b"", bytes(most + 4096)))
    with pytest.raises(
        LegacyFormatError, match=r"bytes unpack to a resource of .*; the limit for this file is"
    ):
        opened.load_binary("", "text.txt")
    with pytest.raises(LegacyFormatError, match="bytes unpack to a resource of"):
        opened.load_text("", "text.txt")
    stored = open_torch_package(write(package, b"", bytes(most + 4096), zipfile.ZIP_STORED))
    assert len(stored.load_binary("", "text.txt")) == most + 4096


@pytest.mark.long
def test_the_shards_of_an_index_share_what_is_free(tmp_path: Path) -> None:
    """A kilobyte of a deflated pickle makes lists of a hundred megabytes; an index may name 900 of them."""

    def shards(count: int, lists: int) -> Path:
        for number in range(count):
            with zipfile.ZipFile(tmp_path / f"{number}.bin", "w", zipfile.ZIP_DEFLATED) as file:
                file.writestr("a/data.pkl", pickled(f"k{number}", lists))
                file.writestr("a/data/0", bytes(4))
        places = {f"k{number}": f"{number}.bin" for number in range(count)}
        (tmp_path / "model.bin.index.json").write_text(json.dumps({"weight_map": places}))
        return tmp_path / "model.bin.index.json"

    assert list(open_checkpoint(shards(1, 1_000_000))) == ["k0"]
    assert len(open_checkpoint(shards(20, 60_000))) == 20
    assert list(open_checkpoint(shards(1, 200_000))) == ["k0"]
    with pytest.raises(LegacyFormatError, match=r"0\.bin: a/data\.pkl, offset .* far more objects"):
        open_checkpoint(shards(20, 200_000))
    with pytest.raises(
        LegacyFormatError, match=r"0\.bin: entry .* unpack to a pickle of 1000\d\d\d; the limit"
    ):
        open_checkpoint(shards(20, 1_000_000))


def pickled(key: str, lists: int) -> bytes:
    """A state dict of a tensor, and beside it a list of so many empty ones."""

    def text(value: str) -> bytes:
        return b"X" + len(value).to_bytes(4, "little") + value.encode()

    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\1t" + b"Q"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\0K\1\x85K\1\x85\x89}tR"
    return b"\x80\2}(" + text(key) + tensor + text("lists") + b"](" + b"]" * lists + b"eu."


@pytest.mark.parametrize("header", ["foo()", "{'descr': x}"])
def test_what_is_wrong_with_a_header_is_told_without_an_address(tmp_path: Path, header: str) -> None:
    told = r"a\.npy: a header .* on line 1: (a )?(Call|Name)(\(.*\))?\)$"  # Python 3.14 says more of it
    with pytest.raises(LegacyFormatError, match=told) as refused:
        open_checkpoint(npy(tmp_path / "a.npy", header))
    assert "0x" not in str(refused.value)


def test_a_file_of_objects_alone_is_no_empty_checkpoint(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.array([None]), b=np.array([None]))
    with pytest.raises(LegacyFormatError) as caught:
        open_checkpoint(tmp_path / "a.npz", everything=True, skip_unknown=True)
    assert str(caught.value) == (
        "a.npz: found no array of numbers: each of its 2 entries was left out, the first as a.npz: a.npy: an "
        "array of Python objects, which only a pickle holds; only numbers are read; name another file"
    )


def test_what_is_met_elsewhere_in_the_small_is_as_large_as_was_chosen() -> None:
    """A gigabyte is not tried: `attacks/test_each_bound.py` has a smaller number in the place of these."""
    chosen = {
        "FREE_MEMORY": 64 << 20,
        "MEMORY_PER_BYTE": 32,
        "MAX_MEMORY": 1 << 30,
        "COST_OF_PART": 112,
        "MAX_UNSEEN_KEYS": 2048,
        "COST_OF_LOOK": 16,
        "MAX_PARTS": 2_000_000,
        "FREE_INFLATED": 4 << 20,
        "INFLATED_PER_BYTE": 4,
        "MAX_SHARD_INDEX": 64 << 20,
        "MAX_ZIP_DIRECTORY": 32 << 20,
        "FREE_WRITTEN": 1 << 30,
        "WRITTEN_PER_BYTE": 64,
    }
    assert {name: getattr(legacy_bounds, name) for name in chosen} == chosen
