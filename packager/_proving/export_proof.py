"""The proof of one export: its process starts early, and what it finds goes into the plan and the errors."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from packager._exporting import (
    UNCHECKED,
    Export,
    ExportPlan,
    Item,
    ObjectRequest,
    StateDictRequest,
    class_of,
    is_of_class,
    require_sound,
)
from packager._process import callers_level
from packager._quick_dataclasses import replace
from packager._texts import counted, in_lines
from packager._version import OWN_PACKAGES
from packager.errors import PackagingError, PackagingWarning, UncheckedOutputsWarning

if TYPE_CHECKING:
    from .call_changes import CallWatch
    from .clean_process import CleanProcess
    from .proof import Proof


class ExportProof:
    """The proof of one export, and its `result`, None before.

    Its modules are imported when there is something to prove.
    """

    def __init__(self, export: Export, *, is_wanted: bool) -> None:
        self.is_wanted = is_wanted
        self.result: Proof | None = None
        self.process: CleanProcess | None = None
        self._export = export

    def expect(self, item: ObjectRequest | StateDictRequest) -> None:
        """Start the process where this item is sure to need one, before it is encoded."""
        if not self._export.request.is_repeated and is_of_class(item):
            self.start(item)

    def start(self, first: Item | None) -> None:
        """Start the process of the proof, which there will be: it begins beside the rest of the export.

        `first` is the first item of a class that is saved, where there is any.
        """
        if not self.is_wanted or self.process is not None or not self._export.ranks.is_first:
            return
        from .clean_process import CleanProcess, ProofStartError

        with suppress(ProofStartError):  # the proof itself will say so
            self.process = CleanProcess()
            if first is not None and (cls := class_of(first)) is not None:
                self.process.import_early(*self._outside(_frameworks_of(cls)))

    def _outside(self, names: list[str]) -> list[str]:
        """Return those of packages that no rule stores a part of: a run that finds such a one begins anew."""
        rules = self._export.decisions.policy.rules
        with rules.looked_ahead():
            found = {name: rules.first(name) for name in names}
        stored = {name.partition(".")[0] for name, rule in found.items() if rule and rule.action == "intern"}
        return [name for name in names if name.partition(".")[0] not in stored]

    def end(self) -> None:
        """End the process, where it was started and not needed."""
        process, self.process = self.process, None
        if process is not None:
            process.close()

    def found(self, plan: ExportPlan) -> ExportPlan:
        """Return the plan with what the proof found."""
        if self.result is None:
            return plan
        plan = replace(plan, is_proved=self.result.ok)
        if self.result.is_plain:
            return plan
        from .refusing import ProofFindings

        return ProofFindings(plan, self.result).plan()

    def prove(self, plan: ExportPlan) -> ExportPlan:
        """Open the archive as it stands in a clean process; return the plan with what that was served.

        Raises ProofError for what does not come back, RefusedPlanError where what was served is not stored.
        """
        from .refusing import ProofError

        proof = self._prove(plan)
        plan = self._export.planned_again()
        self.result = proof
        require_sound(plan)
        if not (proof.ok or proof.unproved):
            raise ProofError(self.found(plan), proof)
        return plan

    def in_place(self, plan: ExportPlan) -> None:
        """Note in the proof what there is now: the file and its size, and what the plan says of calls."""
        if self.result is None:
            return
        is_compared = any(check.outputs for check in plan.checks)
        self.result = replace(self.result, is_compared=is_compared)
        file = self._export.file
        if isinstance(file, str | os.PathLike) and os.path.isfile(file):
            self.result = replace(self.result, file=str(file), size=os.path.getsize(file))

    def proved(self, plan: ExportPlan) -> ExportPlan:
        """Return a plan that is not to be written yet with what its proof finds."""
        with suppress(PackagingError):
            plan = self.prove(plan)
        return self.found(self._export.planned_again())

    def warn(self, plan: ExportPlan) -> None:
        """Warn once of all that stops nothing; where warnings are errors, nothing is written."""
        plan = self.found(plan)
        plan = replace(plan, warnings=tuple(one for one in plan.warnings if one not in plan.changes))
        ran = self.is_wanted and not (self.result and self.result.unproved)
        if plan.unreached and not ran:
            told = (
                f"{_first_of(plan)}: nothing was run, so the modules that it loads are unknown. Prove the "
                "archive with an example (example=x, --example x.npz), or store each module: "
                "exporter.save_module(name)"
            )
            plan = replace(plan, warnings=(*plan.warnings, told))
        file = self._export.file
        name = str(file) if isinstance(file, str | os.PathLike) else "the archive"
        is_told = plan.warnings or plan.dead_rules or plan.left_out
        if is_told and (concerns := plan.concerns()):
            text = in_lines(f"{name}: possible problems at the target", concerns)
            warnings.warn(PackagingWarning(text), stacklevel=callers_level())
        for place in plan.unchecked if self.is_wanted else ():
            told = f"{UNCHECKED} ({name}, {place}). Add an example to the call that saves it: example=x"
            warnings.warn(UncheckedOutputsWarning(told), stacklevel=callers_level())

    def _prove(self, plan: ExportPlan) -> Proof:
        """Return what the proof of the archive says, or why there is none: no process can be started."""
        from .clean_process import ProofStartError
        from .proof import Proof
        from .proving import Proving

        process, self.process = self.process, None
        try:
            return Proving(self._export, process).prove(plan)
        except ProofStartError as error:
            return Proof(unproved=str(error))


def watch_calls(sources: Mapping[str, tuple[str, bytes]]) -> CallWatch:
    """Return what tells changes that calls make to modules; `sources` are their files and texts, by name."""
    from .call_changes import CallWatch  # not every export makes calls

    return CallWatch(sources)


def _frameworks_of(cls: type) -> list[str]:
    """Return the modules of installed packages in which a class and its bases are defined, outermost last."""
    names = dict.fromkeys(base.__module__ for base in cls.__mro__)
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names}
    return [
        name
        for name, file in files.items()
        if name.partition(".")[0] in OWN_PACKAGES
        or (isinstance(file, str) and any(part in file for part in ("site-packages", "dist-packages")))
    ]


def _first_of(plan: ExportPlan) -> str:
    """Return the first import by a computed name, and how many there are besides."""
    first, *others = plan.unreached
    more = f" and {counted(len(others), 'other import')} in the plan" if others else ""
    return f"{first.text} at {first.file}:{first.line}{more}"
