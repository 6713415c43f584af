"""The collector paused: what it was before comes back, and what becomes garbage is found."""

from __future__ import annotations

import gc
import io
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kellet import nn
from packager import PackageExporter
from packager._graph import Closure, Sources, WalkDecision
from packager._process import gc_paused, gc_running


@pytest.fixture
def collector() -> Iterator[None]:
    """The collector running, and running again afterwards."""
    gc.enable()
    yield
    gc.enable()


def test_the_collector_runs_again_after_the_pause(collector: None) -> None:
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_runs_again_after_an_error(collector: None) -> None:
    with pytest.raises(KeyError), gc_paused():
        raise KeyError("x")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off(collector: None) -> None:
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()


def test_the_collector_runs_inside_of_a_pause_where_it_is_let(collector: None) -> None:
    with gc_paused(), gc_paused():
        with gc_running():
            assert gc.isenabled()
            with gc_paused():
                assert not gc.isenabled()
            assert gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_is_not_let_run(collector: None) -> None:
    gc.disable()
    with gc_running():
        assert not gc.isenabled()
    with gc_paused(), gc_running():
        assert not gc.isenabled()


def test_the_collector_waits_for_a_plan_but_not_in_a_golden_call(
    collector: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[bool] = []
    told: list[bool] = []
    forward = nn.Linear.forward

    def noting(self: nn.Linear, input: Any) -> Any:
        called.append(gc.isenabled())
        return forward(self, input)

    monkeypatch.setattr(nn.Linear, "forward", noting)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.register_extern_hook(lambda exporter, name: told.append(gc.isenabled()))
    exporter.save_object("net", "model", nn.Linear(2, 1))
    exporter.save_entry_point("model", "net", "model")
    exporter.save_example("model", {"arg0": np.ones((1, 2), "f4")})
    exporter.plan()
    assert ({*told}, {*called}) == ({False}, {True})
    assert gc.isenabled()


def test_walks_of_a_loop_do_not_pile_up(collector: None, tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    for number in range(4):
        (package / f"part{number}.py").write_text("def area(r):\n    return r.a(r.b.c).d\n" * 40)
    (package / "__init__.py").write_text("".join(f"from . import part{n}\n" for n in range(4)))
    alive: set[int] = set()
    most = 0
    gc.collect()
    for number in range(40):
        walk = Closure(lambda name, edges: WalkDecision(True), sources=Sources([str(tmp_path)]), cache=None)
        alive.add(number)
        weakref.finalize(walk, alive.discard, number)
        walk.add_root("pkg")
        walk.run()
        most = max(most, len(alive))
    assert most < 20
