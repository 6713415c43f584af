"""A small answerer: it serves what lies in the folder of a project, and keeps what it was asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from packager._archive import ArchiveReader, ArchiveWriter, Manifest, ModuleRecord
from packager._environment import Distributions
from packager._proving import CleanProcess, Proof, Question, Served, converse, order_for
from packager._proving.proof import ProofOrder
from packager._quick_dataclasses import replace

__all__ = ["ProjectAnswers", "opened", "order_of"]


@dataclass
class ProjectAnswers:
    """What answers from `folder`; `externs` are top-level names that are left to the environment."""

    folder: Path
    archive: Path
    begun: Sequence[str]
    externs: tuple[str, ...] = ()
    asked: list[Question] = field(default_factory=list)
    records: dict[str, ModuleRecord] = field(default_factory=dict)
    files_taken: dict[str, bytes] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    modules: tuple[str, ...] = ("net",)

    def __post_init__(self) -> None:
        for name in self.begun:
            self._keep(self._found(name))

    def module(self, question: Question) -> Served | None:
        self.asked.append(question)
        return self._keep(self._found(question.name))

    def files(self, question: Question) -> Served | None:
        self.asked.append(question)
        place = self.folder / question.name
        if place.is_dir():
            inside = [file for one in sorted(place.iterdir()) for file in _shown_by(one)]
            served = [self._at(one) for one in inside]
            return self._keep(
                Served(
                    tuple(m for one in served for m in one.modules),
                    {name: data for one in served for name, data in one.files.items()},
                )
            )
        return self._keep(self._at(place)) if place.is_file() else None

    def added(self, questions: Sequence[Question]) -> ProofOrder | None:
        before = len(self.files_taken), len(self.records)
        for question in questions:
            if question.kind == "import":
                self._keep(self._found(question.name))
            elif (self.folder / question.name).is_file():
                self._keep(self._at(self.folder / question.name))
        if before == (len(self.files_taken), len(self.records)):
            return None
        return self.order()

    def order(self, modules: Sequence[str] = ()) -> ProofOrder:
        """Write the archive as begun; return the order to open it and import modules, by default `net`."""
        self.modules = tuple(modules) or self.modules
        with ArchiveWriter(self.archive, fsync=False) as writer:
            sources = {one.entry for one in self.records.values()}
            for name, data in self.files_taken.items():
                writer.add(name, data, kind="source" if name in sources else "resource")
            writer.seal(Manifest(modules=tuple(self.records.values())))
        order = order_of(self.archive, self.modules)
        return replace(order, path=(*order.path, *self.path))

    def _found(self, name: str) -> Served | None:
        """Find a module and its parents; one that is begun with is there without its children."""
        modules: list[ModuleRecord] = []
        files: dict[str, bytes] = {}
        parts = name.split(".")
        if parts[0] in self.externs:
            return None if find_spec(parts[0]) is None else Served((_record(parts[0], "extern", None),))
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            plain, package = self.folder / f"{path}.py", self.folder / path / "__init__.py"
            found = next(filter(Path.is_file, (package, plain)), None)
            if found is None and not (self.folder / path).is_dir():
                return None
            served = (
                self._at(found) if found else Served((_record(path.replace("/", "."), "intern", None, True),))
            )
            modules += served.modules
            files |= served.files
        return Served(tuple(modules), files)

    def _at(self, place: Path) -> Served:
        entry = place.relative_to(self.folder).as_posix()
        if not entry.endswith(".py"):
            return Served((), {entry: place.read_bytes()})
        is_package = entry.endswith("__init__.py")
        name = entry.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return Served((_record(name, "intern", entry, is_package),), {entry: place.read_bytes()})

    def _keep(self, served: Served | None) -> Served | None:
        if served is not None:
            self.records |= {one.name: one for one in served.modules}
            self.files_taken |= served.files
        return served


def _shown_by(place: Path) -> list[Path]:
    """Return what shows that a file or folder is there: a package by its `__init__`, another by its files."""
    if place.is_file():
        return [place]
    init = place / "__init__.py"
    return [init] if init.is_file() else [one for one in sorted(place.iterdir()) if one.is_file()]


def order_of(archive: str | os.PathLike[str], modules: Sequence[str] = ()) -> ProofOrder:
    """Return the order to open an archive in a clean process."""
    with ArchiveReader(archive, digests="none") as reader:
        return order_for(os.fspath(archive), reader, tuple(modules), Distributions())


def _record(name: str, action: str, entry: str | None, is_package: bool = False) -> ModuleRecord:
    return ModuleRecord(name, action, "a rule", "a reason", entry, is_package)


def opened(archive: Path, *, modules: tuple[str, ...] = (), timeout: float = 60) -> Proof:
    """Open an archive in a clean process that nobody serves, and return what came of it."""
    with ArchiveReader(archive, digests="none") as reader:
        order = order_for(str(archive), reader, modules, Distributions())
    with closing(CleanProcess()) as process:
        return converse(order, process, timeout=timeout).proof
