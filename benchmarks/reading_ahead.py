"""Weights that are not in the page cache, read ahead while they are checked, beside `cat` of the same file.

The file is taken out of the cache before each turn, which is asked of this file alone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import cache
from time import perf_counter

import numpy as np

from benchmarks.places import folder_of
from benchmarks.row import Contender, Goal, Row, is_small

SECTION = "Weights out of the page cache, by the clock"
WHY = (
    "the disk is kept busy; the processors read, compute CRC-32 and map pages, half a second of their time "
    "for a gigabyte, on cores that others use too: see the page on reading ahead."
)
TENSORS = 8


def rows() -> list[Row]:
    if not hasattr(os, "posix_fadvise"):  # where no file can be taken out of the cache, nothing can be timed
        return []
    contenders = {
        "packager": lambda: _load("prefetch"),
        "mapped": lambda: _load(True),
        "cat": _cat,
    }
    goals = (Goal(round(1 / 0.9, 2), "cat", list=2),)  # 0.9 of its speed
    return [Row(SECTION, _title(), "ms", contenders, goals, "packager", why=WHY, most_rounds=3)]


def _elements() -> int:
    return 1 << 12 if is_small() else 1 << 27


def _title() -> str:
    return f"{_elements() * TENSORS / 1e6:,.0f} MB in {TENSORS} tensors: load all, CRC-32 checked"


@cache
def _archive() -> str:
    from packager import PackageExporter

    chance = np.random.default_rng(0)
    state = {
        f"layer{number}": np.frombuffer(chance.bytes(_elements()), np.uint8) for number in range(TENSORS)
    }
    path = folder_of(__name__) / "weights.kellet"
    with PackageExporter(path, prove=False, digests="crc") as exporter:
        exporter.save_state_dict("net", "weights", state)
    return str(path)


def _cold(run: Callable[[], None]) -> Contender:
    path = _archive()

    def timed() -> float:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        started = perf_counter()
        run()
        return perf_counter() - started

    return Contender(timed, times_itself=True)


def _load(mmap: bool | str) -> Contender:
    from packager import PackageImporter

    def run() -> None:
        with PackageImporter(_archive(), digests="crc", mmap=mmap) as importer:
            for value in importer.load_state_dict("net", "weights").values():
                value[::4096].max()  # one byte of every page

    return _cold(run)


def _cat() -> Contender:
    return _cold(lambda: subprocess.run(["cat", _archive()], stdout=subprocess.DEVNULL, check=True) and None)
