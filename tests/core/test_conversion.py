"""Tensors turned into other dtypes, into NumPy and Python, into pickles and copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kellet
from kellet.errors import DTypeError, GradientError, ShapeError
from tests.tables import one_test


def test_to_returns_the_tensor_itself_where_nothing_changes() -> None:
    x = kellet.ones(2)
    assert x.to(kellet.float32) is x
    assert x.to("cpu") is x
    assert x.cpu() is x
    assert x.to(kellet.float32, copy=True) is not x
    assert x.to(kellet.float64).dtype == kellet.float64
    assert x.to(kellet.ones(1, dtype=kellet.int32)).dtype == kellet.int32
    assert x.to("cpu", kellet.float16, non_blocking=True).dtype == kellet.float16
    with pytest.raises(ValueError, match="there is no device 'cuda:0'"):
        x.to("cuda:0")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        x.to(colour=1)


@one_test
@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        ("float", "float32"),
        ("double", "float64"),
        ("half", "float16"),
        ("bfloat16", "bfloat16"),
        ("long", "int64"),
        ("int", "int32"),
        ("short", "int16"),
        ("char", "int8"),
        ("byte", "uint8"),
        ("bool", "bool"),
        ("cfloat", "complex64"),
        ("cdouble", "complex128"),
    ],
)
def test_casts(method: str, dtype: str) -> None:
    found = getattr(kellet.tensor([0.0, 1.0]), method)()
    assert found.dtype.name == dtype
    assert found.tolist() == [0, 1]


def test_gradient_passes_through_a_cast() -> None:
    x = kellet.ones(2, requires_grad=True)
    x.double().sum().backward()
    assert x.grad.dtype == kellet.float32
    assert x.grad.tolist() == [1.0, 1.0]


def test_device_is_the_cpu() -> None:
    device = kellet.ones(1).device
    assert device == "cpu"
    assert device == kellet.Device("cpu:0")
    assert (str(device), repr(device), device.type) == ("cpu", "device(type='cpu')", "cpu")
    assert len({device, kellet.Device("cpu")}) == 1


# --- bfloat16 and float8 --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_ml_dtypes_are_stored_and_converted(name: str) -> None:
    dtype = getattr(kellet, name)
    assert dtype == np.dtype(getattr(ml_dtypes, name))
    x = kellet.tensor([1.0, -2.0], dtype=name)
    assert x.dtype == dtype
    assert x.float().tolist() == [1.0, -2.0]
    assert repr(x) == f"tensor([ 1., -2.], dtype={name})"
    assert pickle.loads(pickle.dumps(x)).equal(x)


def test_bfloat16_takes_part_in_arithmetic_and_gradients() -> None:
    x = kellet.tensor([1.0, 2.0], dtype=kellet.bfloat16, requires_grad=True)
    y = x * 2 + kellet.tensor([1], dtype=kellet.int64)
    assert y.dtype == kellet.bfloat16
    y.sum().backward()
    assert x.grad.dtype == kellet.bfloat16
    assert x.grad.float().tolist() == [2.0, 2.0]
    assert (x.detach() + kellet.ones(2, dtype=kellet.float16)).dtype == kellet.float32


# --- NumPy ----------------------------------------------------------------------------------------


def test_numpy_shares_memory_both_ways() -> None:
    x = kellet.zeros(2)
    array = x.numpy()
    array[0] = 1
    x[1] = 2
    assert array.tolist() == x.tolist() == [1.0, 2.0]
    assert np.asarray(x) is array


def test_numpy_of_what_requires_a_gradient() -> None:
    x = kellet.ones(2, requires_grad=True)
    with pytest.raises(
        GradientError, match=r"Can't call numpy\(\) .* Use tensor\.detach\(\)\.numpy\(\) instead"
    ):
        x.numpy()
    with pytest.raises(GradientError):
        np.asarray(x)
    assert x.detach().numpy() is x.numpy(force=True)
    with kellet.no_grad():
        x.numpy()


def test_array_protocol_converts_and_copies_when_asked() -> None:
    x = kellet.ones(2)
    assert np.asarray(x, dtype="f8").dtype == np.float64
    made = np.array(x)
    made[0] = 5
    assert x.tolist() == [1.0, 1.0]


def test_ndarray_on_either_side_gives_a_tensor() -> None:
    array, x = np.array([1.0, 2.0], np.float32), kellet.tensor([10.0, 20.0], requires_grad=True)
    for found in (array + x, x + array, array * x, np.float32(2) * x):
        assert isinstance(found, kellet.Tensor)
        assert found.requires_grad
    assert (array - x).tolist() == [-9.0, -18.0]
    assert (array < x).tolist() == [True, True]


def test_ufuncs_of_numpy_give_tensors_back() -> None:
    found = np.exp(kellet.zeros(2))
    assert isinstance(found, kellet.Tensor)
    assert found.tolist() == [1.0, 1.0]


def test_dlpack_shares_memory() -> None:
    x = kellet.zeros(2)
    np.from_dlpack(x)
    again = kellet.from_dlpack(x)
    again[0] = 3
    assert x.tolist() == [3.0, 0.0]


# --- Python ---------------------------------------------------------------------------------------


def test_one_element_is_a_number() -> None:
    x = kellet.tensor([2.5])
    assert (x.item(), float(x), int(x), complex(x), bool(x)) == (2.5, 2.5, 2, 2.5 + 0j, True)
    assert [10, 20, 30][kellet.tensor(1)] == 20
    assert f"{x:.2f}" == "2.50"
    assert f"{kellet.tensor([1, 2])}" == "tensor([1, 2])"


def test_other_numbers_of_elements_are_not() -> None:
    with pytest.raises(ShapeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        kellet.ones(2).item()
    with pytest.raises(ShapeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(kellet.ones(2))
    with pytest.raises(ShapeError, match="Tensor with no values is ambiguous"):
        bool(kellet.ones(0))
    with pytest.raises(
        TypeError, match="only integer tensors of a single element can be converted to an index"
    ):
        [1, 2][kellet.tensor(1.0)]


def test_containers() -> None:
    x = kellet.tensor([[1, 2], [3, 4]])
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert 3 in x
    assert 7 not in x
    assert x.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match=r"len\(\) of a tensor of shape \(\)"):
        len(kellet.tensor(1))
    with pytest.raises(TypeError, match=r"iteration over a tensor of shape \(\)"):
        iter(kellet.tensor(1))


def test_tensors_are_looked_up_by_identity() -> None:
    x, y = kellet.ones(1), kellet.ones(1)
    assert {x: "x", y: "y"}[x] == "x"
    assert (x == None) is False  # noqa: E711  # the operator is what is tested
    assert (x == "text") is False


# --- copies and pickles ---------------------------------------------------------------------------


def test_deepcopy_of_a_leaf() -> None:
    x = kellet.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    x.note = ["mine"]
    made = copy.deepcopy(x)
    assert made is not x
    assert made.requires_grad
    assert made.grad.tolist() == [3.0, 3.0]
    assert made.note == ["mine"]
    assert made.note is not x.note
    with kellet.no_grad():
        made.zero_()
        made.grad.zero_()
    assert x.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [3.0, 3.0]


def test_deepcopy_keeps_shared_tensors_shared() -> None:
    x = kellet.ones(2)
    first, second = copy.deepcopy([x, x])
    assert first is second


def test_deepcopy_of_a_result_is_refused() -> None:
    with pytest.raises(GradientError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(kellet.ones(1, requires_grad=True) * 2)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex64"])
def test_pickle(dtype: str) -> None:
    x = kellet.tensor([[0, 1], [1, 0]], dtype=dtype)
    x.note = 3
    made = pickle.loads(pickle.dumps(x))
    assert made.equal(x)
    assert made.dtype == x.dtype
    assert made.note == 3


def test_pickle_keeps_the_flag_and_neither_history_nor_gradient() -> None:
    x = kellet.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    made = pickle.loads(pickle.dumps(x))
    assert (made.requires_grad, made.is_leaf, made.grad) == (True, True, None)
    result = pickle.loads(pickle.dumps(x * 2))
    assert (result.requires_grad, result.is_leaf, result.tolist()) == (True, True, [2.0, 2.0])


def test_detach_and_data_share_memory() -> None:
    x = kellet.ones(2, requires_grad=True)
    for found in (x.detach(), x.data):
        assert not found.requires_grad
        found[0] = found[0] + 1
    assert x.tolist() == [3.0, 1.0]


def test_parts_of_complex_tensors() -> None:
    z = kellet.tensor([1 + 2j], requires_grad=True)
    assert (z.real.item(), z.imag.item(), z.conj().item()) == (1.0, 2.0, 1 - 2j)
    x = kellet.ones(1)
    assert x.real is x
    assert x.conj() is x
    with pytest.raises(DTypeError, match="imag needs a complex tensor"):
        _ = x.imag


def attributes(x: Any) -> Any:
    return (
        x.ndim,
        x.dim(),
        x.numel(),
        x.size(),
        x.size(1),
        x.stride(),
        x.itemsize,
        x.element_size(),
        x.nbytes,
    )


def test_shape_and_memory() -> None:
    x = kellet.zeros(2, 3)
    assert attributes(x) == (2, 2, 6, (2, 3), 3, (3, 1), 4, 4, 24)
    assert type(x.shape) is kellet.Size
    assert (x.shape.numel(), str(x.shape), type(x.size())) == (6, "(2, 3)", kellet.Size)
    assert x.is_contiguous()
    assert not x.T.is_contiguous()
    assert x.T.contiguous().is_contiguous()
    assert x.contiguous() is x
    assert x.data_ptr() == x.view(6).data_ptr()
    assert (x.is_floating_point(), x.is_complex(), kellet.is_tensor(x), kellet.is_tensor(3)) == (
        True,
        False,
        True,
        False,
    )
    with pytest.raises(IndexError, match=r"size: there is no axis 2 in a tensor of shape \(2, 3\)"):
        x.size(2)
