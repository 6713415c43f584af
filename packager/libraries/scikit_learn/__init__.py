"""What is known of scikit-learn: estimators, and the parts of them that are made in C."""

from __future__ import annotations

from typing import Final

from packager.codecs import Library

from . import estimator_state, neighbor_state, relation_rows, tree_state

LIBRARY: Final = Library(
    "sklearn",
    "scikit-learn",
    checks=(*tree_state.CHECKS, *neighbor_state.CHECKS, *estimator_state.CHECKS, *relation_rows.CHECKS),
)
