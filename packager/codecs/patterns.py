"""The codecs for compiled regular expressions, of `re` and of `regex`.

Python goes through every character of a range when it compiles one, so that five characters of a pattern can
take 30 milliseconds. The steps are counted before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from packager.archive import MAX_PATTERN_STEPS
from packager.late_patterns import late_pattern
from packager.quick_dataclasses import dataclass

from .base import CannotStore, Child, Codec, Decoding, Encoding, Node, expect

_TOKEN: Final = late_pattern(
    r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\N\{[^}]*\}|\\[0-7]{1,3}|\\.|.", re.DOTALL
)
_HALVES: Final = late_pattern(r"[\ud800-\udfff]")
_STEPS_PER_CHARACTER: Final = 16
_STEPS_PER_RANGE: Final = 256
_REGEX_FLAGS: Final = 1 << 20
_LAST: Final = 0xFFFF  # ranges beyond are taken as a whole


class PatternCodec(Codec):
    """Compiled regular expressions: the pattern and the flags."""

    name = "re.pattern"
    is_data = "plain"
    types = ("re:Pattern",)

    def encode(self, obj: re.Pattern[Any], context: Encoding) -> Node:
        """Return the pattern and the flags. Raises CannotStore where a reader would not compile them."""
        if isinstance(obj.pattern, str) and _HALVES.search(obj.pattern):
            raise CannotStore(
                "a pattern with half a pair of surrogates, which no text holds",
                "write it as an escape, with a backslash and u",
            )
        try:
            context.shared_state(_Steps).add(obj.pattern)
        except ValueError as error:
            raise CannotStore(str(error), "store the text, and compile it where it is used") from error
        # `re.compile` keeps patterns, so equal ones are one object wherever they are made.
        return Node([obj.pattern, obj.flags], key=(obj.pattern, obj.flags))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) == 2 and not children, "a pattern and flags")
        expect(type(literal[0]) in (str, bytes) and type(literal[1]) is int, "a pattern and flags")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Compile a pattern. Raises ValueError where that would take too long."""
        pattern, flags = literal
        context.shared_state(_Steps).add(pattern)
        return re.compile(pattern, flags & ~re.DEBUG)  # which prints what is compiled


class RegexPatternCodec(PatternCodec):
    """Compiled patterns of the library `regex`: the pattern and the flags, as for those of `re`."""

    name = "regex.pattern"
    is_data = "plain"
    types = ("_regex:Pattern",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the pattern and the flags. Raises CannotStore for named lists, and what takes too long."""
        if obj.named_lists:
            raise CannotStore(
                "a pattern with named lists", "write what is in them into the pattern, as alternatives"
            )
        return super().encode(obj, context)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Compile a pattern. Raises ValueError where that would take too long, or it is none."""
        import regex  # type: ignore[import-untyped, unused-ignore]  # its stubs are a distribution of their own

        pattern, flags = literal
        context.shared_state(_Steps).add(pattern)
        expect(0 <= flags < _REGEX_FLAGS, "flags", flags)
        try:
            return regex.compile(pattern, flags & ~int(regex.DEBUG))
        except regex.error as error:
            raise ValueError(str(error)) from error


@dataclass(slots=True, eq=False)
class _Steps:
    """How many steps all patterns of one object take."""

    count: int = 0

    def add(self, pattern: str | bytes) -> None:
        """Add those of a pattern. Raises ValueError for too many."""
        self.count += _STEPS_PER_CHARACTER * len(pattern)
        if self.count <= MAX_PATTERN_STEPS:
            self.count += _steps_of_ranges(
                pattern.decode("latin-1") if type(pattern) is bytes else str(pattern)
            )
        most = f"patterns that compile in at most {MAX_PATTERN_STEPS} steps"
        expect(self.count <= MAX_PATTERN_STEPS, most, self.count)


def _steps_of_ranges(pattern: str) -> int:
    """Return how many characters the ranges of a pattern have; each dash counts as one of a range."""
    tokens = _TOKEN.findall(pattern)
    dashes = (at for at, token in enumerate(tokens[:-1]) if token == "-" and at > 0)
    ends = ((_code(tokens[at - 1], 0), _code(tokens[at + 1], _LAST)) for at in dashes)
    return sum(_STEPS_PER_RANGE + max(0, min(high, _LAST) - low) for low, high in ends)


def _code(token: str, unknown: int) -> int:
    """Return the code point of a token; `unknown` for one that is given by its name."""
    if token[0] != "\\" or len(token) == 1:
        return ord(token)
    if token[1] in "xuU" and len(token) > 2:
        return int(token[2:], 16)
    if token[1] in "01234567":
        return int(token[1:], 8)
    return unknown if token[1] == "N" else ord(token[1])
