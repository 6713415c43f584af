"""The functions of `nn.functional` as expressions, in which they stand behind `F`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.answers.expressions import subject_of
from tests.answers.telling import Tolerance

rng = np.random.default_rng(13)


def real(*shape: int) -> Any:
    """Both signs, away from zero, no two values equal."""
    count = int(np.prod(shape))
    size = 0.1 + 1.9 * (rng.permutation(count) + rng.uniform(0.2, 0.8, count)) / max(count, 1)
    return (size * rng.choice([-1.0, 1.0], count)).reshape(shape)


def share(*shape: int) -> Any:
    return 0.1 + np.abs(real(*shape)) / 2.5


def index(high: int, *shape: int) -> Any:
    return rng.integers(0, high, shape)


def mask(*shape: int) -> Any:
    found = rng.permutation(int(np.prod(shape))).reshape(shape) % 2 == 0
    found[..., 0] = True
    return found


ACTIVATIONS = [
    *(
        (f"F.{name}", real(2, 6) * 3)
        for name in (
            "relu(a)",
            "relu(a, inplace=False)",
            "leaky_relu(a)",
            "leaky_relu(a, 0.2)",
            "elu(a)",
            "elu(a, 0.7)",
            "selu(a)",
            "celu(a, 2.0)",
            "relu6(a * 3)",
            "hardtanh(a, -0.5, 0.8)",
            "gelu(a)",
            "gelu(a, approximate='tanh')",
            "silu(a)",
            "mish(a)",
            "softplus(a)",
            "softplus(a, 2.0, 3.0)",
            "softsign(a)",
            "sigmoid(a)",
            "logsigmoid(a)",
            "hardsigmoid(a.detach())",
            "hardswish(a)",
            "tanh(a)",
            "softmax(a, 1)",
            "softmax(a, dim=0)",
            "softmax(a, -1, dtype=m.float64)",
            "log_softmax(a, 1)",
            "log_softmax(a, dim=-2)",
            "softmin(a, 1)",
            "glu(a)",
            "normalize(a)",
            "normalize(a, p=3.0, dim=0)",
        )
    ),
    ("F.prelu(a, b)", real(2, 3, 2), real(3)),
    ("F.prelu(a, b)", real(2, 3), real(1)),
    ("F.softmax(a, 0)", np.array(2.0)),
    ("F.softmax(a, 1)", np.array([[-np.inf, 0.0, 1.0], [-80.0, -90.0, 80.0]])),
    ("F.log_softmax(a, 1)", np.array([[1000.0, 0.0], [-1000.0, 1000.0]])),
    ("F.softmax(a, 1)", real(2, 3, 4, 2)),
]

LINEAR = [
    ("F.linear(a, b)", real(2, 3), real(4, 3)),
    ("F.linear(a, b, c)", real(2, 3), real(4, 3), real(4)),
    ("F.linear(a, b, c)", real(3), real(4, 3), real(4)),
    ("F.linear(a, b, c)", real(2, 2, 3), real(4, 3), real(4)),
    ("F.linear(a, b)", real(2, 3), real(3)),
    ("F.linear(a, b, c)", real(0, 3), real(4, 3), real(4)),
    ("F.bilinear(a, b, c)", real(2, 3), real(2, 2), real(4, 3, 2)),
    ("F.embedding(a, b)", index(5, 2, 3), real(5, 4)),
    ("F.embedding(a, b, padding_idx=1)", np.array([[0, 1, 4], [1, 1, 2]]), real(5, 4)),
    ("F.embedding(a, b, padding_idx=-1)", np.array([0, 4, 2]), real(5, 4)),
    ("F.one_hot(a, 5)", index(5, 2, 3)),
    ("F.one_hot(a)", np.array([0, 3])),
    ("F.cosine_similarity(a, b)", real(2, 3), real(2, 3)),
    ("F.cosine_similarity(a, b, dim=0)", real(2, 3), real(2, 3)),
    ("F.pairwise_distance(a, b)", real(2, 3), real(2, 3)),
]

CONVOLUTION = [
    ("F.conv2d(a, b)", real(2, 3, 5, 6), real(4, 3, 3, 2)),
    ("F.conv2d(a, b, c)", real(2, 3, 5, 6), real(4, 3, 3, 2), real(4)),
    ("F.conv2d(a, b, c, stride=2, padding=1)", real(2, 3, 5, 6), real(4, 3, 3, 3), real(4)),
    ("F.conv2d(a, b, c, (2, 1), (0, 1), (1, 2))", real(2, 2, 7, 6), real(4, 2, 3, 2), real(4)),
    ("F.conv2d(a, b, c, padding=1, groups=2)", real(2, 4, 5, 4), real(6, 2, 3, 3), real(6)),
    ("F.conv2d(a, b, padding=1, groups=3)", real(2, 3, 4, 4), real(3, 1, 3, 3)),
    ("F.conv2d(a, b, padding='same')", real(1, 2, 5, 6), real(3, 2, 3, 5)),
    ("F.conv2d(a, b, c, padding='valid')", real(3, 5, 6), real(3, 3, 2, 3), real(3)),
    ("F.conv2d(a, b)", real(2, 3, 4, 4), real(5, 3, 1, 1)),
    ("F.conv2d(a, b, padding=2)", real(1, 8, 6, 6), real(2, 8, 5, 5)),
    ("F.conv1d(a, b, c, stride=2, padding=2)", real(2, 3, 9), real(4, 3, 3), real(4)),
    ("F.conv1d(a, b)", real(3, 9), real(4, 3, 3)),
    ("F.conv3d(a, b, c, padding=1)", real(1, 2, 3, 4, 3), real(2, 2, 2, 3, 2), real(2)),
    ("F.conv_transpose1d(a, b)", real(2, 3, 5), real(3, 2, 3)),
    ("F.conv_transpose2d(a, b, c, stride=2, padding=1)", real(2, 3, 4, 3), real(3, 2, 3, 3), real(2)),
    ("F.conv_transpose2d(a, b, c, 2, 1, 1)", real(2, 4, 3, 3), real(4, 3, 3, 3), real(3)),
    ("F.conv_transpose2d(a, b, None, 2, 1, 1, 2)", real(2, 4, 3, 3), real(4, 3, 3, 3)),
    ("F.conv_transpose2d(a, b, dilation=2)", real(3, 4, 3), real(3, 2, 2, 3)),
    ("F.conv_transpose3d(a, b)", real(1, 2, 2, 2, 2), real(2, 2, 2, 2, 2)),
]

POOLING = [
    ("F.max_pool2d(a, 2)", real(2, 3, 4, 6)),
    ("F.max_pool2d(a, (3, 2), stride=(2, 1), padding=(1, 0))", real(2, 3, 5, 6)),
    ("F.max_pool2d(a, 2, dilation=2, stride=1)", real(2, 3, 5, 6)),
    ("F.max_pool2d(a, 3, 2, 1, 1, True)", real(2, 3, 6, 6)),
    ("F.max_pool2d(a, 2, return_indices=True)", real(2, 3, 4, 6)),
    ("F.max_pool2d(a, 2)", np.zeros((1, 1, 4, 4))),
    ("F.max_pool2d(a, 2)", real(3, 4, 4)),
    ("F.max_pool1d(a, 2)", real(2, 3, 7)),
    ("F.max_pool3d(a, 2)", real(1, 2, 4, 4, 4)),
    ("F.avg_pool2d(a, 2)", real(2, 3, 4, 6)),
    ("F.avg_pool2d(a, 3, 2, 1)", real(2, 3, 5, 5)),
    ("F.avg_pool2d(a, 3, 2, 1, True, False)", real(2, 3, 6, 6)),
    ("F.avg_pool2d(a, 2, divisor_override=3)", real(2, 3, 4, 4)),
    ("F.avg_pool1d(a, 3, 1, 1)", real(2, 3, 5)),
    ("F.avg_pool3d(a, 2)", real(1, 2, 4, 4, 4)),
    ("F.adaptive_avg_pool2d(a, 1)", real(2, 3, 5, 4)),
    ("F.adaptive_avg_pool2d(a, (3, 2))", real(2, 3, 5, 4)),
    ("F.adaptive_avg_pool2d(a, (None, 7))", real(2, 3, 5, 4)),
    ("F.adaptive_avg_pool1d(a, 3)", real(2, 3, 8)),
]

NORMALIZATION = [
    ("F.layer_norm(a, (4,))", real(2, 3, 4)),
    ("F.layer_norm(a, [4], b, c)", real(2, 3, 4), real(4), real(4)),
    ("F.layer_norm(a, (3, 4), b, c, 1e-2)", real(2, 3, 4), real(3, 4), real(3, 4)),
    ("F.layer_norm(a, (4,), bias=b)", real(2, 4), real(4)),
    ("F.rms_norm(a, (4,), b)", real(2, 4), real(4)),
    ("F.batch_norm(a, None, None, b, c, training=True)", real(4, 3), real(3), real(3)),
    ("F.batch_norm(a, None, None, b, c, training=True)", real(4, 3, 2, 2), real(3), real(3)),
    ("F.batch_norm(a, None, None, training=True, eps=1e-2)", real(4, 3, 2)),
    ("F.batch_norm(a, b.detach(), b.detach() ** 2, b, c)", real(4, 3, 2), real(3), real(3)),
    ("F.batch_norm(a, b.detach(), c.detach() ** 2)", real(4, 3), real(3), real(3)),
    ("F.group_norm(a, 2, b, c)", real(2, 4, 3), real(4), real(4)),
    ("F.instance_norm(a, None, None, b, c)", real(2, 3, 4), real(3), real(3)),
]

LOSSES = [
    ("F.cross_entropy(a, b)", real(4, 5), index(5, 4)),
    ("F.cross_entropy(a, b, reduction='sum')", real(4, 5), index(5, 4)),
    ("F.cross_entropy(a, b, reduction='none')", real(4, 5), index(5, 4)),
    ("F.cross_entropy(a, b, weight=c.detach())", real(4, 5), index(5, 4), share(5)),
    ("F.cross_entropy(a, b, ignore_index=1)", real(4, 5), np.array([0, 1, 1, 3])),
    ("F.cross_entropy(a, b)", real(4, 5), np.array([0, -100, 2, 3])),
    ("F.cross_entropy(a, b, label_smoothing=0.1)", real(4, 5), index(5, 4)),
    (
        "F.cross_entropy(a, b, c.detach(), ignore_index=1, label_smoothing=0.3)",
        real(4, 5),
        np.array([0, 1, 1, 3]),
        share(5),
    ),
    (
        "F.cross_entropy(a, b, c.detach(), ignore_index=1, label_smoothing=0.3, reduction='none')",
        real(4, 5),
        np.array([0, 1, 1, 3]),
        share(5),
    ),
    ("F.cross_entropy(a, b)", real(5), np.array(2)),
    ("F.cross_entropy(a, b)", real(2, 5, 3), index(5, 2, 3)),
    ("F.cross_entropy(a, b, reduction='none')", real(2, 5, 3, 2), index(5, 2, 3, 2)),
    ("F.cross_entropy(a, b)", real(4, 5), share(4, 5)),
    ("F.cross_entropy(a, b, c.detach(), label_smoothing=0.2)", real(2, 5, 3), share(2, 5, 3), share(5)),
    ("F.cross_entropy(a, b, reduction='none')", real(2, 5, 3), share(2, 5, 3)),
    ("F.nll_loss(a, b)", real(4, 5), index(5, 4)),
    ("F.nll_loss(a, b, c.detach(), reduction='none')", real(4, 5), index(5, 4), share(5)),
    ("F.nll_loss(a, b, c.detach(), ignore_index=2)", real(2, 5, 3), index(5, 2, 3), share(5)),
    *(
        (f"F.{name}(a, b, reduction='{reduction}')", real(2, 3), real(2, 3))
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
        for reduction in ("mean", "sum", "none")
    ),
    ("F.smooth_l1_loss(a, b, beta=0.3)", real(2, 3), real(2, 3)),
    ("F.smooth_l1_loss(a, b, beta=0)", real(2, 3), real(2, 3)),
    ("F.huber_loss(a, b, delta=0.3)", real(2, 3), real(2, 3)),
    ("F.binary_cross_entropy(a, b.detach())", share(2, 3), share(2, 3)),
    (
        "F.binary_cross_entropy(a, b.detach(), c.detach(), reduction='sum')",
        share(2, 3),
        share(2, 3),
        share(3),
    ),
    ("F.binary_cross_entropy(a.detach(), b.detach())", np.array([0.0, 1.0, 0.5]), np.array([1, 0, 1]) * 1.0),
    ("F.binary_cross_entropy_with_logits(a, b)", real(2, 3) * 4, share(2, 3)),
    ("F.binary_cross_entropy_with_logits(a, b, pos_weight=c.detach())", real(2, 3), share(2, 3), share(3)),
    (
        "F.binary_cross_entropy_with_logits(a, b, c.detach(), reduction='none')",
        real(2, 3),
        share(2, 3),
        share(2, 3),
    ),
    ("F.kl_div(a, b, reduction='batchmean')", real(2, 3), share(2, 3)),
    ("F.kl_div(a, b, reduction='sum', log_target=True)", real(2, 3), real(2, 3)),
    ("F.kl_div(a, b.detach(), reduction='none')", real(3), np.array([0.0, 0.5, 1.0])),
]

ATTENTION = [
    ("F.scaled_dot_product_attention(a, b, c)", real(2, 3, 4), real(2, 5, 4), real(2, 5, 2)),
    ("F.scaled_dot_product_attention(a, b, c)", real(2, 2, 3, 4), real(2, 2, 5, 4), real(2, 2, 5, 4)),
    ("F.scaled_dot_product_attention(a, b, c, scale=0.3)", real(3, 4), real(5, 4), real(5, 2)),
    (
        "F.scaled_dot_product_attention(a, b, c, is_causal=True)",
        real(2, 2, 4, 4),
        real(2, 2, 4, 4),
        real(2, 2, 4, 3),
    ),
    ("F.scaled_dot_product_attention(a, a, a, attn_mask=b)", real(2, 3, 4), mask(3, 3)),
    ("F.scaled_dot_product_attention(a, a, a, attn_mask=b)", real(2, 3, 4), real(3, 3)),
    ("F.scaled_dot_product_attention(a, a, a, attn_mask=b)", real(2, 2, 3, 4), mask(2, 1, 1, 3)),
    (
        "F.scaled_dot_product_attention(a, b, b, enable_gqa=True)",
        real(1, 4, 3, 2),
        real(1, 2, 3, 2),
    ),
]

PADDING = [
    ("F.pad(a, (1, 2))", real(2, 3)),
    ("F.pad(a, (1, 2, 0, 1), value=0.5)", real(2, 3)),
    ("F.pad(a, (-1, 1), 'constant', 2.0)", real(2, 3)),
    ("F.pad(a, (2, 1), mode='reflect')", real(1, 2, 4)),
    ("F.pad(a, (1, 1, 2, 0), mode='reflect')", real(1, 2, 4, 3)),
    ("F.pad(a, (2, 1), mode='replicate')", real(1, 2, 4)),
    ("F.pad(a, (2, 1, 1, 1), mode='replicate')", real(1, 2, 4, 3)),
    ("F.pad(a, (2, 1), mode='circular')", real(1, 2, 4)),
]

# PyTorch has no second derivative of this.
FIRST_ORDER = ("F.layer_norm(a, (4,), bias=b)",)

CASES = [
    *ACTIVATIONS,
    *LINEAR,
    *CONVOLUTION,
    *POOLING,
    *NORMALIZATION,
    *LOSSES,
    *ATTENTION,
    *PADDING,
]
NEAR = {"float32": Tolerance(1e-5, 2e-5), "float64": Tolerance(1e-10, 1e-12)}

SUBJECT = subject_of("functional", CASES, NEAR, FIRST_ORDER)
