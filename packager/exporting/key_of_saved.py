"""What saved objects and state dicts say to a plan of code, as plain data: a part of what plans are kept by.

That is all of their encoding but for the bytes of tensors: the names that they need with the places where,
the records with their texts, what is refused unless a source is stored, what is warned of. From the running
process comes what is asked of their classes beside the encoding: base classes, and which has a constructor of
its own. What is not in here is in `SavedParts`, which are made anew for each plan.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from packager.codecs import default_registry
from packager.objects import Finding, NameUse

from .left_by_constructors import with_bases
from .stored import StoredMigrations, StoredObject, StoredState, objects_in


def key_of_saved(saved: StoredObject | StoredState) -> list[Any] | None:
    """Return what a plan of code takes from one save; None where it hangs on what is not known.

    A save that is finally refused is a problem to be told, with nothing to remember.
    """
    if not saved.may_be_stored or not _are_built_in(saved.codecs):
        return None
    if isinstance(saved, StoredState):
        return _key_of_state(saved)
    return [
        "object",
        saved.package,
        saved.resource,
        saved.factory,
        *_key_of_encoded(saved, saved.encoded.records),
        None if saved.state is None else _key_of_state(saved.state),
    ]


def key_of_rest(saved: Sequence[StoredObject | StoredState], migrations: StoredMigrations) -> list[Any]:
    """Return what a plan takes from all saves together: their migrations, and what their classes are here."""
    return [
        _digest(migrations.data),
        list(map(_key_of_use, migrations.uses)),
        list(map(list, migrations.refusals)),
        list(_key_of_classes(saved)),
    ]


def _key_of_state(state: StoredState) -> list[Any]:
    return [
        "state",
        state.package,
        state.resource,
        state.entry,
        *_key_of_encoded(state, state.encoded.extras),
    ]


def _key_of_encoded(saved: StoredObject | StoredState, data: bytes) -> list[Any]:
    """Return what a plan takes from an encoding whose records or extras are `data`."""
    encoded = saved.encoded
    return [
        _digest(data),
        [[name, *kind] for name, kind in saved.storages.items()],
        list(map(_key_of_use, encoded.names)),
        list(map(_key_of_finding, encoded.warnings)),
        list(map(_key_of_finding, encoded.refusals)),
        list(map(list, encoded.codecs)),
    ]


def _key_of_finding(one: Finding) -> list[Any]:
    return [one.path, one.reason, one.options, one.unless]


def _key_of_use(use: NameUse) -> list[Any]:
    return [use.module, use.qualname, use.role, use.path, use.in_records]


def _key_of_classes(saved: Sequence[StoredObject | StoredState]) -> Iterable[list[Any]]:
    """Yield the classes that objects name, each with its bases as they are in the running process."""
    uses = (use for one in objects_in(saved) if not one.factory for use in one.uses if use.qualname)
    for module, qualname in dict.fromkeys((use.module, use.qualname) for use in uses):
        bases = with_bases(module, qualname)
        yield [
            module,
            qualname,
            [[cls.__module__, cls.__qualname__, "__init__" in vars(cls)] for cls in bases],
        ]


def _are_built_in(codecs: Iterable[tuple[str, int]]) -> bool:
    """Say whether all codecs are of this project, whose files are in the key: others may judge as they like.

    The form of the records has a name there, and no codec.
    """
    registry = default_registry()
    found = (registry.find(name) for name, _ in codecs)
    return all(one is None or type(one).__module__.startswith("packager.") for one in found)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
