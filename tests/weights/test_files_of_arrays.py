"""Files of arrays: each part of a header that is wrong, and which bytes are read of a file that is right."""

from __future__ import annotations

import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter
from packager._archive import ArchiveReader, spell_header
from packager._weights import checkpoint as checkpoint_module
from packager._weights import open_checkpoint
from packager._weights.array_files import is_safetensors
from packager._weights.legacy_bounds import MAX_NUMPY_HEADER
from packager._weights.legacy_tensors import LegacyFile, LegacyStorage, LegacyTensor, checked_tensor
from packager._weights.legacy_tensors import _fill as fill
from packager.errors import CheckpointError, LegacyFormatError

# --- the file itself ---


@pytest.fixture
def file(tmp_path: Path) -> LegacyFile:
    (tmp_path / "x").write_bytes(b"abcdef")
    return LegacyFile(tmp_path / "x")


def test_a_file_gives_its_own_bytes(file: LegacyFile) -> None:
    assert (bytes(file.read(0, 6)), bytes(file.read(6, 6)), bytes(file.read(3, 5))) == (b"abcdef", b"", b"de")
    for start, stop in ((-1, 2), (3, 2), (0, 7), (7, 7)):
        with pytest.raises(
            LegacyFormatError, match=f"x: bytes {start} to {stop} were asked for; the file ends at 6"
        ):
            file.read(start, stop)


def test_a_file_that_was_closed_gives_nothing_more(file: LegacyFile) -> None:
    with file as entered:
        assert entered is file
    with pytest.raises(CheckpointError, match="is closed; open it again to read more"):
        file.read(0, 1)


def test_a_file_is_no_folder_and_no_device(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(LegacyFormatError, match=f"{path}: found a folder or device; expected a file"):
            LegacyFile(path)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        LegacyFile(tmp_path / "gone")


# --- tensors ---


def tensor(array: np.ndarray) -> tuple[LegacyTensor, list[tuple[int, int]]]:
    data, reads = memoryview(array.tobytes()), []

    def read(start: int, stop: int) -> memoryview:
        reads.append((start, stop))
        return data[start:stop]

    storage = LegacyStorage("0", str(array.dtype), len(data), read)
    strides = tuple(step // array.itemsize for step in array.strides)
    return checked_tensor(storage, str(array.dtype), 0, array.shape, strides), reads


def test_a_tensor_without_axes_has_no_length() -> None:
    scalar, _ = tensor(np.array(5, "i4"))
    with pytest.raises(TypeError, match=r"len\(\) of a tensor without axes"):
        len(scalar)
    assert (scalar.numpy().item(), scalar[()].numpy().item(), scalar.size, scalar.nbytes) == (5, 5, 1, 4)


@pytest.mark.parametrize("index", [-4, 3])
def test_an_index_lies_inside_of_its_axis(index: int) -> None:
    whole, _ = tensor(np.arange(6, dtype="i4").reshape(3, 2))
    assert [whole[at].numpy().tolist() for at in (-3, 2)] == [[0, 1], [4, 5]]
    with pytest.raises(IndexError, match=f"index {index} of an axis with 3 elements"):
        whole[index]


@pytest.mark.parametrize(
    ("small", "at_once", "reads"),
    [
        (4 * 61, 0, 1),  # 61 elements from the first of the column to its last
        (4 * 61 - 1, 0, 2),
        (0, 1 << 20, 7),  # a run is read at once where a quarter of it is wanted
        (0, 4 * 7, 7),
        (0, 4, 7),
    ],
)
def test_elements_far_apart_are_read_in_runs(
    monkeypatch: pytest.MonkeyPatch, small: int, at_once: int, reads: int
) -> None:
    monkeypatch.setattr("packager._weights.legacy_tensors._SMALL", small)
    monkeypatch.setattr("packager._weights.legacy_tensors._AT_ONCE", at_once)
    array = np.arange(70, dtype="i4").reshape(7, 10)
    column, seen = tensor(array)
    assert column[:, 3].numpy().tolist() == array[:, 3].tolist()
    assert len(seen) == reads
    seen.clear()
    if small == 0:
        assert column[:, ::5].numpy().tolist() == array[:, ::5].tolist()
        assert column[1:3, 2:4].numpy().tolist() == array[1:3, 2:4].tolist()


@pytest.mark.parametrize(("step", "reads"), [(4, 1), (5, 2)])
def test_a_quarter_of_a_run_is_worth_reading_it_whole(
    monkeypatch: pytest.MonkeyPatch, step: int, reads: int
) -> None:
    monkeypatch.setattr("packager._weights.legacy_tensors._SMALL", 0)
    seen: list[tuple[int, int]] = []
    data = memoryview(np.arange(64, dtype="u1").tobytes())

    def read(start: int, stop: int) -> memoryview:
        seen.append((start, stop))
        return data[start:stop]

    array = np.empty((2, 2), "u1")
    # Four elements of a run of 16, and of one more.
    fill(array, LegacyStorage("0", "uint8", 64, read), (15 - (step == 4), 1), 3)
    assert (len(seen), array.tolist()) == (reads, [[3, 4], [18 - (step == 4), 19 - (step == 4)]])


# --- .npy ---

HEADER = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
FLOATS = struct.pack("<2f", 1, 2)


def npy(header: bytes = HEADER, data: bytes = FLOATS, magic: bytes = b"\x93NUMPY", version: int = 1) -> bytes:
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return magic + bytes([version, 0]) + length + header + data


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[bytes], Any]:
    def open_(data: bytes) -> Any:
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.writestr("a.npy", data)
        return open_checkpoint(tmp_path / "x.npz")["a"].numpy().tolist()

    return open_


@pytest.mark.parametrize("version", [1, 2, 3])
def test_arrays_of_each_version_are_read(opened: Callable[[bytes], Any], version: int) -> None:
    assert opened(npy(version=version)) == [1.0, 2.0]
    assert opened(
        npy(version=version, header=HEADER.replace(b"<f4", b">f4"), data=struct.pack(">2f", 1, 2))
    ) == [1, 2]
    assert opened(npy(version=version, header=HEADER.replace(b"(2,)", b"()"), data=FLOATS[:4])) == 1.0
    assert opened(npy(version=max(version, 2), header=HEADER.ljust(MAX_NUMPY_HEADER))) == [1.0, 2.0]
    fortran = HEADER.replace(b"False", b"True").replace(b"(2,)", b"(2, 1)")
    assert opened(npy(version=version, header=fortran)) == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            npy(magic=b"\x93NUMPX"),
            r"found b'\\x93NUMPX\\x01\\x00'; expected b'\\x93NUMPY' and a version from 1 to 3\. The file",
        ),
        (npy(version=0), "expected .* and a version from 1 to 3"),
        (npy(version=4), "expected .* and a version from 1 to 3"),
        (npy()[:11], "cut short after 11 bytes; get another copy"),
        (npy()[:12], r"a header of 57 bytes in 12; expected a short one inside"),
        (npy(data=b"")[:-1], r"a header of 57 bytes in 66; expected a short one inside"),
        (npy(data=b""), r"0 bytes of data; expected 8 for float32 \[2\]"),
        (npy(data=FLOATS + b"x"), r"9 bytes of data; expected 8 for float32 \[2\]"),
        (npy(header=HEADER.replace(b"(2,)", b"[2]")), "a header with a shape or an order that cannot be"),
        (npy(header=HEADER.replace(b"(2,)", b"(" + b"1," * 65 + b")")), "a shape or an order that cannot be"),
        (npy(header=HEADER.replace(b"(2,)", b"(True,)")), r"a header with the shape \(True,\)"),
        (npy(header=HEADER.replace(b"(2,)", b"(2.0,)")), r"a header with the shape \(2\.0,\)"),
        (npy(header=HEADER.replace(b"(2,)", b"(-1, 0)"), data=b""), r"a header with the shape \(-1, 0\)"),
        (
            npy(header=HEADER.replace(b"(2,)", b"(9223372036854775808, 0)"), data=b""),
            r"a header with the shape \(9223372036854775808, 0\)",
        ),
        (npy(header=HEADER.replace(b"(2,)", b"(2**3,)")), r"no dict of NumPy \(a power is no literal\)"),
        (npy(header=HEADER.replace(b"<f4", b"f4")), "of dtype 'f4'; only numbers are read"),
        (npy(header=HEADER.replace(b"'<f4'", b"4")), "of dtype '4'; only numbers are read"),
        (npy(header=HEADER.replace(b"<f4", b"<M8")), "of dtype '<M8'; only numbers are read"),
        (npy(header=b"[1]"), "found a header of other entries; expected descr, fortran_order and shape"),
        (
            npy(header=HEADER.replace(b"}", b"'x': 1}")),
            "a header of other entries; expected descr, fortran_order and shape",
        ),
    ],
)
def test_each_part_of_a_header_is_what_it_has_to_be(
    opened: Callable[[bytes], Any], data: bytes, message: str
) -> None:
    with pytest.raises(LegacyFormatError, match=rf"x\.npz: a\.npy: .*{message}"):
        opened(data)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2305843009213693951, 0)])
def test_arrays_of_nothing_are_read(tmp_path: Path, shape: tuple[int, ...]) -> None:
    (tmp_path / "a.npy").write_bytes(npy(header=HEADER.replace(b"(2,)", str(shape).encode()), data=b""))
    assert open_checkpoint(tmp_path / "a.npy")["a"].shape == shape


def test_shapes_have_64_axes_at_most(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(
        npy(header=HEADER.replace(b"(2,)", b"(" + b"1," * 64 + b")"), data=FLOATS[:4])
    )
    assert open_checkpoint(tmp_path / "a.npy")["a"].shape == (1,) * 64


# --- safetensors ---


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", False),
        (bytes(8), False),
        ((2).to_bytes(8, "little") + b"{}", True),
        ((3).to_bytes(8, "little") + b"{}", False),
        ((1).to_bytes(8, "little") + b"[]", False),
        ((100_000_001).to_bytes(8, "little") + b"{}", False),
    ],
)
def test_a_file_of_safetensors_is_known_by_its_first_bytes(tmp_path: Path, data: bytes, found: bool) -> None:
    (tmp_path / "x").write_bytes(data)
    assert is_safetensors(LegacyFile(tmp_path / "x")) is found


def test_packed_dtypes_of_safetensors_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(
        spell_header([("a", "U8", (1,), 1), ("b", "F4", (2,), 1), ("c", "F4", (4,), 2)], {}) + b"1234"
    )
    with pytest.raises(LegacyFormatError, match=r"x\.safetensors: 2 tensors of packed dtypes, as 'b' of F4"):
        open_checkpoint(path)


# --- the index of shards ---


@pytest.mark.parametrize(("most", "refused"), [(0, False), (1, True)])
def test_an_index_has_so_many_bytes_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, refused: bool
) -> None:
    np.save(tmp_path / "w.npy", np.ones(2))
    index = tmp_path / "x.index.json"
    index.write_text('{"metadata": {"total_size": 8}, "weight_map": {"w": "w.npy"}}')
    monkeypatch.setattr(checkpoint_module, "MAX_SHARD_INDEX", index.stat().st_size - most)
    if refused:
        with pytest.raises(LegacyFormatError, match=f"{index.stat().st_size} bytes; an index has at most 60"):
            open_checkpoint(index)
    else:
        assert open_checkpoint(index)["w"].numpy().tolist() == [1.0, 1.0]


def test_what_a_file_holds_beside_its_state_dict_is_said(tmp_path: Path) -> None:
    held = {"model": {"w": np.ones(2)}, "epoch": 3, "opt": {"m": [np.zeros(1)]}, "note": "x" * 50, "l": [1]}
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("a/data.pkl", pickle.dumps(held, 2))
    found = open_checkpoint(tmp_path / "a.pt")
    assert (found.container, list(found)) == ("model", ["w"])
    assert [(part.path, part.what) for part in found.left_out] == [
        ("epoch", "3"),
        ("opt", "dict of 1 with 1 tensor"),
        ("note", repr("x" * 40)),
        ("l", "list of 1"),
    ]


def test_a_part_is_divided_along_the_axis_that_reaches_furthest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._weights.legacy_tensors._SMALL", 0)
    seen: list[tuple[int, int]] = []
    data = memoryview(bytes(range(100)) * 4)

    def read(start: int, stop: int) -> memoryview:
        seen.append((start, stop))
        return data[start:stop]

    for shape, strides in (((2, 30), (300, 3)), ((30, 2), (3, 300))):
        seen.clear()
        array = np.empty(shape, "u1")
        fill(array, LegacyStorage("0", "uint8", 400, read), strides, 5)
        places = 5 + strides[0] * np.arange(shape[0])[:, None] + strides[1] * np.arange(shape[1])
        assert array.tolist() == (places % 100).tolist()
        assert sorted(seen) == [(5, 93), (305, 393)]


def test_each_shard_is_the_state_dict_in_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "0.bin", "w") as archive:
        archive.writestr("a/data.pkl", pickle.dumps({"model": {"w": np.ones(2)}, "step": 3}, 2))
    index = tmp_path / "x.bin.index.json"
    index.write_text('{"weight_map": {"w": "0.bin"}}')
    for everything in (False, True):
        found = open_checkpoint(index, everything=everything)
        assert (found.format, found.shards, list(found)) == ("torch", 1, ["w"])
        assert [(part.path, part.what) for part in found.left_out] == [("step", "3")]


@pytest.mark.parametrize(("count", "more"), [(10, []), (21, ["    and 11 more"])])
def test_keys_that_a_shard_lacks_are_told_up_to_ten(tmp_path: Path, count: int, more: list[str]) -> None:
    np.save(tmp_path / "w.npy", np.ones(2))
    places = ", ".join(f'"k{n}": "w.npy"' for n in range(count))
    (tmp_path / "x.index.json").write_text(f'{{"weight_map": {{{places}}}}}')
    with pytest.raises(LegacyFormatError) as refused:
        open_checkpoint(tmp_path / "x.index.json")
    first, *rest = str(refused.value).splitlines()
    assert first == f"x.index.json: {count} keys are not where the index says:"
    assert rest == [*(f"    'k{n}': not in w.npy" for n in range(10)), *more]


def test_a_member_that_shares_tensors_with_others_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    weights = {"w": np.arange(2048.0), "b": np.zeros(3)}
    path = tmp_path / "two.kellet"
    with PackageExporter(path, prove=False) as exporter:
        exporter.save_state_dict("run", "first.safetensors", weights)
        exporter.save_state_dict("run", "second.safetensors", weights)
    with ArchiveReader(path) as reader:
        for name in ("first", "second"):
            (tmp_path / f"{name}.safetensors").write_bytes(reader.read(f"run/{name}.safetensors"))
    assert np.array_equal(open_checkpoint(tmp_path / "first.safetensors")["w"], weights["w"])
    with pytest.raises(
        LegacyFormatError, match=r"second\.safetensors: .* lie in 'run/first\.safetensors'; read"
    ):
        open_checkpoint(tmp_path / "second.safetensors")
