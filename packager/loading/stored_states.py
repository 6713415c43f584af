"""A stored state dict comes back as a lazy mapping over the mapped file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from packager.archive import ArchiveReader, StateDictRecord, TensorReader
from packager.objects import StateDictView, TrustContext, open_state_dict, resolve_names

from .objects import StoredObjectError


def find_state_dict(archive: ArchiveReader, package: str, resource: str) -> StateDictRecord:
    """The record of a stored state dict. Raises StoredObjectError, naming those that there are."""
    for record in archive.manifest.state_dicts:
        if (record.package, record.resource) == (package, resource):
            return record
    there = ", ".join(f"{one.package}/{one.resource}" for one in archive.manifest.state_dicts) or "none"
    raise StoredObjectError(f"no state dict {resource!r} in package {package!r}; the archive holds {there}")


def load_state_dict(
    archive: ArchiveReader,
    record: StateDictRecord,
    trust_context: TrustContext,
    trust: Collection[str],
    resolve: Callable[[str, str], Any],
    *,
    as_: str = "numpy",
    device: Any = None,
) -> StateDictView:
    """The state dict of `record`; nothing but its index is read until a value is asked for.

    It is data alone, whatever source lies beside it.
    """
    return open_state_dict(
        TensorReader(archive, record.entry),
        None if record.extras is None else archive.read(record.extras),
        as_=as_,
        trust_context=trust_context.data_alone(),
        trust=trust,
        resolve=lambda audited: resolve_names(audited, lambda module: resolve(module, "")),
        device=device,
        what=f"state dict {record.package}/{record.resource}",
    )
