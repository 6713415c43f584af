"""Layers, losses and functions of nothing: values, gradients and state, or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.answers.drawn import Case, play_call, play_layer
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance

Shape = tuple[int, ...]


def real(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def whole(*shape: int) -> Any:
    return np.zeros(shape, np.int64)


def of_axes(axes: int, channels: int = 3) -> list[Shape]:
    """An empty batch, one of empty lengths, and nothing without a batch."""
    return [(0, channels, *(5,) * axes), (2, channels, *(5,) * (axes - 1), 0), (0, *(5,) * axes)]


SHAPES: list[Shape] = [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 3, 3)]
PLAIN: list[Shape] = [(0,), (0, 3), (2, 0), (0, 3, 4), (3, 0, 2)]
ANY = (
    "CELU ELU GELU GLU Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish PReLU ReLU ReLU6 "
    "SELU SiLU Sigmoid Softmin Softplus Softsign Tanh Dropout Hardshrink Softshrink Tanhshrink"
).split()
PAIRS = "BCELoss BCEWithLogitsLoss HuberLoss KLDivLoss L1Loss MSELoss SmoothL1Loss HingeEmbeddingLoss".split()


def layers() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]]:
    """Yield the name of each layer, what it is made with, and what it is called with."""
    for name in ANY:
        for shape in PLAIN:
            yield name, (), {}, (real(*shape),)
    for name in ("Softmax", "LogSoftmax"):
        for shape in PLAIN:
            yield name, (), {"dim": 0}, (real(*shape),)
    yield from of_images()
    yield from of_rows()
    yield from of_sequences()
    yield from losses()


def of_images() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]]:
    for axes in (1, 2, 3):
        for shape in of_axes(axes):
            x = (real(*shape),)
            if shape[0] or len(shape) == axes + 2:  # torch looks at no channels of a sample of none
                yield f"BatchNorm{axes}d", (3,), {}, x
                yield f"BatchNorm{axes}d", (3,), {"track_running_stats": False}, x
                yield f"InstanceNorm{axes}d", (3,), {}, x  # with weights, torch fails
            for options in ({}, {"stride": 2, "padding": 2, "padding_mode": "circular"}, {"padding": "same"}):
                yield f"Conv{axes}d", (3, 4, 3), options, x
            yield f"ConvTranspose{axes}d", (3, 4, 3), {"stride": 2}, x
            for name in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool"):
                yield f"{name}{axes}d", (2,), {}, x
            yield f"AdaptiveAvgPool{axes}d", (1,), {}, x
            yield f"LPPool{axes}d", (2, 2), {}, x
            for name in ("ReflectionPad", "ReplicationPad", "CircularPad", "ZeroPad"):
                yield f"{name}{axes}d", (1,), {}, x
            yield f"ConstantPad{axes}d", (1, 0.5), {}, x
        yield f"Dropout{axes}d", (), {}, (real(0, 3, *(2,) * axes),)
    for shape in ((0, 4, 4, 4), (2, 4, 0, 4), (2, 0, 4, 4)):
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
            yield "Upsample", (), {"scale_factor": 2, "mode": mode}, (real(*shape),)
    yield "Upsample", (), {"size": 3, "mode": "area"}, (real(0, 4, 4, 4),)
    yield "UpsamplingNearest2d", (2,), {}, (real(0, 4, 4, 4),)
    yield "UpsamplingBilinear2d", (2,), {}, (real(0, 4, 4, 4),)
    yield "ChannelShuffle", (2,), {}, (real(0, 4, 4, 4),)
    yield "Unfold", (2,), {"padding": 1}, (real(0, 4, 4, 4),)


def of_rows() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]]:
    yield "BatchNorm1d", (3,), {}, (real(0, 3),)
    for shape in ((0, 4), (0, 4, 3), (0, 0), (4, 0)):
        for groups in (1, 2):
            yield "GroupNorm", (groups, 4), {}, (real(*shape),)
    for name in ("LayerNorm", "RMSNorm"):
        for shape in ((0, 4), (2, 0, 4), (4, 0)):
            yield name, (4,), {}, (real(*shape),)
        yield name, (0,), {}, (real(3, 0),)
    for shape in ((0, 3), (0,), (0, 5, 3)):
        yield "Linear", (3, 2), {}, (real(*shape),)
    yield "Linear", (0, 2), {}, (real(3, 0),)
    yield "Linear", (3, 0), {}, (real(3, 3),)
    yield "Bilinear", (3, 4, 2), {}, (real(0, 3), real(0, 4))
    yield "Flatten", (), {}, (real(0, 3, 4),)
    for dim, sizes, shape in ((1, (-1, 2), (0, 4)), (0, (0, 2), (0, 4)), (1, (2, -1), (2, 0))):
        yield "Unflatten", (dim, sizes), {}, (real(*shape),)
    for name in ("CosineSimilarity", "PairwiseDistance"):
        yield name, (), {}, (real(0, 3), real(0, 3))
    yield "Threshold", (0.5, 1.0), {}, (real(0, 3),)
    yield "Embedding", (5, 3), {}, (whole(0, 2),)
    for mode in ("mean", "sum", "max"):
        yield "EmbeddingBag", (5, 3), {"mode": mode}, (whole(0, 2),)
        yield "EmbeddingBag", (5, 3), {"mode": mode}, (whole(0), whole(2))


def of_sequences() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]]:
    for name in ("RNN", "LSTM", "GRU"):
        for shape in ((4, 0, 3), (0, 2, 3), (0, 3)):
            yield name, (3, 2, 2), {"bidirectional": True}, (real(*shape),)
        yield f"{name}Cell", (3, 2), {}, (real(0, 3),)
    for shape in ((4, 0, 4), (0, 2, 4)):
        yield "MultiheadAttention", (4, 2), {}, (real(*shape),) * 3
        yield "TransformerEncoderLayer", (4, 2, 8, 0.0), {}, (real(*shape),)


def losses() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]]:
    for reduction in ("none", "mean", "sum"):
        options: dict[str, Any] = {"reduction": reduction}
        for name in PAIRS:
            for shape in ((0,), (0, 3), (3, 0)):
                yield name, (), options, (real(*shape),) * 2
        for name in ("NLLLoss", "CrossEntropyLoss"):
            for shape, target in (((0, 3), (0,)), ((0, 3, 4), (0, 4)), ((2, 3, 0), (2, 0))):
                yield name, (), options, (real(*shape), whole(*target))
        yield "CrossEntropyLoss", (), {**options, "label_smoothing": 0.1}, (real(0, 3), whole(0))
        yield "CrossEntropyLoss", (), options, (real(0, 3), real(0, 3))
        yield "CosineEmbeddingLoss", (), options, (real(0, 3), real(0, 3), real(0))
        yield "MarginRankingLoss", (), options, (real(0),) * 3
        for name in ("TripletMarginLoss", "TripletMarginWithDistanceLoss"):
            yield name, (), options, (real(0, 3),) * 3


LAYERS = [*layers()]
# The first two have no derivative in torch, which finds a gradient of another shape; TransformerEncoder
# takes a layer.
ELSEWHERE = {"PixelShuffle", "PixelUnshuffle", "TransformerEncoder"}


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        name: lambda m, x, name=name: getattr(m, name)(x)
        for name in (
            "sum prod mean var std any all amax amin max min argmax argmin median nanmedian mode nansum "
            "nanmean norm cumsum cummax sort argsort logsumexp softmax nonzero count_nonzero ravel squeeze t "
            "diff trace tril diag flipud msort bincount det inverse std_mean var_mean aminmax histc cov"
        ).split()
    },
    **{
        f"{name} along": lambda m, x, name=name: getattr(m, name)(x, -1)
        for name in "sum mean var amax max argmin median mode cumsum cummin sort softmax squeeze norm".split()
    },
    "view": lambda m, x: x.view(-1),
    "view of rows": lambda m, x: x.view(0, -1),
    "chunk": lambda m, x: x.chunk(2, -1),
    "split": lambda m, x: x.split(2, -1),
    "unique": lambda m, x: x.detach().unique(),
    "unique_consecutive": lambda m, x: x.detach().unique_consecutive(),
    "norm below zero": lambda m, x: x.norm(-1, -1),
    "negative diff": lambda m, x: x.diff(-1),
    "meshgrid": lambda m, x: m.meshgrid(x, x, indexing="ij"),
    "cartesian_prod": lambda m, x: m.cartesian_prod(x, x),
    "cat": lambda m, x: m.cat([x, x], -1),
    "index_add": lambda m, x: x.index_add(0, m.zeros(0, dtype=m.int64), x),
    "mask": lambda m, x: x[x > 0],
    "rows": lambda m, x: x[m.zeros(0, dtype=m.int64)],
    "matmul": lambda m, x: x @ x.transpose(0, -1),
    "multinomial": lambda m, x: m.multinomial(x, 1),
    "attention": lambda m, x: m.nn.functional.scaled_dot_product_attention(x, x, x),
    "normalize": lambda m, x: m.nn.functional.normalize(x, dim=0),
    "one_hot": lambda m, x: m.nn.functional.one_hot(m.zeros(*x.shape, dtype=m.int64), 4),
    "solve": lambda m, x: m.linalg.solve(x, x),
    "einsum": lambda m, x: m.einsum("...i,...i->...", x, x),
}


def play(library: Any, name: str, case: Case) -> Any:
    return play_layer(library, name, case, "float32")


def call(library: Any, name: str, case: Case) -> Any:
    return play_call(library, case, partial(FUNCTIONS[name], library))


def steps(library: Any, shape: Shape) -> Any:
    x = library.zeros(*shape)
    return list(x.stride()), x.stride(-1)


CASES: dict[str, Play] = {f"steps | {shape}": partial(steps, shape=shape) for shape in SHAPES}
for _number, (_name, _args, _options, _inputs) in enumerate(LAYERS):
    for _evaluating in (False, True):
        _case = Case(_inputs, _args, _options, evaluating=_evaluating)
        CASES[f"{_name} | {_number} {_evaluating}"] = partial(play, name=_name, case=_case)
for _name in FUNCTIONS:
    for _shape in SHAPES:
        CASES[f"{_name} | {_shape}"] = partial(call, name=_name, case=Case((real(*_shape),)))

SUBJECT = Subject("empty", CASES, lambda case: Tolerance(1e-6, 1e-6, scaled=True))
