"""Expressions over tensors: everything that is told of them, in any library."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from tests.answers.subject import Subject
from tests.answers.telling import Tolerance, array_of

NEAR = {"float32": Tolerance(1e-5, 1e-5), "float64": Tolerance(1e-10, 1e-12)}


def subject_of(
    name: str, cases: Sequence[tuple[Any, ...]], near: dict[str, Tolerance], first_order: Sequence[str] = ()
) -> Subject:
    """Make a subject of `(expression, *arrays)`, each in both dtypes; complex ones in complex128 alone."""
    plays = {}
    for number, (expression, *arrays) in enumerate(cases):
        mixed = any(np.iscomplexobj(array) for array in arrays)
        for dtype in ("float64",) if mixed else near:
            given = [array.astype(dtype) if array.dtype.kind == "f" else array for array in arrays]
            plays[f"{expression} | {number} | {dtype}"] = partial(
                evaluate, expression=expression, arrays=given, twice=expression not in first_order
            )
    return Subject(name, plays, lambda case: near[case.rpartition(" | ")[2]])


def plain_attention(library: Any) -> Any:
    """Have torch compute attention in the way that has second derivatives."""
    if library.__name__ != "torch":
        return nullcontext()
    attention = library.nn.attention
    return attention.sdpa_kernel(attention.SDPBackend.MATH)


def evaluate(library: Any, expression: str, arrays: list[Any], twice: bool = True) -> list[Any]:
    """Tell the outputs, the first gradients, and the second gradients."""
    tensors = [library.from_numpy(array.copy()) for array in arrays]
    leaves = [
        t.requires_grad_() for t, array in zip(tensors, arrays, strict=True) if array.dtype.kind in "fc"
    ]
    names = dict(zip("abc", tensors, strict=False))
    with plain_attention(library):
        result = eval(expression, {"m": library, "F": library.nn.functional, **names})
        outputs = list(result) if isinstance(result, tuple | list) else [result]
        found: list[Any] = [["output", output] for output in outputs]
        smooth = [output for output in outputs if output.requires_grad]
        if not smooth:
            return found
        weights = [seeded(library, output) for output in smooth]
        first = library.autograd.grad(smooth, leaves, weights, create_graph=True, allow_unused=True)
        found += [["gradient", g] for g in first if g is not None]
        return found + second_gradients(library, first, leaves) if twice else found


def second_gradients(library: Any, first: Any, leaves: list[Any]) -> list[Any]:
    again = [g for g in first if g is not None and g.requires_grad]
    if not again:
        return [["second gradient", np.zeros(tuple(t.shape), array_of(t).dtype)] for t in leaves]
    weights = [seeded(library, g) for g in again]
    second = library.autograd.grad(again, leaves, weights, allow_unused=True)
    return [["second gradient", zero_if_none(g, t)] for g, t in zip(second, leaves, strict=True)]


def seeded(library: Any, tensor: Any) -> Any:
    """A fixed gradient for `tensor`, the same in every library."""
    values = np.cos(np.arange(1, array_of(tensor).size + 1)).reshape(tuple(tensor.shape))
    return library.from_numpy(values.astype(array_of(tensor).dtype))


def zero_if_none(gradient: Any, tensor: Any) -> Any:
    """Where a library knows that a gradient is zero it may say None; a zero is the same answer."""
    return np.zeros(tuple(tensor.shape), array_of(tensor).dtype) if gradient is None else gradient
