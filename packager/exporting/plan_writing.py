"""From the plan to the file: the archive is written beside its target and put in place in one step."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO

from packager.archive import (
    ArchiveWriter,
    ExternRecord,
    ImportSite,
    Manifest,
    ModuleRecord,
    add_tensors,
)
from packager.policy import require_matched

from .plan import ExportPlan, PlannedExtern, PlannedModule, refusal


def write_plan(
    plan: ExportPlan,
    target: str | os.PathLike[str] | BinaryIO,
    *,
    digests: str = "sha256",
    fsync: bool = True,
    debug: bool = False,
    progress: Callable[[int, int], None] | None = None,
    check: Callable[[str], None] | None = None,
) -> str:
    """Write the archive that `plan` describes; return its identity.

    `check` is called with the path of the whole archive before it takes its name; see `ArchiveWriter`.

    Raises PackagingError for a plan with problems, EmptyMatchError for one whose rules matched
    nothing though they had to, ArchiveError where the archive cannot be written. In every case
    nothing is left behind, and an old file is untouched. What `check` raises goes through.
    """
    require_sound(plan, debug=debug)
    with ArchiveWriter(target, digests=digests, fsync=fsync, progress=progress, check=check) as writer:
        for entry in (*plan.entries, *plan.carried):
            writer.add(entry.name, entry.read(), kind=entry.kind)
        for member in plan.tensors:
            add_tensors(writer, member.name, member.specs, member.storages, metadata=member.metadata)
        return writer.seal(manifest_of(plan))


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
        state_dicts=plan.state_dicts,
        entry_points=plan.entry_points,
        checks=plan.checks,
        guards=plan.guards,
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
