"""What random inputs found: results where dtypes meet, and at edges of shape and range."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance

INF, NAN = float("inf"), float("nan")

CALLS: dict[str, Callable[[Any], Any]] = {
    "hypot of large values": lambda lib: lib.hypot(lib.tensor([3e30]), lib.tensor([4e30])),
    "hypot of two dtypes": lambda lib: lib.hypot(
        lib.tensor([0.1], dtype=lib.float16), lib.tensor([0.3], dtype=lib.float64)
    ),
    "logit of integers": lambda lib: lib.logit(lib.tensor([0, 1, 2, 200], dtype=lib.uint8)),
    "logit of bools": lambda lib: lib.logit(lib.tensor([True, False])),
    "nan_to_num of complex numbers": lambda lib: lib.nan_to_num(
        lib.tensor([complex(NAN, INF), 1 - 2j]), 7.0, 8.0, 9.0
    ),
    "square of bools": lambda lib: lib.square(lib.tensor([True, False])),
    "sgn of bools": lambda lib: lib.sgn(lib.tensor([True, False])),
    "add bools, alpha": lambda lib: lib.add(lib.tensor([True]), lib.tensor([True]), alpha=2),
    "add float16 and a bool, alpha": lambda lib: lib.add(
        lib.tensor(1.0, dtype=lib.float16), lib.tensor(True), alpha=0.5
    ),
    "logaddexp2 of float16": lambda lib: lib.logaddexp2(
        lib.tensor([1, 2], dtype=lib.uint8), lib.tensor([1.0, 3.0], dtype=lib.float16)
    ),
    "logaddexp2 of two dtypes": lambda lib: lib.logaddexp2(
        lib.tensor([1.1], dtype=lib.float32), lib.tensor([0.3], dtype=lib.float64)
    ),
    "whole powers": lambda lib: lib.tensor([1, -1, -1, 0, 2]) ** lib.tensor([-1, -3, -2, 2, -1]),
    "float_power by complex numbers": lambda lib: lib.float_power(lib.tensor([2.0]), lib.tensor([1j])),
    "xlogy of bools and a number": lambda lib: lib.xlogy(lib.tensor([True, False]), 3.5),
    "xlogy of bools": lambda lib: lib.xlogy(lib.tensor([2.0], dtype=lib.float16), lib.tensor([True])),
    "isin, inverted": lambda lib: lib.isin(lib.tensor([1, 2, 3]), lib.tensor([2]), invert=True),
    "isin of a number": lambda lib: lib.isin(lib.tensor([1, 2]), 2, assume_unique=True),
    "nonzero as a tuple": lambda lib: lib.nonzero(lib.tensor([[0, 1], [2, 0]]), as_tuple=True),
    "nonzero of one value": lambda lib: lib.nonzero(lib.tensor(3), as_tuple=True),
    "where of one value": lambda lib: lib.where(lib.tensor(True)),
    "combinations of none": lambda lib: lib.combinations(lib.arange(3), r=0),
    "cov of one row": lambda lib: lib.cov(lib.tensor([[1.0, 3.0]])),
    "corrcoef of one row": lambda lib: lib.corrcoef(lib.tensor([[1.0, 3.0]])),
    "diff of bools": lambda lib: lib.tensor([True, False, False]).diff(n=2),
    "flip of one value": lambda lib: lib.flip(lib.tensor(3), ()),
    "unfold of one value": lambda lib: lib.tensor(3.0).unfold(0, 1, 1),
    "index_fill of one value": lambda lib: lib.tensor(3.0).index_fill(0, lib.tensor([0]), 2),
    "index_copy of one value": lambda lib: lib.tensor(3.0).index_copy(0, lib.tensor([0]), lib.tensor(5.0)),
    "index_add of one value": lambda lib: lib.tensor(3.0).index_add(0, lib.tensor([0]), lib.tensor(5.0)),
    "cumulative_trapezoid of nothing": lambda lib: lib.cumulative_trapezoid(lib.ones(2, 0)),
    "trapezoid of nothing": lambda lib: lib.trapezoid(lib.ones(2, 0)),
    "linspace of integers": lambda lib: lib.linspace(-1.5, 7.25, 4, dtype=lib.int64),
    "logspace of integers": lambda lib: lib.logspace(0.5, 2.25, 4, dtype=lib.int64),
    "complex numbers of parts": lambda lib: lib.complex(lib.tensor([INF, 1.0]), lib.tensor([[2.0], [NAN]])),
    "complex numbers of lengths": lambda lib: lib.polar(lib.tensor([1.0, 2.0]), lib.tensor([0.5, -3.0])),
    "windows as columns": lambda lib: lib.nn.Unfold((2, 3), dilation=(2, 1), padding=(1, 2), stride=(1, 3))(
        lib.arange(120.0).reshape(2, 3, 4, 5)
    ),
    "windows of one image": lambda lib: lib.nn.functional.unfold(lib.arange(20.0).reshape(1, 4, 5), 2),
    "spectral norms of empty matrices": lambda lib: lib.linalg.matrix_norm(lib.ones(2, 0, 3), 2),
}


DERIVATIVES: dict[str, Callable[[Any, Any], Any]] = {
    "xlogy at zero": lambda lib, x: lib.xlogy(x, lib.tensor([2.0, 3.0, 0.5])),
    "logit out of range": lambda lib, x: lib.logit(x),
    "logit at the ends": lambda lib, x: lib.logit(x.clamp(0, 1)),
    "hypot": lambda lib, x: lib.hypot(x, lib.tensor([3e20, 1.0, 2.0])),
    "parts of complex numbers": lambda lib, x: lib.complex(x * 2, x * x).abs(),
    "windows as columns": lambda lib, x: lib.nn.functional.unfold(x.reshape(1, 1, 3), (1, 2)) ** 2,
    "powers of unsigned exponents": lambda lib, x: (x * 3) ** lib.tensor([0, 1, 2], dtype=lib.uint8),
    "softmax without dim": lambda lib, x: lib.nn.functional.softmax(x) * lib.tensor([1.0, 2.0, 3.0]),
}


REFUSED: list[Callable[[Any], Any]] = [
    lambda lib: lib.add(lib.tensor([1]), lib.tensor([1]), alpha=0.5),
    lambda lib: lib.add(lib.tensor([1.0]), lib.tensor([1]), alpha=2j),
    lambda lib: lib.add(lib.tensor([1]), lib.tensor([1]), alpha=True),
    lambda lib: lib.sub(lib.tensor([1.0]), lib.tensor(True), alpha=2),
    lambda lib: lib.arange(5, 1, 2),
    lambda lib: lib.arange(0, 3, 0),
]


def derivative(library: Any, name: str) -> Any:
    x = library.tensor([0.0, 0.25, 1.5], requires_grad=True)
    DERIVATIVES[name](library, x).sum().backward()
    return x.grad


CASES: dict[str, Play] = {
    **CALLS,
    **{f"derivative of {name}": partial(derivative, name=name) for name in DERIVATIVES},
    **{f"refused | {number}": call for number, call in enumerate(REFUSED)},
}


def near(case: str) -> Tolerance:
    half = "float16" in case or "hypot of two" in case or case == "xlogy of bools"
    return Tolerance(1e-3 if half else 1e-5 if case.startswith("derivative") else 1e-6)


SUBJECT = Subject("between_dtypes", CASES, near)
