"""Full backward hooks, their pre-hooks, and the hook on the gradient of a module's output."""

import gc
import weakref
from typing import NamedTuple

import pytest

import kellet
from kellet import nn
from kellet.errors import HookError, HookTypeError
from kellet.nn.modules.module import (
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)


class Multiply(nn.Module):
    def forward(self, x, y):
        return x * y


class Double(nn.Module):
    def forward(self, x):
        return x * 2


class Split(nn.Module):
    """x and 2 x, and something that is no Tensor between them."""

    def forward(self, x):
        return x * 1, "text", x * 2


def leaf(value=1.0):
    return kellet.tensor([value], requires_grad=True)


def numbers(grads):
    return [None if grad is None else grad.item() for grad in grads]


def record(calls):
    return lambda module, grad_input, grad_output: calls.append((numbers(grad_input), numbers(grad_output)))


# register_full_backward_hook


def test_hook_sees_the_gradients_of_inputs_and_output():
    module, calls = Multiply(), []
    module.register_full_backward_hook(record(calls))
    module(leaf(2.0), leaf(3.0)).backward()
    assert calls == [([3.0, 2.0], [1.0])]


def test_hook_gets_tensors_in_tuples():
    module, seen = Double(), []
    module.register_full_backward_hook(lambda module, *grads: seen.extend(grads))
    module(leaf()).backward()
    assert [type(grads) for grads in seen] == [tuple, tuple]
    assert all(isinstance(grad, kellet.Tensor) for grads in seen for grad in grads)


def test_hooks_run_in_order_prepended_first_and_global_before_own():
    module, calls = Double(), []
    module.register_full_backward_hook(lambda *args: calls.append("a"))
    module.register_full_backward_hook(lambda *args: calls.append("first"), prepend=True)
    module.register_full_backward_pre_hook(lambda *args: calls.append("pre"))
    module.register_full_backward_pre_hook(lambda *args: calls.append("pre first"), prepend=True)
    with (
        register_module_full_backward_hook(lambda *args: calls.append("global")),
        register_module_full_backward_pre_hook(lambda *args: calls.append("global pre")),
    ):
        module(leaf()).backward()
    assert calls == ["global pre", "pre first", "pre", "global", "first", "a"]


def test_answer_replaces_the_gradient_of_the_input():
    module, x = Double(), leaf()
    module.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
    module.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] + 1,))
    module(x).backward()
    assert x.grad.tolist() == [21.0]


def test_answer_none_keeps_the_gradient():
    module, x = Double(), leaf()
    module.register_full_backward_hook(lambda *args: None)
    module(x).backward()
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize(("answer", "got"), [((), 0), ((leaf(), leaf()), 2)])
def test_answer_of_another_length_is_refused(answer, got):
    module = Double()
    module.register_full_backward_hook(lambda *args: answer)
    message = f"Backward hook returned an invalid number of grad_input, got {got}, but expected 1"
    with pytest.raises(HookError, match=message):
        module(leaf()).backward()


def test_answer_that_is_no_tuple_is_refused():
    module = Double()
    module.register_full_backward_hook(lambda module, grad_input, grad_output: grad_input[0])
    message = r"Backward hook must return None or a tuple of 1 grad_input, got Tensor"
    with pytest.raises(HookTypeError, match=message):
        module(leaf()).backward()


def test_keyword_inputs_have_no_place_and_other_values_none():
    class Mixed(nn.Module):
        def forward(self, x, times, y, *, z):
            return x * times + y * z

    module, calls = Mixed(), []
    module.register_full_backward_hook(record(calls))
    module(leaf(), 3, kellet.tensor([5.0]), z=leaf()).backward()
    # y is a Tensor without requires_grad: None, where torch shows zeros.
    assert calls == [([3.0, None, None], [1.0])]


def test_an_input_that_nothing_used_has_zeros_of_its_own_shape_and_dtype():
    class Second(nn.Module):
        def forward(self, x, y):
            return y * 2

    module, seen = Second(), []
    module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.extend(grad_input))
    y = kellet.tensor([[1.0]], dtype=kellet.float64, requires_grad=True)
    module(kellet.ones(3, requires_grad=True), y).backward(kellet.ones(1, 1, dtype=kellet.float64))
    assert [(grad.tolist(), grad.dtype) for grad in seen] == [
        ([0.0, 0.0, 0.0], kellet.float32),
        ([[2.0]], kellet.float64),
    ]


def test_gradients_are_those_of_this_pass_only():
    module, calls, x = Double(), [], leaf()
    module.register_full_backward_hook(record(calls))
    module(x).backward()
    module(x).backward()
    assert calls == [([2.0], [1.0])] * 2
    assert x.grad.tolist() == [4.0]


def test_grad_input_belongs_to_the_arguments_after_pre_hooks_and_grad_output_to_the_output_after_hooks():
    module, calls, x = Double(), [], leaf()
    module.register_forward_pre_hook(lambda module, args: (args[0] * 3,))
    module.register_forward_hook(lambda module, args, output: output * 5)
    module.register_full_backward_hook(record(calls))
    module(x).backward()
    # The hook's factor 5 lies between grad_output and the module, the factor 3 behind grad_input.
    assert calls == [([10.0], [1.0])]
    assert x.grad.tolist() == [30.0]


def test_hook_fires_at_the_output_where_no_input_requires_a_gradient():
    module, calls = nn.Linear(2, 1), []
    module.register_full_backward_hook(record(calls))
    module(kellet.ones(1, 2)).backward()
    assert calls == [([None], [1.0])]
    assert module.weight.grad.tolist() == [[1.0, 1.0]]


def test_hook_of_a_module_without_inputs_gets_an_empty_tuple():
    class Constant(nn.Module):
        def __init__(self):
            super().__init__()
            self.value = nn.Parameter(kellet.ones(1))

        def forward(self):
            return self.value * 2

    module, calls = Constant(), []
    module.register_full_backward_hook(record(calls))
    module().backward()
    assert calls == [([], [1.0])]


def test_hook_does_not_fire_where_no_output_needs_a_gradient():
    module, calls = Double(), []
    module.register_full_backward_hook(record(calls))
    (module(kellet.ones(1)) * leaf()).backward()
    assert calls == []


@pytest.mark.parametrize("answer", [None, (None,), ()])
def test_all_none_may_be_answered_where_no_input_requires_a_gradient(answer):
    module = nn.Linear(1, 1)
    module.register_full_backward_hook(lambda *args: answer)
    module(kellet.ones(1)).backward()
    assert module.weight.grad.tolist() == [[1.0]]


@pytest.mark.parametrize("answer", [(leaf(),), leaf()])
def test_a_gradient_answered_where_no_input_requires_one_is_refused(answer):
    module = nn.Linear(1, 1)
    module.register_full_backward_hook(lambda *args: answer)
    with pytest.raises(HookError, match="where no input requires gradient should always return None"):
        module(kellet.ones(1)).backward()


def test_no_hook_fires_without_grad_mode():
    module, calls = Double(), []
    module.register_full_backward_hook(record(calls))
    with kellet.no_grad():
        output = module(leaf())
    assert output.requires_grad is False
    assert calls == []


@pytest.mark.parametrize("register", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_input_changed_in_place_by_the_module_is_refused(register):
    class InPlace(nn.Module):
        def forward(self, x):
            x += 1
            return x.clone()

    module = InPlace()
    getattr(module, register)(lambda *args: None)
    with pytest.raises(RuntimeError, match=r"BackwardHookFunction.* is a view and is being modified inplace"):
        module(leaf().clone())


@pytest.mark.parametrize("register", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_output_changed_in_place_by_the_caller_is_refused(register):
    module = Double()
    getattr(module, register)(lambda *args: None)
    output = module(leaf())
    with pytest.raises(RuntimeError, match=r"BackwardHookFunction.* is a view and is being modified inplace"):
        output += 1


def test_output_in_a_dict_warns_and_never_fires():
    class Named(nn.Module):
        def forward(self, x):
            return {"x": x * 2}

    module, calls = Named(), []
    module.register_full_backward_hook(lambda *args: calls.append("full"))
    module.register_full_backward_pre_hook(lambda *args: calls.append("pre"))
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors") as told:
        output = module(leaf())
    assert told[0].filename == __file__
    output["x"].backward()
    assert calls == []


def test_module_used_twice_fires_once_for_each_use_last_use_first():
    module, calls = Double(), []
    module.register_full_backward_hook(record(calls))
    module(module(leaf())).backward()
    assert calls == [([2.0], [1.0]), ([4.0], [2.0])]


def test_nested_modules_fire_from_the_outside_in_and_back():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Double()

        def forward(self, x):
            return self.inner(x * 3)

    outer, calls = Outer(), []
    for name, module in (("outer", outer), ("inner", outer.inner)):
        module.register_full_backward_pre_hook(lambda *args, name=name: calls.append(f"{name} pre"))
        module.register_full_backward_hook(lambda *args, name=name: calls.append(name))
    outer(leaf()).backward()
    assert calls == ["outer pre", "inner pre", "inner", "outer"]


def test_named_tuple_output_stays_one():
    class Pair(NamedTuple):
        a: object
        b: object

    class Two(nn.Module):
        def forward(self, x):
            return Pair(x * 2, x * 3)

    module, calls = Two(), []
    module.register_full_backward_hook(record(calls))
    output = module(leaf())
    assert type(output) is Pair
    (output.a + output.b).backward()
    assert calls == [([5.0], [1.0, 1.0])]


def test_hooks_work_through_a_second_derivative():
    class Cube(nn.Module):
        def forward(self, x):
            return x * x * x

    module, calls, x = Cube(), [], leaf(2.0)
    module.register_full_backward_hook(record(calls))
    (grad,) = kellet.autograd.grad(module(x), x, create_graph=True)
    assert calls == [([12.0], [1.0])]
    (second,) = kellet.autograd.grad(grad, x)
    assert second.tolist() == [12.0]


def test_graph_does_not_outlive_its_output_and_keeps_no_module():
    module = Double()
    module.register_full_backward_hook(lambda *args: None)
    output = module(leaf())
    gone = weakref.ref(module)
    gc.disable()
    try:
        del module, output
        assert gone() is None
    finally:
        gc.enable()


# register_full_backward_pre_hook


def test_pre_hook_answer_replaces_the_real_gradient():
    module, calls, x = Double(), [], leaf()
    module.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
    module.register_full_backward_hook(record(calls))
    module(x).backward()
    assert calls == [([20.0], [10.0])]
    assert x.grad.tolist() == [20.0]


def test_pre_hook_answer_replaces_the_gradient_of_the_parameters_where_no_input_requires_one():
    module = nn.Linear(2, 2)
    module.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 0,))
    module(kellet.ones(2)).sum().backward()
    assert module.weight.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_pre_hooks_see_what_the_one_before_answered():
    module, seen = Double(), []
    module.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] + 1,))
    module.register_full_backward_pre_hook(lambda module, grad_output: seen.append(numbers(grad_output)))
    module(leaf()).backward()
    assert seen == [[2.0]]


@pytest.mark.parametrize(("answer", "got"), [((), 0), ((leaf(), leaf()), 2)])
def test_pre_hook_answer_of_another_length_is_refused(answer, got):
    module = Double()
    module.register_full_backward_pre_hook(lambda *args: answer)
    message = f"Backward pre hook returned an invalid number of grad_output, got {got}, but expected 1"
    with pytest.raises(RuntimeError, match=message):
        module(leaf()).backward()


def test_outputs_that_are_no_tensors_have_no_place_in_grad_output():
    module, calls = Split(), []
    module.register_full_backward_pre_hook(lambda module, grad_output: calls.append(numbers(grad_output)))
    a, text, b = module(leaf())
    (a + b * 10).backward()
    assert text == "text"
    assert calls == [[1.0, 10.0]]


def test_unused_output_has_none_and_the_hooks_still_fire():
    module, calls = Split(), []
    module.register_full_backward_pre_hook(lambda module, grad_output: calls.append(numbers(grad_output)))
    module.register_full_backward_hook(record(calls))
    _, _, b = module(leaf())
    b.backward()
    assert calls == [[None, 1.0], ([2.0], [None, 1.0])]


# register_backward_hook, lucid's


def test_output_hook_gets_the_tensor_that_the_caller_has():
    module, calls = Double(), []
    module.register_backward_hook(lambda tensor, grad: calls.append((tensor, grad.item())))
    module.register_full_backward_hook(lambda *args: None)
    module.register_forward_hook(lambda module, args, output: output + 1)
    output = module(leaf())
    output.backward()
    assert calls[0][0] is output
    assert calls[0][1] == 1.0


def test_output_hook_gets_the_values_where_the_caller_dropped_the_tensor():
    module, calls = Double(), []
    module.register_backward_hook(lambda tensor, grad: calls.append((tensor.item(), grad.item())))
    (module(leaf(3.0)) * 5).backward()
    assert calls == [(6.0, 5.0)]


def test_output_hook_gets_a_gradient_that_numpy_takes():
    import numpy as np

    module, calls = Double(), []
    module.register_backward_hook(lambda tensor, grad: calls.append(np.asarray(grad)))
    module(leaf()).backward()
    assert calls == [np.array([1.0], np.float32)]


def test_answer_of_an_output_hook_is_ignored():
    module, x = Double(), leaf()
    module.register_backward_hook(lambda tensor, grad: grad * 100)
    module(x).backward()
    assert x.grad.tolist() == [2.0]


def test_output_hook_is_silent_for_an_output_that_requires_no_gradient():
    module, calls = Double(), []
    module.register_backward_hook(lambda *args: calls.append(1))
    (module(kellet.ones(1)) * leaf()).backward()
    assert calls == []


@pytest.mark.parametrize("pack", [lambda x: (x, x), lambda x: {"x": x}, lambda x: [x]])
def test_output_hook_never_fires_for_what_is_not_a_single_tensor(pack):
    class Pack(nn.Module):
        def forward(self, x):
            return pack(x * 2)

    module, calls = Pack(), []
    module.register_backward_hook(lambda *args: calls.append(1))
    output = module(leaf())
    (output["x"] if isinstance(output, dict) else output[0]).backward()
    assert calls == []


def test_output_hook_in_the_form_of_torch_is_refused_and_the_other_method_named():
    with pytest.raises(
        TypeError, match=r"takes \(module, grad_input, grad_output\).*register_full_backward_hook"
    ):
        Double().register_backward_hook(lambda module, grad_input, grad_output: None)


def test_output_hook_makes_no_cycle_that_keeps_the_output_alive():
    module = Double()
    module.register_backward_hook(lambda *args: None)
    output = module(leaf())
    gone = weakref.ref(output)
    gc.disable()
    try:
        del output
        assert gone() is None
    finally:
        gc.enable()


def test_input_of_a_hooked_module_is_refused_after_its_original_was_changed_in_place():
    class Keep(nn.Module):
        def forward(self, x):
            self.kept = x
            return x.clone()

    module, x = Keep(), leaf().clone()
    module.register_full_backward_hook(lambda *args: None)
    module(x)
    x[0] *= 1
    with pytest.raises(RuntimeError, match=r"BackwardHookFunction.* is a view and its base or another view"):
        module.kept + 2  # the use is the test


def test_an_output_written_elsewhere_is_read_where_nothing_is_recorded():
    module = nn.Linear(1, 1)
    module.register_full_backward_pre_hook(lambda *args: None)
    output = module(leaf())
    output.detach().mul_(2)
    with kellet.no_grad():
        assert (output * 1).tolist() == output.tolist()
    with pytest.raises(RuntimeError, match=r"is a view and its base or another view"):
        output * 1
