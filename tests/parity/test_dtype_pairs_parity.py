"""Two tensors of any two dtypes meet as in torch: the same dtype and values, or refused by both.

What differs is listed below, each difference with the row of docs/guides/from-pytorch.md that tells of it.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import ast
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import kellet
import kellet.nn.functional
from tests.parity import dtype_operations

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "from-pytorch.md"

INDEXES = (
    *("gather", "index_select", "take_along_dim", "a[b]", "scatter index", "index_add index", "embedding"),
    *("cross_entropy", "nll_loss"),
)


class Difference:
    """A difference that stays: where it is met, and the words in the guide."""

    def __init__(self, row: str, meets: Callable[[str, str, str, Any, Any], bool]) -> None:
        self.row = row
        self.meets = meets


def _refused_for(theirs: Any, *phrases: str) -> bool:
    return isinstance(theirs, Exception) and any(phrase in str(theirs) for phrase in phrases)


LISTED = [
    Difference(
        "dtypes that PyTorch has no code for on the CPU",
        lambda name, a, b, theirs, ours: _refused_for(
            theirs, "not implemented for", "not supported for", "Unsupported input type"
        ),
    ),
    Difference(
        "index tensors and class indexes",
        lambda name, a, b, theirs, ours: (
            name in INDEXES
            and b in ("uint8", "int8", "int16", "int32")
            and (
                _refused_for(theirs, "index", "indices", "indexes", "target")
                or (name, b) == ("a[b]", "uint8")
            )
        ),
    ),
    Difference(
        "a condition of `uint8` in `where`",
        lambda name, a, b, theirs, ours: name == "where condition" and b == "uint8",
    ),
    Difference(
        "complex values written into a real tensor",
        lambda name, a, b, theirs, ours: (
            name in ("a[0] = b", "a[mask] = b") and "complex" in b and "complex" not in a
        ),
    ),
    Difference(
        "`float16` beside a complex number",
        lambda name, a, b, theirs, ours: isinstance(theirs, tuple) and theirs[0] == "complex32",
    ),
]


def result(library: Any, expression: str, values: tuple[str, str], dtypes: tuple[str, str]) -> Any:
    """The error, or the dtype, shape and values."""
    a, b = (
        library.tensor(ast.literal_eval(value)).to(getattr(library, dtype))
        for value, dtype in zip(values, dtypes, strict=True)
    )
    try:
        found = eval(expression, {"m": library, "F": library.nn.functional, "a": a, "b": b})
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return error
    if isinstance(found, bool):
        return ("bool", (), np.array(found))
    dtype = str(found.dtype).removeprefix("torch.")
    wide = library.complex128 if found.is_complex() else library.float64
    return (dtype, tuple(found.shape), found.detach().to(wide).numpy())


def agree(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        return isinstance(theirs, Exception) and isinstance(ours, Exception)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(theirs[0], 1e-5)
    return bool(
        theirs[:2] == ours[:2]
        and np.allclose(theirs[2], ours[2], rtol=tolerance, atol=tolerance, equal_nan=True)
    )


def differences(name: str) -> list[tuple[str, str, Any, Any]]:
    expression, *values = dtype_operations.OPERATIONS[name]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shapes that broadcast, and of PyTorch's prototypes
        for a in dtype_operations.DTYPES:
            for b in dtype_operations.DTYPES:
                theirs = result(torch, expression, (values[0], values[1]), (a, b))
                ours = result(kellet, expression, (values[0], values[1]), (a, b))
                if not agree(theirs, ours):
                    found.append((a, b, theirs, ours))
    return found


@pytest.mark.parametrize("name", dtype_operations.OPERATIONS)
def test_every_pair_of_dtypes_meets_as_in_torch(name: str) -> None:
    not_listed = [
        f"{a} and {b}: torch {theirs!r}, here {ours!r}"
        for a, b, theirs, ours in differences(name)
        if not any(one.meets(name, a, b, theirs, ours) for one in LISTED)
    ]
    assert not not_listed, "\n".join(not_listed)


@pytest.mark.parametrize("difference", LISTED, ids=lambda one: one.row)
def test_the_guide_tells_of_each_difference(difference: Difference) -> None:
    assert f"| {difference.row} |" in GUIDE.read_text(encoding="utf-8")


def test_what_is_listed_is_met() -> None:
    names = ("a < b", "a[b]", "where condition", "a[0] = b", "scalar")
    met = [
        one.row
        for one in LISTED
        if any(
            one.meets(name, a, b, theirs, ours)
            for name in names
            for a, b, theirs, ours in (*differences(name), *_refused_alike(name))
        )
    ]
    assert met == [one.row for one in LISTED]


def _refused_alike(name: str) -> list[tuple[str, str, Any, Any]]:
    """A pair that torch has no code for, whatever we do with it."""
    expression, *values = dtype_operations.OPERATIONS[name]
    theirs = result(torch, expression, (values[0], values[1]), ("complex64", "complex64"))
    return [("complex64", "complex64", theirs, None)]


def test_an_order_of_complex_numbers_is_refused() -> None:
    x = kellet.tensor([1 + 1j, 2])
    for compare in (
        lambda: x < x,
        lambda: x <= 2,
        lambda: x.real > x,
        lambda: x.real <= 1j,
        lambda: kellet.maximum(x, x),
        lambda: x.max(),
        lambda: x.max(0),
        lambda: x.amin(),
        lambda: x.argmax(),
        lambda: x.sort(),
        lambda: x.topk(1),
        lambda: x.clamp(min=0),
    ):
        with pytest.raises(kellet.errors.DTypeError, match=r"complex numbers have no order; compare \.abs"):
            compare()
    assert (x == x).all()
    assert not (x != x).any()


def test_a_difference_of_bools_is_refused() -> None:
    mask = kellet.tensor([True, False])
    for subtract in (
        lambda: mask - mask.int(),
        lambda: mask.float() - mask,
        lambda: 1 - mask,
        lambda: 1.0 - mask,
        lambda: mask.float() - True,
        lambda: mask.float().sub_(mask),
    ):
        with pytest.raises(kellet.errors.DTypeError, match="to invert a mask"):
            subtract()


def test_refused_dtypes_are_named() -> None:
    layer = kellet.nn.Linear(2, 1)
    with pytest.raises(kellet.errors.DTypeError, match=r"linear: .* got float32 and float64; convert"):
        layer(kellet.ones(1, 2, dtype=kellet.float64))
