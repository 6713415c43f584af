"""Peaks of memory of whole processes through public calls: 4 GB saved from a map, loaded; BertModel planned.

The peak is what the process has resident at most, beyond what it had at its first line, NumPy and our modules
included. Pages of files that are mapped count in it, although the system takes them back when it needs room;
"own" is what is left without those (RssAnon), looked at every two milliseconds. Linux alone says both.
The 4 GB are zeros that the disk does not hold, in 8 arrays of one `numpy.memmap`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from benchmarks.places import folder_of
from benchmarks.row import Contender, Row, is_small

SECTION = "Memory of whole processes"
WHY = "NumPy and the modules that save are part of it; the data are read in pieces."
WATCHED = """
import sys, threading
def read(*fields):
    with open("/proc/self/status") as status:
        found = dict(line.split(":", 1) for line in status)
    return [int(found[field].split()[0]) / 1000 for field in fields]
start, own_start = read("VmRSS", "RssAnon")
own, done = own_start, threading.Event()
def watch():
    global own
    while not done.wait(0.002):
        own = max(own, *read("RssAnon"))
watcher = threading.Thread(target=watch, daemon=True)
watcher.start()
{work}
own = max(own, *read("RssAnon"))
done.set()
watcher.join()
# Not ru_maxrss, in which a new process starts from the peak of the one that made it.
print(read("VmHWM")[0] - start, own - own_start)
"""
SAVE = """
import numpy
from packager import PackageExporter
source, target, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
array = numpy.memmap(source, numpy.float32, "r", shape=(8, size // 32))
with PackageExporter(target, prove=False, fsync=False) as exporter:
    exporter.save_state_dict("net", "weights", {f"layer{n}": array[n] for n in range(8)})
"""
LOAD = """
from packager import PackageImporter
with PackageImporter(sys.argv[1], digests=sys.argv[2]) as importer:
    weights = importer.load_state_dict("net", "weights")
    values = weights.many(weights)
    assert len(values) == 8
"""
PLAN = """
import io
from packager import PackageExporter
exporter = PackageExporter(io.BytesIO(), policy="auto")
exporter.intern("transformers.**")
exporter.save_module("transformers.models.bert.modeling_bert")
assert sum(module.entry is not None for module in exporter.plan().modules) > 1
"""


def rows() -> list[Row]:
    size = 1 << 24 if is_small() else 4_000_000_000
    title = f"{size // 1_000_000:,} MB"
    saved = [
        _row(f"{title}: saved from a map, own", lambda: _saving(size, own=True)),
        _row(f"{title}: saved from a map, pages of the file included", lambda: _saving(size)),
    ]
    loaded = [
        _row(f"{title}: loaded, nothing checked", lambda: _loading(size, "none")),
        _row(f"{title}: loaded, CRC-32 checked, own", lambda: _loading(size, "crc", own=True)),
        _row(f"{title}: loaded, CRC-32 checked, pages of the file included", lambda: _loading(size, "crc")),
    ]
    planned = [_row("BertModel planned, cold", _planning)] if find_spec("transformers") else []
    return [*saved, *loaded, *planned]


def _row(title: str, contender: Callable[[], Contender]) -> Row:
    return Row(SECTION, title, "MB", {"packager": contender}, (), "packager", why=WHY, most_rounds=1)


@cache
def _map(size: int) -> Path:
    path = folder_of(__name__) / f"{size}.bin"
    with path.open("wb") as file:
        file.truncate(size)
    return path


@cache
def _saved(size: int) -> tuple[Path, list[float]]:
    """Save once; return the archive, and the peaks of the process that did."""
    path = folder_of(__name__) / f"{size}.kellet"
    return path, _peaks(SAVE, str(_map(size)), str(path), str(size))


@cache
def _loaded(size: int, digests: str) -> list[float]:
    return _peaks(LOAD, str(_saved(size)[0]), digests)


def _saving(size: int, *, own: bool = False) -> Contender:
    return Contender(lambda: _saved(size)[1][own], times_itself=True)


def _loading(size: int, digests: str, *, own: bool = False) -> Contender:
    return Contender(lambda: _loaded(size, digests)[own], times_itself=True)


def _planning() -> Contender:
    return Contender(lambda: _peaks(PLAN)[0], times_itself=True)


def _peaks(work: str, *arguments: str) -> list[float]:
    """Return the peak of a fresh process in MB, and the peak of what is its own."""
    with tempfile.TemporaryDirectory() as cache_folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", WATCHED.format(work=work), *arguments],
            env={**os.environ, "KELLET_CACHE": cache_folder},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"a benchmark's program failed:\n{done.stderr[-2000:]}")
    return [float(word) for word in done.stdout.split()]
