"""The fresh process of a trace: reads an order on standard input, runs it, prints what was used."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Carry out one order. What the call prints goes to standard error; the answer is one line of JSON."""
    order = json.load(sys.stdin)
    answer, sys.stdout = sys.stdout, sys.stderr
    opened: set[str] = set()
    before = set(sys.modules)
    sys.addaudithook(lambda event, arguments: _note(opened, event, arguments))
    from packager.exporting.calls import call_with_arrays, load_arrays
    from packager.exporting.targets import resolve_target

    thing = resolve_target(order["target"], order["kwargs"])
    if order["inputs"] is not None:
        call_with_arrays(thing, load_arrays(order["inputs"]))
    files = sorted(os.path.abspath(path) for path in opened)
    json.dump({"modules": sorted(set(sys.modules) - before), "files": files}, answer)
    answer.write("\n")


def _note(opened: set[str], event: str, arguments: tuple[Any, ...]) -> None:
    """Keep the paths of files that are opened for reading."""
    if event == "open" and isinstance(arguments[0], str) and "w" not in str(arguments[1] or ""):
        opened.add(arguments[0])


if __name__ == "__main__":
    main()
