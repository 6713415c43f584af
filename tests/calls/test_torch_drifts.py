"""Drift: of two runs of a model of PyTorch the first submodule that differs is named, and rounding is not."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from packager._calls import Trace, first_drift, pack_trace, tracing, unpack_trace
from tests.calls.drifting_models import drift_of


def trace_of(thing: Any, *inputs: Any) -> Trace:
    with torch.no_grad(), tracing(thing) as recorder:
        thing(*inputs)
    return recorder.trace()


@pytest.mark.parametrize("seed", range(25, 50))
def test_the_first_submodule_of_a_drawn_drift_is_named(seed: int) -> None:
    drawn = drift_of(seed, "torch")
    found = first_drift(trace_of(drawn.before, *drawn.inputs), trace_of(drawn.after, *drawn.inputs))
    assert (drawn.kind, found.path if found else None) == (drawn.kind, drawn.path)


@pytest.mark.long
def test_it_is_named_in_layers_of_usual_width() -> None:
    for seed in range(25, 50):
        drawn = drift_of(seed, "torch", width=256, length=64)
        found = first_drift(trace_of(drawn.before, *drawn.inputs), trace_of(drawn.after, *drawn.inputs))
        assert (seed, drawn.kind, found.path if found else None) == (seed, drawn.kind, drawn.path)


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_other_numbers_of_threads_and_orders_of_sums_are_no_drift(threads: None) -> None:
    torch.manual_seed(0)
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 256, batch_first=True), 4).eval()
    other = copy.deepcopy(net)
    for module in other.modules():
        if isinstance(module, nn.Linear) and type(module) is nn.Linear:
            order = torch.randperm(module.in_features)
            module.forward = lambda x, layer=module, order=order: nn.functional.linear(  # type: ignore[method-assign]  # as a fault would
                x[..., order], layer.weight[:, order], layer.bias
            )
    x = torch.randn(2, 32, 64)
    torch.set_num_threads(1)
    one = trace_of(net, x)
    torch.set_num_threads(2)
    two, reordered = trace_of(net, x), trace_of(other, x)
    assert reordered.values != one.values
    assert first_drift(one, two, tolerance=0) is None
    assert first_drift(one, reordered, tolerance=0) is None


def test_what_a_layer_writes_to_in_place_is_seen_as_it_was() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True))
    trace = trace_of(net, torch.randn(8, 4))
    linear, relu = (call for call in trace.calls if trace.modules[call.module].path)
    assert linear.outputs[0][1] == relu.inputs[0][1]
    assert relu.outputs[0][1] != relu.inputs[0][1]
    assert trace.values[relu.outputs[0][1]].numbers[0] == 0.0 > trace.values[relu.inputs[0][1]].numbers[0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.complex64, torch.int8])
def test_every_dtype_is_kept_with_its_name_and_comes_back(dtype: torch.dtype) -> None:
    trace = trace_of(nn.Identity(), torch.arange(100).to(dtype))
    assert trace.values[0].dtype == str(dtype).removeprefix("torch.")
    assert trace.values[0].numbers[:2] == ((0, 99) if dtype != torch.complex64 else (0.0, 99.0))
    assert unpack_trace(pack_trace(trace), what="trace") == trace


def test_half_precision_is_told_in_its_own_ulps() -> None:
    class Adds(nn.Module):
        number = 0.0

        def forward(self, x: Any) -> Any:
            return x + self.number

    before, after = Adds(), Adds()
    after.number = 0.25
    x = torch.ones(3, dtype=torch.bfloat16)
    found = first_drift(trace_of(before, x), trace_of(after, x))
    assert found is not None
    assert (found.largest, found.ulps) == (0.25, 32)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_compiled_parts_that_take_no_hooks_are_left_out() -> None:
    net = nn.Sequential(torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())), nn.Linear(2, 2))
    paths = [module.path for module in trace_of(net, torch.ones(1, 2)).modules]
    assert paths[0] == ""
    assert "1" in paths
