"""The table of samples: for each rule with a derivative the inputs and options of one or more calls.

Values stay away from kinks and ties, where a derivative has no number to be compared with. A test
below `of_each_sample` takes each of them as `made`; `samples` is the whole table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from kellet.rules import RULES
from kellet.rules.convolution import Geometry
from kellet.rules.pooling import Pooling

rng = np.random.default_rng(7)


# Integers never carry a gradient; these are further inputs that do not.
CONSTANT = {"cross_entropy": (1, 2), "nll_loss": (1, 2)}


@dataclass(frozen=True)
class Sample:
    rule: str
    inputs: tuple[Any, ...]
    options: dict[str, Any]

    @property
    def free(self) -> list[int]:
        """Which inputs may carry a gradient."""
        constant = CONSTANT.get(self.rule, ())
        arrays = [(i, v) for i, v in enumerate(self.inputs) if isinstance(v, np.ndarray)]
        return [i for i, v in arrays if v.dtype.kind in "fc" and i not in constant]

    def __str__(self) -> str:
        shapes = ",".join(str(getattr(value, "shape", value)).replace(" ", "") for value in self.inputs)
        kind = "-complex" if any(np.iscomplexobj(value) for value in self.inputs) else ""
        return f"{self.rule}{kind}-{shapes}"


def sample(rule: str, *inputs: Any, **options: Any) -> Sample:
    return Sample(rule, inputs, options)


def real(*shape: int) -> Any:
    """Both signs, at least 0.1 away from zero, no two values equal."""
    count = int(np.prod(shape))
    size = 0.1 + 1.9 * (rng.permutation(count) + rng.uniform(0.2, 0.8, count)) / max(count, 1)
    return (size * rng.choice([-1.0, 1.0], count)).reshape(shape)


def positive(*shape: int) -> Any:
    return np.abs(real(*shape))


def unit(*shape: int) -> Any:
    """Between -1 and 1."""
    return real(*shape) / 2.5


def share(*shape: int) -> Any:
    """Between 0 and 1."""
    return positive(*shape) / 2.5


def complex_(*shape: int) -> Any:
    return real(*shape) + 1j * real(*shape)


def ints(*shape: int, high: int) -> Any:
    return rng.integers(0, high, shape)


def mask(*shape: int) -> Any:
    return rng.permutation(np.prod(shape)).reshape(shape) % 2 == 0


def arithmetic() -> list[Sample]:
    made = [
        sample(name, make(2, 3), make(3))
        for name in ("add", "sub", "mul", "div")
        for make in (real, complex_)
    ]
    made += [sample(name, real(2, 3), 2.5) for name in ("add", "sub", "mul", "div")]
    made += [sample(name, 2.5, real(2, 3)) for name in ("sub", "div")]
    made += [sample(name, real(2, 1), real(1, 3)) for name in ("maximum", "minimum", "remainder", "fmod")]
    made += [sample("logit", np.array([0.2, 0.5, 0.9]))]
    made += [
        sample(name, real(4), positive(4)) for name in ("div_floor", "div_trunc", "atan2", "hypot", "complex")
    ]
    made += [
        sample("pow", positive(2, 3), real(3)),
        sample("pow", 2.0, real(3)),
        sample("pow", complex_(3), complex_(3)),
    ]
    made += [sample("pow", real(3), exponent) for exponent in (0, 1, 2, 3, -2)]
    made += [sample("lerp", make(2, 3), make(3), make(2, 1)) for make in (real, complex_)]
    made += [sample("lerp", real(2, 3), real(3), 0.25)]
    made += [
        sample("clamp", real(6), -0.9, 0.8),
        sample("clamp", real(6), None, 0.5),
        sample("clamp", real(6), 0.3, None),
    ]
    made += [sample("clamp", real(2, 3), -positive(3), positive(2, 1))]
    return made


def functions() -> list[Sample]:
    both = (
        "neg exp exp2 expm1 sin cos tan asin acos atan sinh cosh tanh asinh atanh square reciprocal sigmoid"
    )
    both += " silu conj sgn abs real imag"
    made = [sample(name, make(2, 3)) for name in both.split() for make in (unit, lambda *s: complex_(*s) / 4)]
    above = "log log1p log2 log10 sqrt rsqrt acosh"
    made += [sample(name, positive(2, 3) + 1.1) for name in above.split()]
    made += [sample(name, complex_(2, 3)) for name in above.split() if name != "acosh"]
    made += [sample("acosh", positive(3) + 1j * real(3))]
    made += [
        sample(name, real(2, 3))
        for name in ["sign", "round", "floor", "ceil", "trunc", "frac", "erf", "erfc", "gelu", "gelu_tanh"]
    ]
    made += [
        sample(name, real(2, 3) * 3)
        for name in ["log_sigmoid", "relu", "leaky_relu", "elu", "softplus", "erf", "gelu"]
    ]
    made += [sample("leaky_relu", real(4), slope=0.3), sample("elu", real(4), alpha=0.7)]
    made += [sample("softplus", real(6) * 3, beta=2.0, threshold=4.0), sample("round", real(4), decimals=1)]
    return made


def selection() -> list[Sample]:
    return [
        sample("keep", real(2, 3), mask(2, 3)),
        sample("keep", complex_(2, 3), mask(3)),
        sample("where", mask(2, 3), real(2, 3), real(3)),
        sample("where", mask(3), complex_(2, 3), complex_(2, 1)),
        sample("where", mask(2, 3), real(2, 3), 0.0),
        sample("masked_fill", real(2, 3), mask(2, 3), 1.5),
        sample("masked_fill", real(2, 3), mask(2, 1), np.array(0.5)),
    ]


def reductions() -> list[Sample]:
    made = []
    for make in (real, complex_):
        for name in ("sum", "mean", "var", "std", "logsumexp", "norm"):
            if name == "logsumexp" and make is complex_:
                continue
            made += [sample(name, make(2, 3)), sample(name, make(2, 3, 2), axis=(0, 2))]
            made += [sample(name, make(2, 3), axis=(1,), keepdims=True)]
        made += [sample("sum_to", make(2, 3, 4), shape=(3, 1)), sample("cumsum", make(2, 3), axis=1)]
        made += [
            sample("prod", make(2, 3)),
            sample("prod", make(2, 3), axis=1),
            sample("prod", make(2, 3), axis=0, keepdims=True),
        ]
        made += [sample("cumprod", make(2, 3), axis=1), sample("product_of_others", make(2, 4), axis=1)]
    both = ("var_mean", "std_mean")
    made += [sample(name, real(4, 3), axis=(0,), correction=c) for name in both for c in (0, 1)]
    made += [sample("var", real(4), correction=0), sample("std", real(4, 2), axis=(0,), correction=2)]
    made += [sample("norm", real(3, 4), ord=ord, axis=(1,)) for ord in (0, 1, 3, 1.5, -2.0, np.inf, -np.inf)]
    made += [sample("norm", complex_(3), ord=1), sample("norm", complex_(3), ord=3)]
    zeros = [np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [1.5, 2.0, -1.0]])]
    for a in zeros:
        made += [
            sample("prod", a, axis=1),
            sample("prod", a),
            sample("cumprod", a, axis=1),
            sample("cumprod", a, axis=0),
        ]
        made += [sample("product_of_others", a, axis=0)]
    made += [sample("logcumsumexp", real(3, 4) * 3, axis=axis) for axis in (0, 1)]
    for name in ("max", "min", "sort"):
        made += [sample(name, real(3, 4), axis=1), sample(name, real(3, 4), axis=0)]
    made += [
        sample("max", real(3, 4), axis=0, keepdims=True),
        sample("sort", real(5), axis=0, descending=True),
    ]
    made += [sample("topk", real(2, 5), k=2, axis=1), sample("topk", real(5, 2), k=3, axis=0, largest=False)]
    made += [
        sample(name, real(3, 4), **options)
        for name in ("amax", "amin")
        for options in ({}, {"axis": (0,)}, {"axis": (0, 1), "keepdims": True})
    ]
    return made


def shapes() -> list[Sample]:
    made = []
    for make in (real, complex_):
        made += [
            sample("reshape", make(2, 6), shape=(3, 4)),
            sample("expand", make(1, 3), shape=(2, 4, 3)),
            sample("permute", make(2, 3, 4), axes=(2, 0, 1)),
            sample("cat", make(2, 3), make(2, 1), make(2, 2), axis=1),
            sample("stack", make(2, 3), make(2, 3), axis=1),
            sample("split", make(2, 5), sizes=(1, 3, 1), axis=1),
            sample("unbind", make(2, 3), axis=1),
            sample("narrow", make(4, 3), axis=0, start=1, length=2),
            sample("select", make(4, 3), axis=1, index=2),
            sample("pad", make(2, 3), widths=((1, 0), (2, 1)), value=0.5),
            sample("pad", make(4, 3), widths=((-1, 2), (0, -1))),
            sample("flip", make(2, 3), axis=(0, 1)),
            sample("roll", make(3, 4), shifts=(1, -2), axis=(0, 1)),
            sample("diagonal", make(2, 3, 4), offset=1, axes=(2, 0)),
            sample("spread_diagonal", make(3, 2), shape=(3, 2, 3), offset=-1, axes=(2, 1)),
            sample("windows", make(2, 7, 2), axis=1, size=3, step=2),
            sample("spread_windows", make(2, 3, 2, 3), axis=1, size=3, step=2, length=8),
        ]
    return made


def indexing() -> list[Sample]:
    made = []
    for make in (real, complex_):
        made += [
            sample("gather", make(3, 4), ints(2, 5, high=4), axis=1),
            sample("gather", make(3, 4), ints(5, 2, high=3), axis=0),
            sample("spread", make(3, 4), ints(2, 3, high=5), axis=1, shape=(3, 5)),
            sample("spread", make(2, 2), np.array([[2, 0], [1, 2]]), axis=1, shape=(2, 3), unique=True),
            sample("scatter", make(3, 5), np.array([[0, 2], [4, 1]]), make(2, 3), axis=1),
            sample("scatter", make(3, 5), np.array([[0, 2], [4, 1]]), 0.5, axis=1),
            sample("index_select", make(3, 4), np.array([2, 0, 2]), axis=0),
            sample("spread_slices", make(3, 4), np.array([1, 0, 1, 4]), axis=1, length=5),
            sample("masked_select", make(2, 3), mask(2, 3)),
            sample("spread_mask", make(3), np.array([True, False, True, True])),
        ]
    met = np.array([[0, 2, 0], [4, 4, 1]])
    made += [
        sample("scatter_extreme", real(3, 5), met, real(2, 3), axis=1),
        sample("scatter_extreme", real(5, 3), met.T % 3, real(4, 3), axis=0, largest=False),
        sample("scatter_extreme", real(3, 5), met, real(2, 3), axis=1, include_self=False),
    ]
    made += [
        sample("embedding", real(5, 3), ints(2, 4, high=5)),
        sample("embedding", real(5, 3), np.array([0, 2, 2, 4]), padding_idx=1),
    ]
    return made


def copying() -> list[Sample]:
    narrow = (RULES["narrow"], {"axis": 1, "start": 1, "length": 2}, None)
    turned = (RULES["permute"], {"axes": (1, 0)}, None)
    places = (np.array([0, 2, 2]),)
    made = []
    for make in (real, complex_):
        made += [
            sample("clone", make(2, 3)),
            sample("replace", make(2, 3), make(3)),
            sample("overwrite", make(2, 3), make(2, 2), steps=(narrow, turned)),
            sample("slice", make(4, 3), index=(slice(1, 4, 2), None, 0)),
            sample("index", make(4, 3), index=places),
            sample("place", make(3, 2), index=places, shape=(4, 2)),
            sample("put", make(4, 3), make(2, 3), index=(np.array([3, 1]),)),
        ]
    made += [
        sample("cast", real(3), dtype=np.dtype(complex)),
        sample("cast", complex_(3), dtype=np.dtype(float)),
    ]
    return made


def products() -> list[Sample]:
    made = []
    for make in (real, complex_):
        made += [
            sample("matmul", make(2, 3), make(3, 4)),
            sample("matmul", make(3), make(3)),
            sample("matmul", make(2, 3), make(3)),
            sample("matmul", make(3), make(3, 2)),
            sample("matmul", make(3), make(2, 3, 2)),
            sample("matmul", make(2, 2, 3), make(3)),
            sample("matmul", make(2, 2, 3), make(3, 2)),
            sample("matmul", make(2, 1, 2, 3), make(3, 3, 2)),
            sample("contract", make(2, 3, 4), make(4, 2, 2), left="bij", right="jbk", result="kbi"),
            sample("contract", make(2, 3), make(3), left="ij", right="j", result="ij"),
            sample("contract", make(2), make(3), left="i", right="j", result="ji"),
            sample("linear", make(4), make(2, 2, 3), make(4, 3)),
            sample("linear", None, make(3), make(2, 3)),
        ]
    return made


def convolutions() -> list[Sample]:
    plain = Geometry((1, 1), (0, 0), (1, 1))
    padded = Geometry((1, 1), (1, 1), (1, 1))
    strided = Geometry((2, 1), (1, 0), (1, 2))
    grouped = Geometry((1, 1), (1, 1), (1, 1), groups=2)
    made = [
        sample("convolution", real(2, 2, 4, 4), real(3, 2, 2, 2), real(3), geometry=plain),
        sample("convolution", complex_(1, 2, 3, 3), complex_(2, 2, 2, 2), None, geometry=padded),
        sample("convolution", real(2, 1, 4, 4), real(2, 1, 3, 3), None, geometry=padded),
        sample("convolution", real(1, 4, 3, 3), real(4, 2, 2, 2), real(4), geometry=grouped),
        sample("convolution", real(2, 2, 5), real(2, 2, 3), real(2), geometry=Geometry((2,), (1,), (1,))),
        sample(
            "convolution",
            real(1, 1, 3, 3, 3),
            real(1, 1, 2, 2, 2),
            None,
            geometry=Geometry((1,) * 3, (0,) * 3, (1,) * 3),
        ),
        sample("convolution", real(1, 2, 5, 6), real(3, 2, 2, 2), real(3), geometry=strided),
    ]
    for make in (real, complex_):
        made += [
            sample(
                "convolution_grad_values", make(1, 3, 3, 3), make(3, 2, 2, 2), lengths=(4, 4), geometry=plain
            ),
            sample(
                "convolution_grad_values",
                make(1, 3, 3, 4),
                make(3, 2, 2, 2),
                lengths=(5, 6),
                geometry=strided,
            ),
            sample(
                "convolution_grad_kernel", make(1, 3, 3, 3), make(1, 2, 4, 4), size=(2, 2), geometry=plain
            ),
            sample(
                "convolution_grad_kernel", make(1, 4, 4, 4), make(1, 4, 3, 3), size=(2, 2), geometry=grouped
            ),
        ]
    return made


def pooling() -> list[Sample]:
    apart = Pooling((2, 2), (2, 2), (0, 0), (1, 1))
    over = Pooling((3, 2), (2, 1), (1, 1), (1, 1), ceil=True)
    winner = np.array([[[[0, 1], [3, 2]]]], dtype=np.uint8)
    made = [
        sample("max_pool", real(1, 2, 4, 4), pooling=kind)
        for kind in (apart, over, Pooling((2, 2), (1, 1), (0, 0), (2, 2)))
    ]
    made += [sample("max_pool", real(2, 1, 5), pooling=Pooling((2,), (2,), (0,), (1,)))]
    made += [
        sample("avg_pool", real(1, 2, 4, 4), pooling=apart),
        sample("avg_pool", real(1, 1, 4, 4), pooling=over, include_pad=False),
    ]
    made += [sample("avg_pool", real(1, 1, 4, 4), pooling=over, divisor=3)]
    made += [sample("spread_average", real(1, 1, 3, 5), lengths=(4, 4), pooling=over)]
    made += [sample("unpool", real(1, 1, 2, 2), winner, lengths=(4, 4), pooling=apart)]
    made += [sample("pool_winners", real(1, 1, 4, 4), winner, pooling=apart)]
    return made


def normalizations() -> list[Sample]:
    made = [sample(name, real(2, 3), axis=axis) for name in ("softmax", "log_softmax") for axis in (0, 1)]
    made += [
        sample("layer_norm", real(2, 4), real(4), real(4), axes=1, eps=1e-5),
        sample("layer_norm", real(2, 2, 3), real(2, 3), None, axes=2, eps=1e-2),
        sample("layer_norm", real(3, 4), None, None, axes=1, eps=1e-5),
    ]
    for shape in ((4, 2), (2, 2, 3), (2, 3, 2, 2)):
        a = real(*shape)
        fixed = {"mean": real(shape[1]), "var": positive(shape[1]), "eps": 1e-3, "of_batch": False}
        made += [
            sample("batch_norm", a, real(shape[1]), real(shape[1]), **fixed),
            sample("batch_norm", a, None, None, **fixed),
        ]
    return made


def losses() -> list[Sample]:
    made = []
    target = np.array([2, 0, 3, 1])
    for reduction in ("mean", "sum", "none"):
        made += [
            sample("cross_entropy", real(4, 5), target, reduction=reduction),
            sample(
                "cross_entropy",
                real(4, 5),
                target,
                positive(5),
                reduction=reduction,
                ignore_index=3,
                smoothing=0.2,
            ),
            sample("nll_loss", real(4, 5), target, positive(5), reduction=reduction, ignore_index=0),
            sample("mse_loss", real(2, 3), real(2, 3), reduction=reduction),
        ]
    made += [
        sample("cross_entropy", real(4, 5), target, smoothing=0.1),
        sample("smooth_abs", real(6), beta=0.7),
    ]
    made += [sample("binary_cross_entropy", share(2, 3), share(2, 3)), sample("smooth_abs", real(4), beta=0)]
    return made


def attentions() -> list[Sample]:
    q, k, v = real(2, 3, 4), real(2, 5, 4), real(2, 5, 2)
    causal, nowhere = np.tri(3, 5, dtype=bool), np.tri(3, 5, -1, dtype=bool)
    return [
        sample("attention", q, k, v, None, scale=0.5),
        sample("attention", q, k, v, real(3, 5), scale=0.5),
        sample("attention", q, k, v, None, scale=0.5, allowed=causal),
        sample("attention", q, k, v, real(2, 1, 5), scale=0.5, allowed=nowhere, dropped=mask(2, 3, 5) * 2.0),
    ]


def matrices() -> list[Sample]:
    made = []
    for make in (real, complex_):
        whole = make(3, 3) + 3 * np.eye(3)
        made += [
            sample("inv", whole),
            sample("solve", whole, make(3, 2)),
            sample("solve", make(2, 2, 2) + 3 * np.eye(2), make(2, 1)),
            sample("det", whole),
            sample("det", make(2, 2, 2)),
            sample("pinv", make(4, 2), rcond=1e-10),
            sample("pinv", make(2, 3), rcond=1e-10),
            sample("cholesky", make(3, 3) / 3 + 4 * np.eye(3)),
            sample("slogdet", whole),
        ]
    made += [sample("qr", real(*shape)) for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))]
    made += [sample("eigh", real(*shape)) for shape in ((3, 3), (2, 2, 2))]
    made += [sample("svd", real(*shape)) for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))]
    return made


FAMILIES = (
    arithmetic,
    functions,
    selection,
    reductions,
    shapes,
    indexing,
    copying,
    products,
    convolutions,
    pooling,
    normalizations,
    losses,
    attentions,
    matrices,
)
SAMPLES = [made for family in FAMILIES for made in family()]


of_each_sample = pytest.mark.parametrize(
    "made", SAMPLES, ids=[f"{number}-{made}" for number, made in enumerate(SAMPLES)]
)


@pytest.fixture
def samples() -> list[Sample]:
    return SAMPLES
