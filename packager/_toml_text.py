"""TOML: files that others may have written, measured before the parser is asked; strings as it spells them.

The parser of the standard library notes every prefix of a dotted key (20,000 parts took 1.5 GiB), calls
itself for every bracket, and leaves Python's own errors for numbers of thousands of digits. So the text is
looked through once first; what a bound refuses is told with its line. All bounds on such files stand here.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final

from packager.errors import ArgumentError

# Characters. A migration with a rename for each of 20,000 keys, and the reason above it, takes 6 million.
MAX_TOML: Final = 8 << 20

# Parts of one dotted key: policies and migrations use one. The parser's memory grows with the square of them.
MAX_KEY_PARTS: Final = 16

# Brackets, and dots of keys: each costs the parser up to a kilobyte. A step of a migration has two to eight.
MAX_BRACKETS: Final = 1 << 17

# Values and keys, by the `=` and `,` around them: the parser takes some 15 millionths of a second for each.
MAX_VALUES: Final = 1 << 19

# Brackets inside each other: a list of transforms with their numbers has three. The parser calls itself for
# each.
MAX_NESTING: Final = 16

# Characters of a number, a date or a bare key; Python refuses to read more than 4,300 digits.
MAX_BARE: Final = 200

# Strings, which may hold anything; lines and comments up to what follows them, however many they are; what
# bounds are for; everything else is passed over.
_TOKEN: Final = re.compile(
    r'"""(?:[^"\\]++|\\.?|"(?!""))*+(?:"""|\Z)|'
    r"'''(?:[^']++|'(?!''))*+(?:'''|\Z)|"
    r'"(?:[^"\\\n]++|\\[^\n]?)*+"?|'
    r"'[^'\n]*+'?|"
    r"(?:\#[^\n]*+|\n)(?:[ \t\r\n]++|\#[^\n]*+)*+|"
    r"[A-Za-z0-9_+-]++|[\[\]{}.=,]",
    re.DOTALL,
)


class TomlError(ValueError):
    """A text that is no TOML, or goes beyond a bound; the message gives the line."""


def parse_toml(text: str) -> dict[str, Any]:
    """Return what a text of TOML says. Raises TomlError for what is none, or goes beyond a bound.

    >>> parse_toml("a = [1, 2]")
    {'a': [1, 2]}
    >>> parse_toml("a = " + "[" * 20)
    Traceback (most recent call last):
        ...
    packager._toml_text.TomlError: line 1: 17 brackets inside each other; at most 16 are read
    """
    if len(text) > MAX_TOML:
        raise TomlError(f"{len(text):,} characters; at most {MAX_TOML:,} are read; split the file")
    _measure(text)
    import tomllib  # most exports and loads read no TOML

    try:
        return tomllib.loads(text)
    except ValueError as error:  # a TOMLDecodeError, or what Python says of a date or a number
        raise TomlError(str(error)) from error


def read_toml(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, for `parse_toml`.

    Raises TomlError for one that is no UTF-8 or too large, OSError where it cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read(4 * MAX_TOML + 1)  # a character has up to four bytes
    if len(data) > 4 * MAX_TOML:
        raise TomlError(f"{len(data):,} bytes and more; at most {4 * MAX_TOML:,} are read; split the file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TomlError(f"line {line}: it is not UTF-8 text: {error}") from error


def toml_string(text: str) -> str:
    """Return a text as TOML spells it.

    Raises ArgumentError for a lone surrogate, as in the name of a file that is not UTF-8.

    >>> print(toml_string('a "b"\\n\\x7f'))
    "a \\"b\\"\\n\\u007f"
    """
    import json  # most loads write no TOML

    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"TOML cannot spell {text!r}, which is not Unicode text; rename it") from error
    # A string of JSON is one of TOML, but for DEL, and for characters spelled as two escapes: emoji stay.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _measure(text: str) -> None:
    """Raise TomlError for a text that goes beyond a bound."""
    brackets = values = nesting = parts = 0
    line = 1
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token[0] in "\n#":
            line, parts = line + token.count("\n"), 0
        elif token in "[{":
            brackets, nesting, parts = brackets + 1, nesting + 1, 0
            _require(nesting, MAX_NESTING, line, "brackets inside each other")
        elif token in "]}":
            nesting, parts = max(nesting - 1, 0), 0
        elif token == ".":
            brackets, parts = brackets + 1, parts + 1
            _require(parts + 1, MAX_KEY_PARTS, line, "parts of one key")
        elif token in "=,":
            values, parts = values + 1, 0
            _require(values, MAX_VALUES, line, "keys and values")
        elif token[0] in "\"'":
            line += token.count("\n")
        else:
            _require(len(token), MAX_BARE, line, "characters without quotes")
        _require(brackets, MAX_BRACKETS, line, "brackets, and dots of keys")


def _require(count: int, most: int, line: int, what: str) -> None:
    if count > most:
        raise TomlError(f"line {line}: {count:,} {what}; at most {most:,} are read")
