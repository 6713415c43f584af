"""Watching for NaN: which step is named, what the warning shows, and that nothing is left behind."""

from __future__ import annotations

from typing import Any

import pytest

import kellet
from kellet import autograd
from kellet.errors import GradientError


def steps_into_nan() -> kellet.Tensor:
    x = kellet.zeros(2, requires_grad=True)
    return (x.sqrt() * 0).sum()


@pytest.mark.parametrize("graph", [False, True])
def test_the_step_whose_gradient_is_nan_is_named_and_shown(graph: bool) -> None:
    with autograd.detect_anomaly():
        loss = steps_into_nan()
        with (
            pytest.warns(UserWarning, match=r"(?s)Error detected in SqrtBackward0. .*in steps_into_nan"),
            pytest.raises(GradientError, match="'SqrtBackward0' returned nan values in its 0th output"),
        ):
            loss.backward(create_graph=graph)


def test_a_single_step_is_watched_too() -> None:
    x = kellet.zeros((), requires_grad=True)
    with (
        autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Error detected in MulBackward0"),
        pytest.raises(GradientError, match="'MulBackward0' returned nan values in its 0th output"),
    ):
        (x * float("nan")).backward()


def test_steps_recorded_outside_have_no_lines_to_show() -> None:
    loss = steps_into_nan()
    with (
        autograd.detect_anomaly(),
        pytest.warns(UserWarning, match="No forward pass information available"),
        pytest.raises(GradientError, match="SqrtBackward0"),
    ):
        loss.backward()


def test_without_the_check_lines_are_kept_and_nothing_is_raised() -> None:
    with autograd.detect_anomaly(check_nan=False):
        loss = steps_into_nan()
        assert kellet.is_anomaly_enabled()
        assert not kellet.is_anomaly_check_nan_enabled()
        assert any("steps_into_nan" in line for line in loss.grad_fn.metadata["traceback_"])
        loss.backward()


def test_the_mode_ends_with_its_block() -> None:
    with autograd.detect_anomaly():
        with autograd.set_detect_anomaly(False):
            assert not kellet.is_anomaly_enabled()
        assert kellet.is_anomaly_check_nan_enabled()
    assert not kellet.is_anomaly_enabled()
    assert "traceback_" not in (kellet.ones(1, requires_grad=True) * 2).grad_fn.metadata
    steps_into_nan().backward()


@pytest.mark.parametrize("step", [lambda x: x + x, lambda x: x * 2.0, lambda x: x - x, lambda x: x.exp()])
def test_every_node_made_in_anomaly_mode_keeps_the_lines_that_led_to_it(step: Any) -> None:
    x = kellet.ones(1, requires_grad=True)
    with kellet.autograd.detect_anomaly():
        node = step(x).grad_fn
    assert "test_anomaly.py" in "".join(node.metadata["traceback_"])
    assert "traceback_" not in step(x).grad_fn.metadata
