"""Limits of dtypes, sizes, printing and words for devices, as torch says them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any

import numpy as np
import torch

import kellet
from kellet.errors import DTypeError

FLOATS = [
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "complex64",
    "complex128",
]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_limits_of_floating_dtypes(dtype: str) -> None:
    ours, theirs = kellet.finfo(getattr(kellet, dtype)), torch.finfo(getattr(torch, dtype))
    names = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "dtype")
    assert [getattr(ours, name) for name in names] == [getattr(theirs, name) for name in names]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_limits_print_as_in_torch(dtype: str) -> None:
    ours, theirs = kellet.finfo(getattr(kellet, dtype)), torch.finfo(getattr(torch, dtype))
    assert repr(ours) == repr(theirs)
    assert ours.resolution == theirs.resolution


def test_the_default_dtype_has_its_limits() -> None:
    assert kellet.finfo().eps == torch.finfo().eps


@pytest.mark.parametrize("dtype", INTEGERS)
def test_limits_of_integer_dtypes(dtype: str) -> None:
    ours, theirs = kellet.iinfo(getattr(kellet, dtype)), torch.iinfo(getattr(torch, dtype))
    assert [ours.bits, ours.max, ours.min, ours.dtype] == [theirs.bits, theirs.max, theirs.min, theirs.dtype]
    assert repr(kellet.iinfo(kellet.int8)) == repr(torch.iinfo(torch.int8))


def test_limits_of_the_other_kind_are_refused() -> None:
    with pytest.raises(DTypeError, match=r"use kellet\.iinfo"):
        kellet.finfo(kellet.int8)
    with pytest.raises(DTypeError, match=r"use kellet\.finfo"):
        kellet.iinfo(kellet.float32)


def test_a_size_counts_its_elements_and_equals_a_shape() -> None:
    for library in (torch, kellet):
        assert library.Size([2, 3]).numel() == 6
        assert library.Size([2, 3]) == library.ones(2, 3).shape == (2, 3)
        assert isinstance(library.ones(2, 3).shape, library.Size)
        assert not isinstance([2, 3], library.Size)


def test_a_variable_is_a_tensor_over_the_same_data() -> None:
    for library in (torch, kellet):
        x = library.ones(2, requires_grad=True)
        made = library.autograd.Variable(x)
        assert type(made) is library.Tensor
        assert not made.requires_grad
        made[0] = 5.0
        assert x.tolist() == [5.0, 1.0]
        assert library.autograd.Variable(x, requires_grad=True).requires_grad


def test_devices_answer_for_the_cpu() -> None:
    for library in (torch, kellet):
        device = library.device("cuda" if library.cuda.is_available() else "cpu")
        assert (device.type, str(device), device == library.ones(1).device) == ("cpu", "cpu", True)
        assert library.ones(1).to(device).sum().item() == 1
        assert library.zeros(2, device=device).tolist() == [0, 0]
        assert library.cuda.device_count() == 0
        library.cuda.manual_seed_all(0)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"profile": "short"},
        {"profile": "full"},
        {"threshold": 10, "edgeitems": 2},
        {"sci_mode": True},
        {"linewidth": 40},
    ],
)
def test_tensors_print_with_the_options_of_torch(options: dict[str, Any]) -> None:
    values = [
        np.linspace(-1, 1, 7),
        np.arange(24.0).reshape(4, 6) / 7,
        np.arange(3000),
        np.array([1.5, 2.25]),
    ]
    try:
        for library in (torch, kellet):
            library.set_printoptions(**options)
        for value in values:
            ours, theirs = (repr(library.tensor(value.tolist())) for library in (kellet, torch))
            assert ours.split() == theirs.split()  # lines are as long, or one value shorter
            assert max(map(len, ours.splitlines())) <= options.get("linewidth", 80)
    finally:
        for library in (torch, kellet):
            library.set_printoptions(profile="default")


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="profile must be one of default, short, full, got 'long'"):
        kellet.set_printoptions(profile="long")


DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex64"]


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_dtypes_meet_and_are_cast_as_in_torch(one: str, other: str) -> None:
    pair = (getattr(torch, one), getattr(torch, other))
    mine = (getattr(kellet, one), getattr(kellet, other))
    assert kellet.can_cast(*mine) == torch.can_cast(*pair)
    if {one, other} != {"float16", "complex64"}:
        assert kellet.promote_types(*mine).name == str(torch.promote_types(*pair)).removeprefix("torch.")
        tensors = [library.ones(2, dtype=kinds[0]) for library, kinds in ((torch, pair), (kellet, mine))]
        expected = torch.result_type(tensors[0], torch.ones((), dtype=pair[1]))
        assert kellet.result_type(tensors[1], kellet.ones((), dtype=mine[1])).name == str(expected)[6:]


def test_the_libraries_behind_torch_are_not_here() -> None:
    assert not kellet.backends.mps.is_available()
    assert not kellet.backends.mps.is_built()
    assert not kellet.backends.cuda.is_built()
    assert not kellet.backends.cudnn.is_available()
    assert not kellet.accelerator.is_available()
    assert kellet.accelerator.device_count() == 0
    assert kellet.accelerator.current_accelerator() is None
    assert not kellet.ones(1).is_cuda
    assert kellet.ones(1).get_device() == torch.ones(1).get_device() == -1
    with pytest.raises(RuntimeError, match=r"ask cuda\.is_available\(\) first"):
        kellet.cuda.synchronize()
