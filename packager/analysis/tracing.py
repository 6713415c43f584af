"""What a call really uses: in this process by watching calls, or in a fresh one by watching imports.

The static walk finds what may be needed; a trace finds what one call did need. The difference in
one direction can be pruned; the other way it is something that no reading of source could see.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

from packager.calls import load_inputs
from packager.errors import PackageError
from packager.quick_dataclasses import dataclass, field
from packager.texts import in_lines


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
    """Call `callable` with each tuple of inputs; name the modules whose Python code ran, sorted.

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
            f"tracing {target}: a process of its own makes the call, and cannot read this one's standard "
            "input; name a file"
        )
    if inputs is not None:
        load_inputs(inputs)  # what is wrong with the file is told here, and not as a failure of the call
    path = [os.path.abspath(entry or os.curdir) for entry in sys.path]
    order = {"target": target, "kwargs": dict(kwargs), "inputs": inputs, "path": path}
    command = [sys.executable, "-P", os.path.join(os.path.dirname(__file__), "traced_process.py")]
    try:
        done = subprocess.run(
            command, input=json.dumps(order), capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise TraceError(f"tracing {target}: no end after {timeout:g} seconds") from error
    if done.returncode != 0 or not done.stdout.strip():  # the code may end the process itself, with 0
        said = f"tracing {target}: the call failed with exit code {done.returncode}:"
        raise TraceError(in_lines(said, *done.stderr.strip().splitlines()[-5:]))
    found = json.loads(done.stdout.splitlines()[-1])
    stacks = {name: tuple(Frame(*frame) for frame in stack) for name, stack in found["stacks"].items()}
    modules, files = map(frozenset, found["used"])
    built_modules, built_files = map(frozenset, found["built"])
    return Trace(modules, files, target, built_modules, built_files, stacks)
