"""Derivatives checked against finite differences."""

from __future__ import annotations

from typing import Any

import pytest

import kellet
from kellet.autograd import Function
from kellet.errors import GradcheckError
from kellet.testing import gradcheck, gradgradcheck


class Wrong(Function):
    """A square whose gradient forgets the factor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0]


@pytest.fixture
def x() -> kellet.Tensor:
    return kellet.tensor([0.5, 2.0], dtype=kellet.float64, requires_grad=True)


def test_right_derivatives_pass(x: kellet.Tensor) -> None:
    assert gradcheck(lambda a, b: (a * b).exp(), (x, x.detach().clone().requires_grad_()))
    assert gradgradcheck(lambda a: (a**3).sum(), x)


def test_complex_functions_pass() -> None:
    z = kellet.tensor([1 + 2j, 3 - 1j], dtype=kellet.complex128, requires_grad=True)
    assert gradcheck(lambda z: z * z.conj() * z, z)
    assert gradcheck(lambda z: (z * z).real, z)
    assert gradgradcheck(lambda z: z.exp(), z)


def test_wrong_derivative_is_shown_with_both_jacobians(x: kellet.Tensor) -> None:
    with pytest.raises(
        GradcheckError, match=r"(?s)Jacobian mismatch for output 0 .* input 0.*numerical.*analytical"
    ):
        gradcheck(Wrong.apply, x)
    assert gradcheck(Wrong.apply, x, raise_exception=False) is False


def test_wrong_second_derivative(x: kellet.Tensor) -> None:
    class WrongTwice(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 * ctx.saved_tensors[0].detach()

    assert gradcheck(WrongTwice.apply, x)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(WrongTwice.apply, x)


def test_values_taken_out_of_the_graph_are_noticed(x: kellet.Tensor) -> None:
    with pytest.raises(GradcheckError, match="expected to be zero, since no output requires grad"):
        gradcheck(lambda x: x.detach() * 2, x)


def test_what_depends_on_no_input_passes(x: kellet.Tensor) -> None:
    assert gradcheck(lambda x: kellet.ones(2, dtype=kellet.float64), x)


def test_backward_that_differs_from_call_to_call(x: kellet.Tensor) -> None:
    class Noisy(Function):
        calls = 0

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            Noisy.calls += 1
            return grad * (1 + 1e-7 * Noisy.calls)

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(Noisy.apply, x)
    assert gradcheck(Noisy.apply, x, nondet_tol=1e-5)


def test_backward_that_cannot_do_without_gradients(x: kellet.Tensor) -> None:
    class Strict(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 1

    with pytest.raises(
        GradcheckError, match=r"Expected backward function to handle undefined output grads .*TypeError"
    ):
        gradcheck(Strict.apply, x)
    assert gradcheck(Strict.apply, x, check_undefined_grad=False)


def test_single_precision_warns() -> None:
    x = kellet.tensor([0.5], requires_grad=True)
    with pytest.warns(UserWarning, match="finite differences need double precision"):
        assert gradcheck(lambda x: x * 2, x, eps=1e-2)


def test_nothing_to_check() -> None:
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, kellet.ones(1))
