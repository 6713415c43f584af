"""From what a proof found to problems of the plan: the line of the archive's code, the decision, the mend."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from packager.exporting import (
    ExportPlan,
    PlannedModule,
    PlanProblem,
    RefusedPlanError,
    problems_text,
)
from packager.quick_dataclasses import replace
from packager.texts import MOST_LISTED, few_of, in_lines, listed

from .proof import Proof, ProofFailure, ProofFrame
from .suspects import left_behind
from .watched_environment import EVERY_NAME

if TYPE_CHECKING:
    from .mending import Mends

_REASONS: Final = {
    "import": "A module cannot be imported from the archive.",
    "object": "An object cannot be loaded from the archive.",
    "differs": "An object does not come back as it was stored.",
    "state dict": "A state dict cannot be loaded from the archive.",
    "pickle": "A pickle cannot be read from the archive.",
    "entry point": "An entry point cannot be called.",
    "call": "A golden call does not give there what it gave here.",
    "died": "Loading the archive ended the process.",
}
_OF_DATA_ALONE: Final = "this is data alone"
_NO_CLASSES: Final = (
    "what a state dict holds beside tensors is plain data: save it with save_object, which takes classes "
    "whose source is stored, or put plain data in their place (dataclasses.asdict)"
)
_BY_WHAT_DIFFERS: Final = ("import", "object", "differs", "entry point", "call")
_KEEP: Final = (
    "there only what stored modules do when they are imported has happened: keep what the object needs in "
    "its attributes, not in globals that other code changes"
)
_UNCALLED: Final = "an example of a call (example=, --example) shows whether it matters"
_UNREPEATABLE: Final = "the example answers otherwise each time, and cannot show whether it matters"
_SUSPECTED: Final = ("started", "looked for", "opened")
_MOST_FRAMES: Final = 8
_MOST_NAMES: Final = 8
_MOST_TOLD: Final = 5
_MISSED_VALUES: Final = ("KeyError", "AttributeError", "NameError", "LookupError", "IndexError")


class ProofError(RefusedPlanError):
    """An archive that did not come back, and so was not written; `proof` says what was found.

    `plan` is the plan with its problems; each has the lines that were running and, where one is known, a rule
    or a line of code to paste.
    """

    def __init__(self, plan: ExportPlan, proof: Proof) -> None:
        heading = (
            "nothing was written: the archive was opened in a clean process, where nothing of the project "
            "can be imported, and did not come back; mend what is below, or say prove=False to write it so:"
        )
        super().__init__(in_lines(heading, *problems_text(plan.problems, MOST_LISTED)), plan)
        self.proof = proof


class ProofFindings:
    """What a proof found, told with what the plan knows of the modules in it."""

    def __init__(self, plan: ExportPlan, proof: Proof) -> None:
        self._plan = plan
        self._proof = proof
        self._by_entry = {module.entry: module for module in plan.modules if module.entry is not None}
        self._by_name = {module.name: module for module in plan.modules}

    def problems(self) -> tuple[PlanProblem, ...]:
        """Return a problem for each failure."""
        return tuple(self._problem(failure) for failure in self._proof.failures)

    def warnings(self) -> tuple[str, ...]:
        """Return what stops nothing: what code did outside of the archive, what could not be compared."""
        if self._proof.unproved:
            why = self._proof.unproved
            return (f"the archive was not proved: {why}; say prove=False where no process can be started",)
        pickles = [
            f"{entry} is a pickle: loaders read it only where they are told to, by allow_pickle=True"
            for entry in self._proof.pickles
        ]
        done = [f"in the proof, code of the archive {effect}" for effect in self._proof.effects]
        return (
            *self._missed(),
            *(_told_of_variable(*one) for one in self._proof.variables),
            *([] if self._proof.failures else self._told()),
            *done,
            *pickles,
            *(f"in the proof, {note}" for note in self._proof.notes),
        )

    def _missed(self) -> Iterator[str]:
        """Say which imports failed there that work here, where code went on without."""
        failed = {failure.module for failure in self._proof.failures}
        for one in self._proof.missed:
            if one.module in sys.modules and one.module not in failed:
                what = f"in the proof, {one.place} went on without {one.module}, which is imported here"
                advice, fix = self._mends.missing_module(
                    ProofFailure("import", "", "", (one.place,), one.module)
                )
                yield f"{what}: {advice}" + (f": {fix}" if fix else "")

    def _told(self) -> list[str]:
        """Say what no golden call has shown not to matter."""
        absent = left_behind(self._proof.differences)
        lines = [f"loaded here, and not there: {_some(absent)}"] if absent else []
        lines += [str(one) for one in self._proof.differences if one.place not in absent]
        told = few_of(lines, _MOST_TOLD - 1 if len(lines) > _MOST_TOLD else _MOST_TOLD)
        why = _UNREPEATABLE if self._plan.checks else _UNCALLED
        return [f"{one}; {why}" if one == told[0] else one for one in told]

    def plan(self) -> ExportPlan:
        """Return the plan with what the proof found."""
        problems = (*self._plan.problems, *self.problems())
        return replace(self._plan, problems=problems, warnings=(*self._plan.warnings, *self.warnings()))

    def _problem(self, failure: ProofFailure) -> PlanProblem:
        advice, fix = self._mend(failure)
        frames = failure.frames[-_MOST_FRAMES:]
        causes = [f"after {cause}" for cause in failure.causes[:1]]
        lines = [
            failure.message,
            *causes,
            *(f"at {frame}: {frame.text or self._text_at(frame)}" for frame in frames),
        ]
        module = self._module_of(failure)
        if module is not None:
            lines.append(f"{module.name} is here by {module.rule} ({module.because})")
        if advice:
            lines.append(advice)
        suspects: tuple[str, ...] = ()
        if failure.kind in _BY_WHAT_DIFFERS:
            suspects = tuple(self._suspects())
            unset = (f'exporter.answer("os:environ.{name}", "none")' for name, _, _ in self._proof.variables)
            fix = fix or "; ".join(unset)
        context = in_lines(lines[0], *(in_lines(line, indent="        ") for line in lines[1:]))
        chain = () if module is None else tuple(_importers(module))
        return PlanProblem(_REASONS[failure.kind], failure.subject, context, chain, (), fix, suspects)

    def _suspects(self) -> Iterator[str]:
        """Yield what else is not there as it is here, most likely first."""
        done = [one for one in self._proof.effects if one.kind in _SUSPECTED]
        yield from (f"stored code {one}" for one in sorted(done, key=lambda one: _SUSPECTED.index(one.kind)))
        variables = self._proof.variables
        if read := [f"{_shown(name)} (read at {file}:{line})" for name, file, line in variables]:
            yield (
                f"set here in the environment, and not there: {_some(read)}; let the object hold what comes "
                'of it, or answer "none" where it is set wherever this is loaded'
            )
        yield from map(str, self._proof.differences)
        yield from (f"in the proof, {note}" for note in self._proof.notes)

    def _text_at(self, frame: ProofFrame) -> str:
        """Return a line of the archive's code, where the one who noted it had no text."""
        entries = [one for one in self._plan.entries if frame.stored and one.name == frame.file]
        lines = bytes(entries[0].read()).decode("utf-8", "replace").splitlines() if entries else []
        return lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""

    def _module_of(self, failure: ProofFailure) -> PlannedModule | None:
        """Return the stored module whose line was running."""
        return None if failure.place is None else self._by_entry.get(failure.place.file)

    # --- what helps ---

    def _mend(self, failure: ProofFailure) -> tuple[str, str]:
        """Return advice, and a line to paste; "" where nothing is known to help."""
        if failure.advice:
            return failure.advice, failure.fix
        if failure.module:
            return self._mends.missing_module(failure)
        if failure.file and not os.path.isabs(failure.file):
            return self._mends.relative_file(failure)
        if "cannot open" in failure.message or failure.file:
            advice, fix = self._mends.stored_file(failure)
            if not advice:
                advice, fix = self._mends.file_of_project(failure)
            if advice:
                return advice, fix
        if failure.kind == "state dict" and _OF_DATA_ALONE in failure.message:
            return _NO_CLASSES, ""
        if failure.kind == "died":
            return "code of an archive has to return, or to raise an Exception that says what is wrong", ""
        advice, fix = self._mends.stand_in_used(failure)
        if not advice:
            advice, fix = self._mends.name_in_process(failure)
        if advice:
            return advice, fix
        if failure.kind in ("differs", "call") or failure.message.startswith(_MISSED_VALUES):
            return _KEEP, ""
        return "", ""

    @cached_property
    def _mends(self) -> Mends:
        from .mending import Mends  # most proofs find nothing to mend

        return Mends(self._plan)


def _some(names: Sequence[str]) -> str:
    return listed(names, _MOST_NAMES)


def _importers(module: PlannedModule) -> Iterable[str]:
    """Return the import that brought a module in."""
    return [f"{edge.importer} ({edge.file}:{edge.line})" for edge in module.importers[:1]]


def _shown(variable: str) -> str:
    return "what not every machine sets" if variable == EVERY_NAME else variable


def _told_of_variable(name: str, file: str, line: int) -> str:
    """Say of a variable of the environment that stored code reads it, and did not find it; not its value."""
    reads = f"{file}:{line} reads all variables of the environment, and found those of every machine alone"
    if name != EVERY_NAME:
        reads = f"{name} is a variable of the environment that is set here, and {file}:{line} did not find it"
    return (
        f"{reads} in the clean process: let the object hold what comes of it, or, where it is set wherever "
        f'this is loaded, say so: exporter.answer("os:environ.{name}", "none")'
    )
