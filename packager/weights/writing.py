"""Checkpoints written: streamed to `.safetensors` or `.kellet`, a few MB at a time, whole or not at all."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from packager.archive import (
    ALIGNMENT,
    ArchiveIOError,
    ArchiveWriter,
    BatchedFile,
    Manifest,
    PathTarget,
    StateDictRecord,
    TensorSpec,
    index_name,
    plan_member,
    spell_header,
)
from packager.errors import MigrationError
from packager.tensors import DTYPES, ITEMSIZE, contiguous_strides, itemsize_of, stored_as

from .checkpoint import Checkpoint, CheckpointMetadata
from .contents import LeftOut
from .lazy_arrays import LazyArray, LazyStateDict, as_lazy, bare
from .tensors import PIECE
from .ties import Span, lost_ties, ties

PACKAGE: Final = "model"
RESOURCE: Final = "weights"

Progress = Callable[[int, int], None]
_ROOM_LEFT: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class WrittenCheckpoint:
    """What was written: `tied` are keys that share memory, `left_out` what the format has no place for.

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
    package: str = PACKAGE,
    resource: str = RESOURCE,
) -> WrittenCheckpoint:
    """Stream a state dict to a file; its ending says which: `.safetensors` or `.kellet`.

    Values are those of a Checkpoint, of a migrated state dict, or arrays of NumPy, kellet or PyTorch; each is
    read piece by piece, and memory stays bounded however large they are. `metadata` defaults to that of
    a Checkpoint. A `.kellet` keeps ties, views, versions of modules and plain data; what safetensors has no
    place for is in `left_out`. The file appears whole or not at all; an old one is replaced in one step.

    In a `.kellet` the state dict is that of `package` and `resource`.

    Raises MigrationError for another ending and for tensors that the format cannot hold, all together;
    ArchiveError for keys that it cannot hold; ArchiveIOError where the file cannot be written.

    >>> import numpy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_checkpoint(f"{folder}/new.safetensors", {"w": numpy.ones((2, 3), "float32")})
    ...     written.keys, written.size
    (('w',), 152)
    """
    target = Path(path)
    if metadata is None:
        metadata = state.metadata if isinstance(state, Checkpoint) else CheckpointMetadata()
    if isinstance(state, LazyStateDict):
        metadata = _after_migration(metadata, state)
    tensors, others = _sorted_out(state)
    if target.suffix == ".safetensors":
        return _write_safetensors(target, tensors, others, metadata, progress, fsync)
    if target.suffix == ".kellet":
        places = (package, resource)
        return _write_kellet(target, state, tensors, others, metadata, progress, fsync, places)
    raise MigrationError(f"{target}: which format? Expected a name that ends in .safetensors or .kellet")


def _after_migration(metadata: CheckpointMetadata, state: LazyStateDict) -> CheckpointMetadata:
    versions = getattr(state, "_metadata", None)
    return replace(
        metadata,
        versions=metadata.versions if versions is None else versions,
        migrations=(*metadata.migrations, *state.ran),
    )


def _sorted_out(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors as lazy values, and everything else."""
    tensors, others, problems = {}, {}, []
    for key in state:
        value = state.lazy(key) if isinstance(state, LazyStateDict) else state[key]
        if not (isinstance(value, LazyArray) or (hasattr(value, "shape") and hasattr(value, "dtype"))):
            others[key] = value
            continue
        lazy = bare(as_lazy(value))
        if lazy.dtype not in DTYPES or not DTYPES[lazy.dtype].in_numpy:
            problems.append(f"{key!r}: dtype {lazy.dtype!r} is not one of numbers")
        tensors[key] = lazy
    if problems:
        raise MigrationError("tensors that cannot be written:\n    " + "\n    ".join(problems[:50]))
    return tensors, others


# --- safetensors ---


def _write_safetensors(
    target: Path,
    tensors: Mapping[str, Any],
    others: Mapping[str, Any],
    metadata: CheckpointMetadata,
    progress: Progress | None,
    fsync: bool,
) -> WrittenCheckpoint:
    dtypes = {key: DTYPES[value.dtype] for key, value in tensors.items()}
    bad = [f"{key!r}: {dtype.name}" for key, dtype in dtypes.items() if dtype.word not in ITEMSIZE]
    bad += [f"{key!r}: a name that safetensors keeps for itself" for key in tensors if key == "__metadata__"]
    if bad:
        raise MigrationError(
            f"{target.name}: safetensors has no place for {len(bad)} tensors; write a .kellet, or "
            "convert them:\n    " + "\n    ".join(bad[:50])
        )
    # Wide elements first, so that every tensor starts at a multiple of its element's size.
    ordered = sorted(tensors.items(), key=lambda item: -dtypes[item[0]].itemsize)
    rows = [(key, dtypes[key].word, value.shape, value.nbytes) for key, value in ordered]
    header = spell_header(rows, {"format": "pt", **metadata.strings})
    total = len(header) + sum(row[3] for row in rows)
    _require_room(target, total)
    report = progress or (lambda done, total: None)
    with PathTarget(target, fsync=fsync).open() as descriptor:
        file = BatchedFile(descriptor, lambda done: report(done, total))
        file.write(header)
        for key, value in ordered:
            for piece in _exact_pieces(key, value):
                file.write(piece)
        file.flush()
    left_out = [
        LeftOut(key, type(value).__name__, "safetensors holds tensors alone") for key, value in others.items()
    ]
    if metadata.versions:
        left_out.append(
            LeftOut("", f"versions of {len(metadata.versions)} modules", "safetensors has no place")
        )
    left_out += lost_ties(tensors)
    groups = ties(tensors)
    tied = tuple(tuple(group) for group, _ in groups if len(group) > 1)
    return WrittenCheckpoint(target, "safetensors", tuple(tensors), total, tied, tuple(left_out))


def _exact_pieces(key: str, value: Any) -> Iterator[memoryview]:
    """The bytes of a value, which must be as many as its header says."""
    missing = value.nbytes
    for piece in value.pieces():
        missing -= len(piece)
        yield piece
    if missing:
        raise MigrationError(f"{key!r}: its bytes are {-missing} more than its shape and dtype say")


# --- kellet ---


def _write_kellet(
    target: Path,
    state: Mapping[str, Any],
    tensors: Mapping[str, Any],
    others: dict[str, Any],
    metadata: CheckpointMetadata,
    progress: Progress | None,
    fsync: bool,
    place: tuple[str, str],
) -> WrittenCheckpoint:
    from dataclasses import asdict

    from packager.environment import Fingerprint
    from packager.objects import encode_extras

    groups = ties(tensors)
    specs: dict[str, TensorSpec] = {}
    sizes: list[int] = []
    streams: list[Callable[[], Iterator[memoryview]]] = []
    for number, (keys, span) in enumerate(groups):
        size, stream = _storage_of(tensors, keys, span)
        sizes.append(size)
        streams.append(stream)
        for key in keys:
            specs[key] = _spec(key, tensors[key], span, number)
    names = {key: DTYPES[value.dtype].spelling for key, value in tensors.items()}
    raw = {key: name for key, name in names.items() if stored_as(name)[1]}
    extras, versions = encode_extras(state, others, raw, metadata.versions)
    if extras.refusals:
        lines = [f"{found.path}: {found.reason}" for found in extras.refusals[:50]]
        raise MigrationError(f"{target.name}: values that cannot be stored:\n    " + "\n    ".join(lines))
    plan = plan_member([specs[key] for key in tensors], sizes, dict(metadata.strings))
    member = "/".join((*place[0].split("."), place[1] + ".safetensors"))
    total = len(plan.header) + sum(sizes)
    _require_room(target, total)
    with ArchiveWriter(target, fsync=fsync, progress=progress) as writer:
        content = itertools.chain([memoryview(plan.header)], *(streams[number]() for number in plan.order))
        writer.add(member, content, kind="tensors", align=ALIGNMENT, size=total)
        writer.add(index_name(member), plan.index, kind="index")
        stored = f".data/extras/{member}" if extras.records else None
        if stored is not None:
            writer.add(stored, extras.records, kind="extras")
        record = StateDictRecord(*place, member, stored, versions, metadata.migrations)
        environment = asdict(Fingerprint.here())
        identity = writer.seal(Manifest(state_dicts=(record,), environment=environment))
    tied = tuple(tuple(keys) for keys, _ in groups if len(keys) > 1)
    lost = tuple(lost_ties(tensors))
    return WrittenCheckpoint(target, "kellet", tuple(state), os.path.getsize(target), tied, lost, identity)


def _storage_of(
    tensors: Mapping[str, Any], keys: Sequence[str], span: Span | None
) -> tuple[int, Callable[[], Iterator[memoryview]]]:
    """How many bytes a storage has, and what gives them."""
    first = tensors[keys[0]]
    if span is None:
        return first.nbytes, lambda: _exact_pieces(keys[0], first)
    start, stop = span
    return stop - start, lambda: (
        first.storage.read(at, min(at + PIECE, stop)) for at in range(start, stop, PIECE)
    )


def _spec(key: str, value: Any, span: Span | None, number: int) -> TensorSpec:
    """Where a tensor lies in its new storage, in elements of the dtype that it is stored in."""
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


def _require_room(target: Path, size: int) -> None:
    """Say beforehand that a disk is too small; an old file goes only when the new one is whole."""
    folder = os.path.dirname(os.path.realpath(target))
    if not os.path.isdir(folder):
        return  # whoever opens the target says so
    free = shutil.disk_usage(folder).free
    if free < size + _ROOM_LEFT:
        raise ArchiveIOError(
            f"{target}: it will have {size} bytes, and the disk has room for {free}; nothing was written",
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)),
            str(target),
        )
