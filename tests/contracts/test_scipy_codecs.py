"""The codec for trees of SciPy keeps the contract."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import KDTree, cKDTree

from packager.testing import CodecContract
from tests.contracts.built_in import by_name

POINTS = np.random.default_rng(0).random((40, 3))


def used(made: Any) -> None:
    """Ask a tree, as its owner would."""
    if made.m == POINTS.shape[1]:
        outputs(made)


def outputs(tree: Any) -> Any:
    distances, places = tree.query(POINTS, k=2)
    near = [sorted(one) for one in tree.query_ball_point(POINTS[:5], 0.4)]
    return distances.tolist(), places.tolist(), near


class TestTree(CodecContract):
    codec = by_name("scipy.kd_tree")

    def samples(self) -> list[Any]:
        return [KDTree(POINTS, leafsize=3), cKDTree(POINTS, leafsize=2, boxsize=1.0), KDTree(POINTS[:1])]

    def same(self, sample: Any, loaded: Any) -> bool:
        alike = bool(np.array_equal(sample.data, loaded.data))
        return alike and (sample.n < 2 or outputs(sample) == outputs(loaded))
