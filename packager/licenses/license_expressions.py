"""Expressions of SPDX licences, as text: whether something is one, and whether it asks for the source.

They are passed on as they were found. Of an expression only its shape is checked, not that SPDX knows its
identifiers: a list of all of them would be out of date with the next release.

Source: SPDX 2.3, annex D.
"""

from __future__ import annotations

from packager.late_patterns import late_pattern

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import re
    from typing import Final

_MOST_CHARACTERS: Final = 1000
_MOST_DEPTH: Final = 20
_OPERATORS: Final = ("AND", "OR", "WITH")
_WORD: Final = late_pattern(r"[A-Za-z0-9][A-Za-z0-9.:+-]*")
_EXCEPTION: Final = late_pattern(r"\b([01]) WITH [01]\b")
_BRACKETS: Final = late_pattern(r"\(([^()]*)\)")
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
    return _judged(text) in ("0", "1")


def is_copyleft(text: str) -> bool:
    """Say whether a licence asks that changes, or the whole, are given on under the same terms.

    Of alternatives (`OR`) the one with the fewest demands counts. What is no expression is judged by the
    words in it. This is a hint for people: it knows the licences that are common.

    >>> [is_copyleft(text) for text in ("GPL-3.0-only", "MIT OR GPL-3.0-only", "MIT AND MPL-2.0")]
    [True, False, True]
    >>> [is_copyleft(text) for text in ("GNU General Public License v3", "BSD License")]
    [True, False]
    """
    found = _judged(text)
    return _COPYLEFT_NAME.search(text) is not None if found == "?" else found == "1"


def identifiers(expression: str) -> tuple[str, ...]:
    """Return the licences and exceptions that an expression names, in their order.

    >>> identifiers("(MIT OR Apache-2.0) AND MIT")
    ('MIT', 'Apache-2.0')
    """
    return tuple(dict.fromkeys(name for name in _WORD.findall(expression) if name not in _OPERATORS))


def _judged(text: str) -> str:
    """Return "1" where every alternative of an expression is copyleft, else "0"; "?" for no expression."""
    if len(text) > _MOST_CHARACTERS:
        return "?"
    rest = _EXCEPTION.sub(r"\1", " ".join(_WORD.sub(_judged_word, text).split()))
    for _ in range(_MOST_DEPTH):  # the innermost brackets first
        rest = _BRACKETS.sub(lambda found: _judged_flat(found[1]), rest)
    return _judged_flat(rest)


def _judged_word(word: re.Match[str]) -> str:
    return word[0] if word[0] in _OPERATORS else str(int(_COPYLEFT.match(word[0]) is not None))


def _judged_flat(text: str) -> str:
    alternatives = [one.split(" AND ") for one in text.strip().split(" OR ")]
    if not {word for one in alternatives for word in one} <= {"0", "1"}:
        return "?"
    return str(int(all("1" in one for one in alternatives)))
