"""Initial values of parameters. Every function writes into its tensor and returns it.

Nothing is recorded: a leaf that requires a gradient may be written here. Random numbers follow
`kellet.manual_seed`, or the `generator` passed; they are NumPy's, so that a seed gives other numbers
than in PyTorch.

Source: torch.nn.init.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..absent import absent as _absent
from ..autograd import no_grad
from ..autograd.bridge import wrap
from ..core import Generator, Tensor
from ..core import generator as shared_generator
from ..core.wrong_arguments import explain_functions as _explain_functions
from ..errors import ShapeError

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


# --- fixed values ---------------------------------------------------------------------------------


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Set every element to `val`.

    >>> import kellet
    >>> constant_(kellet.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return _write(tensor, np.asarray(val))


def ones_(tensor: Tensor) -> Tensor:
    """Set every element to 1.

    >>> ones_(kellet.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Set every element to 0.

    >>> zeros_(kellet.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity, as far as it reaches. Raises ShapeError unless there are two dimensions.

    >>> eye_(kellet.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _require(tensor.ndim == 2, "eye_", tensor, "two dimensions")
    return _write(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill with a convolution that passes its channels on as they are, in each of `groups`.

    Raises ShapeError unless there are three to five dimensions and `groups` divides the first.

    >>> dirac_(kellet.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    _require(3 <= tensor.ndim <= 5, "dirac_", tensor, "three, four or five dimensions")
    _require(tensor.shape[0] % groups == 0, "dirac_", tensor, f"a multiple of groups={groups} in dimension 0")
    values = np.zeros(tensor.shape)
    centre = tuple(n // 2 for n in tensor.shape[2:])
    per_group = tensor.shape[0] // groups
    for group in range(groups):
        for channel in range(min(per_group, tensor.shape[1])):
            values[(group * per_group + channel, channel, *centre)] = 1
    return _write(tensor, values)


# --- random values --------------------------------------------------------------------------------


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | np.random.Generator | None = None
) -> Tensor:
    """Fill with uniform values between `a` and `b`.

    >>> x = uniform_(kellet.empty(100), 2.0, 3.0)
    >>> bool((x >= 2).all()), bool((x <= 3).all())
    (True, True)
    """
    return _write(tensor, _numbers(generator).uniform(a, b, tensor.shape))


def normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Fill with normal values with this mean and standard deviation.

    >>> normal_(kellet.empty(2), mean=5.0, std=0.0)
    tensor([5., 5.])
    """
    return _write(tensor, _numbers(generator).normal(mean, std, tensor.shape))


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Fill with normal values; those outside [a, b] are drawn again.

    Raises ValueError for an interval that is empty or more than eight deviations away from the mean,
    where drawing would hardly end.

    >>> x = trunc_normal_(kellet.empty(100), a=-1.0, b=1.0)
    >>> bool((x.abs() <= 1).all())
    True
    """
    if not (a < b and mean - 8 * std < b and a < mean + 8 * std):
        raise ValueError(f"trunc_normal_: [{a}, {b}] is empty or far from mean {mean} with std {std}")
    numbers = _numbers(generator)
    values = numbers.normal(mean, std, tensor.shape)
    outside = (values < a) | (values > b)
    while outside.any():
        values[outside] = numbers.normal(mean, std, int(outside.sum()))
        outside = (values < a) | (values > b)
    return _write(tensor, values)


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | np.random.Generator | None = None
) -> Tensor:
    """Fill with uniform values of variance `gain**2 * 2 / (fan_in + fan_out)` (Glorot and Bengio, 2010).

    >>> x = xavier_uniform_(kellet.empty(3, 3))
    >>> bool((x.abs() <= 1).all())
    True
    """
    fan_in, fan_out = _fans("xavier_uniform_", tensor)
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | np.random.Generator | None = None
) -> Tensor:
    """Fill with normal values of variance `gain**2 * 2 / (fan_in + fan_out)` (Glorot and Bengio, 2010).

    >>> xavier_normal_(kellet.empty(3, 3)).shape
    (3, 3)
    """
    fan_in, fan_out = _fans("xavier_normal_", tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Fill with uniform values of variance `gain**2 / fan` (He and others, 2015).

    `a` is the slope of leaky_relu below zero; `mode` "fan_in" keeps the variance of values,
    "fan_out" that of gradients.

    >>> x = kaiming_uniform_(kellet.empty(2, 6))
    >>> bool((x.abs() <= 1).all())
    True
    """
    bound = math.sqrt(3.0) * _kaiming_deviation("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Fill with normal values of variance `gain**2 / fan` (He and others, 2015); see `kaiming_uniform_`.

    >>> kaiming_normal_(kellet.empty(2, 6)).shape
    (2, 6)
    """
    deviation = _kaiming_deviation("kaiming_normal_", tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, deviation, generator)


def orthogonal_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | np.random.Generator | None = None
) -> Tensor:
    """Fill with a random matrix with orthonormal rows (or columns, where they are fewer), times `gain`.

    Dimensions after the first count as one. Raises ShapeError for fewer than two.

    >>> x = orthogonal_(kellet.empty(3, 3))
    >>> kellet.allclose(x @ x.T, kellet.eye(3), atol=1e-5)
    True
    """
    _require(tensor.ndim >= 2, "orthogonal_", tensor, "two or more dimensions")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    flat = _numbers(generator).normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(flat)
    q *= np.where(np.diag(r) < 0, -1.0, 1.0)  # makes the draw uniform over all such matrices
    return _write(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def sparse_(
    tensor: Tensor,
    sparsity: float,
    std: float = 0.01,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Fill with normal values, the share `sparsity` of each column set to zero.

    Raises ShapeError unless there are two dimensions.

    >>> int((sparse_(kellet.empty(10, 2), sparsity=0.5) == 0).sum())
    10
    """
    _require(tensor.ndim == 2, "sparse_", tensor, "two dimensions")
    numbers = _numbers(generator)
    values = numbers.normal(0.0, std, tensor.shape)
    rows, columns = tensor.shape
    for column in range(columns):
        values[numbers.permutation(rows)[: math.ceil(sparsity * rows)], column] = 0
    return _write(tensor, values)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which a layer must scale to keep the variance through the function after it.

    `param` is the slope of leaky_relu below zero. Raises ValueError for an unknown function.

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in LINEAR or nonlinearity == "sigmoid":
        return 1.0
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(
                f"negative_slope {slope} not a valid number; pass the slope of leaky_relu below zero"
            )
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity in GAINS:
        return GAINS[nonlinearity]
    known = ", ".join((*LINEAR, "sigmoid", "leaky_relu", *GAINS))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}; known are {known}")


# --- helpers --------------------------------------------------------------------------------------


def _kaiming_deviation(where: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"{where}: mode {mode} not supported; pass 'fan_in' or 'fan_out'")
    fan_in, fan_out = _fans(where, tensor)
    if not tensor.numel():
        return 0.0  # there is nothing to fill
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


def _fans(where: str, tensor: Tensor) -> tuple[int, int]:
    """How many values each output takes part of, and each input goes into."""
    _require(tensor.ndim >= 2, where, tensor, "two or more dimensions: fan in and fan out come from them")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _require(fits: bool, where: str, tensor: Tensor, wanted: str) -> None:
    if not fits:
        raise ShapeError(f"{where}: expected a tensor with {wanted}, got shape {tensor.shape}")


def _numbers(generator: Any) -> np.random.Generator:
    if isinstance(generator, Generator):
        return generator.numpy()
    if generator is not None and not isinstance(generator, np.random.Generator):
        raise TypeError(f"expected a Generator, of kellet or NumPy, got {type(generator).__name__}")
    return shared_generator() if generator is None else generator


def _write(tensor: Tensor, values: Any) -> Tensor:
    with no_grad():
        return tensor.copy_(wrap(values))


_explain_functions(globals())

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        raise _absent("nn.init", name)
