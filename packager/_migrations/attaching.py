"""Migrations attached to a class of modules: they run when a state of an older version is loaded.

A class counts the versions of its layout in `_version`, which `state_dict()` keeps beside the values
of each module (PyTorch and kellet alike). A migration that is attached reaches one of these versions,
and runs for every instance of the class and of its subclasses, at any depth, whose part of a state
dict is older; its keys are relative to the instance. Migrations of base classes come first, then the
load pre-hooks of the user, which find the layout of today.

kellet has load pre-hooks of classes. PyTorch has them of instances only; what it gives a class is
`_load_from_state_dict`, which runs them, and where its own layers bring older states up to date. So
that is where a migration goes in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, TypeVar

from packager._quick_dataclasses import dataclass, field
from packager._texts import few_of, in_lines
from packager.errors import ArgumentError, MigrationError

from .attachments import LOADS, PLACE, Attached, MigrationRun, attached, framework_of
from .chains import chain, plan_migration
from .declaring import Migration, as_migrations
from .migrated_values import MigratedDict

Class = TypeVar("Class", bound=type)


class AttachedMigrations:
    """The handle of `attach`: `remove()` takes the migrations off again, and may be called twice.

    It is a context manager, too, which removes them at the end of its block.

    >>> from kellet import nn
    >>> from packager.migrations import Migration, drop
    >>> class Head(nn.Module):
    ...     _version = 2
    >>> handle = attach(Head, Migration("no mask", [drop("mask")], to=2))
    >>> handle.remove()
    >>> attached(Head)
    ()
    """

    def __init__(self, cls: type, migrations: tuple[Migration, ...]) -> None:
        self._cls = cls
        self._migrations = migrations

    def __enter__(self) -> AttachedMigrations:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Take off the migrations."""
        kept = tuple(one for one in attached(self._cls) if one not in self._migrations)
        if kept:
            _place(self._cls).migrations = kept
        elif attached(self._cls):
            _place(self._cls).unhook()
            delattr(self._cls, PLACE)


@dataclass(frozen=True)
class StoredMigration(Migration):
    """A migration out of an archive: `allow` judges it when it is to run, and makes it ready.

    One of the same name that the class's own code attaches takes its place.
    """

    allow: Callable[[Migration], Migration] = field(kw_only=True, compare=False)


def attach(cls: type, *migrations: Migration) -> AttachedMigrations:
    """Run migrations whenever a state dict of an older version is loaded into an instance of `cls`.

    `cls` is a class of modules of kellet or PyTorch, whose `_version` is today's. Every migration says which
    version it reaches (`to=`). A state dict without versions, such as one from a safetensors file, counts as
    the oldest: migrations whose templates also match today's keys need a gate (`unless`).

    Raises MigrationError for versions that contradict each other or the class, ArgumentError for anything but
    a class of modules and migrations.

    >>> from kellet import nn
    >>> from packager.migrations import Migration, attach, rename
    >>> class Head(nn.Module):
    ...     _version = 2
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = nn.Linear(2, 1)
    >>> handle = attach(Head, Migration("fc", [rename("proj.{rest}", "fc.{rest}")], to=2))
    >>> old = {f"proj.{key}": value for key, value in nn.Linear(2, 1).state_dict().items()}
    >>> Head().load_state_dict(old)
    <All keys matched successfully>
    """
    _require_modules(cls)
    as_migrations(migrations)
    new = {one.name for one in migrations}
    kept = [one for one in attached(cls) if not (isinstance(one, StoredMigration) and one.name in new)]
    _check(cls, kept, migrations)
    _put(cls, chain((*kept, *migrations)))
    return AttachedMigrations(cls, migrations)


def with_migrations(*migrations: Migration) -> Callable[[Class], Class]:
    """Return a class decorator that calls `attach`, and raises the same errors.

    >>> from kellet import nn
    >>> from packager.migrations import Migration, attached, rename
    >>> @with_migrations(Migration("fc", [rename("proj.{rest}", "fc.{rest}")], to=2))
    ... class Head(nn.Module):
    ...     _version = 2
    >>> [migration.name for migration in attached(Head)]
    ['fc']
    """

    as_migrations(migrations)

    def decorate(cls: Class) -> Class:
        attach(cls, *migrations)
        return cls

    return decorate


def attach_stored(
    cls: type, migrations: Iterable[Migration], allow: Callable[[Migration], Migration]
) -> None:
    """Attach migrations out of an archive, except those that the class's own code has attached.

    >>> from kellet import nn
    >>> from packager.migrations import Migration, drop
    >>> class Head(nn.Module):
    ...     _version = 2
    >>> attach_stored(Head, [Migration("no mask", [drop("mask")], to=2)], allow=lambda migration: migration)
    >>> [migration.name for migration in attached(Head)]
    ['no mask']
    """
    _require_modules(cls)
    known = {one.name for one in attached(cls)}
    stored = [StoredMigration(**vars(one), allow=allow) for one in migrations if one.name not in known]
    if stored:
        _check(cls, attached(cls), stored)
        _put(cls, chain((*attached(cls), *stored)))


def _require_modules(cls: Any) -> None:
    if isinstance(cls, type) and framework_of(cls):
        return
    is_module = framework_of(type(cls)) is not None
    meant = type(cls).__name__ if is_module else "Net"
    found = f"an object of {type(cls).__name__}" if not isinstance(cls, type) else repr(cls)
    raise ArgumentError(
        f"expected a class of modules of kellet or PyTorch, found {found}; write attach({meant}, *migrations)"
    )


def _place(cls: type) -> Attached:
    place: Attached = vars(cls)[PLACE]
    return place


def _put(cls: type, migrations: tuple[Migration, ...]) -> None:
    if attached(cls):
        _place(cls).migrations = migrations
    elif migrations:
        setattr(cls, PLACE, Attached(migrations, _hook(cls)))


def _check(cls: type, there: Iterable[Migration], migrations: Iterable[Migration]) -> None:
    known = {one.name for one in there}
    today = getattr(cls, "_version", None)
    problems = []
    for one in migrations:
        if one.to is None:
            version = f"{max(today, 2)}" if isinstance(today, int) else "2"
            problems.append(f"{one} has no version; write Migration(..., to={version})")
        elif not isinstance(today, int) or one.to > today:
            problems.append(
                f"{one} reaches version {one.to}, but {cls.__qualname__}._version is {today}; write "
                f"_version = {one.to} in the class"
            )
        if one.unwrap:
            problems.append(f"{one} has unwrap=, which is for whole checkpoints; leave it out")
        if one.target and one.target.rpartition(":")[2] != cls.__qualname__:
            problems.append(f"{one} is for {one.target}, not for {cls.__qualname__}; leave out target=")
        if one.name in known:
            problems.append(f"{one}: a migration of this name is attached already; choose another name")
        known.add(one.name)
    if problems:
        raise MigrationError(in_lines(*few_of(problems))).holding(problems)


def _hook(cls: type) -> Callable[[], None]:
    """Make the class migrate; return what undoes that."""
    if framework_of(cls) == "torch":
        return _hook_torch(cls)
    from kellet.nn import register_class_load_state_dict_pre_hook

    def hook(
        module: Any,
        state_dict: MutableMapping[str, Any],
        prefix: str,
        local_metadata: Mapping[str, Any],
        *rest: Any,
    ) -> None:
        _migrate(module, cls, state_dict, prefix, local_metadata.get("version"))

    return register_class_load_state_dict_pre_hook(cls, hook).remove


# The module whose state is being loaded by PyTorch, so that overrides along its classes migrate once.
_migrating: ContextVar[Any] = ContextVar("migrating", default=None)


def _hook_torch(cls: Any) -> Callable[[], None]:
    own = cls.__dict__.get("_load_from_state_dict")
    original = cls._load_from_state_dict

    @wraps(original)
    def load(
        self: Any,
        state_dict: MutableMapping[str, Any],
        prefix: str,
        local_metadata: Mapping[str, Any],
        *rest: Any,
        **named: Any,
    ) -> Any:
        further = super(cls, self)._load_from_state_dict if own is None else partial(original, self)
        if _migrating.get() is self:
            return further(state_dict, prefix, local_metadata, *rest, **named)
        for base in reversed(type(self).__mro__):
            if attached(base):
                _migrate(self, base, state_dict, prefix, local_metadata.get("version"))
        token = _migrating.set(self)
        try:
            return further(state_dict, prefix, local_metadata, *rest, **named)
        finally:
            _migrating.reset(token)

    cls._load_from_state_dict = load

    def undo() -> None:
        if own is None:
            del cls._load_from_state_dict
        else:
            cls._load_from_state_dict = own

    return undo


def _migrate(
    module: Any, cls: type, state_dict: MutableMapping[str, Any], prefix: str, version: int | None
) -> None:
    """Bring a module's part of a state dict up to date, in place; nothing is changed when that fails."""
    due = [one for one in attached(cls) if one.is_due(version)]
    target = f"{cls.__module__}:{cls.__qualname__}"
    loads = LOADS.setdefault(module, {})
    if not due:
        loads.pop(target, None)
        return
    old = {key[len(prefix) :]: value for key, value in state_dict.items() if key.startswith(prefix)}
    try:
        ready = [one.allow(one) if isinstance(one, StoredMigration) else one for one in due]
        plan = plan_migration(ready, old, version, module=module)
        new = {prefix + key: value for key, value in MigratedDict(plan.values, old).items()}
    except MigrationError as error:
        error.add_note(
            f"while bringing the state of {cls.__qualname__} at {prefix[:-1]!r} from version {version} to "
            f"{due[-1].to}"
        )
        raise
    loads[target] = MigrationRun("", target, version, plan.ran)
    for key in old:
        del state_dict[prefix + key]
    state_dict.update(new)
