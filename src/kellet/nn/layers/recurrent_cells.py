"""Cells of recurrent layers: one step."""

from __future__ import annotations

import math
from typing import Any

from ... import core
from ...core import Tensor
from ...errors import ShapeError
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter
from .recurrent_steps import BIASES, State, check_nonlinearity, gru_step, lstm_step


class _Cell(Module):
    """What cells of all kinds share: one step, with `weight_ih`, `weight_hh`, `bias_ih` and `bias_hh`."""

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

    Raises ShapeError (also ValueError) for what does not fit, ValueError for another `nonlinearity`.

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

    Raises ShapeError (also ValueError) for what does not fit.

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

    Raises ShapeError (also ValueError) for what does not fit.

    Source: torch.nn.GRUCell.

    >>> kellet.nn.GRUCell(3, 4)(kellet.ones(2, 3)).shape
    (2, 4)
    """

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        rows, (h,) = self._ready(input, None if hx is None else (hx,))
        return self._alike(input, gru_step(self._of_input(rows), h, self.weight_hh, self.bias_hh))
