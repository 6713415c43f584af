"""A file of weights, whatever its format: which one it is, and the state dict inside as a lazy mapping."""

from __future__ import annotations

import heapq
import os
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeAlias

from packager._archive import MAX_TENSORS, ArchiveReader, TensorReader, read_json
from packager._arguments import check_choice, check_flag, check_kind, check_path
from packager._quick_dataclasses import dataclass, field, replace
from packager._remote import Address, address_in, refuse_pin
from packager._state_dicts import StateMapping
from packager._tensors import FORMATS, library_here
from packager._texts import counted, in_lines, listed, shown_place
from packager.errors import ArchiveError, KeyNotStoredError, LegacyFormatError

from .array_files import (
    NPY_START,
    is_npz,
    is_safetensors,
    read_npy,
    read_npy_folder,
    read_npz,
    read_safetensors,
)
from .contents import Contents, LeftOut, state_dict_in
from .dcp_folders import DcpFolder
from .dcp_metadata import METADATA
from .legacy_bounds import MAX_SHARD_FIELDS, MAX_SHARD_INDEX, MAX_SHARDS
from .legacy_tensors import LegacyFile, LegacyStorage, LegacyTensor, is_name_beside, stored_tensor
from .nested_values import in_memory
from .torch_files import read_torch_stream, read_torch_zip
from .torch_packages import TorchPackage, is_torch_package
from .zip_files import ZIP_START, ZipFile

Place: TypeAlias = Path | Address
"""Where a file of weights lies."""


@dataclass(frozen=True)
class CheckpointMetadata:
    """The metadata of a file of weights.

    `versions` are what is known of modules by path ("" is the root), as `_metadata` of a state dict has
    it; None where the format or the file has none. `strings` are texts by name, those of safetensors.
    `migrations` names the migrations that have run.
    """

    versions: Mapping[str, Mapping[str, Any]] | None = None
    strings: Mapping[str, str] = field(default_factory=dict)
    migrations: tuple[str, ...] = ()


class Checkpoint(StateMapping):
    """The state dict in a file: keys in their order, values `LegacyTensor` or, seldom, plain data.

    `checkpoint["w"].numpy()` reads that tensor alone from the file, which stays open until then. It can be
    copied, and saved again by `PackageExporter.save_state_dict` and `write_checkpoint`; what is pickled are
    arrays, and `state_dict()` gives tensors of a library.

    It is a context manager, and `close()` closes the file: then only values in memory can be read.

    `format` names the file's format: "torch", "torch.package", "dcp", "safetensors", "npz", "npy" or
    "kellet", and `shards` the number of files that hold it; `container` says under which names the state
    dict lay in it, "" for the file itself; `left_out` lists what else was there, and why it is not here;
    `others` are the paths of other state dicts, where none was named; `root` is all that the file holds.

    >>> import numpy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.savez(f"{folder}/old.npz", weight=numpy.ones((2, 3)))
    ...     checkpoint = open_checkpoint(f"{folder}/old.npz")
    ...     checkpoint, checkpoint.tensors["weight"].shape
    (<npz 'old.npz': 1 key>, (2, 3))
    """

    def __init__(
        self,
        path: Place,
        format: str,
        contents: Contents,
        metadata: CheckpointMetadata,
        root: Any,
        shards: int = 1,
    ) -> None:
        self.path = path
        self.format = format
        self.shards = shards
        self._files: list[Any] = []
        self.container = contents.container
        self.left_out = contents.left_out
        self.others = contents.others
        self.metadata = metadata
        self.root = root
        self._state = contents.state

    def __getitem__(self, key: str) -> Any:
        try:
            return self._state[key]
        except KeyError:
            raise KeyNotStoredError(f"{self!r} has no key {key!r}", (key,)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._state)

    def __len__(self) -> int:
        return len(self._state)

    def state_dict(self, as_: str | None = None) -> OrderedDict[str, Any]:
        """Read all of it: an OrderedDict of tensors of PyTorch or kellet, or of arrays, with `_metadata`.

        They are new ones, and tied as they are in the file. Without `as_` they are of the library that wrote
        the file, where that is known and installed, else arrays of NumPy.

        Raises ArgumentError for an unknown library, LegacyFormatError for damaged bytes, and for sparse and
        quantised tensors in another library than PyTorch.

        >>> import numpy, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     numpy.savez(f"{folder}/old.npz", weight=numpy.ones(3))
        ...     dict(open_checkpoint(f"{folder}/old.npz").state_dict("kellet"))
        {'weight': tensor([1., 1., 1.], dtype=float64)}
        """
        from packager._codecs import LIBRARIES

        library = as_ or library_here(self.metadata.strings.get("format"))
        if library not in LIBRARIES:
            check_choice("as_", as_, LIBRARIES)
        made = in_memory(self._state, library)
        if self._metadata is not None:
            made._metadata = self._metadata  # type: ignore[attr-defined]  # as PyTorch keeps it
        return made

    def stored(self) -> Mapping[str, Any]:
        return self.state_dict()

    def __kellet_state_dict__(self) -> Mapping[str, Any]:
        """Return what modules of kellet load."""
        return self.state_dict("kellet")

    @property
    def _metadata(self) -> Mapping[str, Mapping[str, Any]] | None:
        """Versions of modules, where load hooks and migrations look for them."""
        return self.metadata.versions

    @property
    def tensors(self) -> dict[str, LegacyTensor]:
        """The values that are tensors."""
        return {key: value for key, value in self._state.items() if isinstance(value, LegacyTensor)}

    def close(self) -> None:
        """Close the file; a value that was not read raises CheckpointError then. Closing twice is fine."""
        for file in self._files:
            file.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.format} {self.path.name!r}: {counted(len(self), 'key')}>"

    def _repr_html_(self) -> str:
        """Return the page that a notebook shows: keys, dtypes and shapes; no tensor is read."""
        from packager._notebook_page import notebook_page

        tensors = ([key, str(one.dtype), str(list(one.shape))] for key, one in self.tensors.items())
        others = ([key, type(self[key]).__name__] for key in self if key not in self.tensors)
        left_out = ([one.path, one.what, one.why] for one in self.left_out)
        said = f"{self.format}, {counted(len(self), 'key')}"
        sections = [("tensors", tensors), ("other values", others), ("not part of the weights", left_out)]
        return notebook_page(self.path.name, said, sections)


def open_checkpoint(
    path: str | os.PathLike[str],
    *,
    unwrap: str | None = None,
    everything: bool = False,
    skip_unknown: bool = False,
) -> Checkpoint:
    """Open a file of weights of any known format; nothing in it is executed, and no tensor is read.

    Formats: PyTorch's `.pt`, `.pth`, `.bin` (zip and stream), `.safetensors`, shards of these with their
    index (`*.index.json`), folders of torch.distributed.checkpoint (DCP), `.npz`, `.npy`, folders of
    `.npy`, kellet archives, and state dicts in archives of torch.package. The format is found in the file,
    not in its name.

    `path` may be an address (`https://`, `s3://`), whose file is read in ranges as tensors are asked for. One
    that ends with a slash means the `model.safetensors.index.json` there.

    If the file holds more than one state dict, `unwrap` names one ("model", "ema.module"; "package/resource"
    in archives); `everything=True` takes all tensors at every depth, under dotted keys. `skip_unknown=True`
    leaves out objects of unknown classes, and arrays that are not numbers, and says so in `left_out`; a
    pickled model gives its parameters and buffers.

    Raises LegacyFormatError for a damaged file and for one with objects or code, ArchiveError for a damaged
    kellet archive, OSError for a file that cannot be read (RemoteError for an address), ArgumentError unless
    it is a path.

    >>> import numpy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.savez(f"{folder}/old.npz", weight=numpy.ones((2, 3)))
    ...     with open_checkpoint(f"{folder}/old.npz") as checkpoint:
    ...         checkpoint.format, checkpoint["weight"].shape, float(checkpoint["weight"].numpy().sum())
    ('npz', (2, 3), 6.0)
    """
    if not isinstance(path, Address):
        check_path("path", path, or_address=True)
    check_kind("unwrap", unwrap, (str, type(None)), "the name of a state dict, or None")
    check_flag("everything", everything)
    check_flag("skip_unknown", skip_unknown)
    wanted = _Wanted(unwrap, everything, skip_unknown, [])
    try:
        place = _place(path)
        found = _open(place, wanted)
        if found.format != "kellet":
            refuse_pin(place, found.format)
    except BaseException:
        for file in wanted.files:
            file.close()
        raise
    found._files = wanted.files
    return found


def _place(path: str | os.PathLike[str]) -> Place:
    """Return a path, or an address, which answers what is asked of a path here."""
    address = address_in(path)
    return Path(path) if address is None else address.weights


def _open(path: Place, wanted: _Wanted) -> Checkpoint:
    if isinstance(path, Path) and path.is_dir():
        return _open_folder(path, wanted)
    if isinstance(path, Address) and path.name.endswith(".kellet"):
        return _open_kellet(path, wanted)
    return _open_shards(path, wanted) if path.name.endswith(".json") else _open_file(path, wanted)


def open_other_weights(file: str | os.PathLike[str], refused: ArchiveError) -> Checkpoint:
    """Open a file that no archive could be read from, as the checkpoint that it may be.

    Where several state dicts lie in it, all its tensors are one. What is no part of weights is left out, and
    listed. `refused` is what the reader of archives said; it is raised for what is called an archive, or is
    laid out as one: a damaged archive is never read as something else.

    Raises `refused`, or ArchiveError with both reasons for what is neither.

    >>> import numpy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.savez(f"{folder}/old.npz", weight=numpy.ones(3))
    ...     list(open_other_weights(f"{folder}/old.npz", ArchiveError("no archive")))
    ['weight']
    """
    name = shown_place(os.fspath(file))
    if name == "-" or name.endswith(".kellet") or os.path.isdir(os.path.join(name, ".data")):
        raise refused
    try:
        try:
            return open_checkpoint(file, skip_unknown=True)
        except LegacyFormatError:
            return open_checkpoint(file, skip_unknown=True, everything=True)
    except LegacyFormatError as error:
        raise ArchiveError(
            in_lines(
                f"{name}: neither an archive nor a file of weights.",
                "  As an archive: " + str(refused),
                "  As weights: " + str(error),
            )
        ) from error


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the caller asked for, and the `files` that were opened for it."""

    unwrap: str | None
    everything: bool
    skip_unknown: bool
    files: list[Any]

    def left_out(self, found: list[LeftOut]) -> Any:
        """Return what notes an array that is not numbers; it raises unless the caller leaves such out."""

        def tell(key: str, error: LegacyFormatError) -> None:
            if not self.skip_unknown:
                raise LegacyFormatError(
                    f"{error}; or leave it out (skip_unknown=True, --skip-unknown)"
                ) from None
            found.append(LeftOut(key, "array", str(error)))

        return tell


def _open_file(path: Place, wanted: _Wanted, one_of: int = 1) -> Checkpoint:
    """Open one file, whose format is found in its first bytes; a folder or an index of shards is none."""
    file = LegacyFile(path, one_of)
    wanted.files.append(file)
    if path.name == METADATA or path.name.endswith(".distcp"):
        raise LegacyFormatError(
            f"{path.name}: a part of a folder of torch.distributed.checkpoint; name the folder: {path.parent}"
        )
    head = bytes(file.read(0, min(8, file.size)))
    if head[:4] == ZIP_START:
        return _open_zip(path, file, wanted)
    if head[:6] == NPY_START:
        return _whole(path, "npy", {path.stem: read_npy(file)}, wanted)
    if is_safetensors(file):
        state, strings = read_safetensors(file)
        return _whole(path, "safetensors", state, wanted, CheckpointMetadata(strings=strings))
    if head[:1] == b"\x80" or bytes(file.read(min(257, file.size), min(262, file.size))) == b"ustar":
        root = read_torch_stream(file, opaque=wanted.skip_unknown)
        return _found(path, "torch", root, wanted)
    raise LegacyFormatError(
        f"{file.name}: found {head!r} at its start; expected a file of torch.save, safetensors or NumPy, "
        "or a kellet archive"
    )


def _found(path: Place, format: str, root: Any, wanted: _Wanted, shards: int = 1) -> Checkpoint:
    """Return the state dict inside of what a pickle held."""
    what = path.name or str(path)
    contents = state_dict_in(root, what, unwrap=wanted.unwrap, everything=wanted.everything)
    return Checkpoint(path, format, contents, CheckpointMetadata(contents.versions, _OF_TORCH), root, shards)


def _whole(
    path: Place,
    format: str,
    state: Mapping[str, Any],
    wanted: _Wanted,
    metadata: CheckpointMetadata | None = None,
    left_out: tuple[LeftOut, ...] = (),
    container: str = "",
    shards: int = 1,
) -> Checkpoint:
    """Return the checkpoint of a file that is a state dict."""
    if wanted.unwrap is not None and not container:
        raise LegacyFormatError(f"{path.name}: there is nothing to unwrap: the file is one state dict")
    contents = Contents(dict(state), container, left_out)
    return Checkpoint(path, format, contents, metadata or CheckpointMetadata(), state, shards)


def _open_zip(path: Place, file: LegacyFile, wanted: _Wanted) -> Checkpoint:
    members = ZipFile(file)
    if ".data/manifest.msgpack" in members:
        return _open_kellet(path, wanted)
    if is_npz(members):
        left_out: list[LeftOut] = []
        state = read_npz(file, members, wanted.left_out(left_out))
        if not state:
            raise LegacyFormatError(
                f"{path.name}: found no array of numbers: each of its {len(members)} entries was left out, "
                f"the first as {left_out[0].why}; name another file"
            )
        return _whole(path, "npz", state, wanted, left_out=tuple(left_out))
    if is_torch_package(members):
        return _open_package(path, TorchPackage(file, members), wanted)
    root = read_torch_zip(file, members, opaque=wanted.skip_unknown)
    return _found(path, "torch", root, wanted)


def _open_kellet(path: Place, wanted: _Wanted) -> Checkpoint:
    """Open a state dict of an archive, checked against the archive's digests as it is read."""
    from packager._state_dicts import open_state_dict  # for archives alone

    given: Any = path  # or an address
    reader = ArchiveReader(given, mmap=False)
    wanted.files.append(reader)
    records = {f"{one.package}/{one.resource}": one for one in reader.manifest.state_dicts}
    name = next(iter(records)) if wanted.unwrap is None and len(records) == 1 else wanted.unwrap
    if name is None or name not in records:
        if not records:
            raise LegacyFormatError(f"{path}: the archive holds no state dict; load its object instead")
        there = listed([*records])
        raise LegacyFormatError(
            f"{path}: which state dict? The archive holds {there}. Name one: unwrap=, --unwrap"
        ).holding(records)
    record = records[name]
    tensors = TensorReader(reader, record.entry)
    extras = None if record.extras is None else reader.read(record.extras)
    view = open_state_dict(tensors, extras, what=f"state dict {name}")
    storages: dict[tuple[int, str], LegacyStorage] = {}
    state = {
        key: stored_tensor(tensors, key, view.raw_dtypes.get(key), storages) if key in tensors else view[key]
        for key in view
    }
    left_out = tuple(
        LeftOut(other, "state dict", "another one of the archive") for other in records if other != name
    )
    metadata = CheckpointMetadata(view._metadata, _format_in(tensors.metadata), record.migrations)
    return _whole(path, "kellet", state, wanted, metadata, left_out, name)


_OF_TORCH: Final = {"format": FORMATS["torch"]}


def _format_in(metadata: Mapping[str, str]) -> Mapping[str, str]:
    """Return what says of which library tensors are, where metadata says it."""
    return {key: value for key, value in metadata.items() if key == "format"}


def _open_package(path: Place, package: TorchPackage, wanted: _Wanted) -> Checkpoint:
    name, root, left_out = package.state_dict(wanted.unwrap, opaque=wanted.skip_unknown)
    contents = state_dict_in(root, f"{path.name}: {name}", unwrap=None, everything=wanted.everything)
    container = f"{name}:{contents.container}" if contents.container else name
    contents = replace(contents, container=container, left_out=(*contents.left_out, *left_out))
    return Checkpoint(path, "torch.package", contents, CheckpointMetadata(contents.versions, _OF_TORCH), root)


def _open_folder(folder: Path, wanted: _Wanted) -> Checkpoint:
    if (folder / ".data" / "manifest.msgpack").exists():
        return _open_kellet(folder, wanted)
    if os.path.lexists(folder / METADATA):
        found = DcpFolder(folder, opaque=wanted.skip_unknown)
        wanted.files.append(found)
        return _found(folder, "dcp", found.root, wanted, found.files)
    indices = sorted(folder.glob("*.index.json"))
    if len(indices) == 1:
        return _open_shards(indices[0], wanted)
    left_out: list[LeftOut] = []
    state = read_npy_folder(folder, wanted.left_out(left_out))
    if not state:
        raise LegacyFormatError(
            f"{folder}: found no .npy files and no single *.index.json; name the file that holds the "
            f"weights{_weights_in(folder)}"
        )
    return _whole(folder, "npy", state, wanted, left_out=tuple(left_out))


def _weights_in(folder: Path) -> str:
    """Return a few files of a folder that may hold weights, as trainers write them beside other things."""
    names = [path.name for path in folder.iterdir()]
    saved = sorted(name for name in names if os.path.isfile(folder / name / METADATA))
    indices = sorted(name for name in names if name.endswith(".index.json"))
    files = (name for name in names if os.path.splitext(name)[1] in _ENDINGS_OF_WEIGHTS)
    whole = (name for name in files if not (indices and _SHARD.search(name)))
    found = [*indices, *saved[:_MOST_NAMED], *heapq.nsmallest(_MOST_NAMED, whole)][:_MOST_NAMED]
    return f": {', '.join(found)}" if found else ""


_ENDINGS_OF_WEIGHTS: Final = frozenset({".safetensors", ".kellet", ".bin", ".pt", ".pth", ".ckpt", ".npz"})
_MOST_NAMED: Final = 5
_SHARD: Final = re.compile(r"-\d+-of-\d+\.")


def _open_shards(index: Place, wanted: _Wanted) -> Checkpoint:
    """Read every key from the file that the index names for it."""
    places = _weight_map(index)
    # Never a folder or another index, which could lead back here.
    each = _Wanted(None, False, wanted.skip_unknown, wanted.files)
    names = dict.fromkeys(places.values())
    shards = {name: _open_file(index.parent / name, each, len(names)) for name in names}
    missing = [key for key, name in places.items() if key not in shards[name]]
    if missing:
        raise LegacyFormatError.listing(
            f"{index.name}: {counted(len(missing), 'key is', 'keys are')} not where the index says:",
            (f"{key!r}: not in {places[key]}" for key in missing),
        )
    left_out = [
        LeftOut(f"{name}: {key}", "tensor", "the index does not list it there")
        for name, shard in shards.items()
        for key in shard
        if places.get(key) != name
    ]
    left_out += [part for shard in shards.values() for part in shard.left_out]
    first = next(iter(shards.values()))
    metadata = CheckpointMetadata(_joined_versions(list(shards.values())), first.metadata.strings)
    state = {key: shards[name][key] for key, name in places.items()}
    return _whole(index, first.format, state, wanted, metadata, tuple(left_out), shards=len(shards))


def _joined_versions(shards: list[Checkpoint]) -> dict[str, Mapping[str, Any]] | None:
    known = [shard.metadata.versions for shard in shards if shard.metadata.versions is not None]
    return {path: facts for versions in known for path, facts in versions.items()} if known else None


def _weight_map(index: Place) -> dict[str, str]:
    """Return which file each key is in. Files lie beside the index, and nowhere else."""
    with LegacyFile(index) as file:
        if file.size > MAX_SHARD_INDEX:
            raise LegacyFormatError(
                f"{index.name}: {file.size} bytes; an index has at most {MAX_SHARD_INDEX}; name "
                "the shards in several"
            )
        text = bytes(file.read(0, file.size))
    try:
        places = _read_places(text, index.name)
    except ArchiveError as error:
        raise LegacyFormatError(f"not an index of shards: {error}") from None
    if not places:
        raise LegacyFormatError(
            f"{index.name}: found no weight_map; expected the index of a sharded checkpoint"
        )
    names = dict.fromkeys(places.values())
    if len(names) > MAX_SHARDS:
        raise LegacyFormatError(
            f"{index.name}: it names {len(names)} files, each of which would be held open; expected at most "
            f"{MAX_SHARDS}; join some of them"
        )
    for name in names:
        if not is_name_beside(name) or name.endswith(".json"):
            raise LegacyFormatError(
                f"{index.name}: shard {name[:200]!r} is not the name of a file beside the index"
            )
    return places


def _read_places(text: bytes, name: str) -> dict[str, str] | None:
    """Return the map of an index, or None where it has none."""
    most = 8 * MAX_SHARD_FIELDS, 2 * (MAX_TENSORS + MAX_SHARD_FIELDS), MAX_TENSORS + MAX_SHARD_FIELDS
    found = read_json(text, what=name, most=most)
    if type(found) is dict and len(found) - ("weight_map" in found) > MAX_SHARD_FIELDS:
        there = f"{name}: {len(found) - 1} entries and more"
        raise ArchiveError(f"{there}; expected at most {MAX_SHARD_FIELDS} beside the weight_map")
    places = found.get("weight_map") if type(found) is dict else None
    if type(places) is not dict or {*map(type, places.values())} - {str}:
        return None
    return places
