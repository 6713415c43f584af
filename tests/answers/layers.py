"""Layers and losses by hand, each made as people make it: weights, outputs, gradients and texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.answers.drawn import Case, drawn_state, play_layer, tensors
from tests.answers.refusals import refusal
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance, differences

RNG = np.random.default_rng(0)
DTYPES = ("float32", "float64")


def reals(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def integers(high: int, *shape: int) -> Any:
    return RNG.integers(0, high, shape)


def unit(*shape: int) -> Any:
    return RNG.uniform(0.05, 0.95, shape)


def mask(*shape: int) -> Any:
    chosen = RNG.random(shape) < 0.3
    chosen[..., 0] = False
    return chosen


def extra(kind: str) -> tuple[Any, ...]:
    return (1.5,) if kind == "ConstantPad" else ()


# name: (how the layer is made, its inputs); a float array is an input with a gradient.
LAYERS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "Linear": (lambda nn: nn.Linear(4, 3), [reals(5, 4)]),
    "Linear, vector": (lambda nn: nn.Linear(4, 3), [reals(4)]),
    "Linear, many dimensions": (lambda nn: nn.Linear(4, 3, bias=False), [reals(2, 5, 4)]),
    "Identity": (lambda nn: nn.Identity(1, x=2), [reals(3)]),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), [reals(2, 4, 9)]),
    "Conv1d, same": (lambda nn: nn.Conv1d(2, 3, 4, padding="same", dilation=2), [reals(2, 2, 9)]),
    "Conv1d, circular": (lambda nn: nn.Conv1d(2, 3, 3, padding=2, padding_mode="circular"), [reals(2, 2, 9)]),
    "Conv1d, no batch": (lambda nn: nn.Conv1d(2, 3, 3), [reals(2, 9)]),
    "Conv2d": (lambda nn: nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0)), [reals(2, 3, 7, 6)]),
    "Conv2d, groups": (lambda nn: nn.Conv2d(4, 4, 3, groups=4, bias=False), [reals(2, 4, 6, 6)]),
    "Conv2d, dilation": (lambda nn: nn.Conv2d(2, 3, 3, padding=2, dilation=2), [reals(1, 2, 7, 7)]),
    "Conv2d, same": (lambda nn: nn.Conv2d(2, 3, (2, 3), padding="same"), [reals(1, 2, 6, 6)]),
    "Conv2d, reflect": (
        lambda nn: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"),
        [reals(1, 2, 5, 5)],
    ),
    "Conv2d, replicate": (
        lambda nn: nn.Conv2d(2, 3, 3, padding=1, padding_mode="replicate"),
        [reals(1, 2, 5, 5)],
    ),
    "Conv2d, no batch": (lambda nn: nn.Conv2d(3, 4, 3), [reals(3, 6, 6)]),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(3, stride=2, padding=1), [reals(2, 3, 7, 8)]),
    "MaxPool2d, ceil": (lambda nn: nn.MaxPool2d(2, ceil_mode=True), [reals(2, 3, 7, 7)]),
    "MaxPool2d, dilation": (lambda nn: nn.MaxPool2d((2, 3), stride=1, dilation=(2, 1)), [reals(2, 3, 6, 6)]),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(3, stride=2, padding=1), [reals(2, 3, 7, 8)]),
    "AvgPool2d, ceil": (
        lambda nn: nn.AvgPool2d(2, ceil_mode=True, count_include_pad=False),
        [reals(2, 3, 7, 7)],
    ),
    "AvgPool2d, divisor": (lambda nn: nn.AvgPool2d(2, divisor_override=3), [reals(2, 3, 6, 6)]),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((3, 2)), [reals(2, 3, 7, 5)]),
    "AdaptiveAvgPool2d, one": (lambda nn: nn.AdaptiveAvgPool2d(1), [reals(2, 3, 7, 5)]),
    "AdaptiveAvgPool2d, kept": (lambda nn: nn.AdaptiveAvgPool2d((None, 2)), [reals(2, 3, 4, 5)]),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(4), [reals(6, 4)]),
    "BatchNorm1d, sequences": (lambda nn: nn.BatchNorm1d(4, affine=False), [reals(3, 4, 5)]),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(3, momentum=0.3), [reals(2, 3, 4, 5)]),
    "BatchNorm2d, plain means": (lambda nn: nn.BatchNorm2d(3, momentum=None), [reals(2, 3, 4, 5)]),
    "BatchNorm2d, untracked": (lambda nn: nn.BatchNorm2d(3, track_running_stats=False), [reals(2, 3, 4, 5)]),
    "BatchNorm2d, no bias": (lambda nn: nn.BatchNorm2d(3, bias=False), [reals(2, 3, 4, 5)]),
    "BatchNorm2d, evaluating": (lambda nn: nn.BatchNorm2d(3).eval(), [reals(2, 3, 4, 5)]),
    "LayerNorm": (lambda nn: nn.LayerNorm(6), [reals(4, 5, 6)]),
    "LayerNorm, two dimensions": (lambda nn: nn.LayerNorm((5, 6), bias=False), [reals(4, 5, 6)]),
    "LayerNorm, plain": (lambda nn: nn.LayerNorm(6, elementwise_affine=False, eps=1e-3), [reals(4, 6)]),
    "Embedding": (lambda nn: nn.Embedding(7, 4), [integers(7, 3, 5)]),
    "Embedding, padding": (lambda nn: nn.Embedding(7, 4, padding_idx=-2), [integers(7, 30)]),
    "Embedding, norm": (lambda nn: nn.Embedding(7, 4, max_norm=0.5), [integers(7, 3)]),
    "Dropout, evaluating": (lambda nn: nn.Dropout(0.5).eval(), [reals(3, 4)]),
    "ReLU": (lambda nn: nn.ReLU(), [reals(3, 4)]),
    "GELU": (lambda nn: nn.GELU(), [reals(3, 4) * 3]),
    "GELU, tanh": (lambda nn: nn.GELU("tanh"), [reals(3, 4) * 3]),
    "Tanh": (lambda nn: nn.Tanh(), [reals(3, 4)]),
    "Sigmoid": (lambda nn: nn.Sigmoid(), [reals(3, 4) * 5]),
    "SiLU": (lambda nn: nn.SiLU(), [reals(3, 4)]),
    "Softmax": (lambda nn: nn.Softmax(dim=1), [reals(3, 4, 5)]),
    "Softmin": (lambda nn: nn.Softmin(dim=0), [reals(3, 4)]),
    "LogSoftmax": (lambda nn: nn.LogSoftmax(dim=-1), [reals(3, 4)]),
    "Flatten": (lambda nn: nn.Flatten(), [reals(2, 3, 4)]),
    "Flatten, some": (lambda nn: nn.Flatten(0, 1), [reals(2, 3, 4)]),
    "Unflatten": (lambda nn: nn.Unflatten(1, (2, -1)), [reals(3, 8)]),
    "Sequential": (lambda nn: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), [reals(3, 4)]),
    "Conv3d": (
        lambda nn: nn.Conv3d(2, 4, (2, 3, 1), stride=(1, 2, 1), padding=1, groups=2),
        [reals(1, 2, 4, 5, 3)],
    ),
    "Conv3d, same": (lambda nn: nn.Conv3d(1, 2, 3, padding="same", bias=False), [reals(2, 1, 3, 4, 3)]),
    "ConvTranspose1d": (
        lambda nn: nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2),
        [reals(2, 4, 5)],
    ),
    "ConvTranspose2d": (
        lambda nn: nn.ConvTranspose2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0), bias=False),
        [reals(2, 3, 4, 5)],
    ),
    "ConvTranspose2d, no batch": (lambda nn: nn.ConvTranspose2d(3, 4, 2), [reals(3, 4, 5)]),
    "ConvTranspose3d": (lambda nn: nn.ConvTranspose3d(2, 3, 2, stride=2), [reals(1, 2, 3, 2, 2)]),
    "MaxPool1d": (lambda nn: nn.MaxPool1d(3, stride=2, padding=1), [reals(2, 3, 8)]),
    "MaxPool3d": (lambda nn: nn.MaxPool3d((2, 3, 2), stride=1), [reals(1, 2, 4, 4, 3)]),
    "AvgPool1d": (
        lambda nn: nn.AvgPool1d(3, 2, 1, ceil_mode=True, count_include_pad=False),
        [reals(2, 3, 8)],
    ),
    "AvgPool3d": (lambda nn: nn.AvgPool3d(2, divisor_override=5), [reals(1, 2, 4, 4, 4)]),
    "AdaptiveAvgPool1d": (lambda nn: nn.AdaptiveAvgPool1d(3), [reals(2, 3, 7)]),
    "AdaptiveAvgPool3d": (lambda nn: nn.AdaptiveAvgPool3d((2, None, 1)), [reals(1, 2, 4, 3, 5)]),
    "BatchNorm3d": (lambda nn: nn.BatchNorm3d(3), [reals(2, 3, 2, 3, 2)]),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 6), [reals(3, 6, 4)]),
    "GroupNorm, plain": (lambda nn: nn.GroupNorm(3, 6, affine=False, eps=1e-3), [reals(3, 6, 2, 2)]),
    "GroupNorm, no bias": (lambda nn: nn.GroupNorm(1, 4, bias=False), [reals(3, 4, 5)]),
    "InstanceNorm1d": (lambda nn: nn.InstanceNorm1d(3), [reals(2, 3, 5)]),
    "InstanceNorm1d, no batch": (lambda nn: nn.InstanceNorm1d(3, affine=True), [reals(3, 5)]),
    "InstanceNorm2d, tracked": (
        lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True, momentum=0.3),
        [reals(2, 3, 4, 4)],
    ),
    "InstanceNorm2d, evaluating": (
        lambda nn: nn.InstanceNorm2d(3, track_running_stats=True).eval(),
        [reals(2, 3, 4, 4)],
    ),
    "InstanceNorm3d": (lambda nn: nn.InstanceNorm3d(2, affine=True, bias=False), [reals(2, 2, 3, 2, 2)]),
    "RMSNorm": (lambda nn: nn.RMSNorm(6), [reals(4, 6)]),
    "RMSNorm, two dimensions": (lambda nn: nn.RMSNorm((5, 6), eps=1e-3), [reals(4, 5, 6)]),
    "RMSNorm, plain": (lambda nn: nn.RMSNorm([6], elementwise_affine=False), [reals(4, 6)]),
    "Dropout1d, evaluating": (lambda nn: nn.Dropout1d(0.3).eval(), [reals(2, 3, 4)]),
    "Dropout2d, evaluating": (lambda nn: nn.Dropout2d().eval(), [reals(2, 3, 4, 4)]),
    "Dropout3d, evaluating": (lambda nn: nn.Dropout3d().eval(), [reals(2, 3, 2, 2, 2)]),
    "Upsample": (lambda nn: nn.Upsample(scale_factor=2), [reals(1, 2, 3, 4)]),
    "Upsample, size": (lambda nn: nn.Upsample((5, 3), mode="bicubic"), [reals(1, 2, 3, 4)]),
    "UpsamplingNearest2d": (lambda nn: nn.UpsamplingNearest2d((5, 7)), [reals(1, 2, 3, 4)]),
    "UpsamplingBilinear2d": (lambda nn: nn.UpsamplingBilinear2d(scale_factor=(1.5, 2)), [reals(1, 2, 3, 4)]),
    "CosineSimilarity": (lambda nn: nn.CosineSimilarity(), [reals(3, 4), reals(3, 4)]),
    "PairwiseDistance": (lambda nn: nn.PairwiseDistance(1.5, keepdim=True), [reals(3, 4), reals(3, 4)]),
    "Bilinear": (lambda nn: nn.Bilinear(4, 3, 5), [reals(2, 6, 4), reals(2, 6, 3)]),
    "Bilinear, no bias": (lambda nn: nn.Bilinear(4, 3, 5, bias=False), [reals(6, 4), reals(6, 3)]),
    "LeakyReLU": (lambda nn: nn.LeakyReLU(0.2), [reals(3, 4)]),
    "ELU": (lambda nn: nn.ELU(0.7), [reals(3, 4)]),
    "SELU": (lambda nn: nn.SELU(), [reals(3, 4)]),
    "CELU": (lambda nn: nn.CELU(2.0), [reals(3, 4)]),
    "ReLU6": (lambda nn: nn.ReLU6(), [reals(3, 4) * 6]),
    "Hardtanh": (lambda nn: nn.Hardtanh(-0.5, 1.5), [reals(3, 4)]),
    "Mish": (lambda nn: nn.Mish(), [reals(3, 4) * 3]),
    "Softplus": (lambda nn: nn.Softplus(2.0, 3.0), [reals(3, 4) * 3]),
    "Softsign": (lambda nn: nn.Softsign(), [reals(3, 4)]),
    "LogSigmoid": (lambda nn: nn.LogSigmoid(), [reals(3, 4) * 5]),
    "Hardswish": (lambda nn: nn.Hardswish(), [reals(3, 4) * 4]),
    "Tanhshrink": (lambda nn: nn.Tanhshrink(), [reals(3, 4)]),
    "Hardshrink": (lambda nn: nn.Hardshrink(0.4), [reals(3, 4)]),
    "Softshrink": (lambda nn: nn.Softshrink(0.4), [reals(3, 4)]),
    "Threshold": (lambda nn: nn.Threshold(0.1, -2.0), [reals(3, 4)]),
    "GLU": (lambda nn: nn.GLU(1), [reals(3, 4)]),
    "PReLU": (lambda nn: nn.PReLU(), [reals(3, 4)]),
    "PReLU, channels": (lambda nn: nn.PReLU(4, 0.1), [reals(3, 4, 2)]),
    "LeakyReLU, in place": (
        lambda nn: nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(0.1, True)),
        [reals(3, 4)],
    ),
    **{
        f"{kind}{d}d": (
            lambda nn, kind=kind, d=d: getattr(nn, f"{kind}{d}d")(
                *((1, 2, 0, 1, 3, 2)[: 2 * d],), *extra(kind)
            ),
            [reals(2, 3, *(5, 4, 6)[:d])],
        )
        for kind in ("ConstantPad", "ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad")
        for d in (1, 2, 3)
    },
    "ZeroPad2d, one number": (lambda nn: nn.ZeroPad2d(2), [reals(1, 2, 3, 4)]),
    "AdaptiveMaxPool1d": (lambda nn: nn.AdaptiveMaxPool1d(3), [reals(2, 3, 7)]),
    "AdaptiveMaxPool2d": (lambda nn: nn.AdaptiveMaxPool2d((3, 2)), [reals(2, 3, 7, 5)]),
    "AdaptiveMaxPool2d, equal values": (lambda nn: nn.AdaptiveMaxPool2d(2), [np.ones((1, 2, 5, 5))]),
    "AdaptiveMaxPool3d": (lambda nn: nn.AdaptiveMaxPool3d((2, None, 1)), [reals(1, 2, 4, 3, 5)]),
    "LPPool1d": (lambda nn: nn.LPPool1d(2, 3, 2, ceil_mode=True), [reals(2, 3, 8)]),
    "LPPool2d": (lambda nn: nn.LPPool2d(3, (2, 3)), [np.abs(reals(2, 3, 4, 6))]),
    "LPPool3d": (lambda nn: nn.LPPool3d(2, 2), [reals(1, 2, 4, 4, 4)]),
    "PixelShuffle": (lambda nn: nn.PixelShuffle(2), [reals(2, 8, 3, 2)]),
    "PixelShuffle, no batch": (lambda nn: nn.PixelShuffle(3), [reals(9, 3, 2)]),
    "PixelUnshuffle": (lambda nn: nn.PixelUnshuffle(2), [reals(2, 3, 4, 6)]),
    "ChannelShuffle": (lambda nn: nn.ChannelShuffle(3), [reals(2, 6, 4)]),
    "EmbeddingBag": (lambda nn: nn.EmbeddingBag(7, 4), [integers(7, 3, 5)]),
    "EmbeddingBag, offsets": (
        lambda nn: nn.EmbeddingBag(7, 4, mode="sum"),
        [integers(7, 8), np.array([0, 2, 2, 7])],
    ),
    "EmbeddingBag, last offset": (
        lambda nn: nn.EmbeddingBag(7, 4, include_last_offset=True),
        [integers(7, 8), np.array([0, 3, 8])],
    ),
    "EmbeddingBag, max": (
        lambda nn: nn.EmbeddingBag(7, 4, mode="max", padding_idx=2),
        [integers(7, 8), np.array([0, 3, 3, 5])],
    ),
    "EmbeddingBag, padding": (lambda nn: nn.EmbeddingBag(7, 4, padding_idx=-3), [integers(7, 6, 3)]),
    "EmbeddingBag, norm": (lambda nn: nn.EmbeddingBag(7, 4, max_norm=0.5), [integers(7, 3, 2)]),
    "Threshold, in place": (
        lambda nn: nn.Sequential(nn.Linear(4, 4), nn.Threshold(0, 1, True)),
        [reals(3, 4)],
    ),
}

SIGNS = np.array([1, -1, -1, 1, 1])
LOSSES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "CosineEmbeddingLoss": (
        lambda nn, r: nn.CosineEmbeddingLoss(0.1, reduction=r),
        [reals(5, 3), reals(5, 3), SIGNS],
    ),
    "CosineEmbeddingLoss, vectors": (
        lambda nn, r: nn.CosineEmbeddingLoss(reduction=r),
        [reals(3), reals(3), np.array(-1)],
    ),
    "TripletMarginLoss": (
        lambda nn, r: nn.TripletMarginLoss(0.7, p=3, reduction=r),
        [reals(5, 3), reals(5, 3), reals(5, 3)],
    ),
    "TripletMarginLoss, swapped": (
        lambda nn, r: nn.TripletMarginLoss(swap=True, reduction=r),
        [reals(5, 3), reals(5, 3), reals(5, 3)],
    ),
    "TripletMarginWithDistanceLoss": (
        lambda nn, r: nn.TripletMarginWithDistanceLoss(
            distance_function=lambda a, b: ((a - b) ** 2).sum(1), swap=True, reduction=r
        ),
        [reals(5, 3), reals(5, 3), reals(5, 3)],
    ),
    "MarginRankingLoss": (
        lambda nn, r: nn.MarginRankingLoss(0.2, reduction=r),
        [reals(5), reals(5), SIGNS],
    ),
    "HingeEmbeddingLoss": (lambda nn, r: nn.HingeEmbeddingLoss(0.8, reduction=r), [reals(5), SIGNS]),
    "L1Loss": (lambda nn, r: nn.L1Loss(reduction=r), [reals(3, 4), reals(3, 4)]),
    "MSELoss": (lambda nn, r: nn.MSELoss(reduction=r), [reals(3, 4), reals(3, 4)]),
    "SmoothL1Loss": (lambda nn, r: nn.SmoothL1Loss(reduction=r, beta=0.5), [reals(3, 4), reals(3, 4)]),
    "HuberLoss": (lambda nn, r: nn.HuberLoss(reduction=r, delta=0.5), [reals(3, 4), reals(3, 4)]),
    "NLLLoss": (lambda nn, r: nn.NLLLoss(reduction=r), [reals(5, 4), integers(4, 5)]),
    "NLLLoss, images": (
        lambda nn, r: nn.NLLLoss(ignore_index=1, reduction=r),
        [reals(2, 4, 3), integers(4, 2, 3)],
    ),
    "CrossEntropyLoss": (lambda nn, r: nn.CrossEntropyLoss(reduction=r), [reals(5, 4), integers(4, 5)]),
    "CrossEntropyLoss, images": (
        lambda nn, r: nn.CrossEntropyLoss(ignore_index=2, reduction=r),
        [reals(2, 4, 3, 3), integers(4, 2, 3, 3)],
    ),
    "CrossEntropyLoss, smoothed": (
        lambda nn, r: nn.CrossEntropyLoss(label_smoothing=0.1, reduction=r),
        [reals(5, 4), integers(4, 5)],
    ),
    "CrossEntropyLoss, probabilities": (
        lambda nn, r: nn.CrossEntropyLoss(reduction=r),
        [reals(5, 4), unit(5, 4)],
    ),
    "BCELoss": (lambda nn, r: nn.BCELoss(reduction=r), [unit(3, 4), unit(3, 4)]),
    "BCEWithLogitsLoss": (lambda nn, r: nn.BCEWithLogitsLoss(reduction=r), [reals(3, 4) * 3, unit(3, 4)]),
    "KLDivLoss": (lambda nn, r: nn.KLDivLoss(reduction=r), [reals(3, 4), unit(3, 4)]),
    "KLDivLoss, logarithms": (
        lambda nn, r: nn.KLDivLoss(reduction=r, log_target=True),
        [reals(3, 4), reals(3, 4)],
    ),
}


ATTENTION: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "batch first": ({"batch_first": True}, {}),
    "no bias": ({"bias": False}, {}),
    "extra keys": ({"add_bias_kv": True, "add_zero_attn": True}, {}),
    "other lengths": ({"kdim": 5, "vdim": 7}, {}),
    "weights of each head": ({}, {"average_attn_weights": False}),
    "without weights": ({}, {"need_weights": False}),
    "masks": ({}, {"attn_mask": mask(3, 4), "key_padding_mask": mask(2, 4)}),
    "masks without weights": (
        {},
        {"attn_mask": mask(3, 4), "key_padding_mask": mask(2, 4), "need_weights": False},
    ),
    "a mask for each head": ({}, {"attn_mask": reals(2 * 2, 3, 4)}),
    "masks and extra keys": (
        {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
        {"attn_mask": reals(3, 4), "key_padding_mask": reals(2, 4)},
    ),
}


def of(dtype: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: of(dtype, one) for key, one in value.items()}
    return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def made(
    make: Callable[[Any], Any],
    arrays: list[Any],
    given: dict[str, Any] | None = None,
    call: Callable[..., Any] | None = None,
) -> dict[str, Play]:
    """Name the two plays, one for each dtype, of what `make` makes of `nn`."""
    found: dict[str, Play] = {}
    for dtype in DTYPES:
        inputs = tuple(of(dtype, array) for array in arrays)
        case = Case(inputs, given=of(dtype, given or {}), make=lambda library: make(library.nn), call=call)
        found[dtype] = partial(_play, case=case, dtype=dtype)
    return found


def _play(library: Any, case: Case, dtype: str) -> Any:
    return play_layer(library, "", case, dtype)


def add(name: str, plays: dict[str, Play]) -> None:
    CASES.update({f"{name} | {what}": play for what, play in plays.items()})


CASES: dict[str, Play] = {}
for _name, (_make, _arrays) in LAYERS.items():
    add(_name, made(_make, _arrays))
for _name, (_make, _arrays) in LOSSES.items():
    for _word in ("mean", "sum", "none"):
        add(f"{_name} {_word}", made(lambda nn, make=_make, word=_word: make(nn, word), _arrays))
for _name, (_with, _given) in ATTENTION.items():
    _shapes = [(3, 2, 4), (4, 2, _with.get("kdim", 4)), (4, 2, _with.get("vdim", 4))]
    if _with.get("batch_first"):
        _shapes = [(b, a, c) for a, b, c in _shapes]
    _arrays = [reals(*shape) for shape in _shapes]
    add(f"attention, {_name}", made(lambda nn, o=_with: nn.MultiheadAttention(4, 2, **o), _arrays, _given))
for _shape in ((3, 2, 4), (3, 4)):
    add(
        f"self-attention {_shape}",
        made(
            lambda nn: nn.MultiheadAttention(4, 2), [reals(*_shape)], call=lambda module, x: module(x, x, x)
        ),
    )
for _options in ({}, {"norm_first": True}, {"activation": "gelu"}, {"batch_first": True, "bias": False}):
    _length = 2 if _options.get("batch_first") else 3
    add(
        f"encoder layer {_options}",
        made(
            lambda nn, o=_options: nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, **o),
            [reals(_length, 2, 4)],
            {"src_mask": mask(_length, _length)},
        ),
    )


def encoder(nn: Any) -> Any:
    layer = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0)
    return nn.TransformerEncoder(layer, 2, nn.LayerNorm(4))


_masks = {"mask": mask(3, 3), "src_key_padding_mask": mask(2, 3)}
add("encoder", made(encoder, [reals(3, 2, 4)], _masks))
add(
    "EmbeddingBag, weighed",
    made(lambda nn: nn.EmbeddingBag(7, 4, mode="sum"), [integers(7, 8), np.array([0, 2, 5]), reals(8)]),
)
add("MaxPool2d, places", made(lambda nn: nn.MaxPool2d(2, return_indices=True), [reals(2, 3, 6, 6)]))
add("Hardsigmoid", {"float32": made(lambda nn: nn.Hardsigmoid(), [reals(3, 4) * 4])["float32"]})


# Losses that weigh


def weighing(library: Any, kind: str, weights: dict[str, Any], inputs: tuple[Any, ...], dtype: str) -> Any:
    def make(library: Any) -> Any:
        return getattr(library.nn, kind)(**tensors(library, of(dtype, weights)))

    return play_layer(library, "", Case(tuple(of(dtype, one) for one in inputs), make=make), dtype)


for _kind in ("NLLLoss", "CrossEntropyLoss"):
    _one = partial(weighing, kind=_kind, weights={"weight": unit(4)}, inputs=(reals(6, 4), integers(4, 6)))
    add(f"{_kind}, weighed", {dtype: partial(_one, dtype=dtype) for dtype in DTYPES})
_one = partial(
    weighing,
    kind="BCEWithLogitsLoss",
    weights={"weight": unit(4), "pos_weight": unit(4) * 3},
    inputs=(reals(3, 4), unit(3, 4)),
)
add("BCEWithLogitsLoss, weighed", {dtype: partial(_one, dtype=dtype) for dtype in DTYPES})


# Sizes


def resized(library: Any, mode: str, shape: tuple[int, ...], options: dict[str, Any], dtype: str) -> Any:
    """Change the size; numbers are told as shares of the largest."""
    x = library.from_numpy(np.arange(np.prod(shape), dtype=dtype).reshape(shape) ** 1.5).requires_grad_()
    y = library.nn.functional.interpolate(x, mode=mode, **options)
    (y * y).sum().backward()
    return [one / max(1.0, float(one.detach().abs().max())) for one in (y, x.grad)]


SIZES = [
    ("nearest", (2, 1, 7)),
    ("nearest-exact", (1, 2, 5, 4)),
    ("linear", (2, 3, 6)),
    ("bilinear", (1, 2, 5, 4)),
    ("bicubic", (1, 2, 5, 4)),
    ("trilinear", (1, 1, 3, 4, 2)),
    ("area", (1, 2, 6, 4)),
    ("area", (1, 2, 6)),
]
OPTIONS: list[dict[str, Any]] = [
    {"size": 3},
    {"size": 11},
    {"size": 1},
    {"scale_factor": 1.7},
    {"scale_factor": 0.6},
    {"scale_factor": 2.3, "recompute_scale_factor": True},
    {"size": 9, "align_corners": True},
    {"scale_factor": 1.7, "align_corners": True},
]
for _mode, _shape in SIZES:
    for _options in OPTIONS:
        if _mode in ("nearest", "nearest-exact", "area"):
            _options = {name: value for name, value in _options.items() if name != "align_corners"}
        for _dtype in DTYPES:
            _play_it = partial(resized, mode=_mode, shape=_shape, options=_options, dtype=_dtype)
            CASES[f"interpolate {_mode} | {len(_shape)} {_options} {_dtype}"] = _play_it


def wanted_size(library: Any, size: int) -> Any:
    layer = library.nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1).double()
    layer.load_state_dict(tensors(library, drawn_state(layer)))
    x = library.from_numpy(np.arange(8.0).reshape(1, 2, 4))
    return refusal(lambda: layer(x, output_size=(size,)), "requested an output size of")


for _size in (7, 8, 9):
    CASES[f"a wanted size | {_size}"] = partial(wanted_size, size=_size)


# First values, and what is refused

FIRST: list[Callable[[Any], Any]] = [
    lambda nn: nn.Linear(40, 30),
    lambda nn: nn.Conv1d(8, 16, 5),
    lambda nn: nn.Conv2d(8, 16, 3, groups=2),
    lambda nn: nn.Embedding(50, 20, padding_idx=3),
    lambda nn: nn.BatchNorm2d(5),
    lambda nn: nn.LayerNorm(5),
    lambda nn: nn.MultiheadAttention(20, 2, add_bias_kv=True),
    lambda nn: nn.MultiheadAttention(20, 2, kdim=10),
]


def first_values(library: Any, number: int) -> Any:
    """Tell how many values there are, and how far they spread."""
    library.manual_seed(0)
    state = FIRST[number](library.nn).state_dict()
    found = {}
    for name, value in state.items():
        array = value.numpy().astype(np.float64)
        found[name] = [array.size, float(np.abs(array).max()), float(array.std()), float(array.mean())]
    return found


def spread_alike(case: str, found: Any, expected: Any) -> Iterator[str]:
    if [*found] != [*expected]:
        yield f"{case}: {[*found]}, expected {[*expected]}"
    for name, (size, most, spread, mean) in expected.items():
        few = 5 / np.sqrt(size)
        ours = found[name]
        limits = [0, few * most + 1e-9, few * spread + 1e-9, few * spread + 1e-9]
        if any(
            abs(a - b) > limit for a, b, limit in zip(ours, (size, most, spread, mean), limits, strict=True)
        ):
            yield f"{case}: {name}: {ours}, expected about {[size, most, spread, mean]}"


REFUSED: list[tuple[Callable[[Any], Any], Any, str]] = [
    (lambda nn: nn.GroupNorm(3, 4), None, r"num_channels.* must be divisible by num_groups"),
    (lambda nn: nn.Conv3d(3, 4, 2, groups=2), None, "in_channels must be divisible by groups"),
    (lambda nn: nn.ConvTranspose1d(2, 3, 2, padding_mode="reflect"), None, 'Only "zeros" padding mode'),
    (lambda nn: nn.InstanceNorm1d(3), (2, 3, 4, 5), "expected 2D or 3D input"),
    (lambda nn: nn.InstanceNorm1d(3, affine=True), (2, 4, 5), r"to match num_features \(3\), but got: 4"),
    (lambda nn: nn.BatchNorm3d(3), (2, 3, 4), "expected 5D input"),
    (lambda nn: nn.Dropout2d(1.5), None, "dropout probability has to be between 0 and 1"),
]
for _number, (_make, _shape, _message) in enumerate(REFUSED):
    CASES[f"refused | {_number}"] = lambda library, make=_make, shape=_shape, message=_message: refusal(
        lambda: make(library.nn)(library.ones(*shape)), message
    )
NO_SIZE: list[tuple[tuple[int, ...], dict[str, Any], str]] = [
    ((1, 1, 4), {}, "one of size or scale_factor should be defined|either size or scale_factor"),
    ((1, 1, 4), {"size": 3, "scale_factor": 2}, "only one of size or scale_factor should be defined"),
    ((1, 1, 4, 4), {"size": (3,)}, "Input and output must have the same number of spatial dimensions"),
    ((1, 1, 4), {"size": 3, "align_corners": True}, "align_corners option can only be set with"),
    ((1, 1, 4), {"size": 3, "recompute_scale_factor": True}, "recompute_scale_factor is not meaningful"),
]
for _number, (_shape, _options, _message) in enumerate(NO_SIZE):
    CASES[f"no size | {_number}"] = lambda library, shape=_shape, options=_options, message=_message: refusal(
        lambda: library.nn.functional.interpolate(library.ones(*shape), **options), message
    )


def near(case: str) -> Tolerance:
    found = 1e-5 if case.endswith("float32") else 1e-10
    return Tolerance(found, found, kinds=True)


def agree(case: str, found: Any, expected: Any) -> Iterator[str]:
    if case.startswith("first values"):
        return spread_alike(case, found, expected)
    return differences(found, expected, near(case))


for _number in range(len(FIRST)):
    CASES[f"first values | {_number}"] = partial(first_values, number=_number)

SUBJECT = Subject("layers", CASES, near, agree)
