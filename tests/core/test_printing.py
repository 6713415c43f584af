"""How tensors print, where no torch stands beside to compare."""

from __future__ import annotations

import numpy as np
import pytest

import kellet
from tests.tables import one_test


@one_test
@pytest.mark.parametrize(
    ("values", "text"),
    [
        (kellet.tensor(3.5), "tensor(3.5000)"),
        (kellet.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (kellet.tensor([0.25, -1.0]), "tensor([ 0.2500, -1.0000])"),
        (kellet.tensor([1e-6, 1.0]), "tensor([1.0000e-06, 1.0000e+00])"),
        (kellet.tensor([float("nan"), 1.5]), "tensor([   nan, 1.5000])"),
        (kellet.tensor([1, 20]), "tensor([ 1, 20])"),
        (kellet.tensor([True, False]), "tensor([ True, False])"),
        (kellet.tensor([1 - 2j]), "tensor([1.-2.j])"),
        (kellet.zeros(0), "tensor([])"),
        (kellet.zeros(0, 2), "tensor([], size=(0, 2))"),
        (kellet.ones(1, dtype=kellet.float64), "tensor([1.], dtype=float64)"),
        (kellet.ones(1, dtype=kellet.int8), "tensor([1], dtype=int8)"),
        (kellet.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (kellet.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
        (kellet.tensor([[1], [2]]), "tensor([[1],\n        [2]])"),
    ],
)
def test_text(values: kellet.Tensor, text: str) -> None:
    assert repr(values) == text


def test_long_tensors_are_summarised() -> None:
    assert repr(kellet.arange(1001)) == "tensor([   0,    1,    2, ...,  998,  999, 1000])"
    assert "..." not in repr(kellet.arange(1000))


def test_what_follows_the_values_goes_to_a_line_of_its_own_where_it_must() -> None:
    x = kellet.from_numpy(np.arange(9) / 7).requires_grad_()
    assert repr(x).splitlines()[-1] == "       dtype=float64, requires_grad=True)"


def test_subclass_says_its_name() -> None:
    assert repr(kellet.nn.Parameter(kellet.ones(1))) == (
        "Parameter containing:\ntensor([1.], requires_grad=True)"
    )
