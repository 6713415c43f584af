"""Every estimator of scikit-learn, fitted on small data; and what is put together of several."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import SparseCoder
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor, kernels
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.metrics.pairwise import linear_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators
from sklearn.utils._test_common.instance_generator import _construct_instances

RANDOM = np.random.default_rng(0)
X = RANDOM.random((40, 4))
CLASSES = (X[:, 0] > 0.5).astype(int)
NUMBERS = X.sum(1)
SEVERAL = np.c_[CLASSES, 1 - CLASSES, (X[:, 1] > 0.5).astype(int)]
TEXTS = ["the cat sat", "a dog ran by", "cat and dog", "they ran off"] * 10
MIXED = np.c_[X[:, :2].astype(object), np.array(TEXTS, object)]

_ROWS: dict[str, Any] = {
    "DictVectorizer": [{"a": 1, "b": "x"}, {"a": 2, "c": 3}],
    "FeatureHasher": [{"a": 1}, {"b": 2}],
    "MultiLabelBinarizer": [(1, 2), (3,)],
    "LabelBinarizer": CLASSES,
    "LabelEncoder": CLASSES,
    "IsotonicRegression": X[:, 0],
    "PatchExtractor": RANDOM.random((3, 8, 8)),
    **dict.fromkeys(("CountVectorizer", "TfidfVectorizer", "HashingVectorizer"), TEXTS),
}
_OF_SEVERAL = """
    MultiOutputRegressor RegressorChain MultiTaskElasticNet MultiTaskElasticNetCV MultiTaskLasso
    MultiTaskLassoCV CCA PLSCanonical PLSSVD PLSRegression
""".split()
_LABELS_ALONE = ("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer")
ASKED = ("predict", "transform", "predict_proba", "decision_function", "score_samples", "kneighbors")
RANDOM_ANSWERS = {("DummyClassifier", "predict"), ("DummyClassifier", "predict_proba")}
"""What draws anew whenever it is asked."""


class Fitted:
    """A fitted estimator, and rows that it is asked about."""

    def __init__(self, name: str, estimator: Any, rows: Any) -> None:
        self.name, self.estimator, self.rows = name, estimator, rows


def answers(name: str, estimator: Any, rows: Any) -> dict[str, list[Any]]:
    """Return what an estimator answers, as arrays, by the method that was asked."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in ASKED:
            if not hasattr(estimator, method) or (type(estimator).__name__, method) in RANDOM_ANSWERS:
                continue
            try:
                given = getattr(estimator, method)(rows)
            except (ValueError, TypeError, NotImplementedError):  # not of these rows; so it was before
                continue
            parts = given if isinstance(given, (tuple, list)) else [given]
            found[method] = [
                part.toarray() if hasattr(part, "toarray") else np.asarray(part) for part in parts
            ]
    return found


def estimators() -> list[tuple[str, type[BaseEstimator]]]:
    """Return those of scikit-learn by name, but for what is there only once a program has enabled it."""
    return [(name, cls) for name, cls in all_estimators() if name != "IterativeImputer"]


def _every() -> Iterator[Fitted]:
    for name, cls in estimators():
        if name in ("FrozenEstimator", "SparseCoder"):
            continue
        for number, estimator in enumerate(_construct_instances(cls)):
            yield _fit(f"{name}-{number}", estimator)
    line = LogisticRegression().fit(X, CLASSES)
    yield Fitted("FrozenEstimator-0", FrozenEstimator(line), X)
    yield Fitted("SparseCoder-0", SparseCoder(np.eye(4)).fit(X), X)


def _fit(label: str, estimator: BaseEstimator) -> Fitted:
    name = type(estimator).__name__
    tags = estimator.__sklearn_tags__()
    rows = _ROWS.get(name, X)
    if tags.input_tags.pairwise:
        rows = X @ X.T
    if "n_features" in estimator.get_params():  # of words, a million
        estimator.set_params(n_features=64)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    labels = CLASSES if tags.estimator_type != "regressor" else NUMBERS + 1
    if name in ("MultiOutputClassifier", "ClassifierChain"):
        labels = SEVERAL
    if name in _OF_SEVERAL:
        labels = np.c_[NUMBERS, NUMBERS**2]
    if name in _LABELS_ALONE:
        estimator.fit(rows)
    else:
        estimator.fit(rows, labels[: len(rows)])
    return Fitted(label, estimator, rows)


def _composed() -> Iterator[Fitted]:
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    members = [("line", LogisticRegression()), ("near", KNeighborsClassifier(3)), ("tree", tree)]
    words = ColumnTransformer(
        [("numbers", StandardScaler(), [0, 1]), ("words", TfidfVectorizer(token_pattern=r"\w+"), 2)]
    )
    yield Fitted("columns and text", make_pipeline(words, LogisticRegression()).fit(MIXED, CLASSES), MIXED)
    search = GridSearchCV(SVC(random_state=0), {"C": [0.1, 1.0]}, cv=StratifiedKFold(2), scoring="f1")
    yield Fitted("grid", search.fit(X, CLASSES), X)
    several = {"loss": make_scorer(mean_squared_error, greater_is_better=False), "fit": "r2"}
    search = GridSearchCV(KNeighborsRegressor(), {"p": [1, 2, 3]}, cv=2, scoring=several, refit="fit")
    yield Fitted("grid of scores", search.fit(X, NUMBERS), X)
    yield Fitted("isolation", IsolationForest(n_estimators=5, random_state=0).fit(X), X)
    holes = np.where(X > 0.9, np.nan, X)
    boosting = HistGradientBoostingClassifier(max_iter=3, categorical_features=[3])
    yield Fitted(
        "categories",
        boosting.fit(np.c_[holes[:, :3], X[:, 3] // 0.2], CLASSES),
        np.c_[holes[:, :3], X[:, 3] // 0.2],
    )
    yield Fitted(
        "three classes", GradientBoostingClassifier(n_estimators=3).fit(X, (X[:, 0] * 3).astype(int)), X
    )
    yield Fitted("poisson", HistGradientBoostingRegressor(loss="poisson", max_iter=3).fit(X, NUMBERS), X)
    kernel = 1.5 * kernels.RBF(0.5) + kernels.WhiteKernel() * kernels.Matern(nu=1.5) ** 2
    process = GaussianProcessRegressor(
        kernel + kernels.RationalQuadratic(), n_restarts_optimizer=1, random_state=0
    )
    yield Fitted("kernels", process.fit(X, NUMBERS), X)
    for options in (
        {"algorithm": "ball_tree", "metric": "minkowski", "p": 3},
        {"algorithm": "kd_tree", "metric": "chebyshev"},
        {"algorithm": "ball_tree", "metric": "haversine"},
        {"algorithm": "ball_tree", "metric": "mahalanobis", "metric_params": {"VI": np.eye(4)}},
    ):
        rows = X[:, :2] if options["metric"] == "haversine" else X
        yield Fitted(f"near by {options['metric']}", KNeighborsClassifier(**options).fit(rows, CLASSES), rows)
    for solver in ("adam", "sgd"):
        network = MLPClassifier((4,), max_iter=20, solver=solver, random_state=0, early_stopping=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield Fitted(f"network by {solver}", network.fit(X, CLASSES), X)
    for method in ("isotonic", "sigmoid"):
        yield Fitted(method, CalibratedClassifierCV(GaussianNB(), method=method, cv=2).fit(X, CLASSES), X)
    yield Fitted("voting", VotingClassifier(members, voting="soft").fit(X, CLASSES), X)
    yield Fitted("stacking", StackingClassifier(members, cv=2).fit(X, CLASSES), X)
    chosen = Pipeline(
        [("log", FunctionTransformer(np.log1p)), ("best", SelectKBest(f_classif, k=2)), *members[:1]]
    )
    yield Fitted("functions", chosen.fit(X, CLASSES), X)
    yield Fitted("kernel of ours", SVC(kernel="rbf", probability=False).fit(X, TEXTS), X)
    yield Fitted("kernel of a function", SVC(kernel=linear_kernel).fit(X, TEXTS), X)
    encoder = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearRegression())
    yield Fitted(
        "words as columns",
        encoder.fit(np.array(TEXTS, object)[:, None], NUMBERS),
        np.array(TEXTS, object)[:, None],
    )


@cache
def fitted() -> dict[str, Fitted]:
    """Return all of them by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {one.name: one for one in (*_every(), *_composed())}
