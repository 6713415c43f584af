"""Legacy checkpoints: opened, converted and migrated; the time, and the peak of memory of a whole process.

A `.pt` of 20,000 small tensors, and one of 4 GB in 8 tensors, whose zeros take no room on the disk until
they are written anew. It is read once before, as whoever comes first would wait for its pages. Peak memory
is that of a fresh process (VmHWM, its largest resident set; Linux alone says it), interpreter and NumPy
included. "copy" is what the system takes for the same bytes.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.places import folder_of
from benchmarks.row import Contender, Goal, Row, is_small

SECTION = "Legacy checkpoints"

CONVERT = "write_checkpoint(new, open_checkpoint(old), fsync=False)"
MIGRATE = """
side = int(open_checkpoint(old)["layer0"].size ** 0.5)
migration = Migration("bench", [
    rename("layer0", "transposed", Reshape((side, side)), Transpose()),
    split("layer1", ["a", "b"]),
    rename("layer2", "half", Cast("float16")),
    merge(["layer3", "layer4"], "joined"),
    rename("layer5", "rolled", Roll(0, -1)),
])
write_checkpoint(new, migrate(migration, open_checkpoint(old)), fsync=False)
"""
SCRIPT = """
import sys
from packager.migrations import *
from packager.weights import *
old, new = sys.argv[1:]
{work}
# Not ru_maxrss, in which a new process starts from the peak of the one that made it.
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) / 1000 for line in status if line.startswith("VmHWM")))
"""


def rows() -> list[Row]:
    small = is_small()
    side = 1_000 if small else 11_180
    many, few = (2_000 if small else 20_000), f"{8 * 4 * side * side // 1_000_000:,} MB in 8 tensors"

    def row(title: str, unit: str, contenders: dict[str, Any], *goals: Goal) -> Row:
        return Row(SECTION, title, unit, contenders, goals, subject="packager", most_rounds=3)

    return [
        row(
            f"open a .pt of {many:,} tensors",
            "ms",
            {"packager": lambda: _opening(many), "torch": lambda: _opening_torch(many)},
            Goal(1.0, "torch"),
        ),
        row(
            f"{few}: convert to .safetensors",
            "ms",
            {"packager": lambda: _working(side, CONVERT, "safetensors"), "copy": lambda: _copying(side)},
        ),
        row(
            f"{few}: convert to .kellet, with sha256",
            "ms",
            {"packager": lambda: _working(side, CONVERT, "kellet"), "copy": lambda: _copying(side)},
        ),
        *(
            row(
                f"{few}: peak memory, {name}",
                "MB",
                {"packager": lambda work=work, ending=ending: _working(side, work, ending, memory=True)},
                Goal(200),
            )
            for name, work, ending in (
                ("converted to .safetensors", CONVERT, "safetensors"),
                ("converted to .kellet", CONVERT, "kellet"),
                ("migrated to .kellet", MIGRATE, "kellet"),
            )
        ),
    ]


@lru_cache(maxsize=4)
def _file(tensors: int, elements: int) -> Path:
    """A file as torch.save writes it, of zeros that the disk does not hold, in the page cache."""
    path = folder_of(__name__) / f"{tensors}.pt"
    pickled = b"\x80\x02}(" + b"".join(_tensor(i, elements) for i in range(tensors)) + b"u."
    texts = {"bench/data.pkl": pickled, "bench/version": b"3\n"}
    entries = {name: len(text) for name, text in texts.items()}
    entries |= {f"bench/data/{i}": elements * 4 for i in range(tensors)}
    central = b""
    with open(path, "wb") as file:
        for name, size in entries.items():
            fields = (20, 0, 0, 0, 33, 0, size, size, len(name), 0)
            central += struct.pack("<4sH5H3I2H", b"PK\x01\x02", 20, *fields) + struct.pack(
                "<3H2I", 0, 0, 0, 0, file.tell()
            )
            central += name.encode()
            file.write(struct.pack("<4s5H3I2H", b"PK\x03\x04", *fields) + name.encode())
            if name in texts:
                file.write(texts[name])
            else:
                file.seek(size, os.SEEK_CUR)
        count, start = len(entries), file.tell()
        file.write(central)
        file.write(struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(central), start, 0))
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 22):
            pass
    return path


def _tensor(number: int, elements: int) -> bytes:
    key, place, count = f"layer{number}".encode(), str(number).encode(), struct.pack("<i", elements)
    sizes = b"tQK\x00J" + count + b"\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
    storage = b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\n" + _text(place)
    made = b"ctorch._utils\n_rebuild_tensor_v2\n" + storage + _text(b"cpu") + b"J" + count
    return _text(key) + made + sizes


def _text(value: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value


def _opening(tensors: int) -> Contender:
    from packager.weights import open_checkpoint

    path = _file(tensors, 25)
    return Contender(lambda: open_checkpoint(path))


def _opening_torch(tensors: int) -> Contender:
    import torch

    path = _file(tensors, 25)
    return Contender(lambda: torch.load(path, weights_only=True))


def _working(side: int, work: str, ending: str, memory: bool = False) -> Contender:
    old, new = _file(8, side * side), folder_of(__name__) / f"new.{ending}"

    def run() -> float:
        start = perf_counter()
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT.format(work=work), str(old), str(new)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        spent = perf_counter() - start
        new.unlink()
        return float(done.stdout) if memory else spent

    return Contender(run, times_itself=True)


def _copying(side: int) -> Contender:
    old, new = _file(8, side * side), folder_of(__name__) / "copy"

    def run() -> float:
        start = perf_counter()
        with open(old, "rb") as source, open(new, "wb") as target:
            while piece := source.read(1 << 22):
                target.write(piece)
        spent = perf_counter() - start
        new.unlink()
        return spent

    return Contender(run, times_itself=True)
