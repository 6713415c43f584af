"""Operations that change the shape and move no value: most return views."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rule import rule

__all__: list[str] = []


def _reshape_forward(a: Any, *, shape: tuple[int, ...]) -> Any:
    return a.reshape(shape)


def _reshape(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.reshape(g, shape=ctx.shapes[0]),)


def _expand_forward(a: Any, *, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(a, shape)


def _expand(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.sum_to(g, shape=ctx.shapes[0]),)


def _transpose_forward(a: Any, *, axes: tuple[int, ...]) -> Any:
    return a.transpose(axes)


def _transpose(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    axes = ctx.options["axes"]
    back = [0] * len(axes)
    for to, source in enumerate(axes):
        back[source] = to
    return (xp.permute(g, axes=tuple(back)),)


reshape = rule("reshape", _reshape_forward, _reshape, shapes=True, view=True, label="ViewBackward0")
expand = rule("expand", _expand_forward, _expand, shapes=True, view=True)
permute = rule("permute", _transpose_forward, _transpose, view=True)
