"""Linear algebra on matrices, the last two axes: inverses, solutions, determinants, and factors.

The derivatives are those of "Mathieu, Giles: An extended collection of matrix derivative results", as
PyTorch has them. A matrix that is Hermitian by promise (`cholesky`, `eigh`) is taken as the mean of itself
and its conjugate transpose, so that the derivative holds for every change of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LinAlgError
from .levels import move_axis
from .rule import FLOAT, OUT, rule

SECOND, THIRD = -2, -3  # outputs, in `saves`


def _checked(where: str, function: Any, *args: Any, **options: Any) -> Any:
    """Call NumPy's function; LinAlgError where it finds the matrix singular, or does not converge."""
    try:
        return function(*args, **options)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg.{where}: {error}; a matrix of full rank has one") from error


def _h(xp: Any, a: Any) -> Any:
    """The conjugate transpose over the last two axes."""
    return xp.conj(move_axis(xp, a, -1, -2))


def _scaled_columns(xp: Any, a: Any, values: Any) -> Any:
    """`a @ diag(values)`."""
    return a * xp.reshape(values, shape=(*values.shape[:-1], 1, values.shape[-1]))


def _scaled_rows(xp: Any, a: Any, values: Any) -> Any:
    """`diag(values) @ a`."""
    return a * xp.reshape(values, shape=(*values.shape, 1))


def _eye(xp: Any, a: Any) -> Any:
    """The identity in the dtype of `a`, as a constant."""
    return xp.constant(np.eye(a.shape[-1], dtype=xp.array(a).dtype))


# --- inverse, solution ----------------------------------------------------------------------------


def _inv_forward(a: Any) -> Any:
    return _checked("inv", np.linalg.inv, a)


def _inv(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    turned = _h(xp, ctx.output)
    return (-(turned @ g @ turned),)


def _solve_forward(a: Any, b: Any) -> Any:
    """`b` has two axes at least: columns."""
    if b.ndim < a.ndim:  # of one axis less NumPy 1 makes vectors
        b = b[(None,) * (a.ndim - b.ndim)]
    return _checked("solve", np.linalg.solve, a, b)


def _solve(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    grad_b = xp.solve(_h(xp, ctx.inputs[0]), g)
    return (-(grad_b @ _h(xp, ctx.output)) if ctx.needs[0] else None, grad_b)


def _pinv_forward(a: Any, *, rcond: float, hermitian: bool = False) -> Any:
    return _checked("pinv", np.linalg.pinv, a, rcond, hermitian)


def _pinv(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, p = ctx.inputs[0], ctx.output
    p_turned, g_turned = _h(xp, p), _h(xp, g)
    if a.shape[-2] <= a.shape[-1]:
        k = g_turned @ p
        turned = k @ p_turned
        return (-_h(xp, p @ k) + turned - (a @ p) @ turned + (p_turned @ p) @ (g_turned - k @ a),)
    k = p @ g_turned
    turned = p_turned @ k
    return (-_h(xp, k @ p) + (g_turned - a @ k) @ p @ p_turned + turned - (turned @ p) @ a,)


inv = rule(
    "inv", _inv_forward, _inv, saves=((OUT,),), promote=FLOAT, fresh=True, label="LinalgInvExBackward0"
)
solve = rule(
    "solve",
    _solve_forward,
    _solve,
    saves=((0, OUT), (0,)),
    promote=FLOAT,
    label="LinalgSolveExBackward0",
)
pinv = rule("pinv", _pinv_forward, _pinv, saves=((0, OUT),), promote=FLOAT, label="LinalgPinvBackward0")


# --- determinants ---------------------------------------------------------------------------------


def _det_forward(a: Any) -> Any:
    return np.asarray(np.linalg.det(a))


def _det(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """The conjugate of the adjugate, transposed: on arrays right for singular matrices too."""
    a, out = ctx.inputs[0], ctx.output
    shape = (*g.shape, 1, 1)
    if xp.raw:
        return (g.reshape(shape) * _cofactors(a, out).conj(),)
    return (xp.reshape(g * xp.conj(out), shape=shape) * _h(xp, xp.inv(a)),)


def _cofactors(a: Any, det: Any) -> Any:
    """The derivative of the determinant by each element."""
    if np.asarray(det).all():
        try:
            return np.asarray(det)[..., None, None] * np.swapaxes(np.linalg.inv(a), -1, -2)
        except np.linalg.LinAlgError:
            pass  # singular but for rounding
    u, s, vh = np.linalg.svd(a)
    others = np.ones_like(s)
    for i in range(s.shape[-1]):
        others[..., i] = np.prod(np.delete(s, i, axis=-1), axis=-1)
    turn = np.linalg.det(u) * np.linalg.det(vh)
    return turn[..., None, None] * ((u.conj() * others[..., None, :]) @ vh.conj())


def _slogdet_forward(a: Any) -> tuple[Any, Any]:
    sign, log = np.linalg.slogdet(a)
    return np.asarray(sign), np.asarray(log)


def _slogdet(xp: Any, ctx: Any, g_sign: Any, g_log: Any) -> tuple[Any, ...]:
    a, sign = ctx.inputs[0], ctx.output
    slope = g_log
    if xp.array(a).dtype.kind == "c":
        # Python's 1j would make NumPy 1 count in double precision.
        slope = slope - xp.imag(xp.conj(g_sign) * sign) * xp.constant(np.array(1j, xp.array(a).dtype))
    return (xp.reshape(slope, shape=(*slope.shape, 1, 1)) * _h(xp, xp.inv(a)),)


det = rule("det", _det_forward, _det, saves=((0, OUT),), promote=FLOAT, label="LinalgDetBackward0")
slogdet = rule(
    "slogdet",
    _slogdet_forward,
    _slogdet,
    saves=((0, OUT),),
    promote=FLOAT,
    outputs=2,
    label="LinalgSlogdetBackward0",
)


# --- factors --------------------------------------------------------------------------------------


def _hermitian(a: Any) -> Any:
    return (a + np.swapaxes(a, -1, -2).conj()) / 2


def _cholesky_forward(a: Any) -> Any:
    try:
        return np.linalg.cholesky(_hermitian(a))
    except np.linalg.LinAlgError as error:
        raise LinAlgError(
            "linalg.cholesky: the input is not positive-definite; only such matrices have this factor"
        ) from error


def _cholesky(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    low = ctx.output
    product = _lower_half(xp, _h(xp, low) @ g)
    turned = _h(xp, low)
    half = xp.solve(turned, _h(xp, xp.solve(turned, product)))
    return ((half + _h(xp, half)) * 0.5,)


def _lower_half(xp: Any, a: Any) -> Any:
    """The lower triangle, with half of the diagonal."""
    kind = xp.array(a).real.dtype
    weight = np.tri(a.shape[-1], dtype=kind) - np.eye(a.shape[-1], dtype=kind) / 2
    return a * xp.constant(weight)


def _qr_forward(a: Any) -> tuple[Any, Any]:
    q, r = np.linalg.qr(a)
    return q, r


def _qr(xp: Any, ctx: Any, g_q: Any, g_r: Any) -> tuple[Any, ...]:
    """Of a wide matrix the right columns are `q` times those of `r`, the left ones a square one's."""
    q, r = ctx.outputs
    rows, columns = q.shape[-1], r.shape[-1]
    if q.shape[-2] != rows or rows == columns:
        return (_of_tall(xp, q, r, g_q, g_r),)
    axis, rest = r.ndim - 1, columns - rows
    right = ctx.inputs[0]
    right = xp.narrow(right, axis=axis, start=rows, length=rest)
    g_right = xp.narrow(g_r, axis=axis, start=rows, length=rest)
    left = _of_tall(
        xp,
        q,
        xp.narrow(r, axis=axis, start=0, length=rows),
        g_q + right @ _h(xp, g_right),
        xp.narrow(g_r, axis=axis, start=0, length=rows),
    )
    return (xp.cat(left, q @ g_right, axis=axis),)


def _of_tall(xp: Any, q: Any, r: Any, g_q: Any, g_r: Any) -> Any:
    inner = r @ _h(xp, g_r) - _h(xp, g_q) @ q
    low = _lower_half(xp, inner)
    return _h(xp, xp.solve(r, _h(xp, g_q + q @ (low + _h(xp, low)))))


def _eigh_forward(a: Any) -> tuple[Any, Any]:
    values, vectors = _checked("eigh", np.linalg.eigh, _hermitian(a))
    return values, vectors


def _eigh(xp: Any, ctx: Any, g_values: Any, g_vectors: Any) -> tuple[Any, ...]:
    """Vectors of equal values have no derivative: there it is infinite, as in PyTorch."""
    values, vectors = ctx.outputs
    between = _differences(xp, values)
    inner = (
        (_h(xp, vectors) @ g_vectors)
        / between
        * xp.constant(1 - np.eye(values.shape[-1]).astype(_real(xp, values)))
    )
    inner = inner + _scaled_rows(xp, _eye(xp, vectors), g_values)
    whole = vectors @ inner @ _h(xp, vectors)
    return ((whole + _h(xp, whole)) * 0.5,)


def _differences(xp: Any, values: Any) -> Any:
    """`values[j] - values[i]` at row i, column j; 1 on the diagonal."""
    row = xp.reshape(values, shape=(*values.shape[:-1], 1, values.shape[-1]))
    return (
        row
        - xp.reshape(values, shape=(*values.shape, 1))
        + xp.constant(np.eye(values.shape[-1], dtype=_real(xp, values)))
    )


def _real(xp: Any, values: Any) -> Any:
    return xp.array(values).real.dtype


def _svd_forward(a: Any) -> tuple[Any, Any, Any]:
    u, s, vh = _checked("svd", np.linalg.svd, a, full_matrices=False)
    return u, s, vh


def _svd(xp: Any, ctx: Any, g_u: Any, g_s: Any, g_vh: Any) -> tuple[Any, ...]:
    """Vectors of equal values have no derivative: there it is infinite, as in PyTorch."""
    u, s, vh = ctx.outputs
    g_v, v = _h(xp, g_vh), _h(xp, vh)
    between = _differences(xp, s * s)
    left, right = _skew(xp, _h(xp, u) @ g_u), _skew(xp, vh @ g_v)
    inner = _scaled_columns(xp, left / between, s) + _scaled_rows(xp, right / between, s)
    off = xp.constant(1 - np.eye(s.shape[-1]).astype(_real(xp, s)))
    inner = inner * off + _scaled_rows(xp, _eye(xp, u), g_s)
    if xp.array(u).dtype.kind == "c":
        inner = inner + _scaled_columns(xp, left * _eye(xp, u), 0.5 / s)
    whole = u @ inner @ vh
    rows, columns, rank = u.shape[-2], vh.shape[-1], s.shape[-1]
    if rows > rank:
        outside = _scaled_columns(xp, g_u, 1 / s)
        whole = whole + (outside - u @ (_h(xp, u) @ outside)) @ vh
    if columns > rank:
        outside = _scaled_rows(xp, _h(xp, g_v), 1 / s)
        whole = whole + u @ (outside - (outside @ v) @ vh)
    return (whole,)


def _skew(xp: Any, a: Any) -> Any:
    return a - _h(xp, a)


cholesky = rule(
    "cholesky",
    _cholesky_forward,
    _cholesky,
    saves=((OUT,),),
    promote=FLOAT,
    label="LinalgCholeskyExBackward0",
)
qr = rule(
    "qr", _qr_forward, _qr, saves=((0, OUT, SECOND),), promote=FLOAT, outputs=2, label="LinalgQrBackward0"
)
eigh = rule(
    "eigh",
    _eigh_forward,
    _eigh,
    saves=((OUT, SECOND),),
    promote=FLOAT,
    outputs=2,
    label="LinalgEighBackward0",
)
svd = rule(
    "svd",
    _svd_forward,
    _svd,
    saves=((OUT, SECOND, THIRD),),
    promote=FLOAT,
    outputs=3,
    label="LinalgSvdBackward0",
)
