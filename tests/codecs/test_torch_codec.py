"""What is asked of modules of PyTorch while they are stored, and of states that they are to take up."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import re
from collections import OrderedDict
from types import MethodType, SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

from packager._codecs import CannotStore
from packager._codecs.registry import default_registry
from packager._codecs.torch_codec import (
    TorchFramework,
    _fits,
    computed_by_hooks,
    is_obsolete,
    is_refused,
    require_storable,
)

FRAMEWORK = TorchFramework()
LAZY = nn.UninitializedParameter()
MODULES: Any = default_registry().find("torch.module")


def noted(*args: Any) -> None:
    pass


# --- which values of a state fit ---


@pytest.mark.parametrize(
    ("value", "tensor", "fits"),
    [
        (torch.zeros(2), torch.zeros(2), True),
        (torch.zeros(2), torch.zeros(3), False),
        (torch.zeros(2, 1), torch.zeros(2), False),
        (torch.zeros(1), torch.zeros(()), True),
        (torch.zeros(2), torch.zeros(()), False),
        (torch.zeros(()), torch.zeros(1), False),
        (torch.zeros(1), torch.zeros(2), False),
        ([0.0, 0.0], torch.zeros(2), False),
        (LAZY, torch.zeros(2), False),
        (LAZY, LAZY, False),
        (torch.zeros(2), LAZY, True),
        (None, LAZY, False),
    ],
)
def test_a_value_of_a_state_fits_a_tensor_of_its_shape(value: Any, tensor: Any, fits: bool) -> None:
    assert _fits(value, tensor) is fits


def test_a_state_holds_tensors_of_the_shapes_of_its_slots() -> None:
    model = nn.Linear(2, 3)
    FRAMEWORK.require_fit(model, {})
    FRAMEWORK.require_fit(model, {"weight": torch.ones(3, 2), "bias": torch.ones(3)})
    for items, keys in (
        ({"weight": torch.ones(2, 3)}, "'weight'"),
        ({"weight": 1, "bias": torch.ones(1)}, "'weight', 'bias'"),
    ):
        with pytest.raises(ValueError, match=f"^the state lacks tensors of the right shapes for {keys}$"):
            FRAMEWORK.require_fit(model, items)
    model.register_load_state_dict_pre_hook(noted)
    FRAMEWORK.require_fit(nn.Sequential(model), {"0.weight": 1})  # the hook may make one of it


# --- who loads a state in a way of its own ---


class OwnLoading(nn.Linear):
    def load_state_dict(self, *args: Any, **more: Any) -> Any:
        return super().load_state_dict(*args, **more)


class OwnPart(nn.Linear):
    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)


class OwnExtra(nn.Linear):
    def set_extra_state(self, state: Any) -> None:
        pass


@pytest.mark.parametrize("kind", [OwnLoading, OwnPart, OwnExtra])
def test_a_class_that_loads_its_state_itself(kind: Any) -> None:
    assert FRAMEWORK.loads_by_itself(kind(1, 1))
    assert FRAMEWORK.changes_by_loading(kind(1, 1))


@pytest.mark.parametrize(
    "register", ["register_load_state_dict_pre_hook", "register_load_state_dict_post_hook"]
)
@pytest.mark.parametrize("kind", [nn.Linear, nn.BatchNorm1d])
def test_hooks_change_what_is_loaded(register: str, kind: Any) -> None:
    model = kind(2, 2)
    getattr(model, register)(noted)
    assert FRAMEWORK.loads_by_itself(model)
    assert FRAMEWORK.changes_by_loading(model)


def test_overrides_of_pytorch_change_nothing() -> None:
    assert [FRAMEWORK.loads_by_itself(one) for one in (nn.Linear(1, 1), nn.BatchNorm1d(1))] == [False, True]
    assert not FRAMEWORK.changes_by_loading(nn.Linear(1, 1))
    assert not FRAMEWORK.changes_by_loading(nn.BatchNorm1d(1))


def test_a_state_is_made_with_its_metadata() -> None:
    plain = FRAMEWORK.make_state({"b": 1, "a": 2}, None)
    assert (type(plain), list(plain.items())) == (OrderedDict, [("b", 1), ("a", 2)])
    assert not hasattr(plain, "_metadata")
    facts = {"version": 1}
    state = FRAMEWORK.make_state({}, {"": facts})
    assert (type(state._metadata), state._metadata) == (OrderedDict, {"": {"version": 1}})
    assert state._metadata[""] is not facts


def test_a_tensor_of_no_elements_has_no_memory() -> None:
    context: Any = None
    assert FRAMEWORK.memory(torch.ones(0, 2), context) == ()
    (found,) = FRAMEWORK.memory(torch.ones(2, requires_grad=True), context)
    assert (found.shape, found.dtype) == ((2,), "F32")


# --- hooks ---


def hooks_of(module: Any) -> list[tuple[str, Any, dict[str, Any]]]:
    return [(hook.kind, hook.hook, dict(hook.options)) for hook in MODULES.hooks_of(module)]


def _registered(name: str, **options: Any) -> Any:
    model = nn.ReLU()
    getattr(model, name)(noted, **options)
    return model


HOOKS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("register_forward_pre_hook", {}, "_forward_pre_hooks", {}),
    ("register_forward_pre_hook", {"with_kwargs": True}, "_forward_pre_hooks", {"with_kwargs": True}),
    ("register_forward_hook", {}, "_forward_hooks", {}),
    ("register_forward_hook", {"with_kwargs": True}, "_forward_hooks", {"with_kwargs": True}),
    ("register_forward_hook", {"always_call": True}, "_forward_hooks", {"always_called": True}),
    ("register_full_backward_pre_hook", {}, "_backward_pre_hooks", {}),
    ("register_full_backward_hook", {}, "_backward_hooks", {"full": True}),
    ("register_backward_hook", {}, "_backward_hooks", {"full": False}),
    ("register_state_dict_pre_hook", {}, "_state_dict_pre_hooks", {}),
    ("_register_load_state_dict_pre_hook", {}, "_load_state_dict_pre_hooks", {"with_module": False}),
    ("register_load_state_dict_pre_hook", {}, "_load_state_dict_pre_hooks", {"with_module": True}),
    ("register_load_state_dict_post_hook", {}, "_load_state_dict_post_hooks", {}),
]


@pytest.mark.parametrize(("register", "given", "kind", "options"), HOOKS)
def test_a_hook_is_stored_with_how_it_was_registered(
    register: str, given: dict[str, Any], kind: str, options: dict[str, Any]
) -> None:
    model = _registered(register, **given)
    assert hooks_of(model) == [(kind, noted, options)]
    assert [name for _, name in MODULES.registries_of(model) if vars(model)[name]] == [kind]
    again = nn.ReLU()
    MODULES.register(again, kind, noted, options)
    assert hooks_of(again) == [(kind, noted, options)]


class Reporting:
    """Says when it is asked for an attribute that it has, that it lacks, or that it is to take."""

    def __init__(self) -> None:
        object.__setattr__(self, "asked", [])

    def __getattribute__(self, name: str) -> Any:
        object.__getattribute__(self, "asked").append(name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__getattribute__(self, "asked").append(name)
        object.__setattr__(self, name, value)

    def __call__(self, *args: Any) -> None:
        object.__getattribute__(self, "asked").append("called")


class AsFunction(Reporting):
    def __get__(self, one: Any, cls: Any) -> Any:
        object.__getattribute__(self, "asked").append("bound")
        return self


OBJECTS: list[tuple[str, dict[str, Any]]] = [
    *((kind, options) for _, _, kind, options in HOOKS),
    ("_state_dict_hooks", {}),
    ("_state_dict_hooks", {"public": True}),
]


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook:FutureWarning")
@pytest.mark.parametrize(
    ("kind", "options", "bound"),
    # A method takes no attribute, so PyTorch registers none as public.
    [(*one, bound) for one in OBJECTS for bound in (False, True) if not bound or "public" not in one[1]],
)
def test_a_hook_that_is_an_object_is_registered_and_asked_for_nothing(
    kind: str, options: dict[str, Any], bound: bool
) -> None:
    asking = AsFunction() if bound else Reporting()
    hook: Any = MethodType(asking, nn.ReLU()) if bound else asking
    model = nn.ReLU()
    MODULES.register(model, kind, hook, options)
    assert object.__getattribute__(asking, "asked") == []
    assert hooks_of(model) == [(kind, hook, options)]
    object.__getattribute__(asking, "asked").clear()
    model(torch.ones(2, requires_grad=True)).sum().backward()
    model.load_state_dict(model.state_dict())
    assert "called" in object.__getattribute__(asking, "asked")


def test_a_wrapper_names_the_object_that_it_was_made_for() -> None:
    model, hook = nn.ReLU(), Reporting()
    MODULES.register(model, "_load_state_dict_pre_hooks", hook, {"with_module": True})
    (wrapper,) = model._load_state_dict_pre_hooks.values()
    assert (wrapper.hook, wrapper.__wrapped__) == (hook, hook)
    assert not hasattr(wrapper, "__name__")


def test_a_hook_of_states_says_whether_it_is_public() -> None:
    def public(*args: Any) -> None:
        pass

    model = nn.ReLU()
    model._register_state_dict_hook(noted)
    model.register_state_dict_post_hook(public)
    assert hooks_of(model) == [
        ("_state_dict_hooks", noted, {}),
        ("_state_dict_hooks", public, {"public": True}),
    ]


def test_a_kind_of_hook_that_is_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^there is no kind of hook '_other_hooks'$"):
        MODULES.register(nn.ReLU(), "_other_hooks", noted, {})


def test_what_a_parametrization_leaves_behind_is_left_out() -> None:
    model = parametrizations.weight_norm(nn.Linear(2, 2))
    (hook,) = [hook.hook for hook in model._load_state_dict_pre_hooks.values()]
    assert not is_obsolete(model, hook)
    assert [kind for kind, _, _ in hooks_of(model)] == ["_load_state_dict_pre_hooks"]
    parametrize.remove_parametrizations(model, "weight")
    assert is_obsolete(model, hook)
    assert not is_obsolete(model, noted)
    model.register_load_state_dict_pre_hook(noted)
    assert hooks_of(model) == [("_load_state_dict_pre_hooks", noted, {"with_module": True})]


def test_a_handle_is_of_a_hook_that_is_still_registered() -> None:
    codec: Any = default_registry().find("torch.handle")
    model = nn.ReLU()
    handle = model.register_forward_hook(noted)
    assert codec.registry_of(handle) is model._forward_hooks
    handle.remove()
    assert codec.registry_of(handle) is None
    gone = SimpleNamespace(hooks_dict_ref=lambda: None, id=1)
    assert codec.registry_of(gone) is None


# --- modules that cannot be stored ---


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_what_hooks_compute_is_known_and_detached() -> None:
    made = {
        "weight_norm": nn.utils.weight_norm(nn.Linear(2, 2)),
        "spectral_norm": nn.utils.spectral_norm(nn.Linear(2, 2)),
        "prune": prune.identity(nn.Linear(2, 2), "weight"),
    }
    for model in made.values():
        model.register_forward_pre_hook(noted)
        assert computed_by_hooks(model) == ["weight"]
    assert computed_by_hooks(_registered("register_forward_pre_hook")) == []


REFUSED: dict[str, tuple[Any, str]] = {
    "a graph": (
        lambda: torch.fx.symbolic_trace(nn.ReLU()),
        "GraphModuleImpl cannot be stored: it is a graph of",
    ),
    "parametrized": (
        lambda: parametrizations.weight_norm(nn.Linear(1, 1)),
        "ParametrizedLinear is parametrized: its class was made in memory",
    ),
    "of a class that was made": (lambda: Made(1, 1), "Made is parametrized: its class was made in memory"),
    "with a part of that name": (
        lambda: nn.Sequential(OrderedDict(parametrizations=nn.ReLU())),
        "Sequential is parametrized: its class was made in memory",
    ),
    "lazy": (
        lambda: nn.LazyLinear(1),
        "LazyLinear has no shapes yet for weight, bias: the first input gives them",
    ),
    "with a lazy buffer": (
        lambda: nn.LazyBatchNorm1d(affine=False),
        "LazyBatchNorm1d has no shapes yet for running_mean, running_var: the first input gives them",
    ),
}


class Made(nn.Linear):
    parametrizations = None


PLACE: Any = SimpleNamespace(path=lambda: "model.layers.0")


def test_a_parametrized_module_comes_with_the_call_that_makes_it_plain() -> None:
    with pytest.raises(CannotStore) as refused:
        require_storable(parametrizations.weight_norm(nn.Linear(1, 1)), PLACE)
    assert refused.value.options[0] == (
        'before saving: torch.nn.utils.parametrize.remove_parametrizations(model.layers[0], "weight")'
    )


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_module_that_cannot_be_stored_says_why(make: Any, message: str) -> None:
    module = make()
    with pytest.raises(CannotStore, match=f"^{re.escape(message)}"):
        require_storable(module, PLACE)


def test_a_module_is_called_by_the_last_part_of_its_name() -> None:
    class Inner(nn.LazyLinear):
        pass

    with pytest.raises(CannotStore, match=r"^Inner has no shapes yet"):
        require_storable(Inner(1), PLACE)
    require_storable(nn.Linear(1, 1), PLACE)


def test_classes_that_inherit_from_those_that_are_never_stored_are_not_either() -> None:
    own = type("Own", (torch.fx.GraphModule,), {})
    assert [is_refused(cls) for cls in (torch.fx.GraphModule, own, nn.Linear)] == [True, True, False]
    assert MODULES.claims(own)
    assert MODULES.claims(nn.Linear)
    assert not MODULES.claims(dict)
