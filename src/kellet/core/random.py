"""Random tensors, from one generator of the process that `manual_seed` sets back."""

from __future__ import annotations

import secrets
import threading
from typing import Any

import numpy as np

from ..autograd.bridge import Array, wrap
from ..dtypes import DType, as_dtype, get_default_dtype
from .axes import shape_of
from .device import check_device
from .tensor import Tensor


class _Source:
    """The generator, and the lock that lets threads take turns with it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed(secrets.randbits(63))

    def seed(self, value: int) -> None:
        self.value = value
        self.generator = np.random.Generator(np.random.PCG64(value))


_source = _Source()


def manual_seed(seed: int) -> None:
    """Start the random numbers of the process anew: equal seeds, equal numbers.

    >>> kellet.manual_seed(7)
    >>> first = kellet.rand(3)
    >>> kellet.manual_seed(7)
    >>> kellet.equal(first, kellet.rand(3))
    True
    """
    _source.seed(int(seed) % 2**64)


def initial_seed() -> int:
    """Return the seed in use.

    >>> kellet.manual_seed(7)
    >>> kellet.initial_seed()
    7
    """
    return _source.value


def generator() -> np.random.Generator:
    """Return the generator behind all functions of this file, for code that needs another distribution.

    >>> kellet.generator().gamma(2.0, size=3).shape
    (3,)
    """
    return _source.generator


def rand(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Draw numbers uniformly from 0 to 1, 1 not included.

    >>> kellet.rand(2, 3).shape
    (2, 3)
    """
    check_device(device)
    return _made(_uniform(shape_of(size)), dtype, requires_grad)


def randn(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Draw normal numbers of mean 0 and deviation 1.

    >>> import kellet
    >>> kellet.manual_seed(0)
    >>> kellet.randn(2, 3).shape
    (2, 3)
    """
    check_device(device)
    with _source.lock:
        values = _source.generator.standard_normal(shape_of(size))
    return _made(values, dtype, requires_grad)


def normal(mean: float, std: float, size: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Draw normal numbers of this mean and deviation.

    >>> kellet.normal(5.0, 0.1, (2, 3)).shape
    (2, 3)
    """
    with _source.lock:
        values = _source.generator.normal(mean, std, shape_of((size,)))
    return _made(values, dtype, requires_grad)


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Draw integers from `low` (0 when left out) up to, not including, `high`: `randint(10, (2, 3))`.

    >>> kellet.randint(10, (2, 3)).dtype
    dtype('int64')
    """
    check_device(device)
    if size is None:
        low, high, size = 0, low, high
    with _source.lock:
        values = _source.generator.integers(low, high, shape_of((size,)))
    return _made(values, np.int64 if dtype is None else dtype, requires_grad)


def randperm(n: int, *, device: Any = None) -> Tensor:
    """Return the integers from 0 to `n - 1` in random order.

    >>> kellet.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    check_device(device)
    with _source.lock:
        return _made(_source.generator.permutation(n), np.int64, False)


def bernoulli(input: Tensor) -> Tensor:
    """Draw 1 with the probability that `input` gives, else 0, in its shape and dtype.

    >>> kellet.bernoulli(kellet.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    return _made(_uniform(input.shape) < input._array, input.dtype, False)


def rand_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Draw as `rand` in the shape and dtype of `input`.

    >>> kellet.rand_like(kellet.ones(2, 3)).shape
    (2, 3)
    """
    return rand(input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)


def randn_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Draw as `randn` in the shape and dtype of `input`.

    >>> kellet.randn_like(kellet.ones(2, 3)).shape
    (2, 3)
    """
    return randn(input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)


def _uniform(shape: tuple[int, ...]) -> Array:
    with _source.lock:
        return _source.generator.random(shape)


def _made(values: Any, dtype: Any, requires_grad: bool) -> Tensor:
    found: DType = get_default_dtype() if dtype is None else as_dtype(dtype)
    made: Tensor = wrap(np.asarray(values).astype(found))  # type: ignore[assignment]  # wrap makes Tensors
    return made.requires_grad_() if requires_grad else made
