"""How modules are walked, which tensors are their state, and how a stored state is spelled."""

from __future__ import annotations

import copy
import re
from types import SimpleNamespace
from typing import Any

import pytest

import kellet
from kellet import nn
from packager._codecs import CannotStore, Child, frameworks
from packager._codecs.frameworks import EmptySlots, Saved, _KeptTable, check_state, split_literal
from packager._codecs.modules import HANDLES
from packager._codecs.registry import default_registry
from tests.codecs.parts import Context, codec_of
from tests.tables import one_test

MODULES: Any = default_registry().find("kellet.module")
KELLET = MODULES.framework


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.own = nn.Parameter(kellet.ones(2))
        self.none = None
        self.first = nn.Linear(1, 1)
        self.again = self.first
        self.register_buffer("kept", kellet.zeros(1))
        self.register_buffer("left_out", kellet.zeros(1), persistent=False)
        self.register_parameter("missing", None)


def test_modules_are_walked_with_their_paths_parents_first() -> None:
    net = nn.Sequential(Net(), nn.ReLU())
    net._modules["none"] = None
    assert [path for path, _ in KELLET.walk(net)] == ["", "0", "0.first", "0.again", "1"]
    assert [path for path, _ in KELLET.walk(net, strict=True)] == ["", "0", "0.first", "0.again", "1"]


def test_slots_are_the_places_of_a_state_in_its_order() -> None:
    net = Net()
    slots = list(KELLET.slots(net))
    assert [slot.key for slot in slots] == [*net.state_dict()]
    assert [slot.key for slot in slots] == [
        "own",
        "kept",
        "first.weight",
        "first.bias",
        "again.weight",
        "again.bias",
    ]
    assert [slot.name for slot in slots[2:4]] == ["weight", "bias"]
    assert (slots[0].value is net.own, slots[2].value is slots[4].value is net.first.weight) == (True, True)


def _refuses(root: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        list(KELLET.walk(root, strict=True))


def _linked(**below: Any) -> Any:
    made = nn.Module()
    vars(made)["_modules"] = below
    return made


def test_what_is_no_tree_of_modules_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    message = "'a' is not a module"
    _refuses(_linked(a=3), message)
    _refuses(_linked(a=SimpleNamespace(_modules={})), message)
    tables: list[Any] = [[], {1: nn.ReLU()}, None]
    for table in tables:
        broken = nn.Module()
        vars(broken)["_modules"] = table
        _refuses(_linked(a=broken), "module 'a' has no dict of submodules by name")
    monkeypatch.setattr(frameworks, "MAX_MODULE_PATH", 3)
    assert len(list(KELLET.walk(_linked(abc=nn.ReLU()), strict=True))) == 2
    _refuses(
        _linked(abcd=nn.ReLU()),
        "the path of a module, 'abcd'..., has 4 characters; the limit is 3. A module contains itself",
    )


def test_one_module_is_held_under_as_many_names_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frameworks, "FREE_MODULE_PATHS", 3)
    monkeypatch.setattr(frameworks, "PATHS_PER_MODULE", 2)
    shared = nn.ReLU()
    most = _linked(**{f"n{at}": shared for at in range(6)})  # of two modules: 3 + 2 * 2 paths
    assert len(list(KELLET.walk(most, strict=True))) == 7
    more = _linked(**{f"n{at}": shared for at in range(7)})
    _refuses(more, "2 modules hold each other under at least 8 names; the limit is 7")
    assert len(list(KELLET.walk(more))) == 8
    several = _linked(**{f"n{at}": nn.ReLU() for at in range(20)})
    assert len(list(KELLET.walk(several, strict=True))) == 21


@one_test
@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("_parameters", [], "module 'a.b' has parameters or buffers without a name"),
        ("_buffers", {1: None}, "module 'a.b' has parameters or buffers without a name"),
        ("_parameters", {"w": 3}, "module 'a.b' has parameters or buffers that are not tensors"),
        ("_buffers", {"w": None, "v": "x"}, "module 'a.b' has parameters or buffers that are not tensors"),
        ("_non_persistent_buffers_set", [], "module 'a.b' has no set of non-persistent buffers"),
        ("_buffers", {"w": None, "v": kellet.ones(1)}, None),
        ("_non_persistent_buffers_set", frozenset({"v"}), None),
    ],
)
def test_tables_of_a_module_hold_what_they_are_for(attribute: str, value: Any, message: str | None) -> None:
    module = nn.ReLU()
    vars(module)[attribute] = value
    if message is None:
        KELLET.check_tables(module, "a.b")
        return
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        KELLET.check_tables(module, "a.b")


def test_memory_of_a_tensor_is_that_of_its_elements_where_it_has_any() -> None:
    tensor = kellet.ones(2, 3)
    (memory,) = KELLET.memory(tensor, Asked())
    assert (memory.dtype, memory.shape, memory.address) == ("F32", (2, 3), KELLET.memory_of(tensor)[0])
    assert KELLET.memory(kellet.ones(0), Asked()) == ()


# --- what is natural ---


class Asked:
    """An encoding as the framework sees it, in which some tensors are stored already."""

    def __init__(self, *stored: Any) -> None:
        self.saved = Saved()
        self.deferred: list[tuple[int, Any, Any]] = []
        self.forbidden: list[str] = []
        self.stored = lambda obj: any(one is obj for one in stored)

    def shared_state(self, make: Any) -> Any:
        return self.saved

    def defer(self, stage: int, obj: Any, finish: Any) -> None:
        self.deferred.append((stage, obj, finish))

    def forbid(self, memory: Any, reason: str) -> None:
        self.forbidden.append(reason)

    def allow(self, memory: Any) -> None: ...


def _captured(module: Any, *stored: Any) -> Asked:
    context = Asked(*stored)
    KELLET.capture_state(module, context)
    return context


def test_a_state_that_a_module_holds_is_stored_with_it() -> None:
    net = Net()
    context = _captured(net)
    assert context.saved.captured == {id(net), id(net.first)}
    assert (context.saved.dropped, context.forbidden) == (set(), [])
    ((stage, obj, finish),) = context.deferred  # its class is not one of the framework
    assert (stage, obj is net) == (2, True)
    assert (finish().literal, finish().children) == (["state", True, 1, 1], (Net,))
    assert _captured(nn.Linear(1, 1)).deferred == []


class Halving(nn.Linear):
    """Gives other values than it holds, and none for its bias."""

    def state_dict(self, *args: Any, **options: Any) -> Any:
        state = super().state_dict(*args, **options)
        state["weight"] = state["weight"].detach() / 2
        state["more"] = "text"
        return state


def test_values_that_a_state_replaces_are_taken_out() -> None:
    net = Halving(1, 1)
    context = _captured(net)
    assert context.saved.dropped == {id(net.weight)}
    assert context.forbidden == ["it shares memory with 'weight', whose values a state-dict hook removes"]
    ((_, _, finish),) = context.deferred
    found = finish()
    assert found.literal == ["state", False, 1, 1, "weight", "bias", "more"]
    assert (found.children[0], found.children[2] is net.bias, found.children[3]) == (Halving, True, "text")
    assert found.labels == ["", "weight", "bias", "more", ""]
    assert found.children[1].detach().numpy().tolist() == (net.weight.detach().numpy() / 2).tolist()
    with pytest.raises(CannotStore, match="a state-dict hook replaces 'weight', whose values another object"):
        _captured(net, net.weight)


@one_test
@pytest.mark.parametrize(
    "change",
    [
        lambda state: dict(state),
        lambda state: nn.StateDict(list(state.items())[::-1]),
        lambda state: nn.StateDict({**state, "more": 1}),
        lambda state: nn.StateDict({**state, "bias": state["bias"].clone()}),
        lambda state: nn.StateDict({**state, "bias": 3}),
        lambda state: state._metadata.update({"": {"version": 7}}) or state,
    ],
)
def test_any_other_state_is_stored_itself(change: Any) -> None:
    class Own(nn.Linear):
        def state_dict(self, *args: Any, **options: Any) -> Any:
            return change(super().state_dict(*args, **options))

    ((_, _, finish),) = _captured(Own(1, 1)).deferred
    assert finish().literal[1] is False


def test_a_state_that_cannot_be_taken_is_refused() -> None:
    class Failing(nn.Linear):
        def state_dict(self, *args: Any, **options: Any) -> Any:
            raise KeyError("gone")

    with pytest.raises(CannotStore, match=r"^state_dict\(\) of .*Failing failed: KeyError: 'gone'"):
        _captured(Failing(1, 1))


# --- the literal of a state ---


@one_test
@pytest.mark.parametrize(
    ("literal", "found"),
    [
        (["state", True, 0], (True, [], [])),
        (["state", False, 2, 1, 3, "a"], (False, [1, 3], ["a"])),
        (["state", False, 0, "a", "b"], (False, [], ["a", "b"])),
        (["state", 1, 0], "whether the state is natural"),
        (["state", True, True], "whether the state is natural"),
        (["state", True, -1], "whether the state is natural"),
        (["state", True, 2, 1], "whether the state is natural"),
        (["state", True, 1, "a"], "versions and keys"),
        (["state", True, 1, True], "versions and keys"),
        (["state", True, 0, 1], "versions and keys"),
    ],
)
def test_a_literal_says_what_belongs_to_a_state(literal: Any, found: Any) -> None:
    if isinstance(found, tuple):
        assert split_literal(literal) == found
        return
    with pytest.raises(ValueError, match=f"^expected {found}"):
        split_literal(literal)


CLASS, VALUE = Child("global"), Child("list")


@one_test
@pytest.mark.parametrize(
    ("literal", "children", "message"),
    [
        (["state", True, 1, 1], [CLASS], None),
        (["state", False, 1, 1, "a"], [CLASS, VALUE, VALUE], None),
        (["state", False, 0], [VALUE], None),
        (["state", True, 0], [VALUE], "classes and values"),
        (["state", False, 0, "a"], [VALUE], "classes and values"),
        (["state", False, 1, 1], [VALUE, VALUE], "classes"),
        (["hooks"], [], "hooks or a state"),
        ("state", [], "hooks or a state"),
        ([], [], "hooks or a state"),
    ],
)
def test_children_of_a_state_are_classes_and_values(literal: Any, children: Any, message: Any) -> None:
    if message is None:
        check_state(literal, children)
        return
    with pytest.raises(ValueError, match=f"^expected {message}"):
        check_state(literal, children)


# --- loading ---


def test_a_table_keeps_the_tensors_that_stand_there() -> None:
    one, left, other = kellet.ones(2), kellet.ones(2), kellet.zeros(2)
    given: set[int] = set()
    table = _KeptTable(KELLET, {"a": one, "b": None, "c": left}, {"c"}, given)
    table["a"] = one
    assert (table.assigned, given) == (set(), set())
    table["a"] = other
    assert (table["a"] is one, table.assigned, given) == (True, {"a"}, {id(one)})
    assert one.numpy().tolist() == [0.0, 0.0]
    for name, value in (("b", other), ("c", other), ("new", 3)):
        table[name] = value  # type: ignore[assignment]  # a table takes anything
        assert table[name] is value
    assert table.assigned == {"a"}
    table["a"] = None
    assert table["a"] is None
    assert type(copy.copy(table)) is dict


def test_a_state_is_loaded_into_a_tree_of_modules_with_tables() -> None:
    literal = ["state", True, 0]
    with pytest.raises(ValueError, match=r"^'a' is not a module$"):
        KELLET.load_state(_linked(a=3), literal, (), EmptySlots())
    broken = nn.ReLU()
    vars(broken)["_buffers"] = {"w": 3}
    message = "module 'a' has parameters or buffers that are not tensors"
    with pytest.raises(ValueError, match=f"^{message}$"):
        KELLET.load_state(_linked(a=broken), literal, (), EmptySlots())


def test_what_a_state_leaves_out_keeps_its_memory() -> None:
    net = nn.Linear(2, 2)
    before = KELLET.memory_of(net.bias)
    KELLET.load_state(net, ["state", False, 0, "weight"], (kellet.zeros(2, 2), None), EmptySlots())
    assert KELLET.memory_of(net.bias) == before


def test_what_a_load_hook_forgives_gets_memory_of_its_shape() -> None:
    net = nn.Linear(2, 2)
    weight, bias = net.weight, net.bias
    bias.data = kellet.zeros(1).expand(2)
    net.register_load_state_dict_post_hook(lambda module, answer: answer.missing_keys.clear())
    given, empty = kellet.full((2, 2), 3.0), EmptySlots({id(bias): bias, id(weight): weight})
    KELLET.load_state(net, ["state", False, 0, "weight"], (given, None), empty)
    assert (net.bias is bias, bias.stride(), bias.tolist()) == (True, (1,), [0.0, 0.0])
    assert KELLET.memory_of(net.weight) == KELLET.memory_of(given)


def test_a_state_is_loaded_and_what_it_misses_is_told() -> None:
    net = nn.Linear(1, 1)
    weight = net.weight
    KELLET.load_state(net, ["state", False, 0, "weight"], (kellet.zeros(1, 1), None), EmptySlots())
    assert (net.weight is weight, weight.detach().numpy().tolist()) == (True, [[0.0]])
    assert type(net._parameters) is dict
    empty = EmptySlots({id(net.bias): net.bias})
    with pytest.raises(ValueError, match=r"^no load hook restored 'bias', which a state-dict hook removed"):
        KELLET.load_state(net, ["state", False, 0, "weight"], (kellet.zeros(1, 1), None), empty)
    assert type(net._parameters) is dict
    for metadata in (3, [], {"": 3}):
        with pytest.raises(ValueError, match=r"^the metadata of a state is a dict of dicts, or None$"):
            KELLET.load_state(net, ["state", False, 0], (metadata,), EmptySlots())
    with pytest.raises(ValueError, match=r"Linear: version 9 in the archive, 1 here"):
        KELLET.load_state(net, ["state", True, 1, 9], (nn.Linear,), EmptySlots())


# --- gates ---


def test_a_gate_finds_its_hook_when_handles_are_there_where_the_hook_is_stored() -> None:
    codec, hook = codec_of("kellet.gate"), nn.Hook(prehook=print)
    gate = codec.decode("_prehook", (), 1, Context())
    codec.finish(gate, None, (hook,), 1, Context())
    for stored, children in (((hook,), (hook,)), ((), None)):
        asked = Asked(*stored)
        assert codec.encode(gate, asked).literal == "_prehook"
        ((stage, obj, finish),) = asked.deferred
        assert (stage, obj is gate) == (HANDLES, True)
        found = finish()
        assert (found and found.children) == children
