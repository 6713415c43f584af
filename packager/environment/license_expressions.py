"""Expressions of SPDX licences, as text: whether something is one, and whether it asks for the source.

They are passed on as they were found. Of an expression only its shape is checked, not that SPDX knows its
identifiers: a list of all of them would be out of date with the next release.

Source: SPDX 2.3, annex D.
"""

from __future__ import annotations

from packager.late_patterns import late_pattern

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Final

_MOST_CHARACTERS: Final = 1000
_MOST_DEPTH: Final = 20
_TOKEN: Final = late_pattern(r"\s*(\(|\)|[A-Za-z0-9][A-Za-z0-9.:+-]*)")
_OPERATORS: Final = ("AND", "OR", "WITH")
_COPYLEFT: Final = late_pattern(
    r"(?i)(?:[AL]?GPL|MPL|EPL|CPL|CDDL|EUPL|OSL|SSPL|CECILL(?!-B)|CC-BY(?:-NC)?-SA|MS-RL|APSL|IPL|SPL|"
    r"GFDL|QPL|NPL|Sleepycat|RPL|RPSL|SISSL|LPL|ODbL|CERN-OHL-[SW]|CPAL|Watcom)(?:-|$)",
)
_COPYLEFT_NAME: Final = late_pattern(
    r"(?i)\b(?:[AL]?GPL|MPL|EUPL|CDDL)|General Public Licen[cs]e|Mozilla Public|Eclipse Public|"
    r"European Union Public|Affero|Share-?Alike|Common Development and Distr|Server Side Public|copyleft",
)


def is_expression(text: str) -> bool:
    """Say whether a text has the shape of an SPDX expression.

    >>> [is_expression(text) for text in ("MIT", "(MIT OR Apache-2.0) AND 0BSD", "MIT License", "MIT OR")]
    [True, True, False, False]
    """
    return _all_are_copyleft(text) is not None


def is_copyleft(text: str) -> bool:
    """Say whether a licence asks that changes, or the whole, are given on under the same terms.

    Of alternatives (`OR`) the one with the fewest demands counts. What is no expression is judged by the
    words in it. This is a hint for people: it knows the licences that are common.

    >>> [is_copyleft(text) for text in ("GPL-3.0-only", "MIT OR GPL-3.0-only", "MIT AND MPL-2.0")]
    [True, False, True]
    >>> [is_copyleft(text) for text in ("GNU General Public License v3", "BSD License")]
    [True, False]
    """
    found = _all_are_copyleft(text)
    return _COPYLEFT_NAME.search(text) is not None if found is None else found


def identifiers(expression: str) -> tuple[str, ...]:
    """Return the licences and exceptions that an expression names, in their order.

    >>> identifiers("(MIT OR Apache-2.0) AND MIT")
    ('MIT', 'Apache-2.0')
    """
    names = (token for token in _tokens(expression) if token not in ("(", ")", *_OPERATORS))
    return tuple(dict.fromkeys(names))


def _all_are_copyleft(text: str) -> bool | None:
    """Return whether every alternative of an expression is copyleft; None for what is no expression."""
    tokens = _tokens(text)
    try:
        found, rest = _alternatives(tokens, 0, 0)
    except ValueError:
        return None
    return found if rest == len(tokens) else None


def _tokens(text: str) -> list[str]:
    """Return the words and brackets of a text; none where it holds anything else."""
    found, at, text = [], 0, text.strip()
    while at < len(text) <= _MOST_CHARACTERS:
        match = _TOKEN.match(text, at)
        if match is None:
            return []
        found.append(match[1])
        at = match.end()
    return found


def _alternatives(tokens: list[str], at: int, depth: int) -> tuple[bool, int]:
    """Read what `OR` joins, from a place on; return whether all of it is copyleft, and the place behind.

    Raises ValueError where that is no expression.
    """
    found, at = _together(tokens, at, depth)
    while tokens[at : at + 1] == ["OR"]:
        more, at = _together(tokens, at + 1, depth)
        found = found and more
    return found, at


def _together(tokens: list[str], at: int, depth: int) -> tuple[bool, int]:
    """Read what `AND` joins: it is copyleft where any of it is."""
    found, at = _one(tokens, at, depth)
    while tokens[at : at + 1] == ["AND"]:
        more, at = _one(tokens, at + 1, depth)
        found = found or more
    return found, at


def _one(tokens: list[str], at: int, depth: int) -> tuple[bool, int]:
    """Read a licence, with its exception, or what stands in brackets."""
    token = tokens[at] if at < len(tokens) else ")"
    if token == "(" and depth < _MOST_DEPTH:
        found, at = _alternatives(tokens, at + 1, depth + 1)
        if tokens[at : at + 1] != [")"]:
            raise ValueError("a bracket is open")
        return found, at + 1
    if token in ("(", ")", *_OPERATORS):
        raise ValueError("a licence is missing")
    if tokens[at + 1 : at + 2] == ["WITH"]:
        _one_name(tokens, at + 2)
        return _COPYLEFT.match(token) is not None, at + 3
    return _COPYLEFT.match(token) is not None, at + 1


def _one_name(tokens: list[str], at: int) -> None:
    if at >= len(tokens) or tokens[at] in ("(", ")", *_OPERATORS):
        raise ValueError("an exception is missing")
