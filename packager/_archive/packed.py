"""Canonical msgpack: one spelling for every value, and a reader that takes no other.

Plain data goes in and comes out: None, bool, int of 64 bits, float, str, bytes, lists, and maps
with str keys. The canonical spelling has every int, string and header in its shortest form, floats
as float64, maps sorted by the UTF-8 bytes of their keys, and no extension types. Section 6 of the
format.

Reading is done in an order that hostile bytes cannot turn against us: a pass that builds nothing sees that
there is one value, and that every length fits into the bytes that are left; then msgpack builds it; then the
value is spelled again and compared with the bytes. That pass is msgpack's own, in C, where as many values as
there are bytes fit into the memory that any file may take, and for tables of records: number and depth are
then seen of what was built, before anything recurses. Elsewhere, and where anything is found amiss, it is an
iterative scan that counts nodes and depth. Tables may have a value for each byte. A longer one is weighed
before it is built: its headers say what its lists take in memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain

import msgpack

from packager._process import gc_paused
from packager.errors import ArchiveError

from .archive_errors import DAMAGED
from .bounds import FREE_VALUES, MAX_DEPTH, most_values, most_weight

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn


Packed = bytes | bytearray | memoryview


def pack(value: object) -> bytes:
    """Spell plain data canonically.

    Raises TypeError for what is not plain data (tuples are written as lists), OverflowError for an
    int of more than 64 bits, ValueError for nesting that could not be read back, and ArchiveError for
    a text that has no UTF-8 form.

    >>> pack({"b": 1, "a": [None, 2.0]}).hex()
    '82a16192c0cb4000000000000000a16201'
    """
    with texts_have_bytes():
        return _packb(_sorted(value, 0))


@contextmanager
def texts_have_bytes() -> Iterator[None]:
    """Raise ArchiveError where a text of the block cannot be encoded as UTF-8, with an unpaired surrogate."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ArchiveError(
            f"the text {error.object[:200]!r} cannot be stored: it has an unpaired surrogate, which UTF-8 "
            "cannot encode. Remove it: it comes from a file name that is not UTF-8, or from truncated JSON"
        ) from error


def unpack(
    data: Packed,
    *,
    what: str,
    max_nodes: int | None = None,
    max_depth: int = MAX_DEPTH,
    is_table: bool = False,
) -> Any:
    """Read canonical msgpack strictly; `what` names the data in errors.

    `max_nodes` bounds the number of values, by default `most_values(len(data))`. A table has no maps, and may
    have a value for each byte: what they weigh is bounded, by `most_weight(len(data))`.

    Raises ArchiveError for anything but one canonical value that fills `data`.

    >>> unpack(bytes.fromhex("82a16192c0cb4000000000000000a16201"), what="example")
    {'a': [None, 2.0], 'b': 1}
    """
    if is_table:
        max_nodes = len(data)
    limit = most_values(len(data)) if max_nodes is None else max_nodes
    # Each value takes a byte at least, so that as many bytes become less than 64 MiB, whatever they are.
    is_short = len(data) <= (max(limit, _AT_ONCE) if max_nodes is None else limit)
    is_scanned = not (is_short and _is_one_value(data))
    if is_scanned:
        scan(data, what=what, max_nodes=max_nodes, max_depth=max_depth)
    if is_table:
        check_weight(data, what=what)
    try:
        value = _unpackb(data, _no_map if is_table else _ordered_map)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        scan(data, what=what, max_nodes=max_nodes, max_depth=max_depth)  # which may know more of it
        raise ArchiveError(
            f"{what}: the msgpack data cannot be read ({error or type(error).__name__}); the archive is "
            f"{DAMAGED}"
        ) from error
    if not is_scanned and _number(value, limit, max_depth) > limit:
        scan(data, what=what, max_nodes=max_nodes, max_depth=max_depth)  # and raises
    spelled = _packb(value, len(data))
    if spelled != data:
        scan(data, what=what, max_nodes=max_nodes, max_depth=max_depth)  # which may know more of it
        raise ArchiveError(
            f"{what}: the msgpack data is not in canonical form (shortest spellings, float64): the same "
            f"value takes {len(spelled)} bytes, found {len(data)}; the archive is {DAMAGED}"
        )
    return value


def check_weight(data: Packed, *, what: str) -> None:
    """Demand that a table of records, which is one value of msgpack, does not weigh too much to be built.

    A table weighs what its lists take in memory, and those of its values that take more than thirteen times
    their bytes. Nothing is built meanwhile, and a short table, which cannot weigh as much, is not looked at.

    Raises ArchiveError for a table that weighs more than `most_weight` of its length, and for one with a map.
    """
    size, position, weight = len(data), 0, 0
    if size <= _AT_ONCE:
        return
    limit, light = most_weight(size), _LIGHT.match
    while position < size:
        found = light(data, position)
        start = position = position if found is None else found.end()
        if position >= size:
            break
        first = data[position]
        if 0x90 <= first <= 0x9F:
            position += 1
            weight += _LIST_WEIGHT + 8 * (first & 15)
        elif first in _HEAVY:
            length, each = _HEAVY[first]
            run = _HEAVY_RUN.match(data, position)
            position = size if run is None else run.end()
            weight += each * ((position - start) // length)
        elif first in _MAPS:
            raise ArchiveError(
                f"{what}: a map starts at byte {start} of the msgpack data; expected a table of records, "
                f"without maps; the archive is {DAMAGED}"
            )
        else:
            position, children = _header(data, position, size, what)
            if first in (0xDC, 0xDD):
                weight += _LIST_WEIGHT + 8 * children
        if weight > limit:
            raise ArchiveError(
                f"{what}: the values up to byte {position} of the msgpack data take at least {weight} bytes "
                f"of memory, beyond the limit of {limit} for a table of {size} bytes; store so many tiny "
                "values as an array"
            )


def length_within(data: Packed, place: int) -> int:
    """Return how many values the list has that stands at a place of a list, as its header says; 0 for others.

    >>> length_within(pack([["a"], [1, 2, 3]]), 1), length_within(b"damaged", 1)
    (3, 0)
    """
    unpacker = msgpack.Unpacker()
    unpacker.feed(data[:_AT_ONCE])
    try:
        if unpacker.read_array_header() > place:
            for _ in range(place):
                unpacker.skip()
            return int(unpacker.read_array_header())
    except (ValueError, RecursionError, msgpack.UnpackException):
        pass  # what is wrong is told where all of it is read
    return 0


def _is_one_value(data: Packed) -> bool:
    """Whether msgpack, which builds nothing meanwhile, finds one value in these bytes, and nothing else."""
    unpacker = msgpack.Unpacker(max_buffer_size=max(len(data), 1))
    try:
        unpacker.feed(data)
        unpacker.skip()
    except (ValueError, RecursionError, msgpack.UnpackException):
        return False
    return bool(unpacker.tell() == len(data))


def _number(value: Any, limit: int, max_depth: int) -> float:
    """Return how many values there are, as `scan` does, or a number above `limit`.

    That is infinity for lists and maps nested deeper, those counted that hold something.
    """
    level, number = [value] if type(value) in _CONTAINERS else [], 1
    for _ in range(max_depth):
        if dict in set(map(type, level)):
            number += sum([len(one) for one in level if type(one) is dict])  # keys
            level = [list(one.values()) if type(one) is dict else one for one in level]
        number += sum(map(len, level))
        if number > limit or _CONTAINERS.isdisjoint(map(type, chain.from_iterable(level))):
            return number
        level = [one for one in chain.from_iterable(level) if type(one) in _CONTAINERS]
    return math.inf if any(level) else number


_AT_ONCE: Final = 2 * FREE_VALUES
_CONTAINERS: Final = frozenset({list, dict})


def scan(data: Packed, *, what: str, max_nodes: int | None = None, max_depth: int = MAX_DEPTH) -> int:
    """Walk over msgpack without building anything, and return the number of values in it.

    Raises ArchiveError when lengths run past the end, bytes are left over, an extension type or
    float32 stands inside, or there are more values or deeper nesting than allowed.
    """
    limit = most_values(len(data)) if max_nodes is None else max_nodes
    size, position, nodes = len(data), 0, 0
    open_lists: list[int] = []  # for each list or map that is open, how many values it still lacks
    missing = 1
    while True:
        while not missing:
            if not open_lists:
                return _ended(what, position, size, nodes)
            missing = open_lists.pop()
        first = data[position] if position < size else 0xC1
        children = 0
        if 0x80 <= first <= 0x9F:  # a short map or list
            position += 1
            children = first & 15 if first >= 0x90 else 2 * (first & 15)
            count = 1
        elif 0xA0 <= first <= 0xBF:  # a short string
            position += 1 + (first & 31)
            count = 1
        elif first in _LENGTHS and position + (length := _LENGTHS[first]) <= size:
            # Those of one length stand side by side in long tables, and are found at once.
            run = _RUN.match(data, position) if size > _FEW else None
            count = 1 if run is None else min((run.end() - position) // length, missing)
            position += count * length
        else:
            position, children = _header(data, position, size, what)
            count = 1
        nodes += count
        missing -= count
        if children:
            open_lists.append(missing)
            missing = children
        # Every value takes a byte at least, so a length that the rest cannot hold is a lie.
        if position + children > size:
            raise _cut_short(what, position, size)
        if nodes > limit or len(open_lists) > max_depth:
            raise _too_much(what, nodes, limit, len(open_lists), max_depth)


def _ended(what: str, position: int, size: int, nodes: int) -> int:
    if position != size:
        raise ArchiveError(
            f"{what}: the msgpack value ends at byte {position} of {size}; the archive is {DAMAGED}"
        )
    return nodes


# Runs of values of one length, the commonest first: single bytes (small ints, None, bools), then
# ints and floats by length. Few bytes are walked over while the pattern would be compiled. Possessive:
# each repetition that may be taken back costs 32 bytes and more.
_LENGTHS: Final = {
    **dict.fromkeys((*range(0x80), 0xC0, 0xC2, 0xC3, *range(0xE0, 0x100)), 1),
    **dict.fromkeys((0xCC, 0xD0), 2),
    **dict.fromkeys((0xCD, 0xD1), 3),
    **dict.fromkeys((0xCE, 0xD2), 5),
    **dict.fromkeys((0xCB, 0xCF, 0xD3), 9),
}
_FEW: Final = 4096  # bytes
_RUN: Final = re.compile(
    rb"(?s)([\x00-\x7f\xc0\xc2\xc3\xe0-\xff]++)|((?:[\xcb\xcf\xd3].{8})++)|((?:[\xcd\xd1]..)++)|((?:[\xcc\xd0].)++)"
    rb"|((?:[\xce\xd2].{4})++)",
)

# Of tables: what weighs little beside its bytes, by its length; then, by its first byte, the length and the
# weight of what weighs more. Ints from -5 to 256 and single letters are there once in a process.
_LIGHT: Final = re.compile(
    rb"(?s)(?:[\x00-\x7f\xa0\xc0\xc2\xc3\xfb-\xff]|[\xa4\xce\xd2].{4}|[\xcd\xd1]..|[\xa1\xcc].|"
    rb"[\xa8\xcb\xcf\xd3].{8}|"
    + b"|".join(b"%c.{%d}" % (0xA0 + count, count) for count in (5, 6, 7, *range(9, 32)))
    + rb")*+"
)
_HEAVY: Final = {**dict.fromkeys(range(0xE0, 0xFB), (1, 32)), 0xD0: (2, 32), 0xA2: (3, 64), 0xA3: (4, 64)}
_MAPS: Final = frozenset({*range(0x80, 0x90), 0xDE, 0xDF})
_LIST_WEIGHT: Final = 80
_HEAVY_RUN: Final = re.compile(rb"(?s)[\xe0-\xfa]++|(?:\xd0.)++|(?:\xa2..)++|(?:\xa3...)++")

# For every other first byte: how many bytes of length follow, and how many values each unit of that
# length stands for (0: the length is in bytes and they are skipped).
_LENGTH_BYTES: Final = {
    0xC4: (1, 0),
    0xC5: (2, 0),
    0xC6: (4, 0),
    0xD9: (1, 0),
    0xDA: (2, 0),
    0xDB: (4, 0),
    0xDC: (2, 1),
    0xDD: (4, 1),
    0xDE: (2, 2),
    0xDF: (4, 2),
}


def _header(data: Packed, position: int, size: int, what: str) -> tuple[int, int]:
    """Read the header of a long string, blob, list or map: the next place, and how many are inside."""
    if position >= size:
        raise _cut_short(what, position, size)
    first = data[position]
    if first not in _LENGTH_BYTES:
        raise ArchiveError(
            f"{what}: byte {position} of the msgpack data is {first:#04x}, which starts no value of the "
            f"format: it is an extension type, a float32, an incomplete number or unused; the archive is "
            f"{DAMAGED}"
        )
    width, each = _LENGTH_BYTES[first]
    length = int.from_bytes(data[position + 1 : position + 1 + width], "big")
    return position + 1 + width + (0 if each else length), each * length


def _cut_short(what: str, position: int, size: int) -> ArchiveError:
    return ArchiveError(
        f"{what}: the msgpack value at byte {position} needs more bytes than the {size} of the data; "
        f"the archive is {DAMAGED}"
    )


def _too_much(what: str, nodes: int, limit: int, depth: int, max_depth: int) -> ArchiveError:
    found = (
        f"at least {nodes} values; the limit for a file of this size is {limit}"
        if nodes > limit
        else f"lists nested {depth} deep; the limit is {max_depth}"
    )
    return ArchiveError(f"{what}: the msgpack data holds {found}. The archive is {DAMAGED}")


def _unpackb(data: Packed, make_map: Callable[[list[tuple[Any, Any]]], dict[str, Any]]) -> Any:
    with gc_paused():  # a million values take a tenth of the time
        return msgpack.unpackb(
            data,
            object_pairs_hook=make_map,
            ext_hook=_no_extension,
            max_str_len=len(data),
            max_bin_len=len(data),
            max_array_len=len(data),
            max_map_len=len(data),
            max_ext_len=0,
        )


def _no_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"an extension type, {code}")


def _no_map(pairs: list[tuple[Any, Any]]) -> NoReturn:
    raise ValueError("a map, in a table of records")


def _ordered_map(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Build a map whose keys are strings in strictly rising order, and so without duplicates."""
    previous: bytes | None = None
    for key, _ in pairs:
        if not isinstance(key, str):
            raise ValueError(f"a map has the key {key!r}, which is not a string")
        encoded = key.encode("utf-8")
        if previous is not None and encoded <= previous:
            raise ValueError(f"a map has the key {key!r} twice or out of order")
        previous = encoded
    return dict(pairs)


def _sorted(value: Any, depth: int) -> Any:
    """Return the same value with every map sorted by key; tuples become lists."""
    if depth > MAX_DEPTH:
        raise ValueError(f"plain data nested more than {MAX_DEPTH} deep cannot be packed; flatten it")
    if isinstance(value, (list, tuple)):
        return [_sorted(item, depth + 1) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a map to be packed has the key {key!r}; expected a string")
        return {key: _sorted(value[key], depth + 1) for key in sorted(value, key=str.encode)}
    return value


def _packb(value: Any, size: int = 1 << 18) -> bytes:
    """Pack a value, of about so many bytes: a buffer that grows is copied."""
    packed = msgpack.packb(value, strict_types=True, buf_size=size + 16)
    return packed if isinstance(packed, bytes) else bytes(packed)
