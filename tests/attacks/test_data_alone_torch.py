"""Data alone of PyTorch runs nothing: hooks, shadows and states that were none, and their honest twins."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import functools
import io
import sys
from fractions import Fraction
from typing import Any

import msgpack
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import spectral_norm, weight_norm

import kellet
from packager import PackageExporter
from packager._audit import UntrustedNamesError
from packager._objects import EncodedObject, ObjectBuildError
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests.attacks import object_forger as forge

pytestmark = pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")

RELU = [K.GLOBAL, "torch.nn.functional", "relu"]


def _load(obj: EncodedObject, **options: Any) -> Any:
    return forge.load(forge.archive_of(obj, externs=("torch", "numpy", "kellet")), **options)


def _filled(obj: Any, name: str, *value: list[Any]) -> EncodedObject:
    """An encoded object with one more attribute: what the given records make."""
    made = forge.encoded(obj)
    root = msgpack.unpackb(made.records)[2]

    def change(codecs: list[Any], records: forge.Records) -> None:
        records += [list(record) for record in value]
        records.append([K.FILL, root, name, -len(records)])

    return forge.with_records(made, change)


# --- hooks ---


def test_weight_norm_and_spectral_norm_come_back_with_their_hooks() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        weight_norm(nn.Linear(3, 3)),
        weight_norm(nn.Linear(3, 3), dim=None),  # type: ignore[arg-type]  # as torch documents it
        spectral_norm(nn.Linear(3, 3), n_power_iterations=2, eps=1e-6),
    ).eval()
    x = torch.ones(2, 3)
    expected = model(x)
    loaded = _load(forge.encoded(model))
    assert torch.equal(loaded(x), expected)
    assert [len(one._forward_pre_hooks) for one in loaded] == [1, 1, 1]
    assert len(loaded[2]._state_dict_hooks) == len(loaded[2]._load_state_dict_pre_hooks) == 1
    assert list(loaded.state_dict()) == list(model.state_dict())


REGISTER = {
    "register_forward_hook": "_forward_hooks",
    "register_forward_pre_hook": "_forward_pre_hooks",
    "register_full_backward_hook": "_backward_hooks",
    "register_full_backward_pre_hook": "_backward_pre_hooks",
    "register_load_state_dict_pre_hook": "_load_state_dict_pre_hooks",
    "register_load_state_dict_post_hook": "_load_state_dict_post_hooks",
}


@pytest.mark.parametrize(("register", "kind"), REGISTER.items())
@pytest.mark.parametrize("hook", ["function", "method", "module", "partial"])
def test_every_other_hook_needs_a_name_to_trust(register: str, kind: str, hook: str) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    hooks = {
        "function": F.relu,
        "method": model[1].extra_repr,
        "module": model[1],
        "partial": functools.partial(F.relu, inplace=False),
    }
    getattr(model[0], register)(hooks[hook])
    with pytest.raises(UntrustedNamesError, match=rf"a hook \({kind}\)"):
        _load(forge.encoded(model))


def test_a_hook_of_a_trusted_name_is_registered() -> None:
    model = nn.Linear(2, 2)
    model.register_forward_hook(F.relu)
    with pytest.raises(
        UntrustedNamesError,
        match=r"open the archive with trust=\('torch.nn.functional:relu',\)",
    ):
        _load(forge.encoded(model))
    loaded = _load(forge.encoded(model), trust=("torch.nn.functional:relu",))
    assert list(loaded._forward_hooks.values()) == [F.relu]


def test_the_plan_names_the_hook_that_loaders_refuse() -> None:
    model = nn.Linear(2, 2)
    model.register_forward_hook(F.relu)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("m", "o", model)
    assert (
        "object m/o is refused by loaders: obj: a hook (_forward_hooks), torch.nn.functional:relu; store the "
        "code that makes it; if you trust it, open the archive with trust=('torch.nn.functional:relu',) "
        "(--trust torch.nn.functional:relu)"
    ) in exporter.plan().warnings


OTHERS = "with unknown attributes"


def _norm_hook(*attributes: Any, kind: str = "_forward_pre_hooks", module: str = "weight") -> EncodedObject:
    """A layer with weight norm, whose hook is registered otherwise, or has other attributes."""
    made = forge.encoded(weight_norm(nn.Linear(2, 2), module))

    def change(codecs: list[Any], records: forge.Records) -> None:
        at = forge.index_of(records, K.OBJ, "torch.nn.utils.weight_norm", "WeightNorm")
        shape = -1 - records[at][1]
        names, values = attributes[::2], attributes[1::2]
        if names:
            records[shape] = [*records[shape][:3], *names]
            records[at] = [*records[at][:2], *values]
        for record in records:
            if record[0] == K.FINISH and record[3] == "hooks":
                record[4] = kind

    return forge.with_records(made, change)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({}, None),
        (
            {"attributes": ("name", "weight", "dim", 0, "compute_weight", 1)},
            "with unknown attributes",
        ),
        ({"attributes": ("name", 5, "dim", 0)}, "with unknown attributes"),
        ({"attributes": ("name", "weight")}, "with unknown attributes"),
        ({"attributes": ("name", "bias", "dim", 0)}, "without the parameters bias_g, bias_v"),
        ({"kind": "_forward_hooks"}, r"a hook \(_forward_hooks\), an object of torch.nn.utils.weight_norm"),
        ({"kind": "_load_state_dict_pre_hooks"}, r"a hook \(_load_state_dict_pre_hooks\), an object of"),
    ],
)
def test_the_hook_of_weight_norm_is_what_weight_norm_makes(change: dict[str, Any], match: str | None) -> None:
    made = _norm_hook(*change.get("attributes", ()), kind=change.get("kind", "_forward_pre_hooks"))
    if match is None:
        assert _load(made)(torch.ones(1, 2)).shape == (1, 2)
        return
    with pytest.raises(PackageError, match=match):
        _load(made)


# --- attributes ---


@pytest.mark.parametrize(
    ("name", "match"),
    [
        *((name, f"{name} of Linear hold hooks") for name in REGISTER.values()),
        ("_forward_hooks_with_kwargs", "hold hooks"),
        ("_state_dict_hooks", "hold hooks"),
        ("_state_dict_pre_hooks", "hold hooks"),
        ("forward", "forward of Linear is a function"),
        ("_load_from_state_dict", "_load_from_state_dict of Linear is a function"),
        ("load_state_dict", "load_state_dict of Linear is a function"),
        ("__call__", "__call__ of Linear is a function"),
        ("_call_impl", "_call_impl of Linear is a function"),
        ("__class__", "__class__ of Linear is a getset_descriptor"),
        ("__getattr__", "__getattr__ of Linear is a function"),
        ("eval", "eval of Linear is a function"),
    ],
)
def test_hooks_and_methods_are_no_attributes(name: str, match: str) -> None:
    with pytest.raises(ObjectBuildError, match=match):
        _load(_filled(nn.Linear(2, 2), name, RELU))


@pytest.mark.parametrize("name", ["detach", "data_ptr", "backward", "_backward_hooks", "__torch_function__"])
def test_attributes_of_tensors_do_not_take_the_place_of_what_tensors_do(name: str) -> None:
    parameter = nn.Parameter(torch.ones(2))
    assert _load(_filled(parameter, "label", [K.STR, "x" * 80])).label == "x" * 80
    with pytest.raises(ObjectBuildError, match=f"{name} of Parameter is"):
        _load(_filled(parameter, name, RELU))


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("training", [K.STR, "x" * 80], "training is str, not a bool"),
        ("_modules", [K.PACKED_DICT, "a", 1], "must be modules with names"),
        ("_buffers", RELU, "parameters or buffers without a name"),
    ],
)
def test_the_tables_of_a_module_hold_what_they_are_for(name: str, value: list[Any], match: str) -> None:
    with pytest.raises(ObjectBuildError, match=match):
        _load(_filled(nn.Linear(2, 2), name, value))


# --- states ---


def _with_state(state: dict[str, Any]) -> EncodedObject:
    """An SGD whose state has other parts than its class gives."""
    honest = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    made = forge.encoded([{**honest.__getstate__(), **state}])
    codecs, records, _ = msgpack.unpackb(made.records)
    codecs.append(["torch.optimizer", 1])
    (_, held) = records[-1]
    records[-1] = [K.GLOBAL, "torch.optim", "SGD"]
    records.append([K.CODEC, len(codecs) - 1, None, -len(records), held])
    return EncodedObject(msgpack.packb([codecs, records, -len(records)]), made.storages, ())


@pytest.mark.parametrize(
    "state",
    [
        {"_optimizer_step_pre_hooks": {0: F.relu}},
        {"_optimizer_load_state_dict_post_hooks": {0: F.relu}},
        {"step": F.relu},
        {"_patch_step_function": F.relu},
        {"defaults": nn.ModuleDict()},
        {"param_groups": [nn.ModuleDict()]},
        {"param_groups": nn.Sequential()},
        {"state": nn.ModuleDict()},
        {"step": 1},
        {"defaults": [1]},
        {"param_groups": [1]},
        {"param_groups": {}},
        {"state": {"a": {}}},
    ],
)
def test_the_state_of_an_optimiser_is_what_its_class_relies_on(state: dict[str, Any]) -> None:
    assert _load(_with_state({})).param_groups[0]["lr"] == 0.1
    with pytest.raises(PackageError, match=r"of SGD|in the state of an optimiser"):
        _load(_with_state(state))


@pytest.mark.parametrize("value", [np.ones(1), torch.ones(3), None], ids=["an array", "a shape", "nothing"])
def test_what_a_state_holds_for_a_slot_is_no_text_of_torch(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch asks such values for attributes, and prints their types and shapes."""
    asked: list[Any] = []
    monkeypatch.setattr("torch.overrides.is_tensor_like", lambda value: asked.append(value) or True)
    made = forge.encoded([nn.Linear(2, 1), value])
    codecs, records, _ = msgpack.unpackb(made.records)
    layer, held = records[-1][1:]
    codec = codecs.index(["torch.module", 1])
    records[-1:] = [[K.FINISH, layer, codec, ["state", False, 0, "bias"], held, None], [K.LIST, layer]]
    with pytest.raises(ObjectBuildError, match="the state lacks tensors of the right shapes for 'bias'"):
        _load(EncodedObject(msgpack.packb([codecs, records, -len(records)]), made.storages, ()))
    assert asked == []


@pytest.mark.parametrize("name", ["step", "mu_product", "eta", "mu"])
def test_what_an_optimiser_converts_is_a_number_or_a_tensor(name: str) -> None:
    """`float(step)` of a masked array, or of a tensor of kellet, is a method of its class."""
    parameter = nn.Parameter(torch.ones(2))
    for honest in (3, 0.5, np.float32(2), torch.tensor(1.0)):
        found = _load(_with_state({"state": {parameter: {name: honest}}}))
        assert float(*[known[name] for known in found.state.values()]) == float(honest)
    for odd in (np.ma.array(1.0), np.ones(1), kellet.ones(1), Fraction(1, 2), None, "1"):
        with pytest.raises(PackageError, match=f"{name} in the state of SGD must be a number"):
            _load(_with_state({"state": {parameter: {name: odd}}}))


@pytest.mark.parametrize("name", ["capturable", "fused"])
def test_what_an_optimiser_asks_for_its_truth_is_a_flag(name: str) -> None:
    group = {"params": [nn.Parameter(torch.ones(2))], "lr": 0.1}
    for honest in (True, None):
        assert _load(_with_state({"param_groups": [{**group, name: honest}]})).param_groups[0][name] is honest
    for odd in (np.ma.array(1.0), torch.ones(1, device="meta"), Fraction(1, 2), [1]):
        with pytest.raises(PackageError, match=f"{name} in the state of SGD must be a number"):
            _load(_with_state({"param_groups": [{**group, name: odd}]}))


def test_schedulers_of_listed_functions_load_with_their_own_methods() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, abs)
    loaded = _load(forge.encoded([optimizer, scheduler]))[1]
    assert loaded.lr_lambdas == [abs]
    shadow = _filled(torch.optim.lr_scheduler.StepLR(optimizer, 2), "get_lr", RELU)
    with pytest.raises(ObjectBuildError, match="get_lr of StepLR is a function"):
        _load(shadow)


def test_an_lstm_takes_its_state_and_nothing_in_the_place_of_its_methods() -> None:
    model = nn.LSTM(2, 2)
    x = torch.ones(3, 1, 2)
    assert torch.equal(_load(forge.encoded(model))(x)[0], model(x)[0])

    def change(codecs: list[Any], records: forge.Records) -> None:
        state = next(record for record in records if record[0] == K.STATE)
        records[-1 - state[2]] += ["_init_flat_weights", 1]

    made = forge.encoded(model)
    with pytest.raises(ObjectBuildError, match="_init_flat_weights of LSTM is a function"):
        _load(forge.with_records(made, change))


def test_a_dtype_is_looked_up_among_what_torch_has_and_imports_nothing() -> None:
    made = forge.table_of([[K.CODEC, 1, ["dtype", "onnx"]]], codecs=["torch.value"])
    before = set(sys.modules)
    with pytest.raises(ObjectBuildError, match="has no dtype 'onnx'"):
        _load(made)
    assert {name for name in set(sys.modules) - before if name.startswith("torch.onnx")} == set()
    assert _load(forge.encoded([torch.float16])) == [torch.float16]


def test_partials_of_layers_and_functions_load() -> None:
    partials = [
        functools.partial(nn.LayerNorm, eps=1e-6),
        functools.partial(F.interpolate, scale_factor=2.0, mode="nearest"),
        functools.partial(nn.Linear, dtype=torch.float16),
    ]
    loaded = _load(forge.encoded(partials))
    assert [(one.func, one.keywords) for one in loaded] == [(one.func, one.keywords) for one in partials]
    clamp = forge.encoded([functools.partial(torch.clamp, min=0)])
    with pytest.raises(UntrustedNamesError, match="a partial of torch:clamp"):
        _load(clamp)
    assert _load(clamp, trust=("torch:clamp",))[0].keywords == {"min": 0}
