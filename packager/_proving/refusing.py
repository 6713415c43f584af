"""From what a proof found to problems of the plan: the line of the archive's code, and what helps."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from packager._exporting import ExportPlan, PlanProblem, RefusedPlanError, problems_text
from packager._graph import Sources
from packager._quick_dataclasses import replace
from packager._texts import MOST_LISTED, few_of, in_lines, listed

from .differences import left_behind
from .proof import Proof, ProofFailure, ProofFrame
from .watching import EVERY_NAME

Mend = tuple[str, str]
"""Advice, and a line to paste; "" where nothing is known to help."""

_REASONS: Final = {
    "import": "A module cannot be imported from the archive.",
    "object": "An object cannot be loaded from the archive.",
    "differs": "An object does not come back as it was stored.",
    "state dict": "A state dict cannot be loaded from the archive.",
    "pickle": "A pickle cannot be read from the archive.",
    "entry point": "An entry point cannot be called.",
    "call": "An example has other outputs in the clean process.",
    "died": "Loading the archive ended the process.",
}
_OF_DATA_ALONE: Final = "saved as data alone"
_NO_CLASSES: Final = (
    "beside tensors, a state dict can hold only plain data. Save it with save_object, which stores "
    "classes, too, or use plain data instead (dataclasses.asdict)"
)
_BY_WHAT_DIFFERS: Final = ("import", "object", "differs", "entry point", "call")
_KEEP: Final = (
    "in the clean process only imports of stored modules have run: keep everything that the object needs "
    "in its attributes, not in globals that other code changes"
)
_UNCALLED: Final = "an example of a call (example=, --example) shows whether it matters"
_UNREPEATABLE: Final = "the example is not repeatable, and cannot show whether it matters"
_SUSPECTED: Final = ("started", "looked for", "opened")
_MOST_FRAMES: Final = 8
_MOST_NAMES: Final = 8
_MOST_TOLD: Final = 5
_MISSED_VALUES: Final = ("KeyError", "AttributeError", "NameError", "LookupError", "IndexError")
_MOCKED: Final = re.compile(r"NotImplementedError: '(\w+)[\w.]*' was mocked out")
_KEY: Final = re.compile(r"KeyError: '([\w.]+)'")
_BESIDE_CODE: Final = re.compile(r"/cache/code/[0-9a-f]{64}/([^:]+)")


class ProofError(RefusedPlanError):
    """An archive that did not come back, and so was not written; `proof` says what was found.

    `plan` is the plan with its problems; each has the lines that were running and, where one is known, a rule
    or a line of code to paste.
    """

    def __init__(self, plan: ExportPlan, proof: Proof) -> None:
        heading = (
            "nothing was written: the proof failed. A clean process, which cannot import the project, "
            "opened the archive and found these problems. Mend them, or write it all the same with "
            "prove=False:"
        )
        super().__init__(in_lines(heading, *problems_text(plan.problems, MOST_LISTED)), plan)
        self.proof = proof


class ProofFindings:
    """What a proof found, told with what the plan knows of the modules in it."""

    def __init__(self, plan: ExportPlan, proof: Proof) -> None:
        self._plan = plan
        self._proof = proof
        self._by_entry = {module.entry: module for module in plan.modules if module.entry is not None}
        self._mends = Mends(plan)

    def plan(self) -> ExportPlan:
        """Return the plan with a problem for each failure, and warnings of what stops nothing."""
        problems = [self._problem(failure) for failure in self._proof.failures]
        return replace(
            self._plan,
            problems=(*self._plan.problems, *problems),
            warnings=(*self._plan.warnings, *self._warnings()),
        )

    def _warnings(self) -> Iterator[str]:
        """Yield what code did outside of the archive, and what could not be compared."""
        proof = self._proof
        if proof.unproved:
            why = f"the archive was not proved: {proof.unproved}"
            yield f"{why}. If no process can be started here, say prove=False"
        for one in proof.missed:
            yield (f"in the proof, {one.place} went on without {one.name}, which exists here, but in no file")
        for name, file, line in proof.variables:
            yield _told_of_variable(name, file, line)
        yield from [] if proof.failures else self._told()
        yield from (f"in the proof, code of the archive {effect}" for effect in proof.effects)
        for entry in proof.pickles:
            yield f"{entry} is a pickle: loaders read it only with allow_pickle=True"
        yield from (f"in the proof, {note}" for note in proof.notes)

    def _told(self) -> list[str]:
        """Say what no golden call has shown not to matter."""
        absent = left_behind(self._proof.differences)
        lines = [f"loaded here, but not in the clean process: {_some(absent)}"] if absent else []
        lines += [str(one) for one in self._proof.differences if one.place not in absent]
        told = few_of(lines, _MOST_TOLD - 1 if len(lines) > _MOST_TOLD else _MOST_TOLD)
        why = _UNREPEATABLE if self._plan.checks else _UNCALLED
        return [f"{one}; {why}" if one == told[0] else one for one in told]

    def _problem(self, failure: ProofFailure) -> PlanProblem:
        advice, fix = self._mends.of(failure)
        frames = failure.frames[-_MOST_FRAMES:]
        lines = [f"after {cause}" for cause in failure.causes[:1]]
        lines += [f"at {frame}: {frame.text or self._text_at(frame)}" for frame in frames]
        module = None if failure.place is None else self._by_entry.get(failure.place.file)
        chain: tuple[str, ...] = ()
        if module is not None:
            lines.append(f"{module.name} is here by {module.rule} ({module.because})")
            chain = tuple(f"{edge.importer} ({edge.file}:{edge.line})" for edge in module.importers[:1])
        lines += [advice] if advice else []
        suspects: tuple[str, ...] = ()
        if failure.kind in _BY_WHAT_DIFFERS:
            suspects = tuple(self._suspects())
            unset = (f'exporter.allow_variable("{name}")' for name, _, _ in self._proof.variables)
            fix = fix or "; ".join(unset)
        context = in_lines(failure.message, *(in_lines(line, indent="        ") for line in lines))
        return PlanProblem(_REASONS[failure.kind], failure.subject, context, chain, (), fix, suspects)

    def _suspects(self) -> Iterator[str]:
        """Yield what else is not there as it is here, most likely first."""
        for kind in _SUSPECTED:
            yield from (f"stored code {one}" for one in self._proof.effects if one.kind == kind)
        variables = self._proof.variables
        if read := [f"{_shown(name)} (read at {file}:{line})" for name, file, line in variables]:
            yield (
                f"set here in the environment, but not in the clean process: {_some(read)}. Keep the value "
                "in the object, or allow the variable if every target sets it: exporter.allow_variable()"
            )
        yield from map(str, self._proof.differences)
        yield from (f"in the proof, {note}" for note in self._proof.notes)

    def _text_at(self, frame: ProofFrame) -> str:
        """Return a line of the archive's code, where the one who noted it had no text."""
        entries = [one for one in self._plan.entries if frame.stored and one.name == frame.file]
        lines = bytes(entries[0].read()).decode("utf-8", "replace").splitlines() if entries else []
        return lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""


class Mends:
    """What helps, by what the plan knows, and by what is on the path and loaded."""

    def __init__(self, plan: ExportPlan) -> None:
        self._plan = plan
        self._by_name = {module.name: module for module in plan.modules}

    def of(self, failure: ProofFailure) -> Mend:
        """Return what helps against a failure."""
        if failure.advice:
            return failure.advice, ""
        if failure.module:
            return self._missing_module(failure.module)
        if failure.file and not os.path.isabs(failure.file):
            return _by_place(
                failure,
                "is opened relative to the working directory, which differs at the target",
            )
        if beside := _BESIDE_CODE.search((failure.file or failure.message).replace(os.sep, "/")):
            return self._file_beside(posixpath.normpath(beside[1]))
        if os.path.isabs(failure.file) and os.path.exists(failure.file):
            return _by_place(
                failure,
                "is in the project's folder, which the target does not have: keep its contents in the "
                "object, or",
            )
        if failure.kind == "state dict" and _OF_DATA_ALONE in failure.message:
            return _NO_CLASSES, ""
        if failure.kind == "died":
            return "code of an archive must return, or raise an Exception that says what is wrong", ""
        found = self._by_rule(failure)
        if not found[0] and (
            failure.kind in ("differs", "call") or failure.message.startswith(_MISSED_VALUES)
        ):
            return _KEEP, ""
        return found

    def _missing_module(self, name: str) -> Mend:
        """Say what helps where an import did not find a module there."""
        decided = self._by_name.get(name)
        if decided is not None and decided.action in ("extern", "mock"):
            return f"{name} is {decided.action} by {decided.rule}", f'exporter.intern("{name}")'
        if decided is not None and decided.entry is not None:
            return (
                f"{name} is stored, and a library looked for it in the process, where it has another name. "
                "Let code of the project read the file with pickle or joblib, or store the object with "
                "save_object"
            ), ""
        if name in sys.modules:
            return "it exists here, but in no file that could be stored", f'exporter.extern("{name}")'
        parent = name.rpartition(".")[0]
        stored = f"{parent} is stored, with " if parent in self._by_name else "there is "
        return f"{stored}no module of that name here: correct the name, or add it to the project", ""

    def _file_beside(self, name: str) -> Mend:
        """Say what helps where a file beside stored code is not in the archive."""
        if name.startswith(".."):
            return "", ""  # it leads out of the archive's folder
        left = next((one for one in self._plan.left_out if one.name == name), None)
        if left is None:
            return f"{name} does not exist here either, beside the code that is stored", ""
        package, _, resource = name.rpartition("/")
        if "." in package:  # it is in no name of a package
            package, resource = "", name
        package = package.replace("/", ".")
        return (
            f"{name} is here beside the code, and is not stored: {left.because}. If everyone who loads the "
            "archive may read it, store it"
        ), f'exporter.save_binary("{package}", "{resource}", open({left.path!r}, "rb").read())'

    def _by_rule(self, failure: ProofFailure) -> Mend:
        """Say what helps where a stand-in is used, or where code looks a stored module up by its name."""
        if used := _MOCKED.match(failure.message):
            top = used[1]
            inside = [one for one in self._by_name.values() if one.name.partition(".")[0] == top]
            rule = next((one.rule for one in inside if one.action == "mock"), "")
            is_own = any(one.entry is not None or one.origin.is_at_hand for one in inside)
            is_here = Sources().find(top).kind != "missing"
            what = (
                f"{top} is installed here, and used when the object is loaded"
                if is_here
                else (f"{top} is absent here, too, and the code goes on without it")
            )
            advice = "store it" if is_own else "require it at the target"
            fix = f'exporter.{"intern" if is_own else "extern"}("{top}.**")  # in the place of {rule}'
            return (f"{what}: {advice}", fix) if rule else ("", "")
        looked_up = _KEY.fullmatch(failure.message)
        module = self._by_name.get(looked_up[1]) if looked_up else None
        if module is None or module.entry is None or module.origin.is_at_hand:
            return "", ""
        top = module.name.partition(".")[0]
        return (
            f"the code looks {module.name} up by its `__name__`, which carries a mark of the archive. "
            "Require this library at the target"
        ), f'exporter.extern("{top}.**")  # in the place of {module.rule}'


def _by_place(failure: ProofFailure, what: str) -> Mend:
    """Say how a file is named by where the code lies that opens it."""
    where = "the code" if failure.place is None else failure.place.file
    mark = " " if what.endswith("or") else ": "
    return (
        f"{failure.file!r} {what}{mark}keep the file beside {where}, and open it by `__file__`",
        f'open(os.path.join(os.path.dirname(__file__), "{os.path.basename(failure.file)}"))',
    )


def _some(names: Sequence[str]) -> str:
    return listed(names, _MOST_NAMES)


def _shown(variable: str) -> str:
    return "variables that not every machine sets" if variable == EVERY_NAME else variable


def _told_of_variable(name: str, file: str, line: int) -> str:
    """Say of a variable of the environment that stored code reads it, and did not find it; not its value."""
    reads = f"{file}:{line} reads all environment variables, and found only those that every machine has"
    if name != EVERY_NAME:
        reads = f"{name} is an environment variable that is set here, and {file}:{line} did not find it"
    return (
        f"{reads} in the clean process. Keep the value in the object, or, if every target sets it: "
        f'exporter.allow_variable("{name}")'
    )
