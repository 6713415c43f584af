"""Derivatives compared with finite differences: `gradcheck` for the first, `gradgradcheck` for the second.

Complex values count as two real ones each. The gradient of a real loss with respect to a complex
value is the derivative along its real part plus i times that along its imaginary part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import is_differentiable
from ..errors import GradcheckError
from .bridge import Array, wrap
from .function import Function
from .gradients import grad
from .modes import no_grad
from .variable import Variable


class _Limits(NamedTuple):
    eps: float
    atol: float
    rtol: float
    nondet_tol: float


def gradcheck(
    func: Callable[..., Any],
    inputs: object,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
) -> bool:
    """Say whether the gradients of `func(*inputs)` agree with finite differences of it.

    Every input that requires a gradient is checked, element by element; it should be float64 or
    complex128. Also checked: the same gradients come out twice (up to `nondet_tol`), have the shape
    and dtype of their inputs, and outputs without a gradient do no harm.

    Returns True, or raises GradcheckError saying what differs; False with `raise_exception=False`.

    Source: torch.autograd.gradcheck.

    >>> import kellet
    >>> x = kellet.tensor([0.5, 2.0], dtype="float64", requires_grad=True)
    >>> kellet.autograd.gradcheck(lambda x: (x * x).exp(), x)
    True
    """
    given = _as_tuple(inputs)
    checked = [one for one in given if isinstance(one, Variable) and one.requires_grad]
    try:
        _check(func, given, checked, _Limits(eps, atol, rtol, nondet_tol), check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: object,
    grad_outputs: object = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
) -> bool:
    """Say whether second derivatives agree with finite differences: `gradcheck` of the gradients.

    `grad_outputs` are the gradients that flow into the outputs; random ones when left out.

    Source: torch.autograd.gradgradcheck.

    >>> x = kellet.tensor([0.5, 2.0], dtype="float64", requires_grad=True)
    >>> kellet.autograd.gradgradcheck(lambda x: x.exp(), x)
    True
    """
    given = _as_tuple(inputs)
    outputs = _differentiable(func(*given))
    flowing = _random_like(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    count = len(given)

    def gradients(*args: Any) -> tuple[Any, ...]:
        results = _differentiable(func(*args[:count]))
        wanted = [one for one in args[:count] if isinstance(one, Variable) and one.requires_grad]
        found = grad(results, wanted, args[count:], create_graph=True, allow_unused=True)
        return tuple(one for one in found if one is not None)

    return gradcheck(
        gradients,
        (*given, *flowing),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
    )


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, Sequence) and not isinstance(values, Variable) else (values,)


def _random_like(outputs: Sequence[Variable]) -> tuple[Variable, ...]:
    numbers = np.random.default_rng(0)
    made = []
    for out in outputs:
        values = numbers.standard_normal(out._array.shape)
        if out._array.dtype.kind == "c":
            values = values + 1j * numbers.standard_normal(out._array.shape)
        made.append(wrap(np.asarray(values).astype(out._array.dtype)).requires_grad_())
    return tuple(made)


def _differentiable(outputs: Any) -> list[Any]:
    return [out for out in _as_tuple(outputs) if isinstance(out, Variable) and out.requires_grad]


# --- the check ------------------------------------------------------------------------------------


def _check(
    func: Callable[..., Any], given: tuple[Any, ...], checked: list[Any], limits: _Limits, undefined: bool
) -> None:
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient; call requires_grad_() on one"
        )
    for one in checked:
        if one._array.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"gradcheck of an input of dtype {one._array.dtype}: finite differences need double "
                "precision; pass float64 or complex128, or larger eps and atol",
                stacklevel=3,
            )
    outputs = _differentiable(func(*given))
    if not outputs:
        _check_constant(func, given, checked, limits)
        return
    numeric = _numeric_jacobians(func, given, checked, limits.eps)
    for number, out in enumerate(outputs):
        analytic = _analytic_jacobian(out, checked)
        again = _analytic_jacobian(out, checked)
        for position in range(len(checked)):
            _compare(numeric[position][number], analytic[position], position, number, limits)
            if np.abs(analytic[position] - again[position]).max(initial=0) > limits.nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output "
                    f"multiple times gives different values: output {number}, input {position}; make it "
                    "deterministic, or pass nondet_tol"
                )
    if undefined:
        _check_undefined(func, given, checked)


def _check_constant(func: Callable[..., Any], given: Any, checked: list[Any], limits: _Limits) -> None:
    """No output requires a gradient: then none may depend on the inputs."""
    for jacobians in _numeric_jacobians(func, given, checked, limits.eps, every=True):
        for jacobian in jacobians:
            if np.abs(jacobian).max(initial=0) > limits.atol:
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero, since no output requires grad; "
                    "compute with tensors all the way, without detach() or numpy()"
                )


class _Undefined(Function):
    """Lets a value through and no gradient back."""

    @staticmethod
    def forward(ctx: Any, value: Any) -> Any:
        return wrap(value._array)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return None


def _check_undefined(func: Callable[..., Any], given: Any, checked: list[Any]) -> None:
    """Backward with no gradient for one output after the other, and for all: nothing may break."""
    outputs = _differentiable(func(*given))
    for silent in [[i] for i in range(len(outputs))] + [list(range(len(outputs)))]:
        outputs = _differentiable(func(*given))
        ends = [_Undefined.apply(out) if i in silent else out for i, out in enumerate(outputs)]
        flowing = [wrap(np.ones(out._array.shape, out._array.dtype)) for out in ends]
        try:
            found = grad(ends, checked, flowing, allow_unused=True)
        except Exception as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads (None, for outputs "
                f"{silent}), but it raised {type(error).__name__}: {error}. Let it return None, or zeros, "
                "for inputs that depend on them alone"
            ) from error
        if len(silent) == len(outputs) and any(value is not None and value._array.any() for value in found):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined; "
                "return None where nothing flows"
            )


def _compare(numeric: Array, analytic: Array, position: int, number: int, limits: _Limits) -> None:
    if not np.allclose(analytic, numeric, limits.rtol, limits.atol, equal_nan=True):
        raise GradcheckError(
            f"Jacobian mismatch for output {number} with respect to input "
            f"{position},\nnumerical:\n{numeric}\nanalytical:\n{analytic}\nCorrect the derivative, or, "
            "where the function has a kink, test away from it."
        )


# --- by differences -------------------------------------------------------------------------------


def _numeric_jacobians(
    func: Callable[..., Any], given: Any, checked: list[Any], eps: float, every: bool = False
) -> list[list[Array]]:
    """For each input, for each output: rows by real component of the input, columns of the output."""
    return [_numeric_of_input(func, given, one, eps, every) for one in checked]


def _numeric_of_input(func: Callable[..., Any], given: Any, one: Any, eps: float, every: bool) -> list[Array]:
    rows: list[list[Array]] = []
    array = one._array
    for place in np.ndindex(array.shape):
        steps: tuple[complex, ...] = (eps, 1j * eps) if array.dtype.kind == "c" else (eps,)
        for step in steps if array.dtype.kind == "c" else (eps,):
            before = array[place]
            array[place] = before + step
            high = _evaluate(func, given, every)
            array[place] = before - step
            low = _evaluate(func, given, every)
            array[place] = before
            rows.append([(a - b) / (2 * eps) for a, b in zip(high, low, strict=True)])
    count = len(rows[0]) if rows else len(_evaluate(func, given, every))
    return [np.array([row[i] for row in rows]) for i in range(count)]


def _evaluate(func: Callable[..., Any], given: Any, every: bool) -> list[Array]:
    """The real components of the outputs, flat."""
    found = _as_tuple(func(*given))
    chosen = [
        out
        for out in found
        if isinstance(out, Variable) and is_differentiable(out._array.dtype) and (every or out.requires_grad)
    ]
    with no_grad():
        return [_components(out._array) for out in chosen]


def _components(array: Array) -> Array:
    flat = np.array(array, order="C").reshape(-1)
    if flat.dtype.kind != "c":
        return flat
    return np.stack([flat.real, flat.imag], axis=1).reshape(-1)


# --- by backward ----------------------------------------------------------------------------------


def _analytic_jacobian(out: Any, checked: list[Any]) -> list[Array]:
    """For each input, the matrix that differences should give: columns from one backward each."""
    columns: list[list[Array]] = [[] for _ in checked]
    shape, dtype = out._array.shape, out._array.dtype
    for place in np.ndindex(shape):
        for unit in (1, 1j) if dtype.kind == "c" else (1,):
            flowing = np.zeros(shape, dtype)
            flowing[place] = unit
            found = grad(out, checked, wrap(flowing), retain_graph=True, allow_unused=True)
            for column, value, one in zip(columns, found, checked, strict=True):
                column.append(_column(value, one))
    return [
        np.array(column).T if column else np.zeros((_components(one._array).size, 0))
        for column, one in zip(columns, checked, strict=True)
    ]


def _column(value: Any, one: Any) -> Array:
    if value is None:
        return np.zeros(_components(one._array).size)
    if value._array.shape != one._array.shape or value._array.dtype != one._array.dtype:
        raise GradcheckError(
            f"the gradient has shape {value._array.shape} and dtype {value._array.dtype}, its input "
            f"{one._array.shape} and {one._array.dtype}; both must be the same"
        )
    return _components(value._array)
