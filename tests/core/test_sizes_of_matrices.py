"""Ranks, norms and conditions of matrices, against NumPy."""

import math

import numpy as np
import pytest

import kellet
from kellet import linalg
from tests.tables import one_test


@one_test
@pytest.mark.parametrize(
    ("sizes", "rtol", "rank"),
    [
        ([4.0, 2.0, 1.0], None, 3),
        ([4.0, 2.0, 1.0], 0.25, 2),
        ([4.0, 2.0, 1.0], 1.0, 0),
        ([4.0, 1e-9, 0.0], None, 1),
        ([0.0, 0.0], None, 0),
    ],
)
def test_values_above_a_share_of_the_largest_count(sizes, rtol, rank):
    assert linalg.matrix_rank(kellet.diag(kellet.tensor(sizes)), rtol=rtol).item() == rank


def test_each_matrix_of_many_has_a_rank():
    assert linalg.matrix_rank(kellet.stack([kellet.eye(2), kellet.ones(2, 2)])).tolist() == [2, 1]


@one_test
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, 2, math.inf, -1, -2, -math.inf])
def test_norms_of_a_matrix_are_those_of_numpy(ord):
    values = np.random.default_rng(0).standard_normal((3, 2))
    found = linalg.matrix_norm(kellet.from_numpy(values), ord).item()
    assert found == pytest.approx(np.linalg.norm(values, ord), rel=1e-12)
    with pytest.raises(ValueError, match="Order -3 not supported"):
        linalg.matrix_norm(kellet.from_numpy(values), -3)


@one_test
@pytest.mark.parametrize("p", [None, 2, -2])
def test_conditions_by_singular_values_are_those_of_numpy_of_any_matrix(p):
    values = np.random.default_rng(0).standard_normal((3, 2))
    found = linalg.cond(kellet.from_numpy(values), p).item()
    assert found == pytest.approx(np.linalg.cond(values, p), rel=1e-12)
