"""How much migrations may make of one state dict: keys, their characters, bytes of arrays, rows, matching.

A step that doubles is small, and sixty of them are more than any memory. So what steps make is counted while
they are planned, before a value is read, against what entered; `packager/archive/bounds.py` has the figures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import gt

from packager.archive import MAX_MATCHING, MAX_MIGRATED_ROWS, MAX_TENSORS, most_key_text, most_made
from packager.errors import MigrationError
from packager.texts import listed

from .declaring import Step
from .migrated_values import Value, Values, size_in_bytes
from .templates import Template

_PER_KEY = 32  # what carrying a key through a step costs, in characters of matching
_PER_STEP = 1000  # likewise a step that has nothing to do
_COUNTED = ("keys", "characters of keys", "bytes of arrays to make", "changes")
_BY_TABLE = 16  # how much longer the table takes for a character and a part than a regular expression


class GrowthError(MigrationError):
    """Migrations that make more of a state dict than any honest one does."""


class Growth:
    """What steps have made of one state dict so far."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        text, made = sum(map(len, values)), sum(size_in_bytes(one.header) for one in values.values())
        self._most = max(MAX_TENSORS, len(values)), most_key_text(text), most_made(made), MAX_MIGRATED_ROWS
        self._rows = self._matching = 0
        self._counts = (0, 0, 0)  # of the step that goes on: keys, their characters, bytes to make
        self._step = Step()

    def begin(self, step: Step, values: Values, entered: Collection[str]) -> None:
        """Count a step that is about to be carried out. Raises GrowthError beyond a bound."""
        made = sum(value.work for value in values.values())
        self._counts = len(values), sum(map(len, values)), made
        self.match(step, values, entered)

    def match(self, step: Step, keys: Collection[str], entered: Collection[str]) -> None:
        """Count what a step matches. Raises GrowthError beyond the bound."""
        self._step = step
        self.spend(_matching_cost(step, keys, entered))

    def spend(self, cost: int) -> None:
        """Count work of the step that goes on. Raises GrowthError beyond the bound."""
        self._matching += cost
        if self._matching > MAX_MATCHING:
            raise GrowthError(
                f"{self._step.described()}: the steps so far match {self._matching:,} characters of keys; at "
                f"most {MAX_MATCHING:,} are matched. Divide the migration, or write its templates with fewer "
                "holes"
            )

    def move(
        self, step: Step, old: tuple[str, ...], new: tuple[tuple[str, Value], ...], values: Values
    ) -> None:
        """Count what a step makes of some keys. Raises GrowthError, naming one, beyond a bound."""
        self._rows += 1
        keys, text, made = self._counts
        for key in old:
            keys, text, made = keys - 1, text - len(key), made - values[key].work
        for key, value in new:
            keys, text, made = keys + 1, text + len(key), made + value.work
        self._counts = keys, text, made
        counts = keys, text, made, self._rows
        if not any(map(gt, counts, self._most)):
            return
        beyond = [one for one in zip(counts, self._most, _COUNTED, strict=True) if one[0] > one[1]]
        count, most, what = beyond[0]
        where = f"{shown_keys(old)} to " if old else ""
        where += shown_keys(key for key, _ in new)
        raise GrowthError(
            f"{step.described()}: {where}: that makes {count:,} {what}; at most {most:,} are made of this "
            "state dict"
        )

    def skip(self) -> None:
        """Count a row that says why nothing was done. The next change raises beyond the bound."""
        self._rows += 1


def _matching_cost(step: Step, keys: Collection[str], entered: Collection[str]) -> int:
    """Return how many characters a step reads, those that only the slower way of matching reads for more."""
    given, made = step.templates
    known = {hole.name for template in (*given, *made) for hole in template.holes}
    gates = [one for one in step.gates.keys if not known.issuperset(hole.name for hole in one.holes)]
    before = _cost(entered) if gates else 0
    found = _PER_STEP + step.gates.count * (1 + len(keys) * _PER_KEY)  # each is looked at for each match
    return found + _cost(keys) * (1 + sum(map(_factor, given))) + before * sum(map(_factor, gates))


def _cost(keys: Collection[str]) -> int:
    return sum(map(len, keys)) + _PER_KEY * len(keys)


def _factor(template: Template) -> int:
    if template.is_literal:
        return 0
    return 1 if template.reads_straight else _BY_TABLE * len(template.parts)


def shown_keys(keys: Iterable[str]) -> str:
    """Return a few keys, each cut where it is long."""
    return listed([repr(key if len(key) <= 80 else f"{key[:80]}...") for key in keys], 3)
