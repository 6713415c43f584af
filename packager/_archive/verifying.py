"""Full verification: every byte against every rule, with every problem gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from packager._quick_dataclasses import dataclass
from packager._texts import counted, listed, size_text
from packager.errors import ArchiveError, IntegrityError, PackageError

from .archive_errors import damaged
from .bounds import MAX_RECORD_DEPTH
from .entries import EntryRecord
from .entry_names import MIGRATIONS, index_name
from .manifest import Manifest
from .packed import check_weight, scan
from .reader import ArchiveReader
from .safetensors import MemberPlan, plan_member
from .stored_tensors import TensorReader
from .tensor_index import TensorIndex

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .safetensors_header import SafetensorsHeader

EntryCheck = Callable[[ArchiveReader, EntryRecord], None]
"""Checks the inner format of one entry; raises a PackageError when it is wrong."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: in which entry (None for the archive itself), and what."""

    entry: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of a verification; `problems` is empty when everything holds.

    `identity` is that of the manifest, whatever was found: of an archive with problems it says nothing of the
    contents. `digests` is the strongest digest that covers every entry: `"sha256"`, or `"crc"` for an archive
    that was written with it. `file_sha256` is that of the file, as `sha256sum` prints it; None where there
    are problems, for an unzipped archive, for one at an address, and where another file has taken its place
    meanwhile.
    """

    identity: str
    digests: str
    entries: int
    size: int
    problems: tuple[Problem, ...]
    file_sha256: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def _repr_html_(self) -> str:
        """Return the page that a notebook shows: what was read, and what is wrong."""
        from packager._notebook_page import notebook_page

        read = f"{counted(self.entries, 'entry', 'entries')}, {size_text(self.size)}, digests {self.digests}"
        held = "every digest holds" if self.ok else counted(len(self.problems), "problem")
        sections = [
            ("problems", ([one.entry or "archive", one.message] for one in self.problems)),
            ("identity", [self.identity] if self.ok else []),
        ]
        return notebook_page("Verification", f"{held}; {read}", sections, "good" if self.ok else "bad")

    def raise_for_problems(self) -> None:
        """Raise IntegrityError, which has the problems in its `problems`; do nothing when there is none."""
        if self.problems:
            said = f"the archive has {counted(len(self.problems), 'problem')}:"
            raise IntegrityError.listing(said, (problem.message for problem in self.problems))


def verify(
    reader: ArchiveReader,
    *,
    checks: Mapping[str, EntryCheck] | None = None,
    progress: Callable[[int, int], None] | None = None,
    all_named: bool = False,
) -> Verification:
    """Check everything about an archive that can be checked without running any of it.

    Opening has checked the layout and the manifest's digest. Here follow every local header, the
    CRC-32 and sha256 of every chunk whatever the reader's own `digests` say, every section of the
    manifest, what its records refer to, and the inner formats: safetensors headers against their
    indexes, msgpack. `checks` adds or replaces inner checks by kind. With `all_named`
    entries of the kinds that only a record leads to must have one. `progress(done, total)` is called
    with bytes.

    Raises nothing for a bad archive that could be opened: every problem is in the answer.
    """
    problems: list[Problem] = []
    inner = {**_CHECKS, **(checks or {})}
    total, done = sum(reader.entry(name).size for name in reader.names()), 0
    for name in reader.names():
        entry = reader.entry(name)
        try:
            reader.check(name, None if progress is None else partial(_along, progress, done, total))
            if entry.kind in inner:
                inner[entry.kind](reader, entry)
        except PackageError as error:
            problems.append(Problem(name, str(error)))
        done += entry.size
        if progress is not None:
            progress(done, total)
    problems += _sharing_problems(reader)
    problems += _manifest_problems(reader, all_named=all_named)
    problems += _signature_problems(reader)
    digest = None
    if not problems:
        try:
            digest = reader.file_sha256()
        except ArchiveError as error:  # it was changed meanwhile
            problems.append(Problem(None, str(error)))
    count = len(reader.names())
    return Verification(reader.identity, reader.digests, count, reader.size, tuple(problems), digest)


def _along(progress: Callable[[int, int], None], done: int, total: int, here: int) -> None:
    progress(done + here, total)


def _sharing_problems(reader: ArchiveReader) -> Iterator[Problem]:
    """Yield the members that refer to other bytes than those of a storage in a member before them."""
    before: dict[str, frozenset[tuple[int, int]]] = {}
    for name in reader.names():
        if reader.entry(name).kind != "tensors":
            return  # tensors come first
        try:
            index = TensorIndex.load(reader.read(index_name(name)), what=f"index of {name!r}")
            first = reader.entry(name).size - index.data_size
            ranges = [index.storage_range(number) for number in range(len(index.ends))]
        except PackageError:
            continue  # it has been told
        for place in index.elsewhere:
            if (place.start, place.stop) not in before.get(place.member, ()):
                yield Problem(
                    name, f"its index refers to {place}, which is not a storage of an earlier member"
                )
                break
        before[name] = frozenset((first + start, first + stop) for start, stop in ranges)


_NAMED_KINDS = frozenset({"check", "extras", "object", "tensors"})
"""Kinds of entries that are read by way of a record alone: one that no record names cannot be reached."""


def _manifest_problems(reader: ArchiveReader, *, all_named: bool) -> Iterator[Problem]:
    """Yield what is wrong in the manifest's sections, and with the entries that they name, or do not."""
    try:
        manifest = reader.manifest
    except PackageError as error:
        yield Problem(None, str(error))
        return
    named = set()
    for what, name, kinds in _references(manifest):
        named.add(name)
        if name not in reader:
            yield Problem(name, f"{what} names the entry {name!r}, which the archive does not have")
        elif reader.entry(name).kind not in kinds:
            found = reader.entry(name).kind
            yield Problem(
                name, f"{what} names the entry {name!r} of kind {found}; expected {' or '.join(kinds)}"
            )
    points = {point.name for point in manifest.entry_points}
    for section in ("checks", "schemas"):
        for record in getattr(manifest, section):
            if record.entry_point not in points:
                yield Problem(
                    None,
                    f"manifest, {section}: {record.entry_point!r} is not an entry point of the archive; "
                    f"expected one of {listed(sorted(points)) or 'none'}",
                )
    calls = {check.name for check in manifest.checks}
    for trace in manifest.traces:
        if trace.check not in calls:
            yield Problem(
                None,
                f"manifest, traces: {trace.check!r} is not an example of the archive; expected one of "
                f"{listed(sorted(calls)) or 'none'}",
            )
    for entry in map(reader.entry, reader.names() if all_named else ()):
        if entry.kind in _NAMED_KINDS and entry.name not in named:
            yield Problem(
                entry.name,
                f"entry {entry.name!r} of kind {entry.kind}, {size_text(entry.size)}: no object, state dict "
                "or example names it, so nothing loads it; expected one, as a PackageExporter writes",
            )


def _references(manifest: Manifest) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each entry that a record names: by which record, and of which kinds it may be."""
    for module in manifest.modules:
        if module.entry is not None:
            yield f"module {module.name}", module.entry, ("source",)
    for stored in manifest.objects:
        what = f"object {stored.package}/{stored.resource}"
        yield what, stored.entry, ("object",)
        if stored.tensors is not None:
            yield what, stored.tensors, ("tensors",)
    for state in manifest.state_dicts:
        what = f"state dict {state.package}/{state.resource}"
        yield what, state.entry, ("tensors",)
        if state.extras is not None:
            yield what, state.extras, ("extras",)
    for check in manifest.checks:
        yield f"check {check.name}", check.inputs, ("tensors",)
        if check.outputs is not None:
            yield f"check {check.name}", check.outputs, ("tensors",)
    for trace in manifest.traces:
        yield f"trace of check {trace.check}", trace.entry, ("check",)


def _signature_problems(reader: ArchiveReader) -> Iterator[Problem]:
    try:
        reader.signatures()
    except PackageError as error:
        yield Problem(None, str(error))


def _check_msgpack(reader: ArchiveReader, entry: EntryRecord) -> None:
    """Check bounds and structure; what the values mean is checked where they are used."""
    scan(reader.view(entry.name), what=f"entry {entry.name!r}")


def _check_table(reader: ArchiveReader, entry: EntryRecord) -> None:
    """Check bounds and structure of a table of records, as `_check_msgpack` does of other entries."""
    data, what = reader.view(entry.name), f"entry {entry.name!r}"
    check_weight(data, what=what)
    scan(data, what=what, max_nodes=len(data), max_depth=MAX_RECORD_DEPTH)


def _check_migrations(reader: ArchiveReader, entry: EntryRecord) -> None:
    if entry.name != MIGRATIONS:
        raise ArchiveError(f"entry {entry.name!r}: migrations are allowed in {MIGRATIONS!r} alone")
    _check_msgpack(reader, entry)


def _check_tensors(reader: ArchiveReader, entry: EntryRecord) -> None:
    """Check a safetensors member and its index.

    Raises ArchiveError when the header is not a strict safetensors header, when index and header
    disagree, or when either is not in canonical form.
    """
    what = f"entry {entry.name!r}"
    length = int.from_bytes(reader.view(entry.name, 0, min(8, entry.size)), "little")
    member = reader.view(entry.name, 0, min(8 + length, entry.size))
    try:
        index, plan = _planned(reader, entry)
    except PackageError:
        _parsed(member, entry.size, what=what)  # what is wrong with the header is told first
        raise
    header = None  # need not be read where it is as planned, as a plan refuses what `parse_header` would
    if plan.header != member or len(plan.header) + index.data_size != entry.size:
        header = _parsed(member, entry.size, what=what)
    if plan.order != list(range(len(index.ends))) or plan.index != reader.read(index_name(entry.name)):
        raise damaged(
            f"index of {entry.name!r}", "storages or tensors in another order", "the order of the format"
        )
    if header is not None:
        planned = _parsed(plan.header, header.data_start + index.data_size, what=what)
        raise _disagreement(what, header, planned)


def _parsed(header: memoryview | bytes, size: int, *, what: str) -> SafetensorsHeader:
    from .safetensors_header import parse_header  # a member that is as planned needs no reader of headers

    return parse_header(header, size, what=what)


def _planned(reader: ArchiveReader, entry: EntryRecord) -> tuple[TensorIndex, MemberPlan]:
    """Return the index of a member, and how a member that it describes is written."""
    stored = TensorReader(reader, entry.name)
    index = stored.index
    if dict(index.views) != dict(TensorIndex.of([*stored.values()], index.sizes).views):
        raise damaged(f"index of {entry.name!r}", "needless views", "views only where tensors need them")
    return index, plan_member(index)


def _check_index(reader: ArchiveReader, entry: EntryRecord) -> None:
    """Demand that an index belongs to a member. Raises ArchiveError when it does not."""
    member = entry.name.removeprefix(index_name(""))
    if index_name(member) != entry.name or member not in reader or reader.entry(member).kind != "tensors":
        raise damaged(f"entry {entry.name!r}", "an index without a member", f"a member {member!r}")


def _disagreement(what: str, found: SafetensorsHeader, expected: SafetensorsHeader) -> ArchiveError:
    from .json_text import shown_key

    keys = [
        key
        for key in {**expected.tensors, **found.tensors}
        if found.tensors.get(key) != expected.tensors.get(key)
    ]
    if keys:
        key = keys[0]
        return damaged(
            f"{what}, tensor {shown_key(key)}",
            f"{found.tensors.get(key)} in the safetensors header",
            f"{expected.tensors.get(key)}, as in the index ({len(keys)} tensors differ)",
        )
    return damaged(
        what, "a safetensors header with other formatting or metadata", "the header that the index describes"
    )


_CHECKS: Mapping[str, EntryCheck] = {
    "extras": _check_table,
    "index": _check_index,
    "migration": _check_migrations,
    "object": _check_table,
    "tensors": _check_tensors,
}
