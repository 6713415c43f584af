"""What the examples of the four founding systems show, with their numbers.

The sources: lucid's page on module hooks, PyTorch's hooks, inferno's `Hook`, ferrotorch's `hooks.rs`.
The parts about packaging and distributed training are tested where they live.
"""

import threading

import pytest

import kellet
from kellet import nn


class Double(nn.Module):
    def forward(self, x):
        return x * 2


class AddOne(nn.Module):
    """x + b with b = 1."""

    def __init__(self):
        super().__init__()
        self.b = nn.Parameter(kellet.ones(1))

    def forward(self, x):
        return x + self.b


class Square(nn.Module):
    def forward(self, x):
        return x * x


class Add(nn.Module):
    def forward(self, x, y):
        return x + y


class Multiply(nn.Module):
    def forward(self, x, y):
        return x * y


class Weighted(nn.Module):
    """One parameter of five values and one of four: what ferrotorch's tests wrap."""

    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(kellet.ones(n))

    def forward(self, x):
        return x * 2


# lucid's page


def test_lucid_forward_pre_hook_changes_the_input():
    module = Double()
    remove = module.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    assert module(kellet.ones(2, 2)).tolist() == [[4.0, 4.0], [4.0, 4.0]]
    remove()
    assert module(kellet.ones(2, 2)).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_lucid_forward_pre_hook_with_kwargs_changes_both():
    class Scale(nn.Module):
        def forward(self, x, factor=1.0):
            return x * factor

    module = Scale()
    module.register_forward_pre_hook(
        lambda module, args, kwargs: ((args[0] + 1,), {"factor": kwargs["factor"] * 3}), with_kwargs=True
    )
    assert module(kellet.ones(1), factor=2.0).tolist() == [12.0]


def test_lucid_forward_hook_replaces_the_output():
    module = AddOne()
    remove = module.register_forward_hook(lambda module, args, output: output * 3)
    assert module(kellet.ones(1)).tolist() == [6.0]
    remove()
    assert module(kellet.ones(1)).tolist() == [2.0]


def test_lucid_forward_hook_that_answers_none_keeps_the_output():
    module, seen = AddOne(), []
    module.register_forward_hook(
        lambda module, args, kwargs, output: seen.append((args[0].item(), kwargs, output.item())),
        with_kwargs=True,
    )
    assert module(kellet.ones(1)).tolist() == [2.0]
    assert seen == [(1.0, {}, 2.0)]


def test_lucid_backward_hook_sees_the_output_tensor_and_its_gradient():
    module, calls = Square(), []
    module.register_backward_hook(lambda tensor, grad: calls.append((tensor, grad.tolist())))
    x = kellet.ones(1, requires_grad=True)
    output = module(x)
    output.backward()
    assert len(calls) == 1
    assert calls[0][0] is output
    assert calls[0][1] == [1.0]
    assert x.grad.tolist() == [2.0]


def test_lucid_backward_hook_needs_a_single_tensor_as_output():
    class Pair(nn.Module):
        def forward(self, x):
            return x * 2, x * 3

    module, calls = Pair(), []
    module.register_backward_hook(lambda tensor, grad: calls.append(grad))
    x = kellet.ones(1, requires_grad=True)
    a, b = module(x)
    (a + b).backward()
    assert calls == []
    assert x.grad.tolist() == [5.0]


def test_lucid_full_backward_pre_hook_sees_one_gradient_for_each_tensor_output():
    module, seen = Add(), []
    module.register_full_backward_pre_hook(lambda module, grad_output: seen.append(grad_output))
    x, y = kellet.ones(1, requires_grad=True), kellet.ones(1, requires_grad=True)
    module(x, y).backward()
    assert [[grad.tolist() for grad in grads] for grads in seen] == [[[1.0]]]


def test_lucid_full_backward_pre_hook_replaces_what_flows_on():
    module = Add()
    module.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
    x, y = kellet.ones(1, requires_grad=True), kellet.ones(1, requires_grad=True)
    module(x, y).backward()
    assert (x.grad.item(), y.grad.item()) == (10.0, 10.0)


def test_lucid_full_backward_hook_sees_gradients_of_positional_inputs_and_outputs():
    module, seen = Multiply(), []

    def hook(module, grad_input, grad_output):
        seen.append(([grad.item() for grad in grad_input], [grad.item() for grad in grad_output]))

    module.register_full_backward_hook(hook)
    x, y = kellet.ones(1, requires_grad=True), kellet.ones(1, requires_grad=True)
    module(x, y).backward()
    assert seen == [([1.0, 1.0], [1.0])]


def test_lucid_full_backward_hook_leaves_out_keywords_and_shows_none_for_other_values():
    class Power(nn.Module):
        def forward(self, x, times, *, bias):
            return x * times + bias

    module, seen = Power(), []
    module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_input))
    x, bias = kellet.ones(1, requires_grad=True), kellet.ones(1, requires_grad=True)
    module(x, 3, bias=bias).backward()
    ((grad_x, grad_times),) = seen
    assert grad_x.tolist() == [3.0]
    assert grad_times is None


def test_lucid_state_dict_pre_hook_is_called_with_prefix_and_keep_vars():
    module, calls = nn.Module(), []
    module.register_state_dict_pre_hook(lambda *args: calls.append(args))
    module.state_dict()
    assert calls == [(module, "", False)]


def test_lucid_state_dict_hook_adds_a_string():
    def hook(module, state_dict, prefix, keep_vars):
        state_dict[prefix + "note"] = "custom"

    module = nn.Module()
    module.register_state_dict_hook(hook)
    assert dict(module.state_dict()) == {"note": "custom"}


@pytest.mark.parametrize("state", [{}, {"legacy_key": 1}])
def test_lucid_load_state_dict_pre_hook_pops_a_legacy_key(state):
    calls = []

    def hook(module, state_dict, strict):
        calls.append(strict)
        state_dict.pop("legacy_key", None)

    module = nn.Module()
    module.register_load_state_dict_pre_hook(hook)
    assert module.load_state_dict(state, strict=True) == ([], [])
    assert calls == [True]


def test_lucid_load_state_dict_post_hook_reports_what_is_missing():
    module, calls = nn.Linear(2, 1), []
    module.register_load_state_dict_post_hook(
        lambda module, missing_keys, unexpected_keys, strict: calls.append(
            (list(missing_keys), list(unexpected_keys), strict)
        )
    )
    module.load_state_dict({"weight": kellet.ones(1, 2)}, strict=False)
    assert calls == [(["bias"], [], False)]


# inferno's Hook


def test_inferno_hook_registers_and_deregisters_itself():
    calls = []
    hook = nn.Hook(
        prehook=lambda module, args: calls.append("pre"),
        posthook=lambda module, args, output: calls.append("post"),
        eval_update=False,
    )
    module = Double()
    hook.register(module)
    module(kellet.ones(1))
    module.eval()
    module(kellet.ones(1))
    hook.deregister()
    hook.deregister()
    module.train()
    module(kellet.ones(1))
    assert calls == ["pre", "post"]


def test_inferno_hook_passes_keyword_arguments_of_registration_on():
    seen = []
    hook = nn.Hook(
        posthook=lambda module, args, kwargs, output: seen.append(kwargs),
        posthook_kwargs={"with_kwargs": True},
    )

    class Named(nn.Module):
        def forward(self, *, x):
            return x

    module = Named()
    hook.register(module)
    module(x=1)
    assert seen == [{"x": 1}]


def test_inferno_hook_needs_one_of_the_two():
    with pytest.raises(RuntimeError, match="at least one of 'prehook', 'posthook' must not be None"):
        nn.Hook()


# ferrotorch's twelve tests


def test_ferrotorch_1_forward_hook_sees_the_shape_of_the_output():
    shapes = []
    module = nn.HookedModule(Double())
    module.register_forward_hook(lambda input, output: shapes.append(output.shape))
    module(kellet.ones(4))
    assert shapes == [(4,)]


def test_ferrotorch_2_pre_hook_with_zeros_makes_the_output_zero():
    module = nn.HookedModule(Double())
    module.register_forward_pre_hook(kellet.zeros_like)
    assert module(kellet.ones(3)).tolist() == [0.0, 0.0, 0.0]


def test_ferrotorch_3_forward_hooks_run_in_order():
    calls = []
    module = nn.HookedModule(Double())
    for number in (1, 2, 3):
        module.register_forward_hook(lambda input, output, number=number: calls.append(number))
    module(kellet.ones(1))
    assert calls == [1, 2, 3]


def test_ferrotorch_4_removed_hook_does_not_run_again():
    calls = []
    module = nn.HookedModule(Double())
    handle = module.register_forward_hook(lambda input, output: calls.append(1))
    module(kellet.ones(1))
    handle.remove()
    module(kellet.ones(1))
    assert calls == [1]


def test_ferrotorch_5_parameters_are_those_of_the_inner_module():
    parameters = list(nn.HookedModule(Weighted(5)).parameters())
    assert [parameter.shape for parameter in parameters] == [(5,)]


def test_ferrotorch_6_parameter_names_have_no_prefix():
    assert [name for name, _ in nn.HookedModule(Weighted(5)).named_parameters()] == ["weight"]


def test_ferrotorch_7_state_dict_has_the_inner_names():
    state = nn.HookedModule(Weighted(4)).state_dict()
    assert {name: value.shape for name, value in state.items()} == {"weight": (4,)}


def test_ferrotorch_8_mode_passes_through():
    inner = Double()
    module = nn.HookedModule(inner)
    assert module.training
    module.eval()
    assert (module.training, inner.training) == (False, False)
    module.train()
    assert (module.training, inner.training) == (True, True)
    inner.eval()
    assert module.training is False


def test_ferrotorch_9_inner_is_the_wrapped_module():
    inner = Double()
    module = nn.HookedModule(inner)
    assert module.inner is inner
    assert module.into_inner() is inner


@pytest.mark.parametrize("dtype", [kellet.float32, kellet.float64])
def test_ferrotorch_10_the_wrapper_is_used_from_several_threads(dtype):
    module = nn.HookedModule(Double())
    seen, lock = [], threading.Lock()

    def hook(input, output):
        with lock:
            seen.append(output.item())

    def work(number):
        handle = module.register_forward_hook(lambda input, output: None)
        module(kellet.full((1,), float(number), dtype=dtype))
        handle.remove()

    module.register_forward_hook(hook)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [2.0 * number for number in range(8)]


def test_ferrotorch_11_backward_hook_runs_in_backward_only():
    calls = []
    module = nn.HookedModule(Double())
    module.register_backward_hook(lambda grad_input, grad_output: calls.append((grad_input, grad_output)))
    output = module(kellet.ones(1, requires_grad=True))
    assert calls == []
    output.backward()
    assert [(a.item(), b.item()) for a, b in calls] == [(2.0, 1.0)]


def test_ferrotorch_12_pre_hooks_chain():
    seen = []
    module = nn.HookedModule(Double())
    module.register_forward_pre_hook(lambda input: seen.append(input.item()) or input * 0)
    module.register_forward_pre_hook(lambda input: seen.append(input.item()) or input + 1)
    assert module(kellet.tensor([42.0])).tolist() == [2.0]
    assert seen == [42.0, 0.0]
