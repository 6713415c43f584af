"""What codecs of modules, hooks and tensors ask of parts that are built already: each wrong by itself."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from kellet.hooks import HookRegistry
from packager._codecs import modules, tensor_out
from packager._codecs.frameworks import EmptySlots
from packager._codecs.kellet_codec import KelletFramework
from tests.codecs.parts import Context, codec_of, refuses
from tests.tables import one_test

MODULES = codec_of("kellet.module")


class Stateful(nn.Module):
    def __setstate__(self, state: Any) -> None:
        vars(self).update(state, taken=True)


# --- states and attributes ---

HOOKS = sorted(MODULES.hook_attributes())


@pytest.mark.parametrize("state", [[("a", 1)], None, {1: 2}, {"a": 1, 2: 3}, OrderedDict(a=1)])
def test_the_state_of_a_module_is_a_dict_of_attributes(state: Any) -> None:
    refuses(
        lambda: MODULES.set_state(Stateful(), state, 1), "the state of Stateful must be a dict of attributes"
    )


@one_test
@pytest.mark.parametrize("name", ["_parameters", "_buffers", "_modules"])
@pytest.mark.parametrize("table", [kellet.ones(2), [], None, "weight", defaultdict(list)], ids=repr)
def test_tables_of_a_state_are_tables_before_a_class_looks_into_them(name: str, table: Any) -> None:
    made, found = Stateful(), type(table).__name__
    refuses(
        lambda: MODULES.set_state(made, {"a": 1, name: table}, 1),
        f"{name} of the state of Stateful is a {found}; expected a dict",
    )
    assert "taken" not in vars(made)
    MODULES.set_state(made, {name: OrderedDict()}, 1)
    assert (vars(made)["taken"], vars(made)[name]) == (True, {})


def test_a_state_is_handed_over_with_what_the_framework_sets() -> None:
    made = MODULES.make(Stateful, 1)
    MODULES.set_state(made, {"a": 1}, 1)
    assert (made.a, made.taken, made.training) == (1, True, True)
    assert type(made._modules) is type(nn.Module()._modules)


def test_hooks_are_no_attributes() -> None:
    said = f"{', '.join(HOOKS[:2])} of Stateful hold hooks; data may not set them"
    names: dict[str, Any] = {HOOKS[1]: 1, "a": 2, HOOKS[0]: 3}
    refuses(lambda: MODULES.set_state(Stateful(), names, 1), said)
    refuses(lambda: MODULES.fill(Stateful(), names, 1), said)
    made = Stateful()
    MODULES.fill(made, {"a": 2}, 1)
    assert made.a == 2


def test_a_module_is_made_of_a_class_of_modules() -> None:
    for other in (dict, len, nn.Module()):
        refuses(lambda other=other: MODULES.make(other, 1), f"{other!r} is not a module of kellet")  # type: ignore[misc]  # bound now


NONE = "the submodules of Stateful must be modules with names"
CHILDREN: list[tuple[Any, str | None]] = [
    ({}, None),
    (OrderedDict(a=None), None),
    ({"a": nn.ReLU(), "b": None}, None),
    ({"a": 1}, NONE),
    ({"a": nn.ReLU(), "b": nn.ReLU}, NONE),
    ({1: nn.ReLU()}, NONE),
    ({"a": nn.ReLU(), 1: None}, NONE),
]


@one_test
@pytest.mark.parametrize(("children", "message"), CHILDREN)
def test_modules_of_a_module_are_modules_with_names(children: Any, message: str | None) -> None:
    made = Stateful()
    vars(made)["_modules"] = children
    if message is None:
        MODULES.check_made(made)
    else:
        refuses(lambda: MODULES.check_made(made), message)


@one_test
@pytest.mark.parametrize("table", ["_parameters", "_buffers", "_modules"])
@pytest.mark.parametrize("value", [[], None, 1])
def test_tables_of_a_module_are_tables(table: str, value: Any) -> None:
    made = Stateful()
    vars(made)[table] = value
    with pytest.raises(
        ValueError, match=r"^module '' has parameters or buffers without a name$|^the submodules of Stateful"
    ):
        MODULES.check_made(made)


@pytest.mark.parametrize("training", [1, None, "yes"])
def test_whether_a_module_is_trained_is_a_bool(training: Any) -> None:
    made = Stateful()
    vars(made)["training"] = training
    refuses(lambda: MODULES.check_made(made), f"Stateful.training is {type(training).__name__}, not a bool")


# --- hooks ---


def hook(module: Any, inputs: Any) -> None:
    pass


PLAIN = "the options of the hook function must be plain values"
NO_HOOK = "the hook function must be callable, with named options"
REGISTERED: list[tuple[list[Any], str]] = [
    (["forward_pre", 0, 1, {}], "the hook int must be callable, with named options"),
    (["forward_pre", 0, hook, {1: True}], NO_HOOK),
    (["forward_pre", 0, hook, {"prepend": True, None: True}], NO_HOOK),
    (["forward_pre", 0, hook, {"prepend": [True]}], PLAIN),
    (["forward_pre", 0, hook, {"prepend": True, "once": b""}], PLAIN),
    (
        ["forward_pre", 0, hook, {}, "forward", 1, None, {}],
        "the hook NoneType must be callable, with named options",
    ),
]


@one_test
@pytest.mark.parametrize(("children", "message"), REGISTERED)
def test_what_is_registered_is_a_hook_with_plain_options(children: list[Any], message: str) -> None:
    refuses(lambda: MODULES.finish(Stateful(), "hooks", children, 1, Context()), message)


def test_no_hook_is_registered_on_a_module_whose_tables_hold_anything() -> None:
    made = Stateful()
    vars(made)["_parameters"] = {"w": 1}
    refuses(
        lambda: MODULES.finish(made, "hooks", ["forward_pre", 0, hook, {}], 1, Context()),
        "module '' has parameters or buffers that are not tensors",
    )
    assert MODULES.hooks_of(made) == []


def test_hooks_are_registered_one_after_the_other_and_keep_their_numbers() -> None:
    made, context = Stateful(), Context()
    children = ["forward_pre", 7, hook, {}, "forward", 3, print, {}]
    MODULES.finish(made, "hooks", children, 1, context)
    hooks = MODULES.hooks_of(made)
    assert [(found.kind, found.hook) for found in hooks] == [("forward_pre", hook), ("forward", print)]
    assert [context.numbers["kellet", number] for number in (7, 3)] == [found.id for found in hooks]


def test_hooks_of_a_registry_are_added_and_keep_their_numbers() -> None:
    made, context = codec_of("kellet.hooks").decode(None, (), 1, Context()), Context()
    codec_of("kellet.hooks").finish(made, None, [5, hook, {}, 2, print, {}], 1, context)
    assert [entry.hook for entry in made] == [hook, print]
    assert [context.numbers["kellet", number] for number in (5, 2)] == [entry.id for entry in made]


def test_a_handle_removes_the_hook_that_has_its_number() -> None:
    codec, context, registry = codec_of("kellet.handle"), Context(), HookRegistry()
    registry.add(print)
    kept = registry.add(hook)
    context.numbers["kellet", 4] = kept.id
    made = codec.decode(None, (), 1, context)
    codec.finish(made, ["", 4], [registry], 1, context)
    made.remove()
    assert [entry.hook for entry in registry] == [print]
    assert codec.registry_of(kept) is None
    refuses(
        lambda: codec.finish(made, ["", 4], [SimpleNamespace()], 1, context),
        "a handle of a hook refers to a SimpleNamespace, which has no hooks",
    )


def test_a_gate_is_given_a_hook_and_nothing_else() -> None:
    codec = codec_of("kellet.gate")
    made = codec.decode("_prehook", (), 1, Context())
    refuses(lambda: codec.finish(made, None, [nn.ReLU()], 1, Context()), "ReLU is not a Hook")
    one = nn.Hook(prehook=lambda module, inputs: None)
    codec.finish(made, None, [one], 1, Context())
    assert made.hook() is one
    refuses(lambda: codec_of("kellet.hook").make(nn.ReLU, 1), f"{nn.ReLU!r} is not a Hook")


# --- states that a module loads ---

METADATA = "the metadata of a state is a dict of dicts, or None"


@pytest.mark.parametrize("metadata", [[], 1, {"": 1}, {"": {}, "a": None}])
def test_the_metadata_of_a_state_is_a_dict_of_dicts(metadata: Any) -> None:
    refuses(lambda: MODULES.finish(nn.ReLU(), ["state", False, 0], [metadata], 1, Context()), METADATA)


@pytest.mark.parametrize("metadata", [None, {}, {"": {"version": 1}}])
def test_a_state_is_loaded(metadata: Any) -> None:
    made = nn.Linear(1, 1, bias=False)
    weight, before = kellet.full((1, 1), 7.0), made.weight
    MODULES.finish(made, ["state", False, 0, "weight"], [weight, metadata], 1, Context())
    assert made.weight is before
    assert made.weight.tolist() == [[7.0]]


def test_classes_of_a_state_have_the_versions_that_were_stored() -> None:
    version = nn.BatchNorm1d._version
    MODULES.finish(nn.ReLU(), ["state", True, 1, version], [nn.BatchNorm1d], 1, Context())
    with pytest.raises(
        ValueError, match=rf"^classes of .* BatchNorm1d: version {version + 1} in the archive, {version} here"
    ):
        MODULES.finish(nn.ReLU(), ["state", True, 1, version + 1], [nn.BatchNorm1d], 1, Context())


# --- tensors ---


class Marked(kellet.Tensor):
    pass


def test_a_class_of_tensors_is_one() -> None:
    codec = codec_of("kellet.subclass")
    made = codec.decode(True, (Marked, np.ones(2)), 1, Context())
    assert (type(made), made.requires_grad, made.tolist()) == (Marked, True, [1.0, 1.0])
    assert codec.decode(False, (Marked, np.ones(2)), 1, Context()).requires_grad is False
    refuses(
        lambda: codec.decode(True, (np.ndarray, np.ones(2)), 1, Context()),
        f"{np.ndarray!r} is not a class of tensors",
    )


class Reduced(Marked):
    def __reduce_ex__(self, protocol: Any) -> Any:
        return Reduced, (1.0,)


def test_a_class_of_tensors_that_says_how_it_is_made_is_left_alone() -> None:
    claims = codec_of("kellet.subclass").claims
    found = {cls: claims(cls) for cls in (Marked, Reduced, kellet.Tensor, nn.Parameter, nn.Buffer)}
    assert [cls for cls, claimed in found.items() if claimed] == [Marked]


@one_test
@pytest.mark.parametrize("kind", ["Tensor", "Parameter", "Buffer"])
@pytest.mark.parametrize("requires", [True, False])
def test_a_tensor_without_values_has_its_kind_and_its_shape(kind: str, requires: bool) -> None:
    made = codec_of("kellet.tensor").decode([kind, "<f4", requires, "empty", 2, 3], (), 1, Context())
    assert type(made).__name__ == kind
    assert (made.requires_grad, tuple(made.shape)) == (requires, (2, 3))


def noted(value: Any) -> Any:
    value.note = 1
    return value


def test_only_plain_tensors_are_tensors_of_a_state() -> None:
    context: Any = Context()
    for value, dtype in (
        (kellet.ones(2), "F32"),
        (nn.Parameter(kellet.ones(2)), "F32"),
        (np.ones(2), "F64"),
        (np.ones(2, "<c16"), "U8"),
    ):
        found = tensor_out(value, context)
        assert found is not None
        assert (found[0].dtype, found[1]) == (dtype, "<c16" if dtype == "U8" else None)
    for value in (
        noted(kellet.ones(2)),
        noted(nn.Parameter(kellet.ones(2))),
        nn.Buffer(kellet.ones(2)),
        codec_of("kellet.subclass").decode(False, (Marked, np.ones(2)), 1, context),
        np.ones(2).view(np.matrix),
        np.array([None]),
        [1.0],
    ):
        assert tensor_out(value, context) is None


# --- which classes a codec takes, and how they take their state ---


class Own(nn.Module):
    def __setstate__(self, state: Any) -> None:
        raise AssertionError("it is only looked at")


class Packed(nn.Module):
    def __reduce_package__(self, exporter: Any) -> Any:
        raise AssertionError("it is only looked at")


def _of_the_framework(**methods: Any) -> Any:
    for method in methods.values():
        method.__module__ = "kellet.nn.layers"
    return type("Old", (nn.Module,), methods)


def test_modules_are_claimed_but_not_those_that_say_how_they_are_made() -> None:
    assert [MODULES.claims(cls) for cls in (nn.Module, nn.ReLU, Own)] == [True, True, True]
    assert [MODULES.claims(cls) for cls in (Packed, dict, kellet.Tensor)] == [False, False, False]


def test_a_state_goes_to_the_method_of_a_class_but_not_to_one_for_older_files() -> None:
    def taken(self: Any, state: Any) -> None: ...

    def given(self: Any) -> Any: ...

    assert [MODULES.uses_setstate(cls) for cls in (nn.Module, nn.ReLU, Own)] == [False, False, True]
    assert MODULES.uses_setstate(_of_the_framework(__setstate__=taken)) is False
    assert MODULES.uses_setstate(_of_the_framework(__setstate__=taken, __getstate__=given)) is True


@pytest.mark.parametrize("home", ["gpytorch.kernels.kernel", "gpytorch__w3f9a1c0b77de_0.kernels.kernel"])
def test_a_method_is_known_by_its_name_where_its_library_is_stored_too(home: str) -> None:
    def setstate(self: object, state: object) -> None: ...

    setstate.__module__, setstate.__qualname__ = home, "Kernel.__setstate__"
    assert modules._only_takes_attributes(setstate)


def test_a_wrapper_that_leads_to_itself_is_refused() -> None:
    """Its tables were looked for without end."""
    wrapper = nn.HookedModule(nn.Linear(2, 1))
    vars(wrapper)["_inner"] = wrapper
    with pytest.raises(ValueError, match="module '' wraps itself"):
        KelletFramework().load_state(wrapper, ["state", True, 0], (), EmptySlots())
