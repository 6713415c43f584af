"""State dicts through the calls that users make, once as a call and once as a whole process.

A call is timed as the processor time of this process, all threads together: what shares the machine takes
no part in it. A whole process is its own processor time and the system's for it, from start to exit. Peers
do the same work in the same round. Objects are saved with `prove=False`; the proof has its own row.
"""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from time import process_time
from typing import Any

import numpy as np

from benchmarks.places import folder_of
from benchmarks.row import Contender, Goal, Row

SAVING = "Saving a state dict, by public calls, processor time"
FIRST = "First use, whole processes, processor time"
MEMBER = "model.layer7.block.weight"
WHY_SAVING = "9 us a tensor before the first byte: see the page on saves."
WHY_FIRST = "forty modules of half a million instructions each, and msgpack: see the page on first use."
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
COMMAND = "from packager.cli import main; main()"


def rows() -> list[Row]:
    small = bool(os.environ.get("KELLET_BENCH_SMALL"))
    cases = {"20,000 tensors of 33 kB": (20_000, 16 if small else 8312)}
    cases["300 tensors of 1.3 MB"] = (300, 64 if small else 332_500)
    return [*(row for title, case in cases.items() for row in _saving(title, *case)), *_first_use()]


def _saving(title: str, tensors: int, each: int) -> list[Row]:
    def row(digests: str, limit: float, peer: Callable[[], Contender]) -> Row:
        contenders = {"packager": lambda: _save(tensors, each, digests), "safetensors": peer}
        goals = (Goal(limit, "safetensors"),)
        label = f"{title}: save with {digests}"
        return Row(SAVING, label, "ms", contenders, goals, "packager", why=WHY_SAVING, most_rounds=5)

    return [
        row("crc", 0.9, lambda: _save_safetensors(tensors, each)),
        row("sha256", 1.2, lambda: _save_safetensors(tensors, each, sha256=True)),
    ]


def _first_use() -> list[Row]:
    def row(what: str, contenders: Mapping[str, Callable[[], Contender]], goals: tuple[Goal, ...]) -> Row:
        return Row(FIRST, what, "ms", contenders, goals, "packager", why=WHY_FIRST, most_rounds=15)

    def command(*arguments: str) -> Callable[[], Contender]:
        files = {"FILE": lambda: _archive(10), "CODE": _archive_of_code}
        return lambda: _process(COMMAND, *(files[one]() if one in files else one for one in arguments))

    def beside_empty(what: str, limit: float, *arguments: str) -> Row:
        contenders = {"packager": command(*arguments), "empty Python": lambda: _process("pass")}
        return row(f"packager {what}", contenders, (Goal(limit, "empty Python"),))

    opened = [
        row(
            f"open a file of {tensors:,} tensors and copy one",
            {
                "packager": lambda tensors=tensors: _process(OPEN, _archive(tensors), MEMBER),
                "safetensors": lambda tensors=tensors: _process(
                    OPEN_SAFETENSORS, _safetensors(tensors), MEMBER
                ),
                "import numpy": lambda: _process("import numpy"),
            },
            (Goal(limit, "safetensors"),),
        )
        for tensors, limit in ((10, 1.1), (20_000, 0.5))
    ]
    return [
        *opened,
        beside_empty("--help", 1.5, "--help"),
        beside_empty("inspect", 2.5, "inspect", "FILE"),
        beside_empty("verify", 2.5, "verify", "FILE"),
        beside_empty("inspect, of sources", 2.5, "inspect", "CODE"),
        beside_empty("verify, of sources", 2.5, "verify", "CODE"),
    ]


@cache
def _state(tensors: int, each: int) -> dict[str, np.ndarray]:
    return {f"model.layer{i}.block.weight": np.full(each, i, np.float32) for i in range(tensors)}


def _timed(run: Callable[[], None]) -> float:
    started = process_time()
    run()
    return process_time() - started


def _save(tensors: int, each: int, digests: str) -> Contender:
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

    return Contender(lambda: _timed(run), times_itself=True, result=result)


def _save_safetensors(tensors: int, each: int, *, sha256: bool = False) -> Contender:
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

    return Contender(lambda: _timed(run), times_itself=True, result=result)


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


def _process(program: str, *arguments: str) -> Contender:
    # -I: neither the current folder nor PYTHONPATH, so what is installed is what is timed.
    command = [sys.executable, "-I", "-c", program, *arguments]

    def run() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    return Contender(run, times_itself=True)
