"""What is wrong with objects of libraries that taught rows, asked of a whole table at its audit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from packager.audit import ATTRIBUTES, Row, row_of
from packager.codecs import find_library
from packager.objects import Kind

from .kinds import KindReader

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from packager.objects import CheckedTable

_NO_ROW: Final = Row()
_GIVING: Final = frozenset({Kind.OBJ, Kind.FILL, Kind.STATE})
_SPARSE: Final = frozenset(
    f"scipy.sparse:{form}_{kind}" for form in ("csr", "csc", "coo") for kind in ("matrix", "array")
)
_MOST_TOLD: Final = 100
_COMPUTING: Final = frozenset({"numpy", "numpy.linalg", "scipy.special"})
_NO_FUNCTIONS: Final = frozenset({"numpy:ndarray"})  # it takes a buffer for addresses of objects
_PARTS: Final = frozenset({"scipy"})  # whose objects estimators are made of, and are none


def problems_of(
    rows: Any,
    library: str,
    table: CheckedTable,
    is_trusted: Callable[[str], bool],
    row: Callable[[str], Row],
    read_inside: Collection[str],
) -> Iterator[tuple[int, str, str]]:
    """Yield what objects of a library have that it never gave them: a record, what it is, and their class."""

    def kind_of(name: str, role: str) -> str | None:
        found = row(name)
        is_allowed = found.allows("value" if role == "value" else "create") or found.allows("call")
        # What its name refuses is told by itself.
        return name_kind(name, role, row) if is_allowed and not is_trusted(name) else None

    reader = KindReader(table, kind_of, read_inside)
    start = f"{library}."
    seen: set[tuple[str, int]] = set()  # states that objects of a class have in common
    left = _MOST_TOLD
    for index, record in enumerate(table.records):
        if record[0] not in _GIVING:
            continue
        target = index if record[0] == Kind.OBJ else -1 - record[1]
        name = table.name_of(target)
        if (
            not name.startswith((start, f"{library}:"))
            or row(name).is_a is not ATTRIBUTES
            or is_trusted(name)
        ):
            continue
        if record[0] == Kind.STATE:
            if (name, record[2]) in seen:
                continue
            seen.add((name, record[2]))
        attributes = None if table.codec_name(target) is not None else reader.attributes(record)
        for problem in rows.problems(name, attributes or ()):  # who takes another state says what is wrong
            yield target, problem, name
            left -= 1
            if not left:
                return


def name_kind(name: str, role: str, row: Callable[[str], Row]) -> str:
    """Return the kind of what a name makes ("made"), or of what it is ("value"); "" where none is known.

    `row` gives the row of a name.
    """
    top = name.partition(":")[0].partition(".")[0]
    found = row(name)
    if role == "value":
        if "dtype" in found.uses.split():
            return "dtype"
        if name.partition(":")[0] in _COMPUTING:
            return "numpy function" if name not in _NO_FUNCTIONS else ""
        return "function" if "wrapped" in found.uses.split() and found.is_of_library else ""
    if name in _SPARSE:
        return "sparse"
    library = find_library(top)
    if library is None or library.learned is None:
        return "estimator" if found.is_of_library and top not in _PARTS else ""
    return str(library.learned().group_of(name))


def row_by_name(name: str) -> Row:
    """Return the row of "module:name", as what is known here has it; one that allows nothing for no name."""
    module, _, qualname = name.partition(":")
    return row_of(module, qualname, find_library) or _NO_ROW
