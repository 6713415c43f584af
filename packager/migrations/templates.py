"""Key templates: patterns with typed holes that can be read forwards and backwards.

    layers.{n:int}.downsample.{rest:any}    ->    layers.{n+1}.downsample.{rest}

A hole is `{name}` or `{name:kind}`; the kinds are
    segment   one or more characters without a dot (the default)
    int       digits, without a leading zero, read as a number
    any       anything, dots included, nothing at all too
On the other side of a rename a hole stands again by name; an int hole may carry whole-number
arithmetic that has an inverse (`{n+1}`, `{3*(n-1)}`). Where a hole stands twice in a template, its kind
is said once. A brace is written twice to stand for itself.

Where a key can be read in several ways, each `any` hole takes as little as it can, from left to right.
A hole that stands twice stands for the same both times: `{a}-{a}` fits `x-y-x-y`.

Matching takes time proportional to the length of the key times the length of the template, whatever
both are: templates come out of archives, and a regular expression can be made to run for years.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from packager.archive import MAX_MIGRATED_KEY
from packager.arguments import check_kind
from packager.quick_dataclasses import dataclass

from .repeated_holes import TRIES, repeated_name, with_repeats
from .template_columns import Columns, filled, matched, near_keys
from .template_holes import (
    CLASSES,
    Hole,
    Linear,
    Part,
    TemplateError,
    is_one,
    parse_parts,
    shortened,
    value_of,
)

HoleValues = Mapping[str, "str | int"]
"""What the holes of a template stand for: numbers for int holes, text for the others."""


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
        parts = parse_parts(text)
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
        if self._names is not None:
            return dict(zip(self._names, found, strict=True))
        values = _values(self.holes, found)
        return self._match_repeats(key) if values is None and self.tries else values

    def matching(self, keys: Iterable[str]) -> list[tuple[str, dict[str, str | int]]]:
        """Return the keys that the template fits, each with what `match` returns for it.

        >>> Template.parse("{p:any}.gamma").matching(["norm.gamma", "norm.beta"])
        [('norm.gamma', {'p': 'norm'})]
        """
        if self.is_literal:
            return [(key, {}) for key in keys if self.match(key) is not None]
        columns = self.columns(keys)
        if columns is not None:
            return list(columns.rows())
        near = near_keys(self.parts, keys)
        return [(key, holes) for key in near if (holes := self.match(key)) is not None]

    def columns(self, keys: Iterable[str]) -> Columns | None:
        """Return the same in columns; None where each key is matched for itself, and without holes."""
        if self.is_literal or self._regex is None or repeated_name(self.holes):
            return None
        return matched(self.parts, self._regex, keys)

    def filled(self, columns: Columns) -> list[str] | None:
        """Return what `fill` gives for each row; None where one of them is an error."""
        return filled(self.parts, columns)

    def fill(self, values: HoleValues) -> str:
        """Return the key that the template stands for.

        Raises TemplateError when a number would be negative, for arithmetic on what is text, and for a key
        that is longer than any.
        """
        if self._format is not None:
            text, names = self._format
            key = text % tuple([values[name] for name in names])
            if len(key) <= MAX_MIGRATED_KEY:
                return key
        written: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                written.append(part)
                continue
            value = values[part.name]
            number = part.linear.factor * value + part.linear.offset if type(value) is int else -1
            written.append(str(number) if number >= 0 else self._written(part, values))
        length = sum(map(len, written))
        if length > MAX_MIGRATED_KEY:
            raise TemplateError(
                f"template {shortened(self.text)!r}: the key would have {length:,} characters; at most "
                f"{MAX_MIGRATED_KEY:,} are made"
            )
        return "".join(written)

    def _written(self, hole: Hole, values: HoleValues) -> str:
        value = values[hole.name]
        if isinstance(value, str):
            if hole.linear != Linear():
                raise TemplateError(
                    f"template {self.text!r}: hole {hole.name!r} is reckoned with, and stands for the text "
                    f"{value!r}; write {{{hole.name}:int}} where the hole takes its value"
                )
            return value
        number = hole.linear.apply(value)
        if number < 0:
            raise TemplateError(
                f"template {self.text!r}: {hole.name} = {value} gives {number}; "
                "a number in a key cannot be negative"
            )
        return str(number)

    @cached_property
    def _format(self) -> tuple[str, tuple[str, ...]] | None:
        """What `%` fills with the values of these holes; None where a number stands in one of them."""
        if any(hole.kind == "int" or hole.linear != Linear() for hole in self.holes):
            return None
        text = "".join(part.replace("%", "%%") if isinstance(part, str) else "%s" for part in self.parts)
        return text, tuple(hole.name for hole in self.holes)

    @cached_property
    def _names(self) -> tuple[str, ...] | None:
        """The names of the holes, where what they match is what they stand for."""
        names = tuple(hole.name for hole in self.holes)
        plain = len(set(names)) == len(names) and all(hole.kind != "int" for hole in self.holes)
        return names if plain else None

    @cached_property
    def reads_straight(self) -> bool:
        """Whether a regular expression reads every key in time proportional to its length."""
        return _reads_straight(self.parts)

    @cached_property
    def _regex(self) -> re.Pattern[str] | None:
        """A regular expression for `match`, where it cannot backtrack over more than one hole."""
        if not self.reads_straight:
            return None
        return re.compile(
            "".join(
                re.escape(p) if isinstance(p, str) else f"({CLASSES[p.kind or 'segment']})"
                for p in self.parts
            ),
            re.DOTALL,
        )

    @cached_property
    def tries(self) -> int:
        """How often a key is read at most where a hole that stands twice stood for two things at first."""
        return TRIES if repeated_name(self.holes) and not _reads_one_way(self.parts) else 0

    def _match_repeats(self, key: str) -> dict[str, str | int] | None:
        """Return the values for which each hole that stands twice stands for the same."""
        for parts, known in with_repeats(self.parts, key):
            found = _match_by_table(parts, key)
            rest = None if found is None else _values([p for p in parts if isinstance(p, Hole)], found)
            if rest is not None:
                values = {**rest, **known}
                return {hole.name: values[hole.name] for hole in self.holes}
        return None

    def _spans(self, key: str) -> tuple[str, ...] | None:
        if self._regex is not None:
            found = self._regex.fullmatch(key)
            return None if found is None else found.groups()
        return _match_by_table(self.parts, key)


def _values(holes: Sequence[Hole], found: Sequence[str]) -> dict[str, str | int] | None:
    """Return what holes stand for by what they match; None where one would stand for two things."""
    values: dict[str, str | int] = {}
    for hole, text in zip(holes, found, strict=True):
        value = value_of(hole, text)
        if value is None or values.setdefault(hole.name, value) != value:
            return None
    return values


def _reads_one_way(parts: tuple[Part, ...]) -> bool:
    """Say whether no key can be read in two ways: each hole ends in one place."""
    return all(
        isinstance(part, str) or _ends_in_one_place(part, str(after))
        for part, after in itertools.pairwise(parts)
    )


def _reads_straight(parts: tuple[Part, ...]) -> bool:
    """Say whether a backtracking matcher reads every key in time proportional to its length.

    An `any` hole at the end takes what is left. A segment before a dot, and a number before
    something that is no digit, can end in one place only. One other hole may be there, whose end is
    tried for; what is read behind it at each try must not be read again at the next.
    """
    searching = False
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
    at = 0
    for part in parts:  # most keys lack one of the texts, or have them in another order
        if isinstance(part, str):
            at = key.find(part, at) + len(part)
            if at < len(part):
                return None
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
        end = next(end for end in ends if fits[row + 1][end] and is_one(part.kind, key[at:end]))
        found.append(key[at:end])
        at = end
    return tuple(found)
