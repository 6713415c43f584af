"""A plan against a trace: what was stored and not used, and what was used and not stored."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from packager.exporting import ExportPlan

from .tracing import Trace

__all__ = ["TraceComparison", "compare_trace"]


@dataclass(frozen=True)
class TraceComparison:
    """How one call differs from what reading the source found.

    `unused` modules were stored and not imported: they can be mocked for this call. `missed`
    modules were imported below a stored package and are not in the plan: their names are computed
    while the code runs, and need a rule or an answer. `missed_files` likewise for data.
    """

    used: tuple[str, ...]
    unused: tuple[str, ...]
    missed: tuple[str, ...]
    missed_files: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"trace: {len(self.used)} of {len(self.used) + len(self.unused)} stored modules were used"]
        lines += [f"    not used: {name}" for name in self.unused]
        lines += [f"    used, but not stored: {name}" for name in self.missed]
        lines += [f"    read, but not stored: {name}" for name in self.missed_files]
        return "\n".join(lines)


def compare_trace(plan: ExportPlan, trace: Trace) -> TraceComparison:
    """Compare a plan with a trace of the call that it is meant for."""
    planned = {module.name for module in plan.modules}
    stored = [module.name for module in plan.by_action("intern")]
    tops = {name.partition(".")[0] for name in stored}
    missed = (name for name in trace.modules - planned if name.partition(".")[0] in tops)
    return TraceComparison(
        used=tuple(name for name in stored if name in trace.modules),
        unused=tuple(name for name in stored if name not in trace.modules),
        missed=tuple(sorted(missed)),
        missed_files=tuple(sorted(_missed_files(plan, trace, tops))),
    )


def _missed_files(plan: ExportPlan, trace: Trace, tops: set[str]) -> set[str]:
    """Files that were opened below the folder of a stored package and are not among the entries."""
    entries = {entry.name for entry in plan.entries}
    found = set()
    for path in trace.files:
        for folder in filter(None, sys.path):
            name = path.removeprefix(f"{folder.rstrip('/')}/")
            if name != path and name.partition("/")[0] in tops and not name.endswith((".py", ".pyc")):
                found.add(name)
    return found - entries
