"""What a value of a call is, as a text that people read and archives hold: `float32[*, 3]`, `list[text]`.

A type has one spelling, so that the same schema gives the same bytes: section 5.6 of the format. A type
is compared with values, and never looked up, imported or called.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from packager.errors import ArgumentError
from packager.late_patterns import late_pattern
from packager.quick_dataclasses import dataclass, replace
from packager.tensors import DTYPES
from packager.texts import shortened

from .bounds import MAX_EXTENT, MAX_RANK, MAX_TYPE_DEPTH, MAX_TYPE_TEXT

FAMILIES: Final = {
    "integer": frozenset({"int", "uint"}),
    "real": frozenset({"bool", "int", "uint", "float"}),
    "number": frozenset({"bool", "int", "uint", "float", "complex"}),
}
"""Names for several dtypes: of which kinds those in each may be."""

_WORDS: Final = frozenset({"any", "none", "text", "bytes", "bool", "int", "float", "complex", "dict"})
_NOT_NUMBERS: Final = frozenset({"text", "bytes", "datetime64", "timedelta64"})
_DTYPES: Final = frozenset({*DTYPES, *FAMILIES, *_NOT_NUMBERS})
_TOKEN: Final = late_pattern(
    r'\s*(?:(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>0|[1-9][0-9]{0,15})|(?P<key>"(?:[^"\\]|\\.)*")'
    r"|(?P<mark>\.\.\.|[\[\]{}:,?*|]))\s*"
)
_BARE: Final = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_EXPECTED: Final = (
    "expected text, bytes, bool, int, float, complex, none, any, a dtype and its axes (float32[*, 3], "
    "integer[...]), list[TYPE], dict or {name: TYPE}, ? behind it where None will do, and | between several"
)


@dataclass(frozen=True, slots=True)
class ValueType:
    """What a value of a call is; `str()` spells it, and `parse` reads that.

    `kind` is "array", "list", "either", or the word that stands for it. An array has a `dtype`, by name or
    family ("integer", "real", "number"), and a `shape`, in which None is an axis of any size; None for any
    shape. `parts` are the types of a dict by key, None for any dict, that of the items of a list under "",
    and those that "either" may be, under "", too.
    `or_none` says that None will do as well.

    >>> ValueType.parse("float32[*,3]")
    ValueType(kind='array', dtype='float32', shape=(None, 3), parts=None, or_none=False)
    >>> str(ValueType("list", parts=(("", ValueType("text")),), or_none=True))
    'list[text]?'
    """

    kind: str = "any"
    dtype: str = ""
    shape: tuple[int | None, ...] | None = None
    parts: tuple[tuple[str, ValueType], ...] | None = None
    or_none: bool = False

    @classmethod
    def parse(cls, text: str) -> ValueType:
        """Read a type. Raises ArgumentError for a text that is none.

        >>> str(ValueType.parse('{words: list[text], "a b": int?}'))
        '{words: list[text], "a b": int?}'
        """
        if type(text) is not str:
            raise ArgumentError(f"a type of {_shown(text)}: found no text; {_EXPECTED}")
        if len(text) > MAX_TYPE_TEXT:
            raise ArgumentError(
                f"a type of {_shown(text)}: found {len(text)} characters, expected at most {MAX_TYPE_TEXT}"
            )
        reader = _Reader(text)
        found = reader.type_here(0)
        reader.end()
        return found

    @property
    def items(self) -> ValueType:
        """The type of the items of a list."""
        assert self.kind == "list"
        assert self.parts is not None
        return self.parts[0][1]

    @property
    def choices(self) -> tuple[ValueType, ...]:
        """The types that "either" may be."""
        assert self.parts is not None
        return tuple(one for _, one in self.parts)

    def __str__(self) -> str:
        return self._plain() + ("?" if self.or_none else "")

    def _plain(self) -> str:
        if self.kind == "array":
            axes = (
                "..." if self.shape is None else ", ".join("*" if n is None else str(n) for n in self.shape)
            )
            return f"{self.dtype}[{axes}]"
        if self.kind == "list":
            return f"list[{self.items}]"
        if self.kind == "either":
            return " | ".join(map(str, self.choices))
        if self.parts is not None:
            return "{" + ", ".join(f"{_spelt(key)}: {inner}" for key, inner in self.parts) + "}"
        return self.kind


@lru_cache(maxsize=1024)
def is_value_type(text: str) -> bool:
    """Say whether a text is a type, in its only spelling.

    >>> is_value_type("float32[*, 3]"), is_value_type("float32[*,3]"), is_value_type("float33[]")
    (True, False, False)
    """
    try:
        return str(ValueType.parse(text)) == text
    except ArgumentError:
        return False


class _Reader:
    """Reads a type from left to right; nesting is bounded, so that recursion is, too."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._place = 0

    def _split(self) -> Iterator[tuple[str, str]]:
        place = 0
        while place < len(self._text):
            match = _TOKEN.match(self._text, place)
            if match is None or match.lastgroup is None:
                raise self._refused(f"found {_shown(self._text[place:])}")
            yield match.lastgroup, match[match.lastgroup]
            place = match.end()

    def end(self) -> None:
        """Raise ArgumentError where something is left."""
        if self._place < len(self._tokens):
            raise self._refused(f"found {_shown(self._tokens[self._place][1])} behind it")

    def type_here(self, depth: int) -> ValueType:
        """Read the type that begins here, and those that it may be besides."""
        choices = [self._one(depth)]
        while self._takes("|"):
            choices.append(self._one(depth))
            if choices[-1] in choices[:-1]:
                raise self._refused(f"{choices[-1]} is there twice")
        return (
            choices[0]
            if len(choices) == 1
            else ValueType("either", parts=tuple(("", one) for one in choices))
        )

    def _one(self, depth: int) -> ValueType:
        if depth > MAX_TYPE_DEPTH:
            raise self._refused(f"types are {depth} deep, expected at most {MAX_TYPE_DEPTH}")
        found = self._dict(depth) if self._takes("{") else self._named(depth)
        or_none = self._takes("?") and found.kind not in ("any", "none")  # to these it would add nothing
        return replace(found, or_none=or_none)

    def _named(self, depth: int) -> ValueType:
        kind, word = self._next()
        if kind != "word":
            raise self._refused(f"found {_shown(word)} where a type begins")
        if word == "list" and self._takes("["):
            items = self.type_here(depth + 1)
            self._demand("]")
            return ValueType("list", parts=(("", items),))
        if self._takes("["):
            if word not in _DTYPES:
                raise self._refused(f"found {_shown(word)}, which is no dtype")
            return ValueType("array", word, self._axes())
        if word not in _WORDS:
            raise self._refused(f"found {_shown(word)}")
        return ValueType(word)

    def _axes(self) -> tuple[int | None, ...] | None:
        if self._takes("..."):
            self._demand("]")
            return None
        axes: list[int | None] = []
        while not self._takes("]"):
            if axes:
                self._demand(",")
            kind, text = self._next()
            if text != "*" and (kind != "number" or int(text) >= MAX_EXTENT):
                raise self._refused(f"found {_shown(text)} where an axis is * or a size")
            axes.append(None if text == "*" else int(text))
            if len(axes) > MAX_RANK:
                raise self._refused(f"more than {MAX_RANK} axes")
        return tuple(axes)

    def _dict(self, depth: int) -> ValueType:
        parts: dict[str, ValueType] = {}
        while not self._takes("}"):
            if parts:
                self._demand(",")
            kind, text = self._next()
            key = self._key(kind, text)
            if key in parts:
                raise self._refused(f"the key {_shown(key)} is there twice")
            self._demand(":")
            parts[key] = self.type_here(depth + 1)
        return ValueType("dict", parts=tuple(parts.items()))

    def _key(self, kind: str, text: str) -> str:
        if kind == "word":
            return text
        try:
            if kind == "key":
                from json import loads

                key: str = loads(text)
                key.encode()  # not so half of a surrogate pair
                return key
        except ValueError:
            pass  # told below, with what is expected
        raise self._refused(f"found {_shown(text)} where a key is a name or a text in double quotes")

    def _next(self) -> tuple[str, str]:
        if self._place == len(self._tokens):
            raise self._refused("it ends too early")
        self._place += 1
        return self._tokens[self._place - 1]

    def _takes(self, mark: str) -> bool:
        is_here = self._place < len(self._tokens) and self._tokens[self._place] == ("mark", mark)
        self._place += is_here
        return is_here

    def _demand(self, mark: str) -> None:
        if not self._takes(mark):
            found = self._tokens[self._place][1] if self._place < len(self._tokens) else "the end"
            raise self._refused(f"found {_shown(found)} where {mark} is expected")

    def _refused(self, found: str) -> ArgumentError:
        return ArgumentError(f"the type {_shown(self._text)}: {found}; {_EXPECTED}")


def _spelt(key: str) -> str:
    if _BARE.fullmatch(key):
        return key
    from json import dumps  # most keys are bare

    return dumps(key)


def _shown(value: Any) -> str:
    return shortened(repr(value), 60)
