"""PyTorch's `.pt`, `.pth` and `.bin`: the zip format of today, and the stream that came before it.

Neither needs PyTorch. Storages are read from the file when their tensors are asked for.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from packager._byte_ranges import ByteRanges
from packager._tensors import itemsize_of
from packager.errors import LegacyFormatError

from .legacy_tensors import LegacyFile, LegacyStorage
from .pickle_machine import CheckpointPickleError, Named
from .pickle_opcodes import read_pickle
from .torch_names import storage_dtype, torch_names
from .zip_files import ZIP_START, ZipFile

_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_BUFFER: Final = 1 << 16
_ORDERS: Final = {b"little": False, b"big": True}
_LONGEST_ORDER: Final = 10  # bytes, spaces with it


def read_torch_file(path: str | os.PathLike[str], *, opaque: bool = False) -> Any:
    """Read the object of a file that `torch.save` wrote, with LegacyTensor in place of tensors.

    The file stays open for as long as one of these is there. With `opaque=True` objects of unknown
    classes are Opaque; see `packager._weights.pickle_opcodes`.

    Raises LegacyFormatError for a damaged file, and CheckpointPickleError for one that holds more than data.

    >>> import pickle, tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as folder:  # what torch.save makes of a dict without tensors
    ...     with zipfile.ZipFile(f"{folder}/old.pt", "w") as archive:
    ...         archive.writestr("old/data.pkl", pickle.dumps({"epoch": 3}, protocol=2))
    ...     read_torch_file(f"{folder}/old.pt")
    {'epoch': 3}
    """
    file = LegacyFile(path)
    if bytes(file.read(0, min(4, file.size))) == ZIP_START:
        return read_torch_zip(file, ZipFile(file), opaque=opaque)
    return read_torch_stream(file, opaque=opaque)


def read_torch_zip(file: LegacyFile, members: ZipFile, *, opaque: bool) -> Any:
    """Read the object of a file in the zip format. Raises LegacyFormatError for another zip file."""
    pickles = [member for member in members if member.rpartition("/")[2] == "data.pkl"]
    if len(pickles) != 1 or any(f"{pickles[0].rpartition('/')[0]}/constants.pkl" == name for name in members):
        raise LegacyFormatError(f"{file.name}: {_other_zip(members, len(pickles))}")
    root = pickles[0].rpartition("/")[0]
    named = f"{root}/byteorder"
    order = bytes(members.head(named, _LONGEST_ORDER)).strip() if named in members else b"little"
    if order not in _ORDERS:
        raise LegacyFormatError(f"{file.name}: byte order {order!r}; expected little or big")
    places: dict[str, LegacyStorage] = {}

    def persistent(pid: Any) -> LegacyStorage:
        kind, storage, key, _, count = pid
        if kind != "storage" or type(key) is not str:
            raise ValueError("a persistent id that is not that of a storage")
        return zip_storage(members, places, f"{root}/data/{key}", key, storage_dtype(storage), count)

    return zip_pickle(file, members, pickles[0], torch_names(_ORDERS[order]), persistent, opaque=opaque)


def zip_pickle(
    file: LegacyFile,
    members: ZipFile,
    name: str,
    names: Any,
    persistent: Callable[[Any], Any],
    *,
    opaque: bool,
) -> Any:
    """Read the object of a pickle in a zip file.

    Raises LegacyFormatError where its CRC-32 is wrong, and for a deflated one that unpacks to far more than
    the file has.
    """
    member = members[name]
    members.spend(name)
    stream = io.BufferedReader(ByteRanges(partial(members.read, name), member.file_size), _BUFFER)
    value = read_pickle(
        stream,
        names,
        persistent,
        f"{file.name}: {name}",
        opaque=opaque,
        size=member.file_size,
        one_of=file.one_of,
    )
    # torch.save may be told to write no CRC-32 (torch.serialization.set_crc32_options): then it is 0.
    if member.CRC and not members.check(name):
        raise LegacyFormatError(f"{file.name}: entry {name!r} does not have its CRC-32; the file is damaged")
    return value


def zip_storage(
    members: ZipFile, places: dict[str, LegacyStorage], name: str, key: str, dtype: str, count: object
) -> LegacyStorage:
    """Return the storage in an entry. Tensors of different dtypes over one storage share it.

    Raises KeyError where there is no such entry, ValueError where its size differs.
    """
    if name not in members:
        raise KeyError(f"storage {key[:80]!r} is not in the file")
    size = members[name].file_size
    if type(count) is not int or size != count * itemsize_of(dtype):
        raise ValueError(
            f"storage {key!r} has {size} bytes in the file, and the pickle says {count} of {dtype}"
        )
    whole = places.get(f"{key} {dtype}")
    if whole is None:
        whole = LegacyStorage(key, dtype, size, partial(members.read, name))
        places[f"{key} {dtype}"] = whole
    return whole


def _other_zip(members: ZipFile, pickles: int) -> str:
    """Return what a zip file without just one data.pkl is."""
    names = list(members)
    if any(name.rpartition("/")[2] == "constants.pkl" for name in names):
        return (
            "an archive of TorchScript, whose tensors belong to compiled code; "
            "load it with torch.jit.load and save its state_dict()"
        )
    if any(name.endswith(("/.data/extern_modules", "/.data/python_version")) for name in names):
        return "an archive of torch.package; open it with open_torch_package()"
    if any(name.startswith(".data/manifest") for name in names):
        return "a kellet archive; open it with PackageImporter"
    return f"{pickles} entries called data.pkl; a file of torch.save has one"


def read_torch_stream(file: LegacyFile, *, opaque: bool) -> Any:
    """Read five pickles one after another, then for each storage its number of elements and its bytes.

    Raises LegacyFormatError for a damaged file, CheckpointPickleError for more than data.
    """
    _refuse_tar(file)
    stream = io.BufferedReader(ByteRanges(file.read, file.size), _BUFFER)
    _require_magic(file, stream)
    protocol, system = _part(file, stream, "protocol"), _part(file, stream, "system")
    if protocol != _PROTOCOL or type(system) is not dict:
        raise LegacyFormatError(f"{file.name}: a file of torch.save in a protocol that is not known")
    little = system.get("little_endian", True)
    if type(little) is not bool:
        raise LegacyFormatError(f"{file.name}: a file of torch.save without a byte order")
    known: dict[str, tuple[str, int]] = {}  # of each storage its dtype and the number of its elements
    parts: dict[tuple[str, int, int], LegacyStorage] = {}
    starts: dict[str, int] = {}  # found behind the pickles, before any storage is handed out

    def persistent(pid: Any) -> LegacyStorage | Named:
        if type(pid) is tuple and len(pid) == 4 and pid[0] == "module" and isinstance(pid[1], Named):
            return pid[1]  # a class, beside it the name and text of its source file: a name like any other
        kind, storage, key, _, count, view = pid
        if kind != "storage" or type(count) is not int or count < 0 or type(key) is not str:
            raise ValueError("a persistent id that is not that of a storage")
        dtype = storage_dtype(storage)
        if known.setdefault(key, (dtype, count)) != (dtype, count):
            raise ValueError(f"storage {key[:80]!r} is described in two ways")
        first, count = _viewed(key, count, view)
        size = itemsize_of(dtype)
        if (key, first, count) not in parts:

            def read(low: int, high: int, at: int = first * size) -> memoryview:
                return file.read(starts[key] + at + low, starts[key] + at + high)

            parts[key, first, count] = LegacyStorage(key, dtype, count * size, read)
        return parts[key, first, count]

    root = read_pickle(
        stream,
        torch_names(not little),
        persistent,
        f"{file.name}: object",
        opaque=opaque,
        size=file.size - stream.tell(),
        one_of=file.one_of,
    )
    keys = _part(file, stream, "storage keys")
    starts.update(_found_storages(file, stream.tell(), keys, known, "little" if little else "big"))
    return root


def _require_magic(file: LegacyFile, stream: io.BufferedReader[ByteRanges]) -> None:
    """Raise LegacyFormatError unless the first pickle is the number that files of torch.save start with."""
    names: tuple[str, ...] = ()
    try:
        if _part(file, stream, "magic number") == _MAGIC:
            return
    except CheckpointPickleError as error:
        names = error.problems
        if not names:  # damaged
            raise
    raise CheckpointPickleError.listing(
        f"{file.name}: a pickle that torch.save did not write" + (", with these names:" if names else ""),
        names,
        "If you trust it, load it with the program that wrote it; then save the model with packager.save(), "
        "or its arrays with numpy.savez()",
    )


def _part(file: LegacyFile, stream: io.BufferedReader[ByteRanges], what: str) -> Any:
    rest = file.size - stream.tell()
    return read_pickle(stream, {}, None, f"{file.name}: {what}", size=rest, one_of=file.one_of)


def _refuse_tar(file: LegacyFile) -> None:
    """Say so where a file is in the format before both: a tar file, with pickles of another kind inside."""
    if file.size >= 512 and bytes(file.read(257, 262)) == b"ustar":
        raise LegacyFormatError(
            f"{file.name}: a tar file; PyTorch before 0.1.10 saved such ones, with pickles that are "
            "programs. If it is one that you trust, load it with the PyTorch that wrote it, and save it again"
        )


def _viewed(key: str, count: int, view: Any) -> tuple[int, int]:
    """Return the run of elements that a tensor's storage is: all, or what old files call a view of it."""
    if view is None:
        return 0, count
    _, first, length = view
    if type(first) is not int or type(length) is not int or not 0 <= first <= first + length <= count:
        raise ValueError(f"a view of storage {key[:80]!r} reaches behind it")
    return first, length


def _found_storages(
    file: LegacyFile, at: int, keys: Any, known: Mapping[str, tuple[str, int]], order: Any
) -> Iterator[tuple[str, int]]:
    """Yield each storage with the place of its bytes: they lie behind one another, each after its length."""
    if type(keys) is not list or not all(type(key) is str for key in keys):
        raise LegacyFormatError(f"{file.name}: the list of storages is not a list of names")
    if len(set(keys)) != len(keys) or not set(known) <= set(keys):
        raise LegacyFormatError(f"{file.name}: the list of storages is not the one that the tensors need")
    unknown = [key for key in keys if key not in known]
    if unknown:  # their element size is nowhere else
        raise LegacyFormatError(
            f"{file.name}: storage {unknown[0][:80]!r} belongs to no readable tensor, so the storages after "
            "it cannot be found"
        )
    for key in keys:
        dtype, wanted = known[key]
        start = at + 8
        if start > file.size:
            raise LegacyFormatError(f"{file.name}, byte {at}: the file ends before storage {key[:80]!r}")
        count = int.from_bytes(file.read(at, start), order, signed=True)
        end = start + wanted * itemsize_of(dtype)
        if count != wanted:
            raise LegacyFormatError(
                f"{file.name}, byte {at}: storage {key[:80]!r} has {count} elements, expected {wanted}"
            )
        if end > file.size:
            raise LegacyFormatError(
                f"{file.name}, byte {at}: the file is cut short: storage {key[:80]!r} ends at byte {end}, "
                f"the file at {file.size}; copy or download it again"
            )
        yield key, start
        at = end
    if at != file.size:
        raise LegacyFormatError(f"{file.name}, byte {at}: {file.size - at} bytes behind the last storage")
