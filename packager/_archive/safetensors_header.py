"""The header of a safetensors file, read strictly.

What the safetensors library takes is taken, and what is ambiguous or could hurt is refused: duplicate keys,
fields it does not know, holes, overlaps, sizes that do not follow from dtype and shape. Section 7.1 of
the format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from packager._quick_dataclasses import dataclass
from packager._tensors import DTYPE_BITS
from packager.errors import ArchiveError

from .archive_errors import damaged
from .bounds import MAX_HEADER, MAX_METADATA, MAX_RANK, MAX_TENSORS, most_sizes
from .json_text import OddJson, as_map, read_json, shown_key
from .packed import Packed
from .tensor_index import METADATA, shape_problem, tensor_bytes

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final


@dataclass(frozen=True, slots=True)
class HeaderTensor:
    """One tensor of a header; its bytes lie between `start` and `stop` of the data section."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class SafetensorsHeader:
    """A header: the tensors in the order of their bytes, and where the data section starts."""

    tensors: dict[str, HeaderTensor]
    metadata: Mapping[str, str]
    data_start: int


def parse_header(data: Packed, size: int, *, what: str) -> SafetensorsHeader:
    """Read the header of a safetensors file of `size` bytes strictly.

    `data` is the start of the file, or all of it; `what` names the file in errors. Memory is bounded by the
    header: eight bytes for each of its own, and what is small.

    Raises ArchiveError for anything but a header that describes every byte of the file once; where its
    JSON is at fault, with the byte of the file.

    >>> from packager._archive import spell_header
    >>> file = spell_header([("a", "U8", (2,), 2)], {}) + b"xy"
    >>> parse_header(file, len(file), what="example").tensors
    {'a': HeaderTensor(dtype='U8', shape=(2,), start=0, stop=2)}
    """
    length = int.from_bytes(data[:8], "little")
    if size < 8 or length > min(size - 8, MAX_HEADER, len(data) - 8):
        raise damaged(
            f"{what}, header length", f"{length} in a file of {size} bytes", "a header within the file"
        )
    if data[8:9] != b"{":
        raise damaged(f"{what}, header, byte 8", repr(bytes(data[8:9])), "'{' as its first byte")
    most = (
        3 * MAX_TENSORS + 2,
        5 * MAX_TENSORS + 2 * MAX_METADATA + 1,
        4 * MAX_TENSORS + MAX_METADATA + most_sizes(length),
    )
    found = read_json(
        memoryview(data)[8 : 8 + length],
        what=f"{what}, header",
        most=most,
        free_texts=2 * MAX_METADATA + 1,
        rows_of=_SPELLED,
        first=8,
        made_of=_tensors_or_maps(),
    )
    found = _as_map(found)
    metadata = _checked_metadata(_as_map(found.pop(METADATA, {})), what)
    tensors = _in_order(_checked(found, what, most_sizes(length)))
    _check_cover(tensors, 8 + length, size, what)
    return SafetensorsHeader(tensors, metadata, 8 + length)


def _in_order(tensors: dict[str, HeaderTensor]) -> dict[str, HeaderTensor]:
    """Return the tensors in the order of their bytes: mostly it is the one that they stand in."""
    previous = 0, 0
    for tensor in tensors.values():
        place = tensor.start, tensor.stop
        if place < previous:
            return dict(sorted(tensors.items(), key=lambda item: (item[1].start, item[1].stop)))
        previous = place
    return tensors


def _check_cover(tensors: Mapping[str, HeaderTensor], data_start: int, size: int, what: str) -> None:
    """Demand that the tensors cover every byte of the data section once."""
    position = 0
    for key, tensor in tensors.items():
        if tensor.start != position:
            raise damaged(
                f"{what}, tensor {shown_key(key)}",
                f"its data at byte {tensor.start}",
                f"byte {position}",
            )
        position = tensor.stop
    if data_start + position != size:
        raise damaged(what, f"{size - data_start} bytes of data", f"the {position} that the header describes")


_FIELDS: Final = ("dtype", "shape", "data_offsets")
_SPELLED: Final = ('{"dtype":"', '","shape":[', '],"data_offsets":[')  # as the library writes them
_SHAPES: Final = 1_000  # that are kept once
_MOST_SIZE: Final = 10**19
_OTHER_FORM: Final = "an invalid shape or data_offsets", f"at most {MAX_RANK} sizes, and two offsets"


def _tensors_or_maps() -> Callable[[list[tuple[str, Any]]], Any]:
    """Return what makes the fields of a tensor a tuple, and leaves any other map as it is.

    Dtypes and shapes are few, and kept once: a header of many tensors would take more than eight times its
    bytes.
    """
    kept: dict[Any, Any] = {word: word for word in DTYPE_BITS}

    def made(pairs: list[tuple[str, Any]]) -> Any:
        if len(pairs) > len(_FIELDS) and type(pairs[0][1]) not in (tuple, dict, str):
            raise OddJson("a tensor with unknown fields")  # before it is built
        found = as_map(pairs)
        if len(found) != len(_FIELDS) or not all(field in found for field in _FIELDS):
            return found
        dtype, shape, offsets = (found[field] for field in _FIELDS)
        if type(dtype) is str and {*map(type, (shape, offsets))} == {list} and len(shape) <= MAX_RANK:
            whole = tuple(shape)
            if {*map(type, whole)} <= {int}:
                shape = kept.setdefault(whole, whole) if len(kept) < _SHAPES else whole
                return kept.get(dtype, dtype), shape, tuple(offsets)
        return dtype, shape, offsets

    return made


def _as_map(found: Any) -> Any:
    """Return a map that has the fields of a tensor, and is none, as a map again."""
    return dict(zip(_FIELDS, found, strict=True)) if type(found) is tuple else found


def _checked(rows: dict[str, Any], what: str, most: int) -> dict[str, HeaderTensor]:
    """Put the tensors of a header, whose bytes follow from dtype and shape, into the place of their rows."""
    if len(rows) > MAX_TENSORS:
        raise damaged(f"{what}, header", f"{len(rows)} tensors", f"at most {MAX_TENSORS} tensors in a file")
    sizes = 0
    known: dict[tuple[str, tuple[int, ...]], tuple[str, tuple[int, ...], int]] = {}  # tensors share few
    for key, row in rows.items():
        if type(row) is not tuple:
            raise _wrong(what, key, "other fields", "dtype, shape and data_offsets")
        dtype, shape, offsets = row
        if type(dtype) is not str or dtype not in DTYPE_BITS:
            raise _wrong(what, key, f"the dtype {dtype!r}"[:90], f"one of {', '.join(DTYPE_BITS)}")
        forms = {type(shape), type(offsets)} <= {list, tuple}
        if not forms or len(offsets) != 2 or len(shape) > MAX_RANK:
            raise _wrong(what, key, *_OTHER_FORM)
        numbers = [*shape, *offsets]
        if not {*map(type, numbers)} <= {int} or min(numbers) < 0 or max(numbers) >= _MOST_SIZE:
            raise _number_error(what, key, numbers)
        sizes += len(shape)
        if sizes > most:
            raise _wrong(
                what,
                key,
                f"more than {most} sizes in the shapes so far",
                f"at most {most} in a header of this length",
            )
        layout = dtype, tuple(shape)
        if layout not in known:
            known[layout] = *layout, tensor_bytes(*layout)
        dtype, whole, nbytes = known[layout]
        if nbytes != offsets[1] - offsets[0]:
            raise _wrong(what, key, f"{offsets[1] - offsets[0]} bytes", f"{nbytes} by dtype and shape")
        if problem := shape_problem(whole, DTYPE_BITS[dtype]):
            raise ArchiveError(f"{what}, tensor {shown_key(key)}: {problem}")
        rows[key] = HeaderTensor(dtype, whole, *offsets)
    return rows


def _wrong(what: str, key: str, found: str, expected: str) -> ArchiveError:
    return damaged(f"{what}, tensor {shown_key(key)}", found, expected)


def _number_error(what: str, key: str, numbers: list[Any]) -> ArchiveError:
    if any(type(number) not in (int, float) for number in numbers):
        return _wrong(what, key, *_OTHER_FORM)
    odd = next(n for n in numbers if type(n) is float or not 0 <= n < _MOST_SIZE)
    return _wrong(what, key, f"{repr(odd)[:24]} as a size", "whole numbers below 10^19")


def _checked_metadata(found: Any, what: str) -> dict[str, str]:
    if type(found) is not dict or {*map(type, found.values())} - {str}:
        raise damaged(f"{what}, {METADATA}", "other values", "a map from strings to strings")
    if len(found) > MAX_METADATA:
        raise damaged(f"{what}, {METADATA}", f"{len(found)} texts", f"at most {MAX_METADATA}")
    return found
