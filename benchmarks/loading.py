"""State dicts opened and loaded from files in the page cache, and one from the disk alone, beside `cat`."""

from __future__ import annotations

import os
import subprocess
from functools import cache, partial
from time import perf_counter
from typing import Any, Final

import numpy as np

from benchmarks.processes import folder_on_disk, have_free, printed, spent
from benchmarks.row import Row, Work, is_small
from benchmarks.saving import CASES
from benchmarks.states import Writer, case_name, file_of, save_packager, save_safetensors

OPENED: Final = {(300, 400): 1.19, (8, 1000): 0.99, (20_000, 660): 0.98}
LOADED: Final = dict(zip(CASES, (0.39, 0.39, 0.39), strict=True))
KEY: Final = "model.layer7.block.weight"
OPEN: Final = """
import sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    importer.load_state_dict("net", "weights")[sys.argv[2]].copy()
"""
OPEN_SAFETENSORS: Final = """
import sys
from safetensors import safe_open
with safe_open(sys.argv[1], framework="numpy") as file:
    file.get_tensor(sys.argv[2]).copy()
"""
LOAD_PACKAGER: Final = """
from packager import PackageImporter
def load(path):
    with PackageImporter(path) as importer:
        return dict(importer.load_state_dict("net", "weights"))
"""
LOAD_SAFETENSORS: Final = """
from safetensors.numpy import load_file as load
"""
LOAD: Final = """
import sys
from time import perf_counter
load(sys.argv[2])  # what is imported once
start = perf_counter()
for value in load(sys.argv[1]).values():
    value[0]
print(perf_counter() - start)
"""
WHY_COLD: Final = "page faults and CRC-32 are on the cores that the disk's own work is on, too"


def rows() -> list[Row]:
    """List fresh processes that take one tensor, loads of all, and the cold read."""
    return [
        *(_opening(case, goal) for case, goal in OPENED.items()),
        *(_loading(case, goal) for case, goal in LOADED.items()),
        *([_cold()] if hasattr(os, "posix_fadvise") else []),
    ]


def _opening(case: tuple[int, int], goal: float) -> Row:
    def work(program: str, writer: Writer, ending: str) -> Work:
        path = file_of(*case, writer, ending)
        return Work(lambda: spent(program, path, KEY))

    return Row(
        f"open a file of {case_name(*case)} and take one, fresh process, processor time",
        partial(work, OPEN, save_packager, "kellet"),
        goal,
        "safetensors",
        partial(work, OPEN_SAFETENSORS, save_safetensors, "safetensors"),
        holds=True,
        why="its own modules, which are more than those of safetensors",
    )


def _loading(case: tuple[int, int], goal: float) -> Row:
    def work(program: str, writer: Writer, ending: str) -> Work:
        path, small = file_of(*case, writer, ending), folder_on_disk() / f"small.{ending}"
        writer({KEY: np.zeros(2)}, small)
        return Work(lambda: printed(program + LOAD, path, str(small))[0])

    return Row(
        f"load all of {case_name(*case)}, one value of each, from the page cache",
        partial(work, LOAD_PACKAGER, save_packager, "kellet"),
        goal,
        "safetensors load_file",
        partial(work, LOAD_SAFETENSORS, save_safetensors, "safetensors"),
        holds=True,
        why="CRC-32, of which there is none in the peer",
        rounds=7,
    )


def _cold() -> Row:
    return Row(
        "1 GB cold: load all, prefetch and CRC-32, from the disk",
        lambda: _from_disk(_load),
        1.1,
        "cat",
        lambda: _from_disk(lambda path: subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)),
        why=WHY_COLD,
        rounds=5,
    )


@cache
def _weights_on_disk() -> str:
    from packager import PackageExporter

    chance = np.random.default_rng(0)
    size = 1 << 12 if is_small() else 1 << 27
    state = {f"layer{number}": np.frombuffer(chance.bytes(size), np.uint8) for number in range(8)}
    path = folder_on_disk() / "weights.kellet"
    with PackageExporter(path, digests="crc") as exporter:
        exporter.save_state_dict("net", "weights", state)
    return str(path)


def _from_disk(read: Any) -> Work:
    path = _weights_on_disk()

    def run() -> float:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        have_free(os.path.getsize(path))
        started = perf_counter()
        read(path)
        return perf_counter() - started

    return Work(run)


def _load(path: str) -> None:
    from packager import PackageImporter

    with PackageImporter(path, digests="crc", mmap="prefetch") as importer:
        for value in importer.load_state_dict("net", "weights").values():
            value[::4096].max()  # one byte of every page
