"""From what a proof found to problems of the plan: the line of stored code, and what to do."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from packager._exporting import ExportPlan, PlannedModule, PlanProblem, RefusedPlanError, problems_text
from packager._graph import Sources
from packager._quick_dataclasses import replace
from packager._texts import MOST_LISTED, few_of, in_lines, listed

from .differences import left_behind
from .proof import Proof, ProofFailure, ProofFrame
from .watching import EVERY_NAME

Mend = tuple[str, str]
"""Advice, and a line to paste; "" where none is known."""

_REASONS: Final = {
    "import": "A module cannot be imported from the archive.",
    "object": "An object cannot be loaded from the archive.",
    "differs": "A loaded object differs from the stored one.",
    "state dict": "A state dict cannot be loaded from the archive.",
    "pickle": "A pickle cannot be read from the archive.",
    "entry point": "An entry point cannot be called.",
    "call": "An example fails or has other outputs in the clean process.",
    "died": "Stored code ended the clean process.",
}
_OF_DATA_ALONE: Final = "saved as data alone"
_NO_CLASSES: Final = (
    "a state dict can hold only tensors and plain data. Save it by exporter.save_object(package, resource, "
    "obj), which also stores classes, or convert the value (dataclasses.asdict)"
)
_BY_WHAT_DIFFERS: Final = ("import", "object", "differs", "entry point", "call")
_KEEP: Final = (
    "the clean process imports stored modules, and runs nothing else of your project. Keep the values that "
    "the object needs in its attributes, not in globals that other code sets"
)
_UNCALLED: Final = "an example shows whether it matters: example=x (--example x.npz)"
_UNREPEATABLE: Final = "the example has other outputs each time, so it cannot show whether it matters"
_SUSPECTED: Final = ("started", "looked for", "opened")
_MOST_FRAMES: Final = 8
_MOST_NAMES: Final = 8
_MOST_TOLD: Final = 5
_MISSED_VALUES: Final = ("KeyError", "AttributeError", "NameError", "LookupError", "IndexError")
_MOCKED: Final = re.compile(r"NotImplementedError: '(\w+)[\w.]*' was mocked")
_KEY: Final = re.compile(r"KeyError: '([\w.]+)'")
_BESIDE_CODE: Final = re.compile(r"/cache/code/[0-9a-f]{64}/([^:]+)")


class ProofError(RefusedPlanError):
    """An archive that failed its proof and was not written; `proof` says what was found.

    `plan` is the plan with its problems. Each problem has the lines that were running and, where one is
    known, a line of code to paste.
    """

    def __init__(self, plan: ExportPlan, proof: Proof) -> None:
        heading = (
            "nothing was written: the proof failed. A clean process without your project opened the archive "
            "and found these problems. Correct them, or write without a proof: prove=False (--no-proof)."
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
            yield f"{why}. If no process can start here, write prove=False (--no-proof)"
        for one in proof.missed:
            yield (
                f"in the proof, {one.place} continued without {one.name}, which has no file to store. To "
                "store "
                f'its code as text: exporter.save_source_string("{one.name}", source)'
            )
        for name, file, line in proof.variables:
            yield _told_of_variable(name, file, line)
        yield from [] if proof.failures else self._told()
        yield from (f"in the proof, stored code {effect}" for effect in proof.effects)
        for entry in proof.pickles:
            yield f"{entry} is a pickle. To load it: PackageImporter(file, allow_pickle=True)"
        yield from (f"in the proof, {note}" for note in proof.notes)

    def _told(self) -> list[str]:
        """Say what may matter, as no example has shown that it does not."""
        absent = left_behind(self._proof.differences)
        lines = [f"modules that only this process has loaded: {_some(absent)}"] if absent else []
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
            lines.append(f"{module.name} is stored by {module.rule} ({module.because})")
            chain = tuple(f"{edge.importer} ({edge.file}:{edge.line})" for edge in module.importers[:1])
        suspects: tuple[str, ...] = ()
        if failure.kind in _BY_WHAT_DIFFERS:
            suspects = tuple(self._suspects())
            fix = fix or self._allowing()
        if not (advice == _KEEP and self._proof.variables):  # the first suspect says more
            lines += [advice] if advice else []
        context = in_lines(failure.message, *(in_lines(line, indent="        ") for line in lines))
        return PlanProblem(_REASONS[failure.kind], failure.subject, context, chain, (), fix, suspects)

    def _suspects(self) -> Iterator[str]:
        """Yield what else is not there as it is here, most likely first."""
        for kind in _SUSPECTED:
            yield from (f"stored code {one}" for one in self._proof.effects if one.kind == kind)
        variables = self._proof.variables
        if read := [f"{_shown(name)} (read at {file}:{line})" for name, file, line in variables]:
            yield (
                f"the clean process lacks environment variables: {_some(read)}. Keep the value in the "
                f"object, or, if every target sets it, allow it: {self._allowing()}"
            )
        yield from map(str, self._proof.differences)
        yield from (f"in the proof, {note}" for note in self._proof.notes)

    def _allowing(self) -> str:
        """Return the lines that allow the environment variables which code did not find."""
        names = dict.fromkeys(name for name, _, _ in self._proof.variables)
        return "; ".join(f'exporter.allow_variable("{name}")' for name in names)

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
                "is relative to the working directory, which differs at the target",
            )
        if beside := _BESIDE_CODE.search((failure.file or failure.message).replace(os.sep, "/")):
            return self._file_beside(posixpath.normpath(beside[1]))
        if os.path.isabs(failure.file) and os.path.exists(failure.file):
            return _by_place(
                failure,
                "is in the project's folder, which the target lacks",
            )
        if failure.kind == "state dict" and _OF_DATA_ALONE in failure.message:
            return _NO_CLASSES, ""
        if failure.kind == "died":
            return "stored code must not end the process: let it return, or raise an Exception", ""
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
            place = f"  # before {decided.rule}" if decided.rule.startswith(decided.action) else ""
            return f"{name} is not stored, by {decided.rule}", f'exporter.intern("{name}"){place}'
        if decided is not None and decided.entry is not None:
            return (
                f"a library imported {name} by this name, which only stored code can do. Load the file with "
                "pickle or joblib in your own code, or store the object: exporter.save_object(package, "
                "resource, obj)"
            ), ""
        if name in sys.modules:
            top = name.partition(".")[0]
            is_own = any(one.origin.is_at_hand for one in self._below(top))
            if is_own or Sources().find(top).kind in ("missing", "unknown"):
                stored = f'exporter.save_source_string("{name}", source)  # its code as text'
                return f"{name} has no file: store its source", stored
            return f"{name} has no file to store: require it", f'exporter.extern("{top}.**")'
        parent = name.rpartition(".")[0]
        where = f"in {parent}, which is stored" if parent in self._by_name else "in this environment"
        return f"there is no module {name} {where}: correct the name, or add the module", ""

    def _below(self, top: str) -> list[PlannedModule]:
        return [one for one in self._by_name.values() if one.name.partition(".")[0] == top]

    def _file_beside(self, name: str) -> Mend:
        """Say what helps where a file beside stored code is not in the archive."""
        if name.startswith(".."):
            return "", ""  # it leads out of the archive's folder
        left = next((one for one in self._plan.left_out if one.name == name), None)
        if left is None:
            return f"there is no {name} in your project: create it, or correct the path", ""
        package, _, resource = name.rpartition("/")
        if "." in package:  # it is in no name of a package
            package, resource = "", name
        package = package.replace("/", ".")
        return (
            f"{name} is in your project, but is not stored: {left.because}. If every reader of the archive "
            "may have it, store it"
        ), f'exporter.save_binary("{package}", "{resource}", open({left.path!r}, "rb").read())'

    def _by_rule(self, failure: ProofFailure) -> Mend:
        """Say what helps where a stand-in is used, or where code looks a stored module up by its name."""
        if used := _MOCKED.match(failure.message):
            top = used[1]
            inside = self._below(top)
            rule = next((one.rule for one in inside if one.action == "mock"), "")
            is_own = any(one.entry is not None or one.origin.is_at_hand for one in inside)
            is_here = Sources().find(top).kind != "missing"
            what = (
                f"stored code uses a module that {rule} replaces"
                if is_here
                else f"{top} is not installed here, and code runs without it, but {rule} replaces it"
            )
            advice = "store it" if is_own else "require it at the target"
            fix = f'exporter.{"intern" if is_own else "extern"}("{top}.**")  # in place of {rule}'
            return (f"{what}: {advice}", fix) if rule else ("", "")
        looked_up = _KEY.fullmatch(failure.message)
        module = self._by_name.get(looked_up[1]) if looked_up else None
        if module is None or module.entry is None or module.origin.is_at_hand:
            return "", ""
        top = module.name.partition(".")[0]
        return (
            f"code looks up {module.name} by its `__name__`, which differs in an archive. Require this "
            "library at the target"
        ), f'exporter.extern("{top}.**")  # in place of {module.rule}'


def _by_place(failure: ProofFailure, what: str) -> Mend:
    """Say how stored code opens a file that lies beside it; a notebook has no place for one."""
    where = "the code" if failure.place is None else failure.place.file
    advice = f"{failure.file!r} {what}. Keep its contents in the object"
    if where == "__main__.py":
        if not hasattr(sys.modules["__main__"], "__file__"):
            return advice, ""
        where = "your script"
    beside = f'open(os.path.join(os.path.dirname(__file__), "{os.path.basename(failure.file)}"))  # import os'
    return f"{advice}, or put it beside {where} and open it as below", beside


def _some(names: Sequence[str]) -> str:
    return listed(names, _MOST_NAMES)


def _shown(variable: str) -> str:
    return "all that only some machines set" if variable == EVERY_NAME else variable


def _told_of_variable(name: str, file: str, line: int) -> str:
    """Say of an environment variable that stored code reads it and did not find it; not its value."""
    reads = f"{file}:{line} reads all environment variables, and the clean process has only common ones"
    if name != EVERY_NAME:
        reads = f"{file}:{line} reads the environment variable {name}, which the clean process lacks"
    return (
        f"{reads}. Keep its value in the object, or allow it if every target sets it: "
        f'exporter.allow_variable("{name}")'
    )
