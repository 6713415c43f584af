"""What state-dict hooks make of a module is what is stored, and what load hooks make of that comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
import kellet.optim
from kellet import nn
from packager._audit import TrustContext
from packager._objects import encode
from packager._objects.checking import unpack_table
from packager._objects.records import Kind
from packager.errors import PackageError
from packager.testing import round_trip
from packager.testing.round_trips import load

HERE = __name__
TRACE: list[str] = []


def quantize(module: Any, state: Any, prefix: str, keep_vars: bool) -> None:
    """Every weight as int8 and a scale; the scratch buffer not at all."""
    for key in list(state):
        if key.endswith("scratch"):
            del state[key]
        elif key.endswith("weight"):
            weight = state.pop(key)
            scale = 2.0**-9  # a power of two: quantising what was quantised changes nothing
            state[f"{key}.int8"] = (weight / scale).round().to(kellet.int8)
            state[f"{key}.scale"] = scale


def dequantize(module: Any, state: Any, strict: bool) -> None:
    for key in [key for key in state if key.endswith(".int8")]:
        name = key.removesuffix(".int8")
        state[name] = state.pop(key).float() * state.pop(f"{name}.scale")
    state["scratch"] = kellet.zeros(1000)


class Small(nn.Module):
    """A model that quantises itself when it is saved."""

    def __init__(self, *, undo: bool = True) -> None:
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.second = nn.Linear(64, 64)
        self.second.weight = self.first.weight
        self.register_buffer("scratch", kellet.full((1000,), 7.0))
        self.register_state_dict_hook(quantize)
        if undo:
            self.register_load_state_dict_pre_hook(dequantize)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x))


class Noted(nn.Module):
    """Hooks at every step, and strings in the state."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_state_dict_pre_hook(before_save)
        self.register_state_dict_hook(add_note)
        self.register_load_state_dict_pre_hook(take_note)
        self.register_load_state_dict_post_hook(after_load)


def before_save(module: Any, prefix: str, keep_vars: bool) -> None:
    TRACE.append("before save")


def add_note(module: Any, state: Any, prefix: str, keep_vars: bool) -> None:
    TRACE.append("save")
    state[f"{prefix}note"] = "custom"


def take_note(module: Any, state: Any, strict: bool) -> None:
    TRACE.append(f"load {state.pop('note', None)}")


def after_load(module: Any, missing: Any, unexpected: Any, strict: bool) -> None:
    TRACE.append(f"loaded {missing} {unexpected}")


class Extra(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.extra: Any = {"steps": 3}

    def get_extra_state(self) -> Any:
        return self.extra

    def set_extra_state(self, state: Any) -> None:
        self.extra = {**state, "set": True}


def keep_half(module: Any, state: Any, prefix: str, keep_vars: bool) -> None:
    state["half"] = state.pop("weight")[:1]


def fill_half(module: Any, state: Any, strict: bool) -> None:
    half = state.pop("half")
    state["weight"] = kellet.cat([half, half])


class Half(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(kellet.arange(6.0).reshape(2, 3))
        self.register_state_dict_hook(keep_half)
        self.register_load_state_dict_pre_hook(fill_half)


def rename(module: Any, state: Any, prefix: str, keep_vars: bool) -> None:
    state["renamed"] = state.pop("weight")


def rename_back(module: Any, state: Any, strict: bool) -> None:
    state["weight"] = state.pop("renamed")


def _encoded(module: Any) -> Any:
    encoded = encode(module).with_sources(lambda name: name == HERE)
    assert encoded.refusals == ()
    return encoded


def test_int8_model_shrinks_and_comes_back() -> None:
    net = Small()
    encoded = _encoded(net)
    stored = {storage.name: (storage.dtype, storage.shape) for storage in encoded.storages}
    assert stored["first.weight.int8"] == ("I8", (64, 64))
    assert "scratch" not in stored
    assert "first.weight" not in stored
    # Two biases, one matrix as int8 (tied, but the hook makes a copy for each name).
    assert sum(len(storage.buffer) for storage in encoded.storages) == 2 * 64 * 4 + 2 * 64 * 64
    loaded = load(encoded, TrustContext.with_code([HERE]))
    weight = net.first.weight.detach().numpy()
    expected = np.round(weight * 2**9).astype("i1") * np.float32(2**-9)
    assert np.array_equal(loaded.first.weight.detach().numpy(), expected)
    assert loaded.second.weight is loaded.first.weight
    assert loaded.scratch.tolist() == [0.0] * 1000


def test_values_that_a_hook_took_out_are_nowhere_in_the_file() -> None:
    net = Small()
    encoded = _encoded(net)
    everything = encoded.records + b"".join(bytes(storage.buffer) for storage in encoded.storages)
    for values in (net.first.weight.detach().numpy(), net.scratch.numpy()):
        # No row of the original survives, whatever it is called.
        assert values.tobytes()[:64] not in everything


def test_int8_model_is_stored_the_same_again_and_trains_on() -> None:
    trip = round_trip(Small(), interned=[HERE])
    assert trip.is_stable
    optimizer = kellet.optim.SGD(trip.object.parameters(), lr=0.1)
    (trip.object(kellet.ones(1, 64)) ** 2).sum().backward()
    optimizer.step()


def test_optimizer_refers_to_the_parameters_whose_values_were_replaced() -> None:
    net = Small()
    optimizer = kellet.optim.SGD(net.parameters(), lr=0.1)
    loaded = round_trip({"net": net, "optimizer": optimizer}, interned=[HERE]).object
    assert loaded["optimizer"].param_groups[0]["params"][0] is loaded["net"].first.weight


def test_missing_load_hook_is_an_error_that_names_the_keys() -> None:
    encoded = _encoded(Small(undo=False))
    with pytest.raises(
        PackageError, match=r"no load hook restored 'scratch', 'first.weight', 'second.weight'"
    ):
        load(encoded, TrustContext.with_code([HERE]))


def test_alias_of_replaced_values_is_refused_with_its_path() -> None:
    net = Small()
    net.alias = net.first.weight.detach()[:3]
    (refusal,) = encode(net).with_sources(lambda name: True).refusals
    assert refusal.path == "obj.alias"
    assert "shares memory with 'first.weight'" in refusal.reason


def test_strings_of_hooks_are_stored_and_all_hooks_run() -> None:
    encoded = _encoded(Noted())
    TRACE.clear()
    load(encoded, TrustContext.with_code([HERE]))
    assert TRACE == ["load custom", "loaded [] []"]
    assert b"custom" in encoded.records


def test_hooks_of_saving_run_once_for_a_model() -> None:
    TRACE.clear()
    _encoded({"net": Noted(), "n": 1})
    assert TRACE == ["before save", "save"]


def test_load_hooks_run_for_a_state_that_no_hook_changed() -> None:
    module = nn.Linear(2, 2)
    module.register_load_state_dict_post_hook(after_load)
    encoded = _encoded(module)
    TRACE.clear()
    load(encoded, TrustContext.with_code([HERE]))
    assert TRACE == ["loaded [] []"]


def test_extra_state_is_stored_and_set() -> None:
    trip = round_trip(Extra(), interned=[HERE])
    assert trip.object.extra == {"steps": 3, "set": True}


def test_part_of_a_tensor_that_a_hook_keeps_is_all_that_is_stored() -> None:
    trip = round_trip(Half(), interned=[HERE])
    (storage,) = trip.encoded.storages
    assert (storage.name, storage.shape) == ("half", (1, 3))
    assert trip.object.weight.tolist() == [[0.0, 1.0, 2.0]] * 2


def test_renamed_values_share_the_entry_of_their_slot() -> None:
    module = nn.Linear(2, 2, bias=False)
    module.register_state_dict_hook(rename)
    module.register_load_state_dict_pre_hook(rename_back)
    trip = round_trip(module, interned=[HERE])
    assert [storage.name for storage in trip.encoded.storages] == ["weight"]
    assert trip.object.weight.tolist() == module.weight.tolist()
    assert trip.is_stable


def test_failing_hook_is_a_refusal() -> None:
    module = nn.Linear(1, 1)
    module.register_state_dict_hook(fail)
    (refusal,) = encode([module]).with_sources(lambda name: True).refusals
    assert refusal.path == "obj[0]"
    assert "state_dict() of Linear failed: ZeroDivisionError" in refusal.reason


def fail(module: Any, state: Any, prefix: str, keep_vars: bool) -> None:
    raise ZeroDivisionError("in the hook")


def test_load_hooks_are_handed_what_is_known_of_each_module() -> None:
    made = encode(Small()).with_sources(lambda module: True)
    _, records, _ = unpack_table(made.records, "object")
    (finish,) = (one for one in records if one[0] == Kind.FINISH and one[3][:1] == ["state"])
    metadata = records[-1 - finish[-1]]
    assert metadata[0] == Kind.DICT
    assert metadata[1::2] == ["", "first", "second"]
