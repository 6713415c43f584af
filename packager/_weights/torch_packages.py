"""Archives of torch.package: code and text as data, and the state dicts among their pickles.

Nothing of the code is compiled. An object in such an archive is made by its code, so it cannot be read
here; a pickle that holds tensors and plain data can.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from packager._remote import address_in, refuse_pin
from packager._texts import in_lines, listed
from packager.errors import ArgumentError, LegacyFormatError

from .contents import LeftOut, tensors_in
from .legacy_bounds import MAX_EXTERN_MODULES
from .legacy_tensors import LegacyFile, LegacyStorage
from .pickle_machine import CheckpointPickleError
from .torch_files import zip_pickle, zip_storage
from .torch_names import storage_dtype, torch_names
from .zip_files import ZipFile


def is_torch_package(members: ZipFile) -> bool:
    """Return whether a zip file was written by torch.package."""
    return any(name.endswith("/.data/extern_modules") for name in members)


def open_torch_package(path: str | os.PathLike[str]) -> TorchPackage:
    """Open an archive of torch.package. Raises LegacyFormatError for another file.

    >>> import tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(f"{folder}/old.pt", "w") as archive:
    ...         archive.writestr("old/.data/extern_modules", "")
    ...         archive.writestr("old/net.py", "scale = 2")
    ...     open_torch_package(f"{folder}/old.pt").names
    ('net.py',)
    """
    file = LegacyFile(path)
    members = ZipFile(file)
    if not is_torch_package(members):
        raise LegacyFormatError(
            f"{file.name}: not an archive of torch.package: it has no .data/extern_modules"
        )
    refuse_pin(address_in(path), "an archive of torch.package")
    return TorchPackage(file, members)


class TorchPackage:
    """What an archive of torch.package holds. Names are those inside its one folder ("model/net.py").

    Raises LegacyFormatError for an archive of more than one folder.

    >>> import tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(f"{folder}/old.pt", "w") as archive:
    ...         archive.writestr("old/.data/extern_modules", "numpy")
    ...         archive.writestr("old/net.py", "import numpy")
    ...     package = open_torch_package(f"{folder}/old.pt")
    ...     package.code, package.extern_modules, package.load_text("", "net.py")
    (('net.py',), ('numpy',), 'import numpy')
    """

    def __init__(self, file: LegacyFile, members: ZipFile) -> None:
        self._file = file
        self._zip = members
        marks = [name for name in members if name.endswith("/.data/extern_modules")]
        self._root = marks[0].removesuffix(".data/extern_modules")
        if len(marks) != 1 or not all(name.startswith(self._root) for name in members):
            raise LegacyFormatError(f"{file.name}: an archive of torch.package with more than one folder")
        self._storages: dict[str, LegacyStorage] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that was saved: code, texts, binary data and pickles."""
        inside = (name.removeprefix(self._root) for name in self._zip)
        return tuple(name for name in inside if not name.startswith(".data/") and name != "byteorder")

    @property
    def code(self) -> tuple[str, ...]:
        """The names of source files."""
        return tuple(name for name in self.names if name.endswith(".py"))

    @property
    def data_names(self) -> tuple[str, ...]:
        """The names of what pickles refer to: the storages of tensors, and code of TorchScript."""
        inside = (name.removeprefix(self._root) for name in self._zip)
        return tuple(name for name in inside if name.startswith(".data/") and name not in _OF_THE_ARCHIVE)

    @property
    def python_version(self) -> str:
        """The Python that wrote the archive; empty where it does not say."""
        name = f"{self._root}.data/python_version"
        return bytes(self._zip.head(name, 32)).decode("utf-8", "replace") if name in self._zip else ""

    @property
    def extern_modules(self) -> tuple[str, ...]:
        """The modules that the archive leaves to the machine that loads it.

        Raises LegacyFormatError where their list is longer than any.
        """
        name = f"{self._root}.data/extern_modules"
        if (size := self._zip[name].file_size) > MAX_EXTERN_MODULES:
            raise LegacyFormatError(
                f"{self._file.name}: {name} has {size} bytes; expected a list of modules, of at most "
                f"{MAX_EXTERN_MODULES}"
            )
        return tuple(bytes(self._zip.read(name)).decode("utf-8", "replace").split())

    def load_binary(self, package: str, resource: str) -> bytes:
        """Return the bytes of a resource.

        Raises LegacyFormatError where there is none, or one that unpacks to far more than the file has.
        """
        name = self._root + self._find(package, resource)
        self._zip.require_inflated(name)
        return bytes(self._zip.read(name))

    def load_text(self, package: str, resource: str, encoding: str = "utf-8") -> str:
        """Return a resource as text; `load_text("mypkg", "net.py")` gives source code.

        Raises LegacyFormatError where it is not there, or no text; ArgumentError for an unknown encoding.
        """
        try:
            return self.load_binary(package, resource).decode(encoding)
        except UnicodeDecodeError as error:
            raise LegacyFormatError(f"{self._file.name}: {package}/{resource} is no text: {error}") from None
        except LookupError as error:
            raise ArgumentError(f"{package}/{resource}: encoding={encoding!r}: {error}") from None

    def load_pickle(self, package: str, resource: str, *, opaque: bool = False) -> Any:
        """Return what a pickle holds, with LegacyTensor in place of tensors.

        Raises CheckpointPickleError for objects, naming their classes.
        """
        return self._load(self._find(package, resource), opaque)

    def tensors(self, name: str) -> Mapping[str, Any]:
        """Return the tensors in the pickle of that name, wherever they lie in it, by dotted path.

        No object is built: of those whose classes are unknown, the state is looked at, and of modules their
        parameters and buffers. Raises LegacyFormatError for a pickle that cannot be read in this way.
        """
        return tensors_in(self._load(self._named(name), opaque=True), f"{self._file.name}: {name}")

    def state_dict(self, wanted: str | None, *, opaque: bool = False) -> tuple[str, Any, tuple[LeftOut, ...]]:
        """Return the pickle called `wanted`, or the only one of data: its name, content, what else is there.

        Raises LegacyFormatError where there is none or more than one, and for what is no data.
        """
        if wanted is not None:
            return wanted, self._load(self._named(wanted), opaque), self._beside(wanted)
        pickles = [name for name in self.names if name.endswith(".pkl")]
        read: list[str] = []
        refused: list[str] = []
        first = None
        for name in pickles:
            try:
                value = self._load(name, opaque)
            except CheckpointPickleError as error:
                refused.append(str(error))
            else:
                first = value if not read else None  # one at a time is in memory
                read.append(name)
        if len(read) == 1:
            return read[0], first, self._beside(read[0])
        if read:
            raise LegacyFormatError(
                f"{self._file.name}: which pickle (unwrap=, --unwrap)? There are {listed(read)}"
            ).holding(read)
        raise LegacyFormatError.listing(
            f"{self._file.name}: an archive of torch.package without a state dict. An object in it is "
            "made by its own code, which is not run here: load it with torch.package, save its "
            "state_dict().",
            refused,
        )

    def _beside(self, chosen: str) -> tuple[LeftOut, ...]:
        return tuple(
            LeftOut(name, "source code" if name.endswith(".py") else "resource", "not the chosen pickle")
            for name in self.names
            if name != chosen
        )

    def _load(self, name: str, opaque: bool) -> Any:
        order = f"{self._root}byteorder"
        big_endian = order in self._zip and bytes(self._zip.head(order, 3)) == b"big"

        def persistent(pid: Any) -> LegacyStorage:
            if type(pid) is tuple and pid and pid[0] == "reduce_package":
                raise ValueError("it is an object that only code of the archive can make")
            kind, storage, key, _, count = pid
            if kind != "storage" or type(key) not in (int, str):
                raise ValueError("a persistent id that is not that of a storage")
            place = f"{self._root}.data/{key}.storage"
            return zip_storage(self._zip, self._storages, place, str(key), storage_dtype(storage), count)

        try:
            return zip_pickle(
                self._file, self._zip, self._root + name, torch_names(big_endian), persistent, opaque=opaque
            )
        except CheckpointPickleError as error:
            raise CheckpointPickleError(
                in_lines(
                    str(error),
                    "    An object of torch.package is made by the code beside it, which is not run here.",
                    "    Read a pickle that holds a state dict, as unwrap='package/weights.pkl', or save one "
                    "with torch.save.",
                )
            ) from None

    def _find(self, package: str, resource: str) -> str:
        return self._named(f"{package.replace('.', '/')}/{resource}".removeprefix("/"))

    def _named(self, name: str) -> str:
        if self._root + name not in self._zip:
            there = listed(self.names)
            said = f"{self._file.name}: no {name!r} in the archive; it holds {there}"
            raise LegacyFormatError(said).holding(self.names)
        return name


_OF_THE_ARCHIVE: Final = frozenset(
    f".data/{name}" for name in ("extern_modules", "python_version", "version", "serialization_id")
)
