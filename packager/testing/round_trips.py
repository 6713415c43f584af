"""An object through encode, audit and build, in memory, as an archive does it."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from typing import Any

from packager._audit import AuditedObject, Names, TrustContext, audit, resolve_names
from packager._codecs import CodecRegistry
from packager._objects import EncodedObject, build, encode
from packager._quick_dataclasses import dataclass, field
from packager.errors import PackagingError


@dataclass(frozen=True)
class RoundTrip:
    """The loaded object, its stored form, and the stored form of the loaded object."""

    object: Any
    encoded: EncodedObject = field(repr=False)
    again: EncodedObject = field(repr=False)

    @property
    def is_stable(self) -> bool:
        """Whether encoding the rebuilt object gives the same bytes, those of its tensors included."""
        return _everything(self.encoded) == _everything(self.again)


def round_trip(
    obj: object,
    *,
    interned: Collection[str] = (),
    externs: Collection[str] = (),
    trust: Collection[str] = (),
    registry: CodecRegistry | None = None,
    map_location: object = None,
) -> RoundTrip:
    """Store an object and build it again in this process.

    `interned` are modules whose source would be in the archive; with any of them names are judged as
    beside code, with `externs` as the recorded ones, else as in an archive of data alone.

    Raises PackagingError with all refusals, and whatever `audit` and `build` raise.

    >>> round_trip({"a": [1, 2]}).object
    {'a': [1, 2]}
    >>> round_trip({"a": [1, 2]}).is_stable
    True
    """
    names = frozenset(interned)
    encoded = encode(obj, registry=registry).with_sources(names.__contains__)
    if encoded.refusals:
        raise PackagingError.listing("what cannot be stored:", map(str, encoded.refusals))
    trust_context = TrustContext.with_code(names, externs) if names else TrustContext.data_only()
    made = load(encoded, trust_context, trust, registry=registry, map_location=map_location)
    again = encode(made, registry=registry).with_sources(names.__contains__)
    return RoundTrip(made, encoded, again)


def load(
    encoded: EncodedObject,
    trust_context: TrustContext,
    trust: Collection[str] = (),
    *,
    registry: CodecRegistry | None = None,
    map_location: object = None,
) -> Any:
    """Build an encoded object, over copies of its storages."""
    sizes = {storage.name: (storage.dtype, storage.buffer.nbytes) for storage in encoded.storages}
    copies = {storage.name: memoryview(bytearray(storage.buffer)) for storage in encoded.storages}
    audited = audit(encoded.records, trust_context, trust, storages=sizes, registry=registry)
    return build(audited, resolve(audited), copies.__getitem__, map_location=map_location)


def resolve(audited: AuditedObject) -> Names:
    """Return the objects behind the names of an audited table, imported as this process finds them."""
    return resolve_names(audited, importlib.import_module)


def _everything(encoded: EncodedObject) -> tuple[Any, ...]:
    storages = [
        (storage.name, storage.dtype, storage.shape, bytes(storage.buffer)) for storage in encoded.storages
    ]
    return encoded.records, storages, encoded.names, encoded.warnings, encoded.refusals
