"""What is attached to a class of modules, and what ran: known without the rest of the migrations.

Every export and load looks this up for every class; most have nothing attached.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from packager._quick_dataclasses import dataclass
from packager.errors import ArgumentError

if TYPE_CHECKING:
    from .declaring import Migration


@dataclass(frozen=True, slots=True)
class MigrationRun:
    """Migrations that ran when a module was last loaded.

    `path` is the module's place below the one that was asked about, `target` its class, `version`
    that of the state dict (None where it had none), `names` the migrations in order.
    """

    path: str
    target: str
    version: int | None
    names: tuple[str, ...]


@dataclass
class Attached:
    """The migrations attached to one class. It is an attribute of the class, and collected with it."""

    migrations: tuple[Migration, ...]
    unhook: Callable[[], None]


PLACE = "_attached_migrations"
LOADS: WeakKeyDictionary[Any, dict[str, MigrationRun]] = WeakKeyDictionary()


def attached(cls: type) -> tuple[Migration, ...]:
    """Return the migrations attached to this very class, in the order in which they run.

    >>> from kellet import nn
    >>> attached(nn.Linear)
    ()
    """
    place = vars(cls).get(PLACE)
    return place.migrations if isinstance(place, Attached) else ()


def migrations_ran(module: Any) -> tuple[MigrationRun, ...]:
    """Return the migrations that ran when the state of `module`, or of one below, was last loaded.

    `module` has `named_modules()`, as those of kellet and PyTorch do. Raises ArgumentError for another.

    >>> from kellet import nn
    >>> from packager.migrations import Migration, attach, drop
    >>> class Head(nn.Module):
    ...     _version = 2
    >>> handle, head = attach(Head, Migration("no mask", [drop("mask")], to=2)), Head()
    >>> head.load_state_dict({"mask": 1})
    <All keys matched successfully>
    >>> [run.names for run in migrations_ran(head)]
    [('no mask',)]
    """
    if not callable(getattr(module, "named_modules", None)):
        raise ArgumentError(
            f"module={module!r:.60}: expected a module of kellet or PyTorch, found {type(module).__name__}"
        )
    return tuple(
        MigrationRun(path, ran.target, ran.version, ran.names)
        for path, inner in module.named_modules()
        for ran in LOADS.get(inner, {}).values()
    )


def framework_of(cls: type) -> str | None:
    """Say whose class of modules this is, "kellet" or "torch"; None for other classes.

    >>> from kellet import nn
    >>> framework_of(nn.Linear), framework_of(dict)
    ('kellet', None)
    """
    for name in ("kellet", "torch"):
        nn = sys.modules.get(f"{name}.nn")
        if nn is not None and issubclass(cls, nn.Module):
            return name
    return None
