"""What the exporter answers to a run: modules and files of the project, as policy and hooks decide them."""

from __future__ import annotations

import contextlib
import os
import posixpath
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import ModuleType

from packager._archive import ModuleRecord
from packager._disk import read_whole
from packager._exporting import Export
from packager._graph import DataFile, Edge, reason_to_leave_out, too_large
from packager._names import source_path
from packager._quick_dataclasses import replace

from .proof import ProofFrame, ProofOrder, Question, Served

_SOURCE = ".py"
_NOT_LISTED = (".", "__")
"""How folders begin that are of tools."""


class Serving:
    """Answers questions from the folders of one export, and notes in its survey what it has served.

    `drafted` writes the archive anew with that, and returns the order for it.
    """

    def __init__(self, export: Export, drafted: Callable[[], ProofOrder]) -> None:
        self._drafted = drafted
        self._export = export
        self._surveyor = export.surveyor
        self._served = export.surveyor.served
        self._sent = set(export.decisions.standing)

    def module(self, question: Question) -> Served | None:
        """Return a module with the packages around it that the archive lacks; None where there is none."""
        name = question.name
        decisions = self._export.decisions
        if decisions.sources.find(name).kind in ("missing", "unknown", "resources"):
            return None
        parts = name.split(".")
        chain = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        if question.kind == "probe" and not all(map(decisions.is_ruled, chain)):
            return None  # who looks for a module does not ask for a rule
        if name not in self._surveyor.survey().walk.modules:
            place = question.place or ProofFrame("", 0, "")
            self._surveyor.serve(Edge(module_of(place.file), name, "served", place.file, place.line))
        if any(one not in decisions.standing for one in chain):
            return None
        wanted = [one for one in chain if one not in self._sent or one == name]
        self._sent.update(wanted)
        return _joined(map(self._record, wanted))

    def files(self, question: Question) -> Served | None:
        """Return a file of the project, or what a folder of it lists; None where there is nothing."""
        return self._listing(question) if question.kind == "listing" else self._at(question)

    def _at(self, question: Question, kind: str = "found") -> Served | None:
        """Return the file at a path, or the module whose source it is; None where there is none to give."""
        path = question.name
        if path.endswith(_SOURCE) and (name := module_of(path)):
            return self.module(Question("import", name, question.place))
        for package, resource, place in self._places_of(path):
            if os.path.isfile(place):
                return self._file(DataFile(package, resource, place, os.path.getsize(place)), question, kind)
            if os.path.isdir(place):
                return self._listing(question)  # a folder is there where something lies in it
        return None

    def added(self, questions: Sequence[Question]) -> ProofOrder | None:
        """Add what failures name and is here; return the order of a new run, None where nothing is new."""
        is_new = False
        for question in questions:
            if question.kind == "import":
                name = next((one for one in self._named(question.name) if one not in self._sent), "")
                is_new = (name != "" and self.module(replace(question, name=name)) is not None) or is_new
            elif question.name not in self._served.files:
                is_new = self.files(question) is not None or is_new
        return self._drafted() if is_new else None

    # --- modules ---

    def _named(self, name: str) -> Iterator[str]:
        """Yield what a dotted name may stand for: a module, or one that is bound to a name in a module."""
        yield name
        home, _, attribute = name.rpartition(".")
        bound = getattr(sys.modules.get(home), attribute, None) if home else None
        if isinstance(bound, ModuleType):
            yield bound.__name__

    def _record(self, name: str) -> Served:
        """Return the record of a module that was decided, and its source where that is stored."""
        decision = self._export.decisions.standing[name]
        module = self._surveyor.survey().walk.modules[name]
        files = {}
        if decision.action == "intern":
            source = decision.source.encode() if decision.source is not None else module.source
            files = {} if source is None else {source_path(name, module.is_package): source}
        entry = next(iter(files), None)
        told = (decision.action, decision.rule, decision.because)
        return Served((ModuleRecord(name, *told, entry, module.is_package),), files)

    # --- files ---

    def _places_of(self, path: str) -> Iterator[tuple[str, str, str]]:
        """Yield where a path may lie: the package, innermost first, the path in it, and that in its folder.

        At last those are, for the package "", in which the project's top-level packages lie.
        """
        walk, decisions = self._surveyor.survey().walk, self._export.decisions
        folder = posixpath.dirname(path)
        while folder:
            package = folder.replace("/", ".")
            if (decision := decisions.standing.get(package)) and decision.action == "intern":
                below = posixpath.relpath(path, folder)
                yield from ((package, below, os.path.join(one, below)) for one in walk.find(package).search)
            folder = posixpath.dirname(folder)
        for name, decision in list(decisions.standing.items()):
            if decision.action == "intern" and "." not in name and decisions.origin(name).is_at_hand:
                found = walk.find(name)
                for place in found.search or ((found.path,) if found.path else ()):
                    yield "", path, os.path.join(os.path.dirname(place), *path.split("/"))

    def _file(self, file: DataFile, question: Question, kind: str) -> Served | None:
        because = "" if question.place is None else f"{question.place.file}:{question.place.line}"
        found = replace(file, because=because, kind=kind, read=partial(read_whole, file.path))
        self._served.files[question.name] = found
        if reason_to_leave_out(found):
            return None  # the plan lists it
        return Served(files={question.name: bytes(found.read())})

    def _listing(self, question: Question, large: frozenset[str] | None = None) -> Served | None:
        """Return the modules and files in a folder of the project, and the files in plain folders below.

        Of a library it is nothing more. `large` are the files that are left out for their size.
        """
        top = question.name.partition("/")[0]
        decisions = self._export.decisions
        is_of_library = top in decisions.standing and not decisions.origin(top).is_at_hand
        if is_of_library or not top:  # or the folder that all of the project lies in
            return None
        places = self._places_of(posixpath.join(question.name, "any"))
        folders = (os.path.dirname(place) for _, _, place in places)
        folder = next(filter(os.path.isdir, folders), None)
        if folder is None:  # its package lies in no folder, but in an archive
            names = decisions.sources.submodules(question.name.replace("/", "."))
            served = [self.module(replace(question, kind="import", name=name)) for name in names]
        else:
            large = too_large(_sizes_below(folder)) if large is None else large
            inside = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
            served = [self._listed(question, one, large) for one in inside]
        return _joined([one for one in served if one is not None])

    def _listed(self, question: Question, place: str, large: frozenset[str]) -> Served | None:
        name = os.path.basename(place)
        path = posixpath.join(question.name, name)
        if not os.path.isdir(place):
            kind = "hidden" if name.startswith(".") else "large" if place in large else "found"
            return self._at(replace(question, kind="file", name=path), kind)
        if name.startswith(_NOT_LISTED):
            return None
        module = path.replace("/", ".")
        is_package = self._export.decisions.sources.find(module).kind != "namespace"
        served = self.module(replace(question, kind="import", name=module)) if is_package else None
        if served is None and not os.path.islink(place):  # a link may lead in a circle, or out of the project
            return self._listing(replace(question, name=path), large)
        return served


def _joined(served: Iterable[Served]) -> Served | None:
    """Return several answers as one; None for none."""
    modules: dict[str, ModuleRecord] = {}
    files: dict[str, bytes] = {}
    for one in served:
        modules.update((module.name, module) for module in one.modules)
        files.update(one.files)
    return Served(tuple(modules.values()), files) if modules or files else None


def _sizes_below(folder: str) -> dict[str, int]:
    """Return the sizes of all files in a folder and below; of what is hidden, none."""
    found = {}
    for home, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(_NOT_LISTED)]
        for name in names:
            with contextlib.suppress(OSError):  # a link that leads nowhere
                found[os.path.join(home, name)] = os.path.getsize(os.path.join(home, name))
    return found


def module_of(entry: str) -> str:
    """Return the name of the module whose source an entry is.

    >>> module_of("net/__init__.py"), module_of("net/parts.py")
    ('net', 'net.parts')
    """
    return entry.removesuffix(_SOURCE).removesuffix("/__init__").replace("/", ".")
