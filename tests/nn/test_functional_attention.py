"""Attention: the formula, masks, dropout, what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import kellet
import kellet.nn.functional as F
from kellet.errors import DTypeError, ShapeError
from tests.tables import one_test

attention = F.scaled_dot_product_attention


def qkv(length: int = 3, source: int = 5, dtype: Any = kellet.float64) -> tuple[Any, Any, Any]:
    kellet.manual_seed(0)  # a sum that is nearly zero has no twelve digits
    return (
        kellet.randn(2, 2, length, 4, dtype=dtype),
        kellet.randn(2, 2, source, 4, dtype=dtype),
        kellet.randn(2, 2, source, 6, dtype=dtype),
    )


def test_it_is_the_formula() -> None:
    q, k, v = qkv()
    expected = (q @ k.transpose(-2, -1) / 2).softmax(-1) @ v
    np.testing.assert_allclose(attention(q, k, v).numpy(), expected.numpy(), rtol=1e-12)


def test_scale_replaces_the_root_of_the_width() -> None:
    q, k, v = qkv()
    expected = (q @ k.transpose(-2, -1) * 0.1).softmax(-1) @ v
    np.testing.assert_allclose(attention(q, k, v, scale=0.1).numpy(), expected.numpy(), rtol=1e-12)


def test_a_bool_mask_says_where_to_look_and_a_floating_one_is_added() -> None:
    q, k, v = qkv()
    allowed = kellet.rand(3, 5) > 0.3
    allowed[:, 0] = True
    added = kellet.where(allowed, 0.0, -math.inf).double()
    np.testing.assert_allclose(
        attention(q, k, v, allowed).numpy(), attention(q, k, v, added).numpy(), rtol=1e-12
    )


def test_causal_queries_do_not_look_ahead() -> None:
    q, k, v = qkv(4, 4)
    before = attention(q, k, v, is_causal=True)
    v[:, :, 2:] = 100.0
    after = attention(q, k, v, is_causal=True)
    np.testing.assert_array_equal(before[:, :, :2].numpy(), after[:, :, :2].numpy())
    assert not (before[:, :, 2:] == after[:, :, 2:]).any()


def test_a_query_that_may_look_nowhere_gets_zeros_and_no_gradient() -> None:
    q, k, v = (t.requires_grad_() for t in qkv())
    allowed = kellet.ones(3, 5).bool()
    allowed[1] = False
    for mask in (allowed, kellet.where(allowed, 0.0, -math.inf).double()):
        out = attention(q, k, v, mask)
        assert (out[:, :, 1] == 0).all()
        for graph in (False, True):
            grads = kellet.autograd.grad(out.sum(), (q, k, v), retain_graph=True, create_graph=graph)
            assert all(g.isfinite().all() for g in grads)
            assert (grads[0][:, :, 1] == 0).all()


def test_the_mask_gets_a_gradient_too() -> None:
    q, k, v = qkv()
    bias = kellet.zeros(3, 5, dtype=kellet.float64, requires_grad=True)
    assert kellet.autograd.gradcheck(lambda b: attention(q, k, v, b), bias)


def test_dropout_of_weights_follows_the_seed_and_keeps_the_mean() -> None:
    q, k = kellet.zeros(1, 2000, 4), kellet.zeros(1, 8, 4)
    v = kellet.ones(1, 8, 1)
    kellet.manual_seed(3)
    first = attention(q, k, v, dropout_p=0.25)
    kellet.manual_seed(3)
    assert (attention(q, k, v, dropout_p=0.25) == first).all()
    assert set(np.round(first.flatten().numpy() * 6).astype(int)) <= set(range(9))
    assert first.mean().item() == pytest.approx(1.0, abs=0.05)


def test_heads_may_share_keys_and_values() -> None:
    q = kellet.randn(1, 4, 3, 2)
    k, v = kellet.randn(1, 2, 3, 2), kellet.randn(1, 2, 3, 2)
    doubled = [t.repeat_interleave(2, 1) for t in (k, v)]
    np.testing.assert_array_equal(attention(q, k, v, enable_gqa=True).numpy(), attention(q, *doubled).numpy())


@pytest.mark.parametrize("dtype", [kellet.float32, kellet.float64])
def test_dtype_is_kept(dtype: Any) -> None:
    q, k, v = (t.requires_grad_() for t in qkv(dtype=dtype))
    out = attention(q, k, v, is_causal=True, dropout_p=0.5)
    out.sum().backward()
    assert {out.dtype, q.grad.dtype, k.grad.dtype, v.grad.dtype} == {dtype}


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: attention(*[kellet.zeros(3, 4)] * 3, kellet.ones(3, 3).bool(), 0.0, True),
            ValueError,
            r"Explicit attn_mask should not be set when is_causal=True",
        ),
        (
            lambda: attention(kellet.zeros(3, 4), kellet.zeros(3, 5), kellet.zeros(3, 4)),
            ShapeError,
            r"query \(3, 4\), key \(3, 5\) and value \(3, 4\) do not fit",
        ),
        (
            lambda: attention(kellet.zeros(3, 4), kellet.zeros(3, 4), kellet.zeros(2, 4)),
            ShapeError,
            r"must be \(\.\.\., L, E\), \(\.\.\., S, E\) and \(\.\.\., S, Ev\)",
        ),
        (lambda: attention(*[kellet.zeros(4)] * 3), ShapeError, r"do not fit"),
        (
            lambda: attention(kellet.zeros(3, 4), kellet.zeros(3, 4).double(), kellet.zeros(3, 4)),
            DTypeError,
            r"must have one dtype, got \['float32', 'float64'\]",
        ),
        (
            lambda: attention(kellet.zeros(3, 2, 4), *[kellet.zeros(2, 2, 4)] * 2, enable_gqa=True),
            ShapeError,
            r"3 heads of the query cannot share 2 heads",
        ),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
