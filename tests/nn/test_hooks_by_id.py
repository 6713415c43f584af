"""The dictionaries under which PyTorch keeps hooks: looked at, emptied, and never written to."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import kellet
from kellet import nn
from kellet.nn.modules.module import (
    register_module_backward_hook,
    register_module_full_backward_hook,
)
from tests.tables import one_test

KINDS = {
    "_forward_hooks": "register_forward_hook",
    "_forward_pre_hooks": "register_forward_pre_hook",
    "_backward_hooks": "register_full_backward_hook",
    "_backward_pre_hooks": "register_full_backward_pre_hook",
    "_state_dict_hooks": "register_state_dict_hook",
    "_state_dict_pre_hooks": "register_state_dict_pre_hook",
    "_load_state_dict_pre_hooks": "register_load_state_dict_pre_hook",
    "_load_state_dict_post_hooks": "register_load_state_dict_post_hook",
}


def exercise(net: nn.Module) -> None:
    """Everything around which a module has hooks."""
    net(kellet.ones(1, 2, requires_grad=True)).sum().backward()
    net.load_state_dict(net.state_dict())


@one_test
@pytest.mark.parametrize(("name", "registration"), KINDS.items())
def test_cleared_hooks_run_no_more(name: str, registration: str) -> None:
    net = nn.Linear(2, 1)
    seen: list[str] = []
    hook = lambda *values: seen.append(name)  # noqa: E731  # takes any list of arguments
    handle = getattr(net, registration)(hook)
    hooks = getattr(net, name)
    assert list(hooks) == [handle.id]
    assert list(hooks.values()) == [hook]
    exercise(net)
    assert seen == [name]
    hooks.clear()
    assert len(getattr(net, name)) == 0
    exercise(net)
    assert seen == [name]
    handle.remove()


@one_test
@pytest.mark.parametrize(("name", "registration"), KINDS.items())
def test_setting_an_empty_dictionary_removes_and_a_full_one_is_refused(name: str, registration: str) -> None:
    net = nn.Linear(2, 1)
    getattr(net, registration)(lambda *values: pytest.fail("removed"))
    with pytest.raises(TypeError, match=f"register each with {registration}"):
        setattr(net, name, OrderedDict({1: print}))
    assert len(getattr(net, name)) == 1
    setattr(net, name, OrderedDict())
    exercise(net)
    assert not getattr(net, name)


def test_one_hook_is_taken_out_by_its_id() -> None:
    net, seen = nn.Linear(2, 1), []
    first = net.register_forward_hook(lambda *values: seen.append("first"))
    net.register_forward_hook(lambda *values: seen.append("second"))
    del net._forward_hooks[first.id]
    exercise(net)
    assert seen == ["second"]
    with pytest.raises(KeyError):
        del net._forward_hooks[first.id]
    with pytest.raises(KeyError):
        net._forward_hooks[first.id]


def test_hooks_are_not_set_or_ordered_by_id() -> None:
    net = nn.Linear(2, 1)
    with pytest.raises(TypeError, match="register this one with register_forward_hook"):
        net._forward_hooks[3] = print
    handle = net.register_forward_hook(lambda *values: None)
    with pytest.raises(TypeError, match="register_forward_hook, which takes prepend=True"):
        net._forward_hooks.move_to_end(handle.id, last=False)
    assert "HookMapping({" in repr(net._forward_hooks)


def test_a_module_without_hooks_stays_without() -> None:
    net = nn.Linear(2, 1)
    for name in KINDS:
        assert dict(getattr(net, name)) == {}
    assert "_call_hooks" not in vars(net)
    assert "_state_hooks" not in vars(net)


def test_hooks_of_tensors_are_cleared_as_well() -> None:
    x = kellet.ones(1, requires_grad=True)
    assert x._backward_hooks is None
    assert x._post_accumulate_grad_hooks is None
    x.register_hook(lambda grad: pytest.fail("removed"))
    x.register_post_accumulate_grad_hook(lambda tensor: pytest.fail("removed"))
    assert len(x._backward_hooks) == len(x._post_accumulate_grad_hooks) == 1
    x._backward_hooks.clear()
    x._post_accumulate_grad_hooks.clear()
    (x * 2).backward()
    assert x.grad.item() == 2.0


# --- the deprecated backward hook of all modules ---------------------------------------------------


def test_the_deprecated_global_hook_sees_the_last_operation_and_may_answer() -> None:
    net, seen = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), []

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.append((type(module).__name__, len(grad_input), grad_output[0].shape))
        return tuple(None if grad is None else grad * 2 for grad in grad_input)

    x = kellet.ones(1, 2)
    net(x).sum().backward()
    once = net[0].bias.grad.clone()
    net.zero_grad()
    with register_module_backward_hook(hook):
        net(x).sum().backward()
    # Tanh made the output of the Sequential, too.
    assert seen == [("Tanh", 1, (1, 2)), ("Sequential", 1, (1, 2)), ("Linear", 3, (1, 2))]
    assert net[0].bias.grad.tolist() == (once * 8).tolist()
    net(x).sum().backward()
    assert len(seen) == 3


@pytest.mark.parametrize("output", ["tuple", "dict", "nothing", "no gradient"])
def test_the_deprecated_global_hook_finds_the_first_tensor(output: str) -> None:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x * 2
            return {"tuple": (y, 3), "dict": {"n": 1, "y": y}, "nothing": [], "no gradient": y.detach()}[
                output
            ]

    seen: list[Any] = []
    net, x = Net(), kellet.ones(1, requires_grad=True)
    with register_module_backward_hook(lambda *values: seen.append(values[0])):
        made = net(x)
        if output == "tuple":
            made[0].backward()
        elif output == "dict":
            made["y"].backward()
    assert seen == ([net] if output in ("tuple", "dict") else [])


def test_both_kinds_of_global_backward_hooks_exclude_each_other() -> None:
    with (
        register_module_backward_hook(print),
        pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"),
    ):
        register_module_full_backward_hook(print)
    with (
        register_module_full_backward_hook(print),
        pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"),
    ):
        register_module_backward_hook(print)
