"""Loading state: what fits, what is refused, and that a refused load changes nothing."""

import re
import warnings

import numpy as np
import pytest

import kellet
from kellet import nn
from kellet.errors import StateDictError
from tests.tables import one_test


def tensor(values, dtype=kellet.float32):
    return kellet.tensor(values, dtype=dtype)


class Small(nn.Module):
    """weight (2,), buffer count (), a transient buffer, names registered as None, a child."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tensor([1.0, 2.0]))
        self.register_parameter("absent", None)
        self.register_buffer("count", tensor(3.0))
        self.register_buffer("scratch", tensor([0.0]), persistent=False)
        self.register_buffer("nothing", None)
        self.child = nn.Linear(1, 1, bias=False)
        self.register_module("none", None)


def good_state():
    return {"weight": tensor([5.0, 6.0]), "count": tensor(7.0), "child.weight": tensor([[8.0]])}


def values(module):
    state = module.state_dict()
    return {name: value.tolist() if name[-12:] != "_extra_state" else value for name, value in state.items()}


def test_values_are_copied_into_the_same_tensors():
    module, state = Small(), good_state()
    before = dict(module.state_dict(keep_vars=True))
    arrays = {name: value.numpy() for name, value in module.state_dict().items()}
    result = module.load_state_dict(state)
    assert values(module) == {"weight": [5.0, 6.0], "count": 7.0, "child.weight": [[8.0]]}
    assert all(value is before[name] for name, value in module.state_dict(keep_vars=True).items())
    assert arrays["weight"].tolist() == [5.0, 6.0]
    assert module.weight.requires_grad
    assert result.missing_keys == result.unexpected_keys == []


def test_result_says_that_all_keys_matched_or_which_did_not():
    module = Small()
    assert repr(module.load_state_dict(good_state())) == "<All keys matched successfully>"
    result = module.load_state_dict({"other": tensor(1.0)}, strict=False)
    assert result == (["weight", "count", "child.weight"], ["other"])
    assert str(result).startswith("IncompatibleKeys(missing_keys=['weight', 'count', 'child.weight']")


def test_the_given_mapping_and_its_metadata_are_not_changed():
    module = Small()
    state = module.state_dict()
    metadata = {path: dict(known) for path, known in state._metadata.items()}

    def hook(module, state_dict, prefix, local_metadata, *rest):
        state_dict["weight"] = tensor([0.0, 0.0])
        local_metadata["seen"] = True

    module.register_load_state_dict_pre_hook(hook)
    module.load_state_dict(state, assign=True)
    assert state["weight"].tolist() == [1.0, 2.0]
    assert state._metadata == metadata


@pytest.mark.parametrize("given", ["", 2, None, [("weight", 1)]])
def test_what_is_no_mapping_is_refused(given):
    with pytest.raises(TypeError, match=re.escape(f"Expected state_dict to be dict-like, got {type(given)}")):
        Small().load_state_dict(given)


def test_missing_keys_are_named_all_together():
    with pytest.raises(StateDictError) as caught:
        Small().load_state_dict({})
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Small:\n"
        '\tMissing key(s) in state_dict: "weight", "count", "child.weight". '
    )
    assert caught.value.missing_keys == ["weight", "count", "child.weight"]
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, KeyError)


def test_missing_keys_are_reported_without_strict_too():
    module = Small()
    assert module.load_state_dict({"weight": tensor([5.0, 6.0])}, strict=False) == (
        ["count", "child.weight"],
        [],
    )
    assert module.weight.tolist() == [5.0, 6.0]


@one_test
@pytest.mark.parametrize(
    "key",
    [
        "other",
        "scratch",
        "absent",
        "nothing",
        "_extra_state",
        "child.bias",
        "child.a.b",
        "none.weight",
        "a.b.c",
    ],
)
def test_keys_that_no_module_takes_are_unexpected(key):
    module = Small()
    state = good_state() | {key: tensor([0.0])}
    with pytest.raises(StateDictError, match=f'Unexpected key\\(s\\) in state_dict: "{key}". ') as caught:
        module.load_state_dict(state)
    assert caught.value.unexpected_keys == [key]
    assert module.load_state_dict(state, strict=False) == ([], [key])


def test_unexpected_keys_come_in_the_order_of_their_modules():
    module = Small()
    state = {"child.x": tensor(0.0), "b": tensor(0.0), "a": tensor(0.0)}
    assert module.load_state_dict(state, strict=False).unexpected_keys == ["b", "a", "child.x"]


@pytest.mark.parametrize("strict", [True, False])
def test_wrong_shape_is_refused_even_without_strict(strict):
    module = Small()
    state = good_state() | {"weight": tensor([1.0, 2.0, 3.0]), "child.weight": tensor([1.0])}
    with pytest.raises(StateDictError) as caught:
        module.load_state_dict(state, strict=strict)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Small:\n"
        "\tsize mismatch for weight: copying a param with shape (3,) from checkpoint, "
        "the shape in current model is (2,).\n"
        "\tsize mismatch for child.weight: copying a param with shape (1,) from checkpoint, "
        "the shape in current model is (1, 1)."
    )
    assert caught.value.mismatched == ["weight", "child.weight"]


def test_everything_wrong_is_named_in_one_error():
    state = {"weight": tensor([1.0]), "x": tensor(0.0), "count": "three"}
    with pytest.raises(StateDictError) as caught:
        Small().load_state_dict(state)
    lines = str(caught.value).split("\n\t")
    no_tensor = (
        'While copying the parameter named "count", expected torch.Tensor or Tensor-like object from '
        "checkpoint but received <class 'str'>; wrap arrays with kellet.from_numpy"
    )
    assert [line.split(":")[0] for line in lines] == [
        "Error(s) in loading state_dict for Small",
        "Missing key(s) in state_dict",
        "Unexpected key(s) in state_dict",
        "size mismatch for weight",
        no_tensor,
    ]
    error = caught.value
    assert (error.missing_keys, error.unexpected_keys, error.mismatched) == (
        ["child.weight"],
        ["x"],
        ["weight"],
    )
    assert error.messages == [lines[-1]]


@pytest.mark.parametrize("value", ["text", 1.0, [1.0, 2.0], np.ones(2, np.float32), None])
def test_what_is_no_tensor_is_refused(value):
    message = re.escape(
        'While copying the parameter named "weight", expected torch.Tensor or Tensor-like object from '
        f"checkpoint but received {type(value)}"
    )
    with pytest.raises(StateDictError, match=message):
        Small().load_state_dict(good_state() | {"weight": value})


def test_one_element_loads_into_a_zero_dimensional_tensor_and_not_the_other_way_round():
    module = Small()
    module.load_state_dict(good_state() | {"count": tensor([9.0])})
    assert module.count.shape == ()
    assert module.count.item() == 9.0
    one = nn.Module()
    one.scale = nn.Parameter(tensor([1.0]))
    with pytest.raises(StateDictError, match=r"size mismatch for scale: .* shape \(\) .* model is \(1,\)"):
        one.load_state_dict({"scale": tensor(1.0)})


@pytest.mark.parametrize("dtype", [kellet.int64, kellet.float64, kellet.float16, kellet.bool])
def test_copy_converts_to_the_dtype_of_the_module(dtype):
    module = Small()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.load_state_dict(good_state() | {"weight": tensor([1, 0], dtype)})
    assert module.weight.dtype == kellet.float32
    assert module.weight.tolist() == [1.0, 0.0]


def test_complex_values_lose_their_imaginary_part_with_a_warning():
    module = Small()
    state = good_state() | {"weight": kellet.tensor([1 + 2j, 3 + 4j])}
    with pytest.warns(
        UserWarning, match="loading the complex 'weight' into float32 discards its imaginary part"
    ):
        module.load_state_dict(state)
    assert module.weight.tolist() == [1.0, 3.0]


def test_loading_moves_the_version_of_a_tensor():
    module = Small()
    output = (module.weight * module.weight).sum()
    module.load_state_dict(good_state())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.backward()


# A refused load changes nothing


def bad_states():
    return {
        "shape": good_state() | {"child.weight": tensor([1.0])},
        "missing": {"weight": tensor([5.0, 6.0])},
        "unexpected": good_state() | {"other": tensor(1.0)},
        "no tensor": good_state() | {"child.weight": "text"},
    }


@one_test
@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("reason", bad_states())
def test_refused_load_leaves_every_value_as_it_was(reason, assign):
    module = Small()
    before, objects = values(module), dict(module.state_dict(keep_vars=True))
    with pytest.raises(StateDictError):
        module.load_state_dict(bad_states()[reason], assign=assign)
    assert values(module) == before
    assert all(value is objects[name] for name, value in module.state_dict(keep_vars=True).items())


def test_refused_load_takes_back_what_a_post_hook_saw():
    module, seen = Small(), []
    before = values(module)

    def hook(module, incompatible_keys):
        seen.append(module.weight.tolist())

    module.register_load_state_dict_post_hook(hook)
    with pytest.raises(StateDictError, match=r'Missing key\(s\) in state_dict: "count", "child.weight"'):
        module.load_state_dict({"weight": tensor([5.0, 6.0])})
    assert seen == [[5.0, 6.0]]
    assert values(module) == before


def test_load_that_a_post_hook_refuses_by_adding_a_key_is_taken_back():
    module = Small()
    before = values(module)
    module.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.append("more"))
    with pytest.raises(StateDictError, match='Missing key\\(s\\) in state_dict: "more"'):
        module.load_state_dict(good_state())
    assert values(module) == before


@pytest.mark.parametrize("assign", [False, True])
def test_load_that_fails_in_a_post_hook_is_taken_back(assign):
    def fail(module, keys):
        raise ZeroDivisionError

    module = Small()
    before, weight = values(module), module.weight
    module.register_load_state_dict_post_hook(fail)
    with pytest.raises(ZeroDivisionError):
        module.load_state_dict(good_state(), assign=assign)
    assert values(module) == before
    assert module.weight is weight


def test_load_that_fails_in_set_extra_state_is_taken_back():
    class Picky(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(tensor([1.0]))
            self.state = "old"

        def get_extra_state(self):
            return self.state

        def set_extra_state(self, state):
            self.state = state
            if state == "bad":
                raise ValueError("bad state")

    module = nn.Sequential(Picky(), Picky())
    state = module.state_dict() | {
        "0.weight": tensor([9.0]),
        "0._extra_state": "new",
        "1._extra_state": "bad",
    }
    with pytest.raises(ValueError, match="bad state"):
        module.load_state_dict(state)
    assert (module[0].weight.item(), module[0].state, module[1].state) == (1.0, "old", "old")


def test_load_refused_after_an_override_wrote_by_itself_is_taken_back():
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(tensor([1.0]))

        def _load_from_state_dict(self, state_dict, prefix, *rest):
            with kellet.no_grad():
                self.weight.copy_(state_dict[prefix + "weight"])

    module = nn.Sequential(Writes(), nn.Linear(1, 1))
    with pytest.raises(StateDictError, match=r'"1.weight", "1.bias"'):
        module.load_state_dict({"0.weight": tensor([9.0])})
    assert module[0].weight.item() == 1.0


# assign


def test_assign_puts_the_given_tensors_into_the_module():
    module = Small()
    state = good_state() | {"weight": tensor([5.0, 6.0], kellet.float64)}
    module.load_state_dict(state, assign=True)
    assert type(module.weight) is nn.Parameter
    assert module.weight.dtype == kellet.float64
    assert module.weight.requires_grad
    assert module.count is state["count"]
    state["weight"].fill_(0)
    assert module.weight.tolist() == [0.0, 0.0]


def test_assign_keeps_a_given_parameter_and_the_requires_grad_of_the_module():
    module = Small()
    module.weight.requires_grad_(False)
    given = nn.Parameter(tensor([5.0, 6.0]))
    module.load_state_dict(good_state() | {"weight": given}, assign=True)
    assert module.weight is given
    assert module.weight.requires_grad is False


def test_assign_keeps_tied_parameters_tied():
    module = nn.Module()
    module.a, module.b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    module.b.weight = module.a.weight
    module.load_state_dict({"a.weight": tensor([[1.0]]), "b.weight": tensor([[2.0]])}, assign=True)
    assert module.a.weight is module.b.weight
    assert module.a.weight.item() == 2.0


def test_assign_refuses_integers_for_a_parameter_that_requires_grad():
    module = Small()
    state = good_state() | {"weight": tensor([1, 2], kellet.int64)}
    message = (
        'While assigning the parameter named "weight": .* floating point or complex values, .* has int64'
    )
    with pytest.raises(StateDictError, match=message):
        module.load_state_dict(state, assign=True)
    module.weight.requires_grad_(False)
    module.load_state_dict(state, assign=True)
    assert module.weight.dtype == kellet.int64


def test_tied_parameters_take_the_last_value_when_copied():
    module = nn.Module()
    module.a, module.b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    module.b.weight = module.a.weight
    module.load_state_dict({"a.weight": tensor([[1.0]]), "b.weight": tensor([[2.0]])})
    assert module.a.weight is module.b.weight
    assert module.a.weight.item() == 2.0


# Extra state


class Counted(nn.Module):
    def __init__(self, number=0):
        super().__init__()
        self.number = number

    def get_extra_state(self):
        return self.number

    def set_extra_state(self, state):
        self.number = state


def test_extra_state_is_handed_to_the_setter():
    module = nn.Sequential(Counted())
    module.load_state_dict(nn.Sequential(Counted(5)).state_dict())
    assert module[0].number == 5


def test_extra_state_that_is_not_there_is_missing():
    assert nn.Sequential(Counted()).load_state_dict({}, strict=False) == (["0._extra_state"], [])


def test_extra_state_without_a_setter_is_unexpected():
    assert nn.Identity().load_state_dict({"_extra_state": 1}, strict=False) == ([], ["_extra_state"])


class Grown(nn.Module):
    """Keeps another module, or a word, as its extra state: loading may make a submodule."""

    def __init__(self, kept):
        super().__init__()
        self.scale = nn.Parameter(tensor([1.0]))
        self.kept = kept

    def get_extra_state(self):
        return self.kept

    def set_extra_state(self, state):
        self.seen = self.scale.item()
        self.kept = state


def test_extra_state_sees_the_tensors_of_its_module_and_may_make_submodules():
    source, module = Grown(nn.Linear(1, 1)), Grown("word")
    state = source.state_dict() | {"scale": tensor([5.0]), "kept.weight": tensor([[6.0]])}
    assert module.load_state_dict(state) == ([], [])
    assert module.seen == 5.0
    assert module.kept.weight.item() == 6.0


def test_submodules_that_extra_state_made_go_when_the_load_is_refused():
    module = Grown("word")
    with pytest.raises(StateDictError, match='Unexpected key\\(s\\) in state_dict: "x"'):
        module.load_state_dict(
            Grown(nn.Linear(1, 1)).state_dict() | {"scale": tensor([5.0]), "x": tensor(0.0)}
        )
    assert module.kept == "word"
    assert list(module.children()) == []
    assert module.scale.item() == 1.0


def test_load_refused_after_an_override_handed_over_extra_state_is_taken_back():
    class Both(Grown):
        def _load_from_state_dict(self, *args):
            super()._load_from_state_dict(*args)

    module = nn.Sequential(nn.Linear(1, 1, bias=False), Both("word"), nn.Linear(1, 1))
    before = values(module)
    state = module.state_dict() | {
        "0.weight": tensor([[5.0]]),
        "1.scale": tensor([6.0]),
        "2.bias": tensor([[0.0]]),
    }
    state["1._extra_state"] = "other word"
    with pytest.raises(StateDictError, match=r"size mismatch for 2\.bias"):
        module.load_state_dict(state)
    assert values(module) == before


# Overrides and versions


def test_overridden_load_may_change_the_state_and_call_the_original():
    class Renamed(nn.Linear):
        def _load_from_state_dict(
            self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        ):
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")
            super()._load_from_state_dict(
                state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
            )

    module = nn.Sequential(nn.Identity(), Renamed(1, 1))
    state = {"1.kernel": tensor([[4.0]]), "1.bias": tensor([5.0]), "1.other": tensor([6.0])}
    assert module.load_state_dict(state, strict=False) == ([], ["1.other"])
    assert (module[1].weight.item(), module[1].bias.item()) == (4.0, 5.0)


def test_keys_of_an_override_that_does_not_call_the_original_are_its_own_affair():
    class Serialized(nn.Module):
        def __init__(self):
            super().__init__()
            self.param = nn.Parameter(tensor([1.0]))
            self.sub = nn.Linear(1, 1, bias=False)

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            destination[prefix + "serialized"] = self.param.detach() + 1

        def _load_from_state_dict(self, state_dict, prefix, *rest):
            with kellet.no_grad():
                self.param.copy_(state_dict[prefix + "serialized"] - 1)

    module = nn.Sequential(Serialized())
    module.load_state_dict({"0.serialized": tensor([11.0]), "0.sub.weight": tensor([[5.0]])})
    assert module[0].param.item() == 10.0
    assert module[0].sub.weight.item() == 5.0


def test_overridden_load_sees_the_saved_version():
    class Versioned(nn.Module):
        _version = 4

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            seen.append(local_metadata)

    seen = []
    module = nn.Sequential(Versioned())
    module.load_state_dict(module.state_dict())
    module.load_state_dict({})
    module.load_state_dict({}, assign=True)
    assert seen == [{"version": 4}, {}, {"assign_to_params_buffers": True}]


def test_load_from_state_dict_called_by_hand_writes_at_once():
    module, missing, unexpected, errors = nn.Linear(1, 1), [], [], []
    state = {"x.weight": tensor([[4.0]]), "x.other": tensor(0.0), "y": tensor(0.0)}
    module._load_from_state_dict(state, "x.", {}, True, missing, unexpected, errors)
    assert module.weight.item() == 4.0
    assert (missing, unexpected, errors) == (["x.bias"], ["x.other"], [])


@pytest.mark.parametrize("version", [None, 1])
def test_batch_norm_states_from_before_version_2_get_a_counter(version):
    module = nn.Sequential(nn.BatchNorm1d(2))
    module[0].num_batches_tracked.fill_(5)
    state = module.state_dict()
    del state["0.num_batches_tracked"]
    state._metadata["0"] = {} if version is None else {"version": version}
    module.load_state_dict(state)
    assert module[0].num_batches_tracked.item() == 0
    assert module[0].num_batches_tracked.dtype == kellet.int64


def test_batch_norm_states_of_version_2_need_their_counter():
    module = nn.BatchNorm1d(2)
    state = module.state_dict()
    del state["num_batches_tracked"]
    assert module.load_state_dict(state, strict=False).missing_keys == ["num_batches_tracked"]


def test_batch_norm_that_tracks_nothing_gets_no_counter():
    module = nn.BatchNorm1d(2, track_running_stats=False)
    module.load_state_dict({"weight": tensor([1.0, 1.0]), "bias": tensor([0.0, 0.0])})
    assert list(module.state_dict()) == ["weight", "bias"]


def test_state_with_the_prefix_of_a_wrapper_loads_when_it_is_taken_off():
    from kellet.nn.modules.utils import consume_prefix_in_state_dict_if_present

    wrapper = nn.Module()
    wrapper.module = nn.BatchNorm1d(2)
    state = wrapper.state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert state._metadata == {"": {"version": 2}}
    assert wrapper.module.load_state_dict(state) == ([], [])


def test_module_of_length_zero_is_saved_and_loaded():
    class Empty(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(tensor([1.0]))

        def __len__(self):
            return 0

    module = nn.Sequential(Empty(), nn.HookedModule(Empty()))
    state = module.state_dict()
    assert list(state) == ["0.weight", "1.weight"]
    module.load_state_dict({name: value + 4 for name, value in state.items()})
    assert [value.item() for value in module.parameters()] == [5.0, 5.0]


def test_read_only_memory_stays_and_the_tensor_gets_its_own():
    array = np.ones(2, np.float32)
    array.flags.writeable = False
    module = nn.Module()
    module.weight = nn.Parameter(kellet.from_numpy(array))
    weight = module.weight
    module.load_state_dict({"weight": tensor([5.0, 6.0])})
    assert module.weight is weight
    assert weight.tolist() == [5.0, 6.0]
    assert array.tolist() == [1.0, 1.0]
