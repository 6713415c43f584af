"""The collector paused: what it was before comes back, and what becomes garbage is found."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from packager.collector import gc_paused
from packager.graph import Sources, Walk, WalkDecision


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
        walk = Walk(lambda name, edges: WalkDecision(True), sources=Sources([str(tmp_path)]), cache=None)
        alive.add(number)
        weakref.finalize(walk, alive.discard, number)
        walk.add_root("pkg")
        walk.run()
        most = max(most, len(alive))
    assert most < 20
