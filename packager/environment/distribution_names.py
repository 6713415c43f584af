"""Names and versions of distributions as an archive may give them, and the one spelling of a name."""

from __future__ import annotations

from packager.errors import ArchiveError

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Final

_LONGEST: Final = 200
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ENDS: Final = frozenset(f"{_LETTERS}{_LETTERS.upper()}0123456789")
_IN_NAMES: Final = _ENDS | set("._-")
_IN_VERSIONS: Final = _ENDS | set(".!+_-")


def normalized_name(name: str) -> str:
    """Return the one spelling of a distribution's name: lower case, runs of `-`, `_`, `.` as one `-`.

    >>> normalized_name("Scikit_Learn"), normalized_name("a-_.-b")
    ('scikit-learn', 'a-b')

    Source: PEP 503.
    """
    name = name.replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name.lower()


def check_distribution(name: object, version: object, where: str) -> None:
    """Raise ArchiveError where that is no name and version as package indexes have them."""
    if not (_is_text_of(name, _IN_NAMES) and name[-1] in _ENDS):  # type: ignore[index]  # a text
        raise not_understood(where, f"the distribution {name!r}"[:200], "a name as PyPI has them")
    if not _is_text_of(version, _IN_VERSIONS):
        raise not_understood(where, f"the version {version!r} of {name}"[:200], "one as 2.1.0")


def not_understood(where: str, found: str, expected: str) -> ArchiveError:
    """Return the error for something in a manifest that no exporter writes."""
    return ArchiveError(
        f"manifest, {where}: found {found}; expected {expected}. The archive was not written by a "
        "PackageExporter"
    )


def _is_text_of(text: object, characters: frozenset[str]) -> bool:
    is_short = isinstance(text, str) and 0 < len(text) <= _LONGEST
    return is_short and text[0] in _ENDS and characters.issuperset(text)  # type: ignore[index,arg-type]  # a text
