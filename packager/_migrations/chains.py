"""From any old version to today's: the migrations of one class or checkpoint, planned and carried out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from packager._arguments import check_choice, check_flag, check_kind, check_names
from packager._process import gc_paused
from packager._texts import counted, few_of, in_lines
from packager.errors import MigrationError

from .applying import Growth, GrowthError, step_by_step
from .declaring import UNKNOWN, Migration, Step, as_migrations
from .gates import Surroundings
from .migrated_values import MigratedDict, Stored, Values, stored_keys, stored_values
from .plans import NO_MATCH, MigrationPlan, Row
from .renaming import Drop, Rename

_ABSENT = object()
_LEAF = "\0"  # stands for "some key of this module"; no key of a state dict holds it


def chain(migrations: Migration | Iterable[Migration]) -> tuple[Migration, ...]:
    """Sort migrations into the order in which they run: by the version they reach, unversioned ones first.

    Raises MigrationError, for all together, for two that reach the same version of the same class, and
    for a version from which none goes on.

    >>> [one.name for one in chain([Migration("later", [], to=3), Migration("first", [], to=2)])]
    ['first', 'later']
    """
    ordered = sorted(as_migrations(migrations), key=lambda one: (one.target, one.to is not None, one.to or 0))
    problems = []
    for one, other in itertools.pairwise(ordered):
        if one.target != other.target or one.to is None:
            continue
        whose = one.target or "the checkpoint"
        if one.to == other.to:
            problems.append(
                f"{one} and {other} both reach version {one.to} of {whose}; give one of them another "
                "version, or put all steps into one"
            )
        elif other.since not in (None, one.to):
            problems.append(
                f"{one} reaches version {one.to} of {whose}, but {other} starts from {other.since}; add a "
                f"migration between them, or let the second start from {one.to} (since={one.to}, in a file "
                f"from = {one.to})"
            )
    if problems:
        raise MigrationError(in_lines(*few_of(problems))).holding(problems)
    return tuple(ordered)


def plan_migration(
    migrations: Migration | Iterable[Migration],
    state: Mapping[str, Any],
    version: int | None = None,
    *,
    module: object = None,
    unknown: str = UNKNOWN[0],
) -> MigrationPlan:
    """Plan what the migrations would make of `state`, which has this version; no array is read.

    A migration that reaches version `to` runs for state dicts that are older, or have none. `state` may be a
    checkpoint that holds the state dict under one of the keys of `unwrap`. Gates and transforms read
    `module`: the module that will load the result, or a dict of its configuration; nothing of it is called.
    `unknown` says what happens to keys that no step matches: "keep", "drop" or "error".

    Raises ArgumentError for keys other than strings, MigrationError for steps that cannot be carried out.

    >>> import numpy as np
    >>> from packager.migrations import rename
    >>> print(plan_migration(Migration("names", [rename("a", "b")]), {"a": np.ones(2, "f4")}))
    rename a -> b
        a -> b  float32[2]
    1 change, 0 skipped, 1 key afterwards
    """
    check_kind("state", state, Mapping, "a state dict", "write plan_migration(migrations, state)")
    known = chain(migrations)
    return _planned_inside(known, unwrapped_by(known, state), version, module, unknown)


def _planned_inside(
    known: Sequence[Migration], inner: Mapping[str, Any], version: int | None, module: Any, unknown: str
) -> MigrationPlan:
    """Return the plan for a state dict that was taken out of its checkpoint."""
    with gc_paused():
        check_names("state", inner)
        check_choice("unknown", unknown, UNKNOWN)
        check_kind("version", version, (int, type(None)), "the number of a version, or None")
        return planned(known, stored_values(inner), version, Surroundings(inner, module), unknown)


def planned(
    known: Sequence[Migration], values: Values, version: int | None, around: Surroundings, unknown: str
) -> MigrationPlan:
    """Return the plan of a chain on records of values.

    Raises MigrationError as `plan_migration` does, GrowthError for more than is ever made.
    """
    rows: list[Row] = []
    ran: list[Migration] = []
    growth = Growth(values)
    told: set[str] = set()
    entered = values
    for migration in known:
        if not migration.is_due(version):
            reason = f"the state dict has version {version}, this reaches {migration.to}"
            rows.append(Row(migration.name, (), (), skipped=reason))
            continue
        _require_start(migration, version, ran)
        own: list[Row] = []
        begun = values
        try:
            for step, after, more in step_by_step(migration.steps, values, version, growth, around):
                own += [_judged(row, step, migration, ran, entered, values, growth) for row in more]
                values = after
        except GrowthError as error:
            raise GrowthError(f"{migration}, {error}") from None
        if not migration.generic and {unknown, migration.unknown} != {UNKNOWN[0]}:
            told |= (here := known_keys(migration, own, begun, version))
            values, left_out = without_unknown(values, here, migration.unknown, str(migration))
            own += left_out
        rows += own
        ran.append(migration)
    whose = " and ".join(str(one) for one in ran if not one.generic) or "the migrations"
    values, left_out = without_unknown(values, told, unknown, whose, " (command: --unknown drop)")
    return MigrationPlan((*rows, *left_out), values, tuple(one.name for one in ran))


def _judged(
    row: Row,
    step: Step,
    migration: Migration,
    ran: Sequence[Migration],
    entered: Values,
    values: Values,
    growth: Growth,
) -> Row:
    """Return a row of a step that found nothing with what is known of the reason; any other as it is.

    A step has done all that it should where migrations before did to each of its keys what it does.
    """
    if not row.skipped.startswith(NO_MATCH):
        return row
    literal = row.literal and not migration.undoes and not migration.generic
    row = row._replace(literal=literal, optional=migration.generic)
    if not ran:
        return row
    growth.match(step, entered, ())
    given = step.templates[0]
    taken = [key for one in given for key, _ in one.matching(entered) if key not in values]
    if not taken:
        return row
    places = {value.origin.key: key for key, value in values.items() if isinstance(value.origin, Stored)}
    whose = " and ".join(repr(one.name) for one in ran)
    other = _first_not_done(step, taken, places, values)
    if other is None:
        return row._replace(skipped=f"done before, by migration {whose}", literal=False)
    what = f"has become {places[other]!r}" if other in places else "was taken"
    return row._replace(skipped=f"{NO_MATCH}: {other!r} {what} before, by migration {whose}")


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


def known_keys(migration: Migration, rows: Iterable[Row], values: Values, version: int | None) -> set[str]:
    """Return the keys that steps took, made or left alone by their gates; `values` entered the migration."""
    found = {key for row in rows for key in (*row.old, *row.new)}
    for step in migration.steps:
        if not step.gates.open_at(version):
            found |= {key for template in step.templates[0] for key, _ in template.matching(values)}
    return found


def without_unknown(
    values: Values, known: set[str], what: str, whose: str, where: str = " in the migration"
) -> tuple[Values, list[Row]]:
    """Return the values that are known, and a row for each that is left out.

    `what` is "keep", "drop" or "error", and `where` says where it was asked for. Raises MigrationError,
    naming them, where it is an error.
    """
    unknown = [] if what == UNKNOWN[0] else [key for key in values if key not in known]
    if unknown and what == "error":
        raise MigrationError.listing(
            f"no step of {whose} matches {counted(len(unknown), 'key')}:",
            unknown,
            f'Write steps for them, or leave them out: unknown="drop"{where}',
        )
    rows = [Row(f"{whose}: unknown = {what!r}", (key,), (), (values[key].header,)) for key in unknown]
    return ({key: value for key, value in values.items() if key in known}, rows) if unknown else (values, [])


def migrate(
    migrations: Migration | Iterable[Migration],
    state: Mapping[str, Any],
    version: int | None = None,
    *,
    strict: bool = False,
    module: object = None,
    unknown: str = UNKNOWN[0],
) -> MigratedDict:
    """Return the migrated state dict; values are made when they are read.

    Nothing of `state` is changed or copied.

    `state` may be a whole checkpoint, in which `unwrap` finds the state dict; versions of modules in its
    `_metadata` are moved, too. `load_state_dict` accepts the result. `module` and `unknown` are as for
    `plan_migration`.

    Raises ArgumentError for arguments of the wrong kind and keys other than strings, MigrationError for steps
    that cannot be carried out, and for a step that matches nothing although it names its key; with `strict`
    for every step that matches nothing.

    >>> import numpy as np
    >>> from packager.migrations import Migration, migrate, rename
    >>> old = {"encoder.gamma": np.ones(2)}
    >>> list(migrate(Migration("names", [rename("{p:any}.gamma", "{p}.weight")]), old))
    ['encoder.weight']
    """
    check_kind("state", state, Mapping, "a state dict", "write migrate(migrations, state)")
    check_flag("strict", strict)
    known = chain(migrations)
    inner = unwrapped_by(known, state)
    plan = _planned_inside(known, inner, version, module, unknown)
    plan.require_matched(strict=strict)
    metadata: Mapping[str, Any] | None = getattr(inner, "_metadata", None)
    for migration in known:
        if metadata is not None and migration.name in plan.ran:
            metadata = migrated_metadata(metadata, migration)
    return MigratedDict(plan.values, inner, plan.ran, metadata)


def unwrapped_by(migrations: Iterable[Migration], state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state dict inside a checkpoint, as the migrations' `unwrap` say; else `state` itself.

    What a generic migration names is looked for after what the others name.
    """
    known = list(migrations)
    own = [one for one in known if not one.generic]
    for migration in (*own, *(one for one in known if one.generic), *own):  # which may lie inside
        state = unwrapped(state, migration.unwrap)
    return state


def unwrapped(checkpoint: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the state dict inside a checkpoint: under the first of `names` that is there, else itself.

    A name may be dotted, as `ema.module`. Raises MigrationError when what is there is no mapping.

    >>> unwrapped({"epoch": 3, "model": {"w": 1}}, ("state_dict", "model"))
    {'w': 1}
    """
    for name in names:
        inner = _under(checkpoint, name)
        if inner is not _ABSENT:
            if not isinstance(inner, Mapping):
                raise MigrationError(
                    f"unwrap {name!r}: found {type(inner).__name__}, expected a state dict; name another key "
                    "in unwrap"
                )
            return inner
    return checkpoint


def _under(value: Any, names: str) -> Any:
    """Return what lies under dotted names, of which each may hold dots itself; _ABSENT where nothing does.

    The names of what lies in a list are its places, as where a file is opened.
    """
    if isinstance(value, (list, tuple)):
        value = {str(place): part for place, part in enumerate(value)}
    first = names
    while isinstance(value, Mapping):
        if first in value:
            rest = names[len(first) + 1 :]
            return _under(value[first], rest) if rest else value[first]
        if "." not in first:
            break
        first = first.rpartition(".")[0]
    return _ABSENT


def migrated_metadata(metadata: Mapping[str, Any], migration: Migration) -> dict[str, Any]:
    """Return per-module versions under the module paths that renamed keys have.

    `metadata` maps module paths ("" is the root) to what is known of them, as `_metadata` of a state
    dict does. A path moves as the keys below it move.

    Source: consume_prefix_in_state_dict_if_present of PyTorch, for the prefix alone.

    >>> from packager.migrations import rename
    >>> ddp = Migration("ddp", [rename("module.{rest:any}", "{rest}")])
    >>> migrated_metadata({"": 1, "module": 2, "module.bn": 3}, ddp)
    {'': 2, 'bn': 3}
    """
    current = dict(metadata)
    growth = Growth({})
    for step in migration.steps:
        growth.match(step, current, ())
        current = _renamed(current, step)
    return current


def _require_start(migration: Migration, version: int | None, ran: Sequence[Migration]) -> None:
    """Raise MigrationError where a chain starts at a newer version than that of the state dict."""
    if not ran and None not in (migration.since, version) and version < migration.since:  # type: ignore[operator]  # neither is None
        raise MigrationError(
            f"the state dict has version {version}, and the oldest migration, {migration}, starts from "
            f"{migration.since}; add migrations from {version} to {migration.since}"
        )


def _renamed(metadata: dict[str, Any], step: Step) -> dict[str, Any]:
    stayed: dict[str, Any] = {}
    moved: dict[str, Any] = {}
    for path, entry in metadata.items():
        key = f"{path}.{_LEAF}" if path else _LEAF
        new = step.renamed(key)
        (stayed if new == key else moved)[new.removesuffix(_LEAF).removesuffix(".")] = entry
    return {**stayed, **moved}
