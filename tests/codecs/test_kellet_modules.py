"""Modules of kellet come back with their attributes, ties, hooks and state."""

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
from packager.errors import PackageError
from packager.testing import round_trip
from packager.testing.round_trips import load

HERE = __name__
CALLS: list[str] = []


def named(module: Any, args: Any) -> None:
    CALLS.append("named")


class Callable_:
    """A hook that is an object of its own."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, module: Any, args: Any, output: Any) -> Any:
        return output * self.factor


class Stranger:
    """Not stored with the model."""

    def watch(self, module: Any, args: Any, output: Any) -> None:
        CALLS.append("stranger")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.BatchNorm1d(4))
        self.decoder = nn.Linear(4, 4)
        self.decoder.weight = self.encoder[0].weight
        self.register_buffer("table", kellet.arange(4.0))
        self.register_buffer("cache", kellet.zeros(2), persistent=False)
        self.register_parameter("nothing", None)
        self.size = 4

    def forward(self, x: Any) -> Any:
        return self.decoder(self.encoder(x))


class Hooked(Net):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.register_forward_pre_hook(named)
        self.handle = self.register_forward_hook(self.note, with_kwargs=True, always_call=True)
        self.decoder.register_forward_hook(Callable_(2.0))
        self.decoder.register_full_backward_hook(self.backward_note)

    def note(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        self.seen.append(f"note {sorted(kwargs)}")

    def backward_note(self, module: Any, grad_input: Any, grad_output: Any) -> None:
        self.seen.append("backward")


class Careful(nn.Module):
    """A module with a state of its own making."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.lock = object()

    def __getstate__(self) -> Any:
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.lock = "made anew"


class Versioned(nn.Module):
    _version = 3


def _x() -> Any:
    return kellet.tensor(np.linspace(-1, 1, 8).reshape(2, 4), dtype=kellet.float32)


def _trip(module: Any) -> Any:
    trip = round_trip(module, interned=[HERE])
    assert trip.is_stable
    return trip.object


def _refusals(module: Any) -> Any:
    return encode(module).with_sources(lambda name: name == HERE).refusals


def test_outputs_are_equal_bit_for_bit() -> None:
    net = Net().eval()
    loaded = _trip(net)
    assert np.array_equal(net(_x()).detach().numpy(), loaded(_x()).detach().numpy())
    assert loaded.training is False
    assert loaded.encoder[2].training is False


def test_ties_and_kinds_of_members_survive() -> None:
    loaded = _trip(Net())
    assert loaded.decoder.weight is loaded.encoder[0].weight
    assert isinstance(loaded.decoder.weight, nn.Parameter)
    assert loaded.decoder.weight.requires_grad
    assert list(loaded.state_dict()) == list(Net().state_dict())
    assert "cache" in loaded._buffers
    assert loaded._parameters["nothing"] is None
    assert loaded.size == 4


def test_init_does_not_run() -> None:
    hooked = Hooked()
    hooked.seen = ["changed"]
    assert _trip(hooked).seen == ["changed"]


def test_empty_tables_and_private_attributes_are_not_stored() -> None:
    table = unpack_table(encode(nn.ReLU()).records, "test")
    assert [record for record in table[1] if "_parameters" in record or "_modules" in record] == []
    assert len(encode(nn.ReLU()).records) < 70


def test_loaded_module_can_be_trained() -> None:
    loaded = _trip(Net())
    optimizer = kellet.optim.SGD(loaded.parameters(), lr=0.1)
    before = loaded.decoder.weight.detach().clone()
    (loaded(_x()) ** 2).sum().backward()
    optimizer.step()
    assert not np.array_equal(before.numpy(), loaded.decoder.weight.detach().numpy())


def test_optimizer_goes_on_where_it_stood() -> None:
    def step(net: Any, optimizer: Any) -> Any:
        optimizer.zero_grad()
        (net(_x()) ** 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        return [parameter.detach().numpy().copy() for parameter in net.parameters()]

    net = Net()
    optimizer = kellet.optim.AdamW(net.parameters(), lr=0.1)
    step(net, optimizer)
    loaded = _trip({"net": net, "optimizer": optimizer})
    assert loaded["optimizer"].param_groups[0]["params"][0] is loaded["net"].encoder[0].weight
    expected, found = step(net, optimizer), step(loaded["net"], loaded["optimizer"])
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


def test_gradients_are_not_stored_and_it_is_said_once() -> None:
    net = Net()
    (net(_x()) ** 2).sum().backward()
    encoded = encode(net).with_sources(lambda name: True)
    assert [warning.path for warning in encoded.warnings] == ["obj.encoder.0.weight"]
    assert "(.grad) are not stored, here and elsewhere" in encoded.warnings[0].reason
    assert load(encoded, TrustContext.with_code([HERE])).decoder.weight.grad is None


def test_hooks_of_init_run_after_loading() -> None:
    net = Hooked()
    loaded = _trip(net)
    CALLS.clear()
    expected, found = net(_x()), loaded(_x())
    found.sum().backward()
    assert CALLS == ["named", "named"]
    assert loaded.seen == ["note []", "backward"]
    assert np.array_equal(expected.detach().numpy(), found.detach().numpy())


def test_handle_that_is_stored_removes_its_hook() -> None:
    loaded = _trip(Hooked())
    loaded.handle.remove()
    loaded(_x())
    assert loaded.seen == []


def test_ids_of_loaded_hooks_do_not_meet_those_of_others() -> None:
    net = Hooked()
    loaded = _trip(net)
    other = loaded.register_forward_hook(named_forward)
    other.remove()
    loaded(_x())
    assert loaded.seen == ["note []"]


def named_forward(module: Any, args: Any, output: Any) -> None:
    CALLS.append("forward")


def test_lambda_as_hook_is_refused_with_its_path() -> None:
    net = Net()
    net.encoder[0].register_forward_hook(lambda module, args, output: output)
    net.register_forward_pre_hook(lambda module, args: None)
    refusals = _refusals(net)
    assert {refusal.path for refusal in refusals} == {"obj", "obj.encoder.0"}
    assert all("a lambda cannot be stored" in refusal.reason for refusal in refusals)
    assert all(refusal.options for refusal in refusals)


def test_hook_of_an_object_that_is_not_stored_is_left_out_with_a_warning() -> None:
    net = Net()
    net.encoder.register_forward_hook(Stranger().watch)
    net.register_forward_hook([].append)
    encoded = encode(net).with_sources(lambda name: name == HERE)
    assert encoded.refusals == ()
    assert {warning.path for warning in encoded.warnings} == {"obj", "obj.encoder"}
    assert any("Stranger.watch is left out, since" in w.reason for w in encoded.warnings)
    loaded = load(encoded, TrustContext.with_code([HERE]))
    CALLS.clear()
    loaded(_x())
    assert CALLS == []


def test_hook_of_an_object_that_is_stored_elsewhere_is_kept() -> None:
    net, stranger = Net(), Stranger()
    net.register_forward_hook(stranger.watch)
    loaded = _trip({"net": net, "later": stranger})
    CALLS.clear()
    loaded["net"](_x())
    assert CALLS == ["stranger"]


def test_hook_objects_are_registered_again() -> None:
    class_hook = nn.Hook(posthook=named_forward, eval_update=False)
    net = Net()
    class_hook.register(net)
    net.watch = class_hook
    loaded = _trip(net)
    CALLS.clear()
    loaded(_x())
    loaded.eval()(_x())
    assert CALLS == ["forward"]
    assert loaded.watch.registered
    loaded.watch.deregister()
    loaded.train()(_x())
    assert CALLS == ["forward"]


def test_gate_of_a_hook_object_that_is_not_stored_is_left_out_with_a_warning() -> None:
    net = Net()
    outside = nn.Hook(posthook=named_forward)
    outside.register(net)
    encoded = encode(net).with_sources(lambda name: name == HERE)
    assert "since the object it belongs to is not stored" in encoded.warnings[0].reason
    loaded = load(encoded, TrustContext.with_code([HERE]))
    CALLS.clear()
    loaded(_x())
    assert CALLS == []


def test_wrapper_shares_the_tables_of_what_it_wraps() -> None:
    wrapper, _ = Net().with_forward_hook(observe)
    loaded = _trip(wrapper)
    assert loaded._parameters is loaded.inner._parameters
    CALLS.clear()
    loaded(_x())
    assert CALLS == ["observed"]
    assert loaded._observers.entries[0].id == 0


def observe(input: Any, output: Any) -> None:
    CALLS.append("observed")


def test_own_getstate_and_setstate_run() -> None:
    loaded = _trip(Careful())
    assert loaded.lock == "made anew"
    assert isinstance(loaded.layer.weight, nn.Parameter)


def test_modules_inside_containers() -> None:
    nets = {"a": Net(), "b": [Net()]}
    loaded = _trip(nets)
    assert type(loaded["b"][0]) is Net


def test_part_and_whole_of_one_model() -> None:
    net = Net()
    loaded = _trip([net.encoder, net])
    assert loaded[1].encoder is loaded[0]


def test_non_leaf_tensors_are_refused_with_their_path() -> None:
    net = Net()
    net.last = net(_x())
    (refusal,) = _refusals(net)
    assert refusal.path == "obj.last"
    assert "grad_fn" in refusal.reason
    assert "detach()" in refusal.options[0]


def test_hooks_on_tensors_are_named_in_a_warning() -> None:
    net = Net()
    net.decoder.weight.register_hook(observe_grad)
    (warning,) = encode(net).with_sources(lambda name: True).warnings
    assert warning.path == "obj.encoder.0.weight"
    assert "hooks on a tensor are left out" in warning.reason


def observe_grad(grad: Any) -> None:
    """A hook on a tensor."""


def test_another_version_of_a_class_points_to_the_state_dict() -> None:
    encoded = encode(Versioned()).with_sources(lambda name: True)
    Versioned._version = 4
    try:
        with pytest.raises(
            PackageError, match=r"Versioned: version 3 in the archive, 4 here.*load_state_dict"
        ):
            load(encoded, TrustContext.with_code([HERE]))
    finally:
        Versioned._version = 3
    assert type(load(encoded, TrustContext.with_code([HERE]))) is Versioned


def test_needs_no_trust_beside_its_own_classes() -> None:
    sequential = nn.Sequential(nn.Linear(2, 2), nn.GELU(), nn.LayerNorm(2), nn.Dropout(0.1))
    assert round_trip(sequential).is_stable
