"""Two arrays multiplied and summed by index letters, through one matrix product: what einsum is made of.

`kellet.einsum` reads diagonals, sums the letters that only one operand has, stretches axes of length 1
and folds longer lists of operands pair by pair. What is left for this rule: the letters of an operand
are distinct, and each occurs in the other operand or in the result. Seen so, the derivative of a
contraction is a contraction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .rule import SAME, rule

__all__: list[str] = []


def _contract_forward(a: Any, b: Any, *, left: str, right: str, result: str) -> Any:
    """Letters of both that the result keeps are the batch of a matrix product, the others are summed."""
    sizes = dict(zip(left + right, a.shape + b.shape, strict=True))
    batch = [letter for letter in left if letter in right and letter in result]
    summed = [letter for letter in left if letter in right and letter not in result]
    rows = [letter for letter in left if letter not in right]
    columns = [letter for letter in right if letter not in left]
    a = _grouped(a, left, (batch, rows, summed), sizes)
    b = _grouped(b, right, (batch, summed, columns), sizes)
    made = batch + rows + columns
    out = np.matmul(a, b).reshape([sizes[letter] for letter in made])
    return out.transpose([made.index(letter) for letter in result])


def _grouped(a: Any, letters: str, groups: tuple[list[str], ...], sizes: dict[str, int]) -> Any:
    """`a` with its axes in the order of the groups, each group but the first made one axis."""
    a = a.transpose([letters.index(letter) for group in groups for letter in group])
    first = [sizes[letter] for letter in groups[0]]
    return a.reshape(*first, *(math.prod(sizes[letter] for letter in group) for group in groups[1:]))


def _contract(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, b = ctx.inputs
    left, right, result = (ctx.options[name] for name in ("left", "right", "result"))
    return (
        xp.contract(g, xp.conj(b), left=result, right=right, result=left) if ctx.needs[0] else None,
        xp.contract(xp.conj(a), g, left=left, right=result, result=right) if ctx.needs[1] else None,
    )


contract = rule(
    "contract",
    _contract_forward,
    _contract,
    saves=((1,), (0,)),
    promote=SAME,
    fresh=True,
    label="EinsumBackward0",
)
