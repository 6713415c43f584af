"""Proving an archive: a clean process is served what it lacks, or what runs nothing is loaded here."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence

from packager._archive import ArchiveReader
from packager._exporting import (
    Export,
    ExportPlan,
    ModuleRequest,
    Probe,
    RefusedPlanError,
    ResourceRequest,
    require_sound,
    resource_entry,
)
from packager._loading import BytecodeCache, default_bytecode_cache, place_of
from packager._quick_dataclasses import replace
from packager.errors import ArgumentError, PackageError
from packager.package_importer import PackageImporter

from .clean_process import CleanProcess
from .coming_back import ComingBack
from .conversation import Tell, converse, converse_until_nothing_is_named
from .differences import differences_of, left_behind
from .proof import Proof, ProofFailure, ProofOrder, Run, bytecode_in
from .search_places import order_for, variables_here
from .serving import Serving, module_of

TIMEOUT = 1800
"""Seconds that all of it may take; a large model with its frameworks takes one or two minutes."""
_MOST_HIDDEN_ALONE = 8
_MOST_IMPORTED = 32
_MENDED_BY_IMPORTS = ("object", "differs", "entry point", "call")
_PYTHON = ("stdlib", "builtin")


class Proving:
    """The conversation over one export: what it is served joins the survey of the export.

    A `process` that was started before is taken, where one that is started now would begin as it did; it is
    ended in any case.
    """

    def __init__(self, export: Export, process: CleanProcess | None) -> None:
        self._export = export
        self._served = export.surveyor.served
        self._process = process
        self._kept = default_bytecode_cache()
        self._deadline = time.monotonic() + _seconds_to_take()

    def prove(self, plan: ExportPlan) -> Proof:
        """Open the archive as it is planned in a clean process, and return what came of it.

        There nothing of the project can be imported, stored packages are hidden, and the working directory is
        an empty folder. What was saved is loaded, encoded again, and called. Modules and files of the project
        that the archive lacks are served, and noted. At last the archive is opened with what was served, and
        without the externs that import statements do not need for certain: those that are missed then are
        required.

        Whatever goes wrong there is in the proof, also where the process dies. Raises ProofStartError where
        it cannot be started, and what a hook raises that is told of a module.
        """
        path = self._export.archive.draft(plan)
        with contextlib.ExitStack() as ending:
            if self._process is not None:
                ending.callback(self._process.close)
            if self._runs_nothing(path):
                return _prove_here(path)
            process = self._process
            if process is None or not process.fits():
                process = ending.enter_context(contextlib.closing(CleanProcess()))
            steps = self._steps(plan)

            def tell(done: int) -> None:
                self._export.tell("proving", done, steps)

            tell(0)
            runs = self._conversation(process, self._order(plan, path), tell)
            proof = self._compared(runs[-1])
            if imported := self._with_imports(process, proof):
                runs = (*runs, imported)
                proof = self._compared(imported)
            self._note(runs)
            if proof.ok:
                proof = self._opened_alone(process, runs, proof)
            if proof.ok:
                tell(steps)
            return proof

    def _conversation(
        self, process: CleanProcess, order: ProofOrder, tell: Tell = lambda done: None
    ) -> tuple[Run, ...]:
        serving = Serving(self._export, self._drafted)
        timeout = self._seconds_left()
        return converse_until_nothing_is_named(order, process, serving, timeout=timeout, tell=tell)

    def _seconds_left(self) -> float:
        return max(self._deadline - time.monotonic(), 0)

    # --- what was seen ---

    def _note(self, runs: Sequence[Run]) -> None:
        """Note what the runs looked for, and which imports by computed names they came to."""
        self._served.reached = frozenset(f"{file}:{line}" for run in runs for file, line, _ in run.proof.ran)
        probes = [one for run in runs for one in run.probes if one.kind in ("module", "distribution")]
        found = {Probe(module_of(one.place.file), one.kind, one.name) for one in probes}
        self._served.probes = tuple(sorted(found, key=str))

    def _compared(self, run: Run) -> Proof:
        """Return the proof of a run with what is otherwise there than here, as far as that is to be told."""
        plan, installed = self._export.planned_again(), self._export.decisions.installed
        failed = {failure.module for failure in run.proof.failures}
        missed = [one for one in run.absent if one.kind == "import" and one.name in sys.modules]
        return replace(
            run.proof,
            differences=differences_of(run, plan, installed),
            missed=tuple(one for one in missed if one.place is not None and one.name not in failed),
        )

    def _with_imports(self, process: CleanProcess, proof: Proof) -> Run | None:
        """Try whether answers hang on what modules do when they are imported; return the run that agrees.

        Modules of the project that are loaded here and not there are stored, and imported before the object
        is loaded; first those that what differs speaks of. Those without which it came through go again.
        """
        found = [one for one in left_behind(proof.differences) if self._export.decisions.is_ruled(one)]
        if proof.ok or not found or any(one.kind not in _MENDED_BY_IMPORTS for one in proof.failures):
            return None
        self._served.importing = frozenset(_objects_of(proof, self._export.plan()))
        said = "\n".join(one.here for one in proof.differences)
        named = [name for name in found if re.search(rf"\b{re.escape(name)}[.:]", said)]
        for names in dict.fromkeys((tuple(named), tuple(found[:_MOST_IMPORTED]))):
            run = self._importing(process, names) if names else None
            if run is None:
                continue
            for name in names[: -_MOST_HIDDEN_ALONE - 1 : -1]:  # who imports others is loaded after them
                fewer = tuple(one for one in self._served.imports if one != name)
                run = (self._importing(process, fewer) if fewer else None) or run
            return run
        return None

    def _importing(self, process: CleanProcess, names: tuple[str, ...]) -> Run | None:
        """Hold a conversation where these are imported first; where it does not agree, all is as before."""
        surveyor = self._export.surveyor
        before, imports = dict(self._served.modules), self._served.imports
        with contextlib.suppress(RefusedPlanError):  # what these need is not to be stored
            surveyor.import_first(names)
            run = self._conversation(process, self._drafted())[-1]
            if run.proof.ok:
                return run
        surveyor.serve_only(before, imports)
        return None

    def _opened_alone(self, process: CleanProcess, runs: Sequence[Run], proof: Proof) -> Proof:
        """Open the finished archive: nothing is served, and optional externs are hidden from stored code.

        Where it does not come back so, each of them is hidden alone, eight at most; the others are required.
        """
        loaded = {one.name for run in runs for one in run.externs}
        externs = [one for one in self._export.planned_again().externs if one.optional]
        hidden = [one.name for one in externs if one.origin.kind not in _PYTHON and one.name in loaded]
        with contextlib.ExitStack() as ending:
            if self._served.modules or self._served.files or hidden:
                if any(run.proof.ran for run in runs):  # a computed import may go by the order of a set
                    process = ending.enter_context(contextlib.closing(process.anew(hash_seed=1)))
                bare = self._missed(process, hidden)
                if bare.failures:
                    return bare
            # The last run may have missed what was hidden: what an earlier one has unpacked is kept, too.
            caches = dict.fromkeys((os.path.dirname(runs[-1].code), os.path.join(process.folder, "cache")))
            with ArchiveReader(self._export.archive.part, digests="none") as reader:
                for cache in caches:
                    _keep_compiled(self._kept, reader, cache)
        return proof

    def _missed(self, process: CleanProcess, hidden: Sequence[str]) -> Proof:
        """Note which of these externs are missed where they are hidden; return the last proof of it."""
        order = self._drafted()

        def without(*names: str) -> Proof:
            return converse(replace(order, withheld=names), process, timeout=self._seconds_left()).proof

        if (proof := without(*hidden)).ok or (proof := without()).failures:
            return proof
        first, rest = hidden[:_MOST_HIDDEN_ALONE], hidden[_MOST_HIDDEN_ALONE:]
        missed = [name for name in first if not without(name).ok]
        others = [name for name in first if name not in missed]
        if len(others) > 1 and not without(*others).ok:
            missed = [*first]  # one will do in the place of another
        self._served.required = frozenset([*missed, *rest])
        return proof

    # --- orders ---

    def _modules(self) -> tuple[str, ...]:
        return tuple(one.name for one in self._export.request.of(ModuleRequest) if one.dependencies)

    def _drafted(self) -> ProofOrder:
        """Write the archive anew with what was served, and return the order for it."""
        plan = self._export.planned_again()
        require_sound(plan)
        return self._order(plan, self._export.archive.draft(plan))

    def _order(self, plan: ExportPlan, path: str) -> ProofOrder:
        export = self._export
        pickles = [one for one in export.request.of(ResourceRequest) if one.kind == "pickle"]
        unread = [resource_entry(one.package, one.resource) for one in pickles if not one.dependencies]
        with ArchiveReader(path, digests="none") as reader:
            order = order_for(path, reader, self._modules(), export.decisions.installed)
        return replace(
            order,
            unread=tuple(unread),
            asked=tuple((one.file, one.line, one.function) for one in plan.unreached),
            variables=variables_here(export.surveyor.variables),
            keeps=self._kept.keeps,
        )

    def _runs_nothing(self, path: str) -> bool:
        """Say whether loading all of it runs no code and needs no name: plain data, tensors, texts."""
        with ArchiveReader(path, digests="none") as reader:
            manifest = reader.manifest
        named = any(record.types or record.factory for record in manifest.objects)
        pickled = any(entry.kind == "pickle" for entry in manifest.entries)
        return not (named or pickled or self._modules() or manifest.checks)

    def _steps(self, plan: ExportPlan) -> int:
        pickles = sum(entry.kind == "pickle" for entry in plan.entries)
        return len(self._modules()) + pickles + len(plan.objects) + len(plan.state_dicts) + len(plan.checks)


def _seconds_to_take() -> float:
    """Return how many seconds all of it may take: what KELLET_PROOF_SECONDS says."""
    said = os.environ.get("KELLET_PROOF_SECONDS", f"{TIMEOUT}")
    try:
        return float(said)
    except ValueError:
        raise ArgumentError(f"KELLET_PROOF_SECONDS={said!r}: expected a number of seconds, as 600") from None


def _objects_of(proof: Proof, plan: ExportPlan) -> Iterator[tuple[str, str]]:
    """Yield the objects that failures are about, or that golden calls which failed are made on."""
    failed = {failure.subject for failure in proof.failures}
    called = {check.entry_point for check in plan.checks if f"check {check.name}" in failed}
    yield from ((one.package, one.resource) for one in plan.entry_points if one.name in called)
    for record in plan.objects:
        if f"object {record.package}/{record.resource}" in failed:
            yield record.package, record.resource


def _keep_compiled(kept: BytecodeCache, reader: ArchiveReader, cache: str) -> None:
    """Keep for loads on this machine what a run has compiled in a cache of its own."""
    entries = [one for one in reader.manifest.entries if one.kind == "source"]
    kept.take_over(bytecode_in(cache), [(place_of(one.name), one.sha256) for one in entries if one.sha256])


def _prove_here(file: str) -> Proof:
    """Load plain data, tensors and texts in this process."""
    with PackageImporter(
        file, environment="ignore", digests="none", bytecode=None, signed_by="anyone"
    ) as importer:
        coming_back = ComingBack(importer)
        done, failures = [], []
        for step in coming_back.steps():
            done.append(f"{step.kind}: {step.subject}")
            try:
                step.run()
            except PackageError as error:
                failures.append(ProofFailure(step.kind, step.subject, str(error)))
    return Proof(tuple(done), tuple(failures), notes=tuple(coming_back.notes), in_process=True)
