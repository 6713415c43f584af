"""One pattern of a glob: over dotted names, over paths, and over what a caller trusts.

It is matched part by part, in time proportional to the length of the pattern times that of the name. A
regular expression of the same meaning tries every way in which its stars can share the name among them:
`*a*a*a*b` does not come to an end on a long run of `a`.
"""

from __future__ import annotations

from .errors import ArgumentError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Final

# Characters of a pattern: the longest path that Linux takes.
MAX_PATTERN: Final = 4096


class Glob:
    """A pattern of parts between separators: `*` is any run of characters of a part, `**` any parts.

    `*` may stand for nothing at all, `**` for no part; each part that `**` stands for has a character.
    Raises ArgumentError where `**` is only a piece of a part (`a.**b`), and for a pattern of more characters
    than a path has.

    >>> [Glob("a.**.b*").matches(name) for name in ("a.b", "a.x.y.bc", "a.c", "b")]
    [True, True, False, False]
    >>> Glob("data/*.txt", "/").matches("data/words.txt")
    True
    """

    __slots__ = ("_head", "_least", "_literal", "_parts", "_separator", "pattern")

    def __init__(self, pattern: str, separator: str = ".") -> None:
        if len(pattern) > MAX_PATTERN:
            raise ArgumentError(
                f"a pattern of {len(pattern):,} characters, which begins with {pattern[:40]!r}; at most "
                f"{MAX_PATTERN:,} are matched; write several, or a shorter one with *"
            )
        self.pattern = pattern
        # What each name that fits begins with: `a.**` fits `a` too.
        self._head = pattern.partition("*")[0].removesuffix(separator)
        self._separator = separator
        self._literal = "*" not in pattern
        parts = pattern.split(separator)
        for part in parts:
            if "**" in part and part != "**":
                raise ArgumentError(f"** can only appear as an entire path segment, found {part!r}")
        # The texts between the stars of each part; None for a part that is `**`.
        # One that follows another says nothing more.
        self._parts = [
            None if part == "**" else part.split("*")
            for part, before in zip(parts, ["", *parts], strict=False)
            if part != "**" or before != "**"
        ]
        self._least = sum(part is not None for part in self._parts)

    def matches(self, name: str) -> bool:
        """Say whether the pattern fits the whole name."""
        if self._literal:
            return name == self.pattern
        if not name.startswith(self._head):
            return False
        names = name.split(self._separator)
        if len(names) < self._least:
            return False
        fits = [True] + [False] * len(names)  # whether the pattern so far fits the first so many parts
        for texts in self._parts:
            if texts is None:
                for at, part in enumerate(names):
                    fits[at + 1] = fits[at + 1] or (fits[at] and part != "")
            else:
                for at in range(len(names), 0, -1):
                    fits[at] = fits[at - 1] and _fits(texts, names[at - 1])
                fits[0] = False
        return fits[-1]


def _fits(texts: list[str], part: str) -> bool:
    """Say whether a part is these texts in their order, with anything between them."""
    first, last = texts[0], texts[-1]
    if len(texts) == 1:
        return part == first
    at, end = len(first), len(part) - len(last)
    if at > end or not (part.startswith(first) and part.endswith(last)):
        return False
    for text in texts[1:-1]:  # the first place of each leaves most room for the others
        found = part.find(text, at, end)
        if found < 0:
            return False
        at = found + len(text)
    return True
