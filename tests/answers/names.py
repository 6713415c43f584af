"""Limits of dtypes, sizes, printing, tensors by the names of dtypes, and `assert_close`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.answers import choices as st
from tests.answers.refusals import refusal
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance, name_of

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


DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex64"]
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


DATA: list[tuple[Any, ...]] = [([1, 0],), ((1.7, 0),), ([[1], [0]],), (np.ones((2, 1)),), (), (2, 3), (3,)]
PRINTING: list[dict[str, Any]] = [
    {"precision": 2},
    {"profile": "short"},
    {"profile": "full"},
    {"threshold": 10, "edgeitems": 2},
    {"sci_mode": True},
    {"linewidth": 40},
]
PRINTED = (np.linspace(-1, 1, 7), np.arange(24.0).reshape(4, 6) / 7, np.arange(3000), np.array([1.5, 2.25]))


def limits(library: Any, dtype: str) -> Any:
    found = library.finfo(getattr(library, dtype))
    names = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "dtype")
    written = [repr(found), found.resolution] if dtype in ("float16", "float32", "float64") else []
    return [*(getattr(found, name) for name in names), *written]


def whole_limits(library: Any, dtype: str) -> Any:
    found = library.iinfo(getattr(library, dtype))
    return [found.bits, found.max, found.min, found.dtype, repr(library.iinfo(library.int8))]


def default_limits(library: Any) -> Any:
    return library.finfo().eps


def sizes(library: Any) -> Any:
    size = library.Size([2, 3])
    same = size == library.ones(2, 3).shape == (2, 3)
    return (
        size.numel(),
        same,
        isinstance(library.ones(2, 3).shape, library.Size),
        isinstance([2, 3], library.Size),
    )


def variables(library: Any) -> Any:
    x = library.ones(2, requires_grad=True)
    made = library.autograd.Variable(x)
    told = [type(made) is library.Tensor, made.requires_grad]
    made[0] = 5.0
    return [*told, x, library.autograd.Variable(x, requires_grad=True).requires_grad]


def printing(library: Any, options: dict[str, Any]) -> Any:
    """Tell the words; lines are as long, or one value shorter."""
    try:
        library.set_printoptions(**options)
        texts = [repr(library.tensor(value.tolist())) for value in PRINTED]
    finally:
        library.set_printoptions(profile="default")
    return [text.split() for text in texts]


def meeting(library: Any, one: str, other: str) -> Any:
    pair = (getattr(library, one), getattr(library, other))
    if {one, other} == {"float16", "complex64"}:
        return [library.can_cast(*pair)]
    result = library.result_type(library.ones(2, dtype=pair[0]), library.ones((), dtype=pair[1]))
    return [library.can_cast(*pair), name_of(library.promote_types(*pair)), name_of(result)]


def typed(library: Any, name: str, data: tuple[Any, ...]) -> Any:
    """Tell the values; of sizes alone the shape, for nothing is written to them."""
    found = getattr(library, name)(*data)
    told = [name_of(found.dtype), list(found.shape)]
    return told if data and isinstance(data[0], int) else [*told, found.tolist()]


def instances(library: Any, name: str) -> Any:
    of = [
        isinstance(library.ones(1, dtype=getattr(library, one)), getattr(library, name))
        for one in NAMES.values()
    ]
    return [*of, isinstance([1.0], getattr(library, name))]


def no_data(library: Any, data: tuple[Any, ...]) -> Any:
    return refusal(lambda: library.LongTensor(*data))


def powers(library: Any) -> Any:
    return [library.logspace(*given) for given in ((0, 2, 3), (-1, 1, 5, 2.0), (0, 0, 1), (1, 2, 0))]


def close(library: Any, one: Any, other: Any, **options: Any) -> bool:
    try:
        library.testing.assert_close(one, other, **options)
    except AssertionError:
        return False
    return True


def steps_apart(library: Any, dtype: str) -> Any:
    one = np.array([1.0, 3.0, 0.0])
    steps = (0.0, 1e-8, 1e-6, 8e-6, 2e-5, 1e-4, 1e-3, 1e-2, 1.0)
    pairs = [[one.astype(dtype), (one + step).astype(dtype)] for step in steps]
    return [close(library, *map(library.from_numpy, pair)) for pair in pairs]


@st.composite
def closeness(draw: st.Draw) -> Play:
    options = [{}, {"rtol": 0.0, "atol": 1e-6}, {"rtol": 1e-3, "atol": 0.0}, {"equal_nan": True}]
    return partial(
        apart,
        values=draw(st.lists(st.floats(-2, 2), 1, 3)),
        step=draw(st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, float("nan")])),
        options=draw(st.sampled_from(options)),
    )


def apart(library: Any, values: list[float], step: float, options: dict[str, Any]) -> Any:
    one = np.array(values)
    pair = [library.from_numpy(array) for array in (one, one + step)]
    same = [{"a": pair[1], "b": [1.0]}, {"a": pair[1], "b": [1.0]}]
    return close(library, *pair, **options), close(library, *same, **options)


CASES: dict[str, Play] = {
    "default limits": default_limits,
    "sizes": sizes,
    "variables": variables,
    "powers": powers,
    **{f"limits | {dtype}": partial(limits, dtype=dtype) for dtype in FLOATS},
    **{f"whole limits | {dtype}": partial(whole_limits, dtype=dtype) for dtype in INTEGERS},
    **{f"printing | {number}": partial(printing, options=one) for number, one in enumerate(PRINTING)},
    **{f"meeting | {a} {b}": partial(meeting, one=a, other=b) for a in DTYPES for b in DTYPES},
    **{f"instances | {name}": partial(instances, name=name) for name in NAMES},
    **{
        f"{name} | {number}": partial(typed, name=name, data=data)
        for name in NAMES
        for number, data in enumerate(DATA)
    },
    **{
        f"no data | {number}": partial(no_data, data=data)
        for number, data in enumerate([(1.5,), ("text",), (None,), ([1], [2]), ({},)])
    },
    **{
        f"steps apart | {dtype}": partial(steps_apart, dtype=dtype)
        for dtype in ("float16", "float32", "float64", "complex64", "int64", "bool")
    },
    **{f"closeness | {n}": one for n, one in enumerate(st.draw_all(closeness(), "closeness", 120))},
}

SUBJECT = Subject("names", CASES, lambda case: Tolerance(1e-6, kinds=True))
