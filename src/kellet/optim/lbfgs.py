"""LBFGS: steps along directions that remember how the gradient changed in the last ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..autograd import enable_grad, no_grad
from ..autograd.bridge import wrap
from ..autograd.variable import bump
from ..core import Tensor
from .line_search import Point, strong_wolfe
from .optimizer import Optimizer
from .stepping import refuse_negative


class LBFGS(Optimizer):
    """A quasi-Newton method: `step(closure)` computes the loss several times, and moves all parameters.

    A step makes up to `max_iter` moves and `max_eval` (1.25 times as many) losses, and ends when the largest
    gradient is below `tolerance_grad`, or moves and losses change by less than `tolerance_change`. The last
    `history_size` changes are remembered. `line_search_fn="strong_wolfe"` looks for the length of each
    move; without it, that is `lr`.

    Raises ValueError for several parameter groups, and for another line search.

    Source: torch.optim.LBFGS; Nocedal and Wright, Numerical Optimization, chapter 7.

    >>> weight = kellet.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = kellet.optim.LBFGS([weight], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (weight - 1).square().sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> weight.detach().round()
    tensor([1., 1.])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        refuse_negative(learning_rate=lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(f"only 'strong_wolfe' is supported as line_search_fn, got {line_search_fn!r}")
        if history_size < 1:
            raise ValueError(f"history_size must be at least 1, got {history_size}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move the parameters until the step ends; return the loss from before it.

        `closure` forgets the gradients, computes the loss, runs backward and returns the loss. Raises
        TypeError without one.
        """
        if closure is None:
            raise TypeError("LBFGS.step needs a closure that computes the loss anew and returns it")
        with no_grad():
            return _Step(self, enable_grad()(closure)).run()


_REMEMBERED = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class _Step:
    """One call of `step`: what it works with, and what the state remembers between two calls."""

    def __init__(self, optimizer: LBFGS, closure: Callable[[], Any]) -> None:
        self._closure = closure
        self._group = optimizer.param_groups[0]
        self._parameters: list[Tensor] = self._group["params"]
        self._state = optimizer.state[self._parameters[0]]

    def run(self) -> Any:
        """Move until one of the limits is reached."""
        state, group = self._state, self._group
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        original = self._closure()
        evaluations, moves = 1, 0
        state["func_evals"] += 1
        now = Point(0, float(original), self._gradient(), None)
        if self._is_level(now):
            return original
        is_first = "d" not in state
        for name in _REMEMBERED:
            state.setdefault(name, None)
        while moves < group["max_iter"]:
            moves += 1
            state["n_iter"] += 1
            direction = self._direction(now.gradient)
            length = self._first_length(now.gradient)
            slope = now.gradient.dot(direction)
            before = now.loss
            self._remember(now)
            if slope > -group["tolerance_change"]:
                state["t"] = length
                break
            start = Point(0, now.loss, now.gradient, slope)
            last = moves == group["max_iter"]
            now, length, used = self._move(direction, length, start, evaluations, last)
            state["t"] = length
            evaluations += used
            state["func_evals"] += used
            if (
                last
                or evaluations >= group["max_eval"]
                or self._is_level(now)
                or direction.mul(length).abs().max() <= group["tolerance_change"]
                or abs(now.loss - before) < group["tolerance_change"]
            ):
                break
        if is_first:  # PyTorch writes them when the step ends
            state.update({name: state.pop(name) for name in _REMEMBERED})
        return original

    def _is_level(self, point: Point) -> bool:
        return bool(point.gradient.abs().max() <= self._group["tolerance_grad"])

    # --- the direction ----------------------------------------------------------------------------

    def _direction(self, gradient: Any) -> Any:
        """Return the direction to go, after the last move has been added to what is remembered."""
        state = self._state
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            state["d"] = gradient.neg()
            return state["d"]
        change = gradient.sub(state["prev_flat_grad"])
        move = state["d"].mul(state["t"])
        curvature = change.dot(move)
        if curvature > 1e-10:
            if len(state["old_dirs"]) == self._group["history_size"]:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(change)
            state["old_stps"].append(move)
            state["ro"].append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        state["d"] = self._times_inverse(gradient.neg())
        return state["d"]

    def _times_inverse(self, value: Any) -> Any:
        """`value` times the approximate inverse of the Hessian: two loops over what is remembered."""
        state = self._state
        known = [*zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True)]
        shares = state.setdefault("al", [None] * self._group["history_size"])
        for i in range(len(known) - 1, -1, -1):
            change, move, ratio = known[i]
            shares[i] = move.dot(value) * ratio
            value.add_(change, alpha=-shares[i])
        result = value.mul(state["H_diag"])
        for i, (change, move, ratio) in enumerate(known):
            result.add_(move, alpha=shares[i] - change.dot(result) * ratio)
        return result

    def _first_length(self, gradient: Any) -> Any:
        rate = float(self._group["lr"])
        if self._state["n_iter"] == 1:
            return min(1.0, 1.0 / gradient.abs().sum()) * rate
        return rate

    def _remember(self, point: Point) -> None:
        state = self._state
        known = state.get("prev_flat_grad")
        state["prev_flat_grad"] = point.gradient.clone() if known is None else known.copy_(point.gradient)
        state["prev_loss"] = point.loss

    # --- the move ---------------------------------------------------------------------------------

    def _move(
        self, direction: Any, length: Any, start: Point, evaluations: int, last: bool
    ) -> tuple[Point, Any, int]:
        """Move the parameters; return where they are, how far they went, and how many losses that took."""
        if self._group["line_search_fn"] is None:
            self._add(direction, length)
            if last:
                return start, length, 0
            with enable_grad():
                loss = float(self._closure())
            return Point(length, loss, self._gradient(), None), length, 1
        initial = [parameter._array.copy() for parameter in self._parameters]

        def evaluate(at: Any) -> tuple[float, Any]:
            self._add(direction, at)
            loss = float(self._closure())
            gradient = self._gradient()
            for parameter, values in zip(self._parameters, initial, strict=True):
                parameter.copy_(wrap(values))
            return loss, gradient

        most = self._group["max_eval"] - evaluations
        found, used = strong_wolfe(evaluate, direction, length, start, self._group["tolerance_change"], most)
        self._add(direction, found.at)
        return found, found.at, used

    def _gradient(self) -> Any:
        """All gradients in one row; of complex parameters, real and imaginary parts."""
        return wrap(np.concatenate([_row(p, p.grad) for p in self._parameters]))

    def _add(self, direction: Any, length: Any) -> None:
        """Add `length` times the direction to the parameters."""
        step, start = direction._array, 0
        for parameter in self._parameters:
            values = parameter._array
            part = values.view(values.real.dtype) if values.dtype.kind == "c" else values
            count = part.size
            part += (step[start : start + count] * float(length)).reshape(part.shape).astype(part.dtype)
            bump(parameter)
            start += count


def _row(parameter: Tensor, gradient: Any) -> Any:
    values = np.zeros_like(parameter._array) if gradient is None else gradient._array
    flat = np.array(values).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
