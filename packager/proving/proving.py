"""Proving an archive: a clean process is served what it lacks, or what runs nothing is loaded here."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from functools import partial

from packager.archive import ArchiveReader
from packager.errors import ArchiveError, PackageError
from packager.exporting import (
    Export,
    ExportPlan,
    ModuleRequest,
    RefusedPlanError,
    ResourceRequest,
    require_sound,
    resource_entry,
)
from packager.loading import BytecodeCache, PackagedCode, Unpacker, default_bytecode_cache, place_of
from packager.package_importer import PackageImporter
from packager.quick_dataclasses import replace

from .clean_process import CleanProcess
from .coming_back import ComingBack
from .conversation import TIMEOUT, converse, converse_until_nothing_is_named
from .differences import Seen
from .proof import Proof, ProofFailure, ProofOrder, bytecode_in
from .questions import Run
from .search_places import order_for, variables_here
from .serving import Serving
from .suspects import differences_of, left_behind, lost_by_factories

_MOST_HIDDEN_ALONE = 8
_MOST_IMPORTED = 32
_MENDED_BY_IMPORTS = ("object", "differs", "entry point", "call")
_PYTHON = ("stdlib", "builtin")


class Proving:
    """The conversation over one export: what it is served joins the survey of the export.

    `given` is what objects held that a factory makes anew, by "object model/model". A `process` that was
    started before is taken, where one that is started now would begin as it did; it is ended in any case.
    """

    def __init__(self, export: Export, given: Seen, process: CleanProcess | None) -> None:
        self._export = export
        self._given = given
        self._process = process
        self._kept = default_bytecode_cache()
        self._deadline = time.monotonic() + TIMEOUT

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
            serving = Serving(self._export, self._drafted)
            self._tell(0, plan)
            runs = converse_until_nothing_is_named(
                self._order(plan, path),
                process,
                serving,
                timeout=self._seconds_left(),
                tell=partial(self._tell, plan=plan),
            )
            proof = self._compared(runs[-1])
            if imported := self._with_imports(process, proof):
                runs = (*runs, imported)
                proof = self._compared(imported)
            self._note(runs)
            if proof.ok:
                proof = self._opened_alone(process, runs, proof)
            if proof.ok:
                self._tell(self._steps(plan), plan)
            return proof

    def _drafted(self) -> ProofOrder:
        """Write the archive anew with what was served, and return the order for it."""
        plan = self._export.planned_again()
        require_sound(plan)
        return self._order(plan, self._export.archive.draft(plan))

    # --- what was seen ---

    def _note(self, runs: Sequence[Run]) -> None:
        """Note what the runs looked for, and which imports by computed names they came to."""
        from packager.exporting import Probe

        served = self._export.surveyor.served
        served.reached = frozenset(f"{file}:{line}" for run in runs for file, line, _ in run.proof.ran)
        found = {
            Probe(
                one.place.file.removesuffix(".py").removesuffix("/__init__").replace("/", "."), kind, one.name
            )
            for run in runs
            for one in run.probes
            if one.kind in ("module", "distribution")
            for kind in [str(one.kind)]
        }
        served.probes = tuple(sorted(found, key=str))

    def _compared(self, run: Run) -> Proof:
        """Return the proof of a run with what is otherwise there than here, as far as that is to be told."""
        plan, installed = self._export.planned_again(), self._export.decisions.installed
        notes = (*run.proof.notes, *lost_by_factories(self._given, run))
        return replace(run.proof, differences=differences_of(run, plan, installed), notes=notes)

    def _with_imports(self, process: CleanProcess, proof: Proof) -> Run | None:
        """Try whether answers hang on what modules do when they are imported; return the run that agrees.

        Modules of the project that are loaded here and not there are stored, and imported before the object
        is loaded; first those that what differs speaks of. Those without which it came through go again.
        """
        found = [one for one in left_behind(proof.differences) if self._export.decisions.is_ruled(one)]
        if proof.ok or not found or any(one.kind not in _MENDED_BY_IMPORTS for one in proof.failures):
            return None
        self._export.surveyor.served.importing = frozenset(_objects_of(proof, self._export.plan()))
        texts = [one.here for one in proof.differences]
        named = [
            name for name in found if any(re.search(rf"\b{re.escape(name)}[.:]", text) for text in texts)
        ]
        for names in dict.fromkeys((tuple(named), tuple(found[:_MOST_IMPORTED]))):
            run = self._importing(process, names) if names else None
            if run is None:
                continue
            for name in names[: -_MOST_HIDDEN_ALONE - 1 : -1]:  # who imports others is loaded after them
                fewer = tuple(one for one in self._export.surveyor.served.imports if one != name)
                run = (self._importing(process, fewer) if fewer else None) or run
            return run
        return None

    def _importing(self, process: CleanProcess, names: tuple[str, ...]) -> Run | None:
        """Hold a conversation where these are imported first; where it does not agree, all is as before."""
        surveyor = self._export.surveyor
        before, imports = dict(surveyor.served.modules), surveyor.served.imports
        try:
            surveyor.import_first(names)
            runs = converse_until_nothing_is_named(
                self._drafted(),
                process,
                Serving(self._export, self._drafted),
                timeout=self._seconds_left(),
            )
            if runs[-1].proof.ok:
                return runs[-1]
        except RefusedPlanError:  # what these need is not to be stored
            pass
        surveyor.serve_only(before, imports)
        return None

    def _opened_alone(self, process: CleanProcess, runs: Sequence[Run], proof: Proof) -> Proof:
        """Open the finished archive: nothing is served, and optional externs are hidden from stored code.

        Where it does not come back so, each of them is hidden alone, eight at most; the others are required.
        """
        served = self._export.surveyor.served
        plan = self._export.planned_again()
        require_sound(plan)
        loaded = {one.name for run in runs for one in run.externs}
        optional = [one.name for one in plan.externs if one.optional and one.origin.kind not in _PYTHON]
        hidden = tuple(name for name in optional if name in loaded)
        if not (served.modules or served.files or hidden):
            return self._with_compiled(proof, runs[-1].code, process)
        order = self._order(plan, self._export.archive.draft(plan))
        is_computed = any(run.proof.ran for run in runs)
        with contextlib.ExitStack() as ending:
            if is_computed:
                process = ending.enter_context(contextlib.closing(process.anew(hash_seed=1)))

            def without(*names: str) -> Proof:
                alone = replace(order, withheld=names)
                return converse(alone, process, timeout=self._seconds_left()).proof

            if not without(*hidden).ok:
                if (bare := without()).failures:
                    return bare
                first, rest = hidden[:_MOST_HIDDEN_ALONE], hidden[_MOST_HIDDEN_ALONE:]
                missed = [name for name in first if not without(name).ok]
                others = [name for name in first if name not in missed]
                if len(others) > 1 and not without(*others).ok:
                    missed = [*first]  # one will do in the place of another
                served.required = frozenset([*missed, *rest])
            return self._with_compiled(proof, runs[-1].code, process)

    def _seconds_left(self) -> float:
        return max(self._deadline - time.monotonic(), 0)

    # --- orders ---

    def _modules(self) -> tuple[str, ...]:
        return tuple(one.name for one in self._export.request.of(ModuleRequest) if one.dependencies)

    def _order(self, plan: ExportPlan, path: str) -> ProofOrder:
        export = self._export
        unread = tuple(
            resource_entry(one.package, one.resource)
            for one in export.request.of(ResourceRequest)
            if one.kind == "pickle" and not one.dependencies
        )
        with ArchiveReader(path, digests="none") as reader:
            order = order_for(path, reader, self._modules(), export.decisions.installed)
        return replace(
            order,
            unread=unread,
            asked=tuple((one.file, one.line, one.function) for one in plan.unreached),
            variables=variables_here(export.surveyor.unneeded),
            keeps=self._kept.keeps,
        )

    def _runs_nothing(self, path: str) -> bool:
        """Say whether loading all of it runs no code and needs no name: plain data, tensors, texts."""
        with ArchiveReader(path, digests="none") as reader:
            manifest = reader.manifest
        named = any(record.types or record.factory for record in manifest.objects)
        pickled = any(entry.kind == "pickle" for entry in manifest.entries)
        return not (named or pickled or self._modules() or manifest.checks)

    def _tell(self, done: int, plan: ExportPlan) -> None:
        self._export.tell("proving", done, self._steps(plan))

    def _steps(self, plan: ExportPlan) -> int:
        pickles = sum(entry.kind == "pickle" for entry in plan.entries)
        stored = len(plan.objects) + len(plan.state_dicts) + pickles + len(plan.checks)
        return len(self._modules()) + stored

    # --- what is kept for loads ---

    def _with_compiled(self, proof: Proof, code: str, process: CleanProcess) -> Proof:
        """Keep for loads on this machine what runs have compiled and unpacked; return the proof.

        `code` is where one that came through has unpacked: the last one may have missed what was hidden.
        """
        with ArchiveReader(self._export.archive.part, digests="none") as reader:
            for cache in dict.fromkeys((os.path.dirname(code), os.path.join(process.folder, "cache"))):
                _keep_compiled(self._kept, reader, cache)
        return proof


def _objects_of(proof: Proof, plan: ExportPlan) -> Iterator[tuple[str, str]]:
    """Yield the objects that failures are about, or that golden calls which failed are made on."""
    failed = {failure.subject for failure in proof.failures}
    called = {check.entry_point for check in plan.checks if f"check {check.name}" in failed}
    yield from ((one.package, one.resource) for one in plan.entry_points if one.name in called)
    for record in plan.objects:
        if f"object {record.package}/{record.resource}" in failed:
            yield record.package, record.resource


def _keep_compiled(kept: BytecodeCache, reader: ArchiveReader, cache: str) -> None:
    entries = [one for one in reader.manifest.entries if one.kind == "source"]
    sources = [(place_of(one.name), one.sha256) for one in entries if one.sha256]
    kept.take_over(bytecode_in(cache), sources)
    if kept.keeps:
        _unpack_for_loads(reader.name, os.path.join(cache, "code"))


def _unpack_for_loads(file: str, proofs: str) -> None:
    """Unpack for loads on this machine what the proof had to unpack, below `proofs`; it runs nothing.

    Out of the archive, and checked as a load does, since code of the proof may have written into its own.
    """
    with contextlib.suppress(OSError, ArchiveError), ArchiveReader(file, digests="crc") as reader:
        try:
            tops = os.listdir(os.path.join(proofs, reader.identity))
        except FileNotFoundError:
            return
        code = PackagedCode(reader)
        Unpacker(code, reader.identity).unpack_for_others(
            code.owned.intersection(one.removesuffix(".py") for one in tops)
        )


def _prove_here(file: str) -> Proof:
    """Load plain data, tensors and texts in this process."""
    with PackageImporter(file, environment="ignore", digests="none", bytecode=None) as importer:
        coming_back = ComingBack(importer)
        done, failures = [], []
        for step in coming_back.steps():
            done.append(f"{step.kind}: {step.subject}")
            try:
                step.run()
            except PackageError as error:
                failures.append(ProofFailure(step.kind, step.subject, str(error)))
    return Proof(tuple(done), tuple(failures), notes=tuple(coming_back.notes), in_process=True)
