"""A load that is refused leaves every value as it was, whatever memory the values lie in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from kellet.errors import StateDictError
from tests.tables import one_test


class Inner(nn.Module):
    """A parameter, a buffer and extra state."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(kellet.tensor([1.0, 2.0]))
        self.register_buffer("seen", kellet.tensor([3, 4]))
        self.note = "old"

    def get_extra_state(self) -> Any:
        return self.note

    def set_extra_state(self, state: Any) -> None:
        self.note = state


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(kellet.tensor([[5.0, 6.0]]))
        self.register_buffer("scale", kellet.tensor([7.0, 8.0]))
        self.inner = Inner()
        self.last = nn.Linear(1, 1)


class Choosy(Inner):
    def set_extra_state(self, state: Any) -> None:
        if state != "old":
            raise ValueError("no such note")


class Writing(nn.Linear):
    """Writes by itself, and then changes its mind."""

    def _load_from_state_dict(self, state: Any, prefix: str, *args: Any) -> None:
        self.bias.data = state[f"{prefix}bias"]
        super()._load_from_state_dict(state, prefix, *args)
        if state[f"{prefix}bias"].item() != 0.5:
            raise ValueError("only 0.5 will do")


def missing(net: Net) -> None:
    net.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.append("one more"))


def failing(net: Net) -> None:
    def fail(module: Any, keys: Any) -> None:
        raise ValueError("the hook says no")

    net.register_load_state_dict_post_hook(fail)


def choosy(net: Net) -> None:
    net.chosen = Choosy()


def writing(net: Net) -> None:
    net.last = Writing(1, 1)
    with kellet.no_grad():
        net.last.bias.fill_(0.5)


REFUSALS: dict[str, tuple[Callable[[Net], None], type[Exception], str]] = {
    "post-hook adds a missing key": (missing, StateDictError, 'Missing key.*"one more"'),
    "post-hook raises": (failing, ValueError, "the hook says no"),
    "set_extra_state raises": (choosy, ValueError, "no such note"),
    "override raises": (writing, ValueError, "only 0.5 will do"),
}
TENSORS = ["weight", "scale", "inner.weight", "inner.seen", "last.bias"]


def tensors(net: Any) -> dict[str, Any]:
    return dict([*net.named_parameters(), *net.named_buffers()])


def seal(tensor: Any) -> None:
    """Make the memory of a tensor read-only, as that of a mapped file is."""
    tensor._array = np.frombuffer(tensor._array.tobytes(), tensor._array.dtype).reshape(tensor.shape)


def shown(net: Any) -> dict[str, Any]:
    return {
        key: value.tolist() if isinstance(value, kellet.Tensor) else value
        for key, value in net.state_dict().items()
    }


def changed(net: Any) -> dict[str, Any]:
    return {
        key: value.detach() + 1 if isinstance(value, kellet.Tensor) else "new"
        for key, value in net.state_dict().items()
    }


@one_test
@pytest.mark.parametrize("assign", [False, True], ids=["copy", "assign"])
@pytest.mark.parametrize("sealed", [[], *([name] for name in TENSORS), TENSORS], ids=" ".join)
@pytest.mark.parametrize("why", REFUSALS)
def test_refused_load_puts_everything_back(why: str, sealed: list[str], assign: bool) -> None:
    prepare, error, message = REFUSALS[why]
    net = Net()
    prepare(net)
    for name in sealed:
        seal(tensors(net)[name])
    values, objects = shown(net), tensors(net)
    memory = {name: tensor._array for name, tensor in objects.items()}
    with pytest.raises(error, match=message):
        net.load_state_dict(changed(net), assign=assign)
    assert shown(net) == values
    assert all(tensors(net)[name] is tensor for name, tensor in objects.items())
    assert all(tensor._array is memory[name] for name, tensor in objects.items())


@pytest.mark.parametrize("strict", [True, False])
def test_wrong_shape_refuses_before_anything_is_written_to_memory_of_its_own(strict: bool) -> None:
    net = Net()
    for tensor in tensors(net).values():
        seal(tensor)
    memory = {name: tensor._array for name, tensor in tensors(net).items()}
    state = changed(net) | {"last.bias": kellet.zeros(3)}
    with pytest.raises(StateDictError, match=r"size mismatch for last\.bias"):
        net.load_state_dict(state, strict=strict)
    assert all(tensor._array is memory[name] for name, tensor in tensors(net).items())
    assert net.inner.note == "old"


def test_post_hook_that_raises_refuses_a_load_that_is_not_strict() -> None:
    net = Net()
    failing(net)
    seal(net.scale)
    values = shown(net)
    with pytest.raises(ValueError, match="the hook says no"):
        net.load_state_dict({"scale": kellet.zeros(2), "weight": kellet.zeros(1, 2)}, strict=False)
    assert shown(net) == values


def test_views_that_share_memory_are_put_back_together() -> None:
    net = Net()
    missing(net)
    flat = np.arange(4.0, dtype=np.float32)
    readable = flat[:2].view()
    readable.flags.writeable = False
    net.weight._array, net.scale._array, net.last.bias._array = flat[None, :2], readable, flat[1:2]
    values = shown(net)
    with pytest.raises(StateDictError, match="one more"):
        net.load_state_dict(changed(net))
    assert shown(net) == values
    assert flat.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert net.scale._array is readable


def test_read_only_view_that_was_written_through_its_base_gets_its_value_back() -> None:
    net = Net()
    base = np.array([7.0, 8.0], np.float32)
    net.scale._array = base.view()
    net.scale._array.flags.writeable = False

    def write(module: Any, keys: Any) -> None:
        base[:] = 0
        keys.missing_keys.append("one more")

    net.register_load_state_dict_post_hook(write)
    with pytest.raises(StateDictError, match="one more"):
        net.load_state_dict(changed(net))
    assert net.scale.tolist() == [7.0, 8.0]


class Neighbour(nn.Module):
    """Shares memory with a module that writes by itself, and is remembered later than that."""

    def __init__(self, memory: Any) -> None:
        super().__init__()
        self.register_buffer("part", kellet.zeros(1))
        self.part._array = memory

    def get_extra_state(self) -> Any:
        return 0

    def set_extra_state(self, state: Any) -> None:
        if state:
            raise ValueError("no such state")


class Early(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("whole", kellet.tensor([1.0, 2.0]))

    def _load_from_state_dict(self, state: Any, prefix: str, *args: Any) -> None:
        self.whole._array[...] = state[f"{prefix}whole"]._array


def test_memory_that_an_override_wrote_before_its_neighbour_was_remembered_is_put_back() -> None:
    net = nn.Module()
    net.early = Early()
    net.late = Neighbour(net.early.whole._array[:1])
    state = {
        "early.whole": kellet.tensor([8.0, 9.0]),
        "late.part": kellet.tensor([8.0]),
        "late._extra_state": 1,
    }
    with pytest.raises(ValueError, match="no such state"):
        net.load_state_dict(state)
    assert net.early.whole.tolist() == [1.0, 2.0]
    assert net.late.part.tolist() == [1.0]


def test_accepted_load_gives_read_only_tensors_memory_of_their_own() -> None:
    net = Net()
    for tensor in tensors(net).values():
        seal(tensor)
    sealed = net.scale._array
    state = changed(net)
    net.load_state_dict(state)
    assert shown(net) == {
        key: value.tolist() if isinstance(value, kellet.Tensor) else value for key, value in state.items()
    }
    assert sealed.tolist() == [7.0, 8.0]
    assert net.scale._array.flags.writeable
