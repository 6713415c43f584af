"""The same table for layers over sequences: recurrent ones, attention and transformers."""

from __future__ import annotations

from typing import Any

from tests.answers import choices as st
from tests.answers.drawn import Case, Values, optional, yes_or_no
from tests.answers.drawn_layers import Strategy, strategy

SEQUENCES: dict[str, Strategy] = {}


def with_state(function: Any, x: Any, *state: Any) -> Any:
    if not state:
        return function(x)
    return function(x, state if len(state) > 1 else state[0])


def recurrent(draw: st.Draw, drawn: Values, kind: str) -> Case:
    length, width, hidden = draw(st.tuples(*[st.integers(1, 4)] * 3))
    options = draw(
        optional(num_layers=st.integers(1, 3), bias=yes_or_no, batch_first=yes_or_no, bidirectional=yes_or_no)
    )
    if kind == "RNN":
        options |= draw(optional(nonlinearity=st.sampled_from(["tanh", "relu"])))
    if kind == "LSTM":
        options |= draw(optional(proj_size=st.integers(0, hidden)))
    many = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    batch = draw(st.sampled_from([(), (1,), (3,)]))
    shape = (*batch, length, width) if options.get("batch_first") else (length, *batch, width)
    state: list[Any] = []
    if draw(yes_or_no):
        state = [drawn(many, *batch, options.get("proj_size") or hidden, number=1)]
        state += [drawn(many, *batch, hidden, number=2)] if kind == "LSTM" else []
    return Case((drawn(*shape), *state), (width, hidden), options, call=with_state)


def cell(draw: st.Draw, drawn: Values, kind: str) -> Case:
    width, hidden = draw(st.tuples(*[st.integers(1, 4)] * 2))
    batch = draw(st.sampled_from([(), (1,), (3,)]))
    more = {"nonlinearity": st.sampled_from(["tanh", "relu"])} if kind == "RNN" else {}
    count = draw(st.sampled_from([0, 2 if kind == "LSTM" else 1]))
    state = [drawn(*batch, hidden, number=n + 1) for n in range(count)]
    options = draw(optional(bias=yes_or_no, **more))
    return Case((drawn(*batch, width), *state), (width, hidden), options, call=with_state)


for _kind in ("RNN", "LSTM", "GRU"):
    SEQUENCES[_kind] = strategy(recurrent, kind=_kind)
    SEQUENCES[f"{_kind}Cell"] = strategy(cell, kind=_kind)


def attention(draw: st.Draw, drawn: Values) -> Case:
    heads = draw(st.integers(1, 3))
    width = heads * draw(st.integers(1, 3)) + draw(st.sampled_from([0] * 7 + [1]))
    options = draw(
        optional(
            bias=yes_or_no,
            add_bias_kv=yes_or_no,
            add_zero_attn=yes_or_no,
            kdim=st.integers(1, 4),
            vdim=st.integers(1, 4),
            batch_first=yes_or_no,
        )
    )
    queries, keys = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    batch = draw(st.sampled_from([(), (1,), (2,)]))

    def sequence(length: int, features: int, number: int) -> Any:
        shape = (*batch, length, features) if options.get("batch_first") else (length, *batch, features)
        return drawn(*shape, number=number)

    inputs = (
        sequence(queries, width, 0),
        sequence(keys, options.get("kdim", width), 1),
        sequence(keys, options.get("vdim", width), 2),
    )
    masks = st.sampled_from([(queries, keys), (heads * (batch or (1,))[0], queries, keys)])
    shape = draw(masks)
    given = draw(optional(need_weights=yes_or_no, average_attn_weights=yes_or_no))
    mask = draw(st.sampled_from([None, drawn.mask(*shape, number=3), drawn(*shape, number=3)]))
    padding = draw(st.sampled_from([None, drawn.mask(*batch, keys, number=4)]))
    given |= {} if mask is None else {"attn_mask": mask}
    given |= {} if padding is None else {"key_padding_mask": padding}
    return Case(inputs, (width, heads), options, given)


SEQUENCES["MultiheadAttention"] = strategy(attention)


def encoder(library: Any, args: tuple[Any, ...], options: dict[str, Any], count: int, normed: bool) -> Any:
    """Make the encoder, which is made with a layer instead of options."""
    nn = library.nn
    one = nn.TransformerEncoderLayer(*args, **options)
    norm = nn.LayerNorm(args[0]) if normed else None
    return nn.TransformerEncoder(one, count, norm, enable_nested_tensor=False)


def transformer(draw: st.Draw, drawn: Values, layers: bool) -> Case:
    heads = draw(st.integers(1, 2))
    width = heads * draw(st.integers(1, 3))
    options = draw(
        optional(
            activation=st.sampled_from(["relu", "gelu", "tanh"]),
            layer_norm_eps=st.sampled_from([1e-5, 1e-3]),
            batch_first=yes_or_no,
            norm_first=yes_or_no,
            bias=yes_or_no,
        )
    )
    length, batch = draw(st.integers(1, 4)), draw(st.sampled_from([(), (1,), (2,)]))
    shape = (*batch, length, width) if options.get("batch_first") else (length, *batch, width)
    mask = draw(st.sampled_from([None, drawn.mask(length, length), drawn(length, length, number=3)]))
    padding = draw(st.sampled_from([None, drawn.mask(*batch, length, number=4)]))
    given = {} if mask is None else {"mask" if layers else "src_mask": mask}
    given |= {} if padding is None else {"src_key_padding_mask": padding}
    args = (width, heads, draw(st.integers(1, 5)), 0.0)
    if not layers:
        return Case((drawn(*shape),), args, options, given)
    return Case(
        (drawn(*shape),), (args, options, draw(st.integers(1, 2)), draw(yes_or_no)), {}, given, make=encoder
    )


SEQUENCES["TransformerEncoderLayer"] = strategy(transformer, layers=False)
SEQUENCES["TransformerEncoder"] = strategy(transformer, layers=True)
