"""Tensors from data, from NumPy, and by shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kellet
from kellet.errors import DTypeError, ShapeError
from tests.tables import one_test


@one_test
@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1, kellet.int64),
        (1.5, kellet.float32),
        (True, kellet.bool),
        (2j, kellet.complex64),
        ([1, 2.5], kellet.float32),
        ([[True], [False]], kellet.bool),
        ([], kellet.float32),
        (np.float64(2), kellet.float64),
        (np.ones(2, "int16"), kellet.int16),
        ([np.float64(1), np.float64(2)], kellet.float64),
        (range(3), kellet.int64),
    ],
)
def test_dtype_follows_the_data(data: Any, dtype: Any) -> None:
    assert kellet.tensor(data).dtype == dtype


def test_nested_tensors_become_one() -> None:
    made = kellet.tensor([kellet.ones(2), kellet.zeros(2)])
    assert made.tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_tensor_copies_and_as_tensor_and_from_numpy_do_not() -> None:
    array = np.zeros(2)
    copied, wrapped, shared = kellet.tensor(array), kellet.as_tensor(array), kellet.from_numpy(array)
    array[0] = 5
    assert (copied.tolist(), wrapped.tolist(), shared.tolist()) == ([0.0, 0.0], [5.0, 0.0], [5.0, 0.0])
    shared[1] = 7
    assert array.tolist() == [5.0, 7.0]
    assert kellet.as_tensor(shared) is shared
    assert kellet.as_tensor(shared, dtype=kellet.float32).dtype == kellet.float32


def test_by_shape() -> None:
    assert kellet.zeros(2, 3).shape == kellet.ones((2, 3)).shape == kellet.empty([2, 3]).shape == (2, 3)
    assert kellet.full((2,), 3).tolist() == [3, 3]
    assert kellet.full((2,), 1.5, dtype=kellet.float64).dtype == kellet.float64
    assert kellet.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert kellet.zeros(()).shape == ()
    assert kellet.ones(1, requires_grad=True).requires_grad


def test_ranges() -> None:
    assert kellet.arange(3).tolist() == [0, 1, 2]
    assert kellet.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert kellet.arange(3.0).dtype == kellet.float32
    assert kellet.arange(4, 0, -2).tolist() == [4, 2]
    assert kellet.linspace(0, 1, 3).tolist() == [0.0, 0.5, 1.0]


def test_like_another() -> None:
    like = kellet.zeros(2, dtype=kellet.int32)
    for make in (kellet.zeros_like, kellet.ones_like, kellet.empty_like):
        assert (make(like).shape, make(like).dtype) == ((2,), kellet.int32)
    assert kellet.full_like(like, 7).tolist() == [7, 7]
    assert kellet.ones_like(like, dtype=kellet.float64).dtype == kellet.float64
    assert like.new_ones(3).tolist() == [1, 1, 1]
    assert like.new_tensor([1.5]).tolist() == [1]
    assert like.new_full((2,), 4).tolist() == [4, 4]


def test_default_dtype() -> None:
    kellet.set_default_dtype(kellet.float64)
    try:
        assert kellet.tensor(1.5).dtype == kellet.zeros(1).dtype == kellet.float64
        assert kellet.tensor(2j).dtype == kellet.complex128
        assert (kellet.tensor([1]) * 1.5).dtype == kellet.float64
    finally:
        kellet.set_default_dtype(kellet.float32)
    with pytest.raises(DTypeError, match="the default dtype must be a floating one, got int64"):
        kellet.set_default_dtype(kellet.int64)


def test_dtype_by_name_and_by_python_type() -> None:
    assert kellet.zeros(1, dtype="float16").dtype == kellet.float16
    assert kellet.zeros(1, dtype=float).dtype == kellet.float32
    assert kellet.zeros(1, dtype=int).dtype == kellet.int64
    assert kellet.zeros(1, dtype=np.int8).dtype == kellet.int8


def test_what_cannot_be_a_tensor() -> None:
    with pytest.raises(ShapeError, match="pass numbers in sequences of equal length"):
        kellet.tensor([[1], [1, 2]])
    with pytest.raises(DTypeError, match="cannot make a tensor of dtype <U1"):
        kellet.tensor(["a"])
    with pytest.raises(DTypeError, match="cannot make a tensor of dtype object"):
        kellet.from_numpy(np.array([None]))
    with pytest.raises(
        TypeError, match=r"from_numpy takes a numpy\.ndarray, got list; use kellet\.as_tensor"
    ):
        kellet.from_numpy([1])  # type: ignore[arg-type]  # that is the point
    with pytest.raises(DTypeError, match="'no such' is not a dtype of tensors"):
        kellet.zeros(1, dtype="no such")
    with pytest.raises(ValueError, match="there is no device 'cuda'; kellet computes on 'cpu' alone"):
        kellet.zeros(1, device="cuda")


@one_test
@pytest.mark.parametrize(
    ("make", "given"),
    [
        *((make, (3,)) for make in (kellet.tensor, kellet.as_tensor, kellet.zeros, kellet.ones, kellet.eye)),
        *((make, (3,)) for make in (kellet.empty, kellet.arange, kellet.rand, kellet.randn, kellet.randperm)),
        *((make, (0, 1, 3)) for make in (kellet.linspace, kellet.logspace)),
        *((kellet.full, ((3,), 2.0)), (kellet.randint, (0, 2, (3,)))),
    ],
)
def test_whatever_makes_a_tensor_knows_the_processor_alone(make: Callable[..., Any], given: Any) -> None:
    assert make(*given, device="cpu").device == kellet.Device("cpu")
    with pytest.raises(ValueError, match="there is no device 'cuda'"):
        make(*given, device="cuda")


def test_tensor_class_makes_floating_tensors() -> None:
    assert kellet.Tensor([1, 2]).dtype == kellet.float32
    assert kellet.Tensor().shape == (0,)


def test_random_numbers_follow_the_seed() -> None:
    kellet.manual_seed(3)
    assert kellet.initial_seed() == 3
    first = [
        kellet.rand(2),
        kellet.randn(2),
        kellet.randint(10, (3,)),
        kellet.randperm(5),
        kellet.normal(0.0, 1.0, (2,)),
    ]
    kellet.manual_seed(3)
    again = [
        kellet.rand(2),
        kellet.randn(2),
        kellet.randint(10, (3,)),
        kellet.randperm(5),
        kellet.normal(0.0, 1.0, (2,)),
    ]
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))


def test_random_numbers_have_their_range_and_dtype() -> None:
    values = kellet.rand(1000)
    assert 0.0 <= values.min().item() < 0.1
    assert 0.9 < values.max().item() < 1.0
    integers = kellet.randint(2, 5, (1000,))
    assert (integers.min().item(), integers.max().item(), integers.dtype) == (2, 4, kellet.int64)
    assert sorted(kellet.randperm(6).tolist()) == [0, 1, 2, 3, 4, 5]
    assert abs(kellet.randn(10_000).mean().item()) < 0.1
    assert kellet.rand_like(kellet.zeros(2, dtype=kellet.float64)).dtype == kellet.float64
    assert kellet.bernoulli(kellet.tensor([0.0, 1.0])).tolist() == [0.0, 1.0]
