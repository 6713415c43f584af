"""Modules that are stored in training mode, though their examples are called in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Final

from .checking import unpack_table
from .kinds import fills_by_target
from .records import Kind, is_reference

if TYPE_CHECKING:
    from packager._archive import EntryPoint, ObjectRecord

IN_TRAINING: Final = "is stored in training mode; call .eval() before save, or after load"
_MODULES: Final = frozenset({"kellet.module", "torch.module"})


def left_in_training(
    objects: Iterable[ObjectRecord],
    points: Iterable[EntryPoint],
    evaluated: Collection[str],
    read: Callable[[str], bytes | memoryview],
) -> tuple[str, ...]:
    """Return the objects in training mode whose entry points are called in evaluation mode, as "model/net".

    `evaluated` names these entry points, and `read` returns the bytes of an entry. Nothing is run.
    """
    called = {(point.package, point.resource) for point in points if point.name in evaluated}
    return tuple(
        f"{one.package}/{one.resource}"
        for one in objects
        if (one.package, one.resource) in called and _is_in_training(one, read)
    )


def _is_in_training(record: ObjectRecord, read: Callable[[str], bytes | memoryview]) -> bool:
    """Say whether the root of a stored object is a module in training mode.

    A module starts in this mode: only evaluation mode is among the attributes. The mode is unknown for an
    object that a factory makes, or whose class has `__setstate__`.
    """
    if record.factory is not None or _MODULES.isdisjoint(name for name, _ in record.codecs):
        return False
    codecs, records, root = unpack_table(read(record.entry), f"object {record.package}/{record.resource}")
    at = -1 - root if is_reference(root) else len(records)
    if at >= len(records) or records[at][0] != Kind.OBJ:
        return False
    _, shape, *values = records[at]
    _, _, codec, *names = records[-1 - shape]
    if codec is None or codecs[codec][0] not in _MODULES:
        return False
    attributes = dict(zip(names, values, strict=True))
    for fill in fills_by_target(records).get(at, ()):
        kind, _, *parts = records[fill]
        if kind == Kind.STATE:
            return False
        if kind == Kind.FILL:
            attributes.update(zip(parts[::2], parts[1::2], strict=True))
    return attributes.get("training", True) is True
