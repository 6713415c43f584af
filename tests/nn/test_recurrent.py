"""Recurrent layers: what one step computes, what packing leaves out, and what an archive gives back.

All are held against PyTorch's in tests/answers/recurrent.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from kellet.errors import ShapeError
from kellet.nn.utils import rnn
from kellet.testing import gradcheck


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def arrays(module: nn.Module) -> list[Any]:
    return [parameter.detach().numpy() for parameter in module.parameters()]


def test_one_step_of_each_kind_by_hand() -> None:
    x, h, c = np.float64([[1, -2]]), np.float64([[0.5, 0, -1]]), np.float64([[1, 2, 3]])
    given = {name: kellet.from_numpy(value) for name, value in {"x": x, "h": h, "c": c}.items()}

    cell = nn.RNNCell(2, 3).double()
    w, u, b, d = arrays(cell)
    np.testing.assert_allclose(
        cell(given["x"], given["h"]).detach().numpy(), np.tanh(x @ w.T + b + h @ u.T + d), rtol=1e-12
    )
    lstm = nn.LSTMCell(2, 3).double()
    w, u, b, d = arrays(lstm)
    i, f, g, o = np.split(x @ w.T + b + h @ u.T + d, 4, 1)
    later = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    found_h, found_c = lstm(given["x"], (given["h"], given["c"]))
    np.testing.assert_allclose(found_c.detach().numpy(), later, rtol=1e-12)
    np.testing.assert_allclose(found_h.detach().numpy(), sigmoid(o) * np.tanh(later), rtol=1e-12)

    gru = nn.GRUCell(2, 3).double()
    w, u, b, d = arrays(gru)
    (r, z, n), (hr, hz, hn) = np.split(x @ w.T + b, 3, 1), np.split(h @ u.T + d, 3, 1)
    new = np.tanh(n + sigmoid(r + hr) * hn)
    update = sigmoid(z + hz)
    np.testing.assert_allclose(
        gru(given["x"], given["h"]).detach().numpy(), (1 - update) * new + update * h, rtol=1e-12
    )


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_a_packed_sequence_gives_what_each_sequence_gives_alone(kind: type[nn.Module]) -> None:
    layer = kind(2, 3, num_layers=2, bidirectional=True).double()  # type: ignore[arg-type]  # a class of layers
    several = [kellet.randn(length, 2, dtype=kellet.float64) for length in (2, 5, 3)]
    output, last = layer(rnn.pack_sequence(several, enforce_sorted=False))
    last = last if isinstance(last, tuple) else (last,)
    for place, (sequence, found) in enumerate(zip(several, rnn.unpack_sequence(output), strict=True)):
        expected, ends = layer(sequence)
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
        for part, end in zip(last, ends if isinstance(ends, tuple) else (ends,), strict=True):
            np.testing.assert_allclose(part[:, place].detach().numpy(), end.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_gradients_are_those_of_the_numbers(kind: type[nn.Module]) -> None:
    layer = kind(2, 2, bidirectional=True).double()  # type: ignore[arg-type]  # a class of layers
    x = kellet.randn(3, 2, 2, dtype=kellet.float64, requires_grad=True)
    assert gradcheck(lambda x, *weights: layer(x)[0], (x, *layer.parameters()))


def test_what_does_not_fit_is_refused_with_both_numbers() -> None:
    layer = nn.LSTM(3, 4)
    with pytest.raises(ShapeError, match="Expected 3, got 7"):
        layer(kellet.ones(5, 2, 7))
    with pytest.raises(ShapeError, match=r"Expected hidden\[1\] size \(1, 2, 4\), got \(1, 2, 5\)"):
        layer(kellet.ones(5, 2, 3), (kellet.ones(1, 2, 4), kellet.ones(1, 2, 5)))
    with pytest.raises(ShapeError, match="hx should also be 2-D but got 3-D"):
        layer(kellet.ones(5, 3), (kellet.ones(1, 2, 4), kellet.ones(1, 2, 4)))
    with pytest.raises(ShapeError, match=r"hidden0 has shape \(2, 5\), expected \(2, 4\)"):
        nn.GRUCell(3, 4)(kellet.ones(2, 3), kellet.ones(2, 5))
    with pytest.raises(ValueError, match="padding_side is 'middle'"):
        rnn.pad_sequence([kellet.ones(2)], padding_side="middle")
    with pytest.raises(ValueError, match="found no sequences"):
        rnn.pad_sequence([])
    with pytest.raises(RuntimeError, match="found a length of 4; expected at most 3"):
        rnn.pack_padded_sequence(kellet.ones(3, 1), [4])


def test_sequences_are_padded_to_the_length_of_the_longest_and_to_more_but_not_to_less() -> None:
    packed = rnn.pack_sequence([kellet.ones(3), kellet.ones(2)])
    for total, rows in ((None, 3), (3, 3), (4, 4)):
        assert rnn.pad_packed_sequence(packed, total_length=total)[0].shape == (rows, 2)
    with pytest.raises(ValueError, match="total_length=2 and max sequence length being 3"):
        rnn.pad_packed_sequence(packed, total_length=2)
