"""What an example's call changes outside of its object is told: in the plan, as a warning, by the command."""

from __future__ import annotations

import importlib
import io
import re
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import Example, ExportPlan, PackageExporter, PackageImporter, PackagingWarning
from packager._cli import main

Project = Callable[[Mapping[str, str]], Path]

NET = """
import functools
import numpy as np
from kellet import nn
from . import state
from .state import LOG, STATE

COUNTER = 3
TABLE = {"a": 1}
BIG = list(range(1_000_000))
GROWS = dict.fromkeys(range(1_000_000))
WEIGHTS = np.zeros(1_000_000)
FEW = np.zeros(3)
_CACHE = {}

class Odd:
    def __init__(self): self.width = 1
    def __eq__(self, other): raise RuntimeError("was compared")
    def __hash__(self): raise RuntimeError("was hashed")
    def __repr__(self): raise RuntimeError("was shown")

class Meta(type):
    def __eq__(cls, other): raise RuntimeError("was compared")
    __hash__ = type.__hash__

class Strange(metaclass=Meta):
    seen = 0

ODD, STRANGE = Odd(), Strange()

@functools.lru_cache
def squared(x):
    return x * x

def note(x, seen=[]):
    seen.append(x)
    note.calls = getattr(note, "calls", 0) + 1

class Net(nn.Module):
    times = 0
    memo = {}
    def __init__(self, what=""):
        super().__init__()
        self.layer, self.what, self.own = nn.Linear(2, 1), what, 0
    def forward(self, x):
        global COUNTER
        self.own += 1
        match self.what:
            case "counter": COUNTER += 1
            case "class": Net.times += 1
            case "default": note(7)
            case "list": LOG.append("a")
            case "dict": TABLE["b"] = 2
            case "object": STATE.step += 1
            case "odd": ODD.width = 2
            case "strange": Strange.seen = 1
            case "array": FEW[1] = 2
            case "large": GROWS[-1] = 1; BIG[0] = 1; WEIGHTS[0] = 1
            case "caches": squared(3); _CACHE[1] = 2; Net.memo = {1: 2}
            case "new": globals()["fresh"] = 1
            case "many": TABLE.clear(); vars(state).update({f"n{i}": i for i in range(13)})
            case "answers":
                COUNTER += 1
                return self.layer(x) + COUNTER
        return self.layer(x)
"""
STATE = """
LOG = []
class State:
    step = 0
STATE = State()
"""
CHANGED = {
    "counter": "zoo.net.COUNTER (3 -> 4), zoo/net.py:8",
    "class": "zoo.net.Net.times (0 -> 1), zoo/net.py:40",
    "default": "zoo.net.note(seen=) ([] -> [7]), zoo/net.py:35",
    "list": "zoo.state.LOG ([] -> ['a']), zoo/state.py:2",
    "dict": "zoo.net.TABLE ({'a': 1} -> {'a': 1, 'b': 2}), zoo/net.py:9",
    "object": "zoo.state.STATE.step (not set -> 1), zoo/state.py:5",
    "odd": "zoo.net.ODD.width (1 -> 2), zoo/net.py:29",
    "strange": "zoo.net.Strange.seen (0 -> 1), zoo/net.py:27",
    "large": "zoo.net.GROWS (dict of 1,000,000 -> dict of 1,000,001), zoo/net.py:11",
    "new": "zoo.net.fresh (not set -> 1), zoo/net.py",
}
MEANS = "this change is not stored: loading imports the modules afresh"


@pytest.fixture
def net(project: Project) -> Any:
    project({"zoo/__init__.py": "", "zoo/net.py": NET, "zoo/state.py": STATE})
    return importlib.import_module("zoo.net")


def plan_of(obj: Any, **more: Any) -> ExportPlan:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_object("model", "model", obj, example=np.ones((1, 2), "f4"), **more)
    return exporter.plan()


def told(plan: ExportPlan) -> list[str]:
    return [line for line in plan.warnings if "the call changed" in line]


@pytest.mark.parametrize("what", CHANGED)
def test_a_place_that_a_call_changed_is_told_with_its_values_and_line(net: Any, what: str) -> None:
    plan = plan_of(net.Net(what))
    lines = told(plan)
    assert lines[0].startswith(f"check model: the call changed {CHANGED[what]}; {MEANS}")
    assert len(lines) == 1 + (what == "default")
    assert plan.ok
    assert f"the call changed {CHANGED[what]}" in str(plan)


def test_attributes_and_defaults_of_a_function_are_told(net: Any) -> None:
    lines = told(plan_of(net.Net("default")))
    assert lines[1] == "check model: the call changed zoo.net.note.calls (not set -> 1), zoo/net.py:35"


def test_an_array_is_told_by_its_numbers(net: Any) -> None:
    [line] = told(plan_of(net.Net("array")))
    assert "zoo.net.FEW (float64 (3,) 0.0, 0.0, 0.0" in line
    assert " -> float64 (3,) 0.0, 2.0, 0.0" in line


@pytest.mark.parametrize("what", ["", "caches"])
def test_what_changed_nothing_or_filled_a_cache_is_silent(net: Any, what: str) -> None:
    assert plan_of(net.Net(what)).warnings == ()


def test_of_many_places_ten_are_told_and_the_rest_counted(net: Any) -> None:
    lines = plan_of(net.Net("many")).warnings
    assert len(lines) == 11
    assert lines[-1] == "and 4 more"


def test_a_place_is_told_once_for_all_examples(net: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_object("model", "model", net.Net("counter"), example=np.ones((1, 2), "f4"))
    exporter.save_example("other", {"arg0": np.ones((3, 2), "f4")}, entry="model")
    assert len(told(exporter.plan())) == 1
    assert exporter.plan().warnings == exporter.plan().warnings


def test_a_change_that_the_outputs_hang_on_stands_beside_what_is_not_repeatable(net: Any) -> None:
    first, second = plan_of(net.Net("answers")).warnings
    assert first.startswith("check model is not repeatable")
    assert "the call changed zoo.net.COUNTER (3 -> 4)" in second


def test_a_change_that_the_outputs_hang_on_is_a_warning(net: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_object("model", "model", net.Net("answers"), example=np.ones((1, 2), "f4"))
    with pytest.warns(PackagingWarning, match=r"the call changed zoo\.net\.COUNTER \(3 -> 4\)"):
        exporter.close()


def test_a_change_that_no_output_hangs_on_is_in_the_plan_alone(net: Any) -> None:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto") as exporter:
        exporter.save_object("model", "model", net.Net("counter"), example=np.ones((1, 2), "f4"))
    assert len(told(exporter.plan())) == 1
    with PackageImporter(file) as importer:
        assert importer.check()[0].within(0)
        assert sys.modules[type(importer.load_object("model", "model")).__module__].COUNTER == 4


def test_the_command_says_it(project: Project, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(project({"zoo/__init__.py": "", "zoo/net.py": NET, "zoo/state.py": STATE}))
    np.savez(tmp_path / "x.npz", arg0=np.ones((1, 2), "f4"))
    arguments = [
        "export",
        "zoo.net:Net",
        "--kwargs",
        '{"what": "class"}',
        "--example",
        str(tmp_path / "x.npz"),
    ]
    assert main([*arguments, "-o", str(tmp_path / "net.kellet")]) == 0
    assert re.search(
        r"warnings:\n +check model: the call changed zoo\.net\.Net\.times", capsys.readouterr().out
    )


def test_of_a_script_only_what_is_stored_is_told(project: Project, tmp_path: Path) -> None:
    from tests import processes

    script = """
        import io, warnings
        import numpy as np
        from packager import PackageExporter

        STEPS = 0
        beside = []
        class Net:
            def __call__(self, x):
                global STEPS
                STEPS += 1
                globals()["be" + "side"].append(x.sum())
                return x * 2
        if __name__ == "__main__":
            exporter = PackageExporter(io.BytesIO(), policy="auto")
            exporter.save_object("model", "model", Net(), example=np.ones(2))
            print(*exporter.plan().warnings, sep="\\n")
    """
    (tmp_path / "made.py").write_text(textwrap.dedent(script))
    done = processes.run(
        [sys.executable, "made.py"], cwd=tmp_path, text=True, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"changed (\S+) \(", done.stdout) == ["__main__.STEPS"]


def test_a_library_that_a_call_changes_is_silent(project: Project) -> None:
    text = "class Net:\n    def __call__(self, x):\n        numpy.some_state = 1\n        return x\n"
    project({"plainly.py": f"import numpy\n{text}"})
    try:
        assert told(plan_of(importlib.import_module("plainly").Net())) == []
    finally:
        vars(np).pop("some_state")


def test_several_arguments_change_what_they_change(net: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    example = Example(np.ones((1, 2), "f4"))
    exporter.save_object("model", "model", net.Net("counter"), example=example, method="forward")
    [line] = told(exporter.plan())
    assert "zoo.net.COUNTER (3 -> 4)" in line


def test_large_globals_take_little_time(net: Any) -> None:
    from packager._proving.call_changes import CallWatch

    watch = CallWatch({"zoo.net": ("zoo/net.py", NET.encode())})
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        assert watch.changes() == []
        took.append(time.perf_counter() - begun)
    assert min(took) < 0.05


def test_warnings_as_errors_refuse_no_counter_and_no_cache(net: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with PackageExporter(io.BytesIO(), policy="auto") as exporter:
            exporter.save_object("model", "model", net.Net("caches"), example=np.ones((1, 2), "f4"))
            exporter.save_object("model", "other", net.Net("counter"), example=np.ones((1, 2), "f4"))
    assert exporter.proof is not None
    assert exporter.proof.ok
