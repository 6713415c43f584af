"""Drift: of two runs of a model of PyTorch the first submodule that answers otherwise is named, and rounding is not."""

from __future__ import annotations

from typing import Any

import pytest

import torch
from packager.calls import Trace, first_drift, tracing
from tests.calls.drifting_models import drift_of


def trace_of(thing: Any, *inputs: Any) -> Trace:
    with tracing(thing) as recorder:
        thing(*inputs)
    return recorder.trace()


@pytest.mark.parametrize("seed", range(25, 50))
def test_the_first_submodule_of_a_drawn_drift_is_named(seed: int) -> None:
    drawn = drift_of(seed, "torch")
    found = first_drift(trace_of(drawn.before, *drawn.inputs), trace_of(drawn.after, *drawn.inputs))
    assert (drawn.kind, found.path if found else None) == (drawn.kind, drawn.path)
