"""May this object be built? Its table is checked, its names and forms are judged; nothing is imported.

With code that the caller loads anyway names are no boundary, and the audit does not pretend that they
are (see trust.py). In data alone they are, together with what may be made of them (see inert.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from packager.codecs import Codec, CodecRegistry, Role
from packager.errors import UntrustedTypeError

from .checking import CheckedTable, checked_table
from .inert import refused_forms
from .naming import NameUse
from .operands import paths_to
from .records import Record
from .trust import Grant, StoredName, Trust, TrustContext, grant_for, is_never_stored


@dataclass(frozen=True, slots=True)
class FormUse:
    """Something in a stored object that is refused for what it is made of: where, why, what helps.

    `trust` is the name that `trust=` may vouch for, "" where there is none.
    """

    path: str
    reason: str
    trust: str = ""

    def __str__(self) -> str:
        remedy = f", or load with trust=({self.trust!r},)" if self.trust else ""
        return f"{self.path}: {self.reason}{remedy}"


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
    is_data_alone: bool = True


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
) -> AuditedObject:
    """Check a table of records, the names in it and their forms. Nothing is imported or built.

    `storages` maps the names of the object's tensors to (dtype, number of bytes), as the header of
    the safetensors member gives them; `what` names the object in messages.

    `root` is what paths in messages start with.

    Raises ArchiveError (RecordError) for a table that is damaged or hostile, UntrustedTypeError, once
    for all together, for names that neither the archive holds nor the caller trusts, and for forms that
    data alone must not have.

    >>> from packager.objects import encode
    >>> audit(encode([1, 2, 3]).records, TrustContext.data_only()).grants
    {}
    """
    table = checked_table(records, storages or {}, registry, what)
    verdict = _verdict(table, trust_context, Trust(trust), root)
    if verdict.names or verdict.forms:
        raise refusal(verdict.names, verdict.trust_context, what, verdict.forms)
    return AuditedObject(
        table.records,
        table.root,
        tuple(table.codecs),
        verdict.grants,
        what,
        is_data_alone=not verdict.trust_context.allows_code,
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
    return _verdict(checked_table(records, storages or {}, registry, what), trust_context, Trust(trust), root)


def _verdict(table: CheckedTable, trust_context: TrustContext, trust: Trust, root: str) -> Verdict:
    trust_context = trust_context.for_object({module for module, _, _ in table.uses})
    grants: dict[tuple[str, str, Role], Grant] = {}
    refused: dict[tuple[str, str, Role], int] = {}
    for use, index in table.uses.items():
        grant = grant_for(*use, trust_context, trust)
        if grant is None:
            refused[use] = index
        else:
            grants[use] = grant
    names = _with_paths(table.records, table.root, refused, root)
    forms = refused_forms(table, trust_context, trust)
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


# --- what is refused, by distribution and role, with a way out ---

_MOST_FORMS = 20
_ROLE_WORDS = {
    "create": "created and given state",
    "call": "called with stored arguments",
    "value": "handed to the code of the model",
}


class UntrustedNamesError(UntrustedTypeError):
    """What the audit does not allow: `uses` holds all names, `names` as "module:name", `forms` the rest.

    The names carry a mark, so that `trust=error.names` is refused: who trusts writes names out.
    """

    def __init__(self, message: str, uses: Sequence[NameUse], forms: Sequence[FormUse] = ()) -> None:
        super().__init__(message)
        self.uses = tuple(uses)
        self.forms = tuple(forms)
        self.names = tuple(StoredName(use) for use in uses)


def refusal(
    uses: Sequence[NameUse], trust_context: TrustContext, what: str, forms: Sequence[FormUse] = ()
) -> UntrustedNamesError:
    """Return one error for everything: names by distribution and by role, then forms."""
    lines = [*(_named(uses, trust_context, what) if uses else ())]
    if forms:
        count = f"{len(forms)} thing{'' if len(forms) == 1 else 's'}"
        alone = "must not be given what it says" if trust_context.allows_code else "must not be in data alone"
        lines.append(f"{what}: {count} in it {alone}; nothing was imported or built.")
        lines += [f"    {form}" for form in forms[:_MOST_FORMS]]
        if len(forms) > _MOST_FORMS:
            lines.append(f"    and {len(forms) - _MOST_FORMS} more")
    return UntrustedNamesError("\n".join([*lines, *_ways_out(uses)]), uses, forms)


def _named(uses: Sequence[NameUse], trust_context: TrustContext, what: str) -> list[str]:
    groups: dict[tuple[str, str], list[NameUse]] = {}
    for use in uses:
        top = use.module.partition(".")[0]
        groups.setdefault((trust_context.distributions.get(top, top), use.role), []).append(use)
    count = len({(use.module, use.qualname) for use in uses})
    noun = "name" if count == 1 else "names"
    lines = [
        f"{what}: {count} {noun} in it are neither in the archive nor trusted; nothing was imported or built."
    ]
    for (distribution, role), members in sorted(groups.items()):
        lines.append(f"* {distribution}, {_ROLE_WORDS[role]}:")
        lines += [f"    {use}    at {use.path}{_never(use)}{_beside(use, trust_context)}" for use in members]
    return lines


def _beside(use: NameUse, trust_context: TrustContext) -> str:
    """Why a name is refused though the archive stores its module."""
    stored = () if trust_context.allows_code else trust_context.stored_on_the_way(use.module)
    if not stored:
        return ""
    whose = "its source" if stored[-1] == use.module else f"the source of {stored[-1]}"
    return f" ({whose} is stored, but this is data alone, whatever lies beside it)"


def _never(use: NameUse) -> str:
    never = is_never_stored(use.module, use.qualname)
    return " (refused always: it turns data into code)" if never else ""


def _ways_out(uses: Sequence[NameUse]) -> list[str]:
    """A line to paste for classes that are only created; words for what runs with stored arguments."""
    dangerous = {
        str(use) for use in uses if use.role != "create" or is_never_stored(use.module, use.qualname)
    }
    harmless = sorted({str(use) for use in uses} - dangerous)
    lines = []
    if harmless:
        names = ", ".join(repr(name) for name in harmless)
        lines.append(f"If you know these classes and trust this archive to fill them: trust=({names},)")
    if dangerous:
        lines.append(
            "Names that are called or handed on run with what the archive says: read what they do before you "
            "write them into trust=, one by one."
        )
    return lines
