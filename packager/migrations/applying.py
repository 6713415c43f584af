"""Carries steps out on records of values: every step on all keys at once, with a row for each change.

No array is touched here. What cannot be done is gathered over all keys of a step and raised together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from packager.errors import MigrationError

from .steps import Default, Drop, Merge, Rename, RenamePattern, Split, Step, described, names_one_key
from .templates import Template, TemplateError
from .transforms import Header, Reshape, TransformError, checked_axis
from .values import Filled, Value, joined, split, stored_keys

__all__ = ["NO_MATCH", "Row", "Values", "apply_steps", "step_by_step"]

Values = dict[str, Value]

NO_MATCH = "no key matches"

_REPEATS = 1000  # no key carries more wrappers' names than that; a step that undoes itself would never end


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a plan: what a step does to some keys, or why it leaves them alone.

    `literal` marks a step that matched nothing though it names its key letter by letter.
    """

    step: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    before: tuple[Header | None, ...] = ()
    after: tuple[Header | None, ...] = ()
    skipped: str = ""
    literal: bool = False


@dataclass(frozen=True, slots=True)
class _Move:
    """Keys that a step takes away, and what it puts there instead."""

    old: tuple[str, ...]
    new: tuple[tuple[str, Value], ...]


def apply_steps(
    steps: Iterable[Step], values: Values, version: int | None = None
) -> tuple[Values, list[Row]]:
    """The values after all steps, and a row for every change or skip; `values` itself stays as it is.

    `version` is that of the state dict, None for one that has none. Raises MigrationError, for all
    keys of the step together, for two values with one name, shapes that do not fit, and merges of
    which a part is missing.
    """
    rows: list[Row] = []
    for _, after, more in step_by_step(steps, values, version):
        values = after
        rows += more
    return values, rows


def step_by_step(
    steps: Iterable[Step], values: Values, version: int | None = None
) -> Iterator[tuple[Step, Values, list[Row]]]:
    """Each step with the values after it and its rows; raises as `apply_steps` does."""
    entered = dict.fromkeys(values)
    for step in steps:
        if not step.gates.open_at(version):
            yield (
                step,
                values,
                [Row(described(step), (), (), skipped=f"the state dict has version {version}")],
            )
            continue
        moves, skips = _moves(step, values, entered)
        label = described(step)
        rows = [*(_row(label, move, values) for move in moves), *skips]
        values = _moved(step, moves, values)
        yield step, values, rows or [_idle(step, entered)]


def _idle(step: Step, entered: Collection[str]) -> Row:
    """Why a step found nothing to do."""
    if isinstance(step, Default) and step.like is None:
        return Row(described(step), (), (), skipped=f"{step.new.text!r} is there already")
    if reason := step.gates.reason_shut({}, entered):
        return Row(described(step), (), (), skipped=reason)
    return Row(described(step), (), (), skipped=NO_MATCH, literal=names_one_key(step))


def _moves(step: Step, values: Values, entered: Collection[str]) -> tuple[list[_Move], list[Row]]:
    """What a step does to these values; its problems are raised together."""
    moves: list[_Move] = []
    skips: list[Row] = []
    problems: list[str] = []
    for old, holes, make in _candidates(step, values):
        if reason := step.gates.reason_shut(holes, entered):
            skips.append(Row(described(step), old, (), skipped=reason))
            continue
        try:
            moves.append(_Move(old, make()))
        except (TransformError, TemplateError) as error:
            problems.append(f"{', '.join(map(repr, old))}: {error}")
    if problems:
        raise MigrationError(f"{described(step)}:\n    " + "\n    ".join(problems))
    return moves, skips


_Candidate = tuple[tuple[str, ...], Mapping[str, "str | int"], Callable[[], tuple[tuple[str, Value], ...]]]


def _candidates(step: Step, values: Values) -> list[_Candidate]:
    """Every place where a step could apply: the keys it takes, what its holes stand for, what it makes."""
    match step:
        case Rename():
            return [_renamed(step, key, holes, values) for key, holes in _matches(step.old, values)]
        case RenamePattern():
            return _substituted(step, values)
        case Drop():
            return [((key,), holes, tuple) for key, holes in _matches(step.old, values)]
        case Default():
            return _defaults(step, values)
        case Split():
            return [_split(step, key, holes, values) for key, holes in _matches(step.old, values)]
        case Merge():
            return _merges(step, values)


def _matches(template: Template, values: Values) -> list[tuple[str, dict[str, str | int]]]:
    if template.is_literal:
        key = template.fill({})
        return [(key, {})] if key in values else []
    return [(key, holes) for key in values if (holes := template.match(key)) is not None]


def _renamed(step: Rename, key: str, holes: Mapping[str, str | int], values: Values) -> _Candidate:
    def make() -> tuple[tuple[str, Value], ...]:
        new = step.new.fill(holes)
        for _ in range(_REPEATS if step.repeat else 0):
            again = step.old.match(new)
            if again is None:
                break
            new = step.new.fill(again)
        else:
            if step.repeat:
                raise TemplateError(f"renaming does not come to an end: {new!r} after {_REPEATS} times")
        value = values[key]
        for transform in step.transforms:
            value = value.changed(transform)
        return ((new, value),)

    return (key,), holes, make


def _substituted(step: RenamePattern, values: Values) -> list[_Candidate]:
    pattern = re.compile(step.pattern)
    renamed = ((key, pattern.sub(step.replacement, key)) for key in values)
    return [((old,), {}, partial(_as_is, new, values[old])) for old, new in renamed if new != old]


def _as_is(key: str, value: Value) -> tuple[tuple[str, Value], ...]:
    return ((key, value),)


def _defaults(step: Default, values: Values) -> list[_Candidate]:
    siblings: list[tuple[str | None, dict[str, str | int]]] = [(None, {})]
    if step.like is not None:
        siblings = list(_matches(step.like, values))
    found: list[_Candidate] = []
    for sibling, holes in siblings:
        key = step.new.fill(holes)
        if key in values:
            continue
        like = None if sibling is None else values[sibling].header
        header = _default_header(step, like)
        value = Value(header, Filled(step.fill, header))
        found.append(((), holes, partial(_as_is, key, value)))
    return found


def _default_header(step: Default, like: Header | None) -> Header:
    shape = step.shape if step.shape is not None or like is None else like.shape
    dtype = step.dtype if step.dtype is not None or like is None else like.dtype
    if shape is None or dtype is None:
        raise MigrationError(f"{described(step)}: the sibling is not an array; give a shape and a dtype")
    return Header(shape, dtype)


def _split(step: Split, key: str, holes: Mapping[str, str | int], values: Values) -> _Candidate:
    def make() -> tuple[tuple[str, Value], ...]:
        value = values[key]
        if step.over is None:
            parts = split(value, step.axis, list(step.sizes) if step.sizes else None, len(step.new))
            return tuple((template.fill(holes), part) for template, part in zip(step.new, parts, strict=True))
        return _unstacked(step, value, holes)

    return (key,), holes, make


def _unstacked(step: Split, value: Value, holes: Mapping[str, str | int]) -> tuple[tuple[str, Value], ...]:
    if value.header is None or step.over is None:
        raise TransformError("the value is not an array")
    shape = value.header.shape
    axis = checked_axis("split", step.axis, shape)
    rest = shape[:axis] + shape[axis + 1 :]
    parts = split(value, axis, None, shape[axis])
    return tuple(
        (step.new[0].fill({**holes, step.over: at}), part.changed(Reshape(rest)))
        for at, part in enumerate(parts)
    )


def _merges(step: Merge, values: Values) -> list[_Candidate]:
    """The groups of keys whose holes agree, in the order of the templates (or of the numbers)."""
    groups: dict[tuple[tuple[str, str | int], ...], dict[int, str]] = {}
    shared = {hole.name for hole in step.new.holes} if step.over is None else None
    for at, template in enumerate(step.old):
        for key, holes in _matches(template, values):
            place = at if step.over is None else int(holes[step.over])
            named = {n: v for n, v in holes.items() if n != step.over and (shared is None or n in shared)}
            groups.setdefault(tuple(sorted(named.items())), {})[place] = key
    return [_merged(step, dict(group), parts, values) for group, parts in groups.items()]


def _merged(
    step: Merge, holes: Mapping[str, str | int], parts: Mapping[int, str], values: Values
) -> _Candidate:
    places = sorted(parts)
    keys = tuple(parts[place] for place in places)

    def make() -> tuple[tuple[str, Value], ...]:
        wanted = range(len(step.old)) if step.over is None else range(places[-1] + 1)
        if missing := [place for place in wanted if place not in parts]:
            shown = (
                [step.old[place].fill(holes) for place in missing]
                if step.over is None
                else [step.old[0].fill({**holes, step.over: place}) for place in missing]
            )
            raise TransformError(f"the merge lacks {', '.join(map(repr, shown))}")
        members = [values[key] for key in keys]
        whole = joined(members, step.axis, step.over is not None)
        if step.over is None:
            _check_sizes(step, members)
        return ((step.new.fill(holes), whole),)

    return keys, holes, make


def _check_sizes(step: Merge, members: list[Value]) -> None:
    """What is merged must be what going back would cut it into."""
    found = [
        member.header.shape[checked_axis("merge", step.axis, member.header.shape)]
        for member in members
        if member.header is not None
    ]
    if step.sizes is not None and found != list(step.sizes):
        raise TransformError(f"merge of parts with {found} rows; sizes says {list(step.sizes)}")
    if step.sizes is None and len(set(found)) > 1:
        raise TransformError(f"merge of parts with {found} rows: write sizes = {found}, so that it goes back")


def _moved(step: Step, moves: list[_Move], values: Values) -> Values:
    """The values after the moves, each new key where its first old one stood.

    Raises MigrationError, naming both sources, where two values would have one name.
    """
    taken = {key for move in moves for key in move.old}
    at_key = {move.old[0]: move for move in moves if move.old}
    result: Values = {}
    problems: list[str] = []

    def put(key: str, value: Value) -> None:
        if key in result:
            sources = " and from ".join(_source(found) for found in (result[key], value))
            problems.append(f"{key!r} would come from {sources}")
        result[key] = value

    for key, value in values.items():
        if key in at_key:
            for new, made in at_key[key].new:
                put(new, made)
        elif key not in taken:
            put(key, value)
    for move in moves:
        if not move.old:
            for new, made in move.new:
                put(new, made)
    if problems:
        raise MigrationError(f"{described(step)}: two values with one name:\n    " + "\n    ".join(problems))
    return result


def _source(value: Value) -> str:
    keys = stored_keys(value.origin)
    return " + ".join(map(repr, keys)) if keys else "a default"


def _row(label: str, move: _Move, values: Values) -> Row:
    return Row(
        label,
        move.old,
        tuple([key for key, _ in move.new]),
        tuple([values[key].header for key in move.old]),
        tuple([value.header for _, value in move.new]),
    )
