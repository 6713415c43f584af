"""One rule for shapes: what no array can have is refused by each reader and writer, in the same words.

NumPy makes no array of (0, 2**62) floats: it counts an axis without elements as one.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kellet
from kellet.errors import FileFormatError
from packager import PackageImporter
from packager._archive import (
    ArchiveWriter,
    Manifest,
    StateDictRecord,
    TensorSpec,
    add_tensors,
    index_name,
    pack,
    parse_header,
    shape_problem,
)
from packager._audit import TrustContext, audit
from packager._objects.records import Kind
from packager._tensors import contiguous_strides
from packager._weights import open_checkpoint, write_checkpoint
from packager.errors import ArchiveError, CheckpointError, LegacyFormatError

Shape = tuple[int, ...]
TOO_LARGE = r"is too large: expected fewer than 2\*\*63 bytes"
AXES = "the shape has 65 dimensions; expected at most 64"
IMPOSSIBLE: dict[str, tuple[Shape, str]] = {
    "long": ((0, 2**62), TOO_LARGE),
    "long before": ((2**62, 0), TOO_LARGE),
    "one byte too many": ((0, 2**61), TOO_LARGE),
    "by several axes": ((3, 0, 2**31, 2**31), TOO_LARGE),
    "longest": ((0, 2**63 - 1), TOO_LARGE),
    "axes": ((0,) * 65, AXES),
    "axes of one": ((0, *[1] * 64), AXES),
}
POSSIBLE: dict[str, Shape] = {
    "longest": (0, 2**60 + 2**59),
    "by several axes": (2**20, 0, 2**40),
    "axes": (0, *[1] * 31),
}


def safetensors(shape: Shape) -> bytes:
    text = json.dumps({"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    return len(text).to_bytes(8, "little") + text


def as_safetensors(folder: Path, shape: Shape) -> Any:
    (folder / "a.safetensors").write_bytes(safetensors(shape))
    return open_checkpoint(folder / "a.safetensors")["w"].numpy()


def as_shards(folder: Path, shape: Shape) -> Any:
    (folder / "1.safetensors").write_bytes(safetensors(shape))
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": "1.safetensors"}}))
    return open_checkpoint(index)["w"].numpy()


def as_npz(folder: Path, shape: Shape) -> Any:
    text = f"{{'descr': '<f4', 'fortran_order': True, 'shape': {shape!r}, }}".encode().ljust(400)
    with zipfile.ZipFile(folder / "a.npz", "w") as file:
        file.writestr("w.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    return open_checkpoint(folder / "a.npz")["w"].numpy()


def pickled(shape: Shape, strides: Shape) -> bytes:
    def numbers(several: Shape) -> bytes:
        return b"(" + b"".join(b"\x8a\x09" + n.to_bytes(9, "little", signed=True) for n in several) + b"t"

    storage = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" + b"0X\3\0\0\0cpuK\1tQ"
    rebuilt = b"K\0" + numbers(shape) + numbers(strides) + b"\x89ccollections\nOrderedDict\n)Rt"
    return b"\x80\2}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n(" + storage + rebuilt + b"Rs."


def as_pt(folder: Path, shape: Shape, strides: Shape | None = None) -> Any:
    with zipfile.ZipFile(folder / "a.pt", "w") as file:
        file.writestr("a/data.pkl", pickled(shape, (1,) * len(shape) if strides is None else strides))
        file.writestr("a/data/0", np.float32(7).tobytes())
    return open_checkpoint(folder / "a.pt")["w"].numpy()


READERS: dict[str, Callable[[Path, Shape], Any]] = {
    "safetensors": as_safetensors,
    "shards": as_shards,
    "npz": as_npz,
    "pt": as_pt,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_a_file_with_a_shape_that_no_array_has_is_refused(case: str, reader: str, tmp_path: Path) -> None:
    shape, message = IMPOSSIBLE[case]
    if message == AXES and reader != "pt":
        message = "at most 64 sizes" if reader in ("safetensors", "shards") else "a shape or an order that"
    with pytest.raises(LegacyFormatError, match=message):
        READERS[reader](tmp_path, shape)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("shape", POSSIBLE.values(), ids=POSSIBLE)
def test_an_empty_array_with_long_axes_is_read_and_written_again(
    shape: Shape, reader: str, tmp_path: Path
) -> None:
    array = READERS[reader](tmp_path, shape)
    assert (array.shape, array.dtype) == (shape, np.float32)
    write_checkpoint(tmp_path / "b.safetensors", {"w": array})
    assert open_checkpoint(tmp_path / "b.safetensors")["w"].numpy().shape == shape
    write_checkpoint(tmp_path / "b.kellet", {"w": array})
    with PackageImporter(tmp_path / "b.kellet", environment="ignore") as importer:
        assert np.asarray(importer.load_state_dict("model", "weights")["w"]).shape == shape
    file = io.BytesIO()
    kellet.save(kellet.from_numpy(array), file)
    assert kellet.load(io.BytesIO(file.getvalue())).shape == shape


class Shaped:
    """A tensor of a library whose tensors have any shape, as those of PyTorch do."""

    dtype, nbytes, size = "float32", 0, 0

    def __init__(self, shape: Shape) -> None:
        self.shape = shape


@pytest.mark.parametrize("ending", ["safetensors", "kellet"])
@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_a_shape_that_no_array_has_is_not_written(
    case: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, message = IMPOSSIBLE[case]
    monkeypatch.setattr("packager._weights.writing.as_lazy", lambda value: value)
    monkeypatch.setattr("packager._weights.writing.bare", lambda value: value)
    with pytest.raises(CheckpointError, match=rf"(?s)tensors that cannot be written:.*'w': .*{message}"):
        write_checkpoint(tmp_path / f"b.{ending}", {"w": Shaped(shape)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_a_shape_that_no_array_has_is_neither_put_into_an_archive_nor_read_from_one(case: str) -> None:
    shape, message = IMPOSSIBLE[case]
    spec = TensorSpec("w", "F32", shape, contiguous_strides(shape), 0, 0)
    with ArchiveWriter(io.BytesIO()) as writer, pytest.raises(ArchiveError, match=f"'w': .*{message}"):
        add_tensors(writer, "m/s", [spec], [memoryview(b"")])
    dims = b"".join(size.to_bytes(8, "little") for size in shape)
    index = pack([1, "w", b"\x11", bytes([len(shape)]), dims, bytes(4), bytes(8), [], {}, []])
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("m/s", safetensors(shape).ljust(64), kind="tensors", align=64)
        writer.add(index_name("m/s"), index, kind="index")
        writer.seal(Manifest(state_dicts=(StateDictRecord("m", "s", "m/s"),)))
    with (
        PackageImporter(file, environment="ignore") as importer,
        pytest.raises(
            ArchiveError, match=r"tensor 'w': found dtype number 17, .*expected a valid dtype and shape"
        ),
    ):
        dict(importer.load_state_dict("m", "s"))


def test_a_tensor_of_an_object_with_a_shape_that_no_array_has_is_refused() -> None:
    def audited(shape: Shape) -> object:
        records = [[Kind.TENSOR, "s", "F32", list(shape), None, 0], [Kind.CODEC, 1, ["<f4"], -1]]
        table = pack([[["records", 1], ["numpy.ndarray", 1]], records, -2])
        return audit(table, TrustContext.data_only(), storages={"s": ("F32", 0)})

    with pytest.raises(ArchiveError, match=f"record 0 .TENSOR.: .*{TOO_LARGE}"):
        audited((0, 2**31, 2**31))
    with pytest.raises(ArchiveError, match="record 1"):  # which says that this one was taken
        audited((0, 2**31, 2**29))


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_kellet_refuses_a_shape_that_no_array_has(case: str) -> None:
    shape, _ = IMPOSSIBLE[case]
    message = f"tensor 'w': no array has the shape {re.escape(str(list(shape)))}"
    with pytest.raises(FileFormatError, match=message):
        kellet.load(io.BytesIO(safetensors(shape)))


def test_kellet_saves_nothing_that_it_could_not_load() -> None:
    """complex128 is kept as bytes, with one axis more."""
    most = len(np.empty((1,) * 32).shape)
    value = np.ones((1,) * (most if np.lib.NumpyVersion(np.__version__) < "2.0.0" else 64), np.complex128)
    file = io.BytesIO()
    with pytest.raises(
        ValueError, match="save: cannot save w: complex128 is kept as bytes, with one axis more"
    ):
        kellet.save({"w": value}, file)
    assert file.getvalue() == b""
    kellet.save({"w": value[0]}, file)
    assert kellet.load(io.BytesIO(file.getvalue()))["w"].shape == value.shape[1:]


@pytest.mark.parametrize("stride", [2**60, 2**61, 2**62, 2**63 - 1])
def test_the_stride_of_an_axis_with_one_element_may_be_any(stride: int, tmp_path: Path) -> None:
    """NumPy has no place for one of 2**63 bytes, and it leads nowhere."""
    assert as_pt(tmp_path, (1,), (stride,)).tolist() == [7]
    assert as_pt(tmp_path, (1, 2), (stride, 0)).tolist() == [[7, 7]]
    with pytest.raises(LegacyFormatError, match="reaches element"):
        as_pt(tmp_path, (2, 1), (stride, 0))


def test_sizes_are_not_negative_and_packed_elements_count_as_bytes() -> None:
    assert shape_problem((0, -1), 32) == "the shape (0, -1) has a negative size"
    assert shape_problem((0, 2**63 - 1), 4) is None
    assert shape_problem((2**63,), 4) is not None
    with pytest.raises(ArchiveError, match=rf"x, tensor 'w': the shape \(0, {2**62}\) is too large"):
        parse_header(safetensors((0, 2**62)), len(safetensors((0, 2**62))), what="x")
