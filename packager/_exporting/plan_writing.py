"""From the plan to the file: the archive is written beside its target and put in place in one step."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import Lock
from typing import BinaryIO

from packager._archive import (
    ArchiveWriter,
    ExternRecord,
    ImportSite,
    Manifest,
    ModuleRecord,
    Place,
    Sign,
    add_tensors,
)
from packager._policy import require_matched
from packager._process import gc_paused
from packager._quick_dataclasses import replace

from .plan import ExportPlan, PlannedExtern, PlannedModule, PlannedTensors, refusal


class BegunArchive:
    """An archive that has been begun: its tensors are taken as they come, the rest is written with the plan.

    Raises ArchiveIOError for a target that cannot be written to. Nothing is created before the first tensors.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        *,
        digests: str = "sha256",
        fsync: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._writer = ArchiveWriter(target, digests=digests, fsync=fsync, progress=progress)
        self._lock = Lock()

    @property
    def is_open(self) -> bool:
        """Whether it can be gone on with; not after an error while it was written."""
        return self._writer.is_open

    @property
    def part(self) -> str:
        """The path of the unfinished file, once there is one."""
        return self._writer.part

    @property
    def has_bytes(self) -> bool:
        """Whether what was taken can be looked at in this process."""
        return True

    def take(self, members: Sequence[PlannedTensors]) -> list[PlannedTensors]:
        """Write the tensors of one save; return them with where they lie in the place of their memory.

        Raises ArchiveError for what cannot be stored, ArchiveIOError where it cannot be written. Where
        anything of the save has been written by then, that is the end of the archive.
        """
        with self._lock, gc_paused():  # a record for each tensor, none of which is garbage yet
            try:
                return [replace(member, storages=self._add(member)) for member in members]
            except BaseException:
                if self.is_open and any(member.name in self._writer for member in members):
                    self.discard()
                raise

    def with_bytes(self, members: Sequence[PlannedTensors]) -> list[PlannedTensors]:
        """Return tensors that were taken with what was written, read-only; others as they are."""
        with self._lock:
            taken = [place for member in members for place in member.storages if isinstance(place, Place)]
            views = iter(self._writer.written(taken) if taken else ())
            return [
                replace(
                    member,
                    storages=tuple(next(views) if isinstance(one, Place) else one for one in member.storages),
                )
                for member in members
            ]

    def draft(self, plan: ExportPlan) -> str:
        """Write the whole archive, to be opened before it is finished, and return the path of that file.

        What is no tensors is written anew then. Raises ArchiveError where it cannot be written.
        """
        self._add_all(plan)
        return self._writer.draft(manifest_of(plan), [one.name for one in (*plan.entries, *plan.carried)])

    def finish(
        self,
        plan: ExportPlan,
        *,
        check: Callable[[str], None] | None = None,
        sign: Sign | None = None,
    ) -> str:
        """Write everything else, and put the archive in place; return its identity.

        `check` is called with the path of the whole archive before it takes its name, and `sign` makes its
        signatures. Raises ArchiveError
        where it cannot be written; then nothing is left behind, and an old file is untouched. What `check`
        raises goes through.
        """
        self._add_all(plan)
        return self._writer.seal(manifest_of(plan), check=check, sign=sign)

    def _add_all(self, plan: ExportPlan) -> None:
        for member in plan.tensors:
            if member.name not in self._writer:
                self._add(member)
        for entry in (*plan.entries, *plan.carried):
            self._writer.add(entry.name, entry.read(), kind=entry.kind)

    def discard(self) -> None:
        """Leave nothing behind; an old file is as it was."""
        self._writer.abort()

    def _add(self, member: PlannedTensors) -> Sequence[Place]:
        return add_tensors(self._writer, member.name, member.specs, member.storages, metadata=member.metadata)


def require_sound(plan: ExportPlan, *, debug: bool = False) -> None:
    """Raise the error that keeps `plan` from being written; problems come before rules that matched nothing.

    That is RefusedPlanError, whose message shows with `debug` the imports that led there, or EmptyMatchError.
    """
    if plan.problems:
        raise refusal(plan, debug=debug)
    require_matched(plan.empty_rules)


def manifest_of(plan: ExportPlan) -> Manifest:
    """Return what the archive says about itself."""
    return Manifest(
        modules=tuple(_module_record(module) for module in plan.modules),
        externs=tuple(_extern_record(extern) for extern in plan.externs),
        objects=plan.objects,
        imports=plan.imports,
        state_dicts=plan.state_dicts,
        entry_points=plan.entry_points,
        checks=plan.checks,
        schemas=plan.schemas,
        traces=plan.traces,
        environment=dict(plan.environment),
    )


def _module_record(module: PlannedModule) -> ModuleRecord:
    sites = sorted({(edge.importer, edge.file, edge.line) for edge in module.importers})
    return ModuleRecord(
        name=module.name,
        action=module.action,
        rule=module.rule,
        because=module.because,
        entry=module.entry,
        is_package=module.is_package,
        importers=tuple(ImportSite(*site) for site in sites),
    )


def _extern_record(extern: PlannedExtern) -> ExternRecord:
    origin = extern.origin
    return ExternRecord(
        extern.name, origin.kind, origin.distribution, origin.version, extern.requirement, extern.optional
    )
