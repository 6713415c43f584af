"""Text of JSON, read piece by piece by one who knows what has to come next.

A general reader of JSON builds everything before anything can be refused: 12 MB of nested maps took 540 MiB,
12 MB of short texts 390. Here nothing is built but what the caller asks for, and the first byte that is
wrong is told.
"""

from __future__ import annotations

from collections.abc import Container

from packager.errors import ArchiveError
from packager.late_patterns import late_pattern

from .archive_errors import damaged
from .bounds import MAX_DEPTH

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import re
    from typing import Final, NoReturn


# Quantifiers are possessive: what was read is never tried again, and costs no memory for each repetition.
GAP: Final = rb"[ \t\n\r]*+"
"""White space of JSON, as part of an expression."""

_SPACES: Final = late_pattern(GAP)
_INSIDE: Final = late_pattern(rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_WORD: Final = late_pattern(rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+|true|false|null")
_HALF: Final = late_pattern("[\ud800-\udfff]")


def shown_key(key: str) -> str:
    """Return a key as errors show it; one may be as long as the file.

    >>> shown_key("net.weight"), len(shown_key("x" * 1000))
    ("'net.weight'", 205)
    """
    return repr(key) if len(key) <= 200 else f"{key[:200]!r}..."


class JsonText:
    """A text of JSON, and how far it has been read.

    `what` names the text in errors, and `first` is the place of its first byte in the file.
    """

    def __init__(self, text: bytes, what: str, first: int = 0) -> None:
        self.text = text
        self.at = 0
        self._what = what
        self._first = first

    def string(self, kind: str = "a text") -> str:
        """Read a text. Escapes are read by the general reader, once their end is known."""
        start, end = self._quoted(kind)
        raw = self.text[start + 1 : end]
        found = self.decode(raw)
        if b"\\" in raw:
            import json  # few keys have escapes

            found = json.loads(f'"{found}"')
            if _HALF.search(found):
                self.fail("half of a surrogate pair")
        self.at = end + 1
        return found

    def strings(self, most: int) -> dict[str, str] | None:
        """Read a map of so many texts at most; None where something else stands here."""
        found: dict[str, str] = {}
        if self.peek() != b"{":
            return None
        self.at += 1
        more = not self.ends(b"}")
        while more:
            key = self.new_key(found)
            if len(found) == most:
                raise self.error("one text more", f"at most {most} in this map")
            self.expect(b":")
            if self.peek() != b'"':
                return None
            found[key] = self.string()
            more = self.goes_on(b"}")
        return found

    def new_key(self, known: Container[str]) -> str:
        """Read a key that is not known yet. `known` holds the keys of the map."""
        start = self.at
        key = self.string("a key")
        if key in known:
            self.at = start
            self.fail(f"the key {shown_key(key)} stands in it twice")
        return key

    def value(self, depth: int = 0) -> None:
        """Read any value, and build nothing of it."""
        if depth > MAX_DEPTH:
            raise self.error("a value nested deeper", f"at most {MAX_DEPTH} levels")
        first = self.peek()
        if first == b'"':
            self.at = self._quoted("a text")[1] + 1
        elif first in (b"{", b"["):
            self.at += 1
            end = b"}" if first == b"{" else b"]"
            more = not self.ends(end)
            while more:
                if first == b"{":
                    self.at = self._quoted("a key")[1] + 1
                    self.expect(b":")
                self.value(depth + 1)
                more = self.goes_on(end)
        elif (word := _WORD.match(self.text, self.at)) is not None:
            self.at = word.end()
        else:
            self.fail(f"{self.text[self.at : self.at + 8]!r} where a value has to start")

    def decode(self, text: bytes) -> str:
        """Return some bytes of the text as a string."""
        try:
            return str(text, "utf-8")
        except UnicodeDecodeError as error:
            raise self.json_error(f"a text that is not UTF-8, {error.reason}") from None

    def ends(self, bracket: bytes) -> bool:
        """Return whether a map or list ends here, and step behind its bracket."""
        ends = self.peek() == bracket
        self.at += ends
        return ends

    def goes_on(self, bracket: bytes) -> bool:
        """Return whether another part follows, behind a comma, or the map or list ends."""
        if self.ends(bracket):
            return False
        self.expect(b",")
        self.skip()
        return True

    def expect(self, byte: bytes) -> None:
        """Read a byte that has to be here."""
        if self.peek() != byte:
            self.fail(f"{self.text[self.at : self.at + 1]!r} in the place of {byte.decode()!r}")
        self.at += 1

    def end(self) -> None:
        """Demand that nothing but white space is left."""
        self.skip()
        if self.at != len(self.text):
            self.fail("more behind its end")

    def peek(self) -> bytes:
        """Return the next byte that is no white space; empty at the end."""
        self.skip()
        return self.text[self.at : self.at + 1]

    def skip(self) -> None:
        """Read white space up to its end."""
        self.at = _end(_SPACES, self.text, self.at)

    def fail(self, found: str) -> NoReturn:
        """Raise the error for what is no JSON here."""
        raise self.json_error(found)

    def json_error(self, found: str) -> ArchiveError:
        """Return the error for what is no JSON here."""
        return self.error(f"what is not such JSON ({found})", "a JSON object without doubles")

    def error(self, found: str, expected: str) -> ArchiveError:
        """Return the error for something that does not belong here."""
        return damaged(f"{self._what}, byte {self._first + self.at}", found, expected)

    def _quoted(self, kind: str) -> tuple[int, int]:
        """Return where the two quotes of a text are."""
        if self.peek() != b'"':
            self.fail(f"{self.text[self.at : self.at + 1]!r} where {kind} has to start")
        start = self.at
        self.at = end = _end(_INSIDE, self.text, start + 1)
        if self.text[end : end + 1] != b'"':
            self.fail(f"{self.text[end : end + 2]!r} inside of a text")
        self.at = start
        return start, end


def _end(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    """Return how far a pattern goes, which may be nowhere."""
    found = pattern.match(text, start)
    return start if found is None else found.end()
