"""Steps whose values are computed anew in backward instead of being kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..autograd import enable_grad, graph
from ..errors import GradientError
from .random import get_rng_state, set_rng_state


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Return `function(*args, **kwargs)`; backward runs it again for the values it needs.

    The second run starts from the same random numbers unless `preserve_rng_state` is False. It must save
    as many tensors, of the same shapes, as the first.

    Raises GradientError, in backward, where the second run differs.

    Source: torch.utils.checkpoint.checkpoint; `use_reentrant` is accepted and ignored: kellet works as
    with `use_reentrant=False`.

    >>> from kellet.utils.checkpoint import checkpoint
    >>> x = kellet.ones(2, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sin(), x).sum().backward()
    >>> x.grad
    tensor([-2.4784, -2.4784])
    """
    run = _Recomputed(function, args, kwargs, get_rng_state() if preserve_rng_state else None)
    with graph.saved_tensors_hooks(run.note, run.find):
        return function(*args, **kwargs)


class _Recomputed:
    """One use of `checkpoint`: what the first run saved, by shape; the values, once they are asked for."""

    def __init__(self, function: Any, args: Any, kwargs: Any, random: Any) -> None:
        self._call = (function, args, kwargs)
        self._random = random
        self._shapes: list[Any] = []
        self._values: list[Any] = []

    def note(self, tensor: Any) -> int:
        self._shapes.append((tuple(tensor.shape), tensor.dtype))
        return len(self._shapes) - 1

    def find(self, place: int) -> Any:
        if not self._values:
            self._run_again()
        return self._values[place]

    def _run_again(self) -> None:
        function, args, kwargs = self._call
        found: list[Any] = []
        now = get_rng_state()
        try:
            if self._random is not None:
                set_rng_state(self._random)
            with (
                enable_grad(),
                graph.saved_tensors_hooks(lambda one: found.append(one.detach()), lambda one: one),
            ):
                function(*args, **kwargs)
        finally:
            set_rng_state(now)
        shapes = [(tuple(one.shape), one.dtype) for one in found]
        if shapes != self._shapes:
            raise GradientError(
                f"checkpoint: the second run saved {shapes}, the first {self._shapes}; the function must do "
                "the same each time"
            )
        self._values = found


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]],
    segments: int,
    input: object,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Apply functions one after the other, in `segments` that are each a `checkpoint`, but for the last.

    Source: torch.utils.checkpoint.checkpoint_sequential.

    >>> from kellet import nn
    >>> from kellet.utils.checkpoint import checkpoint_sequential
    >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> checkpoint_sequential(net, 2, kellet.ones(5, 2)).shape
    (5, 1)
    """
    steps = list(functions)
    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(_chain, steps[start : start + size], input, preserve_rng_state=preserve_rng_state)
    return _chain(steps[size * (segments - 1) :], input)


def _chain(steps: Iterable[Callable[[Any], Any]], value: Any) -> Any:
    for step in steps:
        value = step(value)
    return value
