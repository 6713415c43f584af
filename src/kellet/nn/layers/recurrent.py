"""Layers that remember: RNN, LSTM and GRU over sequences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

from ... import core
from ...core import Tensor
from ...errors import ShapeError
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .recurrent_cells import (
    BIASES,
    State,
    check_nonlinearity,
    gru_step,
    lstm_step,
    run,
    run_backwards,
)


class _Recurrent(Module):
    """The base of recurrent layers of all kinds.

    Parameters are `weight_ih_l0` (gates * hidden_size, input_size), `weight_hh_l0` (gates * hidden_size,
    hidden_size), `bias_ih_l0` and `bias_hh_l0`, with the number of the layer at the end, and `_reverse` for
    the other direction.
    """

    _gates: int
    _parts = 1  # of a state

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_sizes(hidden_size, num_layers, dropout, proj_size, mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        for layer, suffix in self._places():
            width = self.input_size if layer == 0 else self._output_size * self._directions
            for name, shape in self._shapes(width).items():
                parameter = Parameter(core.empty(*shape, device=device, dtype=dtype))
                self.register_parameter(f"{name}{suffix}", parameter)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _places(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each layer, with the end of its parameters' names in each direction."""
        for layer in range(self.num_layers):
            yield layer, f"_l{layer}"
            if self.bidirectional:
                yield layer, f"_l{layer}_reverse"

    def _shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        rows = self._gates * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, width),
            "weight_hh": (rows, self._output_size),
        }
        if self.bias:
            shapes.update(dict.fromkeys(BIASES, (rows,)))
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [
            [getattr(self, f"{name}{suffix}") for name in self._shapes(0)] for _, suffix in self._places()
        ]

    def reset_parameters(self) -> None:
        """Draw new weights, uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Do nothing: PyTorch lays out weights for its GPU libraries here."""

    def _step(self, projected: Tensor, state: State, weights: Any) -> State:
        """Return the state after one step; `projected` is the input's part of the gates."""
        raise NotImplementedError

    def _forward(self, input: Any, first: State | None) -> tuple[Any, State]:
        if isinstance(input, PackedSequence):
            return self._over_packed(input, first)
        if input.dim() not in (2, 3):
            raise ShapeError(f"{self.mode}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        is_batch = input.dim() == 3
        steps = input if is_batch else input.unsqueeze(1)
        steps = steps.transpose(0, 1) if is_batch and self.batch_first else steps
        if first is not None:
            first = tuple(self._with_batch(part, is_batch) for part in first)
        length, count, width = steps.shape
        rows, last = self._layers(steps.reshape(length * count, width), [count] * length, first)
        output = rows.reshape(length, count, rows.shape[1])
        if not is_batch:
            return output.squeeze(1), tuple(part.squeeze(1) for part in last)
        return output.transpose(0, 1) if self.batch_first else output, last

    def _with_batch(self, part: Tensor, is_batch: bool) -> Tensor:
        if part.dim() != (3 if is_batch else 2):
            raise ShapeError(
                f"For {'batched 3-D' if is_batch else 'unbatched 2-D'} input, hx should also be "
                f"{3 if is_batch else 2}-D but got {part.dim()}-D tensor"
            )
        return part if is_batch else part.unsqueeze(1)

    def _over_packed(self, input: PackedSequence, first: State | None) -> tuple[PackedSequence, State]:
        if first is not None and input.sorted_indices is not None:
            first = tuple(part.index_select(1, input.sorted_indices) for part in first)
        rows, last = self._layers(input.data, input.batch_sizes.tolist(), first)
        if input.unsorted_indices is not None:
            last = tuple(part.index_select(1, input.unsorted_indices) for part in last)
        return input._replace(data=rows), last

    def _layers(self, rows: Tensor, counts: list[int], first: State | None) -> tuple[Tensor, State]:
        """Run all layers over the rows of all steps, of which each step has as many as `counts` says."""
        if rows.shape[-1] != self.input_size:
            raise ShapeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{rows.shape[-1]}"
            )
        first = self._checked(first, rows, counts[0])
        last: list[State] = []
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                rows = F.dropout(rows, self.dropout)
            outputs = []
            for direction in range(self._directions):
                place = layer * self._directions + direction
                start = tuple(part[place] for part in first)
                output, end = self._direction(rows, counts, start, place, backwards=direction == 1)
                outputs.append(output)
                last.append(end)
            rows = core.cat(outputs, 1) if len(outputs) > 1 else outputs[0]
        return rows, tuple(core.stack(list(parts)) for parts in zip(*last, strict=True))

    def _checked(self, first: State | None, rows: Tensor, count: int) -> State:
        sizes = [self._output_size, self.hidden_size][: self._parts]
        shapes = [(self.num_layers * self._directions, count, size) for size in sizes]
        if first is None:
            return tuple(core.zeros(*shape, dtype=rows.dtype) for shape in shapes)
        if len(first) != self._parts:
            raise ValueError(f"LSTM: hx must be a pair (h, c), got {len(first)} values")
        for number, (part, shape) in enumerate(zip(first, shapes, strict=True)):
            if tuple(part.shape) != shape:
                raise ShapeError(f"Expected hidden[{number}] size {shape}, got {tuple(part.shape)}")
        return first

    def _direction(
        self, rows: Tensor, counts: list[int], state: State, place: int, *, backwards: bool
    ) -> tuple[Tensor, State]:
        weights = dict(zip(self._shapes(0), self.all_weights[place], strict=True))
        # One product for the inputs of all steps; only what the state takes part in goes step by step.
        projected = F.linear(rows, weights["weight_ih"], weights.get("bias_ih"))
        go = run_backwards if backwards else run
        outputs, last = go(self._step, projected, counts, state, weights)
        return core.cat(outputs), last

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0.0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class RNN(_Recurrent):
    """`h = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)` along a sequence, in several layers.

    Input (L, N, input_size), with `batch_first` (N, L, input_size), without a batch (L, input_size), or a
    PackedSequence; `hx` (layers * directions, N, hidden_size), zeros when left out. Returns the outputs of
    the last layer, both directions side by side, and the last `h` of each layer and direction. `nonlinearity`
    is "tanh" or "relu"; `dropout` acts between layers.

    Raises ShapeError (also ValueError) for inputs and states that do not fit, ValueError for other options.

    Source: torch.nn.RNN.

    >>> output, h = kellet.nn.RNN(3, 4, num_layers=2)(kellet.ones(5, 2, 3))
    >>> output.shape, h.shape
    ((5, 2, 4), (2, 2, 4))
    """

    _gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        check_nonlinearity(nonlinearity)
        sizes = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(f"RNN_{nonlinearity.upper()}", *sizes, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def _step(self, projected: Tensor, state: State, weights: Any) -> State:
        inner = projected + F.linear(state[0], weights["weight_hh"], weights.get("bias_hh"))
        return (inner.tanh() if self.nonlinearity == "tanh" else F.relu(inner),)

    def forward(self, input: object, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, last = self._forward(input, None if hx is None else (hx,))
        return output, last[0]


class LSTM(_Recurrent):
    """Long short-term memory along a sequence, in several layers.

    Input, output and options as RNN; the state is a pair `(h, c)`, and with `proj_size` h is projected to
    that many values by `weight_hr_l0`. The gates stand in the order input, forget, cell, output.

    Raises ShapeError (also ValueError) for inputs and states that do not fit, ValueError for other options.

    Source: torch.nn.LSTM.

    >>> output, (h, c) = kellet.nn.LSTM(3, 4, bidirectional=True)(kellet.ones(5, 2, 3))
    >>> output.shape, h.shape, c.shape
    ((5, 2, 8), (2, 2, 4), (2, 2, 4))
    """

    _gates = 4
    _parts = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size)
        super().__init__("LSTM", *sizes, device=device, dtype=dtype)

    def _step(self, projected: Tensor, state: State, weights: Any) -> State:
        h, c = state
        h, c = lstm_step(projected + F.linear(h, weights["weight_hh"], weights.get("bias_hh")), c)
        return (F.linear(h, weights["weight_hr"]) if self.proj_size else h, c)

    def forward(
        self, input: object, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        output, (h, c) = self._forward(input, hx)
        return output, (h, c)


class GRU(_Recurrent):
    """Gated recurrent units along a sequence, in several layers.

    Input, state, output and options as RNN. The gates stand in the order reset, update, new.

    Raises ShapeError (also ValueError) for inputs and states that do not fit, ValueError for other options.

    Source: torch.nn.GRU.

    >>> output, h = kellet.nn.GRU(3, 4, batch_first=True)(kellet.ones(2, 5, 3))
    >>> output.shape, h.shape
    ((2, 5, 4), (1, 2, 4))
    """

    _gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__("GRU", *sizes, device=device, dtype=dtype)

    def _step(self, projected: Tensor, state: State, weights: Any) -> State:
        return (gru_step(projected, state[0], weights["weight_hh"], weights.get("bias_hh")),)

    def forward(self, input: object, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, last = self._forward(input, None if hx is None else (hx,))
        return output, last[0]


# --- checks ---


def _check_sizes(hidden: int, layers: int, dropout: float, projected: int, mode: str) -> None:
    if isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being "
            f"zeroed, but got {dropout}"
        )
    if dropout > 0 and layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={layers}",
            stacklevel=4,
        )
    if hidden <= 0:
        raise ValueError(f"hidden_size must be greater than zero, but got {hidden}")
    if layers <= 0:
        raise ValueError(f"num_layers must be greater than zero, but got {layers}")
    if not 0 <= projected < hidden:
        raise ValueError(
            f"proj_size has to be a positive integer, smaller than hidden_size, but got {projected}"
        )
