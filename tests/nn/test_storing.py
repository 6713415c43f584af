"""The door for code that stores modules and makes them again."""

from __future__ import annotations

import gc

import pytest

import kellet
from kellet import nn
from kellet.hooks import HookRegistry
from kellet.nn import storing

CALLS = "forward_pre forward full_backward_pre full_backward output_gradient"
KINDS = [*CALLS.split(), "save_pre", "save_post", "load_pre", "load_post"]


def test_a_module_without_hooks_has_no_registry_until_one_is_asked_for() -> None:
    net = nn.Identity()
    assert list(storing.hook_registries(net)) == []
    assert not storing.HOOK_ATTRIBUTES & set(vars(net))
    registries = {kind: storing.hook_registry(net, kind) for kind in KINDS}
    assert dict(storing.hook_registries(net)) == registries
    assert set(vars(net)) >= storing.HOOK_ATTRIBUTES


def test_a_hook_added_by_its_registry_runs_with_its_options() -> None:
    net, seen = nn.Identity(), []
    registry = storing.hook_registry(net, "forward_pre")
    registry.add(lambda module, args, kwargs: seen.append(kwargs), with_kwargs=True)
    net(kellet.ones(1))
    assert seen == [{}]


def test_a_kind_that_there_is_not_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="no kind of hook 'backward'; there are forward_pre, forward, full_"):
        storing.hook_registry(nn.Identity(), "backward")


def test_a_wrapper_made_without_its_tables_gets_those_of_what_it_wraps() -> None:
    inner = nn.Linear(2, 1)
    wrapper = nn.HookedModule(inner)
    for name in storing.WRAPPED_ATTRIBUTES:
        del wrapper.__dict__[name]
    storing.rewrap(wrapper)
    assert wrapper.weight is inner.weight
    assert all(vars(wrapper)[name] is vars(inner)[name] for name in storing.WRAPPED_ATTRIBUTES)
    wrapper.__dict__["_inner"] = "no module"
    with pytest.raises(ValueError, match="wraps no module"):
        storing.rewrap(wrapper)


@pytest.mark.parametrize("kind", ["own", "class", "override", "wrapper"])
def test_what_runs_code_on_loading_is_known(kind: str) -> None:
    class Net(nn.Linear):
        pass

    class Loads(Net):
        def set_extra_state(self, state: object) -> None: ...

    net: nn.Module = Net(1, 1)
    assert not storing.loads_by_itself(net)
    if kind == "own":
        net.register_load_state_dict_post_hook(lambda module, keys: None)
    elif kind == "class":
        nn.register_class_load_state_dict_pre_hook(Net, lambda module, state, *rest: None)
    else:
        net = Loads(1, 1) if kind == "override" else nn.HookedModule(net)
    assert storing.loads_by_itself(net)


def test_a_hook_object_made_again_leaves_its_module_when_it_is_collected() -> None:
    net, calls = nn.Identity(), []
    hook = nn.Hook(posthook=lambda module, args, output: calls.append("again"))
    hook.register(net)
    again: nn.Hook = nn.Hook.__new__(nn.Hook)
    storing.restore_hook_object(again, storing.hook_object_attributes(hook))
    assert again.registered
    net(kellet.ones(1))
    del again
    gc.collect()
    net(kellet.ones(1))
    assert calls == ["again"]


def test_handles_of_a_hook_object_that_are_none_change_nothing() -> None:
    hook: nn.Hook = nn.Hook.__new__(nn.Hook)
    with pytest.raises(ValueError, match="the handles of a Hook must be a list of handles"):
        storing.restore_hook_object(hook, {"_trainexec": True, "_handles": ["no handle"]})
    assert vars(hook) == {}


def test_a_handle_knows_its_registry_as_long_as_there_is_one() -> None:
    registry: HookRegistry[object] = HookRegistry()  # type: ignore[type-var]  # hooks of any kind
    handle = registry.add(print)
    assert handle.registry is registry
    del registry
    gc.collect()
    assert handle.registry is None
