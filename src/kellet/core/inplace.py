"""Methods that write into the tensor: their names end in an underscore, as in PyTorch; most by one table.

Each raises GradientError on a leaf that requires a gradient (write inside `no_grad`), ShapeError
and DTypeError when the result does not fit; then nothing has been written. The history of the
tensor, and of the tensor it is a view of, is that of the new values afterwards.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..dtypes import INTEGER, category, dtype_name
from ..errors import DTypeError, ShapeError
from ..rules import RULES
from .dispatch import NONE, apply_in_place, operand, refuse_whole_quotients, require_writeable
from .generators import Generator, default_generator
from .indexing import _mask
from .meeting import times

if TYPE_CHECKING:
    from typing import Self

    from .tensor import Tensor


class InPlace(Variable):
    """Writing operations. All but `bernoulli` and `multinomial`, which draw, return the tensor itself."""

    __slots__ = ()

    # --- all values -------------------------------------------------------------------------------

    def copy_(self, src: complex | Variable | np.ndarray) -> Self:
        """Take the values of `src`, a tensor or array that broadcasts to this shape, in this dtype."""
        new = src if isinstance(src, Variable) else wrap(np.asarray(src))
        self._overwrite(new)
        return self

    def fill_(self, value: object) -> Self:
        """Set every element to `value`, a number or a tensor of shape ().

        Raises ShapeError for a tensor with axes.
        """
        new = value if isinstance(value, Variable) else wrap(np.asarray(value).astype(self._array.dtype))
        if new._array.ndim:
            raise ShapeError(
                f"fill_ takes a number or a tensor of shape (), got shape {new._array.shape}; use copy_"
            )
        self._overwrite(new)
        return self

    def zero_(self) -> Self:
        """Set every element to 0."""
        return self.fill_(0)

    if TYPE_CHECKING:  # the table below makes them, and more; they are called as these two are
        neg_ = abs_ = exp_ = log_ = sqrt_ = rsqrt_ = reciprocal_ = sin_ = cos_ = tanh_ = sigmoid_ = zero_
        relu_ = floor_ = ceil_ = zero_
        mul_ = div_ = pow_ = remainder_ = floor_divide_ = bitwise_and_ = bitwise_or_ = bitwise_xor_ = fill_

    def _overwrite(self, new: Variable) -> None:
        array = self._array
        try:
            np.broadcast_shapes(array.shape, new._array.shape)
        except ValueError as error:
            raise ShapeError(
                f"copy_: values of shape {new._array.shape} do not fit into {array.shape}"
            ) from error
        apply_in_place(RULES["replace"], self, (new,), NONE)

    # --- arithmetic -------------------------------------------------------------------------------

    def add_(self, other: object, *, alpha: complex | Tensor = 1) -> Self:
        """Compute `self += alpha * other`."""
        return self._with("add", times(alpha, other, self, RULES["add"]))

    def sub_(self, other: object, *, alpha: complex | Tensor = 1) -> Self:
        """Compute `self -= alpha * other`."""
        return self._with("sub", times(alpha, other, self, RULES["sub"]))

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: complex | Tensor = 1) -> Self:
        """Compute `self += value * tensor1 * tensor2`."""
        return self.add_(tensor1 * tensor2, alpha=value)

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: complex | Tensor = 1) -> Self:
        """Compute `self += value * tensor1 / tensor2`."""
        refuse_whole_quotients(tensor1, tensor2)
        return self.add_(tensor1 / tensor2, alpha=value)

    def lerp_(self, end: Tensor, weight: float | Tensor) -> Self:
        """Compute `self += weight * (end - self)`."""
        return apply_in_place(RULES["lerp"], self, (end, weight), NONE)  # type: ignore[no-any-return]  # self

    def clamp_(self, min: object = None, max: object = None) -> Self:
        """Set elements below `min` or above `max` to that bound. Raises ValueError without a bound."""
        if min is None and max is None:
            raise ValueError("clamp_ needs a lower or an upper bound; pass min=, max=, or both")
        return apply_in_place(RULES["clamp"], self, (min, max), NONE)  # type: ignore[no-any-return]  # self

    def masked_fill_(self, mask: Tensor, value: object) -> Self:
        """Set the elements where `mask` is True to `value`."""
        return apply_in_place(RULES["masked_fill"], self, (_mask(mask), value), NONE)  # type: ignore[no-any-return]  # self

    def _with(self, name: str, other: Any) -> Self:
        value = operand(other)
        if value is NotImplemented:
            raise TypeError(f"{name}_: expected a tensor or a number, got {type(other).__name__}: {other!r}")
        return apply_in_place(RULES[name], self, (value,), NONE)  # type: ignore[no-any-return]  # self

    # --- random numbers: what was there has no gradient then -----------------------------------------

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

    def bernoulli_(self, p: object = 0.5, *, generator: Generator | None = None) -> Self:
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
        return self.copy_(wrap(np.asarray(values).astype(self._array.dtype)))


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
        raise ValueError(f"multinomial: too few positive weights for {num_samples} draws")


# --- the method as a function: the first argument is the tensor ------------------------------------

multinomial = InPlace.multinomial


# --- the table ------------------------------------------------------------------------------------

OF_ONE = "neg abs exp log sqrt rsqrt reciprocal sin cos tanh sigmoid relu floor ceil".split()
"""`x.neg_()`: NumPy writes what the rule computes, without a second array."""

OF_TWO = "mul div pow remainder floor_divide bitwise_and bitwise_or bitwise_xor".split()
"""`x.mul_(other)`, in the same way."""

BY_COPY = (
    "absolute acos acosh addmm addmv arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan"
    " atan2 atanh baddbmm bitwise_not clamp_max clamp_min clip copysign cosh cumprod cumsum deg2rad divide"
    " eq erf erfc exp2 expm1 float_power fmod frac ge greater greater_equal gt heaviside hypot le less"
    " less_equal log10 log1p log2 logical_and logical_not logical_or logical_xor logit lt multiply nan_to_num"
    " ne negative not_equal rad2deg round sgn sign sinc sinh square subtract tan tril triu true_divide trunc"
    " xlogy"
).split()
"""`x.tan_()` is `x.copy_(x.tan())`."""

OPERATORS = {
    **{f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul", "pow")},
    **{f"__i{name}__": f"bitwise_{name}_" for name in ("and", "or", "xor")},
    "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
}


def _add_in_place_forms(tensor: type[Any]) -> None:
    """Give the class of tensors the in-place forms of the table, and the operators that write."""
    ways = dict.fromkeys(OF_ONE, _of_one) | dict.fromkeys(OF_TWO, _of_two) | dict.fromkeys(BY_COPY, _by_copy)
    for name, way in ways.items():
        method = getattr(tensor, name)
        written = functools.wraps(method)(way(name, method))
        written.__name__, written.__qualname__ = f"{name}_", f"Tensor.{name}_"
        written.__doc__ = f"Compute `{name}`, in place."
        setattr(InPlace, f"{name}_", written)
    for name, form in OPERATORS.items():
        setattr(InPlace, name, getattr(InPlace, form))


def _of_one(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: apply_in_place(RULES[name], self, (), NONE)


def _of_two(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: self._with(name, other)


def _by_copy(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def written(self: Any, *args: Any, **kwargs: Any) -> Any:
        require_writeable(f"{name}_", self)
        # The derivative may read the old values, which are about to be written over.
        old = self.clone() if self.requires_grad else self
        new = method(old, *[old if value is self else value for value in args], **kwargs)
        if category(new._array.dtype) > category(self._array.dtype):
            raise DTypeError(
                f"{name}_: result type {dtype_name(new._array.dtype)} can't be cast to the desired output "
                f"type {dtype_name(self._array.dtype)}; use the out-of-place operation"
            )
        if new._array.shape != self._array.shape:
            raise ShapeError(
                f"{name}_: the result has shape {new._array.shape}, and cannot be written into a tensor of "
                f"shape {self._array.shape}; use the out-of-place operation"
            )
        return self.copy_(new)

    return written
