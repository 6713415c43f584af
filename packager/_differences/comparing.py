"""Two files, and what differs between them: archives as a whole, other files as state dicts."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Literal

from packager._archive import CHUNK, ArchiveReader, ArchiveWriter, EntryRecord, Manifest
from packager._arguments import check_path
from packager._licenses import RecordedLicenses
from packager._quick_dataclasses import replace
from packager._texts import in_lines, listed, shown_place
from packager._weights import (
    LegacyTensor,
    TorchPackage,
    open_checkpoint,
    open_other_weights,
    open_torch_package,
)
from packager.errors import ArchiveError, LegacyFormatError

from .changes import Change, Differences, KeyChange, TensorChange
from .facts import compare_facts, compare_named
from .members import Member, compare_members
from .states import compare_states
from .texts import Names, TextComparison

_RUNTIME = ".data/runtime/"
_STARTERS = ("__main__.py", "packager.py")
File = str | os.PathLike[str]


def compare_files(
    before: File,
    after: File,
    *,
    unwrap: str | None = None,
    run: bool = False,
    trust: Collection[str] = (),
    environment: Literal["warn", "error", "ignore"] = "warn",
) -> Differences:
    """Return what differs between two archives, or between two files of weights.

    Archives, and folders of unzipped ones, are compared whole: code, decisions, environment, objects, entry
    points, migrations, files, keys and tensors. Contents with equal digests are not read. Two archives of
    torch.package are compared whole, too. A file of weights of any other kind that `open_checkpoint` reads is
    a state dict; where one side is an archive, its state dict is compared with that. `unwrap` names the state
    dict where a file holds several; a side with only one needs no name. `os.devnull` counts as an empty side.

    No code of either is run, except with `run=True`: that loads both and repeats the examples of each on
    both; `trust` and `environment` are those of PackageImporter.

    Raises ArgumentError unless both are paths, ArchiveError for a damaged archive, for an unknown kind of
    file, and with `run` for anything but an archive, LegacyFormatError for weights that cannot be read,
    OSError for a file that cannot be opened.

    >>> import numpy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.savez(f"{folder}/old.npz", w=numpy.ones(3), b=numpy.zeros(1))
    ...     numpy.savez(f"{folder}/new.npz", w=numpy.ones(3), bias=numpy.zeros(1))
    ...     found = compare_files(f"{folder}/old.npz", f"{folder}/new.npz")
    ...     [(one.kind, *one.old_keys, one.key) for one in found.keys]
    [('renamed', 'b', 'bias')]
    """
    for what, file in (("before", before), ("after", after)):
        check_path(what, file, or_address=True)
    files = os.fspath(before), os.fspath(after)
    names = shown_place(files[0]), shown_place(files[1])
    with ExitStack() as opened:
        sides = [_archive(file, opened) for file in (before, after)]
        refused = [one for one in sides if isinstance(one, ArchiveError)]
        if run and refused:
            raise ArchiveError(f"only archives have examples to repeat: {refused[0]}")
        one, other = sides
        packages = _torch_packages(files) if len(refused) == 2 and unwrap is None else None
        if isinstance(one, ArchiveReader) and isinstance(other, ArchiveReader) and unwrap is None:
            found = _compare_archives(*names, one, other)
        elif packages is not None:
            found = compare_torch_packages(*names, *packages)
        else:
            keys, tensors = compare_states(*_states_of(files, sides, unwrap))
            found = Differences(*names, keys=tuple(keys), tensors=tuple(tensors))
        if not run:
            return found
        from .golden_calls import compare_calls

        count, calls = compare_calls(before, after, trust=trust, environment=environment)
        return replace(found, calls=calls, calls_run=count)


def _archive(file: File, opened: ExitStack) -> ArchiveReader | ArchiveError:
    """Return an open archive, an empty one for `os.devnull`; the error for what is none."""
    if os.fspath(file) == os.devnull:
        return opened.enter_context(ArchiveReader(_empty_archive()))
    try:
        return opened.enter_context(ArchiveReader(file))
    except ArchiveError as error:
        return error


def _empty_archive() -> bytes:
    file = io.BytesIO()
    with ArchiveWriter(file, fsync=False) as writer:
        writer.seal(Manifest())
    return file.getvalue()


def _torch_packages(files: tuple[str, str]) -> tuple[TorchPackage, TorchPackage] | None:
    """Return both files as archives of torch.package; None where one is something else."""
    if any(os.path.isdir(file) for file in files):
        return None
    try:
        return open_torch_package(files[0]), open_torch_package(files[1])
    except LegacyFormatError:
        return None


def _states_of(
    files: tuple[str, str], sides: list[ArchiveReader | ArchiveError], unwrap: str | None
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the state dict of each side: the one that is named, or the only one.

    A name has to be one of one side at least: the other may be a file of one state dict, which needs none.
    """
    found: list[Mapping[str, Any]] = []
    refused: list[ArchiveError | LegacyFormatError] = []
    for file, side in zip(files, sides, strict=True):
        try:
            found.append(_state_of(file, side, unwrap))
        except (ArchiveError, LegacyFormatError) as error:
            if unwrap is None:
                raise
            refused.append(error)
            if len(refused) == 2:
                both = (f"  {one}" for one in refused)
                raise ArchiveError(in_lines(f"{unwrap!r} is in neither file:", *both)) from None
            found.append(_only_state_of(file, side, error))
    return found[0], found[1]


def _only_state_of(
    name: str, side: ArchiveReader | ArchiveError, refused: ArchiveError | LegacyFormatError
) -> Mapping[str, Any]:
    """Return the state dict of a side that has one alone. Raises `refused`, why it lacks the one named."""
    try:
        if isinstance(side, ArchiveReader):
            return _state_of(name, side, None)
        return open_checkpoint(name, skip_unknown=True)
    except (ArchiveError, LegacyFormatError):
        raise refused from None


def _state_of(file: str, side: ArchiveReader | ArchiveError, unwrap: str | None) -> Mapping[str, Any]:
    """Return the state dict of a file: that of an archive which is named, or the only one."""
    if isinstance(side, ArchiveError):
        if unwrap is not None:
            return open_checkpoint(file, unwrap=unwrap, skip_unknown=True)
        return open_other_weights(file, side)
    members = dict(_members(side))
    chosen = unwrap or (next(iter(members)) if len(members) == 1 else None)
    if file == os.devnull:
        return {}
    if chosen not in members:
        raise ArchiveError(
            f"{shown_place(file)}: which state dict? The archive holds {listed([*members]) or 'none'}; name "
            "one with unwrap= (--unwrap)"
        ).holding(members)
    return members[chosen]


def _members(reader: ArchiveReader) -> Iterator[tuple[str, Member]]:
    """Yield the state dicts and objects of an archive that have tensors, by package and name."""
    for state in reader.manifest.state_dicts:
        yield f"{state.package}/{state.resource}", Member(reader, state.entry, state.extras)
    for record in reader.manifest.objects:
        if record.tensors is not None:
            yield f"{record.package}/{record.resource}", Member(reader, record.tensors)


def _compare_archives(before: str, after: str, one: ArchiveReader, other: ArchiveReader) -> Differences:
    """Compare all that two archives hold. The same identity is the same content: nothing is read for that."""
    if one.identity == other.identity:
        return Differences(before, after)
    texts = TextComparison(one, other)
    code = tuple(texts.of(*_code(one.manifest, other.manifest)))
    changes = tuple(compare_facts(one, other))
    files = tuple(texts.of(*_files(one, other)))
    keys: list[KeyChange] = []
    tensors: list[TensorChange] = []
    olds, news = dict(_members(one)), dict(_members(other))
    for name in olds:
        if name in news:
            more, others = compare_members(name, olds[name], news[name])
            keys += more
            tensors += others
    found = Differences(before, after, code, changes, files, tuple(keys), tuple(tensors))
    if found:
        return found
    # Whatever it is, they are not equal: where modules are imported, or the order of tensors, for example.
    other_identity = Change("archive", "changed", "identity", one.identity, other.identity)
    return replace(found, changes=(other_identity,))


def _code(before: Manifest, after: Manifest) -> tuple[Names, Names]:
    """Return the stored modules of both sides. Those with which something else is done now are decisions."""
    sides = [{one.name: one for one in side.modules} for side in (before, after)]
    stored = [{name: one.entry for name, one in side.items() if one.entry} for side in sides]
    return tuple(  # type: ignore[return-value]  # two of them
        {name: entry for name, entry in mine.items() if name in theirs or name not in every}
        for mine, theirs, every in ((stored[0], stored[1], sides[1]), (stored[1], stored[0], sides[0]))
    )


def _files(before: ArchiveReader, after: ArchiveReader) -> tuple[Names, Names]:
    """Return the texts and data of both sides that belong to no module, object or loader."""
    sides = []
    for reader in (before, after):
        runnable = any(name.startswith(_RUNTIME) for name in reader.names())
        told_elsewhere = {module.entry for module in reader.manifest.modules}
        told_elsewhere |= {
            f"{part.distribution.replace('-', '_')}-{part.version}.dist-info/METADATA"
            for part in RecordedLicenses.of(reader.manifest).stored
        }
        sides.append(
            {
                entry.name: entry.name
                for entry in reader.manifest.entries
                if entry.kind in ("resource", "pickle", "source")
                and entry.name not in told_elsewhere
                and not entry.name.startswith(".data/")
                and not (runnable and entry.name in _STARTERS)
            }
        )
    return sides[0], sides[1]


def compare_torch_packages(before: str, after: str, one: TorchPackage, other: TorchPackage) -> Differences:
    """Return how two archives differ.

    Tensors are compared pickle by pickle. Bytes that no tensor is made of, as those of a model that its own
    code makes, are compared as files; where nothing else differs all are: equal means that everything is.
    """
    texts = TextComparison(_PackageFiles(one), _PackageFiles(other))
    olds, news = _tensors_by_pickle(one), _tensors_by_pickle(other)
    keys: list[KeyChange] = []
    tensors: list[TensorChange] = []
    for name in olds:
        if name in news:
            more, others = compare_states(olds[name], news[name], state=name)
            keys += more
            tensors += others
    found = Differences(
        before,
        after,
        tuple(texts.of(_torch_code(one), _torch_code(other))),
        tuple(_facts(one, other)),
        tuple(texts.of(_torch_files(one, olds), _torch_files(other, news))),
        tuple(keys),
        tuple(tensors),
    )
    if found:
        return found
    return Differences(before, after, files=tuple(texts.of(_torch_files(one, {}), _torch_files(other, {}))))


def _tensors_by_pickle(package: TorchPackage) -> dict[str, Mapping[str, Any]]:
    """Return the tensors of each pickle; none of one that cannot be read as data."""
    found: dict[str, Mapping[str, Any]] = {}
    for name in package.names:
        if name.endswith(".pkl"):
            try:
                found[name] = package.tensors(name)
            except LegacyFormatError:
                found[name] = {}
    return found


def _facts(one: TorchPackage, other: TorchPackage) -> Iterator[Change]:
    """Yield which modules are left to the target on one side alone, and another Python."""
    sides = (one, other)
    yield from compare_named("decisions", *(dict.fromkeys(side.extern_modules, "extern") for side in sides))
    versions = ({"python": side.python_version} if side.python_version else {} for side in sides)
    yield from compare_named("environment", *versions)


def _torch_code(package: TorchPackage) -> Names:
    """Return the source files by the names of their modules."""
    return {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name for name in package.code
    }


def _torch_files(package: TorchPackage, pickles: Mapping[str, Mapping[str, Any]]) -> Names:
    """Return everything that was saved but code, and the data that no tensor of these pickles is made of."""
    shown = {
        f".data/{tensor.storage.key}.storage"
        for state in pickles.values()
        for tensor in state.values()
        if isinstance(tensor, LegacyTensor)
    }
    shown.update(package.code)
    return {name: name for name in (*package.names, *package.data_names) if name not in shown}


class _PackageFiles:
    """The files of an archive of torch.package, with the records that entries of ours have."""

    def __init__(self, package: TorchPackage) -> None:
        self._package = package

    def entry(self, name: str) -> EntryRecord:
        """Return a record with today's digests: such an archive has none but CRC-32."""
        data = memoryview(self.read(name))
        digests = (hashlib.sha256(data[at : at + CHUNK]).digest() for at in range(0, len(data), CHUNK))
        kind = "source" if name.endswith(".py") else "resource"
        return EntryRecord(name, kind, len(data), 1, b"", b"".join(digests))

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        return self._package.load_binary("", name)
