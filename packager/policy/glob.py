"""Patterns over dotted names: what a rule includes and excludes, as torch.package spells it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

GlobPattern = str | Iterable[str]


class GlobGroup:
    """A set of names: those that match any `include` pattern and no `exclude` pattern.

    A name is made of parts between `separator`s. Within one part `*` stands for any run of
    characters, also an empty one; `**` is a whole part and stands for zero or more parts.
    `include` and `exclude` take a string or several. Groups are immutable, compare by their
    patterns and can be keys.

    Raises ValueError where `**` is only a piece of a part (`a.**b`), TypeError where a pattern
    is no string.

    >>> group = GlobGroup("torch*.**", exclude=["torchvision.**"])
    >>> [group.matches(name) for name in ("torch", "torch.nn.init", "torchvision.ops", "mytorch")]
    [True, True, False, False]
    >>> GlobGroup("data/*.txt", separator="/").matches("data/words.txt")
    True

    Source: torch.package.GlobGroup; there `include` and `exclude` are lists of compiled expressions.
    """

    __slots__ = ("_excluded", "_included", "exclude", "include", "separator")

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    separator: str

    def __init__(self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = ".") -> None:
        self.include = _as_tuple(include)
        self.exclude = _as_tuple(exclude)
        self.separator = separator
        self._included = [_compile(pattern, separator) for pattern in self.include]
        self._excluded = [_compile(pattern, separator) for pattern in self.exclude]

    def matches(self, candidate: str) -> bool:
        """Say whether `candidate` is in the group."""
        return any(True for _ in self.matching(candidate))

    def matching(self, candidate: str) -> Iterator[str]:
        """The include patterns that match `candidate`; none where it is excluded."""
        text = self.separator + candidate
        if not any(expression.fullmatch(text) for expression in self._excluded):
            for pattern, expression in zip(self.include, self._included, strict=True):
                if expression.fullmatch(text):
                    yield pattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobGroup) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"GlobGroup(include={list(self.include)}, exclude={list(self.exclude)})"

    def _key(self) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        return (self.include, self.exclude, self.separator)


def _as_tuple(patterns: GlobPattern) -> tuple[str, ...]:
    if not isinstance(patterns, Iterable):
        raise TypeError(f"patterns must be a string or several, got {type(patterns).__name__}: {patterns!r}")
    found = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    for pattern in found:
        if not isinstance(pattern, str):
            raise TypeError(f"a pattern must be a string, got {type(pattern).__name__}: {pattern!r}")
    return found


def _compile(pattern: str, separator: str) -> re.Pattern[str]:
    # Names are matched with a separator in front, so that the first part needs no case of its own.
    return re.compile("".join(_part_expression(part, separator) for part in pattern.split(separator)))


def _part_expression(part: str, separator: str) -> str:
    start, inside = re.escape(separator), f"[^{re.escape(separator)}]"
    if part == "**":
        return f"(?:{start}{inside}+)*"
    if "**" in part:
        raise ValueError(f"** can only appear as an entire path segment, found {part!r}")
    return start + f"{inside}*".join(re.escape(piece) for piece in part.split("*"))
