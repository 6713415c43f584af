"""From any old version to today's: the migrations of one class or checkpoint, planned and carried out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from packager.arguments import check_choice, check_kind, check_names
from packager.errors import MigrationError
from packager.process import gc_paused
from packager.quick_dataclasses import dataclass
from packager.texts import few_of, in_lines

from .applying import NO_MATCH, step_by_step
from .declaring import UNKNOWN, Migration, Step
from .done_before import Before
from .growth import Growth, GrowthError
from .load_reports import LoadReport, load_report
from .migrated_values import MigratedDict, Value, Values, stored_values
from .plan_rows import Changes, Row, Rows, changed, listed
from .plan_text import plan_text
from .surroundings import Surroundings
from .unknown_keys import known_keys, without_unknown

_ABSENT = object()
_LEAF = "\0"  # stands for "some key of this module"; no key of a state dict holds it


@dataclass(frozen=True)
class MigrationPlan:
    """What a load would do: a row per change or skip, and every key that there will be.

    `ran` names the migrations that were due for the state dict's version.

    >>> import numpy
    >>> from packager.migrations import rename
    >>> migration = Migration("fc", [rename("proj.{rest}", "fc.{rest}")])
    >>> plan = plan_migration(migration, {"proj.bias": numpy.ones(2)})
    >>> list(plan.values), plan.against({"fc.bias": numpy.ones(2)}).ok
    (['fc.bias'], True)
    """

    rows: tuple[Row, ...]
    values: Mapping[str, Value]
    ran: tuple[str, ...]

    @classmethod
    def _with_rows_to_come(
        cls, blocks: Iterable[Rows], values: Mapping[str, Value], ran: tuple[str, ...]
    ) -> MigrationPlan:
        """Return a plan whose rows are made when they are asked for: most plans are carried out unread."""
        plan = cls.__new__(cls)
        plan.__dict__.update(values=values, ran=ran, _blocks=tuple(blocks))
        return plan

    def __getattr__(self, name: str) -> Any:
        """Make the rows; Python asks for them here where they are not made yet."""
        blocks = self.__dict__.get("_blocks")
        if name != "rows" or blocks is None:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        self.__dict__["rows"] = rows = tuple(itertools.chain.from_iterable(map(listed, blocks)))
        return rows

    @property
    def untouched(self) -> tuple[Row, ...]:
        """The steps that matched no key at all."""
        rows = itertools.chain.from_iterable(self._not_in_columns())
        return tuple(row for row in rows if row.skipped.startswith(NO_MATCH))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The steps that matched no key though they are for this very file; each may be a mistake."""
        return tuple(f"{row.step}: {row.skipped}" for row in self.untouched if not row.optional)

    def _not_in_columns(self) -> Iterable[Sequence[Row]]:
        """Return the rows; of those that are still to come, all but changes and what gates left alone."""
        blocks = (self.rows,) if "rows" in self.__dict__ else self.__dict__["_blocks"]
        return (block for block in blocks if not isinstance(block, Changes))

    def against(self, target: Any) -> LoadReport:
        """Compare with `target`, a module or a state dict: what would be missing there, or unexpected."""
        return load_report(self.values, target)

    def require_matched(self, *, strict: bool = False) -> None:
        """Raise MigrationError for steps that matched nothing though they name their key, or for all."""
        idle = [
            row.step + row.skipped.removeprefix(NO_MATCH)
            for row in self.untouched
            if row.literal or (strict and not row.optional)
        ]
        if idle:
            raise MigrationError.listing(
                "steps that match no key:",
                idle,
                "Correct the name, or give the step a gate (if_all) that says when it applies",
            )

    def __str__(self) -> str:
        return plan_text(self.rows, len(self.values))


def chain(migrations: Iterable[Migration]) -> tuple[Migration, ...]:
    """Sort migrations into the order in which they run: by the version they reach, unversioned ones first.

    Raises MigrationError, for all together, for two that reach the same version of the same class, and
    for a version from which none goes on.

    >>> [one.name for one in chain([Migration("later", [], to=3), Migration("first", [], to=2)])]
    ['first', 'later']
    """
    ordered = sorted(migrations, key=lambda one: (one.target, one.to is not None, one.to or 0))
    problems = []
    for one, other in itertools.pairwise(ordered):
        if one.target != other.target or one.to is None:
            continue
        whose = one.target or "the checkpoint"
        if one.to == other.to:
            problems.append(
                f"{one} and {other} both reach version {one.to} of {whose}; give one of them another "
                "version, or join their steps"
            )
        elif other.since not in (None, one.to):
            problems.append(
                f"{one} reaches version {one.to} of {whose}, but {other} starts from {other.since}; the "
                "versions of a chain follow one another"
            )
    if problems:
        raise MigrationError(in_lines(*few_of(problems))).holding(problems)
    return tuple(ordered)


def plan_migration(
    migrations: Migration | Iterable[Migration],
    state: Mapping[str, Any],
    version: int | None = None,
    *,
    module: Any = None,
    unknown: str = UNKNOWN[0],
) -> MigrationPlan:
    """Plan what the migrations would make of `state`, which has this version; no array is read.

    A migration that reaches version `to` runs for state dicts that are older, or have none. `state`
    may be a checkpoint that holds the state dict under one of the keys of `unwrap`. `module` is what gates
    and transforms ask: the module that is to load the result, or a dict of its configuration; nothing of it
    is called. `unknown` says what becomes of keys that no step knows: "keep", "drop" or "error".

    Raises ArgumentError for keys that are no strings, MigrationError for whatever could not be carried out.

    >>> import numpy as np
    >>> from packager.migrations import rename
    >>> print(plan_migration(Migration("names", [rename("a", "b")]), {"a": np.ones(2, "f4")}))
    rename a -> b
        a -> b  float32[2]
    1 change, 0 skipped, 1 key afterwards
    """
    known = chain((migrations,) if isinstance(migrations, Migration) else migrations)
    return _planned_inside(known, unwrapped_by(known, state), version, module, unknown)


def _planned_inside(
    known: Sequence[Migration], inner: Mapping[str, Any], version: int | None, module: Any, unknown: str
) -> MigrationPlan:
    """Return the plan for a state dict that was taken out of its checkpoint."""
    with gc_paused():
        check_names("state", inner)
        check_choice("unknown", unknown, UNKNOWN)
        return planned(known, stored_values(inner), version, Surroundings(inner, module), unknown)


def planned(
    known: Sequence[Migration], values: Values, version: int | None, around: Surroundings, unknown: str
) -> MigrationPlan:
    """Return the plan of a chain on records of values.

    Raises MigrationError as `plan_migration` does, GrowthError for more than is ever made.
    """
    rows: list[Rows] = []
    ran: list[str] = []
    growth = Growth(values)
    before = Before(values)
    told: set[str] = set()
    for migration in known:
        if not migration.is_due(version):
            reason = f"the state dict has version {version}, this reaches {migration.to}"
            rows.append([Row(migration.name, (), (), skipped=reason)])
            continue
        _require_start(migration, version, ran)
        try:
            values, more, touched = _carried_out(migration, values, version, growth, around, before, unknown)
        except GrowthError as error:
            raise GrowthError(f"{migration}, {error}") from None
        rows += more
        told |= touched
        ran.append(migration.name)
        before.ran(migration)
    whose = " and ".join(str(one) for one in known if one.name in ran and not one.generic)
    values, left_out = without_unknown(values, told, unknown, whose or "the migrations")
    return MigrationPlan._with_rows_to_come([*rows, left_out], values, tuple(ran))


def _carried_out(
    migration: Migration,
    values: Values,
    version: int | None,
    growth: Growth,
    around: Surroundings,
    before: Before,
    unknown: str,
) -> tuple[Values, list[Rows], set[str]]:
    """Return the values after one migration, its rows, and the keys that it knows where that matters."""
    entered = values
    rows: list[Rows] = []
    for step, after, more in step_by_step(migration.steps, values, version, growth, around):
        if not isinstance(more, Changes):
            more = [before.explained(step, row, values, growth) for row in more]
        rows.append(more)
        values = after
    if migration.generic:
        return values, [changed(more, optional=True) for more in rows], set()
    told: set[str] = set()
    if {unknown, migration.unknown} != {UNKNOWN[0]}:
        told = known_keys(migration, rows, entered, version)
    values, left_out = without_unknown(values, told, migration.unknown, str(migration))
    rows.append(left_out)
    return values, [changed(more, optional=False) for more in rows] if migration.undoes else rows, told


def migrate(
    migrations: Migration | Iterable[Migration],
    state: Mapping[str, Any],
    version: int | None = None,
    *,
    strict: bool = False,
    module: Any = None,
    unknown: str = UNKNOWN[0],
) -> MigratedDict:
    """Return the migrated state dict; values are made when asked for.

    Nothing of `state` is changed or copied.

    `state` may be a whole checkpoint, of which `unwrap` finds the state dict; versions of modules in
    its `_metadata` move along. `load_state_dict` takes the result as it is. `module` and `unknown` are as for
    `plan_migration`.

    Raises ArgumentError for arguments of the wrong kind and keys that are no strings, MigrationError for
    what cannot be carried out, and for a step that matches nothing although
    it names its key; with `strict` for every step that matches nothing.

    >>> import numpy as np
    >>> from packager.migrations import Migration, migrate, rename
    >>> old = {"encoder.gamma": np.ones(2)}
    >>> list(migrate(Migration("names", [rename("{p:any}.gamma", "{p}.weight")]), old))
    ['encoder.weight']
    """
    check_kind("state", state, Mapping, "a state dict; the migrations come first")
    several = (migrations,) if isinstance(migrations, Migration) else migrations
    check_kind("migrations", several, Iterable, "a Migration, or several")
    known = chain(several)
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
                raise MigrationError(f"unwrap {name!r}: found {type(inner).__name__}, expected a state dict")
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


def _require_start(migration: Migration, version: int | None, ran: list[str]) -> None:
    """Raise MigrationError where a chain starts at a newer version than that of the state dict."""
    if not ran and None not in (migration.since, version) and version < migration.since:  # type: ignore[operator]  # neither is None
        raise MigrationError(
            f"the state dict has version {version}; {migration} is the oldest that is known, and starts "
            f"from {migration.since}"
        )


def _renamed(metadata: dict[str, Any], step: Step) -> dict[str, Any]:
    stayed: dict[str, Any] = {}
    moved: dict[str, Any] = {}
    for path, entry in metadata.items():
        key = f"{path}.{_LEAF}" if path else _LEAF
        new = step.renamed(key)
        (stayed if new == key else moved)[new.removesuffix(_LEAF).removesuffix(".")] = entry
    return {**stayed, **moved}
