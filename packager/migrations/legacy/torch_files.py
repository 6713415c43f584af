"""PyTorch's `.pt`, `.pth` and `.bin`: the zip format of today, and the stream that came before it.

Neither needs PyTorch. Storages are read from the file when their arrays are asked for.
"""

from __future__ import annotations

import io
import mmap
import os
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, Final

from packager.errors import LegacyFormatError

from .pickle_machine import read_pickle
from .tensors import LegacyStorage, itemsize_of, storage_dtype, torch_names

__all__ = ["read_torch_file"]

_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_ZIP: Final = b"PK\x03\x04"


def read_torch_file(path: str | os.PathLike[str]) -> Any:
    """The object of a file that `torch.save` wrote, with LegacyTensor in place of tensors.

    Raises LegacyFormatError for a damaged file, and PickleRefused for one that holds more than data.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            raise LegacyFormatError(f"{path}: the file is empty")
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        name = Path(path).name
        if bytes(data[:4]) == _ZIP:
            return _read_zip(file, data, name)
    return _read_stream(data, name)


def _read_zip(file: BinaryIO, data: memoryview, name: str) -> Any:
    try:
        members = _stored_members(file, data)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError, RuntimeError) as error:
        raise LegacyFormatError(f"{name}: a damaged zip file: {error}") from None
    pickles = [member for member in members if member.rpartition("/")[2] == "data.pkl"]
    if len(pickles) != 1:
        raise LegacyFormatError(
            f"{name}: {len(pickles)} entries called data.pkl; a file of torch.save has one (an archive of "
            "torch.package or TorchScript is another format)"
        )
    root = pickles[0].rpartition("/")[0]
    order = bytes(members.get(f"{root}/byteorder", memoryview(b"little")))
    if order != b"little":
        raise LegacyFormatError(f"{name}: byte order {order!r}; only little-endian files are read")

    def persistent(pid: Any) -> LegacyStorage:
        kind, storage, key, _, count = pid
        if kind != "storage" or f"{root}/data/{key}" not in members:
            raise KeyError(f"storage {key!r} is not in the file")
        dtype = storage_dtype(storage)
        found = members[f"{root}/data/{key}"]
        if type(count) is not int or found.nbytes != count * itemsize_of(dtype):
            raise ValueError(f"storage {key!r} has {found.nbytes} bytes, not {count} elements of {dtype}")
        return LegacyStorage(str(key), dtype, found.nbytes, lambda: found)

    return read_pickle(io.BytesIO(members[pickles[0]]), torch_names(), persistent, f"{name}: {pickles[0]}")


def _stored_members(file: BinaryIO, data: memoryview) -> dict[str, memoryview]:
    """The entries of an uncompressed zip file, as views of it; no two may overlap."""
    with zipfile.ZipFile(file) as directory:
        infos = sorted(directory.infolist(), key=lambda info: info.header_offset)
    found: dict[str, memoryview] = {}
    end = 0
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ValueError(f"entry {info.filename!r} is compressed; torch.save stores entries as they are")
        header = data[info.header_offset : info.header_offset + 30]
        if len(header) < 30 or bytes(header[:4]) != _ZIP or info.header_offset < end:
            raise ValueError(f"entry {info.filename!r} does not begin where the directory says")
        start = info.header_offset + 30 + int.from_bytes(header[26:28], "little")
        start += int.from_bytes(header[28:30], "little")
        end = start + info.file_size
        if end > data.nbytes or info.filename in found:
            raise ValueError(f"entry {info.filename!r} is there twice, or ends behind the file")
        found[info.filename] = data[start:end]
    return found


def _read_stream(data: memoryview, name: str) -> Any:
    """Five pickles one after another, then for each storage its number of elements and its bytes."""
    stream = io.BytesIO(data)
    magic = read_pickle(stream, {}, None, f"{name}: magic number")
    protocol = read_pickle(stream, {}, None, f"{name}: protocol")
    if magic != _MAGIC or protocol != _PROTOCOL:
        raise LegacyFormatError(
            f"{name}: not a file of torch.save: it starts with {magic!r} and {protocol!r}"
        )
    system = read_pickle(stream, {}, None, f"{name}: system")
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise LegacyFormatError(f"{name}: written on a big-endian machine; only little-endian files are read")
    storages: dict[str, _StreamStorage] = {}

    def persistent(pid: Any) -> LegacyStorage:
        kind, storage, key, _, count, view = pid
        if kind != "storage" or type(count) is not int or count < 0 or type(key) is not str:
            raise ValueError(f"storage {key!r} of kind {kind!r}")
        whole = storages.setdefault(key, _StreamStorage(key, storage_dtype(storage), count))
        if (whole.dtype, whole.count) != (storage_dtype(storage), count):
            raise ValueError(f"storage {key!r} is described in two ways")
        return whole.part(view)

    root = read_pickle(stream, torch_names(), persistent, f"{name}: object")
    keys = read_pickle(stream, {}, None, f"{name}: storage keys")
    _find_storages(stream, data, name, keys, storages)
    return root


class _StreamStorage:
    """A storage that is described before its bytes are found."""

    def __init__(self, key: str, dtype: str, count: int) -> None:
        self.key = key
        self.dtype = dtype
        self.count = count
        self.data = memoryview(b"")

    def part(self, view: Any) -> LegacyStorage:
        """The whole storage, or the run of it that old files call a view of it."""
        size = itemsize_of(self.dtype)
        start, count = 0, self.count
        if view is not None:
            _, start, count = view
            if (
                type(start) is not int
                or type(count) is not int
                or not 0 <= start <= start + count <= self.count
            ):
                raise ValueError(f"a view of storage {self.key!r} reaches behind it")
        return LegacyStorage(
            self.key, self.dtype, count * size, lambda: self.data[start * size : (start + count) * size]
        )


def _find_storages(
    stream: io.BytesIO, data: memoryview, name: str, keys: Any, storages: dict[str, _StreamStorage]
) -> None:
    if not isinstance(keys, list) or sorted(map(repr, keys)) != sorted(map(repr, storages)):
        raise LegacyFormatError(f"{name}: the list of storages is not the one that the tensors need")
    for key in keys:
        storage = storages[key]
        start = stream.tell() + 8
        count = int.from_bytes(data[start - 8 : start], "little", signed=True)
        end = start + count * itemsize_of(storage.dtype)
        if count != storage.count or end > data.nbytes:
            raise LegacyFormatError(
                f"{name}, byte {start - 8}: storage {key!r} has {count} elements up to byte {end}; expected "
                f"{storage.count}, and the file ends at {data.nbytes}"
            )
        storage.data = data[start:end]
        stream.seek(end)
    if stream.tell() != data.nbytes:
        raise LegacyFormatError(f"{name}, byte {stream.tell()}: bytes behind the last storage")
