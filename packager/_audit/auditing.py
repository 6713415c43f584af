"""May this object be built? Its table is checked, and its names and forms are judged.

With code that the caller loads anyway names are no boundary, and the audit does not pretend that they
are (see trust.py). In data alone they are, together with what may be made of them (see forms.py). Nothing is
imported here: what is allowed is imported in resolve.py, and judged again by what it turns out to be.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from packager._codecs import Codec, CodecRegistry, Role
from packager._objects import CheckedTable, FormUse, NameUse, Record, checked_table, paths_to
from packager._process import gc_paused
from packager._quick_dataclasses import dataclass, field

from .forms import CODE, Form, refused_forms
from .gates import Gates
from .keys import refused_keys
from .trust import Grant, Trust, TrustContext, grant_for

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class AuditedObject:
    """A table that may be built: checked records, codecs by number, and why each name is allowed.

    `is_data_alone` says that nothing in it comes from stored code.
    """

    records: Sequence[Record] = field(repr=False)
    root: Any = field(repr=False)
    codecs: tuple[tuple[Codec, int] | None, ...]
    grants: Mapping[tuple[str, str, Role], Grant]
    what: str
    is_data_alone: bool
    registry: CodecRegistry = field(repr=False)

    def gates(self, names: Mapping[tuple[str, str], Any]) -> Gates:
        """Return what is asked while it is built; `names` are the objects behind its names."""
        return Gates(
            self.grants,
            names,
            self.registry,
            lambda: sum(map(len, self.records)),
            is_data_alone=self.is_data_alone,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `judge` found: the context that the names lead to, why names are allowed, what is refused."""

    trust_context: TrustContext
    grants: Mapping[tuple[str, str, Role], Grant]
    names: tuple[NameUse, ...]
    forms: tuple[FormUse, ...]


def audit(
    records: bytes | bytearray | memoryview,
    trust_context: TrustContext,
    trust: Collection[str] = (),
    *,
    storages: Mapping[str, tuple[str, int]] | None = None,
    registry: CodecRegistry | None = None,
    what: str = "object",
    root: str = "obj",
    with_keys: bool = False,
) -> AuditedObject:
    """Check a table of records, the names in it and their forms. Nothing is imported or built.

    `storages` maps the names of the object's tensors to (dtype, number of bytes), as the header of
    the safetensors member gives them; `what` names the object in messages.

    `root` is what paths in messages start with. Keys are looked at by `build`, before each is hashed; with
    `with_keys` also here, those that the table spells out.

    Raises ArchiveError (RecordError) for a table that is damaged or hostile, UntrustedTypeError, once
    for all together, for names that neither the archive holds nor the caller trusts, and for forms that
    data alone must not have.

    >>> from packager._objects import encode
    >>> audit(encode([1, 2, 3]).records, TrustContext.data_only()).grants
    {}
    """
    table = checked_table(records, storages or {}, registry, what)
    trusted = Trust(trust)
    verdict = _verdict(table, trust_context, trusted, root, with_keys=with_keys)
    if verdict.names or verdict.forms:
        from .refused_names import refusal

        idle = trusted.unmatched((module, qualname) for module, qualname, _ in table.uses)
        raise refusal(verdict.names, verdict.trust_context, what, verdict.forms, idle)
    return AuditedObject(
        table.records,
        table.root,
        tuple(table.codecs),
        verdict.grants,
        what,
        is_data_alone=not verdict.trust_context.allows_code,
        registry=table.registry,
    )


def judge(
    records: bytes | bytearray | memoryview,
    trust_context: TrustContext,
    trust: Collection[str] = (),
    *,
    storages: Mapping[str, tuple[str, int]] | None = None,
    registry: CodecRegistry | None = None,
    what: str = "object",
    root: str = "obj",
) -> Verdict:
    """Return what `audit` would refuse of a table, without refusing it: for plans, and for `inspect`.

    Raises ArchiveError for a table that is damaged or hostile.
    """
    with gc_paused():
        table = checked_table(records, storages or {}, registry, what)
        return _verdict(table, trust_context, Trust(trust), root, with_keys=True)


def _verdict(
    table: CheckedTable, trust_context: TrustContext, trust: Trust, root: str, *, with_keys: bool
) -> Verdict:
    trust_context = trust_context.for_object({module for module, _, _ in table.uses})
    grants: dict[tuple[str, str, Role], Grant] = {}
    refused: dict[tuple[str, str, Role], int] = {}
    for use, index in table.uses.items():
        grant = grant_for(*use, trust_context, trust, table.registry.library)
        if grant is None:
            refused[use] = index
        else:
            grants[use] = grant
    names = _with_paths(table.records, table.root, refused, root)
    forms = refused_forms(table, trust_context, trust)
    if with_keys and not trust_context.allows_code:
        forms += [Form(index, f"{reason}; {CODE}") for index, reason in refused_keys(table.records)]
    paths = paths_to(table.records, table.root, {form.index for form in forms}, root)
    return Verdict(
        trust_context,
        grants,
        tuple(names),
        tuple(FormUse(paths[form.index], form.reason, form.trust) for form in forms),
    )


def names_in(
    records: bytes | bytearray | memoryview,
    *,
    storages: Mapping[str, tuple[str, int]] | None = None,
    registry: CodecRegistry | None = None,
    what: str = "object",
) -> tuple[NameUse, ...]:
    """Return every name in a stored object with its role and path, unjudged: what `inspect` shows.

    Raises ArchiveError for a table that is damaged or hostile.
    """
    table = checked_table(records, storages or {}, registry, what)
    return tuple(_with_paths(table.records, table.root, table.uses, "obj"))


def _with_paths(
    records: Sequence[Record], root: Any, uses: Mapping[tuple[str, str, Role], int], start: str
) -> list[NameUse]:
    paths = paths_to(records, root, set(uses.values()), start)
    found = [NameUse(*use, paths[index]) for use, index in uses.items()]
    return sorted(found, key=lambda use: (use.module, use.qualname, use.role))
