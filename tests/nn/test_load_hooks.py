"""Hooks around loading: both argument lists, what they see of the state, and when they run."""

import re
import types

import pytest

import kellet
from kellet import nn
from kellet.errors import HookError, StateDictError
from kellet.hooks import HookRegistry
from kellet.nn import register_class_load_state_dict_pre_hook


def tensor(values):
    return kellet.tensor(values, dtype=kellet.float32)


def net():
    """Sequential("0": Linear, "1": Sequential("0": Linear))."""
    return nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 1)))


# Which argument list


def test_pre_hook_of_three_arguments_gets_the_short_list():
    module, calls = nn.Linear(1, 1), []
    module.register_load_state_dict_pre_hook(
        lambda module, state_dict, strict: calls.append((module, dict(state_dict), strict))
    )
    state = module.state_dict()
    module.load_state_dict(state, strict=False)
    assert calls == [(module, dict(state), False)]


def test_pre_hook_of_eight_arguments_gets_the_long_list():
    module, calls = nn.Linear(1, 1), []

    def hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        lists = (missing_keys, unexpected_keys, error_msgs)
        calls.append((module, list(state_dict), prefix, local_metadata, strict, *lists))

    module.register_load_state_dict_pre_hook(hook)
    module.load_state_dict(module.state_dict(), strict=False)
    # strict is always True here, as in torch.
    assert calls == [(module, ["weight", "bias"], "", {"version": 1}, True, [], [], [])]


def test_pre_hook_that_can_take_either_list_gets_the_long_one():
    module, calls = nn.Linear(1, 1), []
    module.register_load_state_dict_pre_hook(lambda module, state_dict, prefix, *args: calls.append(prefix))
    module.register_load_state_dict_pre_hook(lambda *args: calls.append(len(args)))
    module.load_state_dict(module.state_dict())
    assert calls == ["", 8]


def test_pre_hook_as_a_bound_method_is_counted_without_self():
    class Owner(nn.Linear):
        def short(self, module, state_dict, strict):
            calls.append(("short", strict))

        def long(self, module, state_dict, prefix, metadata, strict, missing, unexpected, errors):
            calls.append(("long", prefix))

    module, calls = Owner(1, 1), []
    module.register_load_state_dict_pre_hook(module.short)
    module.register_load_state_dict_pre_hook(module.long)
    module.load_state_dict(module.state_dict())
    assert calls == [("short", True), ("long", "")]


@pytest.mark.parametrize("hook", [lambda: None, lambda module: None, lambda a, b, c, d: None])
def test_pre_hook_that_takes_neither_list_is_refused_when_registered(hook):
    message = re.escape(
        "it must take (module, state_dict, strict) or (module, state_dict, prefix, local_metadata, strict, "
        "missing_keys, unexpected_keys, error_msgs)"
    )
    with pytest.raises(TypeError, match=message):
        nn.Linear(1, 1).register_load_state_dict_pre_hook(hook)


@pytest.mark.parametrize("hook", [lambda: None, lambda module: None, lambda a, b, c: None])
def test_post_hook_that_takes_neither_list_is_refused_when_registered(hook):
    message = re.escape(
        "it must take (module, missing_keys, unexpected_keys, strict) or (module, incompatible_keys)"
    )
    with pytest.raises(TypeError, match=message):
        nn.Linear(1, 1).register_load_state_dict_post_hook(hook)


def test_post_hook_of_four_arguments_gets_both_lists_and_strict():
    module, calls = nn.Linear(1, 1), []
    module.register_load_state_dict_post_hook(
        lambda module, missing_keys, unexpected_keys, strict: calls.append(
            (module, list(missing_keys), list(unexpected_keys), strict)
        )
    )
    module.load_state_dict({"x": tensor([1.0])}, strict=False)
    assert calls == [(module, ["weight", "bias"], ["x"], False)]


def test_post_hook_of_two_arguments_gets_a_named_tuple():
    module, calls = nn.Linear(1, 1), []

    def hook(module, incompatible_keys):
        calls.append((module, list(incompatible_keys.missing_keys), list(incompatible_keys[1])))

    module.register_load_state_dict_post_hook(hook)
    module.load_state_dict({"x": tensor([1.0])}, strict=False)
    assert calls == [(module, ["weight", "bias"], ["x"])]


def test_post_hook_that_can_take_either_list_gets_the_long_one():
    module, calls = nn.Linear(1, 1), []
    module.register_load_state_dict_post_hook(lambda *args: calls.append(len(args)))
    module.load_state_dict(module.state_dict())
    assert calls == [4]


def test_hook_without_a_signature_gets_lucids_list():
    module, calls = nn.Linear(1, 1), []
    # A type whose signature Python cannot tell.
    hook = type("Opaque", (), {"__call__": lambda self, *args: calls.append(len(args)), "__signature__": 0})()
    module.register_load_state_dict_pre_hook(hook)
    module.register_load_state_dict_post_hook(hook)
    module.load_state_dict(module.state_dict())
    assert calls == [3, 4]


def test_torchs_private_name_gives_the_long_list_without_the_module_unless_asked():
    module, calls = nn.Linear(1, 1), []
    module._register_load_state_dict_pre_hook(lambda *args: calls.append(args[1]))
    module._register_load_state_dict_pre_hook(lambda *args: calls.append(args[0]), with_module=True)
    module.load_state_dict(module.state_dict())
    assert calls == ["", module]


# What pre-hooks see


def test_pre_hooks_run_root_first_then_children_in_order():
    module, calls = net(), []
    for part in (module[1][0], module[0], module, module[1]):
        part.register_load_state_dict_pre_hook(lambda module, state_dict, prefix, *rest: calls.append(prefix))
    module.load_state_dict(module.state_dict())
    assert calls == ["", "0.", "1.", "1.0."]


def test_long_form_on_a_child_sees_whole_names_below_its_prefix_only():
    module, calls = net(), []
    module[1].register_load_state_dict_pre_hook(
        lambda module, state_dict, prefix, *rest: calls.append((list(state_dict), "0.weight" in state_dict))
    )
    module.load_state_dict(module.state_dict())
    assert calls == [(["1.0.weight", "1.0.bias"], False)]


def test_short_form_on_a_child_sees_names_without_the_prefix():
    module, calls = net(), []
    module[1].register_load_state_dict_pre_hook(
        lambda module, state_dict, strict: calls.append((list(state_dict), len(state_dict)))
    )
    module.load_state_dict(module.state_dict())
    assert calls == [(["0.weight", "0.bias"], 2)]


@pytest.mark.parametrize("form", ["long", "short"])
def test_what_a_pre_hook_on_a_child_changes_is_loaded(form):
    def long(module, state_dict, prefix, *rest):
        state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")

    def short(module, state_dict, strict):
        state_dict["weight"] = state_dict.pop("kernel")

    module = net()
    module[1][0].register_load_state_dict_pre_hook({"long": long, "short": short}[form])
    state = module.state_dict()
    state["1.0.kernel"] = tensor([[42.0]])
    del state["1.0.weight"]
    assert module.load_state_dict(state) == ([], [])
    assert module[1][0].weight.item() == 42.0


def test_pre_hook_of_a_parent_changes_what_the_hooks_of_children_see():
    module, calls = net(), []
    module.register_load_state_dict_pre_hook(
        lambda module, state_dict, strict: state_dict.update({"1.0.added": tensor([1.0])})
    )
    module[1][0].register_load_state_dict_pre_hook(
        lambda module, state_dict, strict: calls.append("added" in state_dict) or state_dict.pop("added")
    )
    assert module.load_state_dict(module.state_dict()) == ([], [])
    assert calls == [True]


def test_key_outside_the_prefix_cannot_be_set():
    module = net()

    def hook(module, state_dict, prefix, *rest):
        state_dict["0.weight"] = tensor([[1.0]])

    module[1].register_load_state_dict_pre_hook(hook)
    with pytest.raises(KeyError, match=r"'0.weight' does not start with '1.'"):
        module.load_state_dict(module.state_dict())


def test_answer_of_a_pre_hook_is_ignored():
    module = nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(lambda module, state_dict, strict: {})
    assert module.load_state_dict(module.state_dict()) == ([], [])


def test_what_a_pre_hook_adds_to_the_errors_refuses_the_load():
    module = net()
    before = module[0].weight.item()

    def hook(module, state_dict, prefix, metadata, strict, missing_keys, unexpected_keys, error_msgs):
        error_msgs.append(f"{prefix}weight is from another planet")

    module[1][0].register_load_state_dict_pre_hook(hook)
    state = module.state_dict() | {"0.weight": tensor([[9.0]])}
    with pytest.raises(StateDictError, match=r"\t1.0.weight is from another planet") as caught:
        module.load_state_dict(state, strict=False)
    assert caught.value.messages == ["1.0.weight is from another planet"]
    assert module[0].weight.item() == before


# Post-hooks


def test_post_hooks_run_children_before_parents_after_the_values_are_there():
    module, calls = net(), []
    for name, part in (("root", module), ("1", module[1]), ("1.0", module[1][0]), ("0", module[0])):
        part.register_load_state_dict_post_hook(
            lambda part, keys, name=name: calls.append((name, module[0].weight.item()))
        )
    module.load_state_dict(module.state_dict() | {"0.weight": tensor([[9.0]])})
    assert calls == [("0", 9.0), ("1.0", 9.0), ("1", 9.0), ("root", 9.0)]


def test_post_hooks_see_the_keys_found_so_far():
    module, calls = net(), []
    for part in (module, module[0], module[1]):
        part.register_load_state_dict_post_hook(
            lambda part, missing_keys, unexpected_keys, strict: calls.append(
                (list(missing_keys), list(unexpected_keys))
            )
        )
    state = {"a": tensor([0.0]), "0.b": tensor([0.0]), "1.0.c": tensor([0.0]), "0.weight": tensor([[0.0]])}
    result = module.load_state_dict(state, strict=False)
    # The root's own keys were found first, those of "1" after the hook of "0" ran.
    everything = (["0.bias", "1.0.weight", "1.0.bias"], ["a", "0.b", "1.0.c"])
    assert calls == [(["0.bias"], ["a", "0.b"]), everything, everything]
    assert result == everything


def test_clearing_the_lists_forgives_a_strict_load():
    module = net()

    def forgive(module, keys):
        keys.missing_keys.clear()
        keys.unexpected_keys.clear()

    module.register_load_state_dict_post_hook(forgive)
    assert module.load_state_dict({"x": tensor([0.0]), "0.weight": tensor([[9.0]])}) == ([], [])
    assert module[0].weight.item() == 9.0


def test_a_child_forgives_only_what_was_found_so_far():
    module = net()
    module[0].register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    with pytest.raises(StateDictError) as caught:
        module.load_state_dict({})
    assert caught.value.missing_keys == ["1.0.weight", "1.0.bias"]


def test_adding_keys_fails_a_strict_load_and_is_reported_without():
    def complain(module, keys):
        keys.missing_keys.append("foo")
        keys.unexpected_keys.append("bar")

    module = nn.ModuleList([nn.Linear(1, 1)])
    handle = module[0].register_load_state_dict_post_hook(complain)
    assert module.load_state_dict(module.state_dict(), strict=False) == (["foo"], ["bar"])
    with pytest.raises(StateDictError, match=r"foo.*\n.*bar"):
        module.load_state_dict(module.state_dict())
    handle.remove()
    assert module.load_state_dict(module.state_dict()) == ([], [])


def test_post_hook_that_answers_is_refused():
    module = nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda module, keys: keys)
    with pytest.raises(HookError, match="post-hook must return None, got IncompatibleKeys"):
        module.load_state_dict(module.state_dict())


def test_post_hooks_do_not_run_for_a_load_refused_by_a_shape():
    module, calls = nn.Linear(1, 1), []
    module.register_load_state_dict_post_hook(lambda module, keys: calls.append(1))
    with pytest.raises(StateDictError):
        module.load_state_dict({"weight": tensor([1.0]), "bias": tensor([1.0])})
    assert calls == []


# Hooks of a class: the place of migrations


@pytest.fixture
def family():
    """A base class and a subclass of it, without hooks of their own."""
    base = type("Base", (nn.Linear,), {})
    return types.SimpleNamespace(base=base, derived=type("Derived", (base,), {}))


def test_class_hooks_run_for_every_instance_before_the_instances_own(family):
    calls = []
    module = nn.Sequential(family.derived(1, 1), nn.Linear(1, 1), family.base(1, 1))
    module[0].register_load_state_dict_pre_hook(
        lambda module, state_dict, prefix, *_: calls.append(("own", prefix))
    )
    register_class_load_state_dict_pre_hook(
        family.derived, lambda module, state_dict, prefix, *_: calls.append(("derived", prefix))
    )
    register_class_load_state_dict_pre_hook(
        family.base, lambda module, state_dict, prefix, *_: calls.append(("base", prefix))
    )
    module.load_state_dict(module.state_dict())
    assert calls == [("base", "0."), ("derived", "0."), ("own", "0."), ("base", "2.")]


def test_class_hook_turns_an_old_layout_into_the_present_one(family):
    family.base._version = 2

    def rename(module, state_dict, prefix, local_metadata, *rest):
        if local_metadata.get("version") is None:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")

    register_class_load_state_dict_pre_hook(family.base, rename)
    module = nn.Sequential(family.base(1, 1, bias=False))
    assert module.load_state_dict({"0.kernel": tensor([[4.0]])}) == ([], [])
    assert module[0].weight.item() == 4.0
    assert module.load_state_dict(module.state_dict()) == ([], [])


def test_class_hook_takes_the_short_list_too(family):
    calls = []
    register_class_load_state_dict_pre_hook(
        family.base, lambda module, state_dict, strict: calls.append((sorted(state_dict), strict))
    )
    module = nn.Sequential(family.base(1, 1))
    module.load_state_dict(module.state_dict(), strict=False)
    assert calls == [(["bias", "weight"], False)]


def test_class_hook_is_removed_by_its_handle_and_leaves_other_classes_alone(family):
    calls = []
    handle = register_class_load_state_dict_pre_hook(family.derived, lambda *args: calls.append("derived"))
    register_class_load_state_dict_pre_hook(family.base, lambda *args: calls.append("base"))
    handle.remove()
    module = family.derived(1, 1)
    module.load_state_dict(module.state_dict())
    assert calls == ["base"]
    assert isinstance(family.base._class_load_hooks, HookRegistry)
    assert list(nn.Linear._class_load_hooks or ()) == []


def test_class_hook_belongs_to_a_module_class():
    with pytest.raises(TypeError, match=r"the hook belongs to a subclass of nn.Module, got <class 'int'>"):
        register_class_load_state_dict_pre_hook(int, lambda module, state_dict, strict: None)


# State-dict hooks of a load in which another load runs


def test_load_within_a_pre_hook_is_a_load_of_its_own():
    inner, module = nn.Linear(1, 1), nn.Linear(1, 1)

    def hook(module, state_dict, strict):
        inner.load_state_dict({"weight": tensor([[3.0]]), "bias": tensor([4.0])})

    module.register_load_state_dict_pre_hook(hook)
    module.load_state_dict({"weight": tensor([[1.0]]), "bias": tensor([2.0])})
    assert (inner.weight.item(), module.weight.item()) == (3.0, 1.0)
