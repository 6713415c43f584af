"""How a template is written: literal text, holes, and whole-number arithmetic on a hole.

    template  =  { text | "{{" | "}}" | hole }
    hole      =  "{" name [ ":" kind ] "}"  |  "{" sum "}"
    sum       =  product { ( "+" | "-" ) product }
    product   =  factor { "*" factor }
    factor    =  number | name | "-" factor | "(" sum ")"
    name      =  a letter of ASCII or "_", then letters, digits and "_"
    kind      =  "segment" | "int" | "any"
    number    =  "0", or digits that do not begin with it, at most 18

Blanks and tabs may stand between the pieces of a hole. A sum has one name, once or more often, and is a
multiple of it plus a number, so that it has an inverse. Two holes do not touch. Templates come out of
archives: what is read is bounded, and whatever else is there is a TemplateError with its column.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from packager.archive import MAX_TEMPLATE, MAX_TEMPLATE_HOLES
from packager.errors import MigrationError
from packager.quick_dataclasses import dataclass
from packager.texts import in_lines

DIGITS: Final = 18
"""Digits of a number in a template or a key: no key counts further, and Python refuses thousands."""

CLASSES: Final = {"segment": r"[^.]+", "int": r"(?:0|[1-9][0-9]*)", "any": r".*?"}
"""What a hole of each kind takes, as a regular expression."""

_MOST = 10**DIGITS  # what arithmetic comes to is less
_MAX_NESTING = 16  # parentheses inside each other
_SHOWN = 60  # characters of a template that an error shows, around the place
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_HOLE = re.compile(r"[ \t]*([A-Za-z_][A-Za-z_0-9]*)[ \t]*(?::[ \t]*([a-z]+)[ \t]*)?")
_TOKEN = re.compile(r"[ \t]*([A-Za-z_][A-Za-z_0-9]*|[0-9]+|.|\Z)", re.DOTALL)


class TemplateError(MigrationError, ValueError):
    """A template that cannot be read, or that lacks an inverse where one is needed."""


@dataclass(frozen=True, slots=True)
class Linear:
    """The arithmetic of an int hole: `factor * value + offset`.

    >>> Linear(3, -3).apply(2), Linear(3, -3).undo(3), Linear(3, -3).undo(4)
    (3, 2, None)
    """

    factor: int = 1
    offset: int = 0

    def apply(self, value: int) -> int:
        """Return the number that is written for `value`."""
        return self.factor * value + self.offset

    def undo(self, written: int) -> int | None:
        """Return the value for which `written` stands; None when there is none."""
        quotient, rest = divmod(written - self.offset, self.factor)
        return None if rest else quotient


@dataclass(frozen=True, slots=True)
class Hole:
    """One hole of a template. `kind` is "" where it stands for a hole of the other side."""

    name: str
    kind: str
    linear: Linear = Linear()

    def __str__(self) -> str:
        """Return the hole as a template spells it."""
        if self.linear == Linear():
            return f"{{{self.name}:{self.kind}}}" if self.kind else f"{{{self.name}}}"
        return f"{{{self.linear.factor}*{self.name}{self.linear.offset:+d}}}"


Part = str | Hole


def value_of(hole: Hole, text: str) -> str | int | None:
    """Return what a hole stands for where it matches a text; None where it cannot."""
    if hole.kind != "int":
        return text
    value = hole.linear.undo(int(text)) if len(text) <= DIGITS else None
    return None if value is None or value < 0 else value


def is_one(kind: str, text: str) -> bool:
    """Say whether a hole of a kind can match a text."""
    return kind == "any" or re.fullmatch(CLASSES[kind or "segment"], text) is not None


def parse_parts(text: str) -> tuple[Part, ...]:
    """Return the literal texts and holes of a template, in turn.

    Raises TemplateError, with the column, for what is no template, and for one beyond a bound.
    """
    if len(text) > MAX_TEMPLATE:
        raise _error(
            text, MAX_TEMPLATE, f"it has {len(text):,} characters; at most {MAX_TEMPLATE:,} are read"
        )
    parts: list[Part] = []
    ends: list[int] = []
    for piece in _PIECE.finditer(text):
        found = piece.group()
        if found in ("{{", "}}"):
            _append_text(parts, found[0])
        elif piece.group(1) is not None:
            parts.append(_parse_hole(piece.group(1), text, piece.start()))
            ends.append(piece.end())
        elif found in "{}":
            raise _error(text, piece.start(), f"a lone {found!r}; write {found * 2!r} for a brace")
        else:
            _append_text(parts, found)
        if len(ends) > MAX_TEMPLATE_HOLES:
            raise _error(
                text, piece.start(), f"{len(ends)} holes and more; at most {MAX_TEMPLATE_HOLES} are read"
            )
    _check_apart(parts, ends, text)
    return tuple(parts)


def _append_text(parts: list[Part], text: str) -> None:
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    else:
        parts.append(text)


def _parse_hole(inside: str, text: str, column: int) -> Hole:
    plain = _HOLE.fullmatch(inside)
    if plain is not None:
        kind = plain[2] or ""
        if kind and kind not in CLASSES:
            raise _error(text, column, f"unknown kind {kind!r}; the kinds are {', '.join(CLASSES)}")
        return Hole(plain[1], kind)
    sum_ = _Sum(inside, text, column)
    linear = sum_.read()
    return Hole(sum_.names.pop(), "int", linear)


class _Sum:
    """Reads the arithmetic of one hole; each part of it is a multiple of the name, and a number."""

    def __init__(self, inside: str, text: str, column: int) -> None:
        self._inside, self._text, self._column = inside, text, column
        self._at = 0
        self.names: set[str] = set()
        self._token, self._next = "", 0
        self._advance()

    def read(self) -> Linear:
        """Return the whole. Raises TemplateError for what has no inverse, or is no arithmetic."""
        factor, offset = self._sum(0)
        if self._token:
            raise self._wrong("an operator or the end")
        if len(self.names) != 1 or factor == 0:
            raise _error(
                self._text,
                self._column,
                f"{{{shortened(self._inside)}}} has no inverse; use one name, as in {{n+1}} or {{3*(n-1)}}",
            )
        return Linear(factor, offset)

    def _sum(self, depth: int) -> tuple[int, int]:
        if depth > _MAX_NESTING:
            raise self._wrong(f"at most {_MAX_NESTING} parentheses inside each other")
        factor, offset = self._product(depth)
        while self._token in ("+", "-"):
            sign = 1 if self._token == "+" else -1
            self._advance()
            more, rest = self._product(depth)
            factor, offset = self._bounded(factor + sign * more, offset + sign * rest)
        return factor, offset

    def _product(self, depth: int) -> tuple[int, int]:
        factor, offset = self._factor(depth)
        while self._token == "*":
            self._advance()
            more, rest = self._factor(depth)
            if factor and more:
                raise self._wrong("a number: a name times a name is not linear", back=True)
            factor, offset = self._bounded(factor * rest + more * offset, offset * rest)
        return factor, offset

    def _factor(self, depth: int) -> tuple[int, int]:
        sign = 1
        while self._token == "-":
            sign = -sign
            self._advance()
        token = self._token
        if token == "(":
            self._advance()
            factor, offset = self._sum(depth + 1)
            if self._token != ")":
                raise self._wrong("a ')'")
            self._advance()
            return sign * factor, sign * offset
        if token[:1].isalpha() or token[:1] == "_":
            if not token.isascii():
                raise self._wrong("a name of ASCII letters")
            self.names.add(token)
            self._advance()
            return sign, 0
        if not token.isdecimal() or not token.isascii():
            raise self._wrong("a number or a name")
        if len(token) > DIGITS or (token[0] == "0" and token != "0"):
            raise self._wrong(f"a number of at most {DIGITS} digits that does not begin with 0")
        self._advance()
        return 0, sign * int(token)

    def _bounded(self, factor: int, offset: int) -> tuple[int, int]:
        if max(abs(factor), abs(offset)) >= _MOST:
            raise self._wrong(f"numbers of at most {DIGITS} digits", back=True)
        return factor, offset

    def _advance(self) -> None:
        self._at = self._next
        found = _TOKEN.match(self._inside, self._next)
        assert found is not None  # any character is a token, and so is the end
        self._token, self._next = found[1], found.end()
        self._at = found.start(1)

    def _wrong(self, wanted: str, *, back: bool = False) -> TemplateError:
        found = "" if back else f", found {self._token[:20]!r}" if self._token else ", found the end"
        return _error(
            self._text,
            self._column + 1 + self._at,
            f"{{{shortened(self._inside)}}} is neither a hole nor whole-number arithmetic on one: "
            f"expected {wanted}{found}",
        )


def _check_apart(parts: list[Part], ends: list[int], text: str) -> None:
    """Raise TemplateError for two holes that touch; `ends` is where each hole ends in the text."""
    holes = iter(ends)
    for before, after in itertools.pairwise([*parts, ""]):
        if not isinstance(before, Hole):
            continue
        end = next(holes)
        if isinstance(after, Hole):
            what = (
                f"holes {shortened(before.name)!r} and {shortened(after.name)!r} touch; put text between them"
            )
            raise _error(text, end, what)


def _error(text: str, column: int, what: str) -> TemplateError:
    """Return the error for a place of a template, which is shown around the place with a mark below."""
    start = max(0, column - _SHOWN // 2)
    shown = text[start : start + _SHOWN]
    before, after = "..." * (start > 0), "..." * (start + _SHOWN < len(text))
    line = "".join(char if char.isprintable() else "?" for char in shown)
    mark = " " * (len(before) + column - start) + "^"
    return TemplateError(
        in_lines(
            f"template {before + shown + after!r}, column {column + 1}: {what}",
            f"    {before}{line}{after}",
            f"    {mark}",
        )
    )


def shortened(text: str) -> str:
    """Return the beginning of a text that is too long for a message."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
