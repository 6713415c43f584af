"""Tensors by the name of their dtype, beside torch's."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any

import numpy as np
import torch

import kellet

NAMES = {
    "HalfTensor": "float16",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", [([1, 0],), ((1.7, 0),), ([[1], [0]],), (np.ones((2, 1)),), ()], ids=repr)
def test_data_is_taken_in_that_dtype(name: str, data: tuple[Any, ...]) -> None:
    expected, found = getattr(torch, name)(*data), getattr(kellet, name)(*data)
    assert found.dtype == NAMES[name]
    assert found.shape == tuple(expected.shape)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_integers_are_a_shape(name: str) -> None:
    assert getattr(kellet, name)(2, 3).shape == tuple(getattr(torch, name)(2, 3).shape)
    assert getattr(kellet, name)(3).shape == (3,)


@pytest.mark.parametrize("name", NAMES)
def test_tensors_of_the_dtype_are_instances(name: str) -> None:
    for dtype in NAMES.values():
        for library in (torch, kellet):
            value = library.ones(1, dtype=getattr(library, dtype))
            assert isinstance(value, getattr(library, name)) == (NAMES[name] == dtype)
    assert not isinstance([1.0], getattr(kellet, name))


def test_a_tensor_of_the_dtype_is_shared_without_its_history() -> None:
    x = kellet.ones(2, requires_grad=True)
    found = kellet.FloatTensor(x)
    assert found.data_ptr() == x.data_ptr()
    assert not found.requires_grad


@pytest.mark.parametrize("data", [(1.5,), ("text",), (None,), ([1], [2]), ({},)], ids=repr)
def test_what_is_no_data_is_refused(data: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        torch.LongTensor(*data)
    with pytest.raises(TypeError, match="LongTensor: expected a sequence, an array, or sizes; got"):
        kellet.LongTensor(*data)


def test_a_tensor_of_another_dtype_is_refused() -> None:
    with pytest.raises(TypeError, match=r"LongTensor: expected .*; got a tensor of float32"):
        kellet.LongTensor(kellet.ones(2))


def test_the_default_device_is_the_cpu() -> None:
    assert kellet.get_default_device() == kellet.device("cpu") == "cpu"
    kellet.set_default_device("cpu")
    kellet.set_default_device(None)
    with pytest.raises(ValueError, match="there is no device 'cuda'; kellet computes on 'cpu' alone"):
        kellet.set_default_device("cuda")


def test_powers_are_evenly_spaced() -> None:
    for arguments in ((0, 2, 3), (-1, 1, 5, 2.0), (0, 0, 1), (1, 2, 0)):
        expected, found = torch.logspace(*arguments), kellet.logspace(*arguments)
        assert found.dtype == "float32"
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
