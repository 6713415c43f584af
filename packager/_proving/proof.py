"""What is asked of a clean process, what its runs ask in turn, and what was found there: frozen records."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, Literal

from packager._archive import ModuleRecord
from packager._quick_dataclasses import dataclass, field
from packager._texts import counted, few_of, in_lines, size_text

FailureKind = Literal["import", "object", "differs", "state dict", "pickle", "entry point", "call", "died"]
EffectKind = Literal["opened", "looked for", "started"]
QuestionKind = Literal["import", "probe", "file", "listing"]
Kind = Literal["value", "object", "code", "size", "setting", "surroundings"]
"""What a text is of: plain values, something else, code, the size of a cache, or a setting of a library."""
Seen = dict[str, dict[str, tuple[str, Kind]]]
"""By module, and by the dotted name in it, what is there."""
_LONGEST: Final = 60
"""Characters of a value in a line."""


@dataclass(frozen=True)
class ProofOrder:
    """What the clean process is told: which archive, which modules to import, and where others lie.

    `path` are the folders of Python and of installed packages; `places` maps a name that lies elsewhere (an
    extern in the project's folder, or installed in place) to the folders that it alone is found in; `hidden`
    are the stored modules' first parts that nothing else brings to a target. `unread` are pickles that are
    not to be read; `asked` are lines of stored code, each with its file and function, of which it is noted if
    they run. `gone` are the folders of the project: code of the archive finds none of their files.
    `variables` are those of the environment that stored code does not find, `own` the modules of the project.
    `keeps` says that what is compiled is left in its own cache, `asks` that somebody answers questions.
    `withheld` are externs that stored code does not find.
    """

    archive: str
    modules: tuple[str, ...]
    path: tuple[str, ...]
    places: Mapping[str, tuple[str, ...]]
    hidden: tuple[str, ...]
    unread: tuple[str, ...] = ()
    asked: tuple[tuple[str, int, str], ...] = ()
    gone: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    keeps: bool = False
    asks: bool = False
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProofFrame:
    """A line that was running: `file` is an entry of the archive where `stored`, else a path."""

    file: str
    line: int
    function: str
    text: str = ""
    stored: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True)
class ProofFailure:
    """A failure of a proof: `subject` names the thing as the plan does, `message` is the error's.

    `frames` lead from the outermost line of the archive inwards. `module` is the module that an import
    did not find, `file` the path that could not be opened, `advice` the step's own advice. `causes` are the
    errors that led to it, the nearest first.
    """

    kind: FailureKind
    subject: str
    message: str
    frames: tuple[ProofFrame, ...] = ()
    module: str = ""
    file: str = ""
    advice: str = ""
    causes: tuple[str, ...] = ()

    @property
    def place(self) -> ProofFrame | None:
        """The innermost line of the archive's own code, None where none was running."""
        return next((frame for frame in reversed(self.frames) if frame.stored), None)

    def __str__(self) -> str:
        """Return what failed, how, and where.

        >>> print(ProofFailure("object", "object model/net", "KeyError: 'x'", module="net"))
        object model/net: KeyError: 'x'
        """
        where = f", at {self.place}" if self.place is not None else ""
        return in_lines(f"{self.subject}: {self.message}{where}")


@dataclass(frozen=True)
class Effect:
    """Something that code of the archive did outside of it: what, and the line of its code."""

    kind: EffectKind
    what: str
    place: ProofFrame

    def __str__(self) -> str:
        return f"{self.kind} {self.what}, at {self.place}"


@dataclass(frozen=True)
class Difference:
    """What is one thing here and another in the clean process: on a module or what it holds, or a setting.

    `place` is its dotted name, `here` and `there` are what it is, "" where it is not at all. `file` and
    `line` are those of the stored code that binds it, as far as that is known.
    """

    place: str
    here: str
    there: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        """Return one line: both values, cut to where they part, and the place.

        >>> print(Difference("net.WIDTH", "8", "4", "net.py", 3))
        net.WIDTH is 8 here and 4 in the clean process (net.py:3)
        """
        at = f":{self.line}" if self.line else ""
        where = f" ({self.file}{at})" if self.file else ""
        if not self.there:
            value = cut_to_differ(self.here, "")
            return f"{self.place} is {value} here, but missing in the clean process{where}"
        if not self.here:
            value = cut_to_differ(self.there, "")
            return f"{self.place} is {value} in the clean process, but missing here{where}"
        here, there = cut_to_differ(self.here, self.there), cut_to_differ(self.there, self.here)
        return f"{self.place} is {here} here and {there} in the clean process{where}"


def cut_to_differ(text: str, other: str) -> str:
    """Return at most 60 characters of a text, those where it parts from another one among them."""
    if len(text) <= _LONGEST:
        return text
    same = next(
        (at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), len(other)
    )
    first = max(min(same - _LONGEST // 3, len(text) - _LONGEST + 3), 0) if other else 0
    cut = f"{'...' * bool(first)}{text[first:]}"
    return cut if len(cut) <= _LONGEST else f"{cut[: _LONGEST - 3]}..."


@dataclass(frozen=True)
class Proof:
    """The result of opening an archive in a clean process.

    `steps` are what was done, in order; `trusted` are the names, and `pickles` the entries, that loaders
    refuse unless they are told to trust them, and that were granted here. `modules` are the stored modules
    that were imported, by their own names; `missed` says which modules that are loaded here their code
    imported in vain, and went on; `differences` are what the exporting process has otherwise, most likely
    first: all of it where an answer differs or a step fails, and without a golden call what the stored code
    reads by name. `notes` say what could not be compared. `ran` are the lines that were asked about and ran,
    `variables` those of the environment that code of the project did not find, each with the file and line
    that looked for it. `in_process` says that nothing of the archive is run when it is loaded, so that it
    was loaded where it was made; `unproved` why no process could be started. `file` and `size` are those of
    the archive once it is in place, "" and 0 where it is no file with a path. `is_compared` says that outputs
    of golden calls were compared.
    """

    steps: tuple[str, ...] = ()
    failures: tuple[ProofFailure, ...] = ()
    effects: tuple[Effect, ...] = ()
    trusted: tuple[str, ...] = ()
    pickles: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    missed: tuple[Question, ...] = ()
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    ran: tuple[tuple[str, int, str], ...] = ()
    variables: tuple[tuple[str, str, int], ...] = ()
    in_process: bool = False
    unproved: str = ""
    file: str = field(default="", compare=False)
    size: int = field(default=0, compare=False)
    is_compared: bool = False

    @property
    def ok(self) -> bool:
        """Whether the archive was proved without a failure."""
        return not (self.failures or self.unproved)

    @property
    def is_plain(self) -> bool:
        """Whether the archive was proved and nothing else was noted."""
        told = (self.effects, self.differences, self.missed, self.trusted, self.pickles, self.notes)
        return self.ok and not any(told) and not self.variables

    def __str__(self) -> str:
        """Return what came of it: one line, and one for each failure.

        >>> print(Proof(file="net.kellet", size=3000, is_compared=True))
        net.kellet, 2.9 KiB: loaded in a clean process without your project; outputs equal
        >>> print(Proof(unproved="no process can be started"))
        not proved: no process can be started
        """
        file = f"{self.file}, {size_text(self.size)}: " if self.file else ""
        return in_lines(
            f"{file}{self.outcome}", *(f"    {one}" for one in few_of([*map(str, self.failures)]))
        )

    @property
    def outcome(self) -> str:
        """The result in a few words.

        >>> Proof(in_process=True).outcome
        'loaded in this process'
        """
        if self.unproved:
            return f"not proved: {self.unproved}"
        where = "in this process" if self.in_process else "in a clean process"
        if not self.ok:
            return f"refused: {counted(len(self.failures), 'failure')} {where}"
        project = "" if self.in_process else " without your project"
        return f"loaded {where}{project}{'; outputs equal' * self.is_compared}"

    def _repr_html_(self) -> str:
        """Return the page that a notebook shows: what came of it, and what was seen."""
        from packager._notebook_page import notebook_page

        sections = [
            ("failures", ([one.subject, one.message, str(one.place or "")] for one in self.failures)),
            ("steps", ([one] for one in self.steps)),
            ("differences from this process", ([str(one)] for one in self.differences)),
            ("effects outside the archive", ([str(one)] for one in self.effects)),
            ("imports that failed and were not needed", ([str(one)] for one in self.missed)),
            (
                "environment variables that were not found",
                ([name, f"{file}:{line}"] for name, file, line in self.variables),
            ),
            ("trusted names", ([one] for one in (*self.trusted, *self.pickles))),
            ("stored modules that were imported", ([one] for one in self.modules)),
            ("notes", ([one] for one in self.notes)),
        ]
        said = str(self).partition("\n")[0]
        return notebook_page("Proof", said, sections, "good" if self.ok else "bad")


@dataclass(frozen=True)
class Question:
    """What stored code needs and the archive lacks, and the line that asked, where it is known.

    `name` is a module's true name for an "import" and for a "probe", which only looks for it; for a "file"
    and a "listing" it is the path in the archive of a file or folder, as "net/data".
    """

    kind: QuestionKind
    name: str
    place: ProofFrame | None = None

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
    ("extern"), or say that it is a mock or denied. `places` says where externs lie that are not on the path.
    """

    modules: tuple[ModuleRecord, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    places: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ProofProbe:
    """What stored code asked of its surroundings, and the innermost line of it that did.

    `kind` is "module", "distribution", "distributions", "entry points" or "variable".
    """

    kind: str
    name: str
    place: ProofFrame


@dataclass(frozen=True)
class Run:
    """What came of one run: its `proof`, and the questions that were `served`, and that were not (`absent`).

    `probes` are what stored code looked for: modules, distributions, entry points, variables of the
    environment. `externs` are the modules of the environment that it imported, by their first parts, each
    with the first line that did. `sets` are the variables that stored code set. `seen` is what hangs on the
    stored modules that were loaded, by module; nothing where golden calls gave what they gave here. `code` is
    the folder that the archive's code was unpacked below, `said` the end of what the run printed.
    """

    proof: Proof
    served: tuple[tuple[Question, Served], ...] = ()
    absent: tuple[Question, ...] = ()
    probes: tuple[ProofProbe, ...] = ()
    externs: tuple[Question, ...] = ()
    sets: tuple[ProofProbe, ...] = ()
    seen: Seen = field(default_factory=dict)
    code: str = ""
    said: str = ""


RECORDS: Final = (
    *(ProofOrder, ProofFrame, ProofFailure, Effect, Difference, Proof, Question, Served, ProofProbe, Run),
    ModuleRecord,
)
"""What the two processes hand each other, besides plain data."""


def bytecode_in(cache: str) -> str:
    """Return the folder of compiled code in the clean process's own cache, which is empty when it begins."""
    return os.path.join(cache, "bytecode")
