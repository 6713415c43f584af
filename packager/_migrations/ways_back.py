"""Whether a state dict would come back as it was, told before anything is lost.

That every step has an inverse is not enough. A rename of `a.{n}` to `b.{n}` has one; but where a `b.3` was
there already, going back would take that along. So each step is undone on paper at once, and has to give
exactly the keys that it took. And a scale by a power of two has an inverse; but what became infinite, or too
small for its dtype, does not come back. So values that are scaled or cast are taken there and back, and
compared, a few MB at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from packager._tensors import boxes, itemsize_of
from packager._texts import counted, few_of
from packager.errors import MigrationError

from .applying import apply_steps, step_by_step
from .chains import chain, known_keys, planned, unwrapped_by, without_unknown
from .declaring import UNKNOWN, Migration, Step
from .gates import Surroundings
from .migrated_values import Changed, Stored, Values, changes_values, made, runs_code, stored_values
from .plans import Row
from .transforms import CHANGING, Cast, Header

_AT_ONCE = 8 << 20  # bytes that are compared; fewer make many short reads of an array that is turned round
_Moves = set[tuple[tuple[str, ...], tuple[str, ...]]]


def cannot_go_back(
    migrations: Migration | Iterable[Migration],
    state: Mapping[str, Any],
    version: int | None = None,
    *,
    module: object = None,
) -> tuple[str, ...]:
    """Say why the migrated `state` would not come back as it was, a line for each reason; empty if it would.

    Only values that are scaled or cast are read, piece by piece. No function is called. Raises MigrationError
    for steps that cannot be carried out, LegacyFormatError for a dtype that needs ml_dtypes.

    >>> import numpy as np
    >>> from packager.migrations import Scale, rename
    >>> one = Migration("one", [rename("a.{n}", "b.{n}", Scale(0.5))])
    >>> cannot_go_back(one, {"a.1": np.ones(2)})
    ()
    >>> cannot_go_back(one, {"a.1": np.ones(2), "b.2": np.ones(2)})
    ("rename a.{n} -> b.{n}: going back would also take 'b.2'",)
    >>> cannot_go_back(one, {"a.1": np.array([1, 6e-8], "float16")})
    ("rename a.{n} -> b.{n}: 1 of 2 values of 'a.1' would not come back: 6e-08 as 0.0",)
    """
    known, values, around = _asked(migrations, state, module)
    problems = []
    for migration in known:
        if not migration.is_due(version):
            continue
        if migration.unwrap and around.state is not state:
            problems.append(f"{migration} unwraps a checkpoint: the rest of it is left out")
        rows_of_all: list[Row] = []
        entered = values
        for step, after, rows in step_by_step(migration.steps, values, version, around=around):
            rows_of_all += rows
            problems += _not_undone(step, rows, after, around)
            problems += _lost(step, rows, after, around.state, call=False)
            values = after
        told = known_keys(migration, rows_of_all, entered, version)
        values, left_out = without_unknown(values, told, migration.unknown, str(migration))
        problems += [f"{row.step}: {row.old[0]!r} is left out" for row in left_out]
    return tuple(problems)


def lost_values(
    migrations: Migration | Iterable[Migration],
    state: Mapping[str, Any],
    version: int | None = None,
    *,
    module: object = None,
    undone: Sequence[Migration] = (),
) -> tuple[str, ...]:
    """Say which values are lost although the steps have inverses: a line for each step and key.

    `undone` are the migrations whose inverses `migrations` are: what these give is put through them once
    more, and has to be `state` again. Values that are scaled or cast are read, piece by piece, and functions
    before them are called. Raises as `cannot_go_back` does, and what functions raise.

    >>> import numpy as np
    >>> from packager.migrations import Cast, rename
    >>> single = Migration("single", [rename("a", "a", Cast("float32", "float16"))])
    >>> lost_values(single, {"a": np.ones(2, "float16")})
    ()
    >>> tuned = {"a": np.array([0.1, 0.5], "float32")}
    >>> lost_values(single.inverse(), tuned, undone=[single])
    ("1 of 2 values of 'a' would not come back: 0.1 as 0.099975586",)
    """
    known, values, around = _asked(migrations, state, module)
    if undone:
        back = planned(known, values, version, around, UNKNOWN[0]).values
        return tuple(_lost_undoing(chain(undone), dict(back), values, around))
    problems: list[str] = []
    for migration in known:
        if migration.is_due(version):
            for step, after, rows in step_by_step(migration.steps, values, version, around=around):
                problems += _lost(step, rows, after, around.state, call=True)
                values = after
    return tuple(problems)


def _lost_undoing(
    known: Sequence[Migration], back: Values, entered: Values, around: Surroundings
) -> Iterator[str]:
    """Yield a line for each key whose values are others when what was undone is done again."""
    try:
        again = planned(known, back, None, around, UNKNOWN[0]).values
    except MigrationError as error:
        yield str(error)
        return
    for key, value in again.items():
        if key in entered and changes_values(value.origin):
            one, other = (made(origin, around.state, lazy=True) for origin in (Stored(key), value.origin))
            if told := _changed(one, other):
                yield f"{told[0]} of {key!r} would not come back: {told[1]}"


def _asked(
    migrations: Migration | Iterable[Migration], state: Mapping[str, Any], module: Any
) -> tuple[tuple[Migration, ...], Values, Surroundings]:
    known = chain((migrations,) if isinstance(migrations, Migration) else migrations)
    inner = unwrapped_by(known, state)
    return known, stored_values(inner), Surroundings(inner, module)


def _moves(rows: Iterable[Row]) -> _Moves:
    """Return what a step made of what: new keys with the old ones."""
    return {(row.new, row.old) for row in rows if not row.skipped}


def _not_undone(step: Step, rows: Iterable[Row], after: Values, around: Surroundings) -> Iterator[str]:
    """Say what the inverse of a step would take, or leave, that the step has not made."""
    forward, inverse = _moves(rows), step.inverse()
    if inverse is None:
        if forward:
            yield f"{step.described()}: it has no inverse"
        return
    try:
        _, back = apply_steps([inverse], after, around=around)
    except MigrationError as error:
        yield str(error)
        return
    undone = {(new, old) for old, new in _moves(back)}
    more = sorted(key for taken, _ in undone - forward for key in taken)
    lost = sorted(key for made, _ in forward - undone for key in made)
    if more or lost:
        does, keys = ("also", more) if more else ("not", lost)
        yield f"{step.described()}: going back would {does} take {', '.join(few_of([*map(repr, keys)], 5))}"


def _lost(
    step: Step, rows: Iterable[Row], after: Values, state: Mapping[str, Any], *, call: bool
) -> Iterator[str]:
    """Yield a line for each key with values that a step's transforms change for good.

    Without `call`, what a function made is left out: it has no way back in any case.
    """
    if step.inverse() is None or not any(isinstance(one, CHANGING) for one in step.transforms):
        return
    for (new,), (old,) in sorted(_moves(rows)):
        origin = after[new].origin
        for _ in step.transforms:
            assert isinstance(origin, Changed)
            transform = origin.transform
            origin = origin.origin
            if isinstance(transform, CHANGING) and (call or not runs_code(origin)):
                before = made(origin, state, lazy=True)
                opposite = Cast(before.dtype) if isinstance(transform, Cast) else transform.inverse()
                assert opposite is not None  # as the step has an inverse
                try:
                    told = _changed(before, opposite.apply(transform.apply(before)))
                except RuntimeError as error:  # PyTorch's: there are no values, on its device "meta"
                    yield f"{step.described()}: values of {old!r} cannot be read to compare them: {error}"
                    continue
                if told:
                    yield f"{step.described()}: {told[0]} of {old!r} would not come back: {told[1]}"


def _changed(before: Any, back: Any) -> tuple[str, str] | None:
    """Return how many values of a lazy array are others in another, and the first of them; None for none."""
    import numpy as np

    if (before.shape, before.dtype) != (back.shape, back.dtype):
        was, found = (str(Header(one.shape, one.dtype)) for one in (before, back))
        return "the values", f"{was} as {found}"
    count, size, first = 0, 0, ""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what NumPy would warn of is looked for here
        for box in boxes(before.shape, _AT_ONCE // itemsize_of(before.dtype)):
            one, other = before.typed(box), back.typed(box)
            changed = ~_same(one, other)
            if not count and changed.any():
                first = f"{one[changed][0]!s} as {other[changed][0]!s}"
            count += int(np.count_nonzero(changed))
            size += one.size
    return (f"{count:,} of {counted(size, 'value')}", first) if count else None


def _same(one: Any, other: Any) -> Any:
    """Return where two arrays have the same values; all NaNs are the same."""
    if one.dtype.kind == "c":
        return _same(one.real, other.real) & _same(one.imag, other.imag)
    return (one == other) | ((one != one) & (other != other))
