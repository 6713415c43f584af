"""Tensors of PyTorch: ties and views, also with NumPy; what is refused, what is left out."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from packager._codecs.torch_tensors import TensorCodec
from packager._objects import encode
from packager.testing import round_trip


def test_views_of_one_storage_stay_views_of_one_storage() -> None:
    base = torch.arange(12.0).reshape(3, 4)
    trip = round_trip({"base": base, "row": base[1], "columns": base.t(), "step": base[:, ::2]})
    assert trip.is_stable
    loaded = trip.object
    loaded["base"][1, 0] = 99
    assert loaded["row"][0] == loaded["columns"][0, 1] == loaded["step"][1, 0] == 99
    assert len({tensor.untyped_storage().data_ptr() for tensor in loaded.values()}) == 1
    assert [storage.name for storage in trip.encoded.storages] == ["base"]


def test_tensor_and_array_over_one_memory_stay_tied() -> None:
    tensor = torch.arange(4.0)
    trip = round_trip([tensor, tensor.numpy()])
    trip.object[0][0] = 7
    assert trip.object[1][0] == 7


def test_only_the_part_that_is_used_is_stored() -> None:
    big = torch.arange(1000.0)
    encoded = encode({"part": big[10:20], "thin": big[::100]})
    assert [(storage.name, storage.shape) for storage in encoded.storages] in (
        [("part", (10,)), ("thin", (10,))],
        [("part.storage", (901,))],
    )


def test_lone_view_with_gaps_is_stored_without_them() -> None:
    (storage,) = encode(torch.arange(1000.0)[::100]).storages
    assert storage.shape == (10,)


def test_non_leaf_is_refused() -> None:
    (refusal,) = encode({"y": torch.ones(2, requires_grad=True) * 2}).refusals
    assert refusal.path == "obj['y']"
    assert "grad_fn" in refusal.reason


def test_a_tensor_in_a_layout_of_its_own_is_refused() -> None:
    refusals = encode(torch.ones(2, 2).to_mkldnn()).with_sources(lambda module: True).refusals
    assert [refusal.reason for refusal in refusals] == ["a tensor with layout torch._mkldnn"]


def test_gradient_and_hooks_are_named_in_warnings() -> None:
    parameter = nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    parameter.register_hook(lambda grad: grad)
    reasons = [warning.reason for warning in encode(parameter).warnings]
    assert any(".grad" in reason for reason in reasons)
    assert any("hooks on a tensor" in reason for reason in reasons)


def test_parameters_as_keys_of_a_dict() -> None:
    parameter = nn.Parameter(torch.ones(2))
    loaded = round_trip({"state": {parameter: 1}, "list": [parameter]}).object
    assert loaded["state"][loaded["list"][0]] == 1


def test_attributes_of_a_tensor_may_lead_back_to_it() -> None:
    tensor: Any = torch.ones(1)
    tensor.me = [tensor]
    loaded = round_trip(tensor).object
    assert loaded.me[0] is loaded


def test_loading_does_not_warn_of_memory_that_cannot_be_written() -> None:
    loaded = round_trip(torch.arange(3)).object
    loaded += 1
    assert loaded.tolist() == [1, 2, 3]


def test_arrays_of_torch_dtypes_that_numpy_lacks() -> None:
    value = torch.tensor([1.5, -2.5]).to(torch.bfloat16)
    assert torch.equal(round_trip(value).object, value)
    assert encode(value).storages[0].dtype == "BF16"
    assert np.array_equal(np.frombuffer(encode(torch.ones(2)).storages[0].buffer, "f4"), [1, 1])


COMPLEX = torch.tensor([[1 + 2j, 3 - 4j], [-5 + 6j, 7 - 8j]])
VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "conj": lambda base: base.conj(),
    "neg": torch._neg_view,
    "both": lambda base: torch._neg_view(base.conj()),
    "transposed": lambda base: base.mH,
    "row": lambda base: base.conj()[1],
    "scalar": lambda base: base.conj()[0, 1],
    "empty": lambda base: base.conj()[:0],
    "expanded": lambda base: base.conj()[:1].expand(3, 2),
    "imag": lambda base: base.conj().imag,
    "parameter": lambda base: nn.Parameter(base.conj()),
}


def signs(tensor: torch.Tensor) -> tuple[bool, bool]:
    return tensor.is_conj(), tensor.is_neg()


def unsigned(tensor: torch.Tensor) -> torch.Tensor:
    """The memory of a tensor as it is: torch cannot resolve every dtype."""
    tensor = torch._neg_view(tensor.detach()) if tensor.is_neg() else tensor.detach()
    return tensor.conj() if tensor.is_conj() else tensor


@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64, torch.complex128])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")
def test_conjugated_and_negated_views_come_back_as_such(view: str, dtype: torch.dtype) -> None:
    shown = VIEWS[view](COMPLEX.to(dtype))
    trip = round_trip(shown)
    assert trip.is_stable
    loaded = trip.object
    assert signs(loaded) == signs(shown)
    assert (loaded.dtype, type(loaded), loaded.requires_grad) == (
        shown.dtype,
        type(shown),
        shown.requires_grad,
    )
    assert unsigned(loaded).tolist() == unsigned(shown).tolist()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
)
def test_negated_views_of_real_numbers_come_back_as_such(dtype: torch.dtype) -> None:
    shown = torch._neg_view(torch.tensor([0, 1]).to(dtype))
    trip = round_trip([shown])
    assert trip.is_stable
    assert signs(trip.object[0]) == (False, True)
    assert unsigned(trip.object[0]).tolist() == [0, 1]


def test_a_view_with_other_signs_stays_tied_to_what_it_shows() -> None:
    base, real = COMPLEX.clone(), torch.ones(2)
    trip = round_trip([base, base.conj(), base.conj().imag, real, torch._neg_view(real)])
    assert trip.is_stable
    assert len(trip.encoded.storages) == 2
    base, conj, imag, real, neg = trip.object
    base[0, 0] = 10 + 20j
    assert (conj[0, 0].item(), imag[0, 0].item()) == (10 - 20j, -20)
    real[0] = 5
    assert neg.tolist() == [-5, -1]


class Marked(torch.Tensor):
    pass


def test_a_tensor_of_a_class_of_its_own_keeps_its_signs() -> None:
    shown = COMPLEX.conj().as_subclass(Marked)
    loaded = round_trip(shown, interned=(__name__,)).object
    assert type(loaded) is Marked
    assert (loaded.is_conj(), loaded.resolve_conj().tolist()) == (True, COMPLEX.conj().tolist())


def signed_module() -> nn.Module:
    """A module with a plain and a negated view of one memory, and with conjugated parameters."""
    module = nn.Sequential(nn.Linear(1, 1))
    plain, numbers = torch.tensor([1.0, 2.0]), COMPLEX.clone()
    module.register_buffer("plain", plain)
    module.register_buffer("negative", torch._neg_view(plain))
    module.register_parameter("numbers", nn.Parameter(numbers))
    module.register_parameter("conjugated", nn.Parameter(numbers.conj()))
    return module


def test_a_module_keeps_the_signs_of_its_parameters_and_buffers() -> None:
    trip = round_trip(signed_module())
    assert trip.is_stable
    loaded = trip.object
    assert loaded.negative.tolist() == [-1, -2]
    assert loaded.conjugated.tolist() == COMPLEX.conj().tolist()
    assert signs(loaded.conjugated) == (True, False)
    loaded.plain[0] = 7
    assert loaded.negative.tolist() == [-7, -2]


def add_note(module: nn.Module, state: dict[str, Any], prefix: str, metadata: Any) -> None:
    state["note"] = 1


def forgive_note(
    module: nn.Module, state: dict[str, Any], prefix: str, metadata: Any, strict: bool, *lists: list[str]
) -> None:
    state.pop("note", None)


def test_values_of_a_state_that_hooks_made_are_those_with_the_same_signs() -> None:
    module = signed_module()
    module.register_state_dict_post_hook(add_note)
    module.register_load_state_dict_pre_hook(forgive_note)
    loaded = round_trip(module, interned=(__name__,)).object
    assert loaded.plain.tolist() == [1, 2]
    assert loaded.negative.tolist() == [-1, -2]
    assert loaded.numbers.tolist() == COMPLEX.tolist()
    assert loaded.conjugated.tolist() == COMPLEX.conj().tolist()


@pytest.mark.parametrize("marks", [["neg", "conj"], ["conj", "conj"], ["neg", "neg"], ["other"], ["conj", 2]])
def test_other_marks_are_refused(marks: list[Any]) -> None:
    with pytest.raises(ValueError, match="no values"):
        TensorCodec().check(["Tensor", "complex64", "cpu", False, *marks], (), 1)


def test_a_tensor_of_real_numbers_is_not_conjugated() -> None:
    with pytest.raises(ValueError, match="complex numbers"):
        TensorCodec().check(["Tensor", "float32", "cpu", False, "conj"], (), 1)
