"""Carries steps out on records of values: every step on all keys at once, with a row for each change.

No array is touched here. What cannot be done is gathered over all keys of a step and raised together.

A step that doubles is small, and sixty of them are more than any memory. So what steps make (keys, their
characters, bytes of arrays, rows, matching) is counted while they are planned, before a value is read,
against what entered; `packager/_archive/bounds.py` has the figures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import gt

from packager._archive import MAX_MATCHING, MAX_MIGRATED_ROWS, MAX_TENSORS, most_key_text, most_made
from packager._quick_dataclasses import replace
from packager._texts import listed
from packager.errors import MigrationError

from .declaring import Candidate, Step
from .gates import Entered, Surroundings
from .migrated_values import Value, Values, size_in_bytes, stored_keys
from .plans import NO_MATCH, Row
from .renaming import Default
from .templates import Template, TemplateError
from .transforms import FunctionError, TransformError

_MOST_PROBLEMS = 100  # of one step; more are not read, and a hostile step has one for every key


_Move = tuple[tuple[str, ...], tuple[tuple[str, Value], ...]]  # keys that a step takes, what it puts there


def apply_steps(
    steps: Iterable[Step],
    values: Values,
    version: int | None = None,
    growth: Growth | None = None,
    around: Surroundings | None = None,
) -> tuple[Values, list[Row]]:
    """Return the values after all steps, and a row for every change or skip; `values` itself stays as it is.

    `version` is that of the state dict, None for one that has none; `growth` counts what is made where other
    steps came before; `around` is what gates and transforms may ask. Raises MigrationError, for all keys of
    the step together, for two values with one name, shapes that do not fit, and merges of which a part is
    missing; GrowthError for more than is ever made.

    >>> import numpy
    >>> from packager._migrations import drop, stored_values
    >>> before = stored_values({"mask": numpy.ones(2), "bias": numpy.ones(2)})
    >>> after, rows = apply_steps([drop("mask")], before)
    >>> list(after), len(rows)
    (['bias'], 1)
    """
    rows: list[Row] = []
    for _, after, more in step_by_step(steps, values, version, growth, around):
        values = after
        rows += more
    return values, rows


def step_by_step(
    steps: Iterable[Step],
    values: Values,
    version: int | None = None,
    growth: Growth | None = None,
    around: Surroundings | None = None,
) -> Iterator[tuple[Step, Values, list[Row]]]:
    """Yield each step with the values after it and its rows; raises as `apply_steps` does."""
    growth = Growth(values) if growth is None else growth
    entered = Entered(values, replace(around or Surroundings(), spend=growth.spend), version)
    for step in steps:
        label = step.described()
        if not step.gates.open_at(version):
            yield step, values, [Row(label, (), (), skipped=f"the state dict has version {version}")]
            continue
        growth.begin(step, values, entered.keys)
        moves, skips = _moves(step, values, entered, growth)
        rows = [*(_row(label, move, values) for move in moves), *skips]
        rows = rows or [_idle(step, values, entered)]
        values = _moved(step, moves, values) if moves else values
        yield step, values, rows


def _idle(step: Step, values: Collection[str], entered: Entered) -> Row:
    """Say why a step found nothing to do."""
    if isinstance(step, Default) and step.like is None:
        return Row(step.described(), (), (), skipped=f"{step.new.text!r} is there already")
    try:
        reason = step.gates.reason_shut({}, entered)
    except (TransformError, TemplateError, KeyError):  # it asks for what only a match could say
        reason = ""
    if reason:
        return Row(step.described(), (), (), skipped=reason)
    return Row(step.described(), (), (), skipped=_why_none(step, values), literal=step.names_one_key)


def _why_none(step: Step, values: Collection[str]) -> str:
    """Say that no key matches; and why, where one at the root would but for the module before it."""
    for template in step.templates[0]:
        root = template.at_root()
        key = None if root is None else next((key for key in values if root.match(key) is not None), None)
        if root is not None and key is not None:
            return (
                f"{NO_MATCH}: {template.text!r} needs a name and a dot in front, and {key!r} has none; add "
                f"the same step for {root.text!r}"
            )
    return NO_MATCH


def _moves(step: Step, values: Values, entered: Entered, growth: Growth) -> tuple[list[_Move], list[Row]]:
    """Return what a step does to these values; its problems are raised together."""
    moves: list[_Move] = []
    skips: list[Row] = []
    problems: list[str] = []
    kind: type[MigrationError] = MigrationError
    for old, holes, make in _candidates(step, values, entered.around):
        try:
            if reason := step.gates.reason_shut(holes, entered):
                growth.skip()
                skips.append(Row(step.described(), old, (), skipped=reason))
                continue
            new = make()
        except (TransformError, TemplateError) as error:
            kind = FunctionError if isinstance(error, FunctionError) else kind
            problems.append(f"{shown_keys(old)}: {error}" if old else str(error))
            if len(problems) == _MOST_PROBLEMS:
                problems.append("and possibly more")
                break
        else:
            growth.move(step, old, new, values)
            moves.append((old, new))
    if problems:
        raise kind.listing(f"{step.described()}:", problems)
    return moves, skips


def _candidates(step: Step, values: Values, around: Surroundings) -> list[Candidate]:
    try:
        return step.candidates(values, around)
    except TemplateError as error:
        raise MigrationError(f"{step.described()}: {error}") from None


def _moved(step: Step, moves: list[_Move], values: Values) -> Values:
    """Return the values after the moves, each new key where its first old one stood.

    Raises MigrationError, naming both sources, where two values would have one name.
    """
    taken = {key for old, _ in moves for key in old}
    at_key = {old[0]: new for old, new in moves if old}
    found: list[tuple[str, Value]] = []
    for item in values.items():
        if item[0] in at_key:
            found += at_key[item[0]]
        elif item[0] not in taken:
            found.append(item)
    found += [item for old, new in moves if not old for item in new]
    result = dict(found)
    if len(result) < len(found):
        raise MigrationError.listing(
            f"{step.described()}: two values get one key:",
            _twice(found),
            "Drop or rename one of them in a step before this one",
        )
    return result


def _twice(found: Iterable[tuple[str, Value]]) -> Iterator[str]:
    """Say of each name that is there again where the last two values of it come from."""
    before: Values = {}
    for key, value in found:
        if key in before:
            sources = " and from ".join(map(_source, (before[key], value)))
            yield f"{key!r} would come from {sources}"
        before[key] = value


def _source(value: Value) -> str:
    keys = stored_keys(value.origin)
    return " + ".join(map(repr, keys)) if keys else "a default"


def _row(label: str, move: _Move, values: Values) -> Row:
    old, new = move
    before, after = [values[key].header for key in old], [value.header for _, value in new]
    return Row(label, old, tuple([key for key, _ in new]), tuple(before), tuple(after))


_PER_KEY = 32  # what carrying a key through a step costs, in characters of matching
_PER_STEP = 1000  # likewise a step that has nothing to do
_COUNTED = ("keys", "characters of keys", "bytes of arrays to make", "changes")
_BY_TABLE = 16  # how much longer the table takes for a character and a part than a regular expression


class GrowthError(MigrationError):
    """Migrations make more of a state dict than the limits allow."""


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
                f"{self._step.described()}: the steps so far match {self._matching:,} characters of keys; "
                f"at most {MAX_MATCHING:,} are matched. Divide the migration, or write its templates with "
                "fewer holes"
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
