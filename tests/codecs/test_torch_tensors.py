"""Tensors of PyTorch: ties and views, also with NumPy; what is refused, what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from packager.objects import encode
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
