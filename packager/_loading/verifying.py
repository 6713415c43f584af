"""What is known of an archive while nothing of it runs: whether it holds, and names in what is stored.

The manifest lists the names of each object, for those who read no records. `stored_names` and deep checks
compare the two: an archive whose manifest says less than its records, or more, is refused.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache

from packager._archive import (
    ArchiveReader,
    EntryCheck,
    EntryRecord,
    ObjectRecord,
    Problem,
    StateDictRecord,
    TensorReader,
    Verification,
    storages_of,
)
from packager._archive import verify as verify_reader
from packager._arguments import check_file
from packager._quick_dataclasses import dataclass, replace
from packager.errors import ArchiveError

from .stored_states import called_factory, names_listed, trust_context_of

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import BinaryIO

    from packager._audit import TrustContext, Verdict


def verify(
    file: str | os.PathLike[str] | BinaryIO | bytes,
    *,
    deep: bool = False,
    identity: str | None = None,
    trust: Collection[str] = (),
    memory: int = 1 << 30,
    seconds: float = 120,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Check everything about an archive that can be checked without running any of it.

    That is the layout, both digests of every chunk, the manifest and what its records name, msgpack,
    and safetensors headers against their indexes. With `deep=True` every source is compiled, its code
    thrown away, and the names in every stored object are audited, as `load_object` would with this
    `trust`, and tensors and records that nothing in the archive refers to are problems. Data alone is built
    with the libraries that are installed and encoded again: another spelling of it is a problem. That is done
    in a child process that is ended when it takes more than `memory` bytes (where the system can tell) or all
    of it more than `seconds`. `progress(done, total)` is called with bytes.

    `file` is a path, the folder of an unzipped archive, an address, a file object or bytes. It is read, not
    mapped: a file that is truncated meanwhile gives an error. `identity` admits only the archive with this
    identity: the sha256 of its manifest is compared first.

    Every problem is in the answer. Raises ArgumentError for a `file` of the wrong kind, ArchiveError for a
    file that is not an archive, IdentityMismatchError for another identity, OSError for a file that cannot be
    opened.

    >>> import io
    >>> from packager import PackageExporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file, policy="auto") as exporter:
    ...     exporter.save_source_string("broken", "def f(:", dependencies=False)
    >>> verify(file).ok
    True
    >>> print(verify(file, deep=True).problems[0].message)
    entry 'broken.py', line 1: this Python cannot parse it: invalid syntax
    """
    if not isinstance(file, bytes | bytearray | memoryview):
        check_file("file", file, method="read")
    with (
        ArchiveReader(file, identity=identity, digests="crc", mmap=False) as reader,
        contextlib.ExitStack() as stack,
    ):
        checks: Mapping[str, EntryCheck] = {"check": _check_trace}
        if deep:
            from .deep_checks import Limits, ParsingProcess

            with contextlib.suppress(ArchiveError):  # a manifest that cannot be read is a problem below
                process = stack.enter_context(ParsingProcess(reader, Limits(memory, seconds), trust))
                checks = {
                    **checks,
                    "source": process.source,
                    "object": process.stored,
                    "extras": process.extras,
                    "migration": process.migrations,
                }
        found = verify_reader(reader, checks=checks, progress=progress, all_named=deep)
        more = tuple(_schema_problems(reader))
        return replace(found, problems=(*found.problems, *more), file_sha256=None) if more else found


def _schema_problems(reader: ArchiveReader) -> Iterator[Problem]:
    """Yield what is wrong with the types of values, which are read where an entry point is called."""
    with contextlib.suppress(ArchiveError):  # a manifest that cannot be read is a problem already
        if schemas := reader.manifest.schemas:
            from packager._calls import schema_problems

            yield from (Problem(None, text) for text in schema_problems(schemas))


def _check_trace(reader: ArchiveReader, entry: EntryRecord) -> None:
    """Read the trace of a golden call. Raises ArchiveError for what no exporter writes."""
    for record in reader.manifest.traces:
        if record.entry == entry.name:
            from packager._calls import stored_trace  # few archives hold one

            stored_trace(reader, record.check)


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
    from packager._audit import judge, names_in
    from packager._objects import require_said

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


def _names_of_state(
    reader: ArchiveReader, record: StateDictRecord, trust_context: Callable[[], TrustContext]
) -> StoredNames:
    label = f"{record.package}/{record.resource}"
    if record.extras is None:
        return StoredNames(label, (), (), ())
    from packager._audit import judge, names_in
    from packager._state_dicts import EXTRA

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
