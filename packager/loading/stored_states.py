"""Stored state dicts: mappings that read a value when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packager.archive import TensorReader
from packager.texts import listed

from .load_context import LoadContext, StoredObjectError, find_record

if TYPE_CHECKING:
    from packager.state_dicts import StateDictView


def load_state_dict(
    context: LoadContext, package: str, resource: str, *, as_: str | None = None, device: Any = None
) -> StateDictView:
    """Return a stored state dict; nothing but its index is read until a value is asked for.

    It is data alone, whatever source lies beside it.

    Raises StoredObjectError, naming those that there are.
    """
    from packager.state_dicts import open_state_dict  # most objects are loaded without

    record, there = find_record(context.archive.manifest.state_dicts, package, resource)
    if record is None:
        raise StoredObjectError(
            f"no state dict {resource!r} in package {package!r}; the archive holds {listed(there) or 'none'}"
        ).holding(there)
    return open_state_dict(
        TensorReader(context.archive, record.entry),
        None if record.extras is None else context.archive.read(record.extras),
        as_=as_,
        trust_context=None if record.extras is None else context.trust_context.data_alone(),
        trust=context.trust,
        resolve=context.resolve_admitted,
        device=device,
        what=f"state dict {package}/{resource}",
    )
