"""Folders of torch.distributed.checkpoint, written byte by byte and without PyTorch: honest ones, and others.

`metadata_of` spells what PyTorch 2.13 pickles; a test changes a record before it is spelled.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODULE = "torch.distributed.checkpoint"
CLASSES = {
    **{
        name: f"{MODULE}.metadata {name}"
        for name in "Metadata TensorStorageMetadata BytesStorageMetadata TensorProperties "
        "ChunkStorageMetadata MetadataIndex StorageMeta".split()
    },
    "_StorageInfo": f"{MODULE}.filesystem _StorageInfo",
}


@dataclass(frozen=True)
class Raw:
    """Operations of a pickle as they are."""

    data: bytes


@dataclass(eq=False)
class Record:
    """An object made by NEWOBJ, and given a state by BUILD where it has one."""

    name: str
    state: Any = None


@dataclass(frozen=True, eq=False)
class Call:
    """What a name makes of arguments."""

    name: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Persistent:
    """What lies under a persistent id."""

    pid: Any


def named(name: str) -> bytes:
    module, _, attribute = name.partition(" ")
    return f"c{module}\n{attribute}\n".encode()


def spelled(value: Any) -> bytes:
    """The operations that make a value."""
    match value:
        case Raw():
            return value.data
        case Record():
            state = b"" if value.state is None else spelled(value.state) + b"b"
            return named(CLASSES.get(value.name, value.name)) + b")\x81" + state
        case Call():
            return named(value.name) + spelled(value.arguments) + b"R"
        case Persistent():
            return spelled(value.pid) + b"Q"
        case None | True | False:
            return {None: b"N", True: b"\x88", False: b"\x89"}[value]
        case int():
            length = value.bit_length() // 8 + 1
            return b"\x8a" + bytes([length]) + value.to_bytes(length, "little", signed=True)
        case float():
            return b"G" + struct.pack(">d", value)
        case str():
            return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
        case dict():
            return b"}(" + b"".join(spelled(key) + spelled(part) for key, part in value.items()) + b"u"
        case list():
            return b"](" + b"".join(map(spelled, value)) + b"e"
        case tuple():
            return b"(" + b"".join(map(spelled, value)) + b"t"
    raise TypeError(value)


def pickled(value: Any) -> bytes:
    return b"\x80\x02" + spelled(value) + b"."


def size(*extents: int) -> Call:
    return Call("torch Size", (tuple(extents),))


def tensor(shape: tuple[int, ...], chunks: Iterable[tuple[Any, Any]], dtype: str = "float32") -> Record:
    """The metadata of a tensor: the offsets and sizes of each chunk."""
    layout = Call("torch.serialization _get_layout", ("torch.strided",))
    contiguous = Call(f"{MODULE}.metadata _MEM_FORMAT_ENCODING", (0,))
    properties = Record("TensorProperties", (Raw(named(f"torch {dtype}")), layout, False, contiguous, False))
    boxes = [
        Record("ChunkStorageMetadata", {"offsets": size(*offsets), "sizes": size(*sizes)})
        for offsets, sizes in chunks
    ]
    return Record("TensorStorageMetadata", {"properties": properties, "size": size(*shape), "chunks": boxes})


def index(key: str, offsets: tuple[int, ...] | None = None) -> Record:
    state: dict[str, Any] = {"fqn": key, "index": 0}
    return Record("MetadataIndex", state if offsets is None else {**state, "offset": size(*offsets)})


def place(file: str, offset: int, length: int, **more: Any) -> Record:
    return Record("_StorageInfo", {"relative_path": file, "offset": offset, "length": length, **more})


def metadata_of(values: Mapping[str, Record], places: Mapping[Record, Record], paths: Any = None) -> Record:
    return Record(
        "Metadata",
        {
            "state_dict_metadata": dict(values),
            "planner_data": paths,
            "storage_data": dict(places),
            "storage_meta": Record(
                "StorageMeta",
                {"checkpoint_id": Call("pathlib PosixPath", ("/", "run")), "save_id": "x", "modules": []},
            ),
            "version": "1.0.0",
        },
    )


def saved(value: Any, storages: Iterable[bytes] = ()) -> bytes:
    """A file of torch.save."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("archive/data.pkl"), pickled(value))
        for number, data in enumerate(storages):
            archive.writestr(zipfile.ZipInfo(f"archive/data/{number}"), data)
    return file.getvalue()


def piece(shape: tuple[int, ...], values: Iterable[float]) -> bytes:
    """A file of torch.save with one tensor of float32."""
    data = struct.pack(f"<{math.prod(shape)}f", *values)
    storage = Persistent(("storage", Raw(named("torch FloatStorage")), "0", "cpu", math.prod(shape)))
    strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    hooks = Call("collections OrderedDict")
    return saved(Call("torch._utils _rebuild_tensor_v2", (storage, 0, shape, strides, False, hooks)), [data])


@dataclass
class Folder:
    """An honest folder, to be changed: `w` of 4 x 6 in four chunks, `b` of 3 in one, and the value `lr`.

    `files` are the bytes of each, `values`, `places` and `paths` what its metadata say.
    """

    files: dict[str, bytes]
    values: dict[str, Record]
    places: dict[tuple[str, Any], Record]
    paths: Any

    @classmethod
    def honest(cls) -> Folder:
        chunks = [((row, column), (2, 3)) for row in (0, 2) for column in (0, 3)]
        made = cls(
            {"__0_0.distcp": b"", "__1_0.distcp": b""},
            {
                "net.w": tensor((4, 6), chunks),
                "net.b": tensor((3,), [((0,), (3,))]),
                "lr": Record("BytesStorageMetadata"),
            },
            {},
            {"net.w": ("net", "w"), "net.b": ("net", "b"), "lr": ("groups", 0, "lr")},
        )
        for number, ((row, column), sizes) in enumerate(chunks):
            inside = [6 * (row + r) + column + c for r in range(2) for c in range(3)]
            made.add(f"__{number % 2}_0.distcp", "net.w", (row, column), piece(sizes, inside))
        made.add("__0_0.distcp", "net.b", (0,), piece((3,), [7, 8, 9]))
        made.add("__1_0.distcp", "lr", None, saved(0.5))
        return made

    def add(self, file: str, key: str, offsets: Any, data: bytes) -> None:
        self.places[key, offsets] = place(file, len(self.files[file]), len(data))
        self.files[file] += data

    def metadata(self) -> bytes:
        places = {index(*where): info for where, info in self.places.items()}
        return pickled(metadata_of(self.values, places, self.paths))

    def write(self, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        for name, data in {**self.files, ".metadata": self.metadata()}.items():
            (folder / name).write_bytes(data)
        return folder
