"""What functions of order, of index tensors and of matrices refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kellet
from kellet import linalg
from kellet.errors import DTypeError, GradientError, LinAlgError, ShapeError
from tests.tables import one_test

flat = kellet.tensor([1.0, 2.0, 3.0])
wide = kellet.ones(2, 3)
tall = kellet.ones(3, 2, requires_grad=True)
zero = kellet.zeros(2, 2)

REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: kellet.kthvalue(flat, 4), ShapeError, "k is 4, but axis 0 has 3 values; count from 1"),
    (lambda: kellet.kthvalue(flat, 0), ShapeError, "k is 0"),
    (lambda: kellet.median(kellet.zeros(0, dtype="int64")), ShapeError, "has no values"),
    (lambda: kellet.median(kellet.zeros(2, 0), 1), ShapeError, "axis 1 of a tensor of shape"),
    (lambda: kellet.quantile(kellet.tensor([1, 2]), 0.5), DTypeError, "either float or double dtype"),
    (lambda: kellet.quantile(flat, 1.5), ValueError, r"in the range \[0, 1\], got 1.5"),
    (
        lambda: kellet.quantile(flat, 0.5, interpolation="cubic"),
        ValueError,
        "must be one of linear, .* got 'cubic'",
    ),
    (lambda: kellet.nanquantile(kellet.zeros(0), 0.5), ShapeError, "must be non-empty"),
    (lambda: kellet.searchsorted(flat, 1.0, side="up"), ValueError, "must be 'left' or 'right', got 'up'"),
    (lambda: kellet.searchsorted(wide, flat), ShapeError, r"rows of shape \(2, 3\) do not fit values"),
    (lambda: flat.index_fill(0, kellet.tensor([0]), flat), ShapeError, "use index_copy"),
    (lambda: flat.index_copy(0, kellet.tensor([0]), wide), ShapeError, r"expected \(1,\)"),
    (lambda: flat.index_copy(0, kellet.tensor([0]), kellet.tensor([1])), DTypeError, "convert the source"),
    (lambda: flat.masked_scatter(flat > 0, flat[:1]), ShapeError, "asks for 3 values, source has 1"),
    (lambda: flat.scatter_reduce(0, kellet.tensor([0]), flat, "prod"), ValueError, "got 'prod'"),
    (lambda: flat.take(kellet.tensor([3])), IndexError, "out of range for axis 0 with 3 entries"),
    (lambda: kellet.cross(wide[:, :2], wide[:, :2]), ShapeError, "no axis of length 3"),
    (lambda: wide.is_nonzero(), ShapeError, "the truth of 6 elements is ambiguous"),
    (lambda: kellet.tensor([1, 2]).tan_(), DTypeError, "result type float32 can't be cast to .* int64"),
    (lambda: flat.clone().hypot_(kellet.ones(2, 3)), ShapeError, r"the result has shape \(2, 3\)"),
    (lambda: kellet.det(wide), ShapeError, "must be batches of square matrices, but they are 2 by 3"),
    (lambda: kellet.inverse(flat), ShapeError, "must have at least 2 dimensions, got"),
    (lambda: linalg.inv(zero), LinAlgError, "linalg.inv: Singular matrix"),
    (lambda: linalg.solve(zero, kellet.ones(2)), LinAlgError, "linalg.solve: Singular matrix"),
    (lambda: linalg.solve(kellet.eye(2), kellet.ones(3)), ShapeError, "does not fit A of shape"),
    (lambda: linalg.cholesky(-kellet.eye(2)), LinAlgError, "is not positive-definite"),
    (lambda: linalg.eigh(zero, "X"), ValueError, "UPLO must be 'L' or 'U', got 'X'"),
    (lambda: linalg.qr(wide, "full"), ValueError, "unrecognized mode 'full'"),
    (lambda: linalg.qr(tall, "complete"), GradientError, "mode='complete' and nrows > ncols"),
    (lambda: linalg.svd(tall), GradientError, "pass full_matrices=False"),
    (lambda: linalg.eig(kellet.eye(2).requires_grad_()), GradientError, "no derivative here"),
    (lambda: linalg.norm(kellet.ones(1, 2, 3), 1), ShapeError, "a vector or a matrix where ord is given"),
    (lambda: linalg.norm(flat, "nuc"), ShapeError, "'nuc' is a norm of matrices"),
    (lambda: linalg.matrix_norm(wide, 3), ValueError, "Order 3 not supported"),
    (lambda: linalg.matrix_norm(wide, 1, (0, 0)), ShapeError, "two axes that differ"),
    (lambda: linalg.multi_dot([wide]), ShapeError, "at least 2 tensors, got 1"),
]


@one_test
@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_it_is_refused_in_words(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_the_determinant_of_a_singular_matrix_has_its_derivative() -> None:
    a = kellet.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=kellet.float64, requires_grad=True)
    kellet.det(a).backward()
    assert kellet.allclose(a.grad, kellet.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=kellet.float64))
