"""Hooks that see and replace what any module registers."""

import kellet
from kellet import nn
from kellet.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)


def test_parameter_hook_sees_module_name_and_value():
    calls = []
    with register_module_parameter_registration_hook(lambda *args: calls.append(args)):
        module = nn.Linear(2, 1)
    assert [(owner, name) for owner, name, _ in calls] == [(module, "weight"), (module, "bias")]
    assert calls[0][2] is module.weight


def test_parameter_hook_replaces_what_is_registered():
    other = nn.Parameter(kellet.ones(3))
    module = nn.Module()
    with register_module_parameter_registration_hook(lambda module, name, value: other):
        module.weight = nn.Parameter(kellet.zeros(1))
    assert module.weight is other


def test_buffer_hook_sees_and_replaces_what_is_registered():
    module, calls = nn.Module(), []

    def hook(module, name, value):
        calls.append((name, value.tolist()))
        return value + 1

    with register_module_buffer_registration_hook(hook):
        module.register_buffer("count", kellet.zeros(1))
        module.count = kellet.ones(1)
    assert calls == [("count", [0.0]), ("count", [1.0])]
    assert module.count.tolist() == [2.0]


def test_module_hook_sees_and_replaces_what_is_registered():
    module, calls = nn.Module(), []

    def hook(module, name, value):
        calls.append((name, type(value).__name__))
        return nn.Identity() if isinstance(value, nn.Tanh) else None

    with register_module_module_registration_hook(hook):
        module.a = nn.ReLU()
        module.add_module("b", nn.Tanh())
    assert calls == [("a", "ReLU"), ("b", "Tanh")]
    assert (type(module.a), type(module.b)) == (nn.ReLU, nn.Identity)


def test_hooks_chain_and_a_removed_one_is_not_called():
    module = nn.Module()
    first = register_module_buffer_registration_hook(lambda module, name, value: value + 1)
    with register_module_buffer_registration_hook(lambda module, name, value: value * 10):
        module.register_buffer("a", kellet.ones(1))
        first.remove()
        module.register_buffer("b", kellet.ones(1))
    assert (module.a.item(), module.b.item()) == (20.0, 10.0)
