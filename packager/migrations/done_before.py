"""Steps that find nothing because a migration before theirs has done the same, or moved what they name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packager.quick_dataclasses import replace

from .applying import NO_MATCH
from .declaring import Migration, Step, matches
from .growth import Growth
from .migrated_values import Stored, Values, stored_keys
from .plan_rows import Row
from .renaming import Drop, Rename


class Before:
    """The keys that entered a chain of migrations, and which of these have run."""

    def __init__(self, entered: Values) -> None:
        self._entered = entered
        self._ran: list[str] = []

    def ran(self, migration: Migration) -> None:
        """Note a migration that has run."""
        self._ran.append(repr(migration.name))

    def explained(self, step: Step, row: Row, values: Values, growth: Growth) -> Row:
        """Return a row of a step that found nothing with the reason, where migrations before took its keys.

        Where they did to each of them what the step does, nothing is amiss.
        """
        if not self._ran or not row.skipped.startswith(NO_MATCH):
            return row
        growth.match(step, self._entered, ())
        taken = [
            key
            for template in step.templates[0]
            for key, _ in matches(template, self._entered)
            if key not in values
        ]
        if not taken:
            return row
        places = {value.origin.key: key for key, value in values.items() if isinstance(value.origin, Stored)}
        whose = " and ".join(self._ran)
        other = _first_not_done(step, taken, places, values)
        if other is None:
            return replace(row, skipped=f"done before, by migration {whose}", literal=False)
        what = f"has become {places[other]!r}" if other in places else "was taken"
        return replace(row, skipped=f"{NO_MATCH}: {other!r} {what} before, by migration {whose}")


def _first_not_done(
    step: Step, taken: Iterable[str], places: Mapping[str, str], values: Values
) -> str | None:
    """Return the first key of the beginning to which another thing was done than the step would do."""
    if isinstance(step, Drop):
        kept = {key for value in values.values() for key in stored_keys(value.origin)}
        return next((key for key in taken if key in kept), None)
    if isinstance(step, Rename) and not step.transforms:
        return next((key for key in taken if places.get(key) != step.renamed(key)), None)
    return next(iter(taken), None)
