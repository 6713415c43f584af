"""Messages of protocol buffers, walked without their library: which fields there are, and where each lies.

A walk is bounded by the bytes: every length lies inside of what holds it, and messages nest so deep and no
deeper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from packager._archive import MAX_DEPTH
from packager._codecs import expect
from packager._quick_dataclasses import dataclass, field

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_LONGEST: Final = 10


@dataclass(frozen=True)
class Message:
    """What a message may hold: the messages inside by the number of their field, and names of other fields.

    Fields that are not named are walked over. Messages in fields of `once` stand there once: readers join
    those that come again to one message, which is more than its parts.
    """

    inside: Mapping[int, Message] = field(default_factory=dict)
    named: Mapping[int, str] = field(default_factory=dict)
    once: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    """A field that is named, or a message that begins (`name` is None then): where it lies, what it says.

    `path` are the numbers of the fields that lead to the message that it is of.
    """

    path: tuple[int, ...]
    name: str | None
    value: Any


def walk(data: memoryview, message: Message) -> Iterator[Found]:
    """Yield the named fields of a message and of all messages inside, in order. Raises ValueError.

    A field of bytes has a memoryview for its value, one of a number an int.
    """
    waiting: list[tuple[tuple[int, ...], memoryview, Message]] = [((), data, message)]
    while waiting:
        path, part, kind = waiting.pop()
        expect(len(path) <= MAX_DEPTH, f"messages nested at most {MAX_DEPTH} deep")
        yield Found(path, None, part)
        inner: list[tuple[tuple[int, ...], memoryview, Message]] = []
        for number, value in _fields(part):
            if number in kind.inside:
                expect(type(value) is memoryview, f"a message as field {number}")
                again = number in kind.once and any(found[0][-1] == number for found in inner)
                expect(not again, f"one message as field {number}", "another one")
                inner.append(((*path, number), value, kind.inside[number]))
            elif number in kind.named:
                yield Found(path, kind.named[number], value)
        waiting += reversed(inner)


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        expect(number > 0, "a field of a number above 0")
        if wire == _VARINT:
            value, at = varint(data, at)
            yield number, value
            continue
        expect(wire in (_EIGHT, _BYTES, _FOUR), "a number or bytes", f"wire type {wire}")
        size, at = varint(data, at) if wire == _BYTES else ({_EIGHT: 8, _FOUR: 4}[wire], at)
        expect(size <= len(data) - at, f"a field of at most {len(data) - at} bytes", size)
        part = data[at : at + size]
        at += size
        yield number, part if wire == _BYTES else int.from_bytes(part, "little")


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return a whole number and where it ends. Raises ValueError for one that is too long or cut off."""
    value = 0
    for shift in range(_LONGEST):
        expect(at < len(data), "a whole number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at
    raise ValueError(f"expected a number of at most {_LONGEST} bytes")
