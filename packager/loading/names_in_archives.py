"""The names in what is stored: of objects, and of what lies beside state dicts; nothing is imported.

The manifest lists the names of each object, for those who read no records. `stored_names` and deep checks
compare the two: an archive whose manifest says less than its records, or more, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from packager.archive import ArchiveReader, ObjectRecord, StateDictRecord, TensorReader, storages_of
from packager.quick_dataclasses import dataclass

from .load_context import trust_context_of

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from packager.audit import TrustContext, Verdict


@dataclass(frozen=True, slots=True)
class StoredNames:
    """The names in one stored object, or in what lies beside a state dict.

    `needs_trust` are names that `load_object` and `load_state_dict` refuse without `trust=`; `refused`
    says what else they refuse, each with its path, and `vouched` are the names by which `trust=` admits
    some of it. `allowed` gives the other names, each with its role and why it is allowed: "interned",
    "extern", "default", or "row of " and the distribution of the library that says what data may do with it.
    """

    label: str
    names: tuple[str, ...]
    needs_trust: tuple[str, ...]
    refused: tuple[str, ...]
    vouched: tuple[str, ...] = ()
    allowed: tuple[tuple[str, str, str], ...] = ()


def stored_names(reader: ArchiveReader) -> Iterator[StoredNames]:
    """Yield the names of every object and state dict, in the order of the manifest; nothing is imported.

    Raises ArchiveError for damaged records, and for an object whose manifest lists other names than its
    records hold.
    """

    @cache  # a state dict of tensors alone needs none
    def trust_context() -> TrustContext:
        from .packaged_code import PackagedCode

        return trust_context_of(reader, PackagedCode(reader))

    for record in reader.manifest.objects:
        yield _names_of_object(reader, record, trust_context())
    for state in reader.manifest.state_dicts:
        yield _names_of_state(reader, state, trust_context)


def _names_of_object(reader: ArchiveReader, record: ObjectRecord, trust_context: TrustContext) -> StoredNames:
    from packager.audit import judge, names_in
    from packager.objects import require_said

    label = f"{record.package}/{record.resource}"
    tensors = None if record.tensors is None else TensorReader(reader, record.tensors)
    records, storages, what = reader.read(record.entry), storages_of(tensors), f"object {label}"
    names = {(str(use), use.role) for use in names_in(records, storages=storages, what=what)}
    require_said(names | called_factory(record), names_listed(record), what)
    factory = (record.factory or "").partition(":")[0]
    stored_factory = trust_context.interned(factory)
    given = trust_context.for_object([factory]) if stored_factory else trust_context
    verdict = judge(records, given, storages=storages, what=what)
    made_by = {name for name, _ in called_factory(record)}
    return StoredNames(
        label,
        tuple(sorted({name for name, _ in names} | made_by)),
        tuple(sorted({str(use) for use in verdict.names} | (set() if stored_factory else made_by))),
        tuple(map(str, verdict.forms)),
        tuple(sorted({form.trust for form in verdict.forms if form.trust})),
        (*_allowed(verdict), *((name, "call", "interned") for name in made_by if stored_factory)),
    )


def _allowed(verdict: Verdict) -> tuple[tuple[str, str, str], ...]:
    """Return the names that are allowed, each with its role, and by what."""
    uses = (
        (f"{module}:{name}", role, grant.told_by) for (module, name, role), grant in verdict.grants.items()
    )
    return tuple(sorted(uses))


def names_listed(record: ObjectRecord) -> list[tuple[str, str]]:
    """Return the names that the manifest says an object needs, each with its role."""
    return [(use.name, use.role) for use in record.types]


def called_factory(record: ObjectRecord) -> set[tuple[str, str]]:
    """Return the name that an object needs beside those of its records: of what makes it, if anything."""
    return {(record.factory, "call")} if record.factory else set()


def _names_of_state(
    reader: ArchiveReader, record: StateDictRecord, trust_context: Callable[[], TrustContext]
) -> StoredNames:
    label = f"{record.package}/{record.resource}"
    if record.extras is None:
        return StoredNames(label, (), (), ())
    from packager.audit import judge, names_in
    from packager.state_dicts import EXTRA

    records, storages = reader.read(record.extras), storages_of(TensorReader(reader, record.entry), EXTRA)
    what = f"state dict {label}"
    names = {str(use) for use in names_in(records, storages=storages, what=what)}
    verdict = judge(records, trust_context().data_alone(), storages=storages, what=what, root="extras")
    return StoredNames(
        label,
        tuple(sorted(names)),
        tuple(sorted({str(use) for use in verdict.names})),
        tuple(map(str, verdict.forms)),
        tuple(sorted({form.trust for form in verdict.forms if form.trust})),
        _allowed(verdict),
    )
