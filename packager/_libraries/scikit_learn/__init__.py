"""What is known of scikit-learn: estimators, and the parts of them that are made in C.

Parts in C are called with checked arguments, and take up states that their checks have seen. The losses are
made of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from packager._audit import ANY, ATTRIBUTES, TENSORS, TYPES, ClassOf, Row, Rows, checked
from packager._codecs import Library, attributes_of, state_checks
from packager._libraries import family_names
from packager._libraries.families import ESTIMATOR, take_names
from packager._libraries.learned.learned_rows import LearnedRows
from packager._libraries.learned.tables import Tables, by_head
from packager._quick_dataclasses import replace

from . import c_state, relation_rows
from .learned_fits import KINDS, VALUES
from .learned_names import NAMES
from .said import SAID


def _take_thresholds(made: Any, state: Any) -> None:
    """Take up the attributes of an isotonic regression, which is stored without the function that it asks."""
    take_names(made, state)
    held = attributes_of(made)
    if "X_thresholds_" in held and "y_thresholds_" in held:
        raises = type(held.get("out_of_bounds")) is str and held["out_of_bounds"] == "raise"
        held["f_"] = partial(_through, held["X_thresholds_"], held["y_thresholds_"], raises)


def _through(places: Any, values: Any, raises: bool, asked: Any) -> Any:
    """Return where the line through some points is at others; scikit-learn computes it in the same way."""
    if len(values) == 1:
        return values.repeat(asked.shape)
    from scipy import interpolate

    return interpolate.interp1d(places, values, kind="linear", bounds_error=raises)(asked)


def _take_c_state(made: Any, state: Any) -> None:
    """Hand a state to a part in C. Raises ValueError for one that its checks refuse."""
    checks = state_checks(type(made))
    if not checks and type(state) is tuple and not state:
        return  # a part that holds nothing says so
    if not checks:
        raise ValueError(f"{type(made).__qualname__} is given a state, and has no check of it")
    for check in checks:
        check.check_state(made, state)
    type(made).__setstate__(made, state)


_LOSSES: Final = """
    CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss
    CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss CyHalfTweedieLossIdentity CyHuberLoss
    CyPinballLoss
"""
_CALLED: Final = {
    "sklearn.linear_model": "Hinge Huber Log ModifiedHuber SquaredLoss",  # up to version 1.5
    "sklearn.linear_model._sgd_fast": """
        EpsilonInsensitive Hinge ModifiedHuber SquaredEpsilonInsensitive SquaredHinge
    """,
    "sklearn._loss._loss": _LOSSES,
}
# Made by a function that is given one class of these modules.
_MADE_OF_CLASSES: Final = (
    (
        "tree",
        "sklearn.neighbors",
        dict.fromkeys(("sklearn.neighbors._kd_tree", "sklearn.neighbors._ball_tree"), "newObj"),
    ),
    ("metric", "sklearn.metrics._dist_metrics", {"sklearn.metrics._dist_metrics": "newObj"}),
    (
        "loss",
        "sklearn._loss._loss",
        {"sklearn._loss._loss": " ".join(f"__pyx_unpickle_{loss}" for loss in _LOSSES.split())},
    ),
)
_DISTANCES: Final = """
    BrayCurtis Canberra Chebyshev Dice Euclidean Hamming Haversine Jaccard Kulsinski Mahalanobis Manhattan
    Matching Minkowski RogersTanimoto RussellRao SEuclidean SokalMichener SokalSneath
"""
_CLASSES_IN_C: Final[Mapping[str, str]] = {
    "sklearn.neighbors": "KDTree BallTree",
    "sklearn.metrics._dist_metrics": " ".join(
        f"{name}Distance{bits}" for name in _DISTANCES.split() for bits in ("64", "32")
    ),
    "sklearn._loss._loss": _LOSSES,
}

FUNCTIONS: Final = by_head(family_names.FUNCTIONS)
LEARNED: Final = LearnedRows("sklearn", Tables(NAMES, KINDS, VALUES), SAID)

ROWS: Final = Rows(
    LEARNED.table(),
    (Row(takes_state=_take_thresholds), {"sklearn.isotonic": "IsotonicRegression"}),
    # A dict with attributes; its own `__setstate__` does nothing.
    (
        replace(ESTIMATOR, takes_state=None, pairs=ANY, learned=LEARNED, kind="dict"),
        {"sklearn.utils": "Bunch"},
    ),
    (Row("value", uses="wrapped"), FUNCTIONS),
    # Made anew for each repetition, of numbers; and an estimator with the columns that it is for.
    (Row("value"), {"sklearn.model_selection": "KFold StratifiedKFold"}),
    (
        Row("create", is_a=ATTRIBUTES, attributes=TYPES, kind="selector"),
        {"sklearn.compose": "make_column_selector"},
    ),
    (Row("create", kind="namedtuple"), {"sklearn.impute._iterative": "_ImputerTriplet"}),
    (Row("call", arguments=TENSORS, takes_state=_take_c_state, kind="tree"), {"sklearn.tree._tree": "Tree"}),
    (Row("call", kind="loss"), _CALLED),
    *(
        (Row("call", arguments=ClassOf(module), takes_state=_take_c_state, kind=kind), names)
        for kind, module, names in _MADE_OF_CLASSES
    ),
    (Row("value", takes_state=_take_c_state), _CLASSES_IN_C),
    # Beside code: own `__setstate__` of scikit-learn only takes up attributes.
    (Row(uses="fills itself by its own"), {"sklearn": "*", "sklearn.": "*"}),
    *checked((*c_state.CHECKS, *relation_rows.CHECKS)),
)


LIBRARY: Final = Library("sklearn", "scikit-learn", rows=ROWS)
