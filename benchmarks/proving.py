"""What the proof costs: an export that opens its archive in a clean process, beside the same export without.

The proof is a start of Python, the imports of the frameworks and one load, so that it costs a small model
many times what writing does. Both write the same bytes, which is compared before anything is timed.

What it adds is taken by the clock, which is what a user waits for: the process begins beside the export, on
another core where there is one. Beside it stands the processor time of both processes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.places import folder_of
from benchmarks.row import Contender, Goal, Row, is_small

SECTION = "Exporting, with and without the proof"
SPENT = "What the proof adds, processor time of both processes"
ADDED = "What the proof adds, beside the imports of the frameworks and 1.2 loads"
WHY = (
    "a process starts, imports the loader, NumPy and the model's framework, loads the archive for the first "
    "time and encodes it again; only its start and the loader's imports run beside the export."
)


def rows() -> list[Row]:
    models: dict[str, tuple[str, Callable[[], Any]]] = {
        "three layers of kellet": ("kellet.nn", _layers),
        "three layers of PyTorch": ("torch", _torch_layers),
        "sentence encoder, 90 MB": ("kellet.nn", _encoder),
    }
    if is_small():
        models.popitem()  # it starts in `bert`, too
    here = {title: model for title, model in models.items() if find_spec(model[0]) is not None}
    return [
        Row(
            SECTION,
            title,
            "ms",
            {
                "packager": lambda make=make: _export(make, prove=True),
                "without": lambda make=make: _export(make, prove=False),
            },
            subject="packager",
            why=WHY,
            most_rounds=7,
        )
        for title, (_, make) in here.items()
    ] + [
        Row(
            section,
            title,
            "ms",
            {
                "packager": lambda make=make, now=now: _added(make, now),
                "imports and 1.2 loads": lambda make=make, needs=needs, now=now: _imports_and_loads(
                    make, needs, now
                ),
            },
            goals,
            subject="packager",
            why=WHY,
            most_rounds=7,
        )
        for section, now, goals in (
            (ADDED, perf_counter, (Goal(1.0, "imports and 1.2 loads", list=2),)),
            (SPENT, _processor_time, ()),
        )
        for title, (needs, make) in here.items()
    ]


def _processor_time() -> float:
    """Return the seconds that this process, and those that it waited for, have had of a processor."""
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _added(make: Callable[[], Any], now: Callable[[], float]) -> Contender:
    """Return what an export takes more with the proof than without, by a clock."""
    proved, plain = _export(make, prove=True), _export(make, prove=False)

    def run() -> float:
        started = now()
        proved.run()
        between = now()
        plain.run()
        return (between - started) - (now() - between)

    return Contender(run, times_itself=True)


def _imports_and_loads(make: Callable[[], Any], needs: str, now: Callable[[], float]) -> Contender:
    """Return a fresh process that imports a framework, and 1.2 times one load, by a clock."""
    from packager import PackageImporter

    target = _target(make, prove=False)
    _export(make, prove=False).run()

    def run() -> float:
        started = now()
        subprocess.run([sys.executable, "-c", f"import {needs}"], check=True)
        between = now()
        with PackageImporter(target) as importer:
            importer.load_object("model", "model")
        return (between - started) + 1.2 * (now() - between)

    return Contender(run, times_itself=True)


def _target(make: Callable[[], Any], *, prove: bool) -> str:
    return os.path.join(folder_of(__name__), f"{make.__name__}-{prove}.kellet")


def _export(make: Callable[[], Any], *, prove: bool) -> Contender:
    from packager import PackageExporter

    model = make()
    target = _target(make, prove=prove)

    def run() -> None:
        with PackageExporter(target, policy="auto", fsync=False, prove=prove) as exporter:
            exporter.save_object("model", "model", model)

    def result() -> list[np.ndarray]:
        run()
        return [np.fromfile(target, np.uint8)]

    return Contender(run, result=result)


@cache
def _layers() -> Any:
    from kellet import nn

    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))


@cache
def _torch_layers() -> Any:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))


@cache
def _encoder() -> Any:
    from benchmarks.bert import our_model

    return our_model()
