"""The proof of one export: its process starts early, and what it finds goes into the plan and the errors."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from packager.atomic import temporary_folder
from packager.errors import PackagingError, PackagingWarning
from packager.exporting import (
    Export,
    ExportPlan,
    ModuleRequest,
    ObjectRequest,
    ResourceRequest,
    StateDictRequest,
    is_of_class,
    resource_entry,
    variables_of_here,
    write_plan,
)
from packager.process import callers_level
from packager.quick_dataclasses import replace
from packager.texts import in_lines

if TYPE_CHECKING:
    from .clean_process import CleanProcess
    from .computed_imports import OpenImport
    from .held_values import Held
    from .proof import GlobalDifference, Proof


class ExportProof:
    """What is done to prove one export, and what came of it: `result`, None before.

    What it needs is imported when there is something to prove.
    """

    def __init__(self, export: Export, *, is_wanted: bool) -> None:
        self.is_wanted = is_wanted
        self.result: Proof | None = None
        self.process: CleanProcess | None = None
        self._export = export
        self._given: dict[str, dict[str, Held]] = {}

    def expect(self, item: ObjectRequest | StateDictRequest) -> None:
        """Start the process where this item is sure to need one, before it is encoded."""
        if not self._export.request.is_repeated and is_of_class(item):
            self.start(loads_objects=True)

    def start(self, *, loads_objects: bool) -> None:
        """Start the process of the proof, which there will be: it begins beside the rest of the export."""
        if not self.is_wanted or self.process is not None or not self._export.ranks.is_first:
            return
        from .clean_process import CleanProcess, ProofStartError

        with suppress(ProofStartError, OSError):  # the proof itself will say so
            self.process = CleanProcess(loads_objects=loads_objects)

    def end(self) -> None:
        """End the process, where it was started and not needed."""
        process, self.process = self.process, None
        if process is not None:
            process.close()

    def note_made(self, place: str, obj: Any) -> None:
        """Remember what an object holds that a factory makes anew, to compare it with what that makes."""
        if self.is_wanted:
            from .made_objects import held_in  # few objects have a factory

            self._given[place] = held_in(obj)

    def found(self, plan: ExportPlan) -> ExportPlan:
        """Return the plan with what the proof found."""
        if self.result is None or self.result.is_plain:
            return plan
        from .refusing import ProofFindings

        return ProofFindings(plan, self.result).plan()

    def proved(self, plan: ExportPlan) -> ExportPlan:
        """Write a plan to a temporary file, prove it, and return it with what was found."""
        with temporary_folder("proving") as folder, suppress(PackagingError):
            file = os.path.join(folder, "archive.kellet")
            whole = replace(plan, tensors=tuple(self._export.archive.with_bytes(plan.tensors)))
            write_plan(whole, file, digests="crc", fsync=False, check=partial(self.check, plan))
        return self.found(plan)

    def check(self, plan: ExportPlan, file: str) -> None:
        """Open the archive that was written in a clean process; ProofError for what does not come back."""
        from .computed_imports import open_imports
        from .refusing import ProofError

        asked = open_imports(plan, lambda name: self._export.decisions.origin(name).is_at_hand)
        proof = self._prove(plan, file, asked)
        if proof.differences:
            proof = replace(proof, differences=self._changes(plan, proof))
        self.result = proof
        if not (proof.ok or proof.unproved):
            raise ProofError(self.found(plan), proof)

    def warn(self, plan: ExportPlan) -> None:
        """Warn once of all that stops nothing; where warnings are errors, nothing is written."""
        plan = self.found(plan)
        if not (plan.warnings or plan.questions or plan.dead_rules or plan.left_out):
            return
        if concerns := plan.concerns():
            file = self._export.file
            name = str(file) if isinstance(file, str | os.PathLike) else "the archive"
            text = in_lines(f"{name}: what may turn out wrong where it is loaded", concerns)
            warnings.warn(PackagingWarning(text), stacklevel=callers_level())

    def _prove(self, plan: ExportPlan, file: str, asked: Sequence[OpenImport]) -> Proof:
        """Return what the proof of an archive says, or why there is none: no process can be started."""
        from .clean_process import ProofStartError
        from .computed_imports import with_imports_asked
        from .proof import Proof
        from .proving import prove_archive

        export = self._export
        modules = tuple(one.name for one in export.request.of(ModuleRequest) if one.dependencies)
        unread = tuple(
            resource_entry(one.package, one.resource)
            for one in export.request.of(ResourceRequest)
            if one.kind == "pickle" and not one.dependencies
        )
        process, self.process = self.process, None
        try:
            proof = prove_archive(
                file,
                modules=modules,
                unread=unread,
                unneeded=export.surveyor.unneeded,
                unset=[one.name for one in plan.set_variables],
                unfound=variables_of_here(export.surveyor.unneeded),
                asked=[one.line for one in asked],
                given=self._given,
                installed=export.decisions.installed,
                progress=partial(export.tell, "proving"),
                process=process,
            )
        except ProofStartError as error:
            return Proof(unproved=str(error))
        return with_imports_asked(proof, asked) if asked and not proof.unproved else proof

    def _changes(self, plan: ExportPlan, proof: Proof) -> tuple[GlobalDifference, ...]:
        """Return the differences of globals, with what the running program did to make them."""
        from .running_changes import with_changes

        texts = {entry.name: bytes(entry.read()) for entry in plan.entries if entry.kind == "source"}
        files = {one.name: one.entry for one in plan.modules if one.entry in texts}
        sources = {name: texts[entry] for name, entry in files.items()}
        is_live = self._export.surveyor.survey().walk.is_live
        installed = self._export.decisions.installed
        classes = {use.name for record in plan.objects if not record.factory for use in record.types}
        frame = sys._getframe()
        return with_changes(proof.differences, sources, files, is_live, frame, installed, classes)
