"""State dicts in kedge archives, as lazily as those of legacy files."""

from __future__ import annotations

import os
from typing import Any

from packager.archive import ArchiveReader, StateDictRecord, TensorReader
from packager.codecs.numpy_dtypes import dtype_of_stored
from packager.errors import LegacyFormatError
from packager.objects.state_view import open_state_dict

from .tensors import LegacyStorage, LegacyTensor, checked_tensor, itemsize_of

__all__ = ["read_kedge"]

_NAMES = {
    "<f4": "float32", "<f8": "float64", "<f2": "float16", "|b1": "bool", "|u1": "uint8", "|i1": "int8",
    "<u2": "uint16", "<i2": "int16", "<u4": "uint32", "<i4": "int32", "<u8": "uint64", "<i8": "int64",
    "<c8": "complex64", "<c16": "complex128",
}  # fmt: skip


def read_kedge(
    path: str | os.PathLike[str], wanted: str | None = None
) -> tuple[StateDictRecord, dict[str, Any], dict[str, Any] | None, list[str]]:
    """A state dict of an archive: its record, values, per-module metadata, and the names of all of them.

    `wanted` is "package/resource"; it may be left out where there is one. Tensors are lazy, and checked
    against the archive's digests as they are read.
    """
    reader = ArchiveReader(path, mmap=False)
    records = {f"{one.package}/{one.resource}": one for one in reader.manifest.state_dicts}
    if wanted is None and len(records) == 1:
        wanted = next(iter(records))
    if wanted not in records:
        there = ", ".join(records) or "none"
        raise LegacyFormatError(f"{os.fspath(path)}: which state dict? The archive holds {there}")
    record = records[wanted]
    tensors = TensorReader(reader, record.entry)
    extras = None if record.extras is None else reader.read(record.extras)
    view = open_state_dict(tensors, extras, what=f"state dict {wanted}")
    raw = view.raw_dtypes
    storages: dict[tuple[int, str], LegacyStorage] = {}
    state = {
        key: _tensor(tensors, key, raw.get(key), storages) if key in tensors else view[key] for key in view
    }
    return record, state, view._metadata, list(records)


def _tensor(
    tensors: TensorReader, key: str, raw: str | None, storages: dict[tuple[int, str], LegacyStorage]
) -> LegacyTensor:
    spec = tensors[key]
    name = raw or dtype_of_stored(spec.dtype)
    dtype = _NAMES.get(name, name)
    try:
        size = itemsize_of(dtype)
    except TypeError as error:
        raise LegacyFormatError(f"tensor {key!r} has dtype {name!r}, which is not one of numbers") from error
    shape, strides, offset = spec.shape, spec.strides, spec.offset
    if raw is not None:  # rows of bytes, one for each element
        shape, strides, offset = shape[:-1], tuple(stride // size for stride in strides[:-1]), offset // size
    number = spec.storage
    if (number, dtype) not in storages:
        length = tensors.storage_size(number)
        storages[number, dtype] = LegacyStorage(
            f"storage {number}", dtype, length, lambda start, stop: tensors.part(number, start, stop)
        )
    return checked_tensor(storages[number, dtype], dtype, offset, shape, strides)
