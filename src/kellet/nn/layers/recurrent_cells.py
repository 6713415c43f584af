"""Cells of recurrent layers: one step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from ... import core
from ...core import Tensor
from ...errors import ShapeError
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter


class _Cell(Module):
    """The base of cells of all kinds: one step, with `weight_ih`, `weight_hh`, `bias_ih` and `bias_hh`."""

    _gates: int
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = self._gates * hidden_size
        self.weight_ih = Parameter(core.empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(core.empty(rows, hidden_size, device=device, dtype=dtype))
        for name in BIASES:
            made = Parameter(core.empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _ready(self, input: Tensor, state: State | None, parts: int = 1) -> tuple[Tensor, State]:
        """Return the input and the state, both with a batch."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ShapeError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        rows = input if input.dim() == 2 else input.unsqueeze(0)
        if rows.shape[1] != self.input_size:
            raise ShapeError(
                f"input has inconsistent input_size: got {rows.shape[1]}, expected {self.input_size}"
            )
        if state is None:
            zeros = core.zeros(rows.shape[0], self.hidden_size, dtype=input.dtype)
            state = (zeros,) * parts
        elif any(part.dim() != input.dim() for part in state):
            raise ShapeError(f"{name}: Expected hx of {input.dim()}D, as the input, got {state[0].dim()}D")
        elif input.dim() == 1:
            state = tuple(part.unsqueeze(0) for part in state)
        for number, part in enumerate(state):
            if tuple(part.shape) != (rows.shape[0], self.hidden_size):
                raise ShapeError(
                    f"hidden{number} has shape {tuple(part.shape)}, expected "
                    f"{(rows.shape[0], self.hidden_size)}"
                )
        return rows, state

    def _of_input(self, rows: Tensor) -> Tensor:
        return F.linear(rows, self.weight_ih, self.bias_ih)

    def _of_state(self, h: Tensor) -> Tensor:
        return F.linear(h, self.weight_hh, self.bias_hh)

    def _alike(self, input: Tensor, part: Tensor) -> Tensor:
        return part if input.dim() == 2 else part.squeeze(0)

    def extra_repr(self) -> str:
        bias = "" if self.bias else f", bias={self.bias}"
        return f"{self.input_size}, {self.hidden_size}{bias}"


class RNNCell(_Cell):
    """One step of an RNN: input (N, input_size) and hx (N, hidden_size), or both without N; returns h.

    Raises ShapeError (also ValueError) for shapes that do not fit, ValueError for another `nonlinearity`.

    Source: torch.nn.RNNCell.

    >>> kellet.nn.RNNCell(3, 4)(kellet.ones(2, 3)).shape
    (2, 4)
    """

    _gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        check_nonlinearity(nonlinearity)
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        rows, (h,) = self._ready(input, None if hx is None else (hx,))
        entering = self._of_state(h)  # first, as in PyTorch: hooks run in the reversed order
        inner = self._of_input(rows) + entering
        return self._alike(input, inner.tanh() if self.nonlinearity == "tanh" else F.relu(inner))

    def extra_repr(self) -> str:
        other = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return f"{super().extra_repr()}{other}"


class LSTMCell(_Cell):
    """One step of an LSTM: input (N, input_size) and a pair of (N, hidden_size), or all without N.

    Returns the pair (h, c).

    Raises ShapeError (also ValueError) for shapes that do not fit.

    Source: torch.nn.LSTMCell.

    >>> h, c = kellet.nn.LSTMCell(3, 4)(kellet.ones(2, 3))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    _gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        rows, (h, c) = self._ready(input, hx, 2)
        entering = self._of_state(h)  # first, as in PyTorch: hooks run in the reversed order
        h, c = lstm_step(self._of_input(rows) + entering, c)
        return self._alike(input, h), self._alike(input, c)


class GRUCell(_Cell):
    """One step of a GRU: input (N, input_size) and hx (N, hidden_size), or both without N; returns h.

    Raises ShapeError (also ValueError) for shapes that do not fit.

    Source: torch.nn.GRUCell.

    >>> kellet.nn.GRUCell(3, 4)(kellet.ones(2, 3)).shape
    (2, 4)
    """

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        rows, (h,) = self._ready(input, None if hx is None else (hx,))
        return self._alike(input, gru_step(self._of_input(rows), h, self.weight_hh, self.bias_hh))


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
    step: Step, projected: Tensor, counts: list[int], state: State, weights: object
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
    step: Step, projected: Tensor, counts: list[int], first: State, weights: object
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
    """Raise ValueError for a name other than "tanh" and "relu"."""
    if name not in ("tanh", "relu"):
        raise ValueError(f"Unknown nonlinearity '{name}'. Select from 'tanh' or 'relu'.")
