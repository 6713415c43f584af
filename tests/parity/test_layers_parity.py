"""Every layer and loss against torch's: weights loaded by name, outputs and all gradients compared."""

import pytest

pytest.importorskip("torch")

import numpy as np
import torch

import kellet
from kellet import nn

RNG = np.random.default_rng(0)
TOLERANCE = {"float32": 1e-5, "float64": 1e-10}


def reals(*shape):
    return RNG.standard_normal(shape)


def integers(high, *shape):
    return RNG.integers(0, high, shape)


def unit(*shape):
    return RNG.uniform(0.05, 0.95, shape)


def mask(*shape):
    chosen = RNG.random(shape) < 0.3
    chosen[..., 0] = False
    return chosen


def extra(kind):
    return (1.5,) if kind == "ConstantPad" else ()


# name: (how the layer is made, its inputs); a float array is an input with a gradient.
LAYERS = {
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
LOSSES = {
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


def both(make, dtype):
    """The layer in torch and, with its weights loaded by name, in kellet."""
    torch.manual_seed(0)
    theirs = make(torch.nn).to(getattr(torch, dtype))
    ours = make(nn).to(getattr(kellet, dtype))
    with torch.no_grad():
        for value in [*theirs.parameters(), *theirs.buffers()]:
            # Weights that start as ones and zeros would hide an exchange.
            if value.is_floating_point():
                value.uniform_(0.2, 0.8) if value in set(theirs.buffers()) else value.add_(
                    torch.randn_like(value) * 0.1
                )
    result = ours.load_state_dict(
        {name: kellet.from_numpy(v.numpy().copy()) for name, v in theirs.state_dict().items()}
    )
    assert result == ([], [])
    return theirs, ours


def inputs_of(arrays, dtype):
    theirs, ours = [], []
    for array in arrays:
        if array.dtype.kind == "f":
            array = array.astype(dtype)
            theirs.append(torch.from_numpy(array.copy()).requires_grad_())
            ours.append(kellet.from_numpy(array.copy()).requires_grad_())
        else:
            theirs.append(torch.from_numpy(array))
            ours.append(kellet.from_numpy(array.copy()))
    return theirs, ours


def assert_close(ours, theirs, dtype, what):
    expected = theirs.detach().numpy()
    found = ours.detach().numpy()
    assert found.dtype == expected.dtype, what
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=what)


def compare(theirs, ours, their_inputs, our_inputs, dtype, call=lambda module, *inputs: module(*inputs)):
    expected, found = call(theirs, *their_inputs), call(ours, *our_inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(expected)
    rng = np.random.default_rng(1)
    their_loss, our_loss = 0.0, 0.0
    for number, (a, b) in enumerate(zip(expected, found, strict=True)):
        assert tuple(b.shape) == tuple(a.shape)
        assert_close(b, a, dtype, f"output {number}")
        if a.requires_grad:
            assert b.requires_grad
            weights = rng.standard_normal(tuple(a.shape)).astype(dtype)
            their_loss = their_loss + (a * torch.from_numpy(weights)).sum()
            our_loss = our_loss + (b * kellet.from_numpy(weights.copy())).sum()
    if not isinstance(their_loss, float):
        their_loss.backward()
        our_loss.backward()
    for number, (a, b) in enumerate(zip(their_inputs, our_inputs, strict=True)):
        if isinstance(a, torch.Tensor) and a.grad is not None:
            assert_close(b.grad, a.grad, dtype, f"gradient of input {number}")
    state = dict(ours.named_parameters())
    for name, parameter in theirs.named_parameters():
        if parameter.grad is not None:
            assert_close(state[name].grad, parameter.grad, dtype, f"gradient of {name}")
        else:
            assert state[name].grad is None
    for name, value in theirs.state_dict().items():
        assert_close(ours.state_dict()[name], value, dtype, f"{name} afterwards")


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")
def test_layer(name, dtype):
    make, arrays = LAYERS[name]
    compare(*both(make, dtype), *inputs_of(arrays, dtype), dtype)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_prints_and_names_its_state_as_torch_does(name):
    make, _ = LAYERS[name]
    theirs, ours = both(make, "float32")
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    assert ours.state_dict()._metadata == dict(theirs.state_dict()._metadata)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides the total loss:UserWarning")
def test_loss(name, reduction, dtype):
    make, arrays = LOSSES[name]
    theirs, ours = make(torch.nn, reduction), make(nn, reduction)
    compare(theirs, ours, *inputs_of(arrays, dtype), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", ["NLLLoss", "CrossEntropyLoss"])
def test_loss_weighs_the_classes(kind, dtype):
    weight = unit(4).astype(dtype)
    theirs = getattr(torch.nn, kind)(torch.from_numpy(weight))
    ours = getattr(nn, kind)(kellet.from_numpy(weight.copy()))
    compare(theirs, ours, *inputs_of([reals(6, 4), integers(4, 6)], dtype), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_loss_weighs_positive_targets(dtype):
    weight, positive = unit(4).astype(dtype), (unit(4) * 3).astype(dtype)
    theirs = torch.nn.BCEWithLogitsLoss(torch.from_numpy(weight), pos_weight=torch.from_numpy(positive))
    ours = nn.BCEWithLogitsLoss(
        kellet.from_numpy(weight.copy()), pos_weight=kellet.from_numpy(positive.copy())
    )
    compare(theirs, ours, *inputs_of([reals(3, 4), unit(3, 4)], dtype), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_max_pool_gives_the_places_too(dtype):
    array = reals(2, 3, 6, 6).astype(dtype)
    theirs = torch.nn.MaxPool2d(2, return_indices=True)(torch.from_numpy(array))
    ours = nn.MaxPool2d(2, return_indices=True)(kellet.from_numpy(array.copy()))
    for a, b in zip(theirs, ours, strict=True):
        assert b.tolist() == a.tolist()


# Attention

ATTENTION = {
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


def attend(options, dtype):
    """Call a module with the masks among `options` as tensors of its own side."""

    def call(module, *inputs):
        make = torch.from_numpy if isinstance(module, torch.nn.Module) else kellet.from_numpy
        given = {}
        for name, value in options.items():
            if isinstance(value, np.ndarray):
                value = make(value.astype(dtype) if value.dtype.kind == "f" else value.copy())
            given[name] = value
        result = module(*inputs, **given)
        return result if not isinstance(result, tuple) or result[1] is not None else result[0]

    return call


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name, dtype):
    made_with, called_with = ATTENTION[name]
    shapes = [(3, 2, 4), (4, 2, made_with.get("kdim", 4)), (4, 2, made_with.get("vdim", 4))]
    if made_with.get("batch_first"):
        shapes = [(b, a, c) for a, b, c in shapes]
    arrays = [reals(*shape) for shape in shapes]
    modules = both(lambda nn: nn.MultiheadAttention(4, 2, **made_with), dtype)
    compare(*modules, *inputs_of(arrays, dtype), dtype, attend(called_with, dtype))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_self_attention_with_and_without_a_batch(dtype):
    for shape in ((3, 2, 4), (3, 4)):
        modules = both(lambda nn: nn.MultiheadAttention(4, 2), dtype)
        compare(*modules, *inputs_of([reals(*shape)], dtype), dtype, lambda module, x: module(x, x, x))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    "options", [{}, {"norm_first": True}, {"activation": "gelu"}, {"batch_first": True, "bias": False}]
)
def test_transformer_encoder_layer(options, dtype):
    modules = both(lambda nn: nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, **options), dtype)
    length = 2 if options.get("batch_first") else 3
    masks = {"src_mask": mask(length, length)}
    compare(
        *modules, *inputs_of([reals(length if length == 3 else 2, 2, 4)], dtype), dtype, attend(masks, dtype)
    )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
def test_transformer_encoder(dtype):
    def make(nn):
        layer = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0)
        return nn.TransformerEncoder(layer, 2, nn.LayerNorm(4))

    masks = {"mask": mask(3, 3), "src_key_padding_mask": mask(2, 3)}
    compare(*both(make, dtype), *inputs_of([reals(3, 2, 4)], dtype), dtype, attend(masks, dtype))


# First values


@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.Linear(40, 30),
        lambda nn: nn.Conv1d(8, 16, 5),
        lambda nn: nn.Conv2d(8, 16, 3, groups=2),
        lambda nn: nn.Embedding(50, 20, padding_idx=3),
        lambda nn: nn.BatchNorm2d(5),
        lambda nn: nn.LayerNorm(5),
        lambda nn: nn.MultiheadAttention(20, 2, add_bias_kv=True),
        lambda nn: nn.MultiheadAttention(20, 2, kdim=10),
    ],
)
def test_first_values_are_spread_as_in_torch(make):
    torch.manual_seed(0)
    kellet.manual_seed(0)
    theirs, ours = make(torch.nn).state_dict(), make(nn).state_dict()
    for name, value in theirs.items():
        a, b = value.numpy().astype(np.float64), ours[name].numpy().astype(np.float64)
        assert b.dtype == a.dtype
        few = 5 / np.sqrt(value.numel())
        assert np.abs(b).max() == pytest.approx(np.abs(a).max(), rel=few, abs=1e-9), name
        assert b.std() == pytest.approx(a.std(), rel=few, abs=1e-9), name
        assert b.mean() == pytest.approx(a.mean(), abs=few * a.std() + 1e-9), name


@pytest.mark.parametrize(
    ("make", "shape", "message"),
    [
        (lambda nn: nn.GroupNorm(3, 4), None, r"num_channels.* must be divisible by num_groups"),
        (lambda nn: nn.Conv3d(3, 4, 2, groups=2), None, "in_channels must be divisible by groups"),
        (lambda nn: nn.ConvTranspose1d(2, 3, 2, padding_mode="reflect"), None, 'Only "zeros" padding mode'),
        (lambda nn: nn.InstanceNorm1d(3), (2, 3, 4, 5), "expected 2D or 3D input"),
        (lambda nn: nn.InstanceNorm1d(3, affine=True), (2, 4, 5), r"to match num_features \(3\), but got: 4"),
        (lambda nn: nn.BatchNorm3d(3), (2, 3, 4), "expected 5D input"),
        (lambda nn: nn.Dropout2d(1.5), None, "dropout probability has to be between 0 and 1"),
    ],
)
def test_what_does_not_fit_a_layer_is_refused_as_in_torch(make, shape, message):
    for library, layers in ((torch, torch.nn), (kellet, nn)):
        with pytest.raises(ValueError, match=message):
            make(layers)(library.ones(*shape))


def test_hardsigmoid():
    # torch's derivative in float64 has a sixth that was rounded to float32.
    theirs, ours = both(lambda nn: nn.Hardsigmoid(), "float32")
    compare(theirs, ours, *inputs_of([reals(3, 4) * 4], "float32"), "float32")
    assert repr(ours) == repr(theirs)
    x = reals(3, 4) * 4
    assert_close(ours(kellet.from_numpy(x.copy())), theirs(torch.from_numpy(x)), "float64", "output")


@pytest.mark.parametrize("size", [(7,), (8,)])
def test_a_transposed_convolution_takes_the_size_that_is_wanted(size):
    theirs, ours = both(lambda nn: nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1), "float64")
    x = reals(1, 2, 4)
    expected = theirs(torch.from_numpy(x), output_size=size)
    assert_close(ours(kellet.from_numpy(x.copy()), output_size=size), expected, "float64", "output")
    for library, module in ((torch, theirs), (kellet, ours)):
        with pytest.raises(ValueError, match="requested an output size of"):
            module(library.from_numpy(x.copy()), output_size=(9,))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    ("mode", "shape"),
    [
        ("nearest", (2, 1, 7)),
        ("nearest-exact", (1, 2, 5, 4)),
        ("linear", (2, 3, 6)),
        ("bilinear", (1, 2, 5, 4)),
        ("bicubic", (1, 2, 5, 4)),
        ("trilinear", (1, 1, 3, 4, 2)),
        ("area", (1, 2, 6, 4)),
        ("area", (1, 2, 6)),
    ],
)
@pytest.mark.parametrize(
    "options",
    [
        {"size": 3},
        {"size": 11},
        {"size": 1},
        {"scale_factor": 1.7},
        {"scale_factor": 0.6},
        {"scale_factor": 2.3, "recompute_scale_factor": True},
        {"size": 9, "align_corners": True},
        {"scale_factor": 1.7, "align_corners": True},
    ],
)
def test_sizes_are_changed_as_in_torch(mode, shape, options, dtype):
    if mode in ("nearest", "nearest-exact", "area"):
        options = {name: value for name, value in options.items() if name != "align_corners"}
    results = []
    for library, layers in ((torch, torch.nn), (kellet, nn)):
        x = library.from_numpy(np.arange(np.prod(shape), dtype=dtype).reshape(shape) ** 1.5).requires_grad_()
        y = layers.functional.interpolate(x, mode=mode, **options)
        (y * y).sum().backward()
        results.append((y, x.grad))
    for (theirs, ours), what in zip(zip(*results, strict=True), ("output", "gradient"), strict=True):
        scale = max(1.0, float(np.abs(theirs.detach().numpy()).max()))
        assert_close(ours / scale, theirs / scale, dtype, what)


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((1, 1, 4), {}, "one of size or scale_factor should be defined|either size or scale_factor"),
        ((1, 1, 4), {"size": 3, "scale_factor": 2}, "only one of size or scale_factor should be defined"),
        ((1, 1, 4, 4), {"size": (3,)}, "Input and output must have the same number of spatial dimensions"),
        ((1, 1, 4), {"size": 3, "align_corners": True}, "align_corners option can only be set with"),
        ((1, 1, 4), {"size": 3, "recompute_scale_factor": True}, "recompute_scale_factor is not meaningful"),
    ],
)
def test_what_is_no_size_is_refused_as_in_torch(shape, options, message):
    for library, layers in ((torch, torch.nn), (kellet, nn)):
        with pytest.raises(ValueError, match=message):
            layers.functional.interpolate(library.ones(*shape), **options)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_bags_are_weighed_as_in_torch(dtype):
    bags, offsets = integers(7, 8), np.array([0, 2, 5])
    theirs, ours = both(lambda nn: nn.EmbeddingBag(7, 4, mode="sum"), dtype)
    inputs = inputs_of([bags, offsets, reals(8)], dtype)
    compare(theirs, ours, *inputs, dtype)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ([[[0]], [0]], {}, RuntimeError, "if input is 2D, then offsets has to be None"),
        ([[0, 1]], {}, RuntimeError, r"got input of shape \(2,\), offsets of shape None"),
        (
            [[0, 1], [1]],
            {},
            RuntimeError,
            r"has to start with 0 and go up to at most the 2 of input, got \[1\]",
        ),
        ([[[0]]], {"mode": "min"}, ValueError, "mode has to be one of sum, mean or max, got 'min'"),
        ([[0], [0], [1.0]], {}, ValueError, "only supported for mode='sum', got mode='mean'"),
    ],
)
def test_bags_that_cannot_be_told_apart_are_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        nn.EmbeddingBag(3, 2, **options)(*[kellet.tensor(one) for one in arguments])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.PixelShuffle(2)(kellet.ones(1, 6, 2, 2)), "6 channels are not a multiple of"),
        (
            lambda: nn.PixelUnshuffle(2)(kellet.ones(1, 6, 3, 2)),
            "height 3 and width 2 must be multiples of 2",
        ),
        (lambda: nn.ChannelShuffle(4)(kellet.ones(1, 6, 3)), "6 channels cannot be split into 4 groups"),
        (lambda: nn.AdaptiveMaxPool1d(2)(kellet.ones(3)), r"expected 2 or 3 dimensions, got shape \(3,\)"),
    ],
)
def test_channels_and_dimensions_that_do_not_fit_are_refused(call, message):
    with pytest.raises(kellet.errors.ShapeError, match=message):
        call()


def test_picks_that_are_almost_one_hot_follow_the_logits_and_pass_gradients():
    kellet.manual_seed(0)
    logits = kellet.tensor([0.0, 1.0, 2.0], requires_grad=True)
    soft = nn.functional.gumbel_softmax(logits.expand(20000, 3), tau=0.5)
    np.testing.assert_allclose(soft.detach().sum(1).numpy(), 1, rtol=1e-5)
    hard = nn.functional.gumbel_softmax(logits.expand(20000, 3), hard=True)
    np.testing.assert_allclose(hard.detach().mean(0).numpy(), logits.detach().softmax(0).numpy(), atol=0.02)
    (hard * kellet.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad[2] > 0 > logits.grad[0]
