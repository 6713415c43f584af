"""How the work of public calls grows with what there is: tensors, bytes, modules, keys; at 1, 4 and 16 times.

    python -m benchmarks.growth            measure, record in growth.json, write the table and the picture
    python -m benchmarks.growth --drawn    write both from what is recorded

Processor time of the call, all threads together, the least of two fresh processes for each size. An
exponent of 1 is linear: it is the logarithm of how much more was spent, over that of how much more there was.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.plot import drawn

ROUNDS: Final = 2
RECORDED: Final = Path(__file__).with_suffix(".json")
PAGE: Final = Path(__file__).parents[1] / "docs" / "design" / "measuring.md"
PICTURE: Final = Path(__file__).parents[1] / "docs" / "growth.svg"
BEFORE, AFTER = "<!-- growth -->\n", "<!-- end of growth -->\n"

TIMED = """
import os, sys
from time import process_time
size, told = int(sys.argv[1]), {}
class Timed:
    def __init__(self, what): self.what = what
    def __enter__(self): self.started = process_time()
    def __exit__(self, *error): told[self.what] = (process_time() - self.started) * 1000
"""
STATES = """
import numpy as np
from packager import PackageExporter, PackageImporter, verify
def save(state):
    with Timed("save, sha256"), PackageExporter("net.kellet", prove=False, fsync=False) as exporter:
        exporter.save_state_dict("net", "weights", state)
def load():
    with PackageImporter("net.kellet") as importer:  # imports what is imported once
        importer.load_state_dict("net", "weights").many(list(state)[:1])
    with Timed("open and read one tensor"), PackageImporter("net.kellet") as importer:
        importer.load_state_dict("net", "weights")[next(reversed(state))]
    with Timed("load every tensor"), PackageImporter("net.kellet") as importer:
        values = importer.load_state_dict("net", "weights")
        values = [values[key] for key in values]
    with Timed("load every tensor with `many`"), PackageImporter("net.kellet") as importer:
        values = importer.load_state_dict("net", "weights")
        values = values.many(values)
    with Timed("verify"):
        assert verify("net.kellet").ok
save({"warm": np.zeros(2)})
"""
TENSORS = """
state = {f"model.layer{i}.weight": np.full(16, i, np.float32) for i in range(size)}
save(state); load()
"""
BYTES = """
state = {f"model.layer{i}.weight": np.full(size * 1_000_000 // 64, i, np.float32) for i in range(16)}
save(state); load()
"""
MODULES = """
from packager import PackageExporter, PackageImporter, verify
from pathlib import Path
def write(top, count):
    Path(top).mkdir()
    for n in range(count):
        uses = [max(0, n - 1), n // 2]
        lines = [f"from {top} import m{other} as other{at}" for at, other in enumerate(uses) if other < n]
        for k in range(12):
            lines += [f"def f{k}(x, y=0):", f"    z = [x + y + {k} for _ in range(3)]", "    return z"]
        Path(top, f"m{n}.py").write_text("\\n".join(lines))
    Path(top, "__init__.py").write_text("")
def exporter_of(top, count):
    exporter = PackageExporter("net.kellet", prove=False, fsync=False, policy="auto")
    exporter.intern(f"{top}.**")
    exporter.save_module(f"{top}.m{count - 1}")
    return exporter
sys.path.insert(0, os.getcwd())
write("warm", 3)
with exporter_of("warm", 3) as exporter: exporter.plan()
write("net", size)
exporter = exporter_of("net", size)
with Timed("plan, nothing remembered"): exporter.plan()
with Timed("save, planned"): exporter.close()
exporter = exporter_of("net", size)
with Timed("plan again"): exporter.plan()
exporter.close()
with PackageImporter("net.kellet") as importer: importer.import_module("net.m0")
with Timed("open"), PackageImporter("net.kellet") as importer: pass
sys.setrecursionlimit(100_000)
with Timed("load every module, compiled now"), PackageImporter("net.kellet", bytecode=None) as importer:
    for n in range(size): importer.import_module(f"net.m{n}")
with Timed("verify"): assert verify("net.kellet").ok
"""
KEYS = """
import numpy as np
from packager.migrations import migrate, migration_from_text
text = '''name = "growth"
[[step]]
rename = "{p:any}.gamma"
to = "{p}.weight"
unless = "{p}.weight"
[[step]]
rename = "{p:any}.beta"
to = "{p}.bias"
if_all = ["{p}.weight"]
[[step]]
rename = "old.{n:int}.{rest:any}"
to = "blocks.{n+1}.{rest}"
unless = "{other:any}.absent"
'''
migration, value = migration_from_text(text), np.zeros(2)
state = {f"old.{i // 2}.{'gamma' if i % 2 else 'beta'}": value for i in range(size)}
dict(migrate(migration, {"old.0.gamma": value}))
with Timed("migrate, with gates"): dict(migrate(migration, state))
"""


@dataclass(frozen=True)
class Axis:
    """One thing that there is more of: its sizes, in `unit`, and the program that is given each."""

    name: str
    unit: str
    sizes: tuple[int, int, int]
    program: str


AXES: Final = (
    Axis("tensors", "tensors of 64 bytes", (4_000, 16_000, 64_000), STATES + TENSORS),
    Axis("bytes", "MB in 16 tensors", (32, 128, 512), STATES + BYTES),
    Axis("modules", "modules of 12 functions", (100, 400, 1_600), MODULES),
    Axis("keys", "keys", (4_000, 16_000, 64_000), KEYS),
)


def measure(axis: Axis, size: int) -> dict[str, float]:
    """Return the ms of each work at one size, the least of some fresh processes."""
    found: dict[str, float] = {}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="kellet-growth-") as folder:
            program = f"{TIMED}{axis.program}\nimport json; print(json.dumps(told))"
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", program, str(size)],
                cwd=folder,
                env={**os.environ, "KELLET_CACHE": f"{folder}/cache"},
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(f"{axis.name}, {size}: a program failed:\n{done.stderr[-2000:]}")
        for work, spent in json.loads(done.stdout.splitlines()[-1]).items():
            found[work] = round(min(spent, found.get(work, spent)), 2)
    return found


def record(axes: Sequence[Axis]) -> dict[str, Any]:
    """Measure, and return what is recorded: sizes and ms by axis and work."""
    grown = {}
    for axis in axes:
        sizes = [measure(axis, size) for size in axis.sizes]
        grown[axis.name] = {
            "unit": axis.unit,
            "sizes": list(axis.sizes),
            "ms": {work: [figures[work] for figures in sizes] for work in sizes[0]},
        }
        print(json.dumps({axis.name: grown[axis.name]}), flush=True)
    return {"date": datetime.now(UTC).date().isoformat(), "grown": grown}


def exponents(sizes: Sequence[float], ms: Sequence[float]) -> list[float]:
    """Return how work grows from each size to the next.

    >>> exponents([1, 4, 16], [10, 40, 640])
    [1.0, 2.0]
    """
    pairs = zip(zip(sizes, ms, strict=True), zip(sizes[1:], ms[1:], strict=True), strict=False)
    return [round(math.log(ms2 / ms1) / math.log(size2 / size1), 2) for (size1, ms1), (size2, ms2) in pairs]


def table(recorded: dict[str, Any]) -> str:
    """Return the recorded figures as a table in Markdown."""
    lines = ["| more of | work | 1 x | 4 x | 16 x | to 4 x | to 16 x |", "|---|---|---:|---:|---:|---:|---:|"]
    for figures in recorded["grown"].values():
        what = f"{', '.join(f'{size:,}' for size in figures['sizes'])} {figures['unit']}"
        for work, ms in figures["ms"].items():
            shown = " | ".join(f"{value:,.0f}" if value >= 10 else f"{value:.1f}" for value in ms)
            grown = " | ".join(f"{value:.2f}" for value in exponents(figures["sizes"], ms))
            lines.append(f"| {what} | {work} | {shown} | {grown} |")
            what = ""
    return "\n".join(lines) + "\n"


def with_table(page: str, recorded: dict[str, Any]) -> str:
    """Return a page with the table between its two marks."""
    start, rest = page.split(BEFORE)
    return f"{start}{BEFORE}\n{table(recorded)}\n{AFTER}{rest.split(AFTER)[1]}"


def main(arguments: Sequence[str]) -> None:
    if "--drawn" not in arguments:
        wanted = [axis for axis in AXES if not arguments or axis.name in arguments]
        recorded = record(wanted)
        if RECORDED.exists():
            before = json.loads(RECORDED.read_text(encoding="utf-8"))["grown"]
            recorded["grown"] = {
                axis.name: (recorded["grown"].get(axis.name) or before[axis.name])
                for axis in AXES
                if axis.name in recorded["grown"] or axis.name in before
            }
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), recorded), encoding="utf-8")
    PICTURE.write_text(drawn(recorded), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
