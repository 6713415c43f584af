"""Tensors as such beside torch's: promotion, indexing, printing, and programs of views and writes."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import itertools
import operator
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.testing import assert_allclose

import kellet
from kellet.errors import VersionError

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
NUMBERS = [True, 2, 1.5, 2j]


def name_of(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def both(array: Any) -> tuple[Any, Any]:
    array = np.asarray(array)
    return torch.from_numpy(array.copy()), kellet.from_numpy(array.copy())


def result(run: Callable[[], Any]) -> Any:
    """Dtype and values, or None where the library refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = run()
        except (RuntimeError, TypeError, ValueError, NotImplementedError, OverflowError):
            return None
    if name_of(found.dtype) == "complex32":
        return None  # NumPy has no such dtype; kellet takes complex64
    return name_of(found.dtype), np.asarray(found)


# --- promotion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("operate", [operator.add, operator.mul, operator.truediv, operator.eq, operator.lt])
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())])
def test_dtypes_of_two_tensors(operate: Any, shapes: Any) -> None:
    for first, second in itertools.product(DTYPES, DTYPES):
        pairs = [both(np.ones(shape, dtype)) for shape, dtype in zip(shapes, (first, second), strict=True)]
        expected = result(lambda pairs=pairs: operate(pairs[0][0], pairs[1][0]))
        if expected is None:
            continue  # what torch refuses kellet may do
        found = result(lambda pairs=pairs: operate(pairs[0][1], pairs[1][1]))
        assert found is not None, (first, second)
        assert found[0] == expected[0], (first, second)
        assert_allclose(found[1], expected[1])


@pytest.mark.parametrize("operate", [operator.add, operator.mul, operator.truediv, operator.sub, operator.ge])
@pytest.mark.parametrize("shape", [(2,), ()])
def test_dtypes_of_a_tensor_and_a_number(operate: Any, shape: Any) -> None:
    for dtype, number in itertools.product(DTYPES, NUMBERS):
        in_torch, in_kellet = both(np.full(shape, 3, dtype))
        for left in (True, False):
            expected = result(lambda t=in_torch, n=number, a=left: operate(t, n) if a else operate(n, t))
            if expected is None:
                continue
            found = result(lambda t=in_kellet, n=number, a=left: operate(t, n) if a else operate(n, t))
            assert found is not None, (dtype, number)
            assert found[0] == expected[0], (dtype, number)
            assert_allclose(found[1], expected[1])


@pytest.mark.parametrize(
    "method", ["sum", "prod", "mean", "amax", "cumsum", "any", "all", "exp", "sqrt", "abs", "neg", "sign"]
)
def test_dtypes_of_methods(method: str) -> None:
    for dtype in DTYPES:
        if dtype == "uint8" and method in ("any", "all"):
            continue  # uint8 there, from the time when masks were uint8; bool here
        in_torch, in_kellet = both(np.ones((2, 3), dtype))
        arguments = (0,) if method == "cumsum" else ()
        expected = result(lambda t=in_torch, a=arguments: getattr(t, method)(*a))
        if expected is not None:
            assert result(lambda t=in_kellet, a=arguments: getattr(t, method)(*a))[0] == expected[0], dtype


def test_dtypes_of_data() -> None:
    for data in (
        1,
        1.5,
        True,
        2j,
        [1, 2.5],
        [True, 2],
        [1, 2j],
        [],
        [[]],
        np.float64(1.0),
        np.ones(2, "f4"),
        range(3),
    ):
        assert name_of(kellet.tensor(data).dtype) == name_of(torch.tensor(data).dtype), data


# --- indexing -------------------------------------------------------------------------------------

INDEXES: list[Any] = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, 2),
    None,
    Ellipsis,
    (0, 1),
    (0, slice(None), 2),
    (..., 0),
    (None, 1, ..., None),
    (slice(0, 0),),
    [0, 2],
    ([0, 2], [1, 1]),
    (slice(None), [1, 0, 1]),
    ([[0, 1], [2, 0]],),
    (0, [1, 1]),
    ([1, 0], slice(None), [1, 3]),
    (0, 0, 0),
    True,
    "mask",
    "mask of rows",
    "index tensor",
    ("index tensor", slice(1, None)),
]


def made(index: Any, library: Any) -> Any:
    """The index with tensors of the library in the place of their names."""
    tensors = {
        "mask": library.arange(24).reshape(3, 2, 4) % 3 == 0,
        "mask of rows": library.tensor([True, False, True]),
        "index tensor": library.tensor([[0, 2], [1, 1]]),
    }
    if isinstance(index, tuple):
        return tuple(made(one, library) for one in index)
    return tensors[index] if isinstance(index, str) else index


@pytest.mark.parametrize("index", INDEXES, ids=str)
def test_reading(index: Any) -> None:
    in_torch, in_kellet = both(np.arange(24.0).reshape(3, 2, 4))
    grads = []
    for library, tensor in ((torch, in_torch), (kellet, in_kellet)):
        leaf = tensor.requires_grad_()
        part = (leaf * 1)[made(index, library)]
        part.backward(library.arange(part.numel(), dtype=library.float64).reshape(part.shape))
        grads.append((tuple(part.shape), part.detach().numpy(), leaf.grad.numpy()))
    assert grads[1][0] == grads[0][0]
    assert_allclose(grads[1][1], grads[0][1])
    assert_allclose(grads[1][2], grads[0][2])


@pytest.mark.parametrize("index", [i for i in INDEXES if i not in ([0, 2],)], ids=str)
@pytest.mark.parametrize("scalar", [True, False])
def test_writing(index: Any, scalar: bool) -> None:
    in_torch, in_kellet = both(np.arange(24.0).reshape(3, 2, 4))
    grads = []
    for library, tensor in ((torch, in_torch), (kellet, in_kellet)):
        leaf = tensor.requires_grad_()
        place = made(index, library)
        changed = leaf * 1
        shape = () if scalar else tuple(changed[place].shape)
        new = library.full(shape, 7.0, dtype=library.float64, requires_grad=True)
        changed[place] = new
        (changed * changed).sum().backward()
        grads.append([changed.detach().numpy(), leaf.grad.numpy(), new.grad.numpy()])
    for found, expected in zip(grads[1], grads[0], strict=True):
        assert_allclose(found, expected)


# --- printing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        np.float32([0.5, 1.25]),
        np.float32([1, 2, 3]),
        np.float32(3.5),
        np.float32([1e-5, 1.0]),
        np.float32([1e10, 1]),
        np.float32([1, 1001]),
        np.float32([0, 0]),
        np.float32([np.nan, 1.5, -np.inf]),
        np.float64([[0.1, -0.2], [30.0, 4.0]]),
        np.float32(np.arange(12).reshape(2, 3, 2) / 8),
        np.arange(5),
        np.array([[100, -20], [3, 4]]),
        np.array([True, False]),
        np.array(7),
        np.complex64([1 + 2j, 3 - 1.5j]),
        np.zeros((0, 3), np.float32),
        np.zeros(0, np.float32),
        np.float32(np.arange(30) / 7),
    ],
    ids=str,
)
def test_printed_as_torch_prints(values: Any) -> None:
    in_torch, in_kellet = both(values)
    assert repr(in_kellet) == repr(in_torch).replace("torch.", "")


# --- programs of views and writes -----------------------------------------------------------------

Tensors = list[Any]


def view_row(library: Any, tensors: Tensors, pick: random.Random) -> None:
    source = pick.choice(tensors)
    if source.ndim:
        tensors.append(source[pick.randrange(source.shape[0])])


def view_columns(library: Any, tensors: Tensors, pick: random.Random) -> None:
    source = pick.choice(tensors)
    if source.ndim:
        tensors.append(source[..., : max(1, source.shape[-1] - 1)])


def transpose(library: Any, tensors: Tensors, pick: random.Random) -> None:
    source = pick.choice(tensors)
    if source.ndim == 2:
        tensors.append(source.transpose(0, 1))


def flatten(library: Any, tensors: Tensors, pick: random.Random) -> None:
    source = pick.choice(tensors)
    if source.is_contiguous():
        tensors.append(source.view(-1))


def compute(library: Any, tensors: Tensors, pick: random.Random) -> None:
    source = pick.choice(tensors)
    tensors.append(source * 1.5 + source.sum() * 0.1)


def scale_in_place(library: Any, tensors: Tensors, pick: random.Random) -> None:
    pick.choice(tensors).mul_(pick.choice([0.5, 2.0, -1.0]))


def multiply_in_place(library: Any, tensors: Tensors, pick: random.Random) -> None:
    target = pick.choice(tensors)
    target.mul_(target.detach().cos() + 1)


def add_in_place(library: Any, tensors: Tensors, pick: random.Random) -> None:
    target, other = pick.choice(tensors), pick.choice(tensors)
    target.add_(other.clone().sum() * 0.25)


def write_part(library: Any, tensors: Tensors, pick: random.Random) -> None:
    target, other = pick.choice(tensors), pick.choice(tensors)
    if target.ndim:
        target[pick.randrange(target.shape[0])] = other.clone().sum() * 0.5


def clear_part(library: Any, tensors: Tensors, pick: random.Random) -> None:
    target = pick.choice(tensors)
    if target.ndim:
        target[0].zero_()


def sine_in_place(library: Any, tensors: Tensors, pick: random.Random) -> None:
    pick.choice(tensors).sin_()


STEPS = [
    view_row,
    view_columns,
    transpose,
    flatten,
    compute,
    scale_in_place,
    multiply_in_place,
    add_in_place,
    write_part,
    clear_part,
    sine_in_place,
]


def run_program(library: Any, seed: int) -> Any:
    """A program drawn from `seed`: its values, gradients and second gradients, or where it was refused."""
    pick = random.Random(seed)
    leaf = library.tensor([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]], dtype=library.float64, requires_grad=True)
    tensors = [leaf * 1, leaf + 0.5]
    for _ in range(pick.randrange(4, 14)):
        pick.choice(STEPS)(library, tensors, pick)
    total = sum((one * one).sum() for one in tensors)
    (first,) = library.autograd.grad(total, leaf, create_graph=True)
    second = library.autograd.grad((first * first).sum(), leaf, allow_unused=True)[0]
    return [*[one.detach().numpy() for one in tensors], first.detach().numpy()] + (
        [] if second is None else [second.numpy()]
    )


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_programs(start: int) -> None:
    for seed in range(start, start + 50):
        try:
            expected = run_program(torch, seed)
        except RuntimeError:  # a saved value was written
            with pytest.raises(VersionError):
                run_program(kellet, seed)
            continue
        found = run_program(kellet, seed)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=f"seed {seed}")
