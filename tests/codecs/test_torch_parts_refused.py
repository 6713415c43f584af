"""What codecs of PyTorch ask of parts that are built already: each wrong by itself, and what still passes."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from packager._codecs import StoredTensor
from packager._codecs.torch_codec import require_parameters, require_recurrent_state
from packager._codecs.torch_layouts import _require_quantizer
from tests.codecs.parts import Context, codec_of, decoded, refuses

# --- quantized tensors ---

INT8 = torch.zeros(2, 3, dtype=torch.int8)
ONES, ZEROS = torch.ones(2), torch.zeros(2, dtype=torch.int64)
NO_SCALE, NO_POINT = "a scale that is no finite number", "a zero point that is no int from -128 to 127"
QUANTIZERS: dict[str, tuple[Any, Any, Any, int | None, str]] = {
    "bytes of another kind": (INT8.byte(), 0.5, 0, None, "qint8 is stored as int8, found torch.uint8"),
    "a scale without end": (INT8, float("inf"), 0, None, NO_SCALE),
    "a scale that is no number": (INT8, float("nan"), 0, None, NO_SCALE),
    "one scale that is none": (INT8, torch.tensor([1.0, float("inf")]), ZEROS, 0, NO_SCALE),
    "scales of ints": (INT8, ZEROS, ZEROS, 0, NO_SCALE),
    "a point below": (INT8, 0.5, -129, None, NO_POINT),
    "a point above": (INT8, 0.5, 128, None, NO_POINT),
    "one point above": (INT8, ONES, torch.tensor([0, 128]), 0, NO_POINT),
    "points of floats": (INT8, ONES, ONES, 0, NO_POINT),
    "points of bools": (INT8, ONES, ZEROS.bool(), 0, NO_POINT),
    "points of complex numbers": (INT8, ONES, ZEROS * 1j, 0, NO_POINT),
    "an axis before": (
        INT8,
        ONES,
        ZEROS,
        -1,
        "[2] scales and [2] zero points for axis -1 of a tensor of shape [2, 3]",
    ),
    "an axis behind": (
        INT8,
        ONES,
        ZEROS,
        2,
        "[2] scales and [2] zero points for axis 2 of a tensor of shape [2, 3]",
    ),
    "scales of another axis": (
        INT8,
        ONES,
        ZEROS,
        1,
        "[2] scales and [2] zero points for axis 1 of a tensor of shape [2, 3]",
    ),
    "fewer points": (
        INT8,
        ONES,
        ZEROS[:1],
        0,
        "[2] scales and [1] zero points for axis 0 of a tensor of shape [2, 3]",
    ),
}


@pytest.mark.parametrize(
    ("integers", "scales", "zeros", "axis", "message"), QUANTIZERS.values(), ids=QUANTIZERS.keys()
)
def test_what_maps_integers_to_numbers_fits_them(
    integers: Any, scales: Any, zeros: Any, axis: int | None, message: str
) -> None:
    refuses(lambda: _require_quantizer("qint8", integers, scales, zeros, axis), message)


def test_what_fits_passes() -> None:
    for zero in (-128, 127):
        _require_quantizer("qint8", INT8, 0.5, zero, None)
    _require_quantizer("qint8", INT8, ONES, torch.tensor([-128, 127], dtype=torch.int32), 0)
    _require_quantizer("qint8", INT8, torch.ones(3).double(), torch.zeros(3, dtype=torch.int64), 1)


@pytest.mark.filterwarnings("ignore:.*quantized tensor creation:UserWarning")
@pytest.mark.parametrize("kind", [[], ["Parameter"]])
def test_quantized_tensors_are_of_their_kind(kind: list[str]) -> None:
    plain = decoded("torch.quantized", ["qint8", None, *kind], INT8, 0.5, 3)
    assert (plain.q_scale(), plain.q_zero_point(), plain.requires_grad) == (0.5, 3, False)
    by_axis = decoded("torch.quantized", ["qint8", 0, *kind], INT8, ONES, ZEROS)
    assert by_axis.q_per_channel_axis() == 0
    assert {type(plain), type(by_axis)} == {nn.Parameter if kind else torch.Tensor}


# --- sparse tensors ---


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support:UserWarning")
@pytest.mark.parametrize("kind", [[], ["Parameter"]])
@pytest.mark.parametrize("requires", [True, False])
@pytest.mark.parametrize("coalesced", [True, False])
def test_sparse_tensors_are_of_their_kind(kind: list[str], requires: bool, coalesced: bool) -> None:
    indices, values = torch.tensor([[0, 1], [0, 1]]), torch.ones(2)
    made = decoded("torch.sparse", [*kind, "sparse_coo", requires, coalesced, 2, 2], indices, values)
    assert (made.layout, made.requires_grad, made.is_coalesced()) == (torch.sparse_coo, requires, coalesced)
    rows = decoded(
        "torch.sparse",
        [*kind, "sparse_csr", requires, False, 2, 2],
        torch.tensor([0, 1, 2]),
        torch.tensor([0, 1]),
        values,
    )
    assert (rows.layout, rows.requires_grad, tuple(rows.shape)) == (torch.sparse_csr, requires, (2, 2))
    assert {type(made), type(rows)} == {nn.Parameter if kind else torch.Tensor}


# --- tensors without values ---


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("kind", ["Tensor", "Parameter"])
@pytest.mark.parametrize("requires", [True, False])
def test_a_tensor_without_values_has_its_kind_and_its_shape(device: str, kind: str, requires: bool) -> None:
    context = Context()
    literal = [kind, "float32", device, requires, "empty", 2, 3]
    made = codec_of("torch.tensor").decode(literal, (), 1, context)
    assert type(made) is (nn.Parameter if kind == "Parameter" else torch.Tensor)
    assert (made.requires_grad, tuple(made.shape), made.device.type) == (requires, (2, 3), device)
    (slots,) = [*context._kept.values()] or [SimpleNamespace(tensors={})]
    assert list(slots.tensors) == ([] if device == "meta" else [id(made)])


# --- handles ---


def test_a_handle_is_of_a_module() -> None:
    codec, context, model = codec_of("torch.handle"), Context(), nn.Linear(1, 1)
    kept = model.register_forward_hook(print, with_kwargs=True)  # type: ignore[arg-type]  # never called
    other = model.register_forward_hook(print)  # type: ignore[arg-type]  # never called
    context.numbers["torch", 4] = kept.id
    made = codec.decode(None, (), 1, context)
    refuses(
        lambda: codec.finish(made, ["_forward_hooks", 4], [nn.Module], 1, context),
        "a handle of a hook refers to a type; expected a module",
    )
    codec.finish(made, ["_forward_hooks", 4], [model], 1, context)
    assert codec.registry_of(made) is model._forward_hooks
    made.remove()
    assert list(model._forward_hooks) == [other.id]
    assert not model._forward_hooks_with_kwargs
    assert codec.registry_of(made) is None


# --- states of recurrent layers, and of norms that hooks compute ---

WEIGHTS = {
    "_flat_weights_names": ["w", "b"],
    "_flat_weights": [torch.ones(1), None],
    "_all_weights": [["w", "b"]],
}
RECURRENT: dict[str, Any] = {
    "names of old": {"all_weights": [["w"]]},
    "no names": {"_flat_weights_names": None},
    "names in a tuple": {"_flat_weights_names": ("w", "b")},
    "names of nothing": {"_flat_weights_names": []},
    "a name that is none": {"_flat_weights_names": ["w", 1]},
    "no weights": {"_flat_weights": None},
    "weights in a tuple": {"_flat_weights": (torch.ones(1),)},
    "a weight that is none": {"_flat_weights": [torch.ones(1), 1]},
    "no groups": {"_all_weights": None},
    "groups in a tuple": {"_all_weights": (["w"],)},
    "groups of nothing": {"_all_weights": []},
    "an empty group": {"_all_weights": [["w"], []]},
    "a group of numbers": {"_all_weights": [["w"], [1]]},
}


@pytest.mark.parametrize("parts", RECURRENT.values(), ids=RECURRENT.keys())
def test_a_recurrent_layer_says_its_weights_by_name(parts: dict[str, Any]) -> None:
    require_recurrent_state(nn.GRU, WEIGHTS)
    require_recurrent_state(nn.GRU, {**WEIGHTS, "_flat_weights_names": ["w"], "_all_weights": [["w"]]})
    require_recurrent_state(nn.Linear, {**WEIGHTS, **parts})  # says nothing of them
    refuses(
        lambda: require_recurrent_state(nn.LSTM, {**WEIGHTS, **parts}),
        "the state of LSTM must list its weights by name",
    )


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_a_norm_has_the_parameters_that_it_computes_from() -> None:
    weights, spectral = nn.utils.weight_norm(nn.Linear(2, 2)), nn.utils.spectral_norm(nn.Linear(2, 2))
    for model, hook_missing in ((weights, "weight_g, weight_v"), (spectral, "weight_orig")):
        (hook,) = model._forward_pre_hooks.values()
        require_parameters(model, hook)
        require_parameters(nn.ReLU(), print)
        refuses(
            lambda hook=hook, missing=hook_missing: require_parameters(nn.ReLU(), hook),  # type: ignore[misc]  # bound now
            f"{type(hook).__name__} of 'weight' on a module without the parameters {hook_missing}",
        )
        other = nn.ReLU()
        refuses(
            lambda hook=hook, other=other: codec_of("torch.module").register(  # type: ignore[misc]  # bound now
                other, "_forward_pre_hooks", hook, {}
            ),
            f"{type(hook).__name__} of 'weight' on a module without the parameters {hook_missing}",
        )
        assert not other._forward_pre_hooks
    (hook,) = weights._forward_pre_hooks.values()
    del weights._parameters["weight_v"]
    refuses(
        lambda: require_parameters(weights, hook),
        "WeightNorm of 'weight' on a module without the parameters weight_v",
    )


# --- values, classes ---


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (["Size", 2, 3], torch.Size([2, 3])),
        (["dtype", "float16"], torch.float16),
        (["device", "cuda:1"], torch.device("cuda:1")),
        (["layout", "sparse_csr"], torch.sparse_csr),
        (["memory_format", "channels_last"], torch.channels_last),
    ],
)
def test_values_of_torch_come_back(literal: list[Any], value: Any) -> None:
    assert decoded("torch.value", literal) == value


@pytest.mark.parametrize("literal", [["dtype", "strided"], ["dtype", "float17"], ["layout", "float16"]])
def test_a_name_of_another_kind_is_no_value(literal: list[str]) -> None:
    with pytest.raises(ValueError, match=literal[1]):
        decoded("torch.value", literal)


def test_a_module_is_made_of_a_class_of_modules_and_its_state_is_a_dict() -> None:
    codec = codec_of("torch.module")
    refuses(lambda: codec.make(OrderedDict, 1), f"{OrderedDict!r} is not a module of torch")
    for cls, state, said in (
        (nn.GRU, {}, "must list its weights by name"),
        (Stateful, [], "must be a dict of attributes"),
        (Stateful, {1: 2}, "must be a dict of attributes"),
    ):
        refuses(
            lambda cls=cls, state=state: codec.set_state(cls(1, 1), state, 1),  # type: ignore[misc]  # bound now
            f"the state of {cls.__name__} {said}",
        )


class Stateful(nn.Linear):
    def __setstate__(self, state: Any) -> None:
        raise AssertionError("it was given a state that is none")


REGISTERED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("_forward_pre_hooks", {}, {"_forward_pre_hooks_with_kwargs": False}),
    ("_forward_pre_hooks", {"with_kwargs": True}, {"_forward_pre_hooks_with_kwargs": True}),
    ("_forward_hooks", {}, {"_forward_hooks_with_kwargs": False, "_forward_hooks_always_called": False}),
    ("_forward_hooks", {"with_kwargs": True}, {"_forward_hooks_with_kwargs": True}),
    ("_forward_hooks", {"always_called": True}, {"_forward_hooks_always_called": True}),
]


@pytest.mark.parametrize(("kind", "options", "flags"), REGISTERED)
def test_hooks_are_registered_with_their_options(
    kind: str, options: dict[str, Any], flags: dict[str, bool]
) -> None:
    model = nn.ReLU()
    number = codec_of("torch.module").register(model, kind, print, options)
    assert list(vars(model)[kind]) == [number]
    assert {name: number in vars(model)[name] for name in flags} == flags


@pytest.mark.parametrize(("options", "full"), [({}, True), ({"full": True}, True), ({"full": False}, False)])
def test_a_backward_hook_is_full_unless_it_says_otherwise(options: dict[str, bool], full: bool) -> None:
    model = nn.ReLU()
    codec_of("torch.module").register(model, "_backward_hooks", print, options)
    assert model._is_full_backward_hook is full


@pytest.mark.parametrize("options", [{}, {"public": False}, {"public": True}])
def test_a_hook_of_states_is_public_where_it_says_so(options: dict[str, bool]) -> None:
    model = nn.ReLU()

    def named(*args: Any) -> None:
        pass

    codec_of("torch.module").register(model, "_state_dict_hooks", named, options)
    assert getattr(named, "_from_public_api", False) is options.get("public", False)


@pytest.mark.parametrize("options", [{}, {"with_module": False}, {"with_module": True}])
def test_a_hook_of_loading_is_given_its_module_where_it_says_so(options: dict[str, bool]) -> None:
    model = nn.ReLU()
    codec_of("torch.module").register(model, "_load_state_dict_pre_hooks", print, options)
    (hook,) = model._load_state_dict_pre_hooks.values()
    assert hook.with_module is options.get("with_module", False)


@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (0, 1), (1,), (1, 0)])
def test_memory_of_any_shape_is_shown(shape: tuple[int, ...]) -> None:
    strides = tuple(torch.empty(shape).stride())
    memory = memoryview(bytearray(torch.arange(4.0).numpy().tobytes()))
    found = decoded(
        "torch.tensor", ["Tensor", "float32", "cpu", False], StoredTensor("F32", shape, strides, 4, memory)
    )
    assert torch.equal(found, torch.arange(1.0, 1 + found.numel()).reshape(shape))
