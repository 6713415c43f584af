"""The header of a safetensors file, read strictly: a small grammar, straight into what it says.

What the safetensors library takes is taken, and what is ambiguous or could hurt is refused: duplicate keys,
fields it does not know, holes, overlaps, sizes that do not follow from dtype and shape. Section 7.1 of
the format.

Every byte has to be what a header has in its place, so that nothing else is ever built, and nothing nests.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from packager.errors import ArchiveError
from packager.late_patterns import late_pattern
from packager.quick_dataclasses import dataclass
from packager.tensors import DTYPE_BITS

from .archive_errors import damaged
from .bounds import MAX_HEADER, MAX_METADATA, MAX_RANK, MAX_TENSORS, most_sizes
from .json_text import GAP, JsonText, shown_key
from .packed import Packed
from .tensor_index import METADATA, shape_problem, tensor_bytes

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import re
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

    tensors: Mapping[str, HeaderTensor]
    metadata: Mapping[str, str]
    data_start: int


def parse_header(data: Packed, size: int, *, what: str) -> SafetensorsHeader:
    """Read the header of a safetensors file of `size` bytes strictly.

    `data` is the start of the file, or all of it; `what` names the file in errors. Memory is bounded by the
    header: eight bytes for each of its own, and what is small.

    Raises ArchiveError for anything but a header that describes every byte of the file once; where its
    JSON is at fault, with the byte of the file.

    >>> from packager.archive import spell_header
    >>> file = spell_header([("a", "U8", (2,), 2)], {}) + b"xy"
    >>> parse_header(file, len(file), what="example").tensors
    {'a': HeaderTensor(dtype='U8', shape=(2,), start=0, stop=2)}
    """
    length = int.from_bytes(data[:8], "little")
    if size < 8 or length > min(size - 8, MAX_HEADER, len(data) - 8):
        raise damaged(
            f"{what}, header length", f"{length} in a file of {size} bytes", "a header inside the file"
        )
    # A copy, because a mapped file may be written to while it is read.
    header = _HeaderText(bytes(data[8 : 8 + length]), what)
    tensors, metadata = header.read()
    _check_cover(tensors := _in_order(tensors), 8 + length, size, what)
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
                f"it at byte {position}",
            )
        position = tensor.stop
    if data_start + position != size:
        raise damaged(what, f"{size - data_start} bytes of data", f"the {position} that the header describes")


_SIZE: Final = rb"(?:0|[1-9][0-9]{0,18}+)"
_SIZE_AT: Final = late_pattern(_SIZE)
_NUMBER: Final = late_pattern(rb"-?[0-9]++(?:\.[0-9]*+)?+(?:[eE][-+]?[0-9]*+)?+|-?Infinity|NaN")
# A tensor as all writers spell it: the three fields in this order, and no escape anywhere. Twenty thousand
# tensors take half the time of the JSON reader in C; any other spelling is read piece by piece.
_USUAL: Final = late_pattern(
    rb'"([^"\\\x00-\x1f]*+)"' + GAP + b":" + GAP + rb"\{" + GAP + rb'"dtype": ?"(\w{0,16}+)", ?"shape": ?\['
    rb"((?:" + _SIZE + rb"(?:, ?" + _SIZE + rb"){0,63}+)?+)\], ?"
    rb'"data_offsets": ?\[(' + _SIZE + rb"), ?(" + _SIZE + rb")\]" + GAP + rb"\}"
)
_FIELDS: Final = ("dtype", "shape", "data_offsets")
_NAMES: Final = {dtype: dtype for dtype in DTYPE_BITS}  # one text of a dtype for all its tensors


class _HeaderText(JsonText):
    """The text of a header; the file starts with eight bytes before it."""

    def __init__(self, text: bytes, what: str) -> None:
        super().__init__(text, f"{what}, header", 8)
        self._file = what
        self._sizes = 0

    def read(self) -> tuple[dict[str, HeaderTensor], dict[str, str]]:
        """Return all tensors, and the metadata."""
        if self.text[:1] != b"{":
            raise self.error(repr(self.text[:1]), "'{' as its first byte")
        self.at = 1
        tensors: dict[str, HeaderTensor] = {}
        metadata: dict[str, str] | None = None
        more = not self.ends(b"}")
        while more:
            start = self.at
            usual = _USUAL.match(self.text, start)
            key = self.decode(usual[1]) if usual else self.new_key(tensors)
            if key in tensors or (key == METADATA and metadata is not None):
                self.at = start
                self.fail(f"the key {shown_key(key)} stands in it twice")
            if key == METADATA:
                self.at = start
                metadata = self._metadata()
            elif len(tensors) == MAX_TENSORS:
                self.at = start
                raise self.error("one tensor more", f"at most {MAX_TENSORS} tensors in a file")
            elif usual:
                self.at = usual.end()
                tensors[key] = self._usual_tensor(key, usual)
            else:
                tensors[key] = self._tensor(key)
            more = self.goes_on(b"}")
        self.end()
        return tensors, metadata or {}

    def _usual_tensor(self, key: str, found: re.Match[bytes]) -> HeaderTensor:
        dtype, shape, start, stop = found[2], found[3], found[4], found[5]
        return self._checked(key, str(dtype, "latin-1"), _shape(shape), int(start), int(stop))

    def _tensor(self, key: str) -> HeaderTensor:
        """Read a tensor whose fields stand in any order."""
        self.expect(b":")
        if self.peek() != b"{":
            raise self._fields_error(key)
        self.at += 1
        found: dict[str, Any] = {}
        more = not self.ends(b"}")
        while more:
            field = self.new_key(found)
            if field not in _FIELDS:
                raise self._fields_error(key)
            self.expect(b":")
            found[field] = self._dtype(key) if field == "dtype" else self._numbers(key, field)
            more = self.goes_on(b"}")
        if len(found) != len(_FIELDS):
            raise self._fields_error(key)
        if len(found["data_offsets"]) != 2:
            raise self._form_error(key)
        return self._checked(key, found["dtype"], found["shape"], *found["data_offsets"])

    def _checked(self, key: str, dtype: str, shape: tuple[int, ...], start: int, stop: int) -> HeaderTensor:
        """Return a tensor whose bytes follow from dtype and shape."""
        self._sizes += len(shape)
        if self._sizes > most_sizes(len(self.text)):
            found = f"more than {most_sizes(len(self.text))} sizes in the shapes up to it"
            raise self._tensor_error(key, found, f"no more in a header of {len(self.text)} bytes")
        if dtype not in DTYPE_BITS:
            raise self._dtype_error(key, repr(dtype[:80]))
        nbytes = tensor_bytes(dtype, shape)
        if nbytes != stop - start:
            raise self._tensor_error(key, f"{stop - start} bytes", f"{nbytes} by dtype and shape")
        if problem := shape_problem(shape, DTYPE_BITS[dtype]):
            raise ArchiveError(f"{self._file}, tensor {shown_key(key)}, byte {8 + self.at}: {problem}")
        return HeaderTensor(_NAMES[dtype], shape, start, stop)

    def _metadata(self) -> dict[str, str]:
        self.string("a key")
        self.expect(b":")
        found = self.strings(MAX_METADATA)
        if found is None:
            where = f"{self._file}, {METADATA}, byte {8 + self.at}"
            raise damaged(where, "other values", "a map from strings to strings")
        return found

    def _dtype(self, key: str) -> str:
        if self.peek() == b'"':
            return self.string()
        found = self.text[self.at : self.at + 20]
        raise self._dtype_error(key, "None" if found.startswith(b"null") else repr(found))

    def _numbers(self, key: str, field: str) -> tuple[int, ...]:
        """Read a shape, or a pair of offsets."""
        if self.peek() != b"[":
            raise self._form_error(key)
        self.at += 1
        found: list[int] = []
        more = not self.ends(b"]")
        while more:
            if len(found) == (MAX_RANK if field == "shape" else 2):
                raise self._form_error(key)
            found.append(self._number(key))
            more = self.goes_on(b"]")
        return tuple(found)

    def _number(self, key: str) -> int:
        """Read a size or offset: what has at most 19 digits, which also bounds the time for long ones."""
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            raise self._form_error(key)
        size = _SIZE_AT.match(self.text, self.at)
        if size is None or size.end() != number.end():
            self.fail(f"{number[0][:24].decode()} is no size")
        self.at = size.end()
        return int(size[0])

    def _dtype_error(self, key: str, found: str) -> ArchiveError:
        return self._tensor_error(key, f"the dtype {found}", f"one of {', '.join(DTYPE_BITS)}")

    def _fields_error(self, key: str) -> ArchiveError:
        return self._tensor_error(key, "other fields", "dtype, shape and data_offsets")

    def _form_error(self, key: str) -> ArchiveError:
        found = "a shape or data_offsets of another form"
        return self._tensor_error(key, found, f"at most {MAX_RANK} sizes, and two offsets")

    def _tensor_error(self, key: str, found: str, expected: str) -> ArchiveError:
        return damaged(f"{self._file}, tensor {shown_key(key)}, byte {8 + self.at}", found, expected)


@lru_cache(maxsize=4096)
def _shape(sizes: bytes) -> tuple[int, ...]:
    """Return a shape: those of a checkpoint are few."""
    return tuple(map(int, sizes.split(b","))) if sizes else ()
