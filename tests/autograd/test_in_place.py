"""In-place operations: values, histories, and views of what was written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import kellet
from kellet.errors import DTypeError, GradientError, ShapeError


@pytest.fixture
def x() -> kellet.Tensor:
    return kellet.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_result_gets_the_history_of_the_new_value(x: kellet.Tensor) -> None:
    y = x * 1
    y.mul_(5).add_(1)
    assert y.grad_fn.name() == "AddBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0, 5.0]


def test_constant_takes_part_from_then_on(x: kellet.Tensor) -> None:
    total = kellet.zeros(3)
    total += x
    total += x * 2
    assert total.requires_grad
    total.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_factor_is_the_old_value(x: kellet.Tensor) -> None:
    y = x * 1
    y *= y
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_function_of_the_output_in_place(x: kellet.Tensor) -> None:
    y = x * 1
    y.exp_()
    y.sum().backward()
    assert x.grad.allclose(x.exp().detach())


@pytest.mark.parametrize(
    ("operate", "expected"),
    [
        (lambda y: y.zero_(), [0.0, 0.0, 0.0]),
        (lambda y: y.fill_(7), [0.0, 0.0, 0.0]),
        (lambda y: y.neg_(), [-1.0, -1.0, -1.0]),
        (lambda y: y.sub_(2), [1.0, 1.0, 1.0]),
        (lambda y: y.div_(2), [0.5, 0.5, 0.5]),
        (lambda y: y.pow_(2), [2.0, 4.0, 6.0]),
        (lambda y: y.clamp_(max=2), [1.0, 1.0, 0.0]),
        (lambda y: y.masked_fill_(kellet.tensor([True, False, False]), 0), [0.0, 1.0, 1.0]),
        (lambda y: y.copy_(kellet.ones(3)), [0.0, 0.0, 0.0]),
        (lambda y: y.__setitem__(0, 9.0), [0.0, 1.0, 1.0]),
        (lambda y: y.__setitem__(kellet.tensor([0, 2]), 9.0), [0.0, 1.0, 0.0]),
    ],
)
def test_gradients(x: kellet.Tensor, operate: Any, expected: list[float]) -> None:
    y = x * 1
    operate(y)
    y.sum().backward()
    assert x.grad.tolist() == expected


def test_gradient_of_what_was_written(x: kellet.Tensor) -> None:
    y = kellet.zeros(2, 3)
    y[1] = x
    y[:, 0] = x[2]
    y.copy_(y * 2)
    y.backward(kellet.tensor([[1.0, 10.0, 100.0], [1000.0, 10000.0, 100000.0]]))
    assert x.grad.tolist() == [0.0, 20000.0, 200000.0 + 2.0 + 2000.0]


def test_value_may_have_leading_axes_of_length_one(x: kellet.Tensor) -> None:
    y = kellet.zeros(2, 3)
    y[0] = x.reshape(1, 3) * 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


# --- through views --------------------------------------------------------------------------------


def test_write_to_a_view_gives_the_base_a_new_history(x: kellet.Tensor) -> None:
    base = x * 1
    base[1:].mul_(10)
    assert base.grad_fn.name() == "CopySlices"
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0]


def test_view_has_the_history_of_the_write_through_its_base(x: kellet.Tensor) -> None:
    base = x * 1
    view = base[1:]
    base.mul_(10)
    view.sum().backward()
    assert x.grad.tolist() == [0.0, 10.0, 10.0]


def test_view_has_the_history_of_a_write_through_another_view(x: kellet.Tensor) -> None:
    base = x * 1
    first, second = base[:2], base[1:]
    first.mul_(10)
    second.sum().backward()
    assert x.grad.tolist() == [0.0, 10.0, 1.0]


def test_view_of_a_view_that_cannot_be_a_view_of_a_fresh_array() -> None:
    columns_first = np.asfortranarray(np.ones((2, 3)))
    x = kellet.from_numpy(columns_first).requires_grad_()
    base = x * 1
    view = base.T.reshape(-1)[1:4]
    assert view._base is base
    view.mul_(10)
    base.backward(kellet.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=kellet.float64))
    # the order of `base.T`: (0,0) (1,0) (0,1) (1,1) (0,2) (1,2)
    assert_array_equal(x.grad, [[1.0, 20.0, 3.0], [40.0, 50.0, 6.0]])


def test_second_derivative_through_a_written_view(x: kellet.Tensor) -> None:
    base = x * 1
    base[1:].mul_(x[1:])
    (first,) = kellet.autograd.grad(base.sum(), x, create_graph=True)
    (second,) = kellet.autograd.grad(first.sum(), x)
    assert first.tolist() == [1.0, 4.0, 6.0]
    assert second.tolist() == [0.0, 2.0, 2.0]


def test_write_of_something_recorded_into_a_view_of_a_constant(x: kellet.Tensor) -> None:
    base = kellet.zeros(4)
    view = base[:3]
    view.add_(x)
    assert base.requires_grad
    (base * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_views_know_their_base(x: kellet.Tensor) -> None:
    base = x * 1
    assert base[1:][0]._base is base
    assert base._base is None
    assert base.clone()._base is None
    assert base[kellet.tensor([0, 1])]._base is None


# --- what is refused ------------------------------------------------------------------------------


def test_leaf_that_requires_a_gradient(x: kellet.Tensor) -> None:
    with pytest.raises(GradientError, match=r"a leaf Variable that requires grad .* kellet\.no_grad\(\)"):
        x.add_(1)
    with pytest.raises(GradientError, match="a leaf Variable that requires grad"):
        x[0] = 1
    with pytest.raises(GradientError, match="a view of a leaf Variable that requires grad"):
        x[:1].add_(1)
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_leaf_may_be_written_without_gradients(x: kellet.Tensor) -> None:
    with kellet.no_grad():
        x.add_(1)
        x[0] = 0
    assert x.tolist() == [0.0, 3.0, 4.0]
    assert x.is_leaf
    assert x.requires_grad


def test_view_made_without_gradients(x: kellet.Tensor) -> None:
    base = x * 1
    with kellet.no_grad():
        view = base[1:]
    with pytest.raises(
        GradientError, match="A view was created in no_grad mode and is being modified inplace"
    ):
        view.add_(1)


def test_one_of_several_views(x: kellet.Tensor) -> None:
    first, *_ = (x * 1).unbind()
    with pytest.raises(GradientError, match=r"Output 0 of UnbindBackward0 .* returns multiple views"):
        first.add_(1)


def test_detach_in_place_of_a_view(x: kellet.Tensor) -> None:
    y = x * 1
    assert y.detach_() is y
    assert not y.requires_grad
    with pytest.raises(GradientError, match="Can't detach views in-place"):
        (x * 1)[1:].detach_()


def test_results_that_do_not_fit() -> None:
    a = kellet.zeros(2)
    with pytest.raises(ShapeError, match=r"add_: the result has shape \(3, 2\)"):
        a.add_(kellet.ones(3, 2))
    with pytest.raises(
        DTypeError, match="result type float32 can't be cast to the desired output type int64"
    ):
        kellet.tensor([1, 2]).add_(0.5)
    with pytest.raises(ShapeError, match=r"copy_: values of shape \(3,\) do not fit into \(2,\)"):
        a.copy_(kellet.ones(3))
    with pytest.raises(ShapeError, match="cannot write values of shape"):
        a[0:1] = kellet.ones(2)
    with pytest.raises(ShapeError, match="fill_ takes a number or a tensor of shape"):
        a.fill_(kellet.ones(2))
    with pytest.raises(TypeError, match="mul_: expected a tensor or a number, got str"):
        a.mul_("2")
    assert a.tolist() == [0.0, 0.0]
    assert a._version == 0


def test_expanded_view_cannot_be_written() -> None:
    wide = kellet.ones(1).expand(3)
    with pytest.raises(ShapeError, match=r"several of its elements share one place in memory \(expand\)"):
        wide.add_(1)
    with pytest.raises(ShapeError, match="share one place in memory"):
        wide[0] = 2


def test_data_is_checked(x: kellet.Tensor) -> None:
    with pytest.raises(TypeError, match="data must be a tensor, got list"):
        x.data = [1.0]  # type: ignore[assignment]  # that is the point
    with pytest.raises(DTypeError, match="must be floating point or complex dtype, got int64"):
        x.data = kellet.tensor([1])
    x.data = kellet.zeros(3)
    assert x.tolist() == [0.0, 0.0, 0.0]
    assert x.requires_grad


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (lambda y: y.view(2, 2), [[4.0, 6.0], [8.0, 10.0]]),
        (lambda y: y.detach(), [[2.0, 3.0], [4.0, 5.0]]),
        (lambda y: y[0], [[8.0, 11.0], [2.0, 3.0]]),
        (lambda y: y.t(), [[4.0, 8.0], [6.0, 10.0]]),
    ],
)
def test_derivative_in_place_reads_the_old_values_of_what_shares_memory(other: Any, expected: Any) -> None:
    x = kellet.tensor([[2.0, 3.0], [4.0, 5.0]], requires_grad=True)
    y = x * 1
    y.mul_(other(y))
    y.sum().backward()
    assert x.grad.tolist() == expected


def test_view_written_in_place_has_a_derivative_of_derivatives() -> None:
    x = kellet.tensor([[2.0, 3.0], [4.0, 5.0]], dtype=kellet.float64, requires_grad=True)

    def written(x: Any) -> Any:
        y = x * 0.1
        y.diagonal().tanh_()
        return y, y.diagonal().exp()

    assert kellet.autograd.gradgradcheck(written, (x,))
