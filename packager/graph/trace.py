"""Tracing: run a call once, in a fresh process, and see which modules and files it really uses.

This is the one part of the graph that runs the model's code, and only where somebody asks for it.
What the walk found and the trace did not use can be pruned; what the trace used and the walk did
not find comes from names that no reading of the source can tell.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packager.errors import PackageError

__all__ = ["Comparison", "Trace", "TraceError", "compare", "trace_call", "trace_program"]


class TraceError(PackageError, RuntimeError):
    """The traced call failed, or its process ended without an answer."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What one run used: modules by name, with their file ("" where there is none), in the order
    in which their imports ended, and the files that were opened for reading, in order.

    Files are absolute paths; those of imported modules are not among them.
    """

    modules: Mapping[str, str]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Static against traced: `missing` were used and not found, `prunable` found and not used."""

    missing: tuple[str, ...]
    prunable: tuple[str, ...]
    files: tuple[str, ...]


def trace_call(
    target: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any
) -> Trace:
    """Trace one call of `module:name` with arguments that JSON can hold.

    >>> trace = trace_call("colorsys:rgb_to_hsv", [1, 0, 0])
    >>> "colorsys" in trace.modules
    True

    `options` are those of `trace_program`.
    """
    module, _, name = target.partition(":")
    if not module or not name:
        raise TraceError(f"cannot trace {target!r}: expected 'module:name', such as 'mypkg.models:build'")
    arguments = json.dumps([list(args), dict(kwargs or {})])
    program = (
        "import functools, importlib, json\n"
        f"args, kwargs = json.loads({arguments!r})\n"
        f"call = functools.reduce(getattr, {name.split('.')!r}, importlib.import_module({module!r}))\n"
        "call(*args, **kwargs)\n"
    )
    return trace_program(program, **options)


def trace_program(
    program: str,
    *,
    path: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Trace:
    """Run the text of a program as `__main__` of a fresh process, and return what it used.

    `path` stands in for this process's `sys.path`, `environment` is added to its variables. What
    the program prints goes to this process's standard error.

    Raises TraceError, with the traceback, where the program fails or takes longer than `timeout`
    seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, "trace.json")
        given = json.dumps([program, answer, list(sys.path if path is None else path)])
        command = [sys.executable, "-c", _RUNNER]
        try:
            done = subprocess.run(
                command,
                input=given,
                text=True,
                capture_output=True,
                timeout=timeout,
                env={**os.environ, **(environment or {})},
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TraceError(
                f"the traced call did not end within {timeout} seconds; give it more time"
            ) from error
        sys.stderr.write(done.stdout)
        if not os.path.exists(answer):
            raise TraceError(
                f"the traced call failed (exit code {done.returncode}); it must run by itself, in a fresh "
                f"process:\n{done.stderr.strip()}"
            )
        with open(answer, encoding="utf-8") as file:
            modules, files = json.load(file)
    return Trace(modules, tuple(files))


def compare(trace: Trace, found: Collection[str], tops: Collection[str]) -> Comparison:
    """Compare a trace with the modules `found` by a walk, within the top-level packages `tops`.

    >>> trace = Trace({"net": "/net/__init__.py", "net.a": "/net/a.py"}, ("/net/w.csv",))
    >>> compare(trace, ["net", "net.b"], ["net"])
    Comparison(missing=('net.a',), prunable=('net.b',), files=('/net/w.csv',))
    """
    used = [name for name in trace.modules if name.partition(".")[0] in tops]
    return Comparison(
        tuple(name for name in used if name not in found),
        tuple(name for name in found if name.partition(".")[0] in tops and name not in trace.modules),
        trace.files,
    )


# Imports nothing but json and sys before it looks at what is loaded, so that what the program
# itself needs is not taken for the tracer's. A module under two names counts under its own.
_RUNNER = """
import json, sys
program, answer, path = json.load(sys.stdin)
sys.path[:] = path
before = set(sys.modules)
opened = {}

def hook(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)) and not set(args[1] or "r") & set("wax+"):
        opened.setdefault(args[0])

def run():
    main = type(sys)("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    exec(compile(program, "<traced>", "exec"), vars(main))

sys.addaudithook(hook)
run()
read = [name if isinstance(name, str) else name.decode("utf-8", "surrogateescape") for name in list(opened)]
modules = {}
for name, module in list(sys.modules.items()):
    own = getattr(getattr(module, "__spec__", None), "name", name)
    if name not in before and name != "__main__" and own == name:
        where = getattr(module, "__file__", None)
        modules[name] = where if isinstance(where, str) else ""
import os
code = {os.path.realpath(where) for where in modules.values() if where}
files = [os.path.realpath(name) for name in read if os.path.isfile(name)]
files = [name for name in dict.fromkeys(files) if name not in code and not name.endswith((".pyc", ".pyo"))]
with open(answer + ".part", "w", encoding="utf-8") as file:
    json.dump([modules, files], file)
os.replace(answer + ".part", answer)
"""
