"""Where an object comes from, and what a call really uses: what torch.package calls `analyze`.

A plan finds what may be needed; a trace finds what one call did need. The difference in one direction can be
pruned; the other way it is something that no import statement names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from packager._calls import load_inputs
from packager._names import is_from_archive
from packager._quick_dataclasses import dataclass, field
from packager._texts import in_lines
from packager.errors import PackageError

if TYPE_CHECKING:
    from packager._exporting import ExportPlan
    from packager._policy import Policy


_CODE = (".py", ".pyc", ".so", ".pyd")
_CACHE = "/__pycache__/"


class TraceError(PackageError, RuntimeError):
    """The traced call failed; the message ends with what it printed last."""


class Frame(NamedTuple):
    """A place that was running: the absolute path of a file, a line, the function's qualified name."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Trace:
    """What a call used: the modules that were imported by its end, and the files that it opened.

    `built_modules` and `built_files` are those by the time when the object of `target` was there,
    which an export may store as it then is. `stacks` say for each module that had to be found who
    imported it first: the frames from the import outwards, without those of Python's import system.
    """

    modules: frozenset[str]
    files: frozenset[str]
    target: str = ""
    built_modules: frozenset[str] = frozenset()
    built_files: frozenset[str] = frozenset()
    stacks: Mapping[str, tuple[Frame, ...]] = field(default_factory=dict, repr=False)


def trace_dependencies(callable: Callable[..., Any], inputs: Iterable[Sequence[Any]]) -> list[str]:
    """Call `callable` with each tuple of inputs; return the modules whose Python code ran, sorted.

    >>> import textwrap
    >>> "textwrap" in trace_dependencies(textwrap.dedent, [("  a",)])
    True

    Source: torch.package.analyze.trace_dependencies; there a function is looked up by its name
    in the frame, which misses methods and nested functions.
    """
    used: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            used.add(frame.f_globals.get("__name__", ""))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for arguments in inputs:
            callable(*arguments)
    finally:
        sys.setprofile(before)
    return sorted(used - {"", __name__})


def trace_call(
    target: str, kwargs: Mapping[str, Any], inputs: str | None = None, *, timeout: float = 600
) -> Trace:
    """Run a call once in a fresh process, and tell which modules and files it used.

    `target` is "package.module:name": a factory, called with `kwargs`, or an object. `inputs` is the
    path of a `.npz`, `.json` or `.txt` file: what was made or found is called with what is in it. Whatever
    the model's code does, happens; in a process of its own.

    Raises TraceError where the call fails or takes longer than `timeout` seconds, and for inputs OSError
    where they cannot be read, CallError where they are none.

    >>> trace = trace_call("textwrap:dedent", {"text": "  a"})
    >>> "textwrap" in trace.modules
    True
    """
    if inputs == "-":
        raise TraceError(
            f"tracing {target}: the call runs in another process, which cannot read standard input; give the "
            "inputs as a file (--input FILE)"
        )
    if inputs is not None:
        load_inputs(inputs)  # what is wrong with the file is told here, and not as a failure of the call
    path = [os.path.abspath(entry or os.curdir) for entry in sys.path]
    order = {"target": target, "kwargs": dict(kwargs), "inputs": inputs, "path": path}
    command = [sys.executable, "-P", os.path.join(os.path.dirname(__file__), "usage_process.py")]
    try:
        done = subprocess.run(
            command, input=json.dumps(order), capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise TraceError(
            f"tracing {target}: the call took longer than {timeout:g} seconds; give smaller inputs"
        ) from error
    if done.returncode != 0 or not done.stdout.strip():  # the code may end the process itself, with 0
        said = f"tracing {target}: the call failed with exit code {done.returncode}:"
        raise TraceError(in_lines(said, *done.stderr.strip().splitlines()[-5:]))
    found = json.loads(done.stdout.splitlines()[-1])
    stacks = {name: tuple(Frame(*frame) for frame in stack) for name, stack in found["stacks"].items()}
    modules, files = map(frozenset, found["used"])
    built_modules, built_files = map(frozenset, found["built"])
    return Trace(modules, files, target, built_modules, built_files, stacks)


def is_from_package(obj: object) -> bool:
    """Say whether a module, class, function, or the class of any other object came out of an archive.

    >>> import sys
    >>> is_from_package(sys), is_from_package(3)
    (False, False)

    Source: torch.package.analyze.is_from_package; there a class counts as an object of `type`.
    """
    if isinstance(obj, ModuleType):
        name = obj.__name__
    else:
        own = getattr(obj, "__module__", None) if isinstance(obj, type) or callable(obj) else None
        name = own if isinstance(own, str) else type(obj).__module__
    return is_from_archive(name)


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
    >>> from packager._analysis import Trace
    >>> exporter = PackageExporter(io.BytesIO())
    >>> exporter.save_source_string("net", "")
    >>> exporter.save_source_string("unused", "")
    >>> compare_trace(exporter.plan(), Trace(frozenset({"net"}), frozenset())).unused
    ('unused',)
    """
    stored = [module.name for module in plan.by_action("intern")]
    tops = {name.partition(".")[0] for name in stored}
    sources = {entry.name for entry in plan.entries if entry.kind == "source"}
    stacks = {
        name: [(_relative(one.file), one.line, one.function) for one in stack]
        for name, stack in trace.stacks.items()
        if name.partition(".")[0] in tops
    }
    modules, files = trace.modules, trace.files
    if trace.target.partition(":")[0] not in stored:
        files = files - trace.built_files
        modules = modules - {
            name
            for name in trace.built_modules
            if not any(
                function == "<module>" and file in sources for file, _, function in stacks.get(name, ())
            )
        }
    planned = {module.name for module in plan.modules}
    missed = sorted(name for name in modules - planned if name.partition(".")[0] in tops)
    texts = {(one.file, one.line): one.text for one in (*plan.unreached, *plan.library_unreached)}
    loaded: dict[tuple[str, int], list[str]] = {}
    for name in missed:
        # What a missed module imports in turn is found once that one is stored.
        inside = [one for one in stacks.get(name, ()) if one[0].partition("/")[0] in _tops_of(sources)]
        if inside and inside[0][0] in sources:
            loaded.setdefault(inside[0][:2], []).append(name)
    opened = {name for name in map(_relative, trace.files) if name.partition("/")[0] in tops}
    needed = opened.intersection(map(_relative, files)) - {entry.name for entry in plan.entries}
    return TraceComparison(
        used=tuple(name for name in stored if name in trace.modules),
        unused=tuple(name for name in stored if name not in trace.modules),
        missed=tuple(missed),
        missed_files=tuple(sorted(one for one in needed if not one.endswith(_CODE) and _CACHE not in one)),
        unused_files=tuple(sorted(file.name for file in plan.data_files if file.name not in opened)),
        imports=tuple(TracedImport(*at, texts.get(at, ""), tuple(names)) for at, names in loaded.items()),
    )


def pruned(policy: Policy, comparison: TraceComparison) -> Policy:
    """Return `policy` for the traced call alone: with mocks for the modules that it did not use, and
    without the files that it did not open.

    >>> from packager.policy import Policy
    >>> comparison = TraceComparison(used=("net",), unused=("net.plots",), missed=(), missed_files=())
    >>> print(*pruned(Policy("auto"), comparison).rules)
    mock('net.plots')
    """
    from packager._policy import GlobGroup, Rule

    because = "the trace did not import it"
    return policy.before(
        [Rule("mock", GlobGroup(name), because=because) for name in comparison.unused],
        exclude_data=comparison.unused_files,
    )


def _tops_of(sources: Iterable[str]) -> set[str]:
    return {name.partition("/")[0] for name in sources}


def _relative(path: str) -> str:
    """Return the path of a file below the entry of `sys.path` that holds it; "" for others."""
    folders = (os.path.join(os.path.abspath(entry or os.curdir), "") for entry in sys.path)
    inside = [folder for folder in folders if path.startswith(folder)]
    return path[len(max(inside, key=len)) :].replace(os.sep, "/") if inside else ""
