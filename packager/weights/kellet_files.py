"""State dicts in kellet archives, as lazily as those of legacy files."""

from __future__ import annotations

import os
from typing import Any

from packager.archive import ArchiveReader, StateDictRecord, TensorReader
from packager.errors import LegacyFormatError
from packager.objects import open_state_dict
from packager.tensors import SPELLED, dtype_of_stored, itemsize_of

from .tensors import LegacyStorage, LegacyTensor, checked_tensor


def read_kellet(
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
    try:
        name = raw or dtype_of_stored(spec.dtype)
        dtype = SPELLED[name].name if name in SPELLED else name
        size = itemsize_of(dtype)
    except (TypeError, ValueError) as error:
        shown = raw or spec.dtype
        raise LegacyFormatError(f"tensor {key!r} has dtype {shown!r}, which is not one of numbers") from error
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
