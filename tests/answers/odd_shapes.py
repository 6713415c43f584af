"""Functions on shapes and axes that are drawn, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.answers import choices as st
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance

Run = tuple[Callable[..., Any], list[Any]]
NEAR = {"float32": 2e-4, "float64": 1e-8}
CASES: dict[str, Play] = {}


def drawn(count: int, /, **options: st.Choice[Any]) -> Callable[[Callable[..., Run]], Callable[..., Run]]:
    """Make `count` cases of a function that gives a call and the arrays to call it with."""

    def enter(make: Callable[..., Run]) -> Callable[..., Run]:
        found = st.draw_all(st.fixed_dictionaries(options, {}), make.__name__, count)
        for number, given in enumerate(found):
            dtype = given.get("dtype", "float64")
            CASES[f"{make.__name__} | {number} | {dtype}"] = partial(play, make=make, given=given)
        return make

    return enter


def play(library: Any, make: Callable[..., Run], given: dict[str, Any]) -> Any:
    return answers(library, *make(**given))


def answers(library: Any, call: Any, arrays: list[Any]) -> list[Any]:
    """Tell the outputs of `call(library, *tensors)`, and the gradients of the floating inputs."""
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


dtypes = st.sampled_from(["float32", "float64"])
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@st.composite
def shape_and_axis(draw: st.Draw) -> tuple[tuple[int, ...], int]:
    shape = draw(shapes)
    return shape, draw(st.integers(-len(shape), len(shape) - 1))


def apart(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Values without ties, of both signs."""
    count = int(np.prod(shape))
    values = np.random.default_rng(seed).permutation(count) - count / 2 + 0.25
    return (values * 0.7).reshape(shape).astype(dtype)


@drawn(
    60,
    where=shape_and_axis(),
    name=st.sampled_from(
        "median nanmedian kthvalue cummax cummin logcumsumexp sort msort quantile mode".split()
    ),
    keepdim=st.booleans(),
    seed=st.integers(0, 99),
    dtype=dtypes,
)
def orders_along_any_axis(where: Any, name: str, keepdim: bool, seed: int, dtype: str) -> Run:
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

    return call, [apart(seed, shape, dtype)]


@drawn(
    60,
    where=shape_and_axis(),
    length=st.integers(1, 5),
    reduce=st.sampled_from(["sum", "mean", "amax", "amin"]),
    include_self=st.booleans(),
    seed=st.integers(0, 99),
    dtype=dtypes,
)
def values_folded_in_along_any_axis(
    where: Any, length: int, reduce: str, include_self: bool, seed: int, dtype: str
) -> Run:
    shape, axis = where
    other = list(shape)
    other[axis] = length
    rng = np.random.default_rng(seed)
    index = rng.integers(0, shape[axis], other)
    arrays = [apart(seed, shape, dtype), index, apart(seed + 1, tuple(other), dtype) + np.asarray(0.1, dtype)]

    def call(library: Any, x: Any, index: Any, source: Any) -> Any:
        return x.scatter_reduce(axis, index, source, reduce, include_self=include_self)

    return call, arrays


@drawn(
    60,
    where=shape_and_axis(),
    name=st.sampled_from(
        ["index_fill", "index_copy", "index_add", "take", "put", "masked_scatter", "index_put"]
    ),
    seed=st.integers(0, 99),
    dtype=dtypes,
)
def writing_by_index_along_any_axis(where: Any, name: str, seed: int, dtype: str) -> Run:
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
    return call, [x, *more]


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


@drawn(
    100,
    lead=st.lists(st.integers(1, 3), max_size=2),
    rows=st.integers(1, 4),
    columns=st.integers(1, 4),
    name=st.sampled_from([*SQUARE, *ANY]),
    seed=st.integers(0, 99),
)
def matrices_of_any_shape_in_any_number(
    lead: list[int], rows: int, columns: int, name: str, seed: int
) -> Run:
    columns = rows if name in SQUARE else columns
    a = np.random.default_rng(seed).standard_normal((*lead, rows, columns)) * 0.3
    a += 2 * np.eye(rows, columns) + np.diag(np.arange(max(rows, columns)))[:rows, :columns]
    return {**SQUARE, **ANY}[name], [a]


@drawn(
    40,
    count=st.integers(1, 9),
    starts=st.lists(st.integers(0, 9), max_size=3),
    mode=st.sampled_from(["mean", "sum", "max"]),
    padding=st.sampled_from([None, 0, -1]),
    last=st.booleans(),
    seed=st.integers(0, 99),
    dtype=dtypes,
)
def bags_of_any_lengths(
    count: int, starts: list[int], mode: str, padding: int | None, last: bool, seed: int, dtype: str
) -> Run:
    rng = np.random.default_rng(seed)
    offsets = np.array([0, *sorted(min(one, count) for one in starts), *([count] if last else [])])
    arrays = [apart(seed, (5, 3), dtype), rng.integers(0, 5, count), offsets]

    def call(library: Any, weight: Any, bags: Any, offsets: Any) -> Any:
        return library.nn.functional.embedding_bag(
            bags, weight, offsets, mode=mode, padding_idx=padding, include_last_offset=last
        )

    return call, arrays


@drawn(
    40,
    axes=st.integers(1, 3),
    kind=st.sampled_from(["ConstantPad", "ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"]),
    lengths=st.lists(st.integers(3, 5), min_size=3, max_size=3),
    widths=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    dtype=dtypes,
)
def padding_of_any_width(axes: int, kind: str, lengths: list[int], widths: list[int], dtype: str) -> Run:
    extra = (1.5,) if kind == "ConstantPad" else ()

    def call(library: Any, x: Any) -> Any:
        return getattr(library.nn, f"{kind}{axes}d")(tuple(widths[: 2 * axes]), *extra)(x)

    return call, [apart(0, (2, 2, *lengths[:axes]), dtype)]


def near(case: str) -> Tolerance:
    found = NEAR[case.rpartition(" | ")[2]]
    return Tolerance(found, found)


SUBJECT = Subject("odd_shapes", CASES, near)
