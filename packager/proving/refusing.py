"""From what a proof found to problems of the plan: the line of the archive's code, the decision, the mend."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeGuard

from packager.exporting import (
    ExportPlan,
    PlannedModule,
    PlanProblem,
    RefusedPlanError,
    problems_text,
)
from packager.names import demangle
from packager.quick_dataclasses import replace
from packager.texts import MOST_LISTED, counted, in_lines, listed

from .proof import GlobalDifference, Proof, ProofFailure, ProofFrame
from .watched_environment import EVERY_NAME

if TYPE_CHECKING:
    from .mending import Mends

_REASONS: Final = {
    "import": "A module cannot be imported from the archive.",
    "object": "An object cannot be loaded from the archive.",
    "differs": "An object does not come back as it was stored.",
    "state dict": "A state dict cannot be loaded from the archive.",
    "pickle": "A pickle cannot be read from the archive.",
    "globals": "A script or notebook does not have there what it has here.",
    "entry point": "An entry point cannot be called.",
    "call": "A golden call does not give there what it gave here.",
    "died": "Loading the archive ended the process.",
}
_CHANGED: Final = (
    "The running program changed a stored module, and code in the archive reads what it changed."
)
_OR_HOLD: Final = (
    "or let the object hold the value that its code needs (an attribute that `__init__` is given); where "
    "nothing that is loaded needs it, say so:"
)
_OF_DATA_ALONE: Final = "this is data alone"
_NO_CLASSES: Final = (
    "what a state dict holds beside tensors is plain data: save it with save_object, which takes classes "
    "whose source is stored, or put plain data in their place (dataclasses.asdict)"
)
_BY_WHAT_DIFFERS: Final = ("import", "object", "differs", "entry point", "call")
_MAIN: Final = ("__main__", "__mp_main__")
_MOST_FRAMES: Final = 8
_MOST_NAMES: Final = 8
_MOST_TOLD: Final = 4
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
        """Return a problem for each failure, and for each global that the running program has changed."""
        failures = (self._problem(failure) for failure in self._proof.failures)
        changed: dict[str, list[GlobalDifference]] = {}
        for one in self._proof.differences:
            if one.changed:
                changed.setdefault(one.id, []).append(one)
        return (*failures, *(self._changed(subject, found) for subject, found in changed.items()))

    def _changed(self, subject: str, found: Sequence[GlobalDifference]) -> PlanProblem:
        """Say of a global what it is here and there, which line changed it and which reads it."""
        first = found[0]
        more = f"and {len(found) - _MOST_TOLD} more differences" if len(found) > _MOST_TOLD else ""
        module = self._by_name.get(first.module)
        entry = module.entry if module is not None and module.entry else ""
        where = f"{entry}, or in " if entry else ""
        lines = [
            *(f"{one.module}.{one.name} {one.what}{_bound(one, entry)}" for one in found[:_MOST_TOLD]),
            *([more] if more else []),
            f"changed at {first.changed}",
            f"read at {first.read}",
            f"do it in {where}a module that stored code imports, {_OR_HOLD}",
        ]
        context = in_lines(lines[0], *(in_lines(line, indent="        ") for line in lines[1:]))
        return PlanProblem(_CHANGED, subject, context, fix=f'exporter.answer("{subject}", "none")')

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
        globals_ = [self._global(one) for one in self._proof.differences if not one.changed]
        return (
            *self._missed(),
            *(_told_of_variable(*one) for one in self._proof.variables),
            *globals_,
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

    def _global(self, one: GlobalDifference) -> str:
        """Say of a global what it is here and there, where it is bound, and what helps."""
        module = self._by_name.get(one.module)
        file = module.entry if module is not None and module.entry else one.module
        mend = (
            "it is computed anew there, or other code changed it here; keep it in the object, or let a "
            "stored module make it"
        )
        if one.constructor:
            mend = (
                f"{one.constructor} or what it calls did that, and does not run where the object is loaded: "
                "keep it in the object, or save_object(..., factory=) makes the object by a call"
            )
        top = one.module.partition(".")[0]
        absent = [name for name in self._absent if name.partition(".")[0] == top]
        if absent and not one.constructor and "; not there: " in one.what:
            names = _some(absent)
            mend = f"imported here, and not stored: {names}; what fills it has to be imported by stored code"
        return f"{one.module}.{one.name} {one.what}{_bound(one, file)}: {mend}"

    def plan(self) -> ExportPlan:
        """Return the plan with what the proof found."""
        problems = (*self._plan.problems, *self.problems())
        return replace(self._plan, problems=problems, warnings=(*self._plan.warnings, *self.warnings()))

    def _problem(self, failure: ProofFailure) -> PlanProblem:
        advice, fix = self._mend(failure)
        frames = failure.frames[-_MOST_FRAMES:]
        lines = [failure.message, *(f"at {frame}: {frame.text or self._text_at(frame)}" for frame in frames)]
        module = self._module_of(failure)
        if module is not None:
            lines.append(f"{module.name} is here by {module.rule} ({module.because})")
        if advice:
            lines.append(advice)
        if failure.kind in _BY_WHAT_DIFFERS:
            lines += list(self._what_differs())
            unset = (f'exporter.answer("os:environ.{name}", "none")' for name, _, _ in self._proof.variables)
            fix = fix or "; ".join(unset)
        context = in_lines(lines[0], *(in_lines(line, indent="        ") for line in lines[1:]))
        chain = () if module is None else tuple(_importers(module))
        return PlanProblem(_REASONS[failure.kind], failure.subject, context, chain, (), fix)

    def _what_differs(self) -> Iterator[str]:
        """Say what else is not there as it is here: most answers that differ come of it."""
        variables = self._proof.variables
        if read := [f"{_shown(name)} (read at {file}:{line})" for name, file, line in variables]:
            yield (
                f"set here in the environment, and not there: {_some(read)}; let the object hold what comes "
                'of it, or answer "none" where it is set wherever this is loaded'
            )
        found = [
            *(f"{one.module}.{one.name} {one.what}" for one in self._proof.differences if not one.changed),
            *(f"in the proof, {note}" for note in self._proof.notes),
        ]
        yield from found[:_MOST_TOLD]
        if len(found) > _MOST_TOLD:
            yield f"and {counted(len(found) - _MOST_TOLD, 'more difference')}"

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
            return self._missed_state(failure), ""
        return "", ""

    def _missed_state(self, failure: ProofFailure) -> str:
        """Name the project's modules that may have filled a registry or changed a global here."""
        absent = self._absent
        place = failure.place
        where = place.file if place is not None else "the module that needs it"
        if not absent:
            return (
                "there only what stored modules do when they are imported has happened: keep what the object "
                "needs in its attributes, not in globals that other code changes"
            )
        return (
            f"imported here, and not stored: {_some(absent)}; if one of them fills a "
            f"registry or changes a global, import it in {where}, and it is stored and runs there too"
        )

    @cached_property
    def _mends(self) -> Mends:
        from .mending import Mends  # most proofs find nothing to mend

        return Mends(self._plan)

    @cached_property
    def _absent(self) -> list[str]:
        return sorted(self._left_behind())

    def _left_behind(self) -> Iterator[str]:
        """Yield the modules that this process has loaded beside stored ones, and the archive lacks."""
        tops = {name.partition(".")[0] for name, one in self._by_name.items() if one.entry is not None}
        folders = {
            os.path.dirname(os.path.abspath(file))
            for top in tops
            if (file := getattr(sys.modules.get(top), "__file__", None))
        }
        roots = tuple(os.path.join(folder, "") for folder in folders if "site-packages" not in folder)
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name in _MAIN or demangle(name) != name or not _is_file(file):
                continue
            own = name.partition(".")[0] in tops or bool(roots and os.path.abspath(file).startswith(roots))
            if own and name not in self._by_name and "site-packages" not in file:
                yield name


def _is_file(file: object) -> TypeGuard[str]:
    return isinstance(file, str) and os.path.isfile(file)


def _bound(one: GlobalDifference, file: str) -> str:
    return f" ({file}:{one.line})" if one.line else ""


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
