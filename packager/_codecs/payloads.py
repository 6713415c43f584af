"""Bytes of a library's own format as memory of the archive: aligned, mapped, and never in the table.

A codec whose library writes a text or bytes stores them as one tensor of bytes. What they hold is checked
in `decode`, by a pure function of ours, before the library sees a byte.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from packager._archive import MAX_DEPTH

from .base import StoredTensor, TensorData, expect


def payload(data: bytes | bytearray | memoryview) -> TensorData:
    """Return bytes as a child of a node."""
    import numpy

    array = numpy.frombuffer(data, numpy.uint8)
    address = array.__array_interface__["data"][0]
    return TensorData("U8", array.shape, (1,), address, array)


def view_of(stored: StoredTensor) -> memoryview:
    """Return the memory of such a child, without a copy."""
    size = math.prod(stored.shape)
    return stored.buffer[stored.offset : stored.offset + size]


def text_of(stored: StoredTensor) -> str:
    """Return the text of such a child. Raises ValueError for bytes that are no UTF-8."""
    return str(view_of(stored), "utf-8")


def parsed_json(text: str) -> Any:
    """Return the value of a JSON text as our own plain types.

    Raises ValueError for what two readers might take for two different things: a name that is there twice,
    numbers that JSON does not have, and values nested more than `MAX_DEPTH` deep.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise ValueError(f"JSON nested more than {MAX_DEPTH} deep") from None
    _require_depth(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("JSON with a name twice in one object")
    return made


def _no_number(word: str) -> Any:
    raise ValueError(f"JSON with {word}, which is no number")


def _require_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        expect(depth <= MAX_DEPTH, f"JSON nested at most {MAX_DEPTH} deep")
        level = [part for one in level for part in _parts(one) if type(part) in (list, dict)]
        depth += 1


def _parts(value: Any) -> Sequence[Any]:
    if type(value) is dict:
        return list(value.values())
    return value if type(value) is list else ()


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Turn a panic of a library in Rust, which is no Exception, into a ValueError."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"the library gave up: {error}") from error


# --- the words of a check of parsed JSON ---


class Fields:
    """The fields of a JSON object as a check takes them out, one by one; `done` demands that none is left.

    Every method raises ValueError with the path of the field.
    """

    def __init__(self, value: Any, what: str) -> None:
        expect(type(value) is dict, f"an object as {what}", type(value).__name__)
        self._left: dict[str, Any] = dict(value)
        self.what = what

    def take(self, name: str, default: object = None) -> Any:
        """Return a field of any kind."""
        return self._left.pop(name, default)

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """Return a field that is true or false."""
        found: bool | None = self._typed(name, (bool,), "true or false", default)
        return found

    def text(self, name: str, default: str | None = None, most: int = 1 << 16) -> str | None:
        """Return a field that is a text of bounded length."""
        found: str | None = self._typed(name, (str,), "a text", default)
        expect(found is None or len(found) <= most, f"at most {most} characters as {self._path(name)}")
        return found

    def number(self, name: str, low: int, stop: int, default: int | None = None) -> int | None:
        """Return a field that is an int of a range."""
        found: int | None = self._typed(name, (int,), "an int", default)
        inside = found is None or low <= found < stop
        expect(inside, f"an int from {low} to {stop - 1} as {self._path(name)}", str(found)[:40])
        return found

    def real(self, name: str, low: float, high: float) -> float | None:
        """Return a field that is a finite number of a range."""
        found: float | None = self._typed(name, (int, float), "a number", None)
        inside = found is None or low <= found <= high
        expect(inside, f"a number from {low} to {high} as {self._path(name)}")
        return found

    def word(self, name: str, words: Sequence[str], default: str | None = None) -> str | None:
        """Return a field that is one of some words."""
        found: str | None = self._typed(name, (str,), "a word", default)
        expect(found is None or found in words, f"one of {', '.join(words)} as {self._path(name)}")
        return found

    def each(self, name: str, check: Callable[[Any, str], None], most: int) -> None:
        """Check each element of a field that is a list."""
        found = self._typed(name, (list,), "a list", []) or []
        expect(len(found) <= most, f"at most {most} elements as {self._path(name)}", len(found))
        for at, one in enumerate(found):
            check(one, f"{self._path(name)}[{at}]")

    def done(self) -> None:
        """Demand that nothing is left."""
        expect(not self._left, f"no other fields in {self.what}", ", ".join(sorted(self._left))[:80])

    def _typed(self, name: str, kinds: tuple[type, ...], what: str, default: Any) -> Any:
        found = self._left.pop(name, default)
        expect(found is None or type(found) in kinds, f"{what} as {self._path(name)}", type(found).__name__)
        return found

    def _path(self, name: str) -> str:
        return f"{self.what}.{name}"
