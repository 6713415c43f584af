"""Key templates: patterns with typed holes that can be read forwards and backwards.

    layers.{n:int}.downsample.{rest:any}    ->    layers.{n+1}.downsample.{rest}

A hole is `{name}` or `{name:kind}`; the kinds are
    segment   one or more characters without a dot (the default)
    int       digits, without a leading zero, read as a number
    any       anything, dots included, nothing at all too
On the other side of a rename a hole stands again by name; an int hole may carry whole-number
arithmetic that has an inverse: `{n+1}`, `{2*n}`, `{2*n+1}`, `{3*(n-1)}`. Where a hole stands twice in a
template, its kind is said once. A brace is written twice to stand for itself.

Where a key can be read in several ways, each `any` hole takes as little as it can, from left to right, and
each other one as much as it can. A hole that stands twice has to stand for the same in this reading.

Templates come out of archives, so what is read is bounded. Matching takes time proportional to the length of
the key times the length of the template: a regular expression alone can be made to run for years.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from packager._archive import MAX_MIGRATED_KEY, MAX_TEMPLATE, MAX_TEMPLATE_HOLES
from packager._arguments import check_kind
from packager._quick_dataclasses import dataclass
from packager._texts import in_lines
from packager.errors import MigrationError

HoleValues = Mapping[str, "str | int"]
"""What the holes of a template stand for: numbers for int holes, text for the others."""

_DIGITS: Final = 18  # of a number in a template or a key: no key counts further
_SHOWN = 60  # characters of a template that an error shows, around the place
_CLASSES: Final = {"segment": r"[^.]+", "int": r"(?:0|[1-9][0-9]*)", "any": r".*?"}
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_HOLE = re.compile(r"[ \t]*([A-Za-z_][A-Za-z_0-9]*)[ \t]*(?::[ \t]*([a-z]+)[ \t]*)?")
# A number times a name, or times a name and a number in parentheses; then a number. Blanks may stand between.
_ARITHMETIC = re.compile(
    r" (?:(-?NUMBER) \* )?(?:(NAME)|\( (NAME) ([+-] NUMBER) \)) ([+-] NUMBER)? ".replace(" ", r"[ \t]*")
    .replace("NUMBER", r"(?:0|[1-9][0-9]{0,17})(?![0-9])")
    .replace("NAME", "[A-Za-z_][A-Za-z_0-9]*")
)


class TemplateError(MigrationError, ValueError):
    """A template cannot be read, or lacks an inverse that is needed."""


class HoleArithmetic(NamedTuple):
    """The arithmetic of an int hole: `factor * value + offset`.

    >>> HoleArithmetic(3, -3).apply(2), HoleArithmetic(3, -3).undo(3), HoleArithmetic(3, -3).undo(4)
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
    linear: HoleArithmetic = HoleArithmetic()

    def __str__(self) -> str:
        """Return the hole as a template spells it."""
        if self.linear == _AS_IT_IS:
            return f"{{{self.name}:{self.kind}}}" if self.kind else f"{{{self.name}}}"
        return f"{{{self.linear.factor}*{self.name}{self.linear.offset:+d}}}"

    def value(self, text: str) -> str | int | None:
        """Return what the hole stands for where it matches a text; None where it cannot."""
        if self.kind != "int":
            return text
        value = self.linear.undo(int(text)) if len(text) <= _DIGITS else None
        return None if value is None or value < 0 else value


Part = str | Hole
_AS_IT_IS: Final = HoleArithmetic()


@dataclass(frozen=True)
class Template:
    """A parsed template: literal text and holes in turn.

    >>> swin = Template.parse("layers.{n:int}.downsample.{rest:any}")
    >>> values = swin.match("layers.0.downsample.norm.weight")
    >>> Template.parse("layers.{n+1}.downsample.{rest}").fill(values)
    'layers.1.downsample.norm.weight'
    """

    text: str
    parts: tuple[Part, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Read a template. Raises ArgumentError for no text, TemplateError, with the column, for another."""
        check_kind("template", text, str, "a key, or a template of keys")
        parts = _parse_parts(text)
        kinds = {part.name: part.kind for part in parts if isinstance(part, Hole) and part.kind}
        return cls(text, parts).with_kinds(kinds, "")

    def __str__(self) -> str:
        """Return the template as it is read: kinds and arithmetic written out. Parsing it gives the parts."""
        return "".join(
            str(part) if isinstance(part, Hole) else part.replace("{", "{{").replace("}", "}}")
            for part in self.parts
        )

    @cached_property
    def holes(self) -> tuple[Hole, ...]:
        """The holes, in order."""
        return tuple(part for part in self.parts if isinstance(part, Hole))

    @property
    def is_literal(self) -> bool:
        """Whether the template has no hole, and so names one key."""
        return not self.holes

    def with_kinds(self, kinds: Mapping[str, str], otherwise: str = "segment") -> Template:
        """Return the template with the kinds of holes that it leaves open taken from elsewhere."""
        parts = tuple(
            Hole(part.name, part.kind or kinds.get(part.name, otherwise), part.linear)
            if isinstance(part, Hole)
            else part
            for part in self.parts
        )
        return Template(self.text, parts)

    def at_root(self) -> Template | None:
        """Return the template without `{p:any}.` at its beginning, which no key at the root fits.

        None for another beginning, and where the hole is needed elsewhere.

        >>> Template.parse("{p:any}.{n:int}.mask").at_root().text
        '{n:int}.mask'
        """
        first, second, *_ = (*self.parts, "", "")
        if not isinstance(first, Hole) or first.kind != "any" or not str(second).startswith("."):
            return None
        if any(hole.name == first.name for hole in self.holes[1:]) or second == "." == self.parts[-1]:
            return None
        parts = (str(second)[1:], *self.parts[2:])
        return Template(self.text[self.text.index("}.") + 2 :], tuple(part for part in parts if part))

    def match(self, key: str) -> dict[str, str | int] | None:
        """Return what the holes stand for in `key`, or None when the template does not fit it."""
        found = self._spans(key)
        if found is None:
            return None
        values: dict[str, str | int] = {}
        for hole, text in zip(self.holes, found, strict=True):
            value = hole.value(text)
            if value is None or values.setdefault(hole.name, value) != value:
                return None
        return values

    def matching(self, keys: Collection[str]) -> list[tuple[str, dict[str, str | int]]]:
        """Return the keys that the template fits, each with what `match` returns for it.

        >>> Template.parse("{p:any}.gamma").matching(["norm.gamma", "norm.beta"])
        [('norm.gamma', {'p': 'norm'})]
        """
        if self.is_literal:
            key = self.fill({})
            return [(key, {})] if key in keys else []
        head, tail = (part if isinstance(part, str) else "" for part in (self.parts[0], self.parts[-1]))
        near = [key for key in keys if key.startswith(head) and key.endswith(tail)]
        return [(key, holes) for key in near if (holes := self.match(key)) is not None]

    def fill(self, values: HoleValues) -> str:
        """Return the key that the template stands for.

        Raises TemplateError when a number would be negative, for arithmetic on what is text, and for a key
        that is longer than any.
        """
        written = [part if isinstance(part, str) else self._written(part, values) for part in self.parts]
        length = sum(map(len, written))
        if length > MAX_MIGRATED_KEY:
            raise TemplateError(
                f"template {shortened(self.text)!r}: the key would have {length:,} characters; at "
                f"most {MAX_MIGRATED_KEY:,} are made"
            )
        return "".join(written)

    def _written(self, hole: Hole, values: HoleValues) -> str:
        value = values[hole.name]
        if isinstance(value, str):
            if hole.linear != _AS_IT_IS:
                raise TemplateError(
                    f"template {self.text!r}: the hole {hole.name!r} has the text {value!r}, and "
                    f"arithmetic needs a number; write {{{hole.name}:int}} in the old template"
                )
            return value
        number = hole.linear.apply(value)
        if number < 0:
            raise TemplateError(
                f"template {self.text!r}: {hole.name} = {value} gives {number}; numbers in keys are 0 or more"
            )
        return str(number)

    @cached_property
    def reads_straight(self) -> bool:
        """Whether a regular expression reads every key in time proportional to its length.

        An `any` hole at the end takes what is left. A segment before a dot, and a number before
        something that is no digit, can end in one place only. One other hole may be there, whose end is
        tried for; what is read behind it at each try must not be read again at the next.
        """
        searching = False
        parts = self.parts
        for before, part, after in zip(("", *parts), parts, (*parts[1:], None), strict=False):
            if isinstance(part, str) or (part.kind == "any" and after is None):
                continue
            if searching and not _starts_anew(part, str(before)):
                return False
            if after is None or _ends_in_one_place(part, str(after)):
                continue
            if searching:
                return False
            searching = True
        return True

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        """A regular expression for keys, where it cannot backtrack over more than one hole."""
        return re.compile(
            "".join(
                re.escape(p) if isinstance(p, str) else f"({_CLASSES[p.kind or 'segment']})"
                for p in self.parts
            ),
            re.DOTALL,
        )

    def _spans(self, key: str) -> tuple[str, ...] | None:
        if self.reads_straight:
            found = self._regex.fullmatch(key)
            return None if found is None else found.groups()
        return _match_by_table(self.parts, key)


def _ends_in_one_place(hole: Hole, after: str) -> bool:
    if hole.kind == "int":
        return not after[0].isdecimal()
    return hole.kind in ("", "segment") and after[0] == "."


def _starts_anew(hole: Hole, before: str) -> bool:
    """Say whether what the hole takes after one place of `before` ends ahead of the next such place."""
    return not before.isdecimal() if hole.kind == "int" else "." in before


def _match_by_table(parts: tuple[Part, ...], key: str) -> tuple[str, ...] | None:
    """Match by a table of which rest of the template fits which rest of the key: never exponential."""
    length = len(key)
    fits = [bytearray(length + 1) for _ in range(len(parts) + 1)]
    fits[-1][length] = True
    for row in range(len(parts) - 1, -1, -1):
        part, after, here = parts[row], fits[row + 1], fits[row]
        if isinstance(part, str):
            for at in range(length - len(part) + 1):
                here[at] = after[at + len(part)] and key.startswith(part, at)
        else:
            _fill_row(part.kind, key, here, after)
    if not fits[0][0]:
        return None
    return _read_table(parts, key, fits)


def _fill_row(kind: str, key: str, here: bytearray, after: bytearray) -> None:
    """Mark where a hole may start: before a character that it takes, if the rest fits somewhere behind."""
    reachable = after[-1]  # some end of the hole, at or behind the place looked at, lets the rest fit
    here[-1] = reachable and kind == "any"
    for at in range(len(key) - 1, -1, -1):
        takes = _takes(kind, key[at])
        if kind == "any":
            reachable = reachable or after[at]
            here[at] = reachable
            continue
        here[at] = takes and reachable
        if kind == "int" and key[at] == "0":  # a number is "0", or does not start with it
            here[at] = after[at + 1]
        reachable = (reachable and takes) or after[at]


def _takes(kind: str, character: str) -> bool:
    if kind == "any":
        return True
    return character in "0123456789" if kind == "int" else character != "."


def _read_table(parts: tuple[Part, ...], key: str, fits: list[bytearray]) -> tuple[str, ...]:
    found = []
    at = 0
    for row, part in enumerate(parts):
        if isinstance(part, str):
            at += len(part)
            continue
        ends = range(at, len(key) + 1) if part.kind == "any" else range(len(key), at, -1)
        end = next(end for end in ends if fits[row + 1][end] and _is_one(part.kind, key[at:end]))
        found.append(key[at:end])
        at = end
    return tuple(found)


def _is_one(kind: str, text: str) -> bool:
    """Say whether a hole of a kind can match a text."""
    return kind == "any" or re.fullmatch(_CLASSES[kind or "segment"], text) is not None


def _parse_parts(text: str) -> tuple[Part, ...]:
    """Return the literal texts and holes of a template, in turn.

    Raises TemplateError, with the column, for what is no template, and for one beyond a bound.
    """
    if len(text) > MAX_TEMPLATE:
        long = f"it has {len(text):,} characters; at most {MAX_TEMPLATE:,} are read"
        raise _error(text, MAX_TEMPLATE, long)
    parts: list[Part] = []
    holes = 0
    for piece in _PIECE.finditer(text):
        found = piece.group()
        if found in ("{{", "}}"):
            _append_text(parts, found[0])
        elif piece.group(1) is not None:
            hole = _parse_hole(piece.group(1), text, piece.start())
            if parts and isinstance(before := parts[-1], Hole):
                touching = f"holes {shortened(before.name)!r} and {shortened(hole.name)!r} touch"
                raise _error(text, piece.start(), f"{touching}; put text between them")
            parts.append(hole)
            holes += 1
        elif found in "{}":
            raise _error(
                text, piece.start(), f"single {found!r}; write {{name}}, or {found * 2!r} for a brace"
            )
        else:
            _append_text(parts, found)
        if holes > MAX_TEMPLATE_HOLES:
            raise _error(
                text, piece.start(), f"{holes} holes and more; at most {MAX_TEMPLATE_HOLES} are read"
            )
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
        if kind and kind not in _CLASSES:
            raise _error(text, column, f"unknown kind {kind!r}; the kinds are {', '.join(_CLASSES)}")
        return Hole(plain[1], kind)
    found = _ARITHMETIC.fullmatch(inside)
    shown = f"{{{shortened(inside)}}}"
    if found is None:
        what = f"{shown} is not a hole; expected a form such as {{n}}, {{n:int}}, {{n+1}} or {{3*(n-1)}}"
        raise _error(text, column, what)
    factor = int(found[1] or 1)
    offset = factor * _number(found[4]) + _number(found[5])
    if not factor:
        raise _error(text, column, f"{shown} has no inverse: it is {offset} for every number")
    if abs(offset) >= 10**_DIGITS:
        raise _error(text, column, f"{shown} comes to {offset:,}; the limit is {_DIGITS} digits")
    return Hole(found[2] or found[3], "int", HoleArithmetic(factor, offset))


def _number(text: str | None) -> int:
    return int("".join((text or "0").split()))


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
