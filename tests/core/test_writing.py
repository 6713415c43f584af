"""Every in-place method does what its namesake does, to the tensor itself, with the same gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kellet
from kellet.errors import ShapeError
from tests.tables import one_test

OTHER = kellet.tensor([2.0, 3.0, 1.5], dtype=kellet.float64)

METHODS: dict[str, tuple[Any, ...]] = {
    "add": (OTHER,),
    "sub": (OTHER,),
    "mul": (OTHER,),
    "div": (OTHER,),
    "pow": (2,),
    "remainder": (OTHER,),
    "floor_divide": (OTHER,),
    "lerp": (OTHER, 0.25),
    "neg": (),
    "abs": (),
    "exp": (),
    "log": (),
    "sqrt": (),
    "rsqrt": (),
    "reciprocal": (),
    "sin": (),
    "cos": (),
    "tanh": (),
    "sigmoid": (),
    "relu": (),
    "floor": (),
    "ceil": (),
    "clamp": (1.0, 4.0),
    "masked_fill": (kellet.tensor([True, False, True]), 9.0),
}


@one_test
@pytest.mark.parametrize("name", METHODS)
def test_method_in_place(name: str) -> None:
    found = []
    for method in (name, f"{name}_"):
        x = kellet.tensor([0.5, 2.5, 5.5], dtype=kellet.float64, requires_grad=True)
        y = x * 1
        result = getattr(y, method)(*METHODS[name])
        if method.endswith("_"):
            assert result is y
            assert y._version == 1
        if result.requires_grad:
            (result * OTHER).sum().backward()
        found.append((result.detach().numpy(), np.zeros(3) if x.grad is None else x.grad.numpy()))
    assert_allclose(found[1][0], found[0][0])
    assert_allclose(found[1][1], found[0][1])


@one_test
@pytest.mark.parametrize(
    ("write", "values"),
    [
        (lambda x: x.__iadd__(2), [9, 6]),
        (lambda x: x.__isub__(2), [5, 2]),
        (lambda x: x.__imul__(2), [14, 8]),
        (lambda x: x.__ifloordiv__(2), [3, 2]),
        (lambda x: x.__imod__(2), [1, 0]),
        (lambda x: x.__ipow__(2), [49, 16]),
        (lambda x: x.__iand__(5), [5, 4]),
        (lambda x: x.__ior__(8), [15, 12]),
        (lambda x: x.__ixor__(1), [6, 5]),
        (lambda x: x.bitwise_and_(5), [5, 4]),
        (lambda x: x.bitwise_or_(8), [15, 12]),
        (lambda x: x.bitwise_xor_(1), [6, 5]),
    ],
)
def test_operators_of_integers(write: Callable[[Any], Any], values: list[int]) -> None:
    x = kellet.tensor([7, 4])
    assert write(x) is x
    assert x.tolist() == values


def test_division_in_place() -> None:
    x = kellet.tensor([7.0, 4.0])
    x /= 2
    assert x.tolist() == [3.5, 2.0]


def test_sums_of_products_and_quotients() -> None:
    a, b = kellet.tensor([6.0]), kellet.tensor([3.0])
    assert kellet.ones(1).addcmul_(a, b, value=0.5).item() == 10.0
    assert kellet.ones(1).addcdiv_(a, b, value=0.5).item() == 2.0
    assert kellet.ones(1).add_(a, alpha=2).item() == 13.0
    assert kellet.ones(1).sub_(a, alpha=2).item() == -11.0


def test_values_are_taken_from_arrays_and_numbers() -> None:
    x = kellet.zeros(2, 2)
    x.copy_(np.array([1.0, 2.0]))
    x[0, 0] = np.float64(7)
    x[1] = [5, 6]
    assert x.tolist() == [[7.0, 2.0], [5.0, 6.0]]
    assert x.fill_(True).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_overlapping_parts_are_copied_as_they_were() -> None:
    x = kellet.arange(5)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda x: x.tan_(), "tan_: the tensor cannot be written"),
        (lambda x: x.add_(1), "add_: the tensor cannot be written"),
        (lambda x: x.zero_(), "writing in place: the tensor cannot be written"),
        (lambda x: x.__setitem__(0, 1), "writing at an index: the tensor cannot be written"),
    ],
)
def test_tensor_that_cannot_be_written_is_told_by_what_was_called(write: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        write(kellet.ones(1, 3).expand(2, 3))


def test_shapes_that_do_not_meet_are_told_by_what_was_called() -> None:
    for name in ("logaddexp", "logaddexp2", "xlogy", "hypot"):
        with pytest.raises(ShapeError, match=rf"^{name}: shapes \(2,\), \(3,\) do not fit"):
            getattr(kellet, name)(kellet.ones(2), kellet.ones(3))
