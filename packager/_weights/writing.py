"""Checkpoints written: streamed to `.safetensors` or `.kellet`, a few MB at a time, whole or not at all."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from packager._archive import (
    ALIGNMENT,
    ArchiveIOError,
    ArchiveWriter,
    Manifest,
    OutputFile,
    StateDictRecord,
    TensorIndex,
    TensorSpec,
    index_name,
    plan_member,
    shape_problem,
    spell_header,
    written_file,
)
from packager._arguments import check_callable, check_flag, check_kind, check_names, check_path
from packager._names import check_module_name, check_resource_name
from packager._quick_dataclasses import dataclass, replace
from packager._tensors import (
    DTYPES,
    FORMATS,
    ITEMSIZE,
    contiguous_strides,
    itemsize_of,
    overlapping,
    stored_as,
)
from packager._texts import counted
from packager.errors import CheckpointError

from .checkpoint import Checkpoint, CheckpointMetadata
from .contents import LeftOut
from .lazy_arrays import LazyArray, LazyStateDict, as_lazy, bare, origins
from .legacy_bounds import FREE_WRITTEN, WRITTEN_PER_BYTE
from .legacy_tensors import PIECE, LegacyStorage, LegacyTensor
from .nested_values import registry_for_nested
from .sign_bits import ShownStorage, shown_by

Progress = Callable[[int, int], None]
_ROOM_LEFT: Final = 1 << 20

Span = tuple[int, int]
"""The first byte of a storage, and one past the last."""


@dataclass(frozen=True, slots=True)
class WrittenCheckpoint:
    """The result of writing: `tied` are keys that share memory, `left_out` what the format cannot store.

    In a `.kellet` tied tensors are stored once; in a `.safetensors` each is there in full.
    """

    path: Path
    format: str
    keys: tuple[str, ...]
    size: int
    tied: tuple[tuple[str, ...], ...]
    left_out: tuple[LeftOut, ...]
    identity: str | None = None


def write_checkpoint(
    path: str | os.PathLike[str],
    state: Mapping[str, Any],
    *,
    metadata: CheckpointMetadata | None = None,
    progress: Progress | None = None,
    fsync: bool = True,
    package: str = "model",
    resource: str = "weights",
) -> WrittenCheckpoint:
    """Write a state dict to a file, piece by piece; its ending names the format: `.safetensors` or `.kellet`.

    Values are those of a Checkpoint, of a migrated state dict, or arrays of NumPy, kellet or PyTorch; each is
    read piece by piece, and memory stays bounded however large they are. `metadata` defaults to that of a
    Checkpoint; `CheckpointMetadata(strings={"format": "pt"})` has the texts of a safetensors file. A
    `.kellet` keeps ties, views, versions of modules and plain data; `left_out` of the result lists what
    safetensors cannot store. The file appears whole or not at all; an old one is replaced in one step.

    In a `.kellet` the state dict is that of `package` and `resource`.

    Raises CheckpointError for another ending, for tensors that the format cannot store (with all of them),
    and if shared memory would make the file far larger than the tensors; ArgumentError unless it is a path;
    ArchiveError for keys that the format cannot store; ArchiveIOError if the file cannot be written.

    >>> import numpy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_checkpoint(f"{folder}/new.safetensors", {"w": numpy.ones((2, 3), "float32")})
    ...     written.keys, written.size
    (('w',), 152)
    """
    check_path("path", path)
    check_names("state", state, "write write_checkpoint(path, state)")
    check_flag("fsync", fsync)
    check_kind("metadata", metadata, (CheckpointMetadata, type(None)), "a CheckpointMetadata, or None")
    if progress is not None:
        check_callable("progress", progress, "progress(done, total)")
    place = check_module_name(package), check_resource_name(resource)
    target = Path(path)
    if metadata is None:
        metadata = state.metadata if isinstance(state, Checkpoint) else CheckpointMetadata()
    if isinstance(state, LazyStateDict):
        metadata = _after_migration(metadata, state)
    if target.suffix not in (".safetensors", ".kellet"):
        raise CheckpointError(f"{target}: which format? Expected a name that ends in .safetensors or .kellet")
    writing = _Writing(target, state, *_sorted_out(state), metadata, progress, fsync)
    return writing.kellet(*place) if target.suffix == ".kellet" else writing.safetensors()


def _after_migration(metadata: CheckpointMetadata, state: LazyStateDict) -> CheckpointMetadata:
    versions = getattr(state, "_metadata", None)
    return replace(
        metadata,
        versions=metadata.versions if versions is None else versions,
        migrations=(*metadata.migrations, *state.ran),
    )


@dataclass(frozen=True, slots=True)
class _Writing:
    """One state dict on its way into a file: tensors as lazy values, what else is in it, and how to write."""

    target: Path
    state: Mapping[str, Any]
    tensors: dict[str, Any]
    others: dict[str, Any]
    metadata: CheckpointMetadata
    progress: Progress | None
    fsync: bool

    def safetensors(self) -> WrittenCheckpoint:
        """Write each tensor in full; what safetensors has no place for is left out."""
        dtypes = {key: DTYPES[value.dtype] for key, value in self.tensors.items()}
        bad = [f"{key!r}: {dtype.name}" for key, dtype in dtypes.items() if dtype.word not in ITEMSIZE]
        bad += [
            f"{key!r}: a name that safetensors keeps for itself" for key in dtypes if key == "__metadata__"
        ]
        if bad:
            raise CheckpointError.listing(
                f"{self.target.name}: safetensors cannot store {counted(len(bad), 'tensor')}. Write a "
                ".kellet, or convert them:",
                bad,
            )
        # Wide elements first, so that every tensor starts at a multiple of its element's size.
        ordered = sorted(self.tensors.items(), key=lambda item: -dtypes[item[0]].itemsize)
        rows = [(key, dtypes[key].word, value.shape, value.nbytes) for key, value in ordered]
        strings = {**self.metadata.strings}
        if strings.get("format") in (None, FORMATS["kellet"]):
            strings["format"] = FORMATS["torch"]  # which every library takes
        header = spell_header(rows, strings)
        total = len(header) + sum(row[3] for row in rows)
        self._require_in_proportion(
            sum(row[3] for row in rows), "write a .kellet, which stores shared bytes once"
        )
        self._require_room(total)
        report = self.progress or (lambda done, total: None)
        with written_file(self.target, fsync=self.fsync) as descriptor:
            file = OutputFile(descriptor, lambda done: report(done, total))
            file.write(header)
            for key, value in ordered:
                for piece in _exact_pieces(key, value):
                    file.write(piece)
            file.flush()
        alone = "safetensors holds only tensors"
        left_out = [LeftOut(key, type(value).__name__, alone) for key, value in self.others.items()]
        if self.metadata.versions:
            count = len(self.metadata.versions)
            left_out.append(
                LeftOut("", f"versions of {counted(count, 'module')}", "safetensors cannot store them")
            )
        return self._written("safetensors", tuple(self.tensors), total, _ties(self.tensors), left_out)

    def kellet(self, package: str, resource: str) -> WrittenCheckpoint:
        """Write an archive with this one state dict; tied tensors are stored once."""
        from packager._environment import Fingerprint
        from packager._state_dicts import EXTRA, encode_extras

        names = {key: DTYPES[value.dtype].spelling for key, value in self.tensors.items()}
        raw = {key: name for key, name in names.items() if stored_as(name)[1]}
        registry = registry_for_nested()
        extras, versions = encode_extras(self.state, self.others, raw, self.metadata.versions, registry)
        if extras.refusals:
            found = (f"{one.path}: {one.reason}" for one in extras.refusals)
            raise CheckpointError.listing(f"{self.target.name}: values that cannot be stored:", found)
        groups = _ties(self.tensors)
        places = {key: (span, number) for number, (keys, span) in enumerate(groups) for key in keys}
        specs = [_spec(key, value, *places[key]) for key, value in self.tensors.items()]
        sizes = [span[1] - span[0] if span else self.tensors[keys[0]].nbytes for keys, span in groups]
        self._require_in_proportion(sum(sizes), "save it again with tensors that are contiguous")
        inside = extras.storages
        specs += [storage.spec(EXTRA, number) for number, storage in enumerate(inside, len(sizes))]
        sizes += [storage.buffer.nbytes for storage in inside]
        plan = plan_member(TensorIndex.of(specs, sizes, self.metadata.strings))
        member = "/".join((*package.split("."), resource + ".safetensors"))
        total = len(plan.header) + sum(sizes)
        self._require_room(total)
        with ArchiveWriter(self.target, fsync=self.fsync, progress=self.progress) as writer:
            storages = (
                self._storage(*groups[number])
                if number < len(groups)
                else (inside[number - len(groups)].buffer,)
                for number in plan.order
            )
            content = itertools.chain([memoryview(plan.header)], *storages)
            writer.add(member, content, kind="tensors", align=ALIGNMENT, size=total)
            writer.add(index_name(member), plan.index, kind="index")
            stored = f".data/extras/{member}" if extras.records else None
            if stored is not None:
                writer.add(stored, extras.records, kind="extras")
            record = StateDictRecord(package, resource, member, stored, versions, self.metadata.migrations)
            identity = writer.seal(Manifest(state_dicts=(record,), environment=asdict(Fingerprint.here())))
        size = os.path.getsize(self.target)
        return self._written("kellet", tuple(self.state), size, groups, [], identity)

    def _storage(self, keys: Sequence[str], span: Span | None) -> Iterator[memoryview]:
        """Give the bytes of one storage."""
        first = self.tensors[keys[0]]
        if span is None:
            yield from _exact_pieces(keys[0], first)
            return
        start, stop = span
        for at in range(start, stop, PIECE):
            yield first.storage.read(at, min(at + PIECE, stop))

    def _written(
        self,
        format: str,
        keys: tuple[str, ...],
        size: int,
        groups: list[tuple[list[str], Span | None]],
        left_out: list[LeftOut],
        identity: str | None = None,
    ) -> WrittenCheckpoint:
        tied = tuple(tuple(group) for group, _ in groups if len(group) > 1)
        lost = (*left_out, *_lost_ties(self.tensors))
        return WrittenCheckpoint(self.target, format, keys, size, tied, lost, identity)

    def _require_in_proportion(self, size: int, mend: str) -> None:
        """Raise CheckpointError where a few bytes that were read would be written very often."""
        read: dict[int, int] = {}
        for value in self.tensors.values():
            for one in origins(value):
                base = shown_by(getattr(one, "storage", one))
                read[id(base)] = base.nbytes
        distinct = sum(read.values())
        most = FREE_WRITTEN + WRITTEN_PER_BYTE * distinct
        if size > most:
            raise CheckpointError(
                f"{self.target.name}: {counted(len(self.tensors), 'tensor')} over {distinct} distinct bytes "
                f"would be written as {size} bytes; the limit is {most}: {WRITTEN_PER_BYTE} for each, and "
                f"{FREE_WRITTEN}. Nothing was written; {mend}, or take fewer keys"
            )

    def _require_room(self, size: int) -> None:
        """Raise ArchiveIOError for a disk that is too small; an old file goes only when the new is whole."""
        folder = os.path.dirname(os.path.realpath(self.target))
        if not os.path.isdir(folder):
            return  # opening the target reports it
        free = shutil.disk_usage(folder).free
        if free < size + _ROOM_LEFT:
            raise ArchiveIOError(
                f"{self.target}: it will have {size} bytes, and {free} are free on the disk; "
                "nothing was written",
                OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.target)),
                str(self.target),
            )


def _sorted_out(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return tensors as lazy values, and everything else."""
    tensors, others, problems = {}, {}, []
    for key in state:
        value = state.lazy(key) if isinstance(state, LazyStateDict) else state[key]
        if not (isinstance(value, LazyArray) or (hasattr(value, "shape") and hasattr(value, "dtype"))):
            others[key] = value
            continue
        lazy = bare(as_lazy(value))
        if lazy.dtype not in DTYPES or not DTYPES[lazy.dtype].in_numpy:
            problems.append(f"{key!r}: dtype {lazy.dtype!r} is not one of numbers")
        elif problem := shape_problem(lazy.shape, 8 * itemsize_of(lazy.dtype)):
            problems.append(f"{key!r}: {problem}")
        tensors[key] = lazy
    if problems:
        raise CheckpointError.listing("tensors that cannot be written:", problems)
    return tensors, others


def _exact_pieces(key: str, value: Any) -> Iterator[memoryview]:
    """Yield the bytes of a value, which must be as many as its header says."""
    missing = value.nbytes
    for piece in value.pieces():
        missing -= len(piece)
        yield piece
    if missing:
        raise CheckpointError(f"{key!r}: its bytes are {-missing} more than its shape and dtype say")


def _spec(key: str, value: Any, span: Span | None, number: int) -> TensorSpec:
    """Return the place of a tensor in its new storage, in elements of the dtype that it is stored in."""
    dtype, width = stored_as(DTYPES[value.dtype].spelling)
    if span is None:
        shape, strides, offset = value.shape, contiguous_strides(value.shape), 0
    else:
        offset = value.offset - span[0] // itemsize_of(value.dtype)
        shape, strides = value.shape, value.strides
    if width:  # rows of bytes, one for each element
        shape, strides = (*shape, width), (*(stride * width for stride in strides), 1)
        offset *= width
    return TensorSpec(key, dtype, shape, strides, offset, number)


def _ties(tensors: Mapping[str, Any]) -> list[tuple[list[str], Span | None]]:
    """Return keys that go into one storage, with the bytes of the old storage that they span.

    Tensors that lie in the same bytes of a file go together; any other is a storage of its own, without a
    span, and is written in C order.
    """
    groups: list[tuple[list[str], Span | None]] = []
    for members in _touching(tensors, lambda storage: storage):
        span = None
        if len(members) > 1:
            places = [tensors[key].span for key in members]
            first = min(start for start, _ in places)
            span = first - first % 16, max(stop for _, stop in places)
        groups.append((members, span))
    return groups


def _touching(tensors: Mapping[str, Any], base: Callable[[LegacyStorage], LegacyStorage]) -> list[list[str]]:
    """Return the keys in groups that lie in the same bytes; `base` says which storage these are of."""
    keys = list(tensors)
    spans: list[Span | None] = [None] * len(keys)
    starts: dict[int, int] = {}  # where each storage begins when all are laid out one behind another
    end = 0
    for number, value in enumerate(tensors.values()):
        if isinstance(value, LegacyTensor) and value.size and not value.big_endian:
            storage = base(value.storage)
            start = starts.setdefault(id(storage), end)
            end = max(end, start + storage.nbytes)
            spans[number] = start + value.span[0], start + value.span[1]
    return [[keys[member] for member in members] for members in overlapping(spans)]


def _lost_ties(tensors: Mapping[str, Any]) -> Iterator[LeftOut]:
    """Yield a LeftOut for each tensor that shows memory with other signs than another tensor does.

    A file of values has no conjugated views: each of these is written with values of its own, and what is
    changed after loading no longer changes the other.
    """
    if not any(isinstance(getattr(one, "storage", None), ShownStorage) for one in tensors.values()):
        return
    for members in _touching(tensors, shown_by):
        for key in members:
            storage = getattr(tensors[key], "storage", None)
            others = (other for other in members if tensors[other].storage is not storage)
            if isinstance(storage, ShownStorage) and (other := next(others, None)) is not None:
                why = f"it shows the same memory {storage.bits}, and is written with values of its own"
                yield LeftOut(key, f"tie with {other!r}", why)
