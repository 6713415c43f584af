"""Methods that fill a tensor with random numbers, in place, and draws from the weights that it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..dtypes import INTEGER, category
from ..errors import DTypeError, ShapeError
from .generators import Generator, default_generator

if TYPE_CHECKING:
    from typing import Self

    from .tensor import Tensor


class RandomFills(Variable):
    """Random fills. All but the two last return the tensor itself; its old values have no gradient then."""

    __slots__ = ()

    def uniform_(
        self, from_: float = 0, to: float = 1, *, generator: Generator | None = None, **old: Any
    ) -> Self:
        """Fill with numbers drawn uniformly from `from_` (PyTorch's `from`) up to `to`.

        Raises TypeError for another keyword.
        """
        low = old.pop("from", from_)
        if old:
            raise TypeError(
                f"uniform_: no argument is called {', '.join(old)}; there are from, to, generator"
            )
        return self._drawn(generator, "uniform", low, to)

    def normal_(self, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with normal numbers of this mean and deviation."""
        return self._drawn(generator, "normal", mean, std)

    def log_normal_(self, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Self:
        """Fill with numbers whose logarithms are normal, of this mean and deviation."""
        return self._drawn(generator, "lognormal", mean, std)

    def exponential_(self, lambd: float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with exponential numbers of the rate `lambd`."""
        return self._drawn(generator, "exponential", 1 / lambd)

    def geometric_(self, p: float, *, generator: Generator | None = None) -> Self:
        """Fill with the number of trials up to the first success of probability `p`."""
        return self._drawn(generator, "geometric", p)

    def cauchy_(self, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with numbers of a Cauchy distribution around `median`."""
        return self._filled(median + sigma * self._random(generator, "standard_cauchy"))

    def bernoulli_(self, p: Any = 0.5, *, generator: Generator | None = None) -> Self:
        """Fill with 1 at the probability `p`, a number or a tensor of them, else 0."""
        chance = p._array if isinstance(p, Variable) else p
        return self._filled(self._random(generator, "random") < chance)

    def random_(self, from_: int = 0, to: int | None = None, *, generator: Generator | None = None) -> Self:
        """Fill with integers from `from_` up to, not including, `to`; `random_(to)` starts at 0.

        Without bounds, as far as the dtype is exact.
        """
        low, high = (0, from_) if to is None and from_ else (from_, to)
        return self._drawn(generator, "integers", low, _exact(self._array.dtype) if high is None else high)

    def bernoulli(self, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
        """Draw 1 at the probability that each element is, or `p`, else 0, in this shape and dtype."""
        chance = self._array if p is None else p
        drawn = self._random(generator, "random") < chance
        return wrap(drawn.astype(self._array.dtype))  # type: ignore[return-value]  # wrap makes Tensors

    def multinomial(
        self, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
    ) -> Tensor:
        """Draw `num_samples` positions in each row, with the chances that its numbers are to each other.

        A position is drawn once at most unless `replacement`.

        Raises DTypeError for integers, ShapeError for more than two axes, and ValueError for chances that
        are negative, not finite or all zero, and for more samples than a row has positive chances.

        Source: torch.multinomial; its numbers are others.

        >>> kellet.multinomial(kellet.tensor([0.0, 1.0]), 3, replacement=True)
        tensor([1, 1, 1])
        """
        weights = self._array
        if category(weights.dtype) <= INTEGER or weights.dtype.kind == "c":
            raise DTypeError("multinomial only supports floating-point dtypes for the chances; use .float()")
        if weights.ndim not in (1, 2):
            raise ShapeError(f"multinomial takes a vector or a matrix of chances, got shape {weights.shape}")
        rows = np.atleast_2d(weights).astype(np.float64)
        _check_chances(rows, num_samples, replacement)
        if replacement:
            bounds = np.cumsum(rows, axis=1)
            drawn = _numbers(generator, "random", (len(rows), num_samples)) * bounds[:, -1:]
            found = (drawn[:, :, None] >= bounds[:, None, :]).sum(axis=2)
        else:
            # The largest of weights divided by exponential numbers are drawn as asked, in order.
            race = rows / _numbers(generator, "standard_exponential", rows.shape)
            found = np.argsort(-race, axis=1, kind="stable")[:, :num_samples]
        places = found.astype(np.int64)
        return wrap(places if weights.ndim == 2 else places[0])  # type: ignore[return-value]  # wrap makes Tensors

    def _drawn(self, generator: Generator | None, method: str, *args: Any) -> Self:
        return self._filled(self._random(generator, method, *args))

    def _random(self, generator: Generator | None, method: str, *args: Any) -> Any:
        return _numbers(generator, method, *args, self._array.shape)

    def _filled(self, values: Any) -> Self:
        return self.copy_(wrap(np.asarray(values).astype(self._array.dtype)))  # type: ignore[attr-defined,no-any-return]  # a Tensor


def _numbers(generator: Generator | None, method: str, *args: Any) -> Any:
    return (generator or default_generator)._draw(method, *args)


def _exact(dtype: Any) -> int:
    """One more than the largest integer up to which the dtype holds all."""
    if dtype.kind == "b":
        return 2
    return int(np.iinfo(dtype).max) if dtype.kind in "iu" else 2 ** (np.finfo(dtype).nmant + 1)


def _check_chances(rows: Any, num_samples: int, replacement: bool) -> None:
    """Raise ValueError for chances that nothing can be drawn by."""
    if not (np.isfinite(rows) & (rows >= 0)).all():
        raise ValueError("multinomial: probability tensor contains either `inf`, `nan` or element < 0")
    if not (rows.sum(axis=1) > 0).all():
        raise ValueError("multinomial: invalid multinomial distribution (sum of probabilities <= 0)")
    if num_samples < 1:
        raise ValueError(f"multinomial: cannot sample n_sample <= 0 samples, got {num_samples}")
    if not rows.shape[1] or (not replacement and (np.count_nonzero(rows, axis=1) < num_samples).any()):
        raise ValueError(
            f"multinomial: cannot draw {num_samples} positions, each once, from fewer positive chances"
        )


# --- the method as a function: the first argument is the tensor ------------------------------------

multinomial = RandomFills.multinomial
