"""Operations as expressions: values, dtypes, shapes, first and second gradients.

In an expression `m` is the library, and `a`, `b`, `c` are its inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.answers.expressions import NEAR, subject_of

rng = np.random.default_rng(11)


def real(*shape: int) -> Any:
    """Both signs, away from zero, no two values equal."""
    count = int(np.prod(shape))
    size = 0.1 + 1.9 * (rng.permutation(count) + rng.uniform(0.2, 0.8, count)) / max(count, 1)
    return (size * rng.choice([-1.0, 1.0], count)).reshape(shape)


def above(*shape: int) -> Any:
    return np.abs(real(*shape))


def unit(*shape: int) -> Any:
    return real(*shape) / 2.5


def mixed(*shape: int) -> Any:
    return real(*shape) + 1j * real(*shape)


def index(high: int, *shape: int) -> Any:
    return rng.integers(0, high, shape)


def mask(*shape: int) -> Any:
    return rng.permutation(int(np.prod(shape))).reshape(shape) % 2 == 0


def whole(*shape: int) -> Any:
    return rng.integers(-9, 10, shape)


ARITHMETIC = [
    ("a + b", real(2, 3), real(3)),
    ("a - b", real(2, 1), real(3)),
    ("a * b", real(2, 3), real(2, 1)),
    ("a / b", real(2, 3), real(3)),
    ("a + 1", real(2, 3)),
    ("2.5 - a", real(2, 3)),
    ("3 * a", real(2, 3)),
    ("1 / a", real(2, 3)),
    ("a / 0", real(3)),
    ("-a", real(3)),
    ("+a", real(3)),
    ("abs(a)", real(3)),
    ("a ** 2", real(3)),
    ("a ** 3", real(3)),
    ("a ** -1", real(3)),
    ("a ** 0", real(3)),
    ("a ** 0.5", above(3)),
    ("2 ** a", real(3)),
    ("a ** b", above(2, 3), real(3)),
    ("a.detach() // b.detach()", real(4), above(4)),
    ("a.detach() // 2", real(4)),
    ("a % b", real(4), real(4)),
    ("a % 2", real(4)),
    ("m.add(a, b, alpha=2)", real(3), real(3)),
    ("m.sub(a, b, alpha=2)", real(3), real(3)),
    ("m.subtract(a, b)", real(3), real(3)),
    ("m.rsub(a, b)", real(3), real(3)),
    ("m.multiply(a, b)", real(3), real(3)),
    ("m.div(a, b, rounding_mode='floor')", real(4), real(4)),
    ("m.div(a, b, rounding_mode='trunc')", real(4), real(4)),
    ("m.divide(a, b)", real(4), real(4)),
    ("m.true_divide(a, b)", real(4), real(4)),
    ("m.floor_divide(a.detach(), b.detach())", real(4), real(4)),
    ("m.remainder(a, b)", real(4), real(4)),
    ("m.fmod(a, b)", real(4), real(4)),
    ("m.pow(a, 3)", real(4)),
    ("m.lerp(a, b, 0.3)", real(4), real(4)),
    ("m.lerp(a, b, c)", real(2, 4), real(4), unit(4)),
    ("m.maximum(a, b)", real(2, 4), real(4)),
    ("m.minimum(a, b)", real(2, 4), real(4)),
    ("m.maximum(a, b)", np.array([1.0, 2.0]), np.array([1.0, 3.0])),
    ("m.clamp(a, -0.5, 0.5)", real(6)),
    ("m.clamp(a, min=0.2)", real(6)),
    ("m.clamp(a, max=0.2)", real(6)),
    ("m.clamp(a, b, c)", real(6), -above(6), above(6)),
    ("a.clamp(min=b)", real(6), real(6)),
    ("a.clip(-1, 1)", real(6)),
    ("m.addcmul(a, b, c, value=0.5)", real(3), real(3), real(3)),
    ("m.addcdiv(a, b, c, value=0.5)", real(3), real(3), real(3)),
    ("m.hypot(a, b)", real(3), real(3)),
    ("m.atan2(a, b)", real(3), real(3)),
]

FUNCTIONS = [
    (f"m.{name}(a)", values)
    for names, values in [
        (
            "abs neg exp exp2 expm1 sin cos tan sinh cosh tanh asinh atan sigmoid square reciprocal",
            real(2, 3),
        ),
        ("sign sgn floor ceil round trunc frac erf erfc relu positive deg2rad", real(2, 3) * 2),
        ("log log1p log2 log10 sqrt rsqrt", above(2, 3)),
        ("asin acos atanh arcsin arccos arctanh logit", unit(2, 3) * 0.5 + 0.5),
        ("acosh arccosh", above(2, 3) + 1),
        ("isnan isinf isfinite signbit", np.array([0.0, -1.0, np.nan, np.inf, -np.inf])),
        ("exp log sin cos tanh sqrt reciprocal sigmoid abs conj real imag angle square neg sgn", mixed(2, 3)),
    ]
    for name in names.split()
] + [
    ("m.round(a, decimals=1)", real(5)),
    ("m.where(a > 0, a, b)", real(2, 3), real(3)),
    ("m.where(a > 0, a, 0.0)", real(2, 3)),
    ("a.masked_fill(b, 2.0)", real(2, 3), mask(3)),
    ("m.masked_fill(a, b, c)", real(2, 3), mask(2, 3), np.array(0.5)),
    ("m.logaddexp(a, b)", real(3), real(3)),
    ("m.nan_to_num(a, 1.0)", np.array([np.nan, np.inf, 2.0])),
]

REDUCTIONS = [
    ("a.sum()", real(2, 3)),
    ("m.sum(a, 1)", real(2, 3)),
    ("m.sum(a, dim=(0, -1), keepdim=True)", real(2, 3, 4)),
    ("m.sum(a, dim=[])", real(2, 3)),
    ("m.sum(a, dim=None)", real(2, 3)),
    ("m.mean(a)", real(2, 3)),
    ("a.mean(-1, keepdim=True)", real(2, 3)),
    ("a.mean((0, 1))", real(2, 3)),
    ("m.prod(a)", real(2, 3)),
    ("m.prod(a, 1)", real(2, 3)),
    ("m.prod(a, dim=0, keepdim=True)", np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 4.0]])),
    ("m.var(a)", real(2, 3)),
    ("m.var(a, dim=1, correction=0)", real(2, 3)),
    ("m.var(a, 1, unbiased=False)", real(2, 3)),
    ("m.var(a, (0, 2), keepdim=True)", real(2, 3, 2)),
    ("m.std(a, dim=0)", real(4, 3)),
    ("a.std()", real(4, 3)),
    ("m.var_mean(a, dim=1)", real(2, 3)),
    ("m.std_mean(a, dim=1)", real(2, 3)),
    ("m.logsumexp(a, 1)", real(2, 3)),
    ("m.logsumexp(a, (0, 1), keepdim=True)", real(2, 3)),
    ("m.norm(a)", real(2, 3)),
    ("m.norm(a, 1, dim=1)", real(2, 3)),
    ("a.norm(3, -1, True)", real(2, 3)),
    ("m.norm(a, float('inf'), dim=0)", real(2, 3)),
    ("m.max(a)", real(2, 3)),
    ("m.max(a, 1)", real(2, 3)),
    ("a.max(dim=0, keepdim=True).values", real(2, 3)),
    ("m.min(a, -1).indices", real(2, 3)),
    ("m.min(a)", np.array([1.0, 1.0, 2.0])),
    ("m.max(a, b)", real(2, 3), real(3)),
    ("m.amax(a, 1)", np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])),
    ("m.amin(a, (0, 1), keepdim=True)", real(2, 3)),
    ("m.aminmax(a, dim=1)", real(2, 3)),
    ("m.argmax(a)", real(2, 3)),
    ("m.argmin(a, 1, keepdim=True)", real(2, 3)),
    ("m.cumsum(a, 1)", real(2, 3)),
    ("m.cumprod(a, -1)", real(2, 3)),
    ("m.cumprod(a, 0)", np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [2.0, 2.0]])),
    ("m.sort(a)", real(2, 5)),
    ("m.sort(a, 0, descending=True)", real(4, 3)),
    ("m.argsort(a, dim=1)", real(2, 5)),
    ("m.topk(a, 2)", real(2, 5)),
    ("m.topk(a, 3, dim=0, largest=False)", real(5, 2)),
    ("m.any(a > 0)", real(2, 3)),
    ("m.all(a > 0, dim=1)", real(2, 3)),
    ("m.any(a > 0, 0, keepdim=True)", real(2, 3)),
    ("m.count_nonzero(a > 0, dim=1)", real(2, 3)),
    ("m.diff(a, dim=1)", real(2, 4)),
    ("m.trace(a)", real(3, 4)),
]

SHAPES = [
    ("a.reshape(3, -1)", real(2, 3)),
    ("m.reshape(a, (6,))", real(2, 3)),
    ("a.view(6)", real(2, 3)),
    ("a.view_as(b)", real(2, 3), real(3, 2)),
    ("a.flatten()", real(2, 3, 2)),
    ("m.flatten(a, 1)", real(2, 3, 2)),
    ("m.flatten(a, 0, 1)", real(2, 3, 2)),
    ("a.unflatten(1, (2, -1))", real(2, 6)),
    ("a.T", real(2, 3)),
    ("a.mT", real(2, 3, 4)),
    ("a.t()", real(2, 3)),
    ("a.transpose(0, -1)", real(2, 3, 4)),
    ("m.swapaxes(a, 0, 1)", real(2, 3)),
    ("a.permute(2, 0, 1)", real(2, 3, 4)),
    ("m.permute(a, (1, 0))", real(2, 3)),
    ("m.movedim(a, 0, 2)", real(2, 3, 4)),
    ("a.expand(2, -1, 3)", real(4, 1)),
    ("a.expand_as(b)", real(1, 3), real(2, 3)),
    ("m.broadcast_to(a, (2, 3))", real(3)),
    ("a.squeeze()", real(1, 3, 1)),
    ("m.squeeze(a, 0)", real(1, 3, 1)),
    ("m.squeeze(a, 1)", real(1, 3, 1)),
    ("m.squeeze(a, (0, 2))", real(1, 3, 1)),
    ("a.unsqueeze(-1)", real(2, 3)),
    ("m.unsqueeze(a, 1)", real(2, 3)),
    ("m.cat((a, b), 1)", real(2, 3), real(2, 2)),
    ("m.cat([a, b], dim=-2)", real(2, 3), real(1, 3)),
    ("m.concat([a, b])", real(2, 3), real(1, 3)),
    ("m.stack((a, b), 1)", real(2, 3), real(2, 3)),
    ("m.stack([a, b], -1)", real(2, 3), real(2, 3)),
    ("m.vstack([a, b])", real(3), real(3)),
    ("m.hstack([a, b])", real(3), real(2)),
    ("m.split(a, 2)", real(5, 3)),
    ("m.split(a, [1, 4], dim=1)", real(2, 5)),
    ("a.chunk(3, 1)", real(2, 7)),
    ("m.unbind(a, 1)", real(2, 3)),
    ("m.tensor_split(a, 3)", real(7, 2)),
    ("a.narrow(1, 1, 2)", real(2, 4)),
    ("a.select(1, -1)", real(2, 4)),
    ("m.flip(a, (0, 1))", real(2, 3)),
    ("m.roll(a, 1)", real(2, 3)),
    ("m.roll(a, (1, -1), (0, 1))", real(2, 3)),
    ("m.tril(a)", real(3, 4)),
    ("m.triu(a, 1)", real(2, 3, 4)),
    ("m.diagonal(a)", real(3, 4)),
    ("a.diagonal(1, 0, 2)", real(2, 3, 4)),
    ("m.diag(a)", real(3)),
    ("m.diag(a, -1)", real(3, 4)),
    ("m.diag_embed(a)", real(2, 3)),
    ("a.repeat(2, 1, 3)", real(2, 3)),
    ("m.tile(a, (2,))", real(2, 3)),
    ("m.repeat_interleave(a, 2)", real(2, 3)),
    ("m.repeat_interleave(a, 2, dim=1)", real(2, 3)),
    ("a.repeat_interleave(b, 0)", real(3, 2), np.array([1, 0, 2])),
    ("m.meshgrid(a, b, indexing='ij')", real(2), real(3)),
    ("a.unfold(1, 3, 2)", real(2, 8)),
    ("m.rot90(a)", real(2, 3)),
]

INDEXING = [
    ("m.gather(a, 1, b)", real(3, 4), index(4, 2, 5)),
    ("a.gather(-2, b)", real(3, 4), index(3, 5, 2)),
    ("m.scatter(a, 1, b, c)", real(3, 5), np.array([[0, 2], [4, 1]]), real(2, 2)),
    ("m.scatter(a, 1, b, c.detach())", real(3, 5), np.array([[0, 2], [4, 1]]), real(2, 3)),
    ("a.scatter(0, b, 1.5)", real(3, 5), np.array([[0, 2, 1], [1, 0, 2]])),
    ("m.scatter_add(a, 1, b, c)", real(3, 5), index(5, 2, 3), real(2, 3)),
    ("m.scatter_add(a, 1, b, c.detach())", real(3, 5), index(5, 2, 3), real(3, 4)),
    ("m.index_select(a, 1, b)", real(2, 4), np.array([3, 0, 0])),
    ("m.index_add(a, 0, b, c)", real(4, 2), np.array([1, 1, 3]), real(3, 2)),
    ("m.index_add(a, 0, b, c, alpha=2)", real(4, 2), np.array([1, 1, 3]), real(3, 2)),
    ("m.masked_select(a, b)", real(2, 3), mask(2, 3)),
    ("m.masked_select(a, b)", real(2, 3), mask(3)),
    ("m.take_along_dim(a, b, 1)", real(2, 3), index(3, 2, 2)),
    ("a[1]", real(2, 3)),
    ("a[:, 1:]", real(2, 3)),
    ("a[..., None, ::2]", real(2, 3)),
    ("a[b]", real(3, 2), np.array([2, 0, 2])),
    ("a[b, 1]", real(3, 2), np.array([2, 0, 2])),
    ("a[b]", real(2, 3), mask(2, 3)),
    ("m.nonzero(a > 0)", real(2, 3)),
    ("m.bincount(a)", np.array([1, 0, 1, 4])),
    ("m.unique(a)", np.array([3, 1, 1, 2])),
    ("m.isin(a, b)", np.array([3, 1, 1, 2]), np.array([1, 2])),
]

PRODUCTS = [
    ("a @ b", real(2, 3), real(3, 4)),
    ("a @ b", real(3), real(3)),
    ("a @ b", real(2, 3), real(3)),
    ("a @ b", real(3), real(3, 2)),
    ("a @ b", real(2, 2, 3), real(3)),
    ("a @ b", real(3), real(2, 3, 2)),
    ("a @ b", real(2, 2, 3), real(3, 4)),
    ("a @ b", real(2, 3), real(4, 3, 2)),
    ("a @ b", real(2, 1, 2, 3), real(3, 3, 2)),
    ("a @ b", mixed(2, 3), mixed(3, 2)),
    ("m.mm(a, b)", real(2, 3), real(3, 2)),
    ("m.mv(a, b)", real(2, 3), real(3)),
    ("m.dot(a, b)", real(3), real(3)),
    ("m.bmm(a, b)", real(2, 3, 4), real(2, 4, 2)),
    ("m.outer(a, b)", real(2), real(3)),
    ("m.addmm(a, b, c, beta=0.5, alpha=2)", real(4), real(2, 3), real(3, 4)),
    ("m.baddbmm(a, b, c)", real(2, 2, 2), real(2, 2, 3), real(2, 3, 2)),
    ("m.tensordot(a, b, 2)", real(2, 3, 4), real(3, 4, 2)),
    ("m.tensordot(a, b, dims=([1], [0]))", real(2, 3, 4), real(3, 2)),
    ("m.einsum('ij,jk->ik', a, b)", real(2, 3), real(3, 4)),
    ("m.einsum('ij,jk', a, b)", real(2, 3), real(3, 4)),
    ("m.einsum('bhid,bhjd->bhij', a, b)", real(2, 2, 3, 4), real(2, 2, 5, 4)),
    ("m.einsum('...ij,...jk->...ik', a, b)", real(2, 1, 2, 3), real(4, 3, 2)),
    ("m.einsum('ii->i', a)", real(3, 3)),
    ("m.einsum('ii', a)", real(3, 3)),
    ("m.einsum('ij->j', a)", real(2, 3)),
    ("m.einsum('i,j->ij', a, b)", real(2), real(3)),
    ("m.einsum('ij,ij->', a, b)", real(2, 3), real(2, 3)),
    ("m.einsum('ij,kj->i', a, b)", real(2, 3), real(4, 3)),
    ("m.einsum('ij,jk,kl->il', a, b, c)", real(2, 3), real(3, 4), real(4, 2)),
    ("m.einsum('bij,bjk', [a, b])", real(2, 2, 3), real(2, 3, 2)),
    ("m.einsum('ij,jk->ik', a, b)", real(2, 1), real(3, 4)),
    ("m.einsum('b...,b...->...', a, b)", mixed(2, 3), mixed(2, 3)),
]

SPREAD = np.array([[np.nan, 1.0, 2.0, 5.0], [3.0, np.nan, -1.0, np.nan], [4.0, 2.0, 0.0, 1.0]])
EQUAL = np.array([[1.0, 2.0, 2.0, 0.5], [3.0, 3.0, 3.0, 1.0]])

RANKS = [
    ("m.median(a)", real(2, 3)),
    ("m.median(a)", EQUAL),
    ("m.median(a, 1)", real(2, 5)),
    ("a.median(0, keepdim=True).values", real(4, 3)),
    ("m.median(a).detach()", SPREAD),
    ("m.median(a, 1)", SPREAD),
    ("m.nanmedian(a)", SPREAD),
    ("m.nanmedian(a, dim=1)", SPREAD),
    ("m.median(a)", whole(7)),
    ("m.kthvalue(a, 2)", real(2, 5)),
    ("m.kthvalue(a, 3, 0, True)", real(4, 2)),
    ("m.kthvalue(a, 1)", np.array(2.0)),
    ("m.mode(a)", np.array([[1.0, 2.0, 2.0, 3.0], [5.0, 1.0, 5.0, 1.0]])),
    ("m.mode(a, 0)", np.array([[1, 2], [1, 3], [0, 3]])),
    ("m.msort(a)", real(4, 2)),
    *[
        (f"m.quantile(a, b.detach(), dim=1, interpolation={word!r})", real(3, 6), np.array([0.0, 0.3, 0.9]))
        for word in ("linear", "lower", "higher", "midpoint", "nearest")
    ],
    ("m.quantile(a, 0.4)", real(3, 4)),
    ("m.quantile(a, 0.4, keepdim=True)", real(3, 4)),
    ("m.quantile(a, b.detach(), 0, True)", real(3, 4), np.array([0.25, 0.5])),
    ("m.quantile(a.detach(), 0.4, 1)", SPREAD),
    ("m.nanquantile(a.detach(), 0.4, dim=1)", SPREAD),
    ("m.nanquantile(a.detach(), b.detach(), dim=0, keepdim=True)", SPREAD, np.array([0.25, 0.5])),
    ("m.cummax(a, 1)", real(2, 5)),
    ("m.cummax(a, 1)", EQUAL),
    ("m.cummin(a, 0)", real(5, 2)),
    ("m.cummin(a, 1).indices", SPREAD),
    ("m.logcumsumexp(a, 1)", real(2, 5) * 20),
    ("m.logcumsumexp(a, 0)", real(4)),
    (
        "m.searchsorted(a.detach(), b.detach())",
        np.array([1.0, 3.0, 3.0, 7.0]),
        np.array([[3.0, 0.0], [9.0, 4.0]]),
    ),
    ("m.searchsorted(a.sort(1).values.detach(), b.detach(), right=True)", real(2, 4), real(2, 3)),
    ("m.bucketize(a.detach(), b.detach(), right=True)", EQUAL, np.array([1.0, 2.0])),
    ("m.unique_consecutive(a, return_inverse=True, return_counts=True)", np.array([1, 1, 2, 2, 1])),
    ("m.unique_consecutive(a, dim=0)", np.array([[1, 1], [1, 1], [2, 1]])),
]

WRITING = [
    ("m.index_fill(a, 1, b, 2.5)", real(2, 4), np.array([3, 0])),
    ("m.index_fill(a, 0, b, c)", real(3, 2), np.array([1]), np.array(0.5)),
    ("m.index_copy(a, 1, b, c)", real(2, 4), np.array([3, 0]), real(2, 2)),
    ("m.index_put(a, (b,), c)", real(4, 2), np.array([3, 0]), real(2, 2)),
    ("m.index_put(a, (b, b), c, accumulate=True)", real(4, 4), np.array([3, 3, 0]), real(3)),
    ("m.index_put(a, (b,), c, accumulate=True)", real(4, 2), np.array([3, 3]), real(2)),
    ("m.take(a, b)", real(2, 3), index(6, 2, 2)),
    ("a.put(b, c)", real(2, 3), np.array([4, 0]), real(2)),
    ("a.put(b, c, accumulate=True)", real(2, 3), np.array([4, 4]), real(2)),
    ("m.masked_scatter(a, b, c)", real(2, 3), mask(2, 3), real(8)),
    ("m.masked_scatter(a, b, c)", real(2, 3), mask(3), real(2, 3)),
    *[
        (
            f"m.scatter_reduce(a, 1, b, c, {word!r}, include_self={own})",
            real(2, 5),
            index(5, 2, 4),
            real(2, 4),
        )
        for word in ("sum", "mean", "amax", "amin")
        for own in (True, False)
    ],
    ("a.scatter_reduce(0, b, c, 'amax')", np.zeros(3), np.array([0, 0, 1]), np.array([2.0, 2.0, 0.0])),
    ("a.scatter_reduce(0, b, c, 'mean')", whole(3), np.array([0, 0, 1]), whole(3)),
    ("a.clone().scatter_reduce_(0, b, c, 'amin')", real(4), index(4, 6), real(6)),
    ("(a * 2).index_fill_(0, b, 1.0)", real(4), np.array([1])),
    ("(a * 2).index_put_((b,), c)", real(4), np.array([1]), real(1)),
    ("(a * 2).masked_scatter_(b, c)", real(4), mask(4), real(4)),
    ("(a * 2).put_(b, c)", real(4), np.array([1]), real(1)),
    ("(a * 2).index_copy_(0, b, c)", real(4), np.array([1]), real(1)),
]

COMPOSED = [
    *[
        (f"(a * 1).{name}_()", unit(2, 3) * 0.5)
        for name in (
            "acos asin atan cosh sinh tan erf erfc exp2 expm1 square sign trunc round frac tril triu sinc"
        ).split()
    ],
    *[(f"(a * 1).{name}_()", above(2, 3)) for name in "log10 log1p log2 deg2rad absolute negative".split()],
    ("(a * 1).cumsum_(1)", real(2, 3)),
    ("(a * 1).clamp_min_(0.1)", real(2, 3)),
    ("(a * 1).hypot_(b)", real(2, 3), real(3)),
    ("(a * 1).lt_(b.detach())", real(2, 3), real(3)),
    ("m.clamp_min(a, 0.2)", real(6)),
    ("m.clamp_max(a, 0.2)", real(6)),
    ("m.fmax(a, b)", real(2, 3), real(3)),
    ("m.fmin(a, b)", real(2, 3), real(3)),
    ("m.fmax(a, b).detach()", SPREAD, SPREAD[::-1].copy()),
    ("m.copysign(a, b.detach())", real(2, 3), real(3)),
    ("m.copysign(a, -1.0)", real(2, 3)),
    ("m.heaviside(a.detach(), b.detach())", np.array([-1.0, 0.0, 2.0]), np.array([0.5])),
    ("m.float_power(a, 2)", whole(4)),
    ("m.xlogy(a, b)", real(3), above(3)),
    ("m.xlogy(a.detach(), b.detach())", np.array([0.0, 0.0, 1.0]), np.array([0.0, np.nan, 2.0])),
    ("m.sinc(a)", real(5)),
    ("m.sinc(a).detach()", np.array([0.0, 1.0])),
    ("m.logaddexp2(a, b)", real(3), real(3)),
    ("m.isreal(a)", mixed(3)),
    ("m.isposinf(a)", np.array([np.inf, -np.inf, 1.0])),
    ("m.isneginf(a)", np.array([np.inf, -np.inf, 1.0])),
    ("m.nansum(a, 1)", SPREAD),
    ("m.nanmean(a, 0, keepdim=True)", SPREAD),
    ("m.inner(a, b)", real(2, 3), real(4, 3)),
    ("m.inner(a, b)", real(3), real(3)),
    ("m.vdot(a, b)", mixed(3), mixed(3)),
    ("m.kron(a, b)", real(2, 3), real(3, 2)),
    ("m.kron(a, b)", real(2), real(3, 2)),
    ("m.cross(a, b, dim=1)", real(2, 3), real(2, 3)),
    ("m.dist(a, b)", real(3), real(3)),
    ("m.dist(a, b, 1)", real(3), real(3)),
    ("m.cdist(a.detach(), b.detach(), 1.5)", real(3, 2), real(4, 2)),
    ("m.cov(a)", real(3, 5)),
    ("m.cov(a, correction=0)", real(5)),
    ("m.corrcoef(a)", real(3, 5)),
    ("m.block_diag(a, b)", real(2, 3), real(2)),
    ("m.trapezoid(a)", real(2, 5)),
    ("m.trapezoid(a, dx=0.5, dim=0)", real(2, 5)),
    ("m.trapezoid(a, b)", real(2, 5), above(5)),
    ("m.cumulative_trapezoid(a, b)", real(2, 5), above(5)),
    ("m.diagflat(a, 1)", real(2, 2)),
    ("m.fliplr(a)", real(2, 3)),
    ("m.flipud(a)", real(2, 3)),
    ("m.cartesian_prod(a, b)", real(2), real(3)),
    ("m.combinations(a, 2)", real(4)),
    ("m.combinations(a, 2, with_replacement=True)", real(3)),
    ("a.split_with_sizes([1, 2])", real(3, 2)),
    ("m.histc(a.detach(), 4, -1, 1)", real(9)),
    ("m.histc(a.detach(), 5)", real(9)),
    ("m.tril_indices(3, 4, -1) + a", np.array(0)),
    ("m.triu_indices(3, 4, 1) + a", np.array(0)),
]

EYE = np.eye(3) * 3
TALL, WIDE, MANY = real(4, 2), real(2, 4), real(2, 3, 3) + EYE

LINALG = [
    ("m.inverse(a)", real(3, 3) + EYE),
    ("m.linalg.inv(a)", MANY),
    ("m.linalg.inv(a)", mixed(3, 3) + EYE),
    ("m.linalg.solve(a, b)", real(3, 3) + EYE, real(3)),
    ("m.linalg.solve(a, b)", MANY, real(2, 3, 2)),
    ("m.linalg.solve(a, b)", MANY, real(2, 3)),
    ("m.linalg.solve(a, b, left=False)", real(3, 3) + EYE, real(2, 3)),
    ("m.linalg.solve_triangular(a, b, upper=True)", real(3, 3) + EYE, real(3, 2)),
    ("m.linalg.solve_triangular(a, b, upper=False, unitriangular=True)", real(3, 3), real(3, 2)),
    ("m.linalg.solve_triangular(a, b, upper=False, left=False)", real(3, 3) + EYE, real(2, 3)),
    ("m.det(a)", real(3, 3)),
    ("m.linalg.det(a)", MANY),
    ("m.linalg.det(a).sum().real", mixed(2, 3, 3)),
    ("m.slogdet(a)", MANY),
    ("m.logdet(a)", EYE + real(3, 3)),
    ("m.logdet(a).detach()", np.diag([1.0, -1.0])),
    ("m.linalg.cholesky(a @ a.mT + b)", real(3, 3), EYE),
    ("m.linalg.cholesky(a @ a.mT + b, upper=True)", real(2, 3, 3), EYE),
    ("m.linalg.cholesky(a @ a.mT.conj() + b.detach())", mixed(3, 3), EYE + 0j),
    ("m.linalg.cholesky(a).detach()", np.array([[4.0, 99.0], [1.0, 3.0]])),
    *[("m.linalg.qr(a)", shape) for shape in (real(3, 3), TALL, WIDE, real(2, 3, 2), mixed(3, 2))],
    ("m.linalg.qr(a, mode='complete')", WIDE),
    ("m.linalg.qr(a.detach(), mode='complete')", TALL),
    ("m.linalg.eigh(a + a.mT).eigenvalues", real(3, 3)),
    ("(m.linalg.eigh(a + a.mT).eigenvectors ** 2)", real(3, 3)),
    ("m.linalg.eigh(a).eigenvalues.detach()", real(3, 3)),
    ("m.linalg.eigh(a, UPLO='U').eigenvalues.detach()", real(3, 3)),
    ("m.linalg.eigvalsh(a + a.mT.conj())", mixed(3, 3)),
    *[("m.linalg.svd(a, full_matrices=False).S", shape) for shape in (real(3, 3), TALL, WIDE, mixed(3, 2))],
    *[("m.linalg.svd(a, full_matrices=False).U ** 2", shape) for shape in (real(3, 3), TALL, WIDE)],
    *[("m.linalg.svd(a, full_matrices=False).Vh ** 2", shape) for shape in (real(3, 3), TALL, WIDE)],
    ("m.linalg.svd(a).S", real(3, 3)),
    *[
        (f"m.linalg.svd(a, full_matrices=False).{part}.abs() ** 2", shape)
        for part in ("U", "Vh")
        for shape in (mixed(3, 3), mixed(4, 2), mixed(2, 4))
    ],
    ("m.linalg.eigh(a + a.mT.conj()).eigenvectors.abs() ** 2", mixed(3, 3)),
    ("m.linalg.svdvals(a)", MANY),
    ("[one.abs() for one in m.linalg.svd(a.detach())][1]", TALL),
    ("m.linalg.eigvals(a.detach()).abs().sort().values", real(3, 3)),
    *[("m.linalg.pinv(a)", shape) for shape in (TALL, WIDE, MANY, mixed(3, 2))],
    ("m.pinverse(a)", TALL),
    ("m.linalg.lstsq(a, b).solution", TALL, real(4, 2)),
    ("m.linalg.matrix_rank(a.detach())", np.array([[1.0, 1.0], [1.0, 1.0]])),
    ("m.linalg.matrix_power(a, 3)", real(3, 3)),
    ("m.linalg.matrix_power(a, -2)", MANY),
    ("m.linalg.matrix_power(a, 0).detach()", MANY),
    ("m.linalg.multi_dot([a, b, c])", real(2, 3), real(3, 4), real(4)),
    ("m.linalg.vecdot(a, b)", mixed(2, 3), mixed(2, 3)),
    ("m.linalg.cross(a, b)", real(2, 3), real(2, 3)),
    ("m.linalg.diagonal(a, offset=1)", MANY),
    ("m.linalg.vector_norm(a, 3, dim=1)", real(2, 3)),
    ("m.linalg.norm(a)", real(2, 3)),
    ("m.linalg.norm(a, 1)", real(3)),
    ("m.linalg.norm(a, 'fro', dim=(0, 2))", real(2, 3, 4)),
    *[
        (f"m.linalg.matrix_norm(a, {word}, keepdim={kept})", MANY)
        for word in ("'fro'", "'nuc'", "2", "-2", "1", "-1", "float('inf')", "-float('inf')")
        for kept in (False, True)
    ],
    ("m.linalg.matrix_norm(a, 'nuc', dim=(2, 0))", MANY),
    ("m.linalg.cond(a)", real(3, 3) + EYE),
    ("m.linalg.cond(a.detach(), 1)", real(3, 3) + EYE),
]

CASES = [
    *ARITHMETIC,
    *FUNCTIONS,
    *REDUCTIONS,
    *SHAPES,
    *INDEXING,
    *PRODUCTS,
    *RANKS,
    *WRITING,
    *COMPOSED,
    *LINALG,
]

SUBJECT = subject_of("operations", CASES, NEAR)
