"""What the stored objects of an archive name, and what loaders refuse of it: read from their records.

The manifest lists the names of each object, for those who read no records. What it says is compared: an
archive whose manifest says less than its records is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packager.archive import ArchiveReader, ObjectRecord, StateDictRecord, TensorReader
from packager.errors import ArchiveError
from packager.objects import judge, names_in, storages_of_extras

from .code import PackagedCode
from .objects import storages_of, trust_context_of


@dataclass(frozen=True, slots=True)
class StoredNames:
    """The names in one stored object, or in what lies beside a state dict.

    `needs_trust` are names that `load_object` and `load_state_dict` refuse without `trust=`; `refused`
    says what else they refuse, each with its path.
    """

    label: str
    names: tuple[str, ...]
    needs_trust: tuple[str, ...]
    refused: tuple[str, ...]


def stored_names(reader: ArchiveReader) -> Iterator[StoredNames]:
    """The names of every object and state dict, in the order of the manifest. Nothing is imported or built.

    Raises ArchiveError for damaged records, and for an object whose manifest lists fewer names than its
    records hold.
    """
    for record in reader.manifest.objects:
        yield _of_object(reader, record)
    for state in reader.manifest.state_dicts:
        yield _of_state(reader, state)


def _of_object(reader: ArchiveReader, record: ObjectRecord) -> StoredNames:
    trust_context, label = (
        trust_context_of(reader, PackagedCode(reader)),
        f"{record.package}/{record.resource}",
    )
    tensors = None if record.tensors is None else TensorReader(reader, record.tensors)
    records, storages, what = reader.read(record.entry), storages_of(tensors), f"object {label}"
    names = {(str(use), use.role) for use in names_in(records, storages=storages, what=what)}
    unsaid = sorted({name for name, _ in names - {(use.name, use.role) for use in record.types}})
    if unsaid:
        raise ArchiveError(
            f"{what}: its records name {', '.join(unsaid[:5])}, which the manifest does not say; the archive "
            "was not written by packager: do not load it"
        )
    factory = (record.factory or "").partition(":")[0]
    given = trust_context.for_object([factory]) if trust_context.interned(factory) else trust_context
    verdict = judge(records, given, storages=storages, what=what)
    called = {record.factory} if record.factory and not trust_context.interned(factory) else set()
    return StoredNames(
        label,
        tuple(sorted({name for name, _ in names} | ({record.factory} if record.factory else set()))),
        tuple(sorted({str(use) for use in verdict.names} | called)),
        tuple(map(str, verdict.forms)),
    )


def _of_state(reader: ArchiveReader, record: StateDictRecord) -> StoredNames:
    label = f"{record.package}/{record.resource}"
    if record.extras is None:
        return StoredNames(label, (), (), ())
    trust_context = trust_context_of(reader, PackagedCode(reader)).data_alone()
    records, storages = reader.read(record.extras), storages_of_extras(TensorReader(reader, record.entry))
    what = f"state dict {label}"
    names = {str(use) for use in names_in(records, storages=storages, what=what)}
    verdict = judge(records, trust_context, storages=storages, what=what, root="extras")
    return StoredNames(
        label,
        tuple(sorted(names)),
        tuple(sorted({str(use) for use in verdict.names})),
        tuple(map(str, verdict.forms)),
    )
