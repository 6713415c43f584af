"""Random tensors, from the generator of the process or from one that is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.bridge import wrap
from ..dtypes import DType, DTypeLike, as_dtype, get_default_dtype
from .axes import shape_of
from .device import DeviceLike, check_device
from .generators import Generator, default_generator
from .tensor import Tensor


def manual_seed(seed: int) -> Generator:
    """Start the random numbers of the process anew: equal seeds, equal numbers. Returns their generator.

    >>> _ = kellet.manual_seed(7)
    >>> first = kellet.rand(3)
    >>> _ = kellet.manual_seed(7)
    >>> kellet.equal(first, kellet.rand(3))
    True
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the random numbers of the process again from a random seed, and return it.

    >>> kellet.seed() == kellet.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed in use.

    >>> _ = kellet.manual_seed(7)
    >>> kellet.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the random numbers of the process, as a tensor of bytes.

    >>> state = kellet.get_rng_state()
    >>> first = kellet.rand(3)
    >>> kellet.set_rng_state(state)
    >>> kellet.equal(first, kellet.rand(3))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the random numbers of the process. Raises ValueError for any other tensor.

    >>> kellet.set_rng_state(kellet.get_rng_state())
    """
    default_generator.set_state(new_state)


def generator() -> np.random.Generator:
    """Return NumPy's generator behind all functions of this file, for a distribution that is not here.

    >>> kellet.generator().gamma(2.0, size=3).shape
    (3,)
    """
    return default_generator.numpy()


def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Draw numbers uniformly from 0 to 1, 1 not included.

    >>> kellet.rand(2, 3).shape
    (2, 3)
    """
    check_device(device)
    return _made(_of(generator)._draw("random", shape_of(size)), dtype, requires_grad)


def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Draw normal numbers of mean 0 and deviation 1.

    >>> import kellet
    >>> _ = kellet.manual_seed(0)
    >>> kellet.randn(2, 3).shape
    (2, 3)
    """
    check_device(device)
    return _made(_of(generator)._draw("standard_normal", shape_of(size)), dtype, requires_grad)


def normal(
    mean: float,
    std: float,
    size: int | Sequence[int],
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Draw normal numbers of this mean and deviation.

    >>> kellet.normal(5.0, 0.1, (2, 3)).shape
    (2, 3)
    """
    return _made(_of(generator)._draw("normal", mean, std, shape_of((size,))), dtype, requires_grad)


def randint(
    low: int,
    high: int | Sequence[int] | None = None,
    size: int | Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Draw integers from `low` (0 when left out) up to, not including, `high`: `randint(10, (2, 3))`.

    >>> kellet.randint(10, (2, 3)).dtype
    dtype('int64')
    """
    check_device(device)
    if size is None:
        low, high, size = 0, low, high
    values = _of(generator)._draw("integers", low, high, shape_of((size,)))
    return _made(values, np.int64 if dtype is None else dtype, requires_grad)


def randperm(n: int, *, generator: Generator | None = None, device: DeviceLike = None) -> Tensor:
    """Return the integers from 0 to `n - 1` in random order.

    >>> kellet.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    check_device(device)
    return _made(_of(generator)._draw("permutation", n), np.int64, False)


def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Draw 1 with the probability that `input` gives, else 0, in its shape and dtype.

    >>> kellet.bernoulli(kellet.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    return _made(_of(generator)._draw("random", input.shape) < input._array, input.dtype, False)


def rand_like(input: Tensor, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Draw as `rand` in the shape and dtype of `input`.

    >>> kellet.rand_like(kellet.ones(2, 3)).shape
    (2, 3)
    """
    return rand(input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)


def randn_like(input: Tensor, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Draw as `randn` in the shape and dtype of `input`.

    >>> kellet.randn_like(kellet.ones(2, 3)).shape
    (2, 3)
    """
    return randn(input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)


def _of(generator: Generator | None) -> Generator:
    return default_generator if generator is None else generator


def _made(values: Any, dtype: Any, requires_grad: bool) -> Tensor:
    found: DType = get_default_dtype() if dtype is None else as_dtype(dtype)
    made: Tensor = wrap(np.asarray(values).astype(found))  # type: ignore[assignment]  # wrap makes Tensors
    return made.requires_grad_() if requires_grad else made
