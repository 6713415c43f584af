"""How much migrations may make of one state dict: keys, their characters, bytes of arrays, rows, matching.

A step that doubles is small, and sixty of them are more than any memory. So what steps make is counted while
they are planned, before a value is read, against what entered; `packager/archive/bounds.py` has the figures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter

from packager.archive import MAX_MATCHING, MAX_MIGRATED_ROWS, MAX_TENSORS, most_key_text, most_made
from packager.errors import MigrationError
from packager.texts import listed

from .declaring import Step
from .migrated_values import Value, Values, size_in_bytes
from .templates import Template

_PER_KEY = 32  # what carrying a key through a step costs, in characters of matching
_PER_STEP = 1000  # likewise a step that has nothing to do
_BY_TABLE = 16  # how much longer the table takes for a character and a part than a regular expression


class GrowthError(MigrationError):
    """Migrations that make more of a state dict than any honest one does."""


class Growth:
    """What steps have made of one state dict so far."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._most_keys = max(MAX_TENSORS, len(values))
        self._most_text = most_key_text(sum(map(len, values)))
        self._most_made = most_made(_bytes_of(values))
        self._matching = self._rows = 0
        self._keys = self._text = self._made = 0
        self._step = Step()
        self._counted: Values | None = None

    def begin(self, step: Step, values: Values, entered: Collection[str]) -> None:
        """Count a step that is about to be carried out. Raises GrowthError beyond a bound."""
        if values is not self._counted:
            self._keys, self._text = len(values), sum(map(len, values))
            self._made = sum(map(attrgetter("work"), values.values()))
            self._counted = values
        self.match(step, values, entered)

    def match(self, step: Step, keys: Collection[str], entered: Collection[str]) -> None:
        """Count what a step matches. Raises GrowthError beyond the bound."""
        self._step = step
        self.spend(matching_cost(step, keys, entered, self._text if keys is self._counted else None))

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
        self._counted = None
        if len(old) == len(new) == 1:  # a rename, which most steps are
            (key,), ((made, value),) = old, new
            self._text += len(made) - len(key)
            self._made += value.work - values[key].work
        else:
            self._keys += len(new) - len(old)
            self._text += sum(len(key) for key, _ in new) - sum(map(len, old))
            self._made += sum(value.work for _, value in new) - sum(values[key].work for key in old)
        if (
            self._keys <= self._most_keys
            and self._text <= self._most_text
            and self._made <= self._most_made
            and self._rows <= MAX_MIGRATED_ROWS
        ):
            return
        for count, most, what in (
            (self._keys, self._most_keys, "keys"),
            (self._text, self._most_text, "characters of keys"),
            (self._made, self._most_made, "bytes of arrays to make"),
            (self._rows, MAX_MIGRATED_ROWS, "changes"),
        ):
            if count > most:
                where = (
                    f"{shown_keys(old)} to {shown_keys(key for key, _ in new)}"
                    if old
                    else shown_keys(dict(new))
                )
                raise GrowthError(
                    f"{step.described()}: {where}: that makes {count:,} {what}; at most {most:,} are made of "
                    "this state dict"
                )

    def has_room(self, old: Sequence[str], new: Sequence[str] | None, skipped: int) -> bool:
        """Say whether there is room for changes that name values anew, or leave them out (`new` is None).

        None of them then raises, whatever their order. Where there is no room, `move` says at which key.
        """
        added = 0 if new is None else sum(map(len, new))
        return (
            self._keys <= self._most_keys
            and self._text + added <= self._most_text
            and self._made <= self._most_made
            and self._rows + len(old) + skipped <= MAX_MIGRATED_ROWS
        )

    def moves(self, old: Sequence[str], new: Sequence[str] | None, skipped: int, after: Values) -> None:
        """Count such changes, for which there is room, and so many rows that say why nothing was done."""
        self._rows += len(old) + skipped
        if new is not None:
            self._text += sum(map(len, new)) - sum(map(len, old))
            self._counted = after

    def skip(self) -> None:
        """Count a row that says why nothing was done. The next change raises beyond the bound."""
        self._rows += 1


def matching_cost(
    step: Step, keys: Collection[str], entered: Collection[str], text: int | None = None
) -> int:
    """Return how many characters a step reads, those that only the slower way of matching reads for more.

    `text` is how many characters `keys` have, where that is known.
    """
    given, made = step.templates
    known = {hole.name for template in (*given, *made) for hole in template.holes}
    gates = [
        template for template in step.gates.keys if not known.issuperset(hole.name for hole in template.holes)
    ]
    here = _cost(keys) if text is None else text + _PER_KEY * len(keys)
    before = _cost(entered) if gates else 0
    found = _PER_STEP + step.gates.count * (1 + len(keys) * _PER_KEY)  # each is looked at for each match
    found += here * (1 + sum(map(_factor, given))) + before * sum(map(_factor, gates))
    return found


def _bytes_of(values: Mapping[str, Value]) -> int:
    """Return the bytes of all arrays; most of them share a header with others."""
    headers = [value.header for value in values.values()]
    each = {id(header): size_in_bytes(header) for header in {id(one): one for one in headers}.values()}
    return sum(map(each.__getitem__, map(id, headers)))


def _cost(keys: Collection[str]) -> int:
    return sum(map(len, keys)) + _PER_KEY * len(keys)


def _factor(template: Template) -> int:
    if template.is_literal:
        return 0
    once = 1 if template.reads_straight else _BY_TABLE * len(template.parts)
    return once + template.tries * _BY_TABLE * len(template.parts)


def shown_keys(keys: Iterable[str]) -> str:
    """Return a few keys, each cut where it is long."""
    return listed([repr(key if len(key) <= 80 else f"{key[:80]}...") for key in keys], 3)
