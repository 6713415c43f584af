"""Custom functions."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import kellet
from kellet.autograd import Function
from kellet.autograd.function import once_differentiable
from kellet.errors import GradientError, VersionError
from tests.annotated import defined


class Multiply(Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        a, b = ctx.saved_tensors
        return (
            grad * b if ctx.needs_input_grad[0] else None,
            grad * a if ctx.needs_input_grad[1] else None,
        )


class Twins(Function):
    """Two outputs, the gradients noted as they came."""

    seen: Any = None
    materialize = True

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(Twins.materialize)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        Twins.seen = [None if g is None else g.tolist() for g in (first, second)]
        return first * 2 if second is None else first * 2 + second * 3


@pytest.fixture
def x() -> kellet.Tensor:
    return kellet.tensor([2.0, 3.0], requires_grad=True)


def test_forward_and_backward(x: kellet.Tensor) -> None:
    w = kellet.tensor([5.0, 7.0], requires_grad=True)
    y = Multiply.apply(x, w)
    assert y.grad_fn.name() == "MultiplyBackward"
    assert isinstance(y.grad_fn, Multiply._backward_cls)
    y.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([5.0, 7.0], [2.0, 3.0])


def test_forward_runs_without_gradients(x: kellet.Tensor) -> None:
    modes = []

    class Looks(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            modes.append(kellet.is_grad_enabled())
            return x * 1

    Looks.apply(x)
    assert modes == [False]


def test_nothing_is_recorded_where_no_gradient_is_needed(x: kellet.Tensor) -> None:
    assert not Multiply.apply(kellet.ones(2), kellet.ones(2)).requires_grad
    with kellet.no_grad():
        assert not Multiply.apply(x, x).requires_grad


def test_needs_input_grad_has_a_flag_for_every_argument(x: kellet.Tensor) -> None:
    flags = []

    class Flags(Function):
        @staticmethod
        def forward(ctx: Any, scale: float, x: Any, constant: Any) -> Any:
            flags.append(ctx.needs_input_grad)
            return x * scale

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            flags.append(ctx.needs_input_grad)
            return None, grad * 4, None

    Flags.apply(4.0, x, kellet.ones(2)).sum().backward()
    assert flags == [(False, True, False)] * 2
    assert x.grad.tolist() == [4.0, 4.0]


def test_missing_gradients_are_zeros_or_none(x: kellet.Tensor) -> None:
    Twins.materialize = True
    Twins.apply(x)[0].sum().backward()
    assert Twins.seen == [[1.0, 1.0], [0.0, 0.0]]
    Twins.materialize = False
    Twins.apply(x)[0].sum().backward()
    assert Twins.seen == [[1.0, 1.0], None]
    assert x.grad.tolist() == [4.0, 4.0]


def test_setup_context_beside_a_forward_without_ctx(x: kellet.Tensor) -> None:
    class Scale(Function):
        @staticmethod
        def forward(x: Any, factor: float = 3.0) -> Any:
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            _, ctx.factor = inputs
            ctx.total = output.sum().item()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.factor, None

    y = Scale.apply(x)
    assert y.grad_fn.total == 15.0
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_annotations_of_a_forward_may_name_what_is_not_there(x: kellet.Tensor) -> None:
    class Scale(Function):
        forward = staticmethod(defined("def forward(x, factor: NotHere = 3.0): return x * factor", "forward"))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            _, ctx.factor = inputs

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.factor, None

    Scale.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_second_derivative_of_a_differentiable_backward(x: kellet.Tensor) -> None:
    (first,) = kellet.autograd.grad(Multiply.apply(x, x * x).sum(), x, create_graph=True)
    (second,) = kellet.autograd.grad(first.sum(), x)
    assert first.tolist() == [12.0, 27.0]
    assert second.tolist() == [12.0, 18.0]


def test_saved_output_has_its_place_in_the_graph_and_makes_no_cycle(x: kellet.Tensor) -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0]

    y = Exp.apply(x)
    assert y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
    (first,) = kellet.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = kellet.autograd.grad(first.sum(), x, retain_graph=True)
    assert second.allclose(x.exp().detach())
    gone = weakref.ref(y)
    del y, first
    assert gone() is None


def test_once_differentiable(x: kellet.Tensor) -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            assert not kellet.is_grad_enabled()
            return grad * 2 * ctx.saved_tensors[0]

    (first,) = kellet.autograd.grad((Square.apply(x) * x).sum(), x, create_graph=True)
    assert first.tolist() == [12.0, 27.0]
    with pytest.raises(GradientError, match=r"trying to differentiate twice .* @once_differentiable"):
        first.sum().backward()


def test_dirty_input_gets_the_history_of_the_step(x: kellet.Tensor) -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    y = x * 1
    z = Double.apply(y)
    assert z is y
    assert y._version == 2
    base = x * 1
    Double.apply(base[1:])
    (y + base).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]
    with pytest.raises(GradientError, match="a leaf Variable that requires grad"):
        Double.apply(x)


def test_dirty_marks_that_make_no_sense(x: kellet.Tensor) -> None:
    class Forgets(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x * 1

    with pytest.raises(GradientError, match=r"Some elements marked as dirty .* were not returned as output"):
        Forgets.apply(x * 1)

    class Other(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x * 1
            ctx.mark_dirty(out)
            return out

    with pytest.warns(UserWarning, match=r"Only input Tensors should be given to ctx\.mark_dirty\(\)"):
        Other.apply(x)


def test_output_without_gradient(x: kellet.Tensor) -> None:
    class Sort(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            mask = x * 0
            ctx.mark_non_differentiable(mask)
            return x * 2, mask, x.argsort()

        @staticmethod
        def backward(ctx: Any, grad: Any, of_mask: Any, of_order: Any) -> Any:
            assert of_mask.tolist() == [0.0, 0.0]
            return grad * 2

    doubled, mask, order = Sort.apply(x)
    assert [t.requires_grad for t in (doubled, mask, order)] == [True, False, False]
    doubled.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_outputs_that_are_no_tensors_pass_through(x: kellet.Tensor) -> None:
    class Mixed(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return "name", x * 2, None

        @staticmethod
        def backward(ctx: Any, of_name: Any, grad: Any, of_none: Any) -> Any:
            assert (of_name, of_none) == (None, None)
            return grad * 2

    name, y, nothing = Mixed.apply(x)
    assert (name, nothing) == ("name", None)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_input_returned_as_it_is_becomes_a_view_that_cannot_be_written(x: kellet.Tensor) -> None:
    class Identity(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 10

    base = x * 1
    y = Identity.apply(base)
    assert y is not base
    with pytest.raises(
        GradientError, match=r"Output 0 of Identity is a view .* created inside a custom Function"
    ):
        y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_saved_input_changed_in_place(x: kellet.Tensor) -> None:
    y = x * 1
    z = Multiply.apply(y, x)
    y.add_(1)
    with pytest.raises(VersionError, match=r"MultiplyBackward: .* modified by an inplace operation"):
        z.sum().backward()


def test_saved_values_are_released(x: kellet.Tensor) -> None:
    z = Multiply.apply(x, x).sum()
    z.backward()
    with pytest.raises(GradientError, match=r"MultiplyBackward: .* a second time"):
        z.backward()


def test_gradient_is_summed_to_the_shape_of_its_input() -> None:
    class Widen(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.expand(3) * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    x = kellet.ones(1, requires_grad=True)
    Widen.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0]


def returning(answer: Any) -> type[Function]:
    class Returns(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            return x * factor

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return answer

    return Returns


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (None, GradientError, r"an incorrect number of gradients \(expected 2, got 1\)"),
        ((None, None, 1), GradientError, r"an incorrect number of gradients \(expected 2, got 3\)"),
        ((None, kellet.ones(1)), GradientError, "a gradient different from None at position 2"),
        ((3, None), TypeError, "returned 'int' at position 1; expected a tensor or None"),
        (
            (kellet.ones(3), None),
            RuntimeError,
            r"returned an invalid gradient - got \[3\] but expected shape .*\[2\]",
        ),
    ],
)
def test_wrong_answers(x: kellet.Tensor, answer: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        returning(answer).apply(x, 2.0).sum().backward()


def test_more_gradients_than_arguments_are_fine_when_they_are_none(x: kellet.Tensor) -> None:
    returning((kellet.ones(2), None, None, None)).apply(x, 2.0).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_what_is_missing_is_named(x: kellet.Tensor) -> None:
    class Empty(Function):
        pass

    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        Empty.apply(x)

    class Half(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

    with pytest.raises(NotImplementedError, match="You must implement either the backward"):
        Half.apply(x).sum().backward()
    with pytest.raises(TypeError, match=r"Multiply should not be instantiated: call Multiply\.apply"):
        Multiply()


def test_only_tensors_can_be_saved(x: kellet.Tensor) -> None:
    class Saves(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, 3)
            return x * 1

    with pytest.raises(TypeError, match="save_for_backward can only save tensors or None, got int"):
        Saves.apply(x)


def test_view_that_forward_itself_changed_in_place(x: kellet.Tensor) -> None:
    class Local(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            view = x.clone()[:1]
            view += 2
            return view

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return kellet.cat([grad, grad * 0])

    y = Local.apply(x)
    assert y.tolist() == [4.0]
    assert y.grad_fn.name() == "LocalBackward"
    y.backward()
    assert x.grad.tolist() == [1.0, 0.0]
