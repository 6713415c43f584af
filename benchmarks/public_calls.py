"""State dicts through the calls that users make, once as a call and once as a whole process.

A call is timed as the processor time of this process, all threads together: what shares the machine takes
no part in it. Large tensors are saved by the clock, as there the question is whether hashing runs beside
writing. A whole process is its own processor time and the system's for it, from start to exit. Peers do the
same work in the same round, and what they write has memory that is free and there. Objects are saved with
`prove=False`; the proof has its own row.
"""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.free_memory import have_free
from benchmarks.places import folder_of
from benchmarks.row import Contender, Goal, Row, is_small

SAVING = "Saving a state dict, by public calls, processor time"
LARGE = "Saving large tensors, by public calls"
WHOLE = "Saving a state dict, whole processes, processor time"
FIRST = "First use, whole processes, processor time"
MEMBER = "model.layer7.block.weight"
WHY_SAVING = (
    "CRC-32 by zlib takes 80 to 100 ms of 33 kB tensors, and safetensors computes none; the copy, without "
    "which other bytes could be digested than are written, takes 7."
)
WHY_LARGE = (
    "hashing shares the processors with writing, with a copy and with CRC-32, so that on two of them the "
    "limit is the sum of all four, halved; the peer that shares them does the first two alone."
)
WHY_FIRST = "forty modules, a hundred classes, and msgpack: see the page on first use."
OPEN = """
import sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    importer.load_state_dict("net", "weights")[sys.argv[2]].copy()
"""
OPEN_SAFETENSORS = """
import sys
from safetensors import safe_open
with safe_open(sys.argv[1], framework="numpy") as file:
    file.get_tensor(sys.argv[2]).copy()
"""
STATE = """
import sys, numpy as np
each, count = map(int, sys.argv[2:])
state = {f"model.layer{i}.block.weight": np.full(each, i, np.float32) for i in range(count)}
"""
SAVE = (
    STATE
    + """
from packager import PackageExporter
with PackageExporter(sys.argv[1], prove=False, digests="crc", fsync=False) as exporter:
    exporter.save_state_dict("net", "weights", state)
"""
)
SAVE_SAFETENSORS = (
    STATE
    + """
from safetensors.numpy import save_file
save_file(state, sys.argv[1])
"""
)
_HASHED = 1 << 22  # bytes that one thread hashes at once
_SHARED = 1 << 20  # the same, where others write
SHARING = "writev and sha256, sharing all cores"
COMMAND = "from packager.cli import main; main()"


def rows() -> list[Row]:
    small = is_small()
    many, each = (2_000, 16) if small else (20_000, 8312)
    large = {
        "399 MB in 300 tensors": (300, 64 if small else 332_500),
        "1,074 MB in 8 tensors": (8, 64 if small else 1 << 25),
    }
    return [
        *_saving("20,000 tensors of 33 kB", many, each, goals=2),
        *_saving("20,000 tensors of 64 bytes", many, 16, goals=1),
        *(row for title, case in large.items() for row in _saving_large(title, *case)),
        _whole("20,000 tensors of 33 kB: save with crc", many, each),
        _whole("20,000 tensors of 64 bytes: save with crc", many, 16),
        *_first_use(),
    ]


def _saving(title: str, tensors: int, each: int, *, goals: int) -> list[Row]:
    def row(digests: str, limit: float, peer: Callable[[], Contender]) -> Row:
        contenders = {"packager": lambda: _save(tensors, each, digests), "safetensors": peer}
        limits = (Goal(limit, "safetensors", list=goals),)
        label = f"{title}: save with {digests}"
        return Row(SAVING, label, "ms", contenders, limits, "packager", why=WHY_SAVING, most_rounds=5)

    return [
        row("crc", 0.9, lambda: _save_safetensors(tensors, each)),
        row("sha256", 1.2, lambda: _save_safetensors(tensors, each, sha256=True)),
    ]


def _saving_large(title: str, tensors: int, each: int) -> list[Row]:
    """Rows by the clock, beside the slower of what nobody leaves out: writing, and hashing on all cores.

    Where hashing and writing have to share the cores, nobody can be as fast as that: with sha256 there is
    another peer, which does both at once, and nothing besides.
    """

    def row(digests: str, limit: Goal, bound: str, hashed: bool) -> Row:
        contenders = {
            "packager": lambda: _save(tensors, each, digests, clock=perf_counter),
            bound: lambda: _limit(tensors, each, hashed=hashed),
            **({SHARING: lambda: _sharing(tensors, each)} if hashed else {}),
            "safetensors": lambda: _save_safetensors(tensors, each, clock=perf_counter),
        }
        label = f"{title}: save with {digests}"
        return Row(LARGE, label, "ms", contenders, (limit,), "packager", why=WHY_LARGE, most_rounds=5)

    slower = "writev or sha256 on all cores"
    return [
        row("crc", Goal(1.1, "writev"), "writev", False),
        row("sha256", Goal(1.1, slower, list=2), slower, True),
    ]


def _whole(title: str, tensors: int, each: int) -> Row:
    def contender(program: str, name: str) -> Callable[[], Contender]:
        return lambda: fresh_process(program, str(folder_of(__name__) / name), str(each), str(tensors))

    contenders = {
        "packager": contender(SAVE, "whole.kellet"),
        "safetensors": contender(SAVE_SAFETENSORS, "whole.safetensors"),
        "making the arrays": contender(STATE, ""),
    }
    return Row(WHOLE, title, "ms", contenders, (), "packager", most_rounds=5)


def _first_use() -> list[Row]:
    def row(what: str, contenders: Mapping[str, Callable[[], Contender]], goals: tuple[Goal, ...]) -> Row:
        return Row(FIRST, what, "ms", contenders, goals, "packager", why=WHY_FIRST, most_rounds=15)

    def command(*arguments: str) -> Callable[[], Contender]:
        files = {"FILE": lambda: _archive(10), "CODE": _archive_of_code}
        return lambda: fresh_process(COMMAND, *(files[one]() if one in files else one for one in arguments))

    def beside_empty(what: str, limit: float, *arguments: str) -> Row:
        contenders = {"packager": command(*arguments), "empty Python": lambda: fresh_process("pass")}
        return row(f"packager {what}", contenders, (Goal(limit, "empty Python"),))

    opened = [
        row(
            f"open a file of {tensors:,} tensors and copy one",
            {
                "packager": lambda tensors=tensors: fresh_process(OPEN, _archive(tensors), MEMBER),
                "safetensors": lambda tensors=tensors: fresh_process(
                    OPEN_SAFETENSORS, _safetensors(tensors), MEMBER
                ),
                "import numpy": lambda: fresh_process("import numpy"),
            },
            (Goal(limit, "safetensors", list=2),),
        )
        for tensors, limit in ((10, 1.1), (20_000, 0.5))
    ]
    over_numpy = {
        "packager": lambda: _over_numpy(OPEN, _archive(10)),
        "safetensors": lambda: _over_numpy(OPEN_SAFETENSORS, _safetensors(10)),
    }
    return [
        *opened,
        row("the same with 10 tensors, over import numpy", over_numpy, (Goal(12, list=2),)),
        beside_empty("--help", 1.5, "--help"),
        beside_empty("inspect", 2.5, "inspect", "FILE"),
        beside_empty("verify", 2.5, "verify", "FILE"),
        beside_empty("inspect, of sources", 2.5, "inspect", "CODE"),
        beside_empty("verify, of sources", 2.5, "verify", "CODE"),
    ]


@cache
def _state(tensors: int, each: int) -> dict[str, np.ndarray]:
    return {f"model.layer{i}.block.weight": np.full(each, i, np.float32) for i in range(tensors)}


def _timed(run: Callable[[], None], clock: Callable[[], float], written: int = 0) -> float:
    have_free(written)
    started = clock()
    run()
    return clock() - started


def _save(tensors: int, each: int, digests: str, clock: Callable[[], float] = process_time) -> Contender:
    from packager import PackageExporter, PackageImporter

    state, path = _state(tensors, each), folder_of(__name__) / "saved.kellet"

    def run() -> None:
        with PackageExporter(path, prove=False, digests=digests, fsync=False) as exporter:
            exporter.save_state_dict("net", "weights", state)

    def result() -> list[np.ndarray]:
        run()
        with PackageImporter(path) as importer:
            loaded = importer.load_state_dict("net", "weights")
            return [loaded[key] for key in list(state)[::500]]

    return Contender(lambda: _timed(run, clock, 4 * tensors * each), times_itself=True, result=result)


def _save_safetensors(
    tensors: int, each: int, *, sha256: bool = False, clock: Callable[[], float] = process_time
) -> Contender:
    from safetensors.numpy import load_file, save_file

    state, path = _state(tensors, each), folder_of(__name__) / "saved.safetensors"

    def run() -> None:
        save_file(state, f"{path}.part")
        os.replace(f"{path}.part", path)
        if sha256:
            digest = hashlib.sha256()
            for array in state.values():
                digest.update(array.data)

    def result() -> list[np.ndarray]:
        run()
        loaded: Any = load_file(path)
        return [loaded[key] for key in list(state)[::500]]

    return Contender(lambda: _timed(run, clock, 4 * tensors * each), times_itself=True, result=result)


def _limit(tensors: int, each: int, *, hashed: bool) -> Contender:
    """Return what writes the bytes, or hashes them on all cores, whichever takes longer, by the clock."""
    arrays = list(_state(tensors, each).values())
    path = folder_of(__name__) / "limit.bytes"

    def hash_all() -> None:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(_hashed, _pieces(arrays, _HASHED)))

    def run() -> float:
        written = _timed(lambda: _write(arrays, path), perf_counter, 4 * tensors * each)
        return max(written, _timed(hash_all, perf_counter)) if hashed else written

    return Contender(run, times_itself=True)


def _sharing(tensors: int, each: int) -> Contender:
    """Return what writes the bytes in one thread, while others hash the same bytes, by the clock.

    There is a thread for each core, and the one that has written hashes what is left: the least that a save
    with sha256 has to do. The room of the file is asked for first, where the system can be.
    """
    arrays = list(_state(tensors, each).values())
    path = folder_of(__name__) / "sharing.bytes"

    def run() -> None:
        pieces = _pieces(arrays, _SHARED)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            written = threads.submit(_write, arrays, path, reserve=True)
            list(threads.map(_hashed, pieces))
            written.result()

    return Contender(lambda: _timed(run, perf_counter, 4 * tensors * each), times_itself=True)


def _write(arrays: list[np.ndarray], path: Path, *, reserve: bool = False) -> None:
    descriptor = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        if reserve and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, sum(array.nbytes for array in arrays))
        for array in arrays:
            view = memoryview(array).cast("B")
            while len(view):
                view = view[os.writev(descriptor, [view]) :]
    finally:
        os.close(descriptor)
    os.replace(f"{path}.part", path)


def _pieces(arrays: list[np.ndarray], size: int) -> list[memoryview]:
    views = [memoryview(array).cast("B") for array in arrays]
    return [view[at : at + size] for view in views for at in range(0, len(view), size)]


def _hashed(piece: memoryview) -> bytes:
    return hashlib.sha256(piece).digest()


@cache
def _archive(tensors: int) -> str:
    from packager import PackageExporter

    path = folder_of(__name__) / f"{tensors}.kellet"
    with PackageExporter(path, prove=False, fsync=False) as exporter:
        exporter.save_state_dict("net", "weights", _state(tensors, 8))
    return str(path)


@cache
def _archive_of_code() -> str:
    from packager import PackageExporter

    path = folder_of(__name__) / "code.kellet"
    with PackageExporter(path, policy="auto", prove=False, fsync=False) as exporter:
        exporter.save_source_string("net", "from .layers import answer\n", is_package=True)
        exporter.save_source_string("net.layers", "answer = 42\n")
    return str(path)


@cache
def _safetensors(tensors: int) -> str:
    from safetensors.numpy import save_file

    path = folder_of(__name__) / f"{tensors}.safetensors"
    save_file(_state(tensors, 8), path)
    return str(path)


def _over_numpy(program: str, file: str) -> Contender:
    with_it, without = fresh_process(program, file, MEMBER), fresh_process("import numpy")
    return Contender(lambda: with_it.run() - without.run(), times_itself=True)


def fresh_process(program: str, *arguments: str) -> Contender:
    """Run a program by itself: its processor time and the system's for it, from start to exit."""
    # -I: neither the current folder nor PYTHONPATH, so what is installed is what is timed.
    command = [sys.executable, "-I", "-c", program, *arguments]

    def run() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    return Contender(run, times_itself=True)
