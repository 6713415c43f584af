"""Drift: of two runs of a model the first submodule that answers otherwise is named, and rounding is not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import packaging.version
import pytest

import kellet
from kellet import nn
from packager._calls import Recorder, Trace, call_in_mode, first_drift, pack_trace, tracing, unpack_trace
from packager._calls.drifts import _CodeSeen
from tests.calls.drifting_models import drift_of
from tests.tables import one_test


def trace_of(thing: Any, *inputs: Any) -> Trace:
    with tracing(thing) as recorder:
        thing(*inputs)
    return recorder.trace()


@one_test
@pytest.mark.parametrize("seed", range(25))
def test_the_first_submodule_of_a_drawn_drift_is_named(seed: int) -> None:
    drawn = drift_of(seed, "kellet")
    found = first_drift(trace_of(drawn.before, *drawn.inputs), trace_of(drawn.after, *drawn.inputs))
    assert (drawn.kind, found.path if found else None) == (drawn.kind, drawn.path)


@pytest.mark.long
def test_it_is_named_in_layers_of_usual_width() -> None:
    for seed in range(25):
        drawn = drift_of(seed, "kellet", width=256, length=64)
        found = first_drift(trace_of(drawn.before, *drawn.inputs), trace_of(drawn.after, *drawn.inputs))
        assert (seed, drawn.kind, found.path if found else None) == (seed, drawn.kind, drawn.path)


@pytest.mark.parametrize("seed", [5, 19])
def test_faults_that_only_change_bits_do_change_them(seed: int) -> None:
    drawn = drift_of(seed, "kellet")
    assert drawn.path is None
    assert trace_of(drawn.before, *drawn.inputs).values != trace_of(drawn.after, *drawn.inputs).values


class Adds(nn.Module):
    """Adds a number that can be set; called several times by `Calls`."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0.0

    def forward(self, x: Any) -> Any:
        return x + self.number


class Calls(nn.Module):
    """Calls one submodule twice; what it does between is its own."""

    def __init__(self) -> None:
        super().__init__()
        self.adds = Adds()
        self.factor = 1.0
        self.skips = False

    def forward(self, x: Any) -> Any:
        x = self.adds(x) * self.factor
        return {"once": x} if self.skips else {"once": x, "twice": (self.adds(x),)}


def drift_between(change: Any) -> Any:
    before, after = Calls(), Calls()
    change(after)
    inputs = kellet.tensor([[1.0, -2.0]])
    return first_drift(trace_of(before, inputs), trace_of(after, inputs))


def test_it_says_which_call_and_part_and_how_far_in_ulps() -> None:
    found = drift_between(lambda net: setattr(net.adds, "number", 2.0**-10))
    assert (found.path, found.kind, found.call, found.part) == (
        "adds",
        f"{__name__}:Adds",
        0,
        "output",
    )
    assert (found.largest, found.ulps, found.is_exact) == (2.0**-10, 2**13, True)
    assert str(found) == "output: off by 0.000977, 8,192 ulps"


def test_code_between_two_calls_is_of_the_submodule_around_them() -> None:
    found = drift_between(lambda net: setattr(net, "factor", 2.0))
    assert (found.path, found.part, found.before) == ("", "arg0", "adds")
    assert str(found) == "in what it gives to adds, arg0: off by 2, 8,388,608 ulps"


def test_a_call_that_is_not_made_any_more_is_of_the_submodule_around_it() -> None:
    found = drift_between(lambda net: setattr(net, "skips", True))
    assert (found.path, found.before, found.message) == ("", "adds", "not called here")


def test_a_later_call_is_named_by_its_number() -> None:
    def later(net: Calls) -> None:
        calls = iter([0.0, 0.5])
        net.adds.register_forward_pre_hook(lambda module, _: setattr(module, "number", next(calls)))

    found = drift_between(later)
    assert (found.path, found.call, str(found)) == (
        "adds",
        1,
        "call 2, output: off by 0.5, 4,194,304 ulps",
    )


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ([1.0, 2.0], [1.0], "output: stored as float32 [2], found float32 [1]"),
        ([1, 2], [1, 3], "output: off by 1"),
        ([1.0, 2.0], [1.0, float("nan")], "output: 1 of 2 numbers are not finite; 0 were not"),
        ([True, False], [True, True], "output: off by 1"),
    ],
)
def test_what_differs_of_other_answers_is_said(before: Any, after: Any, message: str) -> None:
    class Gives(nn.Module):
        def forward(self, answer: Any) -> Any:
            return kellet.tensor(answer)

    # The list is what it takes: that differs before what it gives, and is left aside here.
    holder = [before]
    net = Gives()
    first = trace_of_call(net, lambda: net(holder[0]))
    holder[0] = after
    found = first_drift(without_inputs(first), without_inputs(trace_of_call(net, lambda: net(holder[0]))))
    assert str(found) == message


def trace_of_call(thing: Any, call: Any) -> Trace:
    with tracing(thing) as recorder:
        call()
    return recorder.trace()


def without_inputs(trace: Trace) -> Trace:
    return replace(trace, calls=tuple(replace(call, inputs=()) for call in trace.calls))


def test_endless_values_in_the_same_places_are_no_drift() -> None:
    inputs = kellet.tensor([[float("inf"), float("nan"), 1.0]])
    assert first_drift(trace_of(Adds(), inputs), trace_of(Adds(), inputs)) is None


def test_nothing_is_left_of_the_hooks_and_the_answer_is_the_same() -> None:
    net = Calls()
    inputs = kellet.tensor([[1.0, -2.0]])
    plain = net(inputs)["once"].numpy()
    with tracing(net) as recorder:
        traced = net(inputs)["once"].numpy()
    assert (plain == traced).all()
    assert [len(one._forward_hooks) + len(one._forward_pre_hooks) for one in net.modules()] == [0, 0]
    count = len(recorder.trace().calls)
    net(inputs)
    assert len(recorder.trace().calls) == count == 3


def test_a_call_is_traced_in_its_mode_and_by_the_recorder_that_is_given() -> None:
    net = nn.Sequential(nn.Dropout(0.5)).train()
    recorder = Recorder()
    answer = call_in_mode(net, {"arg0": np.ones(4, "float32")}, around=partial(tracing, recorder=recorder))
    assert answer["output"].tolist() == [1.0] * 4
    assert [call.outputs for call in recorder.trace().calls] == [(("output", 0),)] * 2
    assert net.training


def test_a_submodule_that_fails_and_is_caught_ends_with_the_one_around_it() -> None:
    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("on purpose")

    class Catches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Fails()

        def forward(self, x: Any) -> Any:
            try:
                return self.inner(x)
            except ValueError:
                return x

    trace = trace_of(Catches(), kellet.ones(1))
    assert trace.order == (0, 1, 1, 0)
    assert unpack_trace(pack_trace(trace), what="trace") == trace


class Scaler:
    """An estimator without a library."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def fit(self, x: Any) -> Scaler:
        return self

    def transform(self, x: Any) -> Any:
        return x * self.factor


class Steps:
    """Estimators one after another, as a pipeline holds them."""

    def __init__(self, *factors: float) -> None:
        self.steps = [(f"step{number}", Scaler(factor)) for number, factor in enumerate(factors)]

    def fit(self, x: Any) -> Steps:
        return self

    def predict(self, x: Any) -> Any:
        for _, step in self.steps:
            x = step.transform(x)
        return x


def test_the_first_step_of_a_pipeline_that_differs_is_named() -> None:
    before, after = Steps(1.0, 2.0, 3.0), Steps(1.0, 2.5, 3.5)
    x = np.ones((2, 3))
    traces = [trace_of_call(pipeline, lambda one=pipeline: one.predict(x)) for pipeline in (before, after)]
    found = first_drift(*traces)
    assert (found.path, found.method, found.kind) == ("steps.step1", "transform", f"{__name__}:Scaler")
    assert "transform" not in vars(before.steps[1][1])


def test_more_calls_than_are_kept_cut_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._calls.recording.MAX_TRACED_CALLS", 2)
    trace = trace_of(Calls(), kellet.ones(1, 2))
    assert (trace.is_cut, len(trace.calls), trace.order) == (True, 2, (0, 1, 1, 0))
    assert first_drift(trace_of(Calls(), kellet.ones(1, 2)), trace) is None


def test_libraries_whose_code_runs_or_that_it_names_are_seen_inside_the_block_alone() -> None:
    def version() -> Any:
        return packaging.version.Version("1.0")

    seen = _CodeSeen()
    with seen:
        pass
    version()
    assert seen.tops == set()
    with seen:
        version()
    assert "packaging" in seen.tops


def test_names_of_parts_of_a_call_are_cut() -> None:
    class Named(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"k" * 300: [x]}

    (call,) = trace_of(Named(), kellet.ones(1, 2)).calls
    assert [(len(name), name.strip("k")) for name, _ in call.outputs] == [(200, "output.")]
