"""Planning the export of a model's code, against torch.package's export of the same modules.

A fresh process each time, timed from the exporter to its plan. Cold means without the cache of
scans; again means with it. torch.package imports every module that it looks at; the walk imports
none. What torch.package writes besides (a ZIP in memory) takes a few hundredths of its time.
`walk_proof.py` shows that what the walk finds is enough.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec

from benchmarks.row import Contender, Goal, Row

SECTION = "Plan, each in a fresh process"

PLAN = """
import io
from time import perf_counter as now
from packager import PackageExporter
start = now()
exporter = PackageExporter(io.BytesIO(), policy="auto")
exporter.intern({top!r} + ".**")
exporter.save_module({root!r}, names={names!r})
plan = exporter.plan()
seconds = now() - start
assert sum(module.entry is not None for module in plan.modules) > 1
print(seconds)
"""

TORCH = """
import io, sys
{before}
from torch.package import PackageExporter
from time import perf_counter as now
start = now()
with PackageExporter(io.BytesIO()) as exporter:
    exporter.intern({top!r})
    exporter.intern({top!r} + ".**")
    exporter.extern("**")
    exporter.save_module({root!r})
print(now() - start)
"""

# torchvision has no build beside the torch that is tested with; timm imports it and calls none of it.
STAND_IN = """
import importlib.machinery
class Named(type):
    def __getattr__(cls, name):
        return named(name)
def named(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Named(name, (), {"__init__": lambda self, *a, **k: None})
class StandIn:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        module.__version__ = "0.0"
        module.__getattr__ = named
sys.meta_path.insert(0, StandIn())
"""


# What stands in the way of a goal, for the rows that have missed one.
COLD = (
    "half of the time is Python's own parser; the rest is one look at every node, in Python. The sources are "
    "read once for all exports of this user."
)
AGAIN = (
    "a third is reading, hashing and unpacking; the rest follows every import and looks up every name anew, "
    "since what is live depends on what was asked for, and rules may change between two plans."
)
CANDIDATES = (
    "a third is reading, hashing and unpacking, a fifth listing 1,700 folders for the candidates of imports "
    "whose names are computed, with their sizes; the rest follows imports and names."
)


def rows() -> list[Row]:
    """A row for each package that is installed; torch.package takes a minute for the last."""
    wanted = (
        ("networkx", "networkx", "networkx", None, (Goal(0.5, "torch"),), (Goal(0.05, "torch"),), AGAIN),
        ("timm", "timm ViT", "timm.models.vision_transformer", ("vit_tiny_patch16_224",),
         (Goal(0.25, "torch"),), (Goal(0.015, "torch"),), AGAIN),
        ("transformers", "BertModel", "transformers.models.bert.modeling_bert", ("BertModel",),
         (Goal(2),), (Goal(0.2),), CANDIDATES),
    )  # fmt: skip
    found = []
    for top, title, root, names, cold, again, why in wanted:
        if find_spec(top) is None:
            continue
        peer = _torch_package(top, root)
        for when, goals, reason in (("cold", cold, COLD), ("again", again, why)):
            sides = _sides(top, root, names, peer, keep=when == "again")
            found.append(
                Row(SECTION, f"{title}, {when}", "s", sides, goals, "packager", why=reason, most_rounds=5)
            )
    return found


def _sides(
    top: str, root: str, names: tuple[str, ...] | None, peer: Callable[[], Contender], *, keep: bool
) -> Mapping[str, Callable[[], Contender]]:
    return {"packager": lambda: _plan(PLAN.format(top=top, root=root, names=names), keep=keep), "torch": peer}


def _plan(program: str, *, keep: bool) -> Contender:
    folder = tempfile.mkdtemp(prefix="kellet-walk-") if keep else ""

    def run() -> float:
        if keep:
            return _timed(program, folder)
        with tempfile.TemporaryDirectory() as empty:
            return _timed(program, empty)

    if keep:
        run()  # fills the cache
    return Contender(run, times_itself=True)


def _torch_package(top: str, root: str) -> Callable[[], Contender]:
    """torch.package's side. What takes it longer than ten seconds is timed once for all rounds."""
    before = STAND_IN if top == "timm" else ""
    slow: list[float] = []

    def run() -> float:
        if not slow:
            seconds = _timed(TORCH.format(top=top, root=root, before=before), "")
            if seconds < 10:
                return seconds
            slow.append(seconds)
        return slow[0]

    def set_up() -> Contender:
        import torch.package  # noqa: F401 - an ImportError says that it is not here

        return Contender(run, times_itself=True)

    return set_up


def _timed(program: str, cache: str) -> float:
    environment = {**os.environ, "XDG_CACHE_HOME": cache or os.environ.get("XDG_CACHE_HOME", "")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"a benchmark's program failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])
