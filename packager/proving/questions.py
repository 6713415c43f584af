"""What a run of stored code asks the exporter, what it is served, and what is known of the run at its end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from packager.archive import ModuleRecord
from packager.quick_dataclasses import dataclass, field

from .proof import Proof, ProofFrame, plain_of

if TYPE_CHECKING:
    from .differences import Seen

QuestionKind = Literal["import", "probe", "file", "listing"]
ProbeKind = Literal["module", "distribution", "distributions", "entry points", "variable"]

_NOT_FOUND = re.compile(r"No module named '([\w.]+)'")
_NO_NAME = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")
_NO_ATTRIBUTE = re.compile(r"module '?([\w.]+\w)'? has no attribute '?(\w+)")


@dataclass(frozen=True)
class Question:
    """What stored code needs and the archive lacks, and the line that asked, where it is known.

    `name` is a module's true name for an "import" and for a "probe", which only looks for it; for a "file"
    and a "listing" it is the path in the archive of a file or folder, as "net/data". `search` is the
    `__path__` of the module's package: folders of the archive as such paths, others as they are.
    """

    kind: QuestionKind
    name: str
    place: ProofFrame | None = None
    search: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What it asks for: a module is absent, whether it is imported or looked for."""
        return ("module" if self.kind in ("import", "probe") else self.kind), self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" + ("" if self.place is None else f", at {self.place}")


@dataclass(frozen=True)
class Served:
    """What answers a question: records of modules, their missing parents' among them, and files by entry.

    `files` holds the sources that the records name. A record may leave a module to the environment
    ("extern"), or say that it is a mock or denied.
    """

    modules: tuple[ModuleRecord, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


class Answers(Protocol):
    """What answers the questions of a run, in the thread of the conversation; what it raises ends it."""

    def module(self, question: Question) -> Served | None:
        """Return a module that is imported or probed; None where it is not known, which is remembered."""

    def files(self, question: Question) -> Served | None:
        """Return a file, or what a listing of a folder has to show besides; None where there is nothing.

        A folder is there where a file in it is served: one that a listing shows, and one that is asked for
        as a file.
        """


@dataclass(frozen=True)
class Probe:
    """What stored code asked of its surroundings, and the innermost line of it that did."""

    kind: ProbeKind
    name: str
    place: ProofFrame

    def __str__(self) -> str:
        return f"{self.kind} {self.name}, looked for at {self.place}"


@dataclass(frozen=True)
class Run:
    """What came of one run: its `proof`, and the questions that were `served`, and that were not (`absent`).

    `probes` are what stored code looked for: modules, distributions, entry points, variables of the
    environment. `externs` are the modules of the environment that it imported, by their first parts, and
    `opened` the files of the archive that were opened, by entry: each with the first line that did. `sets`
    are the variables that stored code set. `seen` is what hangs on the stored modules that were loaded, by
    module; nothing where golden calls gave what they gave here. `code` is the folder that the archive's code
    was unpacked below, `said` the end of what the run printed.
    """

    proof: Proof
    served: tuple[tuple[Question, Served], ...] = ()
    absent: tuple[Question, ...] = ()
    probes: tuple[Probe, ...] = ()
    externs: tuple[Question, ...] = ()
    opened: tuple[Question, ...] = ()
    sets: tuple[Probe, ...] = ()
    seen: Seen = field(default_factory=dict)
    code: str = ""
    said: str = ""

    @property
    def modules(self) -> tuple[str, ...]:
        """The stored modules that were loaded, by their true names."""
        return self.proof.modules


def questions_of(run: Run) -> tuple[Question, ...]:
    """Return what the failures of a run name: missing modules, names in modules, files below its folder.

    So what no hook sees has a name: files that C opened, imports in a worker that was spawned.

    >>> from packager.proving import ProofFailure
    >>> failure = ProofFailure("call", "check c", "ImportError: cannot import name 'a' from 'net.parts' (x)")
    >>> [str(one) for one in questions_of(Run(Proof(failures=(failure,))))]
    ['import net.parts.a']
    """
    found: dict[tuple[str, str], Question] = {}

    def note(kind: QuestionKind, name: str, place: ProofFrame | None) -> None:
        if name:
            found.setdefault((kind, name), Question(kind, name, place))

    def note_named_in(text: str, place: ProofFrame | None) -> None:
        for name, module in _NO_NAME.findall(text):
            note("import", f"{module}.{name}", place)
        for module, name in _NO_ATTRIBUTE.findall(text):  # so say lazy packages that list their folders
            note("import", f"{module}.{name}", place)
        for module in _NOT_FOUND.findall(text):
            note("import", module, place)
        below = re.escape(run.code) + r"[/\\][^/\\]+[/\\]"
        for quoted, plain in (
            re.findall(rf"'{below}([^']+)'|{below}([^\s'\",;:)]+)", text) if run.code else ()
        ):
            note("file", (quoted or plain).replace("\\", "/"), place)

    for failure in run.proof.failures:
        if not _NO_NAME.search(failure.message):  # an error of a name carries a module that is there
            note("import", failure.module, failure.place)
        note_named_in(f"{failure.message} '{failure.file}'", failure.place)
        for cause in failure.causes:
            note_named_in(cause, failure.place)
    if run.proof.failures:
        note_named_in(run.said, None)  # of workers that came to no answer
    return tuple(found.values())


# --- the form in which these go between two processes ---


def plain_question(question: Question) -> list[Any]:
    """Return a question as plain data."""
    place = None if question.place is None else plain_of(question.place)
    return [question.kind, question.name, place, list(question.search)]


def question_of_plain(plain: Any) -> Question:
    """Return the question that `plain_question` was given."""
    kind, name, place, search = plain
    return Question(kind, name, None if place is None else ProofFrame(**place), tuple(search))


def plain_modules(modules: tuple[ModuleRecord, ...]) -> list[Any]:
    """Return records of modules as plain data, without their importers."""
    return [[m.name, m.action, m.rule, m.because, m.entry, m.is_package] for m in modules]


def modules_of_plain(plain: Any) -> list[ModuleRecord]:
    """Return the records that `plain_modules` was given."""
    return [ModuleRecord(*one) for one in plain]


def probes_of_plain(plain: Any) -> tuple[Probe, ...]:
    """Return probes that were written by `plain_of`."""
    return tuple(Probe(one["kind"], one["name"], ProofFrame(**one["place"])) for one in plain)


def seen_of_plain(plain: Any) -> Seen:
    """Return what hangs on modules, which was written as plain data."""
    return {
        home: {name: (text, kind) for name, (text, kind) in names.items()} for home, names in plain.items()
    }
