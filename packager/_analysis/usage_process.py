"""The fresh process of a trace: reads an order on standard input, runs it, prints what was used.

It is run as a file, and imports nothing but Python's own before it looks at what is loaded: what the
call needs must not be taken for the tracer's. What packager needs to make the call counts as used.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

_MOST_FRAMES = 40
_IMPORTING = os.path.join("importlib", "__init__.py")


class _Watcher:
    """First on `sys.meta_path`: finds nothing, and notes who asks for a module first."""

    def __init__(self) -> None:
        self.stacks: dict[str, list[tuple[str, int, str]]] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        frame = inspect.currentframe()
        if name not in self.stacks and frame is not None:
            self.stacks[name] = list(_frames(frame.f_back))


def main() -> None:
    """Carry out one order. What the call prints goes to standard error; the answer is one line of JSON."""
    before = set(sys.modules)
    order = json.load(sys.stdin)
    answer, sys.stdout = sys.stdout, sys.stderr
    sys.path[:] = order["path"]
    opened: set[str] = set()
    watcher: Any = _Watcher()
    sys.meta_path.insert(0, watcher)
    sys.addaudithook(lambda event, arguments: _note(opened, event, arguments))
    from packager._calls import call_in_mode, load_inputs, resolve_target

    thing = resolve_target(order["target"], order["kwargs"])
    built = _used(before, opened)
    if order["inputs"] is not None:
        call_in_mode(thing, load_inputs(order["inputs"]))
    json.dump({"built": built, "used": _used(before, opened), "stacks": watcher.stacks}, answer)
    answer.write("\n")


def _used(before: set[str], opened: set[str]) -> tuple[list[str], list[str]]:
    """List modules, and files. A module that stands under two names counts under its own."""
    modules = [
        name
        for name, module in sys.modules.copy().items()
        if name not in before and getattr(getattr(module, "__spec__", None), "name", name) == name
    ]
    return sorted(modules), sorted(map(os.path.abspath, opened))


def _frames(frame: FrameType | None) -> Iterator[tuple[str, int, str]]:
    """Yield file, line and function from an import outwards, without the import system's own frames."""
    count = 0
    while frame is not None and count < _MOST_FRAMES:
        file = frame.f_code.co_filename
        if not file.startswith("<frozen importlib") and not file.endswith(_IMPORTING):
            yield file, frame.f_lineno, frame.f_code.co_qualname.replace(".<locals>", "")
            count += 1
        frame = frame.f_back


def _note(opened: set[str], event: str, arguments: tuple[Any, ...]) -> None:
    """Keep the paths of files that are opened for reading."""
    if event == "open" and isinstance(arguments[0], str) and not set(arguments[1] or "r") & set("wax+"):
        opened.add(arguments[0])


if __name__ == "__main__":
    main()
