"""Carries steps out on records of values: every step on all keys at once, with a row for each change.

No array is touched here. What cannot be done is gathered over all keys of a step and raised together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from packager.errors import MigrationError
from packager.quick_dataclasses import replace

from .declaring import Candidate, Step
from .gates import Entered
from .growth import Growth, shown_keys
from .migrated_values import Value, Values, stored_keys
from .named_functions import FunctionError
from .plans import NO_MATCH, Row
from .renaming import Default
from .surroundings import Surroundings
from .templates import TemplateError
from .transforms import TransformError

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
    >>> from packager.migrations import drop, stored_values
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
                f"{NO_MATCH}: {template.text!r} wants a module and a dot before, and {key!r} is at the root; "
                f"write the step for {root.text!r} as well"
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
                problems.append("and perhaps more")
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
        raise MigrationError.listing(f"{step.described()}: two values with one name:", _twice(found))
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
