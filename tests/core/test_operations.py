"""Methods and functions: values, views, errors. Derivatives are tested with the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
from kellet.errors import DTypeError, ShapeError
from tests.tables import one_test

X = kellet.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# --- operators ------------------------------------------------------------------------------------


def test_operators_of_numbers_on_either_side() -> None:
    x = kellet.tensor([1.0, 4.0])
    assert (10 - x).tolist() == [9.0, 6.0]
    assert (8 / x).tolist() == [8.0, 2.0]
    assert (2**x).tolist() == [2.0, 16.0]
    assert (9 // x).tolist() == [9.0, 2.0]
    assert (9 % x).tolist() == [0.0, 1.0]
    assert (+x) is x
    assert abs(-x).tolist() == [1.0, 4.0]
    assert (~kellet.tensor([True, False])).tolist() == [False, True]
    assert (kellet.tensor([6]) & 3).tolist() == [2]
    assert (1 << kellet.tensor([3])).tolist() == [8]
    assert (3 > x).tolist() == [True, False]  # noqa: SIM300  # the reflected operator is what is tested


def test_named_operations_say_what_they_cannot_take() -> None:
    with pytest.raises(TypeError, match="mul: expected a tensor or a number, got str: 'two'"):
        X.mul("two")
    with pytest.raises(TypeError, match="unsupported operand"):
        X + "two"
    with pytest.raises(ValueError, match="rounding_mode must be None, 'trunc' or 'floor', got 'up'"):
        X.div(2, rounding_mode="up")
    assert kellet.tensor([-7]).div(2, rounding_mode="trunc").tolist() == [-3]
    assert X.add(1, alpha=10)[0, 0].item() == 11.0


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"add: shapes \(2, 3\), \(2,\) do not fit"):
        X + kellet.ones(2)
    with pytest.raises(ShapeError, match=r"matmul: shapes \(2, 3\), \(2, 3\) do not fit"):
        X @ X


def test_infinities_come_without_warnings() -> None:
    zero = kellet.zeros(1)
    assert (1 / zero).item() == float("inf")
    assert zero.log().item() == float("-inf")
    assert np.isnan((zero / zero).item())
    big = kellet.tensor([3e38])
    assert (big + big).item() == (big * 10.0).item() == float("inf")
    x = kellet.zeros(1, requires_grad=True)
    x.sqrt().backward()
    assert x.grad.item() == float("inf")


# --- shapes ---------------------------------------------------------------------------------------


@one_test
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda x: x.reshape(3, -1), (3, 2)),
        (lambda x: x.view(6), (6,)),
        (lambda x: x.flatten(), (6,)),
        (lambda x: x.unsqueeze(0), (1, 2, 3)),
        (lambda x: x.unsqueeze(-1), (2, 3, 1)),
        (lambda x: x.unsqueeze(1).squeeze(), (2, 3)),
        (lambda x: x.unsqueeze(1).squeeze(0), (2, 1, 3)),
        (lambda x: x.T, (3, 2)),
        (lambda x: x.t(), (3, 2)),
        (lambda x: x.mT, (3, 2)),
        (lambda x: x.transpose(0, -1), (3, 2)),
        (lambda x: x.unsqueeze(0).permute(2, 0, 1), (3, 1, 2)),
        (lambda x: x.unsqueeze(0).movedim(0, 2), (2, 3, 1)),
        (lambda x: x.unflatten(1, (3, 1)), (2, 3, 1)),
        (lambda x: x.narrow(1, 1, 2), (2, 2)),
        (lambda x: x.select(1, -1), (2,)),
        (lambda x: x.split(2, 1)[0], (2, 2)),
        (lambda x: x.chunk(2, 1)[1], (2, 1)),
        (lambda x: x.unbind(1)[0], (2,)),
        (lambda x: x.unsqueeze(0).expand(4, -1, 3), (4, 2, 3)),
    ],
)
def test_views(make: Any, shape: tuple[int, ...]) -> None:
    base = X.clone()
    view = make(base)
    assert view.shape == shape
    assert view._base is base
    assert np.shares_memory(view.numpy(), base.numpy())


@one_test
@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda x: x.repeat(1, 2), [[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]]),
        (lambda x: x.flip(0, 1), [[6, 5, 4], [3, 2, 1]]),
        (lambda x: x.roll(1, 1), [[3, 1, 2], [6, 4, 5]]),
        (lambda x: x.roll(1), [[6, 1, 2], [3, 4, 5]]),
        (lambda x: x.T.reshape(-1), [1, 4, 2, 5, 3, 6]),
        (lambda x: kellet.cat([x, x], 1), [[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]]),
        (lambda x: kellet.stack([x[0], x[1]], 1), [[1, 4], [2, 5], [3, 6]]),
        (lambda x: kellet.where(x > 3, x, 0), [[0, 0, 0], [4, 5, 6]]),
        (lambda x: x.masked_fill(x > 3, -1), [[1, 2, 3], [-1, -1, -1]]),
        (lambda x: x.masked_select(x > 3), [4, 5, 6]),
        (lambda x: x.index_select(1, kellet.tensor([2, -3])), [[3, 1], [6, 4]]),
        (lambda x: x.gather(1, kellet.tensor([[0], [2]])), [[1], [6]]),
        (lambda x: x.scatter(1, kellet.tensor([[0], [2]]), 9), [[9, 2, 3], [4, 5, 9]]),
        (
            lambda x: x.scatter_add(1, kellet.tensor([[0, 0], [2, 2]]), kellet.ones(2, 2)),
            [[3, 2, 3], [4, 5, 8]],
        ),
        (lambda x: x.index_add(0, kellet.tensor([1, 1]), kellet.ones(2, 3)), [[1, 2, 3], [6, 7, 8]]),
        (lambda x: (x > 4).nonzero(), [[1, 1], [1, 2]]),
        (lambda x: x.cumsum(0), [[1, 2, 3], [5, 7, 9]]),
        (lambda x: x.sort(descending=True).values, [[3, 2, 1], [6, 5, 4]]),
        (lambda x: x.topk(2).indices, [[2, 1], [2, 1]]),
        (lambda x: x.max(dim=0).values, [4, 5, 6]),
        (lambda x: x.argmin(dim=1, keepdim=True), [[0], [0]]),
        (lambda x: x.clamp(2, 5), [[2, 2, 3], [4, 5, 5]]),
        (lambda x: x.sum((0, 1)), 21),
        (lambda x: x.mean(1), [2, 5]),
        (lambda x: x.var(1), [1, 1]),
        (lambda x: x.prod(), 720),
        (lambda x: x.count_nonzero(0), [2, 2, 2]),
    ],
)
def test_values(make: Any, values: Any) -> None:
    assert make(X.clone()).tolist() == values


def test_shapes_that_cannot_be() -> None:
    with pytest.raises(ShapeError, match=r"shape '\[4, -1\]' is invalid for input of size 6"):
        X.reshape(4, -1)
    with pytest.raises(ShapeError, match=r"shape '\[5\]' is invalid for input of size 6"):
        X.view(5)
    with pytest.raises(ShapeError, match=r"view: shape \(6,\) is not compatible .* use \.reshape"):
        X.T.view(6)
    with pytest.raises(ShapeError, match=r"expand: shape \(2, 3\) cannot become \(4, 3\)"):
        X.expand(4, 3)
    with pytest.raises(ShapeError, match=r"permute: \(0, 0\) does not name each of the 2 axes once"):
        X.permute(0, 0)
    with pytest.raises(ShapeError, match=r"split: the sizes \[1, 1\] sum to 2, but axis 1 has 3 entries"):
        X.split([1, 1], 1)
    with pytest.raises(ShapeError, match="cat: expected a non-empty list of Tensors"):
        kellet.cat([])
    with pytest.raises(ShapeError, match=r"t\(\) expects at most 2 axes"):
        kellet.ones(1, 1, 1).t()


def test_axes_out_of_range() -> None:
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected .* \[-2, 1\], but got 2\)"):
        X.sum(2)
    with pytest.raises(ValueError, match="an axis appears twice"):
        X.sum((0, -2))
    with pytest.raises(IndexError, match="select: index 3 is out of range for axis 1 with 3 entries"):
        X.select(1, 3)
    with pytest.raises(IndexError, match=r"narrow: 2 to 2 \+ 5 is out of the 3 entries of axis 1"):
        X.narrow(1, 2, 5)


# --- indexes --------------------------------------------------------------------------------------


def test_wrong_indexes_name_the_shape() -> None:
    with pytest.raises(IndexError, match=r"out of bounds.*; the tensor has shape \(2, 3\)"):
        X[5]
    with pytest.raises(IndexError, match=r"too many indices.*; the tensor has shape \(2, 3\)"):
        X[0, 0, 0]
    with pytest.raises(IndexError, match="an index must be of integers or bools, got a tensor of float32"):
        X[kellet.tensor([0.5])]
    with pytest.raises(IndexError, match=r"out of bounds.*; the tensor has shape \(2, 3\)"):
        X.clone()[5] = 1
    with pytest.raises(IndexError, match="an index is out of range for axis 1 with 3 entries"):
        X.index_select(1, kellet.tensor([3]))
    with pytest.raises(
        DTypeError, match=r"expected an index tensor of integers, got float32; use \.long\(\)"
    ):
        X.index_select(1, kellet.tensor([1.0]))
    with pytest.raises(DTypeError, match=r"expected a mask, a tensor of bools, got float32; use \.bool\(\)"):
        X.masked_fill(X, 0)
    with pytest.raises(DTypeError, match="complex values cannot be written into a real tensor"):
        X.clone()[0] = kellet.tensor([1j])


def test_index_of_integers_alone_is_a_view() -> None:
    x = X.clone()
    one = x[0, 1]
    one.fill_(9)
    assert x[0].tolist() == [1.0, 9.0, 3.0]


def test_index_tensor_changed_later_does_not_change_the_gradient() -> None:
    x = kellet.ones(3, requires_grad=True)
    index = kellet.tensor([0, 0])
    y = x[index]
    index.fill_(2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0]


def test_reductions_of_nothing() -> None:
    empty = kellet.zeros(0)
    assert empty.sum().item() == 0.0
    assert empty.prod().item() == 1.0
    with pytest.raises(ValueError, match=r"max: .* in a tensor of shape \(0,\)"):
        empty.max()


def test_choosing() -> None:
    assert [part.tolist() for part in kellet.where(kellet.tensor([False, True]))] == [[1]]
    with pytest.raises(DTypeError, match="where expects a condition of bools, got float32"):
        kellet.where(X, X, X)
    with pytest.raises(ValueError, match="clamp needs a lower or an upper bound"):
        X.clamp()
    assert kellet.where(kellet.tensor([True]), kellet.tensor([1]), 2.5).dtype == kellet.float32


def test_functions_are_the_methods() -> None:
    assert kellet.exp(kellet.zeros(1)).item() == 1.0
    assert kellet.max(X, dim=1).values.tolist() == [3.0, 6.0]
    assert kellet.reshape(X, (3, 2)).shape == (3, 2)
    assert kellet.allclose(X, X + 1e-9)
    assert [t.shape for t in kellet.broadcast_tensors(kellet.ones(2, 1), kellet.ones(3))] == [(2, 3), (2, 3)]


@pytest.mark.parametrize("kind", [kellet.Tensor, type((kellet.ones(1, requires_grad=True) * 2)._edge)])
def test_attributes_of_tensors_and_nodes_are_read_at_full_speed(kind: type) -> None:
    # Python 3.11 reads every attribute of a class with one of these in four times the time.
    assert not [cls for cls in kind.__mro__ if "__getattr__" in vars(cls)]
    assert kind.__getattribute__ is object.__getattribute__
