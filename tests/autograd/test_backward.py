"""`backward` and `grad`: values, what they keep, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kellet
from kellet import autograd
from kellet.autograd.graph import GradientEdge, get_gradient_edge
from kellet.errors import DTypeError, GradientError, ShapeError


def test_gradients_add_up_over_passes_in_place() -> None:
    x = kellet.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    first = x.grad
    (x * 4).sum().backward()
    assert x.grad is first
    assert x.grad.tolist() == [7.0, 7.0]


def test_gradients_of_two_leaves_do_not_share_memory() -> None:
    x = kellet.ones(2, requires_grad=True)
    y = kellet.ones(2, requires_grad=True)
    (x + y).backward(kellet.ones(2))
    x.grad.zero_()
    assert y.grad.tolist() == [1.0, 1.0]


def test_gradient_given_by_the_caller_is_not_taken_over() -> None:
    x = kellet.ones(2, requires_grad=True)
    given = kellet.ones(2)
    (x + 0).backward(given)
    x.grad.zero_()
    assert given.tolist() == [1.0, 1.0]


def test_leaf_reached_twice() -> None:
    x = kellet.tensor([3.0], requires_grad=True)
    (x + x).backward()
    (x * x).backward()
    assert x.grad.item() == 8.0


def test_leaf_alone() -> None:
    x = kellet.tensor([3.0], requires_grad=True)
    x.backward()
    assert x.grad.item() == 1.0


def test_diamond() -> None:
    x = kellet.tensor(2.0, requires_grad=True)
    y = x * x
    (y * y + y).backward()
    assert x.grad.item() == 4 * 2.0**3 + 2 * 2.0


def test_broadcast_inputs_get_gradients_of_their_own_shape() -> None:
    a = kellet.ones(3, 1, requires_grad=True)
    b = kellet.ones(4, requires_grad=True)
    c = kellet.tensor(2.0, requires_grad=True)
    ((a + b) * c).sum().backward()
    assert_array_equal(a.grad, np.full((3, 1), 8.0))
    assert_array_equal(b.grad, np.full(4, 6.0))
    assert c.grad.item() == 24.0


def test_promoted_inputs_get_gradients_of_their_own_dtype() -> None:
    a = kellet.ones(2, dtype=kellet.float32, requires_grad=True)
    b = kellet.ones(2, dtype=kellet.float64, requires_grad=True)
    (a * b).sum().backward()
    assert (a.grad.dtype, b.grad.dtype) == (kellet.float32, kellet.float64)


def test_real_input_of_a_complex_step_gets_the_real_part() -> None:
    a = kellet.ones(2, requires_grad=True)
    b = kellet.tensor([1 + 2j, 3j], requires_grad=True)
    (a * b).backward(kellet.tensor([1 + 1j, 1j]))
    assert a.grad.dtype == kellet.float32
    assert a.grad.tolist() == [3.0, 3.0]
    assert b.grad.tolist() == [1 + 1j, 1j]


def test_complex_gradient_is_the_conjugate_one() -> None:
    z = kellet.tensor(1 + 2j, requires_grad=True)
    (z * z.conj()).real.backward()
    assert z.grad.item() == 2 + 4j
    z.grad = None
    (z * z).real.backward()
    assert z.grad.item() == 2 - 4j


def test_one_step_between_leaves_finds_the_output_that_was_saved() -> None:
    x = kellet.tensor(2.0, requires_grad=True)
    y = x.exp()
    y.backward()
    assert x.grad.item() == y.item()
    with pytest.raises(GradientError, match="a second time"):
        y.backward()


def test_backward_from_the_first_of_several_outputs() -> None:
    x = kellet.tensor([3.0, 1.0], requires_grad=True)
    x.max(0).values.backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_several_outputs_at_once() -> None:
    x = kellet.tensor([1.0, 2.0], requires_grad=True)
    autograd.backward([x * 2, (x * 3).sum()], [kellet.ones(2), None])
    assert x.grad.tolist() == [5.0, 5.0]


def test_inputs_restrict_what_is_accumulated() -> None:
    x = kellet.tensor(2.0, requires_grad=True)
    w = kellet.tensor(3.0, requires_grad=True)
    y = x * w
    (y * y).backward(inputs=[w, y])
    assert x.grad is None
    assert (w.grad.item(), y.grad.item()) == (24.0, 12.0)


def test_only_what_leads_to_the_inputs_is_computed() -> None:
    x = kellet.tensor(2.0, requires_grad=True)
    w = kellet.tensor(3.0, requires_grad=True)
    branch = w * 5
    branch.grad_fn.register_prehook(lambda grads: pytest.fail("leads nowhere"))
    assert autograd.grad(x * branch, x)[0].item() == 15.0


# --- grad -----------------------------------------------------------------------------------------


def test_grad_returns_and_leaves_grad_alone() -> None:
    x = kellet.tensor([1.0, 2.0], requires_grad=True)
    (found,) = autograd.grad((x * x).sum(), x)
    assert found.tolist() == [2.0, 4.0]
    assert x.grad is None
    assert not found.requires_grad


def test_grad_of_what_was_reduced_can_be_written() -> None:
    x = kellet.ones(3, requires_grad=True)
    (found,) = autograd.grad(x.sum(), x)
    found[0] = 5
    assert found.tolist() == [5.0, 1.0, 1.0]


def test_grad_to_a_place_in_the_graph() -> None:
    x = kellet.tensor(2.0, requires_grad=True)
    y = x * 3
    z = y * y
    assert autograd.grad(z, [get_gradient_edge(y), get_gradient_edge(x)], retain_graph=True)[1].item() == 36.0
    edge = get_gradient_edge(y * 5)
    assert isinstance(edge, GradientEdge)
    assert autograd.grad(edge, x, grad_outputs=kellet.tensor(1.0))[0].item() == 15.0


def test_unused_inputs() -> None:
    x = kellet.tensor(2.0, requires_grad=True)
    w = kellet.ones(2, requires_grad=True)
    y = x * 3
    with pytest.raises(
        GradientError, match=r"\(input 1\) appears to not have been used .* allow_unused=True"
    ):
        autograd.grad(y, (x, w), retain_graph=True)
    assert autograd.grad(y, (x, w), allow_unused=True, retain_graph=True)[1] is None
    assert autograd.grad(y, (x, w), materialize_grads=True)[1].tolist() == [0.0, 0.0]


def test_second_derivatives() -> None:
    x = kellet.tensor([2.0, 3.0], dtype=kellet.float64, requires_grad=True)
    (first,) = autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = autograd.grad(first.sum(), x, create_graph=True)
    (third,) = autograd.grad(second.sum(), x)
    assert_allclose(first.detach(), [12.0, 27.0])
    assert_allclose(second.detach(), [12.0, 18.0])
    assert_allclose(third, [6.0, 6.0])


def test_backward_with_create_graph_leaves_a_gradient_with_history() -> None:
    x = kellet.tensor(3.0, requires_grad=True)
    (x * x).backward(create_graph=True)
    assert x.grad.requires_grad
    first = x.grad
    x.grad = None
    first.backward()
    assert x.grad.item() == 2.0


# --- what the graph keeps -------------------------------------------------------------------------


def test_second_backward_says_what_to_do() -> None:
    x = kellet.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward()
    with pytest.raises(GradientError, match=r"MulBackward0: .* a second time.* Specify retain_graph=True"):
        y.backward()


def test_retained_graph_can_be_run_again() -> None:
    x = kellet.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 18.0


def test_graph_that_saved_nothing_can_be_run_again() -> None:
    x = kellet.tensor(3.0, requires_grad=True)
    y = x + x
    y.backward()
    y.backward()
    assert x.grad.item() == 4.0


def test_values_kept_by_forward_are_released_too() -> None:
    x = kellet.tensor([[1.0, 2.0]], requires_grad=True)
    y = kellet.nn.functional.gelu(x).sum()
    y.backward()
    with pytest.raises(GradientError, match="a second time"):
        y.backward()


# --- what is refused ------------------------------------------------------------------------------


def test_no_graph() -> None:
    with pytest.raises(
        GradientError, match="element 0 of tensors does not require grad and does not have a grad_fn"
    ):
        kellet.ones(1).backward()
    with kellet.no_grad():
        y = kellet.ones(1, requires_grad=True) * 2
    with pytest.raises(GradientError, match="does not require grad"):
        y.backward()


def test_gradient_of_several_elements_must_be_given() -> None:
    x = kellet.ones(2, requires_grad=True)
    with pytest.raises(
        GradientError, match=r"implicitly created only for scalar outputs.*shape \(2,\); pass a"
    ):
        (x * 2).backward()


def test_gradient_of_a_complex_output_must_be_given() -> None:
    z = kellet.ones(1, requires_grad=True) * 0.5j
    with pytest.raises(GradientError, match=r"implicitly created only for real scalar outputs.*complex64"):
        z.backward()
    z.backward(kellet.tensor([2j]))


def test_power_of_a_negative_number_to_a_complex_one() -> None:
    exponent = kellet.tensor([0.3 + 0.2j, -1.0j], dtype=kellet.complex128, requires_grad=True)
    base = kellet.tensor([-1.0, -2.0], dtype=kellet.float64)
    assert autograd.gradcheck(lambda exponent: base**exponent, exponent)
    assert autograd.gradcheck(lambda exponent: (-1) ** exponent, exponent)


def test_gradient_of_another_shape() -> None:
    x = kellet.ones(2, requires_grad=True)
    with pytest.raises(
        ShapeError, match=r"grad_output\[0\] has a shape of \(3,\) and output\[0\] has a shape of \(2,\)"
    ):
        (x * 2).backward(kellet.ones(3))


def test_complex_gradient_of_a_real_output() -> None:
    x = kellet.ones(1, requires_grad=True)
    with pytest.raises(GradientError, match="required to have the same dtype, both complex or neither"):
        (x * 2).backward(kellet.tensor([1j]))


def test_gradient_that_is_no_tensor() -> None:
    x = kellet.ones(1, requires_grad=True)
    with pytest.raises(TypeError, match="gradient 0 must be a tensor or None, got str"):
        (x * 2).backward("1")


def test_inputs_that_cannot_have_gradients() -> None:
    x = kellet.ones(1, requires_grad=True)
    with pytest.raises(GradientError, match=r"\(input 0\) does not require grad"):
        autograd.grad(x * 2, kellet.ones(1))
    with pytest.raises(TypeError, match="input 0 must be a tensor or a GradientEdge, got int"):
        autograd.grad(x * 2, 3)
    with pytest.raises(GradientError, match="cannot be empty"):
        autograd.grad(x * 2, ())
    with pytest.raises(GradientError, match="cannot be empty"):
        (x * 2).backward(inputs=[])
    with pytest.raises(TypeError, match="output 0 must be a tensor or a GradientEdge, got int"):
        autograd.backward(3)


def test_number_of_gradients() -> None:
    x = kellet.ones(1, requires_grad=True)
    with pytest.raises(GradientError, match="got 1 tensors and 2 gradients"):
        autograd.backward([x * 2], [None, None])
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed"):
        autograd.grad(x * 2, x, allow_unused=False, materialize_grads=True)


def test_requires_grad_of_wrong_dtypes_and_of_results() -> None:
    with pytest.raises(
        DTypeError, match="only tensors of floating point and complex dtype can require gradients"
    ):
        kellet.tensor([1]).requires_grad_()
    x = kellet.ones(1, requires_grad=True)
    with pytest.raises(GradientError, match="you can only change requires_grad flags of leaf variables"):
        (x * 2).requires_grad = False
    x.requires_grad = False
    assert not (x * 2).requires_grad


def test_gradient_set_by_hand_is_checked() -> None:
    x = kellet.ones(2, requires_grad=True)
    x.grad = kellet.ones(2)
    del x.grad
    assert x.grad is None
    with pytest.raises(TypeError, match="assigned grad has to be a tensor or None, got list"):
        x.grad = [1.0, 2.0]
    with pytest.raises(ShapeError, match=r"assigned grad has shape \(3,\), but the tensor has \(2,\)"):
        x.grad = kellet.ones(3)
    with pytest.raises(DTypeError, match="assigned grad has dtype float64, but the tensor has float32"):
        x.grad = kellet.ones(2, dtype=kellet.float64)
    with pytest.raises(GradientError, match="as its own grad"):
        x.grad = x


def test_grad_of_a_result_warns() -> None:
    y = kellet.ones(1, requires_grad=True) * 2
    with pytest.warns(UserWarning, match=r"is not a leaf Tensor is being accessed.*retain_grad\(\)"):
        assert y.grad is None


def test_gradients_of_large_leaves_add_up_in_place() -> None:
    x = kellet.ones(300, requires_grad=True)
    (x * 2).sum().backward()
    kept = x.grad
    (x * 3).sum().backward()
    assert x.grad is kept
    assert_array_equal(kept, np.full(300, 5.0))


def test_gradient_that_cannot_be_written_is_replaced() -> None:
    x = kellet.ones(2, requires_grad=True)
    x.grad = kellet.ones(1).expand(2)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_gradient_may_be_an_array_or_a_number() -> None:
    x = kellet.ones(2, requires_grad=True)
    (x * 2).backward(np.array([1.0, 10.0]))
    (x.sum() * 3).backward(2.0)
    assert x.grad.tolist() == [8.0, 26.0]


def test_gradient_of_another_dtype_is_converted() -> None:
    x = kellet.ones(1, requires_grad=True)
    (x * 2).backward(kellet.ones(1, dtype=kellet.float64))
    assert x.grad.dtype == kellet.float32


def test_retained_gradients_with_a_graph_add_up_too() -> None:
    x = kellet.tensor(3.0, requires_grad=True)
    y = x * x
    y.retain_grad()
    z = y * y
    z.backward(create_graph=True)
    z.backward(create_graph=True)
    assert y.grad.item() == 36.0
    assert y.grad.requires_grad


def test_nothing_to_start_from() -> None:
    with pytest.raises(GradientError, match="no tensors to differentiate"):
        autograd.backward([])


def test_gradient_edge_of_a_constant() -> None:
    with pytest.raises(GradientError, match="the gradient edge for a Tensor that does not require gradients"):
        get_gradient_edge(kellet.ones(1))
