"""Planning the export of a model's code, against torch.package's export of the same modules.

A fresh process each time, whose processor time is taken from the exporter to its plan, by public calls.
Cold means without a cache; walked again, with that of scans alone, as after a change of one source; nothing
changed, with that of plans, too. Where an object is saved, its encoding and the writing of its weights are
within the time. torch.package imports every module that it looks at; the walk imports none. What it writes
besides (a ZIP in memory) takes a few hundredths of its time.
`walk_proof.py` shows that what the walk finds is enough.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from benchmarks.row import Contender, Goal, Row, is_small

SECTION = "Plan, each in a fresh process, processor time"

PLAN = """
import io
from time import process_time as now
from packager import PackageExporter
start = now()
exporter = PackageExporter(io.BytesIO(), policy="auto")
exporter.intern({top!r} + ".**")
exporter.save_module({root!r})
plan = exporter.plan()
seconds = now() - start
assert sum(module.entry is not None for module in plan.modules) > 1
print(seconds)
"""

WITH_OBJECT = """
import io
from time import process_time as now
import torch
from packager import PackageExporter
from transformers import BertConfig, BertModel
torch.manual_seed(0)
model = BertModel(BertConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=2)).eval()
start = now()
exporter = PackageExporter(io.BytesIO(), policy="auto")
exporter.intern("transformers.**")
exporter.save_object("model", "model", model)
plan = exporter.plan()
seconds = now() - start
assert len(plan.objects) == len(plan.tensors) == 1 and plan.ok
print(seconds)
"""

TORCH = """
import io, sys
{before}
from torch.package import PackageExporter
from time import process_time as now
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
COLD = "half of the time is Python's own parser. The sources are read once for all exports of this user."


def rows() -> list[Row]:
    """Rows for each package that is installed; torch.package takes a minute for the last."""
    wanted = (
        ("networkx", "networkx", "networkx", Goal(0.3, "torch", list=2)),
        ("timm", "timm ViT", "timm.models.vision_transformer", Goal(0.25, "torch", list=2)),
        ("transformers", "BertModel", "transformers.models.bert.modeling_bert", Goal(700, list=2)),
    )  # fmt: skip
    found = []
    for top, title, root, goal in wanted[:1] if is_small() else wanted:
        if find_spec(top) is None:
            continue
        plan = partial(_plan, PLAN.format(top=top, root=root))
        peer = _torch_package(top, root)
        found += [
            _row(f"{title}, cold", (goal,), COLD, packager=partial(plan, keeps=False), torch=peer),
            _row(f"{title}, again", (), "", packager=partial(plan, keeps=True)),
        ]
    if find_spec("transformers") is not None and find_spec("torch") is not None:
        with_object = partial(_plan, WITH_OBJECT)
        states = {"cold": False, "again": True}
        found += [
            _row(f"BertModel with its weights, {state}", (), "", packager=partial(with_object, keeps=keeps))
            for state, keeps in list(states.items())[: 1 if is_small() else None]
        ]
    return found


def _row(title: str, goals: tuple[Goal, ...], why: str, **sides: Callable[[], Contender]) -> Row:
    return Row(SECTION, title, "ms", sides, goals, "packager", why=why, most_rounds=5)


def _plan(program: str, *, keeps: bool) -> Contender:
    """Plan in a fresh process; `keeps` says whether it finds what the last one has read."""
    folder = tempfile.mkdtemp(prefix="kellet-walk-")
    if keeps:
        _timed(program, folder)

    def run() -> float:
        if not keeps:
            shutil.rmtree(os.path.join(folder, "kellet"), ignore_errors=True)
        return _timed(program, folder)

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
    """Return the seconds that a program prints."""
    environment = {**os.environ, "XDG_CACHE_HOME": cache or os.environ.get("XDG_CACHE_HOME", "")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"a benchmark's program failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])
