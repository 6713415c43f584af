"""Random programs of hooks, the same in torch and here: the same events, in order, with the same numbers."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

import kellet
import kellet.nn
from tests.parity.hook_programs import first_difference, play


def check(seeds: range) -> None:
    differences = []
    for seed in seeds:
        difference = first_difference(play(torch, seed), play(kellet, seed))
        if difference:
            differences.append(f"program {seed}: {difference}")
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_programs_run_alike(first: int) -> None:
    check(range(first, first + 50))


@pytest.mark.long
@pytest.mark.parametrize("first", range(400, 12_400, 1000))
def test_twelve_thousand_programs_run_alike(first: int) -> None:
    check(range(first, first + 1000))


def test_a_program_is_the_same_each_time_and_tells_something() -> None:
    traces = [play(kellet, seed) for seed in range(20)]
    assert traces == [play(kellet, seed) for seed in range(20)]
    assert len({str(trace) for trace in traces}) == 20


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ([("a", 1.0), ("b", 2.0)], [("a", 1.0), ("b", 2.0 + 1e-9)], ""),
        ([("a", 1.0), ("b", 2.0)], [("b", 2.0), ("a", 1.0)], "event 0"),
        ([("found", 1.0), ("a", 1.0), ("b", 2.0)], [("found", 1.0), ("b", 2.0), ("a", 1.0)], ""),
        ([("found", 1.0), ("a", 1.0)], [("found", 1.0), ("a", 1.5)], "in the first trace alone"),
        ([("found", 1.0)], [("found", 1.0), ("a", 1.5)], "in the second trace alone"),
        ([("a", None)], [("a", 0.0)], "event 0"),
        ([("a", 1.0)], [("a", 1.0), ("b", 1.0)], "in the second trace alone"),
        ([("a", 1.0), ("b", 1.0)], [("a", 1.0)], "in the first trace alone"),
    ],
)
def test_traces_are_compared(one: list[object], other: list[object], told: str) -> None:
    difference = first_difference(one, other)
    assert difference == "" if not told else told in difference
