"""Tensors from data, from NumPy, and by shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kedge
from kedge.errors import DTypeError, ShapeError


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1, kedge.int64),
        (1.5, kedge.float32),
        (True, kedge.bool),
        (2j, kedge.complex64),
        ([1, 2.5], kedge.float32),
        ([[True], [False]], kedge.bool),
        ([], kedge.float32),
        (np.float64(2), kedge.float64),
        (np.ones(2, "int16"), kedge.int16),
        ([np.float64(1), np.float64(2)], kedge.float64),
        (range(3), kedge.int64),
    ],
)
def test_dtype_follows_the_data(data: Any, dtype: Any) -> None:
    assert kedge.tensor(data).dtype == dtype


def test_nested_tensors_become_one() -> None:
    made = kedge.tensor([kedge.ones(2), kedge.zeros(2)])
    assert made.tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_tensor_copies_and_as_tensor_and_from_numpy_do_not() -> None:
    array = np.zeros(2)
    copied, wrapped, shared = kedge.tensor(array), kedge.as_tensor(array), kedge.from_numpy(array)
    array[0] = 5
    assert (copied.tolist(), wrapped.tolist(), shared.tolist()) == ([0.0, 0.0], [5.0, 0.0], [5.0, 0.0])
    shared[1] = 7
    assert array.tolist() == [5.0, 7.0]
    assert kedge.as_tensor(shared) is shared
    assert kedge.as_tensor(shared, dtype=kedge.float32).dtype == kedge.float32


def test_by_shape() -> None:
    assert kedge.zeros(2, 3).shape == kedge.ones((2, 3)).shape == kedge.empty([2, 3]).shape == (2, 3)
    assert kedge.full((2,), 3).tolist() == [3, 3]
    assert kedge.full((2,), 1.5, dtype=kedge.float64).dtype == kedge.float64
    assert kedge.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert kedge.zeros(()).shape == ()
    assert kedge.ones(1, requires_grad=True).requires_grad


def test_ranges() -> None:
    assert kedge.arange(3).tolist() == [0, 1, 2]
    assert kedge.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert kedge.arange(3.0).dtype == kedge.float32
    assert kedge.arange(4, 0, -2).tolist() == [4, 2]
    assert kedge.linspace(0, 1, 3).tolist() == [0.0, 0.5, 1.0]


def test_like_another() -> None:
    like = kedge.zeros(2, dtype=kedge.int32)
    for make in (kedge.zeros_like, kedge.ones_like, kedge.empty_like):
        assert (make(like).shape, make(like).dtype) == ((2,), kedge.int32)
    assert kedge.full_like(like, 7).tolist() == [7, 7]
    assert kedge.ones_like(like, dtype=kedge.float64).dtype == kedge.float64
    assert like.new_ones(3).tolist() == [1, 1, 1]
    assert like.new_tensor([1.5]).tolist() == [1]
    assert like.new_full((2,), 4).tolist() == [4, 4]


def test_default_dtype() -> None:
    kedge.set_default_dtype(kedge.float64)
    try:
        assert kedge.tensor(1.5).dtype == kedge.zeros(1).dtype == kedge.float64
        assert kedge.tensor(2j).dtype == kedge.complex128
        assert (kedge.tensor([1]) * 1.5).dtype == kedge.float64
    finally:
        kedge.set_default_dtype(kedge.float32)
    with pytest.raises(DTypeError, match="the default dtype must be a floating one, got int64"):
        kedge.set_default_dtype(kedge.int64)


def test_dtype_by_name_and_by_python_type() -> None:
    assert kedge.zeros(1, dtype="float16").dtype == kedge.float16
    assert kedge.zeros(1, dtype=float).dtype == kedge.float32
    assert kedge.zeros(1, dtype=int).dtype == kedge.int64
    assert kedge.zeros(1, dtype=np.int8).dtype == kedge.int8


def test_what_cannot_be_a_tensor() -> None:
    with pytest.raises(ShapeError, match="pass numbers in sequences of equal length"):
        kedge.tensor([[1], [1, 2]])
    with pytest.raises(DTypeError, match="cannot make a tensor of dtype <U1"):
        kedge.tensor(["a"])
    with pytest.raises(DTypeError, match="cannot make a tensor of dtype object"):
        kedge.from_numpy(np.array([None]))
    with pytest.raises(TypeError, match=r"from_numpy takes a numpy\.ndarray, got list; use kedge\.as_tensor"):
        kedge.from_numpy([1])  # type: ignore[arg-type]  # that is the point
    with pytest.raises(DTypeError, match="'no such' is no dtype of a tensor"):
        kedge.zeros(1, dtype="no such")
    with pytest.raises(ValueError, match="there is no device 'cuda'; kedge computes on 'cpu' alone"):
        kedge.zeros(1, device="cuda")


def test_tensor_class_makes_floating_tensors() -> None:
    assert kedge.Tensor([1, 2]).dtype == kedge.float32
    assert kedge.Tensor().shape == (0,)


def test_random_numbers_follow_the_seed() -> None:
    kedge.manual_seed(3)
    assert kedge.initial_seed() == 3
    first = [
        kedge.rand(2),
        kedge.randn(2),
        kedge.randint(10, (3,)),
        kedge.randperm(5),
        kedge.normal(0.0, 1.0, (2,)),
    ]
    kedge.manual_seed(3)
    again = [
        kedge.rand(2),
        kedge.randn(2),
        kedge.randint(10, (3,)),
        kedge.randperm(5),
        kedge.normal(0.0, 1.0, (2,)),
    ]
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))


def test_random_numbers_have_their_range_and_dtype() -> None:
    values = kedge.rand(1000)
    assert 0.0 <= values.min().item() < 0.1
    assert 0.9 < values.max().item() < 1.0
    integers = kedge.randint(2, 5, (1000,))
    assert (integers.min().item(), integers.max().item(), integers.dtype) == (2, 4, kedge.int64)
    assert sorted(kedge.randperm(6).tolist()) == [0, 1, 2, 3, 4, 5]
    assert abs(kedge.randn(10_000).mean().item()) < 0.1
    assert kedge.rand_like(kedge.zeros(2, dtype=kedge.float64)).dtype == kedge.float64
    assert kedge.bernoulli(kedge.tensor([0.0, 1.0])).tolist() == [0.0, 1.0]
