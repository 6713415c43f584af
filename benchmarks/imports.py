"""What `import` costs, in a fresh process each time, timed within it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from benchmarks.row import Contender, Goal, Row

SECTION = "Imports, each in a fresh process"
WHY = (
    "the classes and functions of tensors and autograd are made at once; modules, optimisers and all rules "
    "but the first wait until they are asked for."
)
PROGRAM = "from time import perf_counter as now; start = now(); import {module}; print(now() - start)"


def rows() -> list[Row]:
    kellet = {"kellet": _importing("kellet"), "numpy": _importing("numpy")}
    packager = {"packager": _importing("packager"), "numpy": _importing("numpy")}
    return [
        Row(SECTION, "import kellet", "ms", kellet, (Goal(1.3, "numpy"),), why=WHY),
        Row(SECTION, "import packager", "ms", packager, (Goal(40),), subject="packager"),
    ]


def _importing(module: str) -> Callable[[], Contender]:
    def run() -> float:
        # -I: neither the current folder nor PYTHONPATH, so what is installed is what is timed.
        command = [sys.executable, "-I", "-c", PROGRAM.format(module=module)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    return lambda: Contender(run, times_itself=True)
