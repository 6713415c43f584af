"""How far to go along a direction: a step that satisfies the strong Wolfe conditions.

Source: Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6, in the form of PyTorch's LBFGS and
minFunc, whose steps these are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Evaluate = Callable[[Any], tuple[float, Any]]
"""The loss and its flat gradient after a step of this length."""

ENOUGH_DECREASE = 1e-4
ENOUGH_CURVATURE = 0.9


@dataclass(frozen=True)
class Point:
    """A length of step `at`; the loss there, its gradient, and the slope along the direction."""

    at: Any
    loss: float
    gradient: Any
    slope: Any


def strong_wolfe(
    evaluate: Evaluate, direction: object, first: object, start: Point, tolerance: float, most: int
) -> tuple[Point, int]:
    """Return the point of a step along `direction`, and how often the loss was computed on the way.

    `first` is the length that is tried first, `most` the number of trials, `start` the point at length 0. The
    search ends early where its interval is shorter than `tolerance`.
    """
    search = _Search(evaluate, direction, start, tolerance, most)
    low, high = search.bracket(first)
    if high is not None:
        low = search.zoom(low, high)
    return low, search.evaluations


class _Search:
    def __init__(self, evaluate: Evaluate, direction: Any, start: Point, tolerance: float, most: int) -> None:
        self._evaluate = evaluate
        self._direction = direction
        self._start = start
        self._tolerance = tolerance
        self._most = most
        self._trials = -1  # the first evaluation is none
        self.evaluations = 0

    def bracket(self, first: Any) -> tuple[Point, Point | None]:
        """Find a point that satisfies the conditions, alone, or two that one lies between."""
        before, now = self._start, self._point(first)
        while self._trials < self._most:
            if self._is_too_high(now) or (self._trials > 1 and now.loss >= before.loss):
                return before, now
            if self._is_flat(now):
                return now, None
            if now.slope >= 0:
                return before, now
            bounds = (now.at + 0.01 * (now.at - before.at), now.at * 10)
            before, now = now, self._point(_cubic(before, now, bounds))
        return self._start, now

    def zoom(self, one: Point, other: Point) -> Point:
        """Shorten an interval until a point in it satisfies the conditions; return the lowest point."""
        pair = [one, other]
        low, high = (0, 1) if one.loss <= other.loss else (1, 0)
        close_before = False
        size = self._direction.abs().max()
        while self._trials < self._most:
            if abs(pair[1].at - pair[0].at) * size < self._tolerance:
                break
            at, close_before = _away_from_ends(_cubic(pair[0], pair[1]), pair, close_before)
            now = self._point(at)
            if self._is_too_high(now) or now.loss >= pair[low].loss:
                pair[high] = now
                low, high = (0, 1) if pair[0].loss <= pair[1].loss else (1, 0)
                continue
            done = self._is_flat(now)
            if not done and now.slope * (pair[high].at - pair[low].at) >= 0:
                pair[high] = pair[low]
            pair[low] = now
            if done:
                break
        return pair[low]

    def _point(self, at: Any) -> Point:
        loss, gradient = self._evaluate(at)
        self.evaluations += 1
        self._trials += 1
        return Point(at, loss, gradient, gradient.dot(self._direction))

    def _is_too_high(self, point: Point) -> bool:
        start = self._start
        return bool(point.loss > start.loss + ENOUGH_DECREASE * point.at * start.slope)

    def _is_flat(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -ENOUGH_CURVATURE * self._start.slope)


def _cubic(one: Point, other: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The lowest place of the cubic through two points, by losses and slopes, within `bounds`."""
    near, far = (one, other) if one.at <= other.at else (other, one)
    low, high = bounds or (near.at, far.at)
    d1 = one.slope + other.slope - 3 * (one.loss - other.loss) / (one.at - other.at)
    square = d1**2 - one.slope * other.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    place = far.at - (far.at - near.at) * ((far.slope + d2 - d1) / (far.slope - near.slope + 2 * d2))
    return min(max(place, low), high)


def _away_from_ends(at: Any, pair: list[Point], close_before: bool) -> tuple[Any, bool]:
    """Move a place that is close to an end of the interval, the second time in a row, a tenth inwards."""
    low, high = min(pair[0].at, pair[1].at), max(pair[0].at, pair[1].at)
    margin = 0.1 * (high - low)
    if not min(high - at, at - low) < margin:
        return at, False
    if not (close_before or at >= high or at <= low):
        return at, True
    return (high - margin if abs(at - high) < abs(at - low) else low + margin), False
