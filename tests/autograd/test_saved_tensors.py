"""Values that operations save: changed in place they are refused, and hooks may pack them."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import kellet
from kellet.autograd.graph import disable_saved_tensors_hooks, increment_version, saved_tensors_hooks
from kellet.errors import GradientError, HookError, HookTypeError, VersionError


@pytest.fixture
def x() -> kellet.Tensor:
    return kellet.tensor([1.0, 2.0], requires_grad=True)


# --- versions -------------------------------------------------------------------------------------


def test_version_counts_writes_and_is_shared_by_views_and_detached_tensors() -> None:
    base = kellet.zeros(4)
    view, detached = base[:2], base.detach()
    assert base._version == 0
    view.add_(1)
    detached[0] = 5
    assert (base._version, view._version, detached._version) == (2, 2, 2)
    assert base.data._version == 0


def test_saved_input_changed_in_place(x: kellet.Tensor) -> None:
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(
        VersionError, match=r"MulBackward0: .* modified by an inplace operation: .* is at version 1"
    ):
        z.sum().backward()


def test_saved_output_changed_in_place(x: kellet.Tensor) -> None:
    y = x.exp()
    y.zero_()
    z = x.exp()
    with kellet.no_grad():
        z.zero_()
    with pytest.raises(VersionError, match=r"ExpBackward0: .* expected version 0 instead"):
        z.sum().backward()


def test_saved_value_changed_through_a_view(x: kellet.Tensor) -> None:
    y = x * 1
    z = (y * y).sum()
    y[0] = 7
    with pytest.raises(VersionError, match="modified by an inplace operation"):
        z.backward()


def test_value_that_is_not_needed_may_be_changed(x: kellet.Tensor) -> None:
    y = x * 1
    z = (y + y).sum()
    y.zero_()
    z.backward()
    assert x.grad.tolist() == [2.0, 2.0]
    a = x * kellet.tensor([3.0, 3.0])  # saves the constant, not `x`
    with kellet.no_grad():
        x.zero_()
    a.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_write_behind_the_back_is_noticed_when_told(x: kellet.Tensor) -> None:
    y = x * 1
    z = (y * y).sum()
    y.detach().numpy()[0] = 5
    increment_version(y)
    with pytest.raises(VersionError):
        z.backward()
    with pytest.raises(TypeError, match="increment_version takes tensors, got int"):
        increment_version([y, 3])


def test_data_put_in_place_of_a_saved_value_is_noticed(x: kellet.Tensor) -> None:
    y = x * 1
    z = (y * y).sum()
    y.data = kellet.zeros(2)
    with pytest.raises(VersionError):
        z.backward()


def test_saved_value_keeps_its_place_in_the_graph_when_the_tensor_is_detached(x: kellet.Tensor) -> None:
    y = x * 3
    z = (y * y).sum()
    y.detach_()
    (first,) = kellet.autograd.grad(z, x, create_graph=True)
    (second,) = kellet.autograd.grad(first.sum(), x)
    assert first.tolist() == [18.0, 36.0]
    assert second.tolist() == [18.0, 18.0]


def test_output_does_not_keep_itself_alive(x: kellet.Tensor) -> None:
    y = x.exp()
    gone = weakref.ref(y)
    del y
    assert gone() is None


# --- hooks on saved values ------------------------------------------------------------------------


def test_pack_is_called_for_each_saved_tensor_and_unpack_in_backward(x: kellet.Tensor) -> None:
    events: list[Any] = []

    def pack(tensor: kellet.Tensor) -> Any:
        events.append(("pack", tensor.tolist(), tensor is x))
        return tensor.numpy().copy()

    def unpack(packed: Any) -> kellet.Tensor:
        events.append(("unpack", packed.tolist(), kellet.is_grad_enabled()))
        return kellet.from_numpy(packed)

    with saved_tensors_hooks(pack, unpack):
        y = (x * x).sum()
    assert events == [("pack", [1.0, 2.0], True)] * 2
    y.backward()
    assert events[2:] == [("unpack", [1.0, 2.0], False)] * 2
    assert x.grad.tolist() == [2.0, 4.0]


def test_unpacked_value_is_what_backward_uses(x: kellet.Tensor) -> None:
    with saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor * 10):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [20.0, 40.0]


def test_outputs_are_packed_too_and_second_derivatives_work(x: kellet.Tensor) -> None:
    with saved_tensors_hooks(lambda t: t.numpy().copy(), kellet.from_numpy):
        y = (x * 2).exp().sum()
        (first,) = kellet.autograd.grad(y, x, create_graph=True)
        (second,) = kellet.autograd.grad(first.sum(), x)
    assert second.allclose(4 * (x * 2).exp().detach())


def test_output_is_shown_without_its_history(x: kellet.Tensor) -> None:
    shown = []
    with saved_tensors_hooks(lambda tensor: shown.append(tensor) or tensor, lambda tensor: tensor):
        y = x.exp()
    assert [tensor.requires_grad for tensor in shown] == [False]
    shown.clear()
    gone = weakref.ref(y)
    del y
    assert gone() is None


def test_innermost_pair_is_used(x: kellet.Tensor) -> None:
    used = []

    def named(name: str) -> Any:
        return lambda tensor: used.append(name) or tensor

    with saved_tensors_hooks(named("outer"), lambda t: t):
        with saved_tensors_hooks(named("inner"), lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    assert used == ["inner", "outer"]


def test_numbers_are_not_packed(x: kellet.Tensor) -> None:
    with saved_tensors_hooks(lambda t: pytest.fail("a number was packed"), lambda t: t):
        y = (x * 3).sum()
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_custom_functions_are_packed(x: kellet.Tensor) -> None:
    class Square(kellet.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    with saved_tensors_hooks(lambda t: t * 1, lambda t: t * 10):
        y = Square.apply(x).sum()
    y.backward()
    assert x.grad.tolist() == [20.0, 40.0]


def test_pack_hook_may_not_change_its_argument(x: kellet.Tensor) -> None:
    with (
        saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t),
        pytest.raises(HookError, match=r"A saved tensor pack hook is modifying its input in place\."),
    ):
        x.exp()


def test_unpack_hook_must_return_a_tensor(x: kellet.Tensor) -> None:
    with saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp().sum()
    with pytest.raises(HookTypeError, match=r"ExpBackward0: the unpack hook .* returned 'int'"):
        y.backward()


def test_pair_must_be_callable() -> None:
    with pytest.raises(TypeError, match="a hook must be callable, got int"):
        saved_tensors_hooks(lambda t: t, 3)  # type: ignore[arg-type]  # that is the point


def test_disabling_nests_and_says_why(x: kellet.Tensor) -> None:
    with disable_saved_tensors_hooks("outer reason"):
        with (
            disable_saved_tensors_hooks("inner reason"),
            pytest.raises(GradientError, match="inner reason"),
            saved_tensors_hooks(lambda t: t, lambda t: t),
        ):
            pass
        with (
            pytest.raises(GradientError, match="outer reason"),
            saved_tensors_hooks(lambda t: t, lambda t: t),
        ):
            pass
    with saved_tensors_hooks(lambda t: t, lambda t: t), pytest.raises(GradientError, match="too late"):
        disable_saved_tensors_hooks("too late").__enter__()


def test_one_saved_value_can_be_packed_alone(x: kellet.Tensor) -> None:
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t * 1, lambda t: t * 100)
    (y * 1).sum().backward()
    assert x.grad.allclose(100 * x.exp().detach())
    z = x.exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(GradientError, match="have already been set"):
        z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
