"""Keys that no step of a migration knows: kept, left out, or an error that names them."""

from __future__ import annotations

from collections.abc import Iterable

from packager.errors import MigrationError
from packager.texts import counted

from .declaring import UNKNOWN, Migration, matches
from .migrated_values import Values
from .plan_rows import Row, Rows, all_keys


def known_keys(migration: Migration, rows: Iterable[Rows], values: Values, version: int | None) -> set[str]:
    """Return the keys that steps took, made or left alone by their gates; `values` entered the migration."""
    found = set[str]().union(*map(all_keys, rows))
    for step in migration.steps:
        if not step.gates.open_at(version):
            found |= {key for template in step.templates[0] for key, _ in matches(template, values)}
    return found


def without_unknown(values: Values, known: set[str], what: str, whose: str) -> tuple[Values, list[Row]]:
    """Return the values that are known, and a row for each that is left out.

    `what` is "keep", "drop" or "error". Raises MigrationError, naming them, where it is an error.

    >>> from packager.migrations import stored_values
    >>> kept, rows = without_unknown(stored_values({"a": 1, "b": 2}), {"a"}, "drop", "gguf")
    >>> list(kept), [row.old for row in rows]
    (['a'], [('b',)])
    """
    unknown = [] if what == UNKNOWN[0] else [key for key in values if key not in known]
    if unknown and what == "error":
        raise MigrationError.listing(
            f"no step of {whose} knows {counted(len(unknown), 'key')}:",
            unknown,
            'Write steps for them, or leave them out with unknown = "drop" (--unknown drop)',
        )
    rows = [Row(f"{whose}: unknown = {what!r}", (key,), (), (values[key].header,)) for key in unknown]
    return ({key: value for key, value in values.items() if key in known}, rows) if unknown else (values, [])
