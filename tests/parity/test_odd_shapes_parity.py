"""New functions and layers beside torch, on shapes and axes that hypothesis chooses, with gradients."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import kellet

LIBRARIES = (torch, kellet)
TOLERANCE = {"float32": 2e-4, "float64": 1e-8}
dtypes = st.sampled_from(["float32", "float64"])
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@st.composite
def shape_and_axis(draw: DrawFn) -> tuple[tuple[int, ...], int]:
    shape = draw(shapes)
    return shape, draw(st.integers(-len(shape), len(shape) - 1))


def apart(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Values without ties, of both signs."""
    count = int(np.prod(shape))
    values = np.random.default_rng(seed).permutation(count) - count / 2 + 0.25
    return (values * 0.7).reshape(shape).astype(dtype)


def compare(call: Any, arrays: list[Any], dtype: str) -> None:
    """The outputs of `call(library, *tensors)`, and the gradients of the floating inputs."""
    found = [_run(library, call, arrays) for library in LIBRARIES]
    for theirs, ours in zip(*found, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def _run(library: Any, call: Any, arrays: list[Any]) -> list[Any]:
    tensors = [library.from_numpy(array.copy()) for array in arrays]
    leaves = [one.requires_grad_() for one, a in zip(tensors, arrays, strict=True) if a.dtype.kind == "f"]
    answer = call(library, *tensors)
    outputs = list(answer) if isinstance(answer, tuple | list) else [answer]
    smooth = [one for one in outputs if one.requires_grad]
    weights = [np.cos(np.arange(one.numel())).reshape(tuple(one.shape)) for one in smooth]
    kinds = [one.detach().numpy().dtype for one in smooth]
    given = [library.from_numpy(w.astype(kind)) for w, kind in zip(weights, kinds, strict=True)]
    gradients = library.autograd.grad(smooth, leaves, given, allow_unused=True) if smooth else ()
    return [one.detach().numpy() for one in (*outputs, *[g for g in gradients if g is not None])]


@settings(deadline=None, max_examples=30)
@given(
    where=shape_and_axis(),
    name=st.sampled_from(
        "median nanmedian kthvalue cummax cummin logcumsumexp sort msort quantile mode".split()
    ),
    keepdim=st.booleans(),
    seed=st.integers(0, 99),
    dtype=dtypes,
)
def test_orders_along_any_axis(where: Any, name: str, keepdim: bool, seed: int, dtype: str) -> None:
    shape, axis = where

    def call(library: Any, x: Any) -> Any:
        function = getattr(library, name)
        if name == "msort":
            return function(x)
        if name in ("cummax", "cummin", "logcumsumexp", "sort"):
            return function(x, axis)
        if name == "quantile":
            return function(x, 0.37, axis, keepdim)
        extra = (1 + seed % shape[axis],) if name == "kthvalue" else ()
        return function(x, *extra, axis, keepdim)

    compare(call, [apart(seed, shape, dtype)], dtype)


@settings(deadline=None, max_examples=30)
@given(
    where=shape_and_axis(),
    length=st.integers(1, 5),
    reduce=st.sampled_from(["sum", "mean", "amax", "amin"]),
    include_self=st.booleans(),
    seed=st.integers(0, 99),
    dtype=dtypes,
)
def test_values_folded_in_along_any_axis(
    where: Any, length: int, reduce: str, include_self: bool, seed: int, dtype: str
) -> None:
    shape, axis = where
    other = list(shape)
    other[axis] = length
    rng = np.random.default_rng(seed)
    index = rng.integers(0, shape[axis], other)
    arrays = [apart(seed, shape, dtype), index, apart(seed + 1, tuple(other), dtype) + np.asarray(0.1, dtype)]

    def call(library: Any, x: Any, index: Any, source: Any) -> Any:
        return x.scatter_reduce(axis, index, source, reduce, include_self=include_self)

    compare(call, arrays, dtype)


@settings(deadline=None, max_examples=30)
@given(
    where=shape_and_axis(),
    name=st.sampled_from(
        ["index_fill", "index_copy", "index_add", "take", "put", "masked_scatter", "index_put"]
    ),
    seed=st.integers(0, 99),
    dtype=dtypes,
)
def test_writing_by_index_along_any_axis(where: Any, name: str, seed: int, dtype: str) -> None:
    shape, axis = where
    rng = np.random.default_rng(seed)
    x = apart(seed, shape, dtype)
    chosen = rng.permutation(shape[axis])[: 1 + seed % shape[axis]]
    part = apart(seed + 1, np.take(x, chosen, axis).shape, dtype)
    flat = rng.permutation(x.size)[:2]
    calls: dict[str, tuple[Any, list[Any]]] = {
        "index_fill": (lambda m, x, i: x.index_fill(axis, i, 2.5), [chosen]),
        "index_copy": (lambda m, x, i, p: x.index_copy(axis, i, p), [chosen, part]),
        "index_add": (lambda m, x, i, p: x.index_add(axis, i, p, alpha=2), [chosen, part]),
        "take": (lambda m, x, i: x.take(i), [flat]),
        "put": (lambda m, x, i, p: x.put(i, p), [flat, apart(3, flat.shape, dtype)]),
        "masked_scatter": (lambda m, x, k, p: x.masked_scatter(k, p), [x > 0, apart(5, (x.size,), dtype)]),
        "index_put": (
            lambda m, x, i, p: m.index_put(x, (i,), p, accumulate=True),
            [rng.integers(0, shape[0], 3), apart(7, (3, *shape[1:]), dtype)],
        ),
    }
    call, more = calls[name]
    compare(call, [x, *more], dtype)


SQUARE = {
    "inv": lambda m, a: m.linalg.inv(a),
    "det": lambda m, a: m.linalg.det(a),
    "slogdet": lambda m, a: m.linalg.slogdet(a),
    "eigvalsh": lambda m, a: m.linalg.eigvalsh(a + a.mT),
    "cholesky": lambda m, a: m.linalg.cholesky(a @ a.mT),
    "matrix_power": lambda m, a: m.linalg.matrix_power(a, 3),
    "solve": lambda m, a: m.linalg.solve(a, a.sin()),
    "cond": lambda m, a: m.linalg.cond(a),
}
ANY = {
    "qr": lambda m, a: m.linalg.qr(a),
    "svdvals": lambda m, a: m.linalg.svdvals(a),
    "svd": lambda m, a: [one**2 for one in m.linalg.svd(a, full_matrices=False)],
    "pinv": lambda m, a: m.linalg.pinv(a),
    "matrix_norm": lambda m, a: m.linalg.matrix_norm(a, "nuc"),
    "vector_norm": lambda m, a: m.linalg.vector_norm(a, 3, dim=-1),
}


@settings(deadline=None, max_examples=50)
@given(
    lead=st.lists(st.integers(1, 3), max_size=2),
    rows=st.integers(1, 4),
    columns=st.integers(1, 4),
    name=st.sampled_from([*SQUARE, *ANY]),
    seed=st.integers(0, 99),
)
def test_matrices_of_any_shape_in_any_number(
    lead: list[int], rows: int, columns: int, name: str, seed: int
) -> None:
    columns = rows if name in SQUARE else columns
    a = np.random.default_rng(seed).standard_normal((*lead, rows, columns)) * 0.3
    a += 2 * np.eye(rows, columns) + np.diag(np.arange(max(rows, columns)))[:rows, :columns]
    compare({**SQUARE, **ANY}[name], [a], "float64")


@settings(deadline=None, max_examples=20)
@given(
    count=st.integers(1, 9),
    starts=st.lists(st.integers(0, 9), max_size=3),
    mode=st.sampled_from(["mean", "sum", "max"]),
    padding=st.sampled_from([None, 0, -1]),
    last=st.booleans(),
    seed=st.integers(0, 99),
    dtype=dtypes,
)
def test_bags_of_any_lengths(
    count: int, starts: list[int], mode: str, padding: int | None, last: bool, seed: int, dtype: str
) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.array([0, *sorted(min(one, count) for one in starts), *([count] if last else [])])
    arrays = [apart(seed, (5, 3), dtype), rng.integers(0, 5, count), offsets]

    def call(library: Any, weight: Any, bags: Any, offsets: Any) -> Any:
        return library.nn.functional.embedding_bag(
            bags, weight, offsets, mode=mode, padding_idx=padding, include_last_offset=last
        )

    compare(call, arrays, dtype)


@settings(deadline=None, max_examples=20)
@given(
    axes=st.integers(1, 3),
    kind=st.sampled_from(["ConstantPad", "ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"]),
    data=st.data(),
    dtype=dtypes,
)
def test_padding_of_any_width(axes: int, kind: str, data: st.DataObject, dtype: str) -> None:
    lengths = data.draw(st.lists(st.integers(3, 5), min_size=axes, max_size=axes))
    widths = data.draw(st.lists(st.integers(0, 2), min_size=2 * axes, max_size=2 * axes))
    extra = (1.5,) if kind == "ConstantPad" else ()

    def call(library: Any, x: Any) -> Any:
        return getattr(library.nn, f"{kind}{axes}d")(tuple(widths), *extra)(x)

    compare(call, [apart(0, (2, 2, *lengths), dtype)], dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_comparison_sees_a_difference(dtype: str) -> None:
    def call(library: Any, x: Any) -> Any:
        return x * (2 if library is torch else 3)

    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compare(call, [np.ones(2, dtype)], dtype)
