"""Estimators that data alone may hold: what no composition of them makes run, and honest ones that load."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import StackingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from packager._audit import Row, TrustContext, UntrustedNamesError, audit, row_of
from packager._codecs import find_library
from packager._objects import ObjectBuildError, encode
from packager._objects.records import Kind as K
from packager.testing import round_trip
from tests.attacks import object_forger as forge
from tests.attacks.c_state import X, Y, changed
from tests.tables import one_test

LINE = LogisticRegression().fit(X, Y)


def _row(name: str) -> Row:
    module, _, qualname = name.partition(":")
    return row_of(module, qualname, find_library) or Row()


def loaded(obj: Any) -> Any:
    """An object out of data alone, without trust."""
    return round_trip(obj).object


def stacked(*methods: str) -> Any:
    made = StackingClassifier([("line", LogisticRegression())], cv=2).fit(X, Y)
    return changed(made, stack_method_=list(methods))


# --- what a class would call, or open, by a name out of data ---

NAMED: dict[str, tuple[Callable[[], Any], str]] = {
    "a file to write": (
        lambda: stacked("tofile"),
        "stack_method_ of StackingClassifier is 'tofile', an unexpected text",
    ),
    "a method that fits": (
        lambda: stacked("predict", "fit"),
        "stack_method_ of StackingClassifier is 'fit', an unexpected text",
    ),
    "no names": (
        lambda: changed(stacked(), stack_method_=[b"predict"]),
        "has an unexpected type .list of bytes.",
    ),
    "a chain": (
        lambda: changed(ClassifierChain(LogisticRegression()), chain_method_="set_params"),
        "chain_method_ of ClassifierChain is 'set_params', an unexpected text",
    ),
    "a scorer": (
        lambda: changed(make_scorer(f1_score), _response_method="__init__"),
        "_response_method of _Scorer is '__init__', an unexpected text",
    ),
    "a folder": (
        lambda: Pipeline([("line", LINE)], memory="/tmp/kept"),
        "memory of Pipeline is '/tmp/kept', expected one of",
    ),
    "thresholds that are none": (
        lambda: changed(IsotonicRegression().fit([0.0, 1, 2], [0.0, 1, 1]), X_thresholds_=["a", "b"]),
        "X_thresholds_ of IsotonicRegression has an unexpected type .list of text.",
    ),
    "fewer thresholds": (
        lambda: changed(IsotonicRegression().fit([0.0, 1, 2], [0.0, 1, 1]), y_thresholds_=np.zeros(1)),
        r"y_thresholds_ has shape \[1\], expected",
    ),
}


@one_test
@pytest.mark.parametrize(("make", "message"), NAMED.values(), ids=NAMED)
def test_what_an_estimator_would_call_by_a_name_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ObjectBuildError, UntrustedNamesError), match=message):
        loaded(make())


HONEST: dict[str, Callable[[], Any]] = {
    "stacking": lambda: StackingClassifier([("line", LogisticRegression())], cv=2).fit(X, Y),
    "a chain": lambda: ClassifierChain(LogisticRegression(), chain_method="predict_proba"),
    "a scorer": lambda: make_scorer(f1_score, response_method=("decision_function", "predict_proba")),
    "a pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
    "a function": lambda: FunctionTransformer(np.log1p, kw_args={"dtype": "float64"}),
    "thresholds": lambda: IsotonicRegression(out_of_bounds="clip").fit([0.0, 1, 2], [0.0, 1, 1]),
    "one threshold": lambda: IsotonicRegression(out_of_bounds="clip").fit([1.0], [2.0]),
}


@one_test
@pytest.mark.parametrize("make", HONEST.values(), ids=HONEST)
def test_its_honest_twin_loads(make: Callable[[], Any]) -> None:
    trip = round_trip(make())
    assert trip.is_stable
    assert trip.object.__class__ is make().__class__


def test_the_line_through_thresholds_answers_as_before() -> None:
    asked = np.array([-1.0, 0.3, 1.5, 9])
    for bounds in ("nan", "clip"):
        before = IsotonicRegression(out_of_bounds=bounds).fit([0.0, 1, 2], [0.0, 1, 1])
        assert np.array_equal(before.predict(asked), loaded(before).predict(asked), equal_nan=True)
    strict = loaded(IsotonicRegression(out_of_bounds="raise").fit([0.0, 1, 2], [0.0, 1, 1]))
    with pytest.raises(ValueError, match="below the interpolation range"):
        strict.predict(asked)


def test_a_place_for_results_may_be_named_by_whom_the_caller_trusts() -> None:
    trip = round_trip(Pipeline([("line", LINE)], memory="/tmp/kept"), trust=["sklearn.pipeline:Pipeline"])
    assert trip.object.memory == "/tmp/kept"


# --- functions that an estimator calls ---


@pytest.mark.parametrize(
    "function", ["os:system", "builtins:print", "numpy:load", "joblib:load", "subprocess:run"]
)
def test_a_function_that_is_not_listed_is_none_for_an_estimator(function: str) -> None:
    module, _, name = function.partition(":")
    records = forge.table_of(
        [
            [K.GLOBAL, "sklearn.preprocessing", "FunctionTransformer"],
            [K.GLOBAL, module, name],
            [K.SHAPE, -1, None, "func"],
            [K.OBJ, -3, -2],
        ]
    ).records
    with pytest.raises(UntrustedNamesError, match=function):
        audit(records, TrustContext.data_only())


def test_an_array_over_memory_is_no_function_of_an_estimator() -> None:
    hostile = FunctionTransformer(np.ndarray, kw_args={"dtype": object, "buffer": np.ones(8)})
    with pytest.raises(UntrustedNamesError, match="numpy:ndarray beside estimators, which would call it"):
        loaded(hostile)
    assert loaded([np.ndarray, LINE.coef_])[0] is np.ndarray  # no estimator is there


def test_a_bound_method_is_no_function_of_an_estimator() -> None:
    with pytest.raises(UntrustedNamesError, match=r"sklearn\.linear_model:LogisticRegression\.predict"):
        loaded(FunctionTransformer(LINE.predict))


# --- parts in C ---


def made_by(function: tuple[str, str], *operands: Any, state: Any = None) -> bytes:
    """A table in which a part in C is made by a call."""
    globals_ = [
        [K.GLOBAL, *function],
        [K.GLOBAL, "sklearn.svm", "SVC"],
        [K.GLOBAL, "sklearn.neighbors", "KDTree"],
    ]
    return forge.table_of([*globals_, [K.CALL, -1, *operands]]).records


NEW_TREE = ("sklearn.neighbors._kd_tree", "newObj")


@pytest.mark.parametrize("operands", [(), (-2,), (1,), (-3, 1), (-3, -3)], ids=str)
def test_a_part_in_c_is_made_of_its_own_class_alone(operands: Any) -> None:
    with pytest.raises(
        UntrustedNamesError, match=r"newObj with arguments other than a class of sklearn\.neighbors|SVC"
    ):
        audit(made_by(NEW_TREE, *operands), TrustContext.data_only())


def test_the_class_of_a_part_in_c_is_taken() -> None:
    audit(made_by(NEW_TREE, -3), TrustContext.data_only())


def test_a_part_in_c_without_a_state_is_refused() -> None:
    table = forge.table_of(
        [[K.GLOBAL, *NEW_TREE], [K.GLOBAL, "sklearn.neighbors", "KDTree"], [K.CALL, -1, -2]]
    )
    with pytest.raises(ObjectBuildError, match="leaf_size is 0"):
        forge.load(forge.archive_of(table, externs=("sklearn",)), trust=())


def test_a_tree_whose_children_lie_outside_is_refused_without_trust_as_well() -> None:
    made = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    encoded = encode(made)
    (nodes,) = [one for one in encoded.storages if one.buffer.nbytes == made.tree_.node_count * 64]
    raw = bytearray(nodes.buffer)
    raw[0:8] = (1 << 20).to_bytes(8, "little")
    import dataclasses

    storages = tuple(
        dataclasses.replace(one, buffer=memoryview(bytes(raw))) if one is nodes else one
        for one in encoded.storages
    )
    hostile = dataclasses.replace(encoded, storages=storages)
    with pytest.raises(
        ObjectBuildError, match=r"children has values|children stand|expected each but the root"
    ):
        forge.load(forge.archive_of(hostile, externs=("sklearn",)), trust=())


SPLINES: dict[str, tuple[dict[str, Any], str]] = {
    "fewer coefficients": ({"_c": np.zeros((2, 7))}, "c has 2 rows, expected 7"),
    "a high degree": ({"k": 9}, "t has 11 knots, expected at least 20"),
    "a degree below": ({"k": -1}, "k is -1"),
    "falling knots": ({"_t": np.arange(11.0)[::-1].copy()}, "t does not grow"),
    "no numbers": ({"_t": np.full(11, np.nan)}, "t does not grow"),
    "objects": ({"_c": np.full(7, None)}, "c has another dtype"),
    "no array": ({"_c": [1]}, "c is no array"),
}


@one_test
@pytest.mark.parametrize(("other", "message"), SPLINES.values(), ids=SPLINES)
def test_a_spline_that_does_not_fit_is_refused(other: dict[str, Any], message: str) -> None:
    made = SplineTransformer().fit(X)
    assert np.array_equal(loaded(made).transform(X), made.transform(X))
    spline = copy.deepcopy(made.bsplines_[0])
    # From SciPy 1.18 on the numbers lie in a part of it.
    vars(vars(spline).get("_delegate_to", spline)).update(other)
    made.bsplines_ = [spline, *made.bsplines_[1:]]
    with pytest.raises(ObjectBuildError, match=message):
        loaded(made)


def test_a_density_comes_back_with_its_tree_and_metric() -> None:
    made = KernelDensity(metric="manhattan").fit(X)
    assert np.array_equal(loaded(made).score_samples(X), made.score_samples(X))


# --- states ---


@one_test
@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([("kernel", 1)], "the state of SVC is of type list; expected a dict whose keys are names"),
        ({1: 2}, "the state of SVC is of type dict; expected a dict whose keys are names"),
        ({"predict": 1}, "predict of SVC is a"),
        ({"fit": 1}, "fit of SVC is a"),
        ({"__array__": 1}, "data may not set __array__"),
        ({"__doc__": "x"}, "data may not set __doc__"),
    ],
)
def test_an_estimator_takes_up_attributes_and_nothing_else(state: Any, message: str) -> None:
    take = _row("sklearn.svm:SVC").takes_state
    assert take is not None
    with pytest.raises(ValueError, match=message):
        take(object.__new__(SVC), state)


def test_the_version_of_the_library_is_no_attribute() -> None:
    take, made = _row("sklearn.svm:SVC").takes_state, object.__new__(SVC)
    assert take is not None
    take(made, {"C": 2.0, "_sklearn_version": "0.1"})
    assert vars(made) == {"C": 2.0}


def test_classes_that_are_not_listed_have_no_taker() -> None:
    assert _row("sklearn.svm:Other").takes_state is None
    assert not _row("sklearn.utils.parallel:Parallel").roles
    assert not _row("joblib:Memory").roles
