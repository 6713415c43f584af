"""How work grows from 2,000 over 8,000 to 32,000 tensors of 64 bytes: the largest exponent, 1 being linear.

Processor time in a fresh process for each size: most of a second load is what a first one keeps.
"""

from __future__ import annotations

import math
from functools import cache, partial
from itertools import pairwise
from typing import Final

from benchmarks.processes import folder, printed
from benchmarks.row import Row, Work, is_small

WORKS: Final = ("save", "load every tensor", "verify")
PROGRAM: Final = """
import sys
from time import process_time as now
import numpy as np
from packager import PackageExporter, PackageImporter, verify
def save(state):
    with PackageExporter(sys.argv[2]) as exporter:
        exporter.save_state_dict("net", "weights", state)
def load():
    with PackageImporter(sys.argv[2]) as importer:
        values = importer.load_state_dict("net", "weights")
        return [values[key] for key in values]
works = save, lambda state: load(), lambda state: verify(sys.argv[2]).raise_for_problems()
def times(state):
    marks = [now()]
    for work in works:
        work(state)
        marks.append(now())
    return [after - before for before, after in zip(marks, marks[1:])]
times({"warm": np.zeros(2)})
print(*times({f"model.layer{i}.weight": np.full(16, i, np.float32) for i in range(int(sys.argv[1]))}))
"""


def rows() -> list[Row]:
    """List a row for each work."""
    return [
        Row(
            f"{work}: growth over 2,000, 8,000, 32,000 tensors",
            partial(_growing, at),
            1.1,
            unit="exponent",
            is_absolute=True,
            holds=True,
            rounds=1,
        )
        for at, work in enumerate(WORKS)
    ]


@cache
def _measured() -> list[tuple[int, list[float]]]:
    """Return what each work takes at each size, the least of three processes."""
    sizes, again = ((200, 800), 1) if is_small() else ((2_000, 8_000, 32_000), 3)
    target = str(folder() / "growth.kellet")
    return [
        (size, list(map(min, zip(*(printed(PROGRAM, str(size), target) for _ in range(again)), strict=True))))
        for size in sizes
    ]


def _growing(at: int) -> Work:
    def run() -> float:
        steps = pairwise((size, spent[at]) for size, spent in _measured())
        return max(math.log(after[1] / before[1]) / math.log(after[0] / before[0]) for before, after in steps)

    return Work(run)
