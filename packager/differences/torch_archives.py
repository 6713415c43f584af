"""Two archives of torch.package: code, what it leaves to the target, resources, tensors in pickles.

Nothing of them is run or built. Pickles are compared twice: by their bytes, and by the tensors in them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from packager.archive import CHUNK, EntryRecord
from packager.errors import LegacyFormatError
from packager.weights import LegacyTensor, TorchPackage

from .facts import compare_named
from .records import Change, Differences, KeyChange, TensorChange
from .states import compare_states
from .texts import Names, TextComparison


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
        tuple(texts.of(_code(one), _code(other))),
        tuple(_facts(one, other)),
        tuple(texts.of(_files(one, olds), _files(other, news))),
        tuple(keys),
        tuple(tensors),
    )
    if found:
        return found
    return Differences(before, after, files=tuple(texts.of(_files(one, {}), _files(other, {}))))


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


def _code(package: TorchPackage) -> Names:
    """Return the source files by the names of their modules."""
    return {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name for name in package.code
    }


def _files(package: TorchPackage, pickles: Mapping[str, Mapping[str, Any]]) -> Names:
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
