"""Files of arrays that say by a header what is in them: `.safetensors`, `.npy`, folders of these, and `.npz`.

Headers are read by rule, pickles in `.npy` files never.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from packager._archive import ELSEWHERE, MAX_HEADER, MAX_RANK, parse_header, shown_key
from packager._tensors import ITEMSIZE, SPELLED, WORDS, contiguous_strides, itemsize_of
from packager._texts import counted, listed, without_addresses
from packager.errors import ArchiveError, LegacyFormatError

from .legacy_bounds import MAX_NUMPY_BRACKETS, MAX_NUMPY_HEADER
from .legacy_tensors import LegacyFile, LegacyStorage, LegacyTensor, checked_tensor
from .zip_files import ZipFile

NPY_START: Final = b"\x93NUMPY"

_NUMBERS: Final = {dtype.code[1:]: dtype.name for dtype in SPELLED.values() if dtype.code}


class NotNumbersError(LegacyFormatError):
    """An array has elements other than numbers: Python objects, texts, dates, records."""


def is_safetensors(file: LegacyFile) -> bool:
    """Return whether a file starts as one of safetensors does."""
    head = bytes(file.read(0, min(9, file.size)))
    return head[8:] == b"{" and int.from_bytes(head[:8], "little") <= min(file.size - 8, MAX_HEADER)


def read_safetensors(file: LegacyFile) -> tuple[dict[str, LegacyTensor], Mapping[str, str]]:
    """Return the tensors of a file in the order of their bytes, and its `__metadata__`.

    Raises LegacyFormatError for a header that does not describe every byte once, for packed dtypes of fewer
    than eight bits, and for a member of an archive that shares tensors with others.
    """
    length = int.from_bytes(file.read(0, min(8, file.size)), "little")
    try:
        header = parse_header(
            file.read(0, min(file.size, 8 + min(length, MAX_HEADER))), file.size, what=file.name
        )
    except ArchiveError as error:
        raise LegacyFormatError(str(error)) from error
    if ELSEWHERE in header.metadata:
        members = header.metadata[ELSEWHERE].splitlines()
        raise LegacyFormatError(
            f"{file.name}: it was taken out of an archive, where some of its tensors lie in "
            f"{listed([*map(repr, members)])}; read the state dict from the archive, or convert that"
        ).holding(members)
    packed = {key: tensor.dtype for key, tensor in header.tensors.items() if tensor.dtype not in ITEMSIZE}
    if packed:
        key, dtype = next(iter(packed.items()))
        raise LegacyFormatError(
            f"{file.name}: {counted(len(packed), 'tensor')} of packed dtypes, as {shown_key(key)} of "
            f"{dtype}; only elements of whole bytes are read"
        )
    found = {}
    for key in [*header.tensors]:
        tensor = header.tensors.pop(key)  # both forms of all would be more than eight times the header
        nbytes, first = tensor.stop - tensor.start, header.data_start + tensor.start
        storage = LegacyStorage(key, WORDS[tensor.dtype].name, nbytes, file.read, first)
        try:
            found[key] = checked_tensor(
                storage, storage.dtype, 0, tensor.shape, contiguous_strides(tensor.shape)
            )
        except ValueError as error:
            raise LegacyFormatError(f"{file.name}, tensor {shown_key(key)}: {error}") from error
    return found, header.metadata


def is_npz(members: ZipFile) -> bool:
    """Return whether a zip file holds arrays of NumPy and nothing else."""
    return bool(members) and all(name.endswith(".npy") for name in members)


def read_npz(
    file: LegacyFile, members: ZipFile, left_out: Callable[[str, NotNumbersError], None]
) -> dict[str, LegacyTensor]:
    """Return the arrays of a `.npz` file by name; `left_out` is told of those that are not numbers."""
    found = {}
    for name in members:
        key = name.removesuffix(".npy")
        head = members.head(name, MAX_NUMPY_HEADER + 12)
        try:
            found[key] = _read_array(
                f"{file.name}: {name}", members[name].file_size, head, partial(members.read, name)
            )
        except NotNumbersError as error:
            left_out(key, error)
    return found


def read_npy(file: LegacyFile) -> LegacyTensor:
    """Return the array of a `.npy` file."""
    return _read_array(file.name, file.size, _head(file), file.read)


def _head(file: LegacyFile) -> memoryview:
    return file.read(0, min(file.size, MAX_NUMPY_HEADER + 12))


def read_npy_folder(
    folder: Path, left_out: Callable[[str, NotNumbersError], None]
) -> dict[str, LegacyTensor]:
    """Return the arrays of a folder of `.npy` files, by their paths inside it without the ending.

    Folders inside are walked, links are not followed. A path "encoder/0/weight.npy" is the key
    "encoder.0.weight". Raises LegacyFormatError where two files give one key.
    """
    found: dict[str, LegacyTensor] = {}
    for path in _files(folder):
        key = ".".join(path.relative_to(folder).with_suffix("").parts)
        if key in found:
            raise LegacyFormatError(f"{folder}: two files give the key {key!r}; rename one of them")
        try:
            with LegacyFile(path) as file:  # a folder may have more files than a process may have open
                found[key] = _read_array(file.name, file.size, _head(file), reopening(path, file))
        except NotNumbersError as error:
            left_out(key, error)
    return found


def reopening(path: Path, before: LegacyFile) -> Callable[[int, int], memoryview]:
    """Return what opens a file for each read, as long as it is the one that it was before."""
    stamp = before.stamp

    def read(start: int, stop: int) -> memoryview:
        with LegacyFile(path) as file:
            if file.stamp != stamp:
                raise LegacyFormatError(f"{path}: it has changed since it was opened; open it again")
            return file.read(start, stop)

    return read


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix == ".npy":
            yield path


def _read_array(
    what: str, size: int, begin: memoryview, read: Callable[[int, int], memoryview]
) -> LegacyTensor:
    head = bytes(begin[:12])
    if head[:6] != NPY_START or head[6:7] not in (b"\1", b"\2", b"\3"):
        raise LegacyFormatError(
            f"{what}: found {head[:8]!r}; expected {NPY_START!r} and a version from 1 to 3. The file is "
            "damaged, or no array of NumPy: get another copy, or save it again with numpy.save"
        )
    if len(head) < 12:
        raise LegacyFormatError(f"{what}: cut short after {len(head)} bytes; get another copy")
    width = 2 if head[6] == 1 else 4
    length = int.from_bytes(head[8 : 8 + width], "little")
    start = 8 + width + length
    if length > MAX_NUMPY_HEADER or start > size:
        raise LegacyFormatError(
            f"{what}: a header of {length} bytes in {size}; expected a short one inside, of at most "
            f"{MAX_NUMPY_HEADER}"
        )
    text = bytes(begin[8 + width : start])
    dtype, big_endian, fortran, shape = _header(what, text)
    expected = itemsize_of(dtype)
    for extent in shape:
        expected *= extent
    if expected != size - start:
        raise LegacyFormatError(
            f"{what}: {size - start} bytes of data; expected {expected} for {dtype} {list(shape)}"
        )
    order = shape[::-1] if fortran else shape
    strides = contiguous_strides(order)
    storage = LegacyStorage(what, dtype, size - start, lambda low, high: read(start + low, start + high))
    try:
        return checked_tensor(storage, dtype, 0, shape, strides[::-1] if fortran else strides, big_endian)
    except ValueError as error:
        raise LegacyFormatError(f"{what}: {error}") from error


def _header(what: str, text: bytes) -> tuple[str, bool, bool, tuple[int, ...]]:
    """Return dtype, byte order, order of axes and shape."""
    try:
        # Only literals are read, and no more of them than such a header has.
        brackets = sum(map(text.count, (b"(", b"[", b"{")))
        if brackets > MAX_NUMPY_BRACKETS:
            raise ValueError(f"{brackets} brackets, at most {MAX_NUMPY_BRACKETS} are read")
        if b"**" in text:
            raise ValueError("a power is no literal")
        found: Any = ast.literal_eval(text.decode("utf-8").strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise LegacyFormatError(
            f"{what}: a header that is no dict of NumPy ({without_addresses(error)})"
        ) from None
    if type(found) is not dict or set(found) != {"descr", "fortran_order", "shape"}:
        raise LegacyFormatError(
            f"{what}: found a header of other entries; expected descr, fortran_order and shape. The file is "
            "damaged: get another copy, or save it again with numpy.save or numpy.savez"
        )
    descr, fortran, shape = found["descr"], found["fortran_order"], found["shape"]
    if type(fortran) is not bool or type(shape) is not tuple or len(shape) > MAX_RANK:
        raise LegacyFormatError(f"{what}: a header with a shape or an order that cannot be")
    if not all(type(n) is int and 0 <= n < 1 << 63 for n in shape):
        raise LegacyFormatError(f"{what}: a header with the shape {str(shape)[:80]}")
    order, code = (descr[:1], descr[1:]) if type(descr) is str else ("", "")
    if order not in ("<", ">", "|", "=") or code not in _NUMBERS:
        why = (
            "of Python objects, which only a pickle holds"
            if descr == "|O"
            else f"of dtype {str(descr)[:80]!r}"
        )
        raise NotNumbersError(f"{what}: an array {why}; only numbers are read")
    return _NUMBERS[code], order == ">", fortran, shape
