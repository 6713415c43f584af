"""The export plan: everything that `close()` would write, everything that is wrong, and why; and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from packager._archive import (
    CheckRecord,
    EntryPoint,
    ImportsRecord,
    ObjectRecord,
    SchemaRecord,
    StateDictRecord,
    TensorIndex,
    TraceRecord,
)
from packager._graph import ComputedImport, Edge
from packager._licenses import StoredPart
from packager._policy import Action, Origin
from packager._quick_dataclasses import dataclass, field
from packager._texts import ACTIONS, MOST_LISTED, WIDTH, counted, few_of, in_lines, listed, size_text, wrapped
from packager.errors import PackagingError

UNCHECKED = "outputs are not checked"
_SCREEN, _FIRST = 40, 5
_PYTHON = ("stdlib", "builtin")  # origins that every Python brings
_COMPUTED = {
    False: "imports by computed names (the proof finds the modules that the example loads)",
    True: "imports by computed names that no run reached (exporter.save_module() stores such a module)",
}
_COMPUTED_ELSEWHERE = "imports by computed names in installed packages"
_LEFT_OUT = "data files left out (exporter.save_binary() stores one)"


@dataclass(frozen=True)
class PlannedModule:
    """A module that was decided: what is done with it, by which rule, why, and who imports it.

    `entry` names the archive's entry with its source, None where nothing is stored for it.
    """

    name: str
    action: Action
    rule: str
    because: str
    origin: Origin
    entry: str | None = None
    is_package: bool = False
    importers: tuple[Edge, ...] = ()
    size: int = 0


@dataclass(frozen=True)
class PlannedExtern:
    """A top-level name left to the target, with the distribution that brings it and its requirement.

    `modules` are the modules under it that the code imports; `optional` says that no chain of imports that
    always run leads to it, and that the proof, if there was one, came through without it.
    """

    name: str
    origin: Origin
    requirement: str | None
    modules: tuple[str, ...]
    optional: bool = False


@dataclass(frozen=True)
class PlannedEntry:
    """An entry other than tensors: its name, kind and size, where it comes from, and how it is read.

    `because` says which code data files lie beside, or where a run opened them; `path` is the file itself, ""
    where it is none.
    """

    name: str
    kind: str
    size: int
    because: str
    read: Callable[[], bytes | memoryview] = field(repr=False, compare=False)
    path: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class PlannedTensors:
    """A safetensors member: its tensors, and the storages that they share."""

    name: str
    specs: TensorIndex
    storages: Sequence[Any] = field(repr=False, compare=False)
    size: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LicenseCount:
    """The licences over one stored part, and how many of its files have none, or a copyleft one.

    What a file says of itself in a header, `SPDX-License-Identifier`, comes before what is said of the part.
    """

    part: StoredPart
    files: int
    without: int
    copyleft: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield what somebody should look at before the archive is given on; nothing where all is clear."""
        version = f" {self.part.version}" if self.part.version else ""
        if self.part.distribution:
            name = f"{self.part.distribution}{version}"
        else:
            name = f"the project ({', '.join(self.part.modules)})"
        if self.without:
            of_all = f" of {self.files:,}" if self.without < self.files else ""
            yield f"{name}: no licence found for {counted(self.without, 'stored file')}{of_all}"
        if self.copyleft:
            yield f"{name}: {', '.join(self.copyleft)}, copyleft; {counted(self.files, 'stored file')}"


@dataclass(frozen=True)
class PlanProblem:
    """Something that keeps the archive from being written.

    `reason` is the heading under which problems are grouped, `subject` the module, object or rule,
    `context` what was found. `chain` are the imports that led there, each with file and line;
    `fix` is a line to paste where one can be given. `suspects` are what differs where this was found, most
    likely first.
    """

    reason: str
    subject: str
    context: str = ""
    chain: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    fix: str = ""
    suspects: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it as a paragraph.

        >>> print(PlanProblem("Module was denied by a pattern.", "pdb", fix='exporter.mock("pdb")'))
        Module was denied by a pattern. pdb
              To paste: exporter.mock("pdb")
        """
        found = ": " + self.context if self.context else ""  # keeps the lines that it may have
        return in_lines(f"{self.reason} {self.subject}" + found, *_below(self))


@dataclass(frozen=True)
class ExportPlan:
    """What an export will do. `print(plan)` shows it; nothing has been written.

    `warnings` do not stop an export. `changes` lists the state that examples changed without a change of
    outputs; they are not repeated as a PackagingWarning. `unreached` are imports by computed names in the
    project's code; the proof removes those that a run reached. `library_unreached` and `library_warnings` are
    the same of installed packages, which are counted in one line. `left_out` are data files beside the code
    that are not stored, each with the reason. `licenses` are those of the stored code, by distribution, with
    the files that have none. `carried` is stored beside the model, a loader and wheels; wheels are fetched
    when the archive is written, for the targets in `wheels_for`. `dead_rules` are rules that matched no
    module; the warnings name them too. `empty_rules` are those of them with `allow_empty=False`, which stop
    an export that has no other problem. `unchecked` are the objects of stored code without an example, as
    "model/net". `is_proved` says that a clean process has opened it.

    >>> import io
    >>> from packager import PackageExporter
    >>> exporter = PackageExporter(io.BytesIO())
    >>> exporter.save_source_string("net", "import math")
    >>> plan = exporter.plan()
    >>> plan.ok, [module.name for module in plan.by_action("extern")]
    (True, ['math'])
    """

    modules: tuple[PlannedModule, ...] = ()
    externs: tuple[PlannedExtern, ...] = ()
    entries: tuple[PlannedEntry, ...] = ()
    left_out: tuple[PlannedEntry, ...] = ()
    tensors: tuple[PlannedTensors, ...] = ()
    carried: tuple[PlannedEntry, ...] = ()
    wheels_for: tuple[str, ...] = ()
    objects: tuple[ObjectRecord, ...] = ()
    imports: tuple[ImportsRecord, ...] = ()
    state_dicts: tuple[StateDictRecord, ...] = ()
    entry_points: tuple[EntryPoint, ...] = ()
    checks: tuple[CheckRecord, ...] = ()
    schemas: tuple[SchemaRecord, ...] = ()
    traces: tuple[TraceRecord, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    licenses: tuple[LicenseCount, ...] = ()
    problems: tuple[PlanProblem, ...] = ()
    warnings: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    unreached: tuple[ComputedImport, ...] = ()
    library_warnings: tuple[str, ...] = ()
    library_unreached: tuple[ComputedImport, ...] = ()
    dead_rules: tuple[str, ...] = ()
    empty_rules: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    is_proved: bool = False

    @property
    def ok(self) -> bool:
        """Whether `close()` would write the archive."""
        return not self.problems and not self.empty_rules

    @property
    def state(self) -> str:
        """The state of the plan, in a few words.

        >>> ExportPlan().state
        'not yet proved'
        """
        if self.problems:
            return counted(len(self.problems), "problem")
        if self.empty_rules:
            return "rules without a match"
        return "proved in a clean process" if self.is_proved else "not yet proved"

    @property
    def data_files(self) -> tuple[PlannedEntry, ...]:
        """The files that are captured with interned packages, as far as they are not saved by name."""
        return tuple(entry for entry in self.entries if entry.kind == "resource" and entry.because)

    @property
    def size(self) -> int:
        """The size of all contents together."""
        return sum(self.cost().values())

    def by_action(self, action: Action) -> tuple[PlannedModule, ...]:
        """Return the modules with one action, in the order in which they were reached."""
        return tuple(module for module in self.modules if module.action == action)

    def cost(self) -> dict[str, int]:
        """Return the bytes of each kind of entry.

        >>> ExportPlan().cost()
        {}
        """
        found: dict[str, int] = {}
        for entry in self.entries:
            found[entry.kind] = found.get(entry.kind, 0) + entry.size
        for member in self.tensors:
            found["tensors"] = found.get("tensors", 0) + member.size
        for entry in self.carried:
            found["carried"] = found.get("carried", 0) + entry.size
        return dict(sorted(found.items()))

    def concerns(self) -> str:
        """Return possible problems at the target, which do not stop an export, as text; "" without any.

        Warnings of installed packages alone, which are only counted, give "".

        >>> print(ExportPlan(warnings=("yaml is extern without a known distribution",)).concerns())
        warnings:
            yaml is extern without a known distribution
        """
        lines = _concerns(self)
        return in_lines(*lines, *_counted(self)) if lines else ""

    def unchecked_text(self) -> str:
        """Return one line that names the objects without an example; "" without any.

        >>> print(ExportPlan(unchecked=("model/net",)).unchecked_text())
        outputs are not checked (model/net): add example=x (--example x.npz)
        """
        is_called = self.checks or not self.entry_points
        if self.problems or (is_called and not self.unchecked):
            return ""
        which = f" ({listed(self.unchecked)})" if self.unchecked else ""
        return f"{UNCHECKED}{which}: add example=x (--example x.npz)"

    def text(self, *, whole: bool = False, most: int | None = None) -> str:
        """Return the plan as text: short facts first, and problems last, nearest to the prompt.

        `whole` lists what it only counts, too; `most` cuts each list, and problems to ten.
        """
        lines = [*wrapped(_summary(self)), ""]
        for heading, found in self._sections(whole):
            lines += _section(heading, found, most)
        if not whole:
            lines += _counted(self)
        lines += _section(_COMPUTED[self.is_proved], _unreached(self.unreached), most)
        lines += [*wrapped(self.unchecked_text()), ""] if self.unchecked_text() else []
        lines += _concerns(self, most)
        lines += problems_text(self.problems, None if most is None else MOST_LISTED)
        return in_lines(*(lines if lines[-1] else lines[:-1]), "")

    def _sections(self, whole: bool) -> Iterator[tuple[str, Iterable[str]]]:
        actions: tuple[Action, ...] = ("intern", "mock", "deny")
        for action in actions:
            yield ACTIONS[action], _modules(self.by_action(action))
        yield ACTIONS["extern"], _externs(self)
        yield "optional", _others([one for one in self.externs if one.optional])
        yield "objects and state dicts", _stored(self)
        yield "entry points", map(str, self.schemas)
        yield "data files", _files(self.data_files)
        yield "wheels, fetched when it is written", self.wheels_for
        yield "size", (f"{kind}  {size_text(count)}" for kind, count in self.cost().items())
        yield "licences to look at", (line for one in self.licenses for line in one.lines())
        if whole:
            yield _COMPUTED_ELSEWHERE, _unreached(self.library_unreached)
            yield "warnings of installed packages", self.library_warnings

    def __str__(self) -> str:
        """Return the plan on one screen: counts, the first names of each list, and problems.

        >>> print(ExportPlan(problems=(PlanProblem("Module was denied by a pattern.", "pdb"),)))
        Export plan: 0 modules stored, 0 packages required, 0 B; 1 problem
        <BLANKLINE>
        * Module was denied by a pattern.
            pdb
        <BLANKLINE>
        """
        text = self.text()
        return text if text.count("\n") <= _SCREEN else self.text(most=_FIRST)

    def _repr_html_(self) -> str:
        """Return the page that a notebook shows: what the text has, in tables that fold."""
        from packager._notebook_page import notebook_page

        problems = ((one.subject, f"{one.reason} {one.context}".strip(), one.fix) for one in self.problems)
        title, _, said = _summary(self).partition(": ")
        sections = [
            ("problems", problems),
            *self._sections(False),
            (_COMPUTED[self.is_proved], _unreached(self.unreached)),
            ("warnings", self.warnings),
        ]
        unchecked = f"; {self.unchecked_text()}" if self.unchecked_text() else ""
        return notebook_page(title, said + unchecked, sections, "good" if self.ok else "bad")


class RefusedPlanError(PackagingError):
    """An export was refused. The message is laid out as torch.package's; `plan` holds all of it.

    Below each of `problems`, which are those of the plan, it has the imports that led there with file, line
    and a rule to paste.
    """

    def __init__(self, message: str, plan: ExportPlan) -> None:
        super().__init__(message)
        self.plan = plan
        self.problems = plan.problems


def chain_of(edges: Sequence[Edge]) -> tuple[str, ...]:
    """Return a chain of imports as lines of text, root first.

    >>> chain_of([Edge("", "net", "root"), Edge("net", "numpy", "top", "net.py", 3)])
    ('net (asked for)', 'numpy (net.py:3)')
    """
    return tuple(f"{edge.target} ({_place(edge)})" for edge in edges)


def refusal(plan: ExportPlan, *, debug: bool = False) -> RefusedPlanError:
    """Return the error for a plan with problems, laid out as torch.package.PackagingError.

    With `debug` it also has the path of names from what was asked for to each module, as there.
    """
    return RefusedPlanError(in_lines("", *problems_text(plan.problems, MOST_LISTED, paths=debug), ""), plan)


def problems_text(
    problems: Iterable[PlanProblem], most: int | None = None, *, paths: bool = False
) -> list[str]:
    """Return lines of text: problems by reason, the imports that led there, rules to paste.

    With `most` there are about so many, of each reason as many as of the others, and how many more there are.
    """
    lines = []
    groups = _grouped(problems)
    for reason, members in groups:
        told = len(members) if most is None else max(1, most // len(groups))
        lines.append(f"* {reason}")
        for problem in members[:told]:
            lines.append(f"    {problem.subject}")
            if problem.context:
                lines.append("      Context: " + problem.context)  # keeps the lines that it may have
            lines += _below(problem, paths=paths)
        lines += [f"    {one}" for one in few_of([problem.subject for problem in members], told)[told:]]
    return lines


def _below(problem: PlanProblem, *, paths: bool = False) -> Iterator[str]:
    """Yield the lines below a problem: what differs there, the imports that led there, and what to paste."""
    if problem.suspects:
        yield "      Differences in the clean process, most likely first:"
        yield from (f"        {one}" for one in few_of(problem.suspects))
    if problem.chain:
        yield from wrapped(f"Imported by: {' -> '.join(problem.chain)}", "      ", "  ")
    if paths and problem.path:
        yield f"      A path to {problem.subject}: {' -> '.join(problem.path)}"
    if problem.fix:
        yield f"      To paste: {problem.fix}"


def _summary(plan: ExportPlan) -> str:
    outside = [extern.optional for extern in plan.externs if extern.origin.kind not in _PYTHON]
    others = {
        "optional": sum(outside),
        "mocked": len(plan.by_action("mock")),
        "denied": len(plan.by_action("deny")),
    }
    counts = [
        f"{counted(sum(entry.kind == 'source' for entry in plan.entries), 'module')} stored",
        f"{counted(len(outside) - sum(outside), 'package')} required",
        *(f"{count} {what}" for what, count in others.items() if count),
        size_text(plan.size),
    ]
    return f"Export plan: {', '.join(counts)}; {plan.state}"


def _section(heading: str, lines: Iterable[str], most: int | None = None) -> list[str]:
    found = [f"    {line}" for line in lines]
    if most is not None and len(found) > most:
        found[most:] = [f"    and {counted(len(found) - most, 'more line')}; text() has all"]
    return [f"{heading}:", *found, ""] if found else []


def _modules(modules: Iterable[PlannedModule]) -> Iterator[str]:
    for module in modules:
        yield f"{module.name}  ({module.rule}: {module.because})"


def _externs(plan: ExportPlan) -> Iterator[str]:
    yield from _others([extern for extern in plan.externs if not extern.optional])
    python = [extern.name for extern in plan.externs if extern.origin.kind in _PYTHON]
    if python:
        yield from _folded(f"standard library: {', '.join(python)}")


def _others(externs: Iterable[PlannedExtern]) -> Iterator[str]:
    """Yield those that no Python brings, each with its distribution and where it is from."""
    for extern in externs:
        if extern.origin.kind not in _PYTHON:
            known = extern.requirement or "no distribution known"
            place = extern.origin.place
            said = f"{extern.name}  {known}  ({extern.origin}{', from' if place else ''}"
            if place and len(f"    {said} {place})") > WIDTH:
                # A path stays whole, on a line of its own.
                yield said
                yield f"        {place})"
            else:
                yield from _folded(f"{said} {place})" if place else f"{said})")


def _folded(line: str) -> list[str]:
    """Return a line of a section, which is indented there, in as many as 80 columns need."""
    if len(f"    {line}") <= WIDTH:
        return [line]  # with the spaces that it has
    return [part.removeprefix("    ") for part in wrapped(line, "    ")]


def _files(files: Iterable[PlannedEntry]) -> Iterator[str]:
    return (f"{file.name}  {size_text(file.size)}  {file.because}" for file in files)


def _stored(plan: ExportPlan) -> Iterator[str]:
    for record in plan.objects:
        how = f"made by {record.factory}" if record.factory else counted(len(record.types), "name")
        yield f"{record.package}/{record.resource}  object, {how}"
    for state in plan.state_dicts:
        yield f"{state.package}/{state.resource}  state dict"


def _concerns(plan: ExportPlan, most: int | None = None) -> list[str]:
    return [
        *_section(_LEFT_OUT, _files(file for file in plan.left_out if _is_told(file)), most),
        *_section("warnings", plan.warnings, most),
    ]


def _unreached(imports: Iterable[ComputedImport]) -> Iterator[str]:
    return (f"{one.file}:{one.line}  {one.text}" for one in imports)


def _is_told(file: PlannedEntry) -> bool:
    """Say whether a file that is left out is worth a word: an empty hidden one keeps a folder in git."""
    keeps_folder = not file.size and file.name.rpartition("/")[2].endswith("keep")
    return not keeps_folder


def _counted(plan: ExportPlan) -> list[str]:
    """Return one line for all that concerns installed packages alone, and an empty one."""
    imports_, warnings = len(plan.library_unreached), len(plan.library_warnings)
    if not imports_ + warnings:
        return []
    imports = counted(imports_, "import by a computed name", "imports by computed names")
    absent = counted(warnings, "package that is not here", "packages that are not here")
    them = "it" if imports_ + warnings == 1 else "them"
    found = f"{imports}, {absent}; `kellet plan --all` lists {them}"
    return [f"in installed packages: {found}", ""]


def _grouped(problems: Iterable[PlanProblem]) -> list[tuple[str, list[PlanProblem]]]:
    """Group problems by reason, both in the order in which they were found."""
    groups: dict[str, list[PlanProblem]] = {}
    for problem in problems:
        groups.setdefault(problem.reason, []).append(problem)
    return list(groups.items())


def _place(edge: Edge) -> str:
    if edge.kind == "root" or not edge.importer:
        return "asked for"
    return f"{edge.file}:{edge.line}" if edge.line else f"{edge.kind} of {edge.importer}"
