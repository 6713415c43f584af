"""A plan against a trace: what was stored and not used, and what was used and not stored."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence

from packager.exporting import ExportPlan
from packager.graph import ComputedImport
from packager.policy import GlobGroup, Policy, Rule
from packager.quick_dataclasses import dataclass
from packager.texts import in_lines

from .tracing import Frame, Trace

_CODE = (".py", ".pyc", ".so", ".pyd")


@dataclass(frozen=True)
class TracedImport:
    """A place that loaded modules which no import statement names; `loaded` are its own."""

    file: str
    line: int
    text: str
    loaded: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.file}:{self.line}  {self.text}".rstrip()]
        lines.append(f"    the call loaded {', '.join(self.loaded)}")
        lines += [f"    to store it: exporter.save_module({name!r})" for name in self.loaded]
        return in_lines(*lines)


@dataclass(frozen=True)
class TraceComparison:
    """How one call differs from what reading the source found.

    `unused` modules and files were stored and not used: a policy can leave them out for this call.
    `missed` modules were imported below a stored package and are not in the plan, `missed_files`
    likewise opened; `imports` are the places that loaded the missed modules.
    """

    used: tuple[str, ...]
    unused: tuple[str, ...]
    missed: tuple[str, ...]
    missed_files: tuple[str, ...]
    unused_files: tuple[str, ...] = ()
    imports: tuple[TracedImport, ...] = ()

    def __str__(self) -> str:
        lines = [f"trace: {len(self.used)} of {len(self.used) + len(self.unused)} stored modules were used"]
        lines += [f"    not used: {name}" for name in (*self.unused, *self.unused_files)]
        lines += [f"    used, but not stored: {name}" for name in self.missed]
        lines += [f"    read, but not stored: {name}" for name in self.missed_files]
        if self.imports:
            lines.append("imports that no statement names, for this call:")
            lines += [f"    {line}" for place in self.imports for line in str(place).splitlines()]
        return in_lines(*lines)


def compare_trace(plan: ExportPlan, trace: Trace) -> TraceComparison:
    """Compare a plan with a trace of the call that it is meant for.

    What only making the object used is not missed where it is stored as it is, and what makes it is not; but
    for what stored modules import while they are imported themselves, as they are again at the target.

    >>> import io
    >>> from packager import PackageExporter
    >>> from packager.analysis import Trace
    >>> exporter = PackageExporter(io.BytesIO())
    >>> exporter.save_source_string("net", "")
    >>> exporter.save_source_string("unused", "")
    >>> compare_trace(exporter.plan(), Trace(frozenset({"net"}), frozenset())).unused
    ('unused',)
    """
    planned = {module.name for module in plan.modules}
    stored = [module.name for module in plan.by_action("intern")]
    top_level_names = {name.partition(".")[0] for name in stored}
    is_made_again = trace.target.partition(":")[0] in stored
    places = _Places(plan)
    modules = trace.modules
    if not is_made_again:
        made = [name for name in trace.built_modules if not places.at_import(trace.stacks.get(name, ()))]
        modules = modules.difference(made)
    files = trace.files if is_made_again else trace.files - trace.built_files
    missed = sorted(name for name in modules - planned if name.partition(".")[0] in top_level_names)
    opened = {name for name in map(_relative, trace.files) if name.partition("/")[0] in top_level_names}
    needed = {name for name in map(_relative, files) if name in opened and not _is_code(name)}
    entries = {entry.name for entry in plan.entries}
    return TraceComparison(
        used=tuple(name for name in stored if name in trace.modules),
        unused=tuple(name for name in stored if name not in trace.modules),
        missed=tuple(missed),
        missed_files=tuple(sorted(needed - entries)),
        unused_files=tuple(sorted(file.name for file in plan.data_files if file.name not in opened)),
        imports=tuple(places.of(missed, trace.stacks)),
    )


def pruned(policy: Policy, comparison: TraceComparison) -> Policy:
    """Return `policy` for the traced call alone: with mocks for the modules that it did not use, and
    without the files that it did not open.

    >>> comparison = TraceComparison(used=("net",), unused=("net.plots",), missed=(), missed_files=())
    >>> print(*pruned(Policy("auto"), comparison).rules)
    mock('net.plots')
    """
    because = "the trace did not import it"
    return policy.before(
        [Rule("mock", GlobGroup(name), because=because) for name in comparison.unused],
        exclude_data=comparison.unused_files,
    )


def _is_code(file: str) -> bool:
    """Say whether a file is read by imports alone, or written by them."""
    return file.endswith(_CODE) or "/__pycache__/" in file


class _Places:
    """Which places of the stored code loaded modules, found among the frames of their imports."""

    def __init__(self, plan: ExportPlan) -> None:
        self._plan = plan
        self._sources = {entry.name for entry in plan.entries if entry.kind == "source"}

    def of(self, missed: Iterable[str], stacks: Mapping[str, Sequence[Frame]]) -> Iterable[TracedImport]:
        """Yield one for each place. What a missed module imports in turn is found once that one is stored."""
        direct: dict[tuple[str, int], list[str]] = {}
        texts: dict[tuple[str, int], str] = {}
        for name in missed:
            place = self._place(stacks.get(name, ()))
            if place is not None:
                file, line, text, is_direct = place
                texts[file, line] = text
                direct.setdefault((file, line), []).extend([name] if is_direct else [])
        for (file, line), text in texts.items():
            if loaded := tuple(direct[file, line]):
                yield TracedImport(file, line, text, loaded)

    def at_import(self, stack: Sequence[Frame]) -> bool:
        """Say whether an import happened while a stored module was being imported."""
        return any(frame.function == "<module>" and _relative(frame.file) in self._sources for frame in stack)

    def _place(self, stack: Sequence[Frame]) -> tuple[str, int, str, bool] | None:
        """Return file, line, the text there, and whether nothing stands between it and the import.

        Frames of other packages and of text that is executed may stand between: they import for it.
        """
        inside = [(frame, _relative(frame.file)) for frame in stack]
        top_level_names = {name.partition("/")[0] for name in self._sources}
        is_direct = True
        for frame, file in inside:
            if file in self._sources:
                found = self._computed(file, frame)
                return file, found.line if found else frame.line, found.text if found else "", is_direct
            is_direct = is_direct and file.partition("/")[0] not in top_level_names
        return None

    def _computed(self, file: str, frame: Frame) -> ComputedImport | None:
        """Return the import by a computed name on a frame's line, else that of its function."""
        inside = [one for one in (*self._plan.unreached, *self._plan.library_unreached) if one.file == file]
        here = [one for one in inside if one.line == frame.line]
        return next(iter(here or [one for one in inside if one.function == frame.function]), None)


def _relative(path: str) -> str:
    """Return the path of a file below the entry of `sys.path` that holds it; "" for others."""
    folders = (os.path.join(os.path.abspath(entry or os.curdir), "") for entry in sys.path)
    inside = [folder for folder in folders if path.startswith(folder)]
    return path[len(max(inside, key=len)) :].replace(os.sep, "/") if inside else ""
