"""May this object be built? Its table is checked, then the names in it are judged; nothing is imported.

With interned code that the caller loads anyway names are no boundary, and the audit does not pretend
that they are (see trust.py). In archives of data alone they are the boundary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from packager.codecs.base import Codec, Role
from packager.codecs.registry import CodecRegistry

from .checking import checked_table
from .encoded import NameUse
from .paths import paths_to
from .records import Record
from .refusing import refusal
from .trust import Grant, Regime, Trust, grant_for

__all__ = ["AuditedObject", "audit", "names_in"]


@dataclass(frozen=True, slots=True)
class AuditedObject:
    """A table that may be built: checked records, codecs by number, and why each name is allowed."""

    records: Sequence[Record] = field(repr=False)
    root: Any = field(repr=False)
    codecs: tuple[tuple[Codec, int] | None, ...]
    grants: Mapping[tuple[str, str, Role], Grant]
    what: str


def audit(
    records: bytes | bytearray | memoryview,
    regime: Regime,
    trust: Collection[str] = (),
    *,
    storages: Mapping[str, tuple[str, int]] | None = None,
    registry: CodecRegistry | None = None,
    what: str = "object",
) -> AuditedObject:
    """Check a table of records and the names in it. Nothing is imported or built.

    `storages` maps the names of the object's tensors to (dtype, number of bytes), as the header of
    the safetensors member gives them; `what` names the object in messages.

    Raises ArchiveError (RecordError) for a table that is damaged or hostile, UntrustedTypeError, once
    for all names together, for names that neither the archive holds nor the caller trusts.

    >>> from packager.objects import encode
    >>> audit(encode([1, 2, 3]).records, Regime.data_only()).grants
    {}
    """
    trusted = Trust(trust)
    table = checked_table(records, storages or {}, registry, what)
    grants: dict[tuple[str, str, Role], Grant] = {}
    refused: dict[tuple[str, str, Role], int] = {}
    for use, index in table.uses.items():
        grant = grant_for(*use, regime, trusted)
        if grant is None:
            refused[use] = index
        else:
            grants[use] = grant
    if refused:
        raise refusal(_with_paths(table.records, table.root, refused), regime, what)
    return AuditedObject(table.records, table.root, tuple(table.codecs), grants, what)


def names_in(
    records: bytes | bytearray | memoryview,
    *,
    storages: Mapping[str, tuple[str, int]] | None = None,
    registry: CodecRegistry | None = None,
    what: str = "object",
) -> tuple[NameUse, ...]:
    """Every name in a stored object with its role and path, judged by nobody: what `inspect` shows.

    Raises ArchiveError for a table that is damaged or hostile.
    """
    table = checked_table(records, storages or {}, registry, what)
    return tuple(_with_paths(table.records, table.root, table.uses))


def _with_paths(
    records: Sequence[Record], root: Any, uses: Mapping[tuple[str, str, Role], int]
) -> list[NameUse]:
    paths = paths_to(records, root, set(uses.values()))
    found = [NameUse(*use, paths[index]) for use, index in uses.items()]
    return sorted(found, key=lambda use: (use.module, use.qualname, use.role))
