"""What takes too long to be measured each time, and is stated with a date: 4 GB on the disk, and `make test`.

The peak is what a fresh process has of its own at most (RssAnon), beyond what it had at its first line, seen
every two milliseconds: pages of files that are mapped go when the system needs room. Linux alone says it.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.processes import folder_on_disk, printed
from benchmarks.row import Row, Work

SIZE: Final = 4_000_000_000
TENSORS: Final = 40
WATCHED: Final = """
import os, sys, threading
from time import perf_counter
def own():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1000 for line in status if line.startswith("RssAnon"))
start, peak, done = own(), 0.0, threading.Event()
def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, own())
watcher = threading.Thread(target=watch, daemon=True)
watcher.start()
begun = perf_counter()
{work}
spent = perf_counter() - begun
done.set()
watcher.join()
print(spent, max(peak, own()) - start)
"""
SAVE: Final = f"""
import numpy
from packager import PackageExporter
array = numpy.memmap(sys.argv[1], numpy.float32, "r", shape=({TENSORS}, {SIZE // 4 // TENSORS}))
with PackageExporter(sys.argv[2]) as exporter:
    exporter.save_state_dict("net", "weights", {{f"layer{{n}}": array[n] for n in range({TENSORS})}})
"""
LOAD: Final = """
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    importer.load_state_dict("net", "weights")["layer7"].copy()
"""
CONVERT: Final = """
from packager.weights import open_checkpoint, write_checkpoint
write_checkpoint(sys.argv[2], open_checkpoint(sys.argv[1]))
"""


def rows() -> list[Row]:
    """List seconds and peak memory of each work on 4 GB, and the time of the tests."""
    works = {
        "save, with sha256 and fsync": (SAVE, "source", "saved.kellet"),
        "load of one tensor of 40, cold": (LOAD, "saved.kellet", "-"),
        "convert to .safetensors": (CONVERT, "saved.kellet", "converted.safetensors"),
    }
    found = [
        Row(f"4 GB on disk: {name}, {what}", partial(_working, *work, at=at), unit=unit, rounds=1, asked=True)
        for name, work in works.items()
        for at, (what, unit) in enumerate((("seconds", "s"), ("peak memory", "MB")))
    ]
    suite = Row(
        "make test", lambda: Work(_test), 90, unit="s", is_absolute=True, why=WHY_SUITE, rounds=1, asked=True
    )
    return [*found, suite]


WHY_SUITE: Final = "thousands of tests, of which a good part start processes, on two cores"


def _working(program: str, source: str, target: str, *, at: int) -> Work:
    return Work(lambda: _worked(program, source, target)[at])


@cache
def _worked(program: str, source: str, target: str) -> list[float]:
    """Return seconds and peak, with no page of the source in memory."""
    places = [folder_on_disk() / name for name in (source, target)]
    if source == "source" and not places[0].exists():
        _write_source(places[0])
    with places[0].open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return printed(WATCHED.format(work=program), *map(str, places))


def _write_source(path: Path) -> None:
    """Write bytes by chance, none of which a file system could leave out."""
    block = os.urandom(1 << 24)
    with path.open("wb") as file:
        for at in range(0, SIZE, len(block)):
            file.write(block[: SIZE - at])


def _test() -> float:
    started = perf_counter()
    subprocess.run(["make", "test"], cwd=Path(__file__).parents[1], check=True)
    return perf_counter() - started
