"""What the exporter answers to a run: modules and files of the project, as policy and hooks decide them."""

from __future__ import annotations

import contextlib
import os
import posixpath
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import ModuleType

from packager.archive import ModuleRecord
from packager.disk import read_whole
from packager.exporting import Export
from packager.graph import DataFile, Edge, reason_to_leave_out, too_large
from packager.names import source_path
from packager.quick_dataclasses import replace

from .proof import ProofOrder
from .questions import Question, Served

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
            self._surveyor.serve(_edge(question))
        if any(one not in decisions.standing for one in chain):
            return None
        wanted = [one for one in chain if one not in self._sent or one == name]
        self._sent.update(wanted)
        records, files = [], {}
        for one in wanted:
            record, source = self._record(one)
            records.append(record)
            if source is not None and record.entry is not None:
                files[record.entry] = source
        return Served(tuple(records), files)

    def files(self, question: Question) -> Served | None:
        """Return a file of the project, or what a folder of it lists; None where there is nothing."""
        return self._listing(question) if question.kind == "listing" else self._at(question)

    def _at(self, question: Question, kind: str = "found") -> Served | None:
        """Return the file at a path, or the module whose source it is; None where there is none to give."""
        path = question.name
        if path.endswith(_SOURCE) and (name := self._module_at(path)):
            return self.module(Question("import", name, question.place))
        for package, folder in self._folders_above(path):
            resource = posixpath.relpath(path, package.replace(".", "/")) if package else path
            place = os.path.join(folder, *resource.split("/"))
            if os.path.isfile(place):
                return self._file(package, resource, place, question, kind)
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

    def _record(self, name: str) -> tuple[ModuleRecord, bytes | None]:
        """Return the record of a module that was decided, and its source where that is stored."""
        decision = self._export.decisions.standing[name]
        module = self._surveyor.survey().walk.modules[name]
        source = None
        if decision.action == "intern":
            source = decision.source.encode() if decision.source is not None else module.source
        entry = None if source is None else source_path(name, module.is_package)
        record = ModuleRecord(
            name, decision.action, decision.rule, decision.because, entry, module.is_package
        )
        return record, source

    def _module_at(self, path: str) -> str:
        """Return the name of the module whose source a path of the archive is."""
        parts = path.removesuffix(_SOURCE).split("/")
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    # --- files ---

    def _folders_above(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield the packages that a path may lie in, innermost first, each with its folders; "" at last.

        That stands for the folders in which the project's top-level packages lie.
        """
        walk, decisions = self._surveyor.survey().walk, self._export.decisions
        folder = posixpath.dirname(path)
        while folder:
            package = folder.replace("/", ".")
            decision = decisions.standing.get(package)
            if decision is not None and decision.action == "intern":
                yield from ((package, one) for one in walk.find(package).search)
            folder = posixpath.dirname(folder)
        for name, decision in list(decisions.standing.items()):
            if decision.action == "intern" and "." not in name and decisions.origin(name).is_at_hand:
                found = walk.find(name)
                places = found.search or ((found.path,) if found.path else ())
                yield from (("", os.path.dirname(place)) for place in places)

    def _file(
        self, package: str, resource: str, place: str, question: Question, kind: str = "found"
    ) -> Served | None:
        because = "" if question.place is None else f"{question.place.file}:{question.place.line}"
        read = partial(read_whole, place)
        found = DataFile(package, resource, place, os.path.getsize(place), because, kind, read)
        self._served.files[question.name] = found
        if reason_to_leave_out(found):
            return None  # the plan lists it
        return Served(files={question.name: bytes(read())})

    def _listing(self, question: Question, large: frozenset[str] | None = None) -> Served | None:
        """Return the modules and files in a folder of the project, and the files in plain folders below.

        Of a library it is nothing more. `large` are the files that are left out for their size.
        """
        top = question.name.partition("/")[0]
        decisions = self._export.decisions
        is_of_library = top in decisions.standing and not decisions.origin(top).is_at_hand
        if is_of_library or not top:  # or the folder that all of the project lies in
            return None
        modules: dict[str, ModuleRecord] = {}
        files: dict[str, bytes] = {}
        for package, folder in self._folders_above(posixpath.join(question.name, "x")):
            below = posixpath.relpath(question.name, package.replace(".", "/")) if package else question.name
            place = os.path.normpath(os.path.join(folder, *below.split("/")))
            if not os.path.isdir(place):
                continue
            if large is None:
                large = too_large(_sizes_below(place))
            for name in sorted(os.listdir(place)):
                served = self._listed(question, os.path.join(place, name), large)
                if served is not None:
                    modules.update((one.name, one) for one in served.modules)
                    files.update(served.files)
            break
        else:  # its package lies in no folder, but in an archive
            for name in decisions.sources.submodules(question.name.replace("/", ".")):
                served = self.module(Question("import", name, question.place))
                if served is not None:
                    modules.update((one.name, one) for one in served.modules)
                    files.update(served.files)
        return Served(tuple(modules.values()), files) if modules or files else None

    def _listed(self, question: Question, place: str, large: frozenset[str]) -> Served | None:
        name = os.path.basename(place)
        path = posixpath.join(question.name, name)
        if not os.path.isdir(place):
            kind = "hidden" if name.startswith(".") else "large" if place in large else "found"
            return self._at(Question("file", path, question.place), kind)
        if name.startswith(_NOT_LISTED):
            return None
        module = path.replace("/", ".")
        is_package = self._export.decisions.sources.find(module).kind != "namespace"
        served = self.module(Question("import", module, question.place)) if is_package else None
        if served is None and not os.path.islink(place):  # a link may lead in a circle, or out of the project
            return self._listing(replace(question, name=path), large)
        return served


def _sizes_below(folder: str) -> dict[str, int]:
    """Return the sizes of all files in a folder and below; of what is hidden, none."""
    found = {}
    for home, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(_NOT_LISTED)]
        for name in names:
            with contextlib.suppress(OSError):  # a link that leads nowhere
                found[os.path.join(home, name)] = os.path.getsize(os.path.join(home, name))
    return found


def _edge(question: Question) -> Edge:
    """Return the edge of a module that a run has asked for, from the line that did."""
    place = question.place
    file, line = ("", 0) if place is None else (place.file, place.line)
    importer = file.removesuffix(_SOURCE).removesuffix("/__init__").replace("/", ".")
    return Edge(importer, question.name, "served", file, line)
