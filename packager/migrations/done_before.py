"""Steps that find nothing because a migration before theirs has done the same, or moved what they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .applying import NO_MATCH, Row
from .declaring import Migration, Step, matches
from .growth import Growth
from .migrated_values import Stored, Values, stored_keys
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
        other = next((key for key in taken if not _is_done(step, key, places, values)), None)
        if other is None:
            return replace(row, skipped=f"done before, by migration {whose}", literal=False)
        what = f"has become {places[other]!r}" if other in places else "was taken"
        return replace(row, skipped=f"{NO_MATCH}: {other!r} {what} before, by migration {whose}")


def _is_done(step: Step, key: str, places: Mapping[str, str], values: Values) -> bool:
    """Say whether what a step would do to a key of the chain's beginning is done."""
    if isinstance(step, Drop):
        return key not in places and all(key not in stored_keys(value.origin) for value in values.values())
    return isinstance(step, Rename) and not step.transforms and places.get(key) == step.renamed(key)
