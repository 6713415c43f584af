"""`.safetensors`, alone or in shards with an index (`*.safetensors.index.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packager.archive import MAX_HEADER, parse_header
from packager.errors import ArchiveError, LegacyFormatError
from packager.tensors import ITEMSIZE, WORDS, contiguous_strides

from .legacy_file import LegacyFile
from .tensors import LegacyStorage, LegacyTensor, checked_tensor


def is_safetensors(file: LegacyFile) -> bool:
    """Whether a file starts as one of safetensors does."""
    head = bytes(file.read(0, min(9, file.size)))
    return head[8:] == b"{" and int.from_bytes(head[:8], "little") <= min(file.size - 8, MAX_HEADER)


def read_safetensors(file: LegacyFile) -> tuple[dict[str, LegacyTensor], Mapping[str, str]]:
    """The tensors of a file in the order of their bytes, and its `__metadata__`.

    Raises LegacyFormatError for a header that does not describe every byte once, and for packed dtypes
    of fewer than eight bits.
    """
    length = int.from_bytes(file.read(0, min(8, file.size)), "little")
    try:
        head = file.read(0, min(file.size, 8 + min(length, MAX_HEADER)))
        header = parse_header(head, file.size, what=file.name)
    except ArchiveError as error:
        raise LegacyFormatError(str(error)) from error
    packed = {key: tensor.dtype for key, tensor in header.tensors.items() if tensor.dtype not in ITEMSIZE}
    if packed:
        key, dtype = next(iter(packed.items()))
        raise LegacyFormatError(
            f"{file.name}: {len(packed)} tensors of packed dtypes, as {key!r} of {dtype}; only elements of "
            "whole bytes are read"
        )
    found = {}
    for key, tensor in header.tensors.items():
        first = header.data_start + tensor.start
        storage = LegacyStorage(
            key, WORDS[tensor.dtype].name, tensor.stop - tensor.start, _reading(file, first)
        )
        try:
            found[key] = checked_tensor(
                storage, storage.dtype, 0, tensor.shape, contiguous_strides(tensor.shape)
            )
        except ValueError as error:
            raise LegacyFormatError(f"{file.name}, tensor {key!r}: {error}") from error
    return found, header.metadata


def _reading(file: LegacyFile, first: int) -> Any:
    return lambda start, stop: file.read(first + start, first + stop)
