"""Whether a migration can be undone on a given state dict, told before anything is lost.

That every step has an inverse is not enough. A rename of `a.{n}` to `b.{n}` has one; but where a `b.3`
was there already, going back would take that along. So each step is undone on paper at once, and has
to give exactly what it took.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from packager.errors import MigrationError

from .applying import Row, apply_steps, step_by_step
from .chains import chain, unwrapped_by
from .declaring import Migration
from .values import stored_values


def cannot_go_back(
    migrations: Migration | Iterable[Migration], state: Mapping[str, Any], version: int | None = None
) -> tuple[str, ...]:
    """Why the migrated `state` would not come back as it was, a line for each step; empty where it would.

    No value is read. Raises MigrationError for what cannot be carried out in the first place.

    >>> import numpy as np
    >>> from packager.migrations import rename
    >>> one = Migration("one", [rename("a.{n}", "b.{n}")])
    >>> cannot_go_back(one, {"a.1": np.ones(2)})
    ()
    >>> cannot_go_back(one, {"a.1": np.ones(2), "b.2": np.ones(2)})
    ("rename a.{n} -> b.{n}: going back would also take 'b.2'",)
    """
    known = chain((migrations,) if isinstance(migrations, Migration) else migrations)
    values = stored_values(unwrapped_by(known, state))
    problems = []
    for migration in known:
        if not migration.is_due(version):
            continue
        if migration.unwrap:
            problems.append(f"{migration} unwraps a checkpoint")
        for step, after, rows in step_by_step(migration.steps, values, version):
            forward = {(row.new, row.old) for row in rows if not row.skipped}
            inverse = step.inverse()
            if forward and inverse is None:
                problems.append(f"{step.described()}: it has no inverse")
            elif inverse is not None:
                try:
                    _, back = apply_steps([inverse], after)
                except MigrationError as error:
                    problems.append(str(error))
                else:
                    problems += _differences(step.described(), forward, back)
            values = after
    return tuple(problems)


def _differences(
    step: str, forward: set[tuple[tuple[str, ...], tuple[str, ...]]], back: Iterable[Row]
) -> list[str]:
    undone = {(row.old, row.new) for row in back if not row.skipped}
    more = sorted(key for taken, _ in undone - forward for key in taken)
    lost = sorted(key for made, _ in forward - undone for key in made)
    found = []
    if more:
        found.append(f"{step}: going back would also take {', '.join(map(repr, more[:5]))}")
    if lost and not more:
        found.append(f"{step}: going back would not take {', '.join(map(repr, lost[:5]))}")
    return found
