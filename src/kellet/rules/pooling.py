"""Pooling over windows: the largest value or the average, over any number of axes.

Values are `(batch, channels, *lengths)`. A window is walked element by element: each element is one
strided slice of all values at once, so the loops run over the window and never over the values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import keep
from .rule import rule

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pooling:
    """How windows are laid over values, one number per axis.

    With `ceil` a last window may hang over the far edge, as long as it starts within the values or
    the padding before them.
    """

    size: Lengths
    stride: Lengths
    padding: Lengths
    dilation: Lengths
    ceil: bool = False

    def places(self, lengths: Lengths) -> Lengths:
        """Return the lengths of the result; zero or less where the window does not fit."""
        return tuple(self._places(n, i) for i, n in enumerate(lengths))

    def _places(self, length: int, i: int) -> int:
        room = length + 2 * self.padding[i] - self.reach(i)
        if not self.ceil:
            return room // self.stride[i] + 1
        count = -(-room // self.stride[i]) + 1
        return count - 1 if (count - 1) * self.stride[i] >= length + self.padding[i] else count

    def reach(self, i: int) -> int:
        """Return how many values a window spans along axis `i`."""
        return self.dilation[i] * (self.size[i] - 1) + 1

    def padded(self, lengths: Lengths) -> Lengths:
        """Return the lengths with padding, and with what the last window hangs over."""
        places = self.places(lengths)
        return tuple(
            max(n + 2 * self.padding[i], (places[i] - 1) * self.stride[i] + self.reach(i))
            for i, n in enumerate(lengths)
        )

    def inner(self, lengths: Lengths) -> tuple[Any, ...]:
        """Return the index of the values within their padding."""
        return (..., *(slice(p, p + n) for n, p in zip(lengths, self.padding, strict=True)))

    def elements(self, lengths: Lengths) -> Iterator[tuple[Any, ...]]:
        """Yield for each element of the window the index in padded values of all that it sees."""
        places = self.places(lengths)
        for at in itertools.product(*map(range, self.size)):
            starts = [k * d for k, d in zip(at, self.dilation, strict=True)]
            yield (
                ...,
                *(
                    slice(start, start + s * (n - 1) + 1, s)
                    for start, s, n in zip(starts, self.stride, places, strict=True)
                ),
            )

    @property
    def apart(self) -> bool:
        """No value is seen by two windows."""
        return all(s >= self.reach(i) for i, s in enumerate(self.stride))


# --- the largest value ----------------------------------------------------------------------------


def _max_pool_forward(kept: dict[str, Any] | None, a: Any, *, pooling: Pooling) -> Any:
    """Keeps which element of the window was the largest; the first of several, as in PyTorch."""
    lengths = a.shape[2:]
    lowest = -math.inf if a.dtype.kind == "f" else np.iinfo(a.dtype).min
    padded = _padded(a, pooling, lowest)
    windows = pooling.elements(lengths)
    best = padded[next(windows)].copy()
    counter = np.min_scalar_type(math.prod(pooling.size))
    winner = None if kept is None else np.zeros(best.shape, dtype=counter)
    for number, window in enumerate(windows, 1):
        candidate = padded[window]
        if winner is not None:
            better = (candidate > best).view(np.uint8)
            np.maximum(winner, better * counter.type(number), out=winner)
        np.maximum(best, candidate, out=best)
    if kept is not None:
        kept["winner"] = winner
    return best


def _max_pool(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    pooling, lengths = ctx.options["pooling"], ctx.shapes[0][2:]
    return (xp.unpool(g, xp.constant(ctx.kept["winner"]), lengths=lengths, pooling=pooling),)


def _unpool_forward(g: Any, winner: Any, *, lengths: Lengths, pooling: Pooling) -> Any:
    """Put each element of `g` where the winner of its window was, and add up what meets."""
    out = np.zeros((*g.shape[:2], *pooling.padded(lengths)), dtype=g.dtype)
    for number, window in enumerate(pooling.elements(lengths)):
        share = keep(g, winner == number)
        if pooling.apart:
            out[window] = share
        else:
            out[window] += share
    return _unpadded(out, lengths, pooling)


def _unpool(xp: Any, ctx: Any, gg: Any) -> tuple[Any, ...]:
    return (xp.pool_winners(gg, ctx.inputs[1], pooling=ctx.options["pooling"]), None)


def _pool_winners_forward(a: Any, winner: Any, *, pooling: Pooling) -> Any:
    """Read from each window the element that won elsewhere."""
    lengths = a.shape[2:]
    padded = _padded(a, pooling, 0)
    out = np.zeros(winner.shape, dtype=a.dtype)
    for number, window in enumerate(pooling.elements(lengths)):
        np.copyto(out, padded[window], where=winner == number)
    return out


def _pool_winners(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    pooling, lengths = ctx.options["pooling"], ctx.shapes[0][2:]
    return (xp.unpool(g, ctx.inputs[1], lengths=lengths, pooling=pooling), None)


def _pool_indexes_forward(a: Any, *, pooling: Pooling) -> Any:
    """Where the largest values are: flat positions within the lengths of `a`, as PyTorch returns them."""
    kept: dict[str, Any] = {}
    _max_pool_forward(kept, a, pooling=pooling)
    lengths = a.shape[2:]
    positions = np.arange(math.prod(lengths)).reshape(1, 1, *lengths)
    where = np.broadcast_to(positions, a.shape)
    return _pool_winners_forward(where, kept["winner"], pooling=pooling)


# --- the average ----------------------------------------------------------------------------------


def _avg_pool_forward(
    a: Any, *, pooling: Pooling, include_pad: bool = True, divisor: int | None = None
) -> Any:
    lengths = a.shape[2:]
    padded = _padded(a, pooling, 0)
    windows = pooling.elements(lengths)
    out = padded[next(windows)].copy()
    for window in windows:
        out += padded[window]
    out /= _divisors(pooling, lengths, include_pad, divisor, a.dtype)
    return out


def _avg_pool(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.spread_average(g, lengths=ctx.shapes[0][2:], **ctx.options),)


def _spread_average_forward(
    g: Any, *, lengths: Lengths, pooling: Pooling, include_pad: bool = True, divisor: int | None = None
) -> Any:
    share = g / _divisors(pooling, lengths, include_pad, divisor, g.dtype)
    out = np.zeros((*g.shape[:2], *pooling.padded(lengths)), dtype=g.dtype)
    for window in pooling.elements(lengths):
        out[window] += share
    return _unpadded(out, lengths, pooling)


def _spread_average(xp: Any, ctx: Any, gg: Any) -> tuple[Any, ...]:
    options = {name: value for name, value in ctx.options.items() if name != "lengths"}
    return (xp.avg_pool(gg, **options),)


def _divisors(
    pooling: Pooling, lengths: Lengths, include_pad: bool, divisor: int | None, dtype: np.dtype[Any]
) -> Any:
    """What the sums are divided by: one number, or one per place where windows reach over an edge."""
    if divisor is not None:
        return dtype.type(divisor)
    counts = np.ones((), dtype=dtype)
    for i, (n, places) in enumerate(zip(lengths, pooling.places(lengths), strict=True)):
        p, k = pooling.padding[i], pooling.size[i]
        start = np.arange(places) * pooling.stride[i] - p
        end = np.minimum(start + k, n + p)
        if not include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        counts = np.multiply.outer(counts, (end - start).astype(dtype))
    first = counts.flat[0] if counts.size else dtype.type(1)
    return first if (counts == first).all() else counts


# --- padding --------------------------------------------------------------------------------------


def _padded(a: Any, pooling: Pooling, value: float) -> Any:
    lengths = a.shape[2:]
    padded = pooling.padded(lengths)
    if padded == lengths:
        return a
    out = np.full((*a.shape[:2], *padded), value, dtype=a.dtype)
    out[pooling.inner(lengths)] = a
    return out


def _unpadded(out: Any, lengths: Lengths, pooling: Pooling) -> Any:
    return out if out.shape[2:] == lengths else np.ascontiguousarray(out[pooling.inner(lengths)])


max_pool = rule("max_pool", _max_pool_forward, _max_pool, keeps=True, shapes=True, fresh=True)
unpool = rule("unpool", _unpool_forward, _unpool, saves=((1,),), fresh=True)
pool_winners = rule(
    "pool_winners", _pool_winners_forward, _pool_winners, saves=((1,),), shapes=True, fresh=True
)
pool_indexes = rule("pool_indexes", _pool_indexes_forward)
avg_pool = rule("avg_pool", _avg_pool_forward, _avg_pool, shapes=True, fresh=True)
spread_average = rule("spread_average", _spread_average_forward, _spread_average, fresh=True)
