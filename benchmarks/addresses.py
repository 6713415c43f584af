"""Rows about addresses: an archive of 400 MB behind a proxy that delays each way by 20 ms.

`curl` fetches the same file through the same proxy into memory, since what it fetches is to be used, too.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np

from benchmarks.processes import folder, have_free
from benchmarks.row import Row, Work, is_small

TENSORS: Final = 100
DELAY: Final = 20  # ms, each way
GIGABIT: Final = 125  # MB/s


def rows() -> list[Row]:
    """List the whole state dict, over loopback and over a line of 1 Gbit/s, and one tensor from nothing."""
    title = "400 MB at an address, 40 ms there and back"
    return [
        Row(
            f"{title}: all{line}",
            partial(_all, rate),
            1.15,
            "curl",
            partial(_curl, rate),
            unit="s",
            why=WHY,
            rounds=5,
            asked=True,
        )
        for line, rate in (("", 0), (", 1 Gbit/s", GIGABIT))
    ] + [
        Row(f"{title}: one tensor", _one, 150, unit="ms", is_absolute=True, rounds=5, asked=True),
    ]


WHY: Final = "sha256 of all takes as long as curl in all; on two cores it shares them with server and proxy"


@cache
def _archive() -> Path:
    from packager import PackageExporter

    path = folder() / "net.kellet"
    numbers = np.random.default_rng(0)
    shape = (16, 1024) if is_small() else (1024, 1024)
    state = {f"layer.{n}": numbers.standard_normal(shape, dtype=np.float32) for n in range(TENSORS)}
    with PackageExporter(path, prove=False) as exporter:
        exporter.save_state_dict("net", "weights", state)
    return path


@cache
def _address(rate: int) -> str:
    """Start the server and the proxy; they end with this process."""
    path = _archive()
    command = [sys.executable, "-m", "benchmarks.distance", str(path.parent), str(DELAY), str(rate)]
    root = Path(__file__).parents[1]
    server = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    atexit.register(server.wait, 10)
    atexit.register(server.stdin.close)
    return f"http://127.0.0.1:{server.stdout.readline().strip()}/{path.name}"


def _all(rate: int) -> Work:
    from packager import PackageImporter

    def load() -> None:
        with PackageImporter(_address(rate)) as importer:
            assert len(importer.load_state_dict("net", "weights").copy()) == TENSORS

    return Work(partial(_timed, load))


def _curl(rate: int) -> Work:
    if shutil.which("curl") is None:
        raise ImportError("curl is not installed")
    target = folder() / "fetched"

    def fetch() -> None:
        subprocess.run(["curl", "-s", "-f", "-o", str(target), _address(rate)], check=True)

    return Work(partial(_timed, fetch, target))


def _timed(work: Callable[[], None], target: Path | None = None) -> float:
    """Return the seconds that the work takes, into memory that the system has at hand."""
    _address(0)
    if target is not None:
        target.unlink(missing_ok=True)
    have_free(2 * _archive().stat().st_size)
    started = perf_counter()
    work()
    return perf_counter() - started


def _one() -> Work:
    from packager import PackageImporter

    def load() -> None:
        with PackageImporter(_address(0)) as importer:
            importer.load_state_dict("net", "weights")[f"layer.{TENSORS // 2}"]

    return Work(load)
