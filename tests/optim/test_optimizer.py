"""What every optimiser does: groups, gradients, state dicts, and hooks around all of them."""

import copy
import pickle
import re

import numpy as np
import pytest

import kellet
from kellet import nn
from kellet.errors import HookError
from kellet.optim import SGD, Adam, AdamW, Optimizer
from kellet.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)
from tests.tables import one_test


def leaf(value=1.0):
    return kellet.tensor([value], requires_grad=True)


def ready(value=1.0, grad=1.0):
    """A leaf with a gradient."""
    weight = leaf(value)
    weight.grad = kellet.tensor([grad])
    return weight


class Plain(Optimizer):
    """p -= lr * g, written as a user would."""

    def __init__(self, params, lr=required):
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):
        loss = closure() if closure is not None else None
        with kellet.no_grad():
            for group in self.param_groups:
                for weight in group["params"]:
                    weight -= group["lr"] * weight.grad
        return loss


# Groups


def test_groups_take_defaults_where_they_say_nothing():
    a, b = leaf(), leaf()
    optimizer = SGD([{"params": [a]}, {"params": b, "lr": 1.0}], lr=0.1, momentum=0.5)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 1.0]
    assert [group["momentum"] for group in optimizer.param_groups] == [0.5, 0.5]
    assert optimizer.param_groups[1]["params"] == [b]
    assert optimizer.defaults["lr"] == 0.1


def test_groups_are_added_later():
    a, b = ready(), ready()
    optimizer = Plain([a], lr=1.0)
    optimizer.add_param_group({"params": [b], "lr": 0.5})
    optimizer.step()
    assert (a.item(), b.item()) == (0.0, 0.5)


def test_named_parameters_keep_their_names():
    net = nn.Linear(1, 1)
    optimizer = SGD(net.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="cannot add param group without names to the optimizer"):
        optimizer.add_param_group({"params": [leaf()]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        SGD([("a", leaf()), leaf()])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (leaf(), TypeError, "should be an iterable of Tensors or dicts, but got Tensor"),
        ([], ValueError, "optimizer got an empty parameter list"),
        ([3], TypeError, "can only optimize Tensors, but one of the params is int"),
        ([{"params": {leaf()}}], TypeError, "ordered collections"),
        ([leaf() * 2], ValueError, "can't optimize a non-leaf Tensor"),
    ],
)
def test_what_is_no_parameter_is_refused(params, error, message):
    with pytest.raises(error, match=message):
        SGD(params)


def test_a_group_is_a_dict():
    with pytest.raises(TypeError, match="param_group must be a dict, but got <class 'list'>"):
        SGD([leaf()]).add_param_group([leaf()])


def test_parameter_in_two_groups_is_refused_and_twice_in_one_warned_of():
    a = leaf()
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        SGD([{"params": [a]}, {"params": [a]}])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        SGD([a, a])


def test_option_without_default_is_required():
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        Plain([leaf()])
    assert repr(required) == "<required parameter>"


def test_optimiser_without_step_says_so():
    with pytest.raises(NotImplementedError, match="Nothing does not define step"):
        type("Nothing", (Optimizer,), {})([leaf()], {}).step()


def test_gradients_are_forgotten_or_zeroed():
    weight = ready()
    optimizer = SGD([weight, leaf()])
    optimizer.zero_grad(set_to_none=False)
    assert weight.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert weight.grad is None


def test_it_prints_its_groups():
    assert repr(Plain([leaf()], lr=0.5)) == "Plain (\nParameter Group 0\n    lr: 0.5\n)"


# Hooks around step


def test_hooks_run_around_the_step_in_order():
    weight, calls = ready(), []
    optimizer = Plain([weight], lr=1.0)
    optimizer.register_step_pre_hook(lambda *args: calls.append(("pre", weight.item())))
    optimizer.register_step_post_hook(lambda *args: calls.append(("post", weight.item())))
    with (
        register_optimizer_step_pre_hook(lambda *args: calls.append(("global pre", weight.item()))),
        register_optimizer_step_post_hook(lambda *args: calls.append(("global post", weight.item()))),
    ):
        optimizer.step()
    optimizer.step()
    assert calls == [
        ("global pre", 1.0),
        ("pre", 1.0),
        ("post", 0.0),
        ("global post", 0.0),
        ("pre", 0.0),
        ("post", -1.0),
    ]


def test_hooks_get_the_optimiser_and_the_arguments_of_step():
    calls = []
    optimizer = Plain([ready()], lr=1.0)
    optimizer.register_step_pre_hook(lambda *args: calls.append(args))
    optimizer.register_step_post_hook(lambda *args: calls.append(args))
    closure = lambda: 42.0  # noqa: E731  # compared below
    assert optimizer.step(closure) == 42.0
    optimizer.step(closure=closure)
    assert (
        calls
        == [(optimizer, (optimizer, closure), {})] * 2 + [(optimizer, (optimizer,), {"closure": closure})] * 2
    )


def test_pre_hook_changes_the_arguments():
    optimizer = Plain([ready()], lr=1.0)
    optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: ((optimizer, lambda: 7.0), {}))
    assert optimizer.step() == 7.0


@pytest.mark.parametrize("answer", [3, (), (1, 2), [(), {}]])
def test_pre_hook_answers_arguments_or_nothing(answer):
    weight = ready()
    optimizer = Plain([weight], lr=1.0)
    optimizer.register_step_pre_hook(lambda *args: answer)
    with pytest.raises(
        HookError, match=re.escape("must return None or a tuple of (new_args, new_kwargs), but got")
    ):
        optimizer.step()
    assert weight.item() == 1.0


def test_hooks_run_once_where_a_step_calls_that_of_its_base():
    class Louder(Plain):
        def step(self, closure=None):
            super().step()
            return super().step(closure)

    calls = []
    optimizer = Louder([ready()], lr=1.0)
    optimizer.register_step_pre_hook(lambda *args: calls.append("pre"))
    optimizer.register_step_post_hook(lambda *args: calls.append("post"))
    optimizer.step()
    optimizer.step()
    assert calls == ["pre", "post"] * 2


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_every_optimiser_runs_step_hooks(kind):
    calls = []
    optimizer = kind([ready()])
    optimizer.register_step_pre_hook(lambda *args: calls.append("pre"))
    handle = optimizer.register_step_post_hook(lambda *args: calls.append("post"))
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert calls == ["pre", "post", "pre"]


def test_error_in_a_hook_goes_on_and_the_next_step_has_its_hooks():
    calls = []
    optimizer = Plain([ready()], lr=1.0)

    def fail(*args):
        calls.append(1)
        raise ZeroDivisionError

    optimizer.register_step_pre_hook(fail)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            optimizer.step()
    assert calls == [1, 1]


def test_what_is_not_callable_is_refused_when_registered():
    with pytest.raises(TypeError, match="a hook must be callable, got int: 3"):
        SGD([leaf()]).register_step_pre_hook(3)


# State dicts and the hooks around them


def trained(kind=SGD, **options):
    a, b = ready(1.0, 2.0), ready(3.0, 4.0)
    optimizer = kind([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1, **options)
    optimizer.step()
    return optimizer


def test_state_names_parameters_by_position():
    state = trained(momentum=0.9).state_dict()
    assert [group["params"] for group in state["param_groups"]] == [[0], [1]]
    assert {key: value["momentum_buffer"].tolist() for key, value in state["state"].items()} == {
        0: [2.0],
        1: [4.0],
    }


def test_state_is_taken_over_by_another_optimiser():
    source = trained(momentum=0.9)
    target = SGD([{"params": [ready(1.0, 2.0)]}, {"params": [ready(3.0, 4.0)]}], lr=9.0)
    target.load_state_dict(source.state_dict())
    assert [group["lr"] for group in target.param_groups] == [0.1, 0.5]
    assert target.param_groups[0]["momentum"] == 0.9
    weight = target.param_groups[0]["params"][0]
    assert target.state[weight]["momentum_buffer"].tolist() == [2.0]
    target.step()
    assert weight.item() == pytest.approx(1.0 - 0.1 * (0.9 * 2.0 + 2.0))


def test_loaded_state_has_the_dtype_of_its_parameter_but_steps_keep_theirs():
    state = trained(AdamW).state_dict()
    weights = [kellet.ones(1, dtype=kellet.float64, requires_grad=True) for _ in range(2)]
    target = AdamW([{"params": [weights[0]]}, {"params": [weights[1]]}])
    target.load_state_dict(state)
    loaded = target.state[weights[0]]
    assert loaded["exp_avg"].dtype == kellet.float64
    assert loaded["step"].dtype == kellet.float32
    assert loaded["step"].item() == 1.0


class OfAnotherLibrary:
    """What has values and is neither an array nor a tensor of ours."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


@one_test
@pytest.mark.parametrize("spelled", [np.asarray, OfAnotherLibrary], ids=["NumPy", "another library"])
@pytest.mark.parametrize(
    ("kind", "options"), [(SGD, {"momentum": 0.9}), (Adam, {"amsgrad": True}), (AdamW, {})]
)
def test_state_in_arrays_is_copied_into_tensors_and_goes_on(kind, options, spelled):
    def read_only(value):
        if not isinstance(value, kellet.Tensor):
            return value
        array = value.numpy().copy()
        array.flags.writeable = False
        return spelled(array)

    source = trained(kind, **options)
    state = source.state_dict()
    given = {
        "state": {
            at: {name: read_only(one) for name, one in held.items()} for at, held in state["state"].items()
        },
        "param_groups": state["param_groups"],
    }
    target = trained(kind, **options)  # of the same weights
    target.load_state_dict(given)
    assert all(type(one) is kellet.Tensor for held in target.state.values() for one in held.values())
    for optimizer in (source, target):
        for _ in range(2):
            optimizer.step()
    weights = [[group["params"][0].tolist() for group in one.param_groups] for one in (source, target)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[1]], "a different number of parameter groups: 2, and the optimizer has 1"),
        ([[1, 1], [1]], "group 0 has 1 parameters, the optimizer's 2"),
    ],
)
def test_state_of_other_groups_is_refused_and_changes_nothing(groups, message):
    target = SGD([{"params": [leaf() for _ in group]} for group in groups], lr=9.0)
    with pytest.raises(ValueError, match=message):
        target.load_state_dict(trained(momentum=0.9).state_dict())
    assert target.param_groups[0]["lr"] == 9.0
    assert not target.state


def test_state_hooks_run_before_and_after_saving():
    optimizer, calls = trained(), []
    optimizer.register_state_dict_pre_hook(lambda optimizer: calls.append("second"))
    optimizer.register_state_dict_pre_hook(lambda optimizer: calls.append("first"), prepend=True)

    def note(optimizer, state_dict):
        state_dict["note"] = "custom"

    optimizer.register_state_dict_post_hook(lambda optimizer, state_dict: {"replaced": state_dict})
    optimizer.register_state_dict_post_hook(note, prepend=True)
    assert optimizer.state_dict()["replaced"]["note"] == "custom"
    assert calls == ["first", "second"]


def test_state_hooks_run_before_and_after_loading():
    optimizer, calls = trained(), []
    state = optimizer.state_dict()

    def rename(optimizer, state_dict):
        calls.append("rename")
        state_dict["param_groups"] = state_dict.pop("groups")

    def replace(optimizer, state_dict):
        calls.append("replace")
        return {"state": state_dict["state"], "groups": state["param_groups"]}

    optimizer.register_load_state_dict_pre_hook(rename)
    optimizer.register_load_state_dict_pre_hook(replace, prepend=True)
    optimizer.register_load_state_dict_post_hook(lambda optimizer: calls.append("after"))
    optimizer.register_load_state_dict_post_hook(lambda optimizer: calls.append("after, first"), prepend=True)
    given = {"state": state["state"]}
    optimizer.load_state_dict(given)
    assert calls == ["replace", "rename", "after, first", "after"]
    assert list(given) == ["state"]


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda optimizer: pickle.loads(pickle.dumps(optimizer))])
def test_copies_have_the_state_and_no_hooks(twin_of):
    optimizer, calls = trained(momentum=0.9), []
    optimizer.register_step_pre_hook(lambda *args: calls.append(1))
    twin = twin_of(optimizer)
    weight = twin.param_groups[0]["params"][0]
    assert twin.state[weight]["momentum_buffer"].tolist() == [2.0]
    weight.grad = kellet.ones(1)
    twin.step()
    assert calls == []
