"""Recurrent layers against torch's: outputs, states, all gradients, padded and packed; and packing itself."""

import pytest

pytest.importorskip("torch")

import re

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import kellet
from kellet import nn

BOTH = ((kellet, nn), (torch, torch.nn))
TOLERANCE = {"float32": 2e-5, "float64": 1e-10}
KINDS = ("RNN", "LSTM", "GRU")


def close(ours, theirs, dtype, what):
    expected, found = theirs.detach().numpy(), ours.detach().numpy()
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), what
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], err_msg=what)


def pair(kind, sizes, options, dtype):
    torch.manual_seed(0)
    theirs = getattr(torch.nn, kind)(*sizes, **options).to(getattr(torch, dtype))
    ours = getattr(nn, kind)(*sizes, **options).to(getattr(kellet, dtype))
    state = {name: kellet.from_numpy(value.numpy().copy()) for name, value in theirs.state_dict().items()}
    assert ours.load_state_dict(state) == ([], [])
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    return ours, theirs


def flat(result):
    if isinstance(result, tuple) and not hasattr(result, "data"):
        return [tensor for part in result for tensor in flat(part)]
    return (
        [result.data if isinstance(result, nn.utils.rnn.PackedSequence) else result]
        if not isinstance(result, torch.nn.utils.rnn.PackedSequence)
        else [result.data]
    )


def compare(modules, inputs, states, call, dtype):
    """Call both modules, compare all that they return, and the gradients of all that went in."""
    results = []
    for (library, _), module in zip(BOTH, modules, strict=True):
        leaves = [library.from_numpy(value.copy()).requires_grad_() for value in (inputs, *states)]
        outputs = flat(call(library, module, *leaves))
        rng = np.random.default_rng(3)
        loss = 0.0
        for output in outputs:
            loss = loss + (output * library.from_numpy(rng.standard_normal(output.shape).astype(dtype))).sum()
        loss.backward()
        results.append((outputs, leaves, dict(module.named_parameters())))
    (ours, our_leaves, our_weights), (theirs, their_leaves, their_weights) = results
    assert len(ours) == len(theirs)
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        close(mine, other, dtype, f"output {number}")
    for number, (mine, other) in enumerate(zip(our_leaves, their_leaves, strict=True)):
        close(mine.grad, other.grad, dtype, f"gradient of input {number}")
    for name, other in their_weights.items():
        close(our_weights[name].grad, other.grad, dtype, f"gradient of {name}")


def states_of(kind, options, count, hidden, rng, dtype):
    layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    first = rng.standard_normal((layers, count, options.get("proj_size") or hidden)).astype(dtype)
    if kind != "LSTM":
        return [first]
    return [first, rng.standard_normal((layers, count, hidden)).astype(dtype)]


def called(kind, packed=None):
    def call(library, module, x, *state):
        if packed is not None:
            utils = (nn if library is kellet else torch.nn).utils.rnn
            x = utils.pack_padded_sequence(x, packed, module.batch_first, enforce_sorted=False)
        given_state = (state if kind == "LSTM" else state[0]) if state else None
        return module(x, given_state)

    return call


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN:UserWarning")
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(list(TOLERANCE)),
    st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.integers(2, 4)),
    st.fixed_dictionaries(
        {},
        optional={
            "num_layers": st.sampled_from([2, 3]),
            "bias": st.just(False),
            "batch_first": st.just(True),
            "bidirectional": st.just(True),
        },
    ),
    st.booleans(),
    st.sampled_from(["padded", "packed", "alone"]),
    st.data(),
)
def test_sequences_go_through_as_in_torch(kind, dtype, sizes, options, with_state, form, data):
    length, count, width, hidden = sizes
    if kind == "LSTM" and data.draw(st.booleans()):
        options = {**options, "proj_size": data.draw(st.integers(1, hidden - 1))}
    if kind == "RNN" and data.draw(st.booleans()):
        options = {**options, "nonlinearity": "relu"}
    rng = np.random.default_rng(7)
    shape = (count, length, width) if options.get("batch_first") else (length, count, width)
    packed = None
    if form == "packed":
        packed = data.draw(st.lists(st.integers(1, length), min_size=count, max_size=count))
    states = states_of(kind, options, count, hidden, rng, dtype) if with_state else []
    if form == "alone":
        shape, states = (length, width), [state[:, 0] for state in states]
    inputs = rng.standard_normal(shape).astype(dtype)
    modules = pair(kind, (width, hidden), options, dtype)
    compare(modules, inputs, states, called(kind, packed), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("options", [{}, {"bias": False}])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [None, 3])
def test_cells_make_one_step_as_in_torch(kind, options, dtype, count):
    rng = np.random.default_rng(1)
    batch = () if count is None else (count,)
    inputs = rng.standard_normal((*batch, 4)).astype(dtype)
    states = [rng.standard_normal((*batch, 5)).astype(dtype) for _ in range(2 if kind == "LSTM" else 1)]
    modules = pair(f"{kind}Cell", (4, 5), options, dtype)
    compare(modules, inputs, states, called(kind), dtype)
    compare(modules := pair(f"{kind}Cell", (4, 5), options, dtype), inputs, [], called(kind), dtype)


def test_a_relu_cell_and_its_text_are_torchs():
    modules = pair("RNNCell", (2, 3), {"nonlinearity": "relu", "bias": False}, "float64")
    compare(modules, np.ones((2, 2)), [np.ones((2, 3))], called("RNN"), "float64")


def test_dropout_acts_between_layers_in_training_alone():
    kellet.manual_seed(0)
    lstm = nn.LSTM(3, 6, num_layers=2, dropout=0.5)
    x = kellet.ones(4, 2, 3)
    first, second = lstm(x)[0], lstm(x)[0]
    assert first.tolist() != second.tolist()
    lstm.eval()
    assert lstm(x)[0].tolist() == lstm(x)[0].tolist()
    for _, layers in BOTH:
        with pytest.warns(UserWarning, match=r"but got dropout=0\.5 and num_layers=1"):
            layers.GRU(3, 4, dropout=0.5)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=5),
    st.sampled_from([(), (2,), (2, 3)]),
    st.booleans(),
    st.sampled_from([None, 7]),
    st.sampled_from(["right", "left"]),
)
def test_packing_and_padding_are_torchs(lengths, rest, batch_first, total, side):
    rng = np.random.default_rng(2)
    arrays = [rng.standard_normal((length, *rest)) for length in lengths]
    found = []
    for library, layers in BOTH:
        rnn = layers.utils.rnn
        sequences = [library.from_numpy(array.copy()) for array in arrays]
        packed = rnn.pack_sequence(sequences, enforce_sorted=False)
        padded, counts = rnn.pad_packed_sequence(packed, batch_first, -1.0, total)
        side_by_side = rnn.pad_sequence(sequences, batch_first, 2.0, side)
        again = rnn.unpack_sequence(packed)
        found.append(
            [
                *(part.tolist() for part in packed),
                padded.tolist(),
                counts.tolist(),
                side_by_side.tolist(),
                [sequence.tolist() for sequence in again],
                [s.tolist() for s in rnn.unpad_sequence(padded, counts, batch_first)],
            ]
        )
    assert found[0] == found[1]


@pytest.mark.parametrize(("library", "layers"), BOTH, ids=["kellet", "torch"])
def test_what_does_not_fit_is_refused(library, layers):
    rnn, lstm = layers.utils.rnn, layers.LSTM(3, 4)
    for call, message in (
        (
            lambda: rnn.pack_padded_sequence(library.ones(3, 2, 1), [1, 3]),
            "must be sorted in decreasing order",
        ),
        (lambda: rnn.pack_padded_sequence(library.ones(3, 2, 1), [3, 0]), "has to be greater than 0"),
        (lambda: rnn.pack_padded_sequence(library.ones(3, 2, 1), [3]), "to be equal to batch_size"),
        (
            lambda: rnn.pad_packed_sequence(rnn.pack_sequence([library.ones(3)]), total_length=2),
            "total_length=2",
        ),
        (lambda: lstm(library.ones(5)), "to be 2D or 3D, got 1D"),
        (lambda: lstm(library.ones(5, 2, 7)), "Expected 3, got 7"),
        (lambda: layers.GRU(3, 4)(library.ones(5, 2, 3), library.ones(1, 9, 4)), "(1, 2, 4)"),
        (
            lambda: layers.GRU(3, 4)(library.ones(5, 2, 3), library.ones(1, 4)),
            "hx should also be 3-D but got 2-D",
        ),
        (lambda: layers.GRUCell(3, 4)(library.ones(2, 5)), "input has inconsistent input_size"),
        (lambda: layers.LSTM(3, 4, proj_size=4), "smaller than hidden_size"),
        (lambda: layers.RNN(3, 0), "hidden_size must be greater than zero"),
        (lambda: layers.RNN(3, 4, num_layers=0), "num_layers must be greater than zero"),
        (lambda: layers.RNN(3, 4, nonlinearity="sine"), "Unknown nonlinearity 'sine'"),
        (lambda: layers.RNN(3, 4, dropout=2.0), r"dropout should be a number in range [0, 1]"),
    ):
        with pytest.raises((ValueError, RuntimeError), match=re.escape(message)):
            call()
