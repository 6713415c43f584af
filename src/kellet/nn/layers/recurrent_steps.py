"""One step of recurrent layers, and all steps of a direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ... import core
from ...core import Tensor
from .. import functional as F

State = tuple[Tensor, ...]
"""What is handed from step to step: (h,), or (h, c) of an LSTM."""

Step = Callable[[Tensor, State, Any], State]

BIASES: Final = ("bias_ih", "bias_hh")


def lstm_step(gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Return (h, c) after one step; `gates` has the parts of the input and of h, summed."""
    entering, forgetting, cell, leaving = gates.chunk(4, 1)
    c = forgetting.sigmoid() * c + entering.sigmoid() * cell.tanh()
    return leaving.sigmoid() * c.tanh(), c


def gru_step(projected: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return h after one step; `projected` is the input's part of the gates."""
    reset_in, update_in, new_in = projected.chunk(3, 1)
    reset_h, update_h, new_h = F.linear(h, weight, bias).chunk(3, 1)
    new = (new_in + (reset_in + reset_h).sigmoid() * new_h).tanh()
    return new + (update_in + update_h).sigmoid() * (h - new)


def run(
    step: Step, projected: Tensor, counts: list[int], state: State, weights: Any
) -> tuple[list[Tensor], State]:
    """Run from the first step to the last; sequences that have ended leave with the state that they have."""
    outputs, ended, start = [], [], 0
    for count in counts:
        if count < state[0].shape[0]:
            ended.append(tuple(part[count:] for part in state))
            state = tuple(part[:count] for part in state)
        state = step(projected[start : start + count], state, weights)
        outputs.append(state[0])
        start += count
    parts = [state, *reversed(ended)]
    return outputs, tuple(core.cat(list(part)) for part in zip(*parts, strict=True)) if ended else state


def run_backwards(
    step: Step, projected: Tensor, counts: list[int], first: State, weights: Any
) -> tuple[list[Tensor], State]:
    """Run from the last step to the first; a sequence enters, with its first state, where it ends."""
    state = tuple(part[: counts[-1]] for part in first)
    outputs, stop = [], projected.shape[0]
    for count in reversed(counts):
        here = state[0].shape[0]
        if count > here:
            state = tuple(core.cat([part, new[here:count]]) for part, new in zip(state, first, strict=True))
        state = step(projected[stop - count : stop], state, weights)
        outputs.append(state[0])
        stop -= count
    return outputs[::-1], state


def check_nonlinearity(name: str) -> None:
    """Raise ValueError for what is neither "tanh" nor "relu"."""
    if name not in ("tanh", "relu"):
        raise ValueError(f"Unknown nonlinearity '{name}'. Select from 'tanh' or 'relu'.")
