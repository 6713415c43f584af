"""Two tensors of any two dtypes meet: the dtype and values of what comes of them, or a refusal.

What differs is listed below, each difference with the row of pytorch-differences.md that tells of it.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.answers.dtype_operations import DTYPES, OPERATIONS
from tests.answers.subject import Subject
from tests.answers.telling import Raised, name_of, raised

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
    return isinstance(theirs, Raised) and any(phrase in theirs.said for phrase in phrases)


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
        lambda name, a, b, theirs, ours: isinstance(theirs, list) and theirs[0] == "complex32",
    ),
]


def result(library: Any, name: str, a: str, b: str) -> Any:
    """The error, or the dtype, shape and values."""
    expression, *values = OPERATIONS[name]
    one, other = (
        library.tensor(ast.literal_eval(value)).to(getattr(library, dtype))
        for value, dtype in zip(values, (a, b), strict=True)
    )
    try:
        found = eval(expression, {"m": library, "F": library.nn.functional, "a": one, "b": other})
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return raised(error, said_for(str(error)))
    if isinstance(found, bool):
        return ["bool", [], np.array(found)]
    wide = library.complex128 if found.is_complex() else library.float64
    return [name_of(found.dtype), list(found.shape), found.detach().to(wide)]


PHRASES = (
    *("not implemented for", "not supported for", "Unsupported input type"),
    *("index", "indices", "indexes", "target"),
)


def said_for(message: str) -> str:
    """Keep of a message what the list asks about."""
    return " ".join(phrase for phrase in PHRASES if phrase in message)


def results(library: Any, name: str) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shapes that broadcast, and of PyTorch's prototypes
        return {f"{a} and {b}": result(library, name, a, b) for a in DTYPES for b in DTYPES}


def same(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, Raised) or isinstance(ours, Raised):
        return isinstance(theirs, Raised) and isinstance(ours, Raised)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(theirs[0], 1e-5)
    return bool(
        theirs[:2] == ours[:2]
        and np.allclose(theirs[2], ours[2], rtol=tolerance, atol=tolerance, equal_nan=True)
    )


def unlike(found: dict[str, Any], expected: dict[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield the pairs of dtypes that meet in another way: both dtypes, their result and ours."""
    for pair, theirs in expected.items():
        if not same(theirs, found[pair]):
            a, _, b = pair.partition(" and ")
            yield a, b, theirs, found[pair]


def agree(name: str, found: Any, expected: Any) -> Iterator[str]:
    for a, b, theirs, ours in unlike(found, expected):
        if not any(one.meets(name, a, b, theirs, ours) for one in LISTED):
            yield f"{a} and {b}: torch {theirs!r}, here {ours!r}"


SUBJECT = Subject("dtype_pairs", {name: partial(results, name=name) for name in OPERATIONS}, agree=agree)
