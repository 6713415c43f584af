"""Saving state: names, order, sharing, versions, extra state, and the hooks around it."""

import copy
import pickle
import re

import pytest

import kellet
from kellet import nn
from kellet.errors import HookError
from kellet.nn import StateDict


class Inner(nn.Module):
    _version = 3

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(kellet.ones(2))
        self.register_parameter("absent", None)
        self.register_buffer("count", kellet.zeros(1))
        self.register_buffer("scratch", kellet.zeros(1), persistent=False)
        self.register_buffer("nothing", None)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(kellet.zeros(1))
        self.a = Inner()
        self.b = Inner()
        self.register_module("c", None)


class Counted(nn.Module):
    """Keeps a number that is no tensor."""

    def __init__(self, number=0):
        super().__init__()
        self.weight = nn.Parameter(kellet.ones(1))
        self.number = number

    def get_extra_state(self):
        return {"number": self.number}

    def set_extra_state(self, state):
        self.number = state["number"]


def test_keys_are_dotted_paths_in_the_order_of_the_modules():
    assert list(Outer().state_dict()) == ["bias", "a.weight", "a.count", "b.weight", "b.count"]


def test_values_are_detached_and_share_memory():
    module = Inner()
    state = module.state_dict()
    assert state["weight"].requires_grad is False
    assert state["weight"] is not module.weight
    with kellet.no_grad():
        module.weight.fill_(7)
    assert state["weight"].tolist() == [7.0, 7.0]


def test_keep_vars_gives_the_objects_themselves():
    module = Inner()
    state = module.state_dict(keep_vars=True)
    assert state["weight"] is module.weight
    assert state["count"] is module.count


def test_tied_parameters_appear_under_every_name():
    module = nn.Module()
    module.a = nn.Linear(2, 2)
    module.b = nn.Linear(2, 2, bias=False)
    module.b.weight = module.a.weight
    assert list(module.state_dict()) == ["a.weight", "a.bias", "b.weight"]


def test_a_module_under_two_names_appears_under_both():
    module = nn.Module()
    module.a = nn.Linear(1, 1, bias=False)
    module.b = module.a
    assert list(module.state_dict()) == ["a.weight", "b.weight"]


def test_metadata_holds_the_version_of_each_class():
    metadata = Outer().state_dict()._metadata
    assert metadata == {"": {"version": 1}, "a": {"version": 3}, "b": {"version": 3}}


def test_prefix_is_put_before_keys_and_paths():
    state = Outer().state_dict(prefix="net.")
    assert list(state)[:2] == ["net.bias", "net.a.weight"]
    assert list(state._metadata) == ["net", "net.a", "net.b"]


def test_destination_is_filled_and_returned():
    destination = {"old": 1}
    assert Inner().state_dict(destination=destination) is destination
    assert list(destination) == ["old", "weight", "count"]
    assert not hasattr(destination, "_metadata")


def test_destination_with_metadata_gets_versions():
    destination = StateDict(old=1)
    Inner().state_dict(destination, "x.", True)
    assert destination._metadata == {"x": {"version": 3}}


def test_extra_state_is_saved_where_its_getter_is_defined():
    module = nn.Sequential(Counted(5))
    state = module.state_dict()
    assert list(state) == ["0.weight", "0._extra_state"]
    assert state["0._extra_state"] == {"number": 5}


def test_state_dict_keeps_its_metadata_through_copies():
    state = Outer().state_dict()
    for twin in (state.copy(), copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert type(twin) is StateDict
        assert list(twin) == list(state)
        assert twin._metadata == state._metadata


def test_overridden_save_is_asked():
    class Doubled(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(kellet.ones(1))

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            destination[prefix + "twice"] = self.weight.detach() * 2

    state = nn.Sequential(Doubled()).state_dict()
    assert {key: value.item() for key, value in state.items()} == {"0.twice": 2.0}


def test_overridden_state_dict_of_a_submodule_is_asked():
    class Renamed(nn.Linear):
        def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
            state = super().state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
            state[prefix + "kernel"] = state.pop(prefix + "weight")
            return state

    assert list(nn.Sequential(Renamed(1, 1)).state_dict()) == ["0.bias", "0.kernel"]


# Hooks


def test_pre_hooks_run_parent_before_child_before_own_keys_are_written():
    module, calls = Outer(), []
    for part in (module, module.a):
        part.register_state_dict_pre_hook(
            lambda module, prefix, keep_vars: calls.append((type(module).__name__, prefix, keep_vars))
        )

    def rename(module, prefix, keep_vars):
        module.register_buffer("late", kellet.zeros(1))
        return "ignored"

    module.a.register_state_dict_pre_hook(rename)
    state = module.state_dict(prefix="net.", keep_vars=True)
    assert calls == [("Outer", "net.", True), ("Inner", "net.a.", True)]
    assert "net.a.late" in state


def test_hooks_run_child_before_parent_on_the_whole_destination():
    module, calls = Outer(), []
    for part in (module, module.a):
        part.register_state_dict_hook(
            lambda module, state_dict, prefix, keep_vars: calls.append(
                (type(module).__name__, list(state_dict), prefix, keep_vars)
            )
        )
    state = module.state_dict()
    assert calls == [
        ("Inner", ["bias", "a.weight", "a.count"], "a.", False),
        ("Outer", list(state), "", False),
    ]


def test_post_hook_gets_the_metadata_and_may_change_it():
    module = Outer()

    def hook(module, state_dict, prefix, local_metadata):
        local_metadata["note"] = prefix

    module.a.register_state_dict_post_hook(hook)
    assert module.state_dict()._metadata["a"] == {"version": 3, "note": "a."}


def test_both_kinds_of_hook_run_in_one_order():
    module, calls = Inner(), []
    module.register_state_dict_post_hook(lambda *args: calls.append(args[3]))
    module.register_state_dict_hook(lambda *args: calls.append(args[3]))
    module.register_state_dict_post_hook(lambda *args: calls.append(args[3]))
    module.state_dict()
    assert calls == [{"version": 3}, False, {"version": 3}]


@pytest.mark.parametrize("register", ["register_state_dict_hook", "register_state_dict_post_hook"])
def test_hook_that_answers_is_refused(register):
    module = nn.Sequential(nn.Linear(1, 1))
    getattr(module[0], register)(lambda module, state_dict, prefix, last: state_dict)
    message = re.escape("state_dict post-hook must return None, got StateDict")
    with pytest.raises(HookError, match=f"{message}.* on Linear at '0'"):
        module.state_dict()


def test_value_that_is_no_tensor_stays_in_the_state():
    module = nn.Module()

    def hook(module, state_dict, prefix, keep_vars):
        state_dict[prefix + "note"] = "custom"

    module.register_state_dict_hook(hook)
    assert pickle.loads(pickle.dumps(module.state_dict())) == {"note": "custom"}


def test_submodules_are_saved_with_a_version_of_their_own_and_by_the_detach_of_their_parameters():
    class Told(nn.Parameter):
        def detach(self):
            told.append("detached")
            return super().detach()

    told: list[str] = []
    net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    net[0].__dict__["_version"] = 5
    net[1].weight = Told(kellet.ones(1, 1))
    state = net.state_dict()
    assert [one["version"] for one in state._metadata.values()] == [1, 5, 1]
    assert told == ["detached"]
    assert not any(value.requires_grad for value in state.values())
