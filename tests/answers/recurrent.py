"""Recurrent layers: outputs, states, all gradients, padded and packed; and packing itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.answers import choices as st
from tests.answers.drawn import Case, play_layer
from tests.answers.refusals import refusal
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance

NEAR = {"float32": 2e-5, "float64": 1e-10}
KINDS = ("RNN", "LSTM", "GRU")


def call_of(library: Any, kind: str, packed: list[int] | None = None) -> Callable[..., Any]:
    """Make a call that takes a state beside the sequence, and packs it where lengths are given."""

    def call(module: Any, x: Any, *state: Any) -> Any:
        if packed is not None:
            utils = library.nn.utils.rnn
            x = utils.pack_padded_sequence(x, packed, module.batch_first, enforce_sorted=False)
        given_state = (state if kind == "LSTM" else state[0]) if state else None
        output, *rest = found if isinstance(found := module(x, given_state), tuple) else (found,)
        return (output.data if packed is not None else output, *rest)

    return call


def states_of(
    kind: str, options: dict[str, Any], count: int, hidden: int, rng: np.random.Generator, dtype: str
) -> list[Any]:
    layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    first = rng.standard_normal((layers, count, options.get("proj_size") or hidden)).astype(dtype)
    if kind != "LSTM":
        return [first]
    return [first, rng.standard_normal((layers, count, hidden)).astype(dtype)]


@st.composite
def sequence(draw: st.Draw) -> tuple[str, Play]:
    kind, dtype = draw(st.sampled_from(KINDS)), draw(st.sampled_from([*NEAR]))
    length, count = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    width, hidden = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    yes = st.just(True)
    several = {"num_layers": st.sampled_from([2, 3]), "bias": st.just(False)}
    options = draw(st.fixed_dictionaries({}, {**several, "batch_first": yes, "bidirectional": yes}))
    if kind == "LSTM" and draw(st.booleans()):
        options = {**options, "proj_size": draw(st.integers(1, hidden - 1))}
    if kind == "RNN" and draw(st.booleans()):
        options = {**options, "nonlinearity": "relu"}
    form = draw(st.sampled_from(["padded", "packed", "alone"]))
    rng = np.random.default_rng(7)
    shape: tuple[int, ...] = (count, length, width) if options.get("batch_first") else (length, count, width)
    packed = draw(st.lists(st.integers(1, length), count, count)) if form == "packed" else None
    states = states_of(kind, options, count, hidden, rng, dtype) if draw(st.booleans()) else []
    if form == "alone":
        shape, states = (length, width), [state[:, 0] for state in states]
    inputs = (rng.standard_normal(shape).astype(dtype), *states)
    return dtype, partial(
        run,
        name=kind,
        kind=kind,
        sizes=(width, hidden),
        options=options,
        inputs=inputs,
        packed=packed,
        dtype=dtype,
    )


def run(
    library: Any,
    name: str,
    kind: str,
    sizes: tuple[int, int],
    options: dict[str, Any],
    inputs: tuple[Any, ...],
    dtype: str,
    packed: list[int] | None = None,
) -> Any:
    case = Case(inputs, sizes, options, call=call_of(library, kind, packed))
    return play_layer(library, name, case, dtype)


def cell(kind: str, options: dict[str, Any], dtype: str, count: int | None, with_state: bool) -> Play:
    rng = np.random.default_rng(1)
    batch = () if count is None else (count,)
    inputs = [rng.standard_normal((*batch, 4)).astype(dtype)]
    if with_state:
        inputs += [rng.standard_normal((*batch, 5)).astype(dtype) for _ in range(2 if kind == "LSTM" else 1)]
    return partial(
        run, name=f"{kind}Cell", kind=kind, sizes=(4, 5), options=options, inputs=tuple(inputs), dtype=dtype
    )


@st.composite
def packing(draw: st.Draw) -> Play:
    lengths = draw(st.lists(st.integers(1, 6), 1, 5))
    rest = draw(st.sampled_from([(), (2,), (2, 3)]))
    total, side = draw(st.sampled_from([None, 6, 7])), draw(st.sampled_from(["right", "left"]))
    return partial(packs, lengths=lengths, rest=rest, batch_first=draw(st.booleans()), total=total, side=side)


def packs(
    library: Any, lengths: list[int], rest: Any, batch_first: bool, total: int | None, side: str
) -> Any:
    rnn, rng = library.nn.utils.rnn, np.random.default_rng(2)
    sequences = [library.from_numpy(rng.standard_normal((length, *rest))) for length in lengths]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    padded, counts = rnn.pad_packed_sequence(packed, batch_first, -1.0, total)
    return [
        *packed,
        padded.clone(),  # torch turns it round where it is unpadded
        counts,
        rnn.pad_sequence(sequences, batch_first, 2.0, side),
        rnn.unpack_sequence(packed),
        rnn.unpad_sequence(padded, counts, batch_first),
    ]


def refusals(library: Any) -> list[Any]:
    layers = library.nn
    rnn, lstm = layers.utils.rnn, layers.LSTM(3, 4)
    calls: list[tuple[Callable[[], Any], str]] = [
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
    ]
    return [refusal(call, re.escape(message)) for call, message in calls]


CASES: dict[str, Play] = {"refused": refusals}
for _number, (_dtype, _play) in enumerate(st.draw_all(sequence(), "sequences", 150)):
    CASES[f"sequences | {_number} | {_dtype}"] = _play
for _kind in KINDS:
    for _options in ({}, {"bias": False}):
        for _count in (None, 3):
            for _with in (False, True):
                for _dtype in NEAR:
                    _name = f"{_kind}Cell | {_options} {_count} {_with} | {_dtype}"
                    CASES[_name] = cell(_kind, _options, _dtype, _count, _with)
CASES["RNNCell | relu | float64"] = cell("RNN", {"nonlinearity": "relu", "bias": False}, "float64", 2, True)
for _number, _play in enumerate(st.draw_all(packing(), "packing", 80)):
    CASES[f"packing | {_number} | float64"] = _play


def near(case: str) -> Tolerance:
    found = NEAR.get(case.rpartition(" | ")[2], 0.0)
    return Tolerance(found, found)


SUBJECT = Subject("recurrent", CASES, near)
