"""Copies, casts, and writing into a part: what in-place operations are made of.

In-place operations write into the array they are given, elsewhere; these rules say what the written
array is a function of. A part is named by the steps of views that lead to it, or by an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .levels import zeros_like
from .rule import SAME, Rule, raw, rule

Step: TypeAlias = tuple[Rule, dict[str, Any], int | None]
"""One view of another: a rule with its options, and which of its outputs, where it has several."""


def replay(xp: object, value: Any, steps: Sequence[Step]) -> Any:
    """Walk the steps from a base to a view of it; `value` is of the level of `xp`."""
    for step, options, number in steps:
        value = getattr(xp, step.name)(value, **options)
        if number is not None:
            value = value[number]
    return value


# --- the same values elsewhere --------------------------------------------------------------------


def _clone_forward(a: Any) -> Any:
    return a.copy()


def _pass_on(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g,)


def _cast_forward(a: Any, *, dtype: Any) -> Any:
    return (a.real if a.dtype.kind == "c" and dtype.kind != "c" else a).astype(dtype)


# --- all values replaced --------------------------------------------------------------------------


def _replace_forward(a: Any, b: Any) -> Any:
    return np.broadcast_to(np.asarray(b, dtype=a.dtype), a.shape).copy()


def _replace(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (zeros_like(xp, g) if ctx.needs[0] else None, g if ctx.needs[1] else None)


# --- a part replaced ------------------------------------------------------------------------------


def _overwrite_forward(a: Any, part: Any, *, steps: Sequence[Step]) -> Any:
    """A copy of `a` in which the view that `steps` lead to holds `part`."""
    out = a.copy()
    view = replay(raw, out, steps)
    if np.may_share_memory(view, out):
        view[...] = part
        return out
    # A step that is a view of the base's memory layout may be a copy here: go by positions.
    places = replay(raw, np.arange(a.size).reshape(a.shape), steps)
    flat = out.reshape(-1)
    flat[places] = part
    return flat.reshape(a.shape)


def _overwrite(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    steps = ctx.options["steps"]
    part = replay(xp, g, steps)
    return (
        xp.overwrite(g, zeros_like(xp, part), steps=steps) if ctx.needs[0] else None,
        part if ctx.needs[1] else None,
    )


# --- by index -------------------------------------------------------------------------------------


def _index_forward(a: Any, *, index: Any) -> Any:
    return a[index]


def _index(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.place(g, index=ctx.options["index"], shape=ctx.shapes[0]),)


def _place_forward(a: Any, *, index: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of `shape` with the values of `a` at `index`; what meets is added up."""
    out = np.zeros(shape, a.dtype)
    if is_basic(index):
        out[index] = a
    else:
        np.add.at(out, index, a)
    return out


def _place(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.index(g, index=ctx.options["index"]),)


def _put_forward(a: Any, values: Any, *, index: Any) -> Any:
    out = a.copy()
    out[index] = values
    return out


def _put(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    index = ctx.options["index"]
    return (
        xp.put(g, 0, index=index) if ctx.needs[0] else None,
        xp.index(g, index=index) if ctx.needs[1] else None,
    )


def is_basic(index: object) -> bool:
    """Say whether an index (a tuple, or one entry) makes a view: no entry is an array."""
    entries = index if isinstance(index, tuple) else (index,)
    return not any(isinstance(entry, np.ndarray | bool) for entry in entries)


clone = rule("clone", _clone_forward, _pass_on)
cast = rule("cast", _cast_forward, _pass_on, label="ToCopyBackward0")
replace = rule("replace", _replace_forward, _replace, label="CopyBackwards")
overwrite = rule("overwrite", _overwrite_forward, _overwrite, promote=SAME)
slice = rule("slice", _index_forward, _index, shapes=True, view=True)
index = rule("index", _index_forward, _index, shapes=True)
place = rule("place", _place_forward, _place, fresh=True)
put = rule("put", _put_forward, _put, label="IndexPutBackward0")
