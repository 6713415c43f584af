"""Tensors as such: promotion, indexing, printing, and programs of views and writes."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.answers.subject import Play, Subject
from tests.answers.telling import Raised, Tolerance, attempt, differences, name_of

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
NUMBERS = [True, 2, 1.5, 2j]


METHODS = (*("sum", "prod", "mean", "amax", "cumsum", "any", "all", "exp", "sqrt", "abs", "neg", "sign"),)
OPERATORS = {
    "two tensors": (operator.add, operator.mul, operator.truediv, operator.eq, operator.lt),
    "a number": (operator.add, operator.mul, operator.truediv, operator.sub, operator.ge),
}
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())]
DATA: list[Any] = [
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
]


# --- promotion ------------------------------------------------------------------------------------


def of(library: Any, array: Any) -> Any:
    return library.from_numpy(np.asarray(array).copy())


def result(run: Callable[[], Any]) -> Any:
    """Dtype and values, or None where the library refuses."""
    found = attempt(lambda: _shown(run()))
    # NumPy has no complex32; kellet takes complex64.
    return None if isinstance(found, Raised) or found[0] == "complex32" else found


def _shown(value: Any) -> Any:
    return [name_of(value.dtype), np.asarray(value)] if name_of(value.dtype) != "complex32" else ["complex32"]


def two_tensors(library: Any, operate: Any, shapes: Any) -> Any:
    return {
        f"{first} {second}": result(
            lambda first=first, second=second: operate(
                of(library, np.ones(shapes[0], first)), of(library, np.ones(shapes[1], second))
            )
        )
        for first in DTYPES
        for second in DTYPES
    }


def a_number(library: Any, operate: Any, shape: Any) -> Any:
    found = {}
    for dtype in DTYPES:
        for number in NUMBERS:
            x = of(library, np.full(shape, 3, dtype))
            found[f"{dtype} {number}"] = result(lambda x=x, n=number: operate(x, n))
            found[f"{number} {dtype}"] = result(lambda x=x, n=number: operate(n, x))
    return found


def a_method(library: Any, method: str) -> Any:
    """Leave out `uint8` in `any` and `all`, from the time when masks were uint8."""
    arguments = (0,) if method == "cumsum" else ()
    return {
        dtype: result(lambda dtype=dtype: getattr(of(library, np.ones((2, 3), dtype)), method)(*arguments))
        for dtype in DTYPES
        if dtype != "uint8" or method not in ("any", "all")
    }


def of_data(library: Any) -> Any:
    return [name_of(library.tensor(data).dtype) for data in DATA]


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


def reading(library: Any, index: Any) -> Any:
    leaf = of(library, np.arange(24.0).reshape(3, 2, 4)).requires_grad_()
    part = (leaf * 1)[made(index, library)]
    part.backward(library.arange(part.numel(), dtype=library.float64).reshape(part.shape))
    return list(part.shape), part, leaf.grad


def writing(library: Any, index: Any, scalar: bool) -> Any:
    leaf = of(library, np.arange(24.0).reshape(3, 2, 4)).requires_grad_()
    place = made(index, library)
    changed = leaf * 1
    shape = () if scalar else tuple(changed[place].shape)
    new = library.full(shape, 7.0, dtype=library.float64, requires_grad=True)
    changed[place] = new
    (changed * changed).sum().backward()
    return changed, leaf.grad, new.grad


# --- printing -------------------------------------------------------------------------------------

PRINTED = [
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
]


def printed(library: Any, values: Any) -> str:
    return repr(of(library, values)).replace("torch.", "")


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


CASES: dict[str, Play] = {"data": of_data}
for _operate in OPERATORS["two tensors"]:
    for _shapes in SHAPES:
        CASES[f"two tensors | {_operate.__name__} {_shapes}"] = partial(
            two_tensors, operate=_operate, shapes=_shapes
        )
for _operate in OPERATORS["a number"]:
    for _shape in ((2,), ()):
        CASES[f"a number | {_operate.__name__} {_shape}"] = partial(a_number, operate=_operate, shape=_shape)
for _method in METHODS:
    CASES[f"methods | {_method}"] = partial(a_method, method=_method)
for _number, _index in enumerate(INDEXES):
    CASES[f"reading | {_number}"] = partial(reading, index=_index)
    for _scalar in (True, False) if _index != [0, 2] else ():
        CASES[f"writing | {_number} {_scalar}"] = partial(writing, index=_index, scalar=_scalar)
for _number, _values in enumerate(PRINTED):
    CASES[f"printing | {_number}"] = partial(printed, values=_values)
for _seed in range(300):
    CASES[f"programs from {_seed // 50 * 50} | {_seed}"] = partial(run_program, seed=_seed)


def agree(case: str, found: Any, expected: Any) -> Iterator[str]:
    """What torch refuses of two dtypes kellet may do."""
    if case.startswith(("two tensors", "a number", "methods")):
        expected = {key: value for key, value in expected.items() if value is not None}
        found = {key: found[key] for key in expected}
        yield from differences(found, expected, Tolerance(1e-7))
    elif case.startswith("programs"):
        yield from differences(found, expected, Tolerance(1e-9, 1e-12))
    else:
        yield from differences(found, expected, Tolerance(1e-7))


SUBJECT = Subject("tensors", CASES, agree=agree)
