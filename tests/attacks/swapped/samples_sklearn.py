"""Honest objects of scikit-learn.

Every estimator that it lists, fitted in several ways on several kinds of data.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection, Iterator
from random import Random
from typing import Any

import numpy as np

Sample = tuple[str, Any, dict[str, Any]]
"""A name, an object, and arguments that its methods may be called with."""


def data() -> dict[str, Any]:
    """Return small data of several kinds."""
    import scipy.sparse

    rng = np.random.default_rng(0)
    table = rng.normal(size=(24, 4))
    words = ["red green", "blue red", "green green tea", "tea for two"] * 6
    return {
        "X": table,
        "positive": np.abs(table) + 0.1,
        "sparse": scipy.sparse.csr_matrix(np.round(np.abs(table))),
        "column": table[:, 0],
        "pair": table[:, :2],
        "square": table[:4] @ table[:4].T,
        "words": words,
        "texts": np.array([["a", "b"], ["b", "c"], ["c", "a"], ["a", "c"]] * 6, object),
        "dicts": [{"a": 1.0, "b": "x"}, {"b": "y", "c": 2.0}] * 12,
        "labels": np.array(["no", "yes", "perhaps"] * 8),
        "two": np.arange(24) % 2,
        "y": table[:, 0] * 2 + 1,
        "counts": np.arange(24) % 5,
        "several": np.stack([np.arange(24) % 2, np.arange(24) % 3], 1),
        "sets": [["a", "b"], ["c"], ["a"]] * 8,
        "matrix": np.stack([table[:, 0], table[:, 1]], 1),
    }


def _options(estimator: type, rng: Random) -> dict[str, Any]:
    """Return parameters that the class itself says are valid."""
    chosen = {}
    for name, constraints in getattr(estimator, "_parameter_constraints", {}).items():
        if (
            name not in inspect.signature(estimator).parameters
            or rng.random() < 0.6
            or name in ("n_jobs", "memory")
        ):
            continue
        options: list[Any] = []
        for constraint in constraints if isinstance(constraints, list) else []:
            kind = type(constraint).__name__
            if kind in ("StrOptions", "Options"):
                options += (
                    sorted(map(str, constraint.options)) if kind == "StrOptions" else list(constraint.options)
                )
            elif constraint == "boolean":
                options += [True, False]
            elif kind == "Interval" and constraint.left is not None:
                whole = constraint.type.__name__ == "Integral"
                options.append(
                    constraint.left + 1 if whole else min(constraint.left + 0.3, constraint.right or 9)
                )
            elif constraint is None:
                options.append(None)
        if options:
            chosen[name] = rng.choice(options)
    for name in ("n_estimators", "max_iter", "n_init"):
        if name in inspect.signature(estimator).parameters:
            chosen[name] = 3 if name != "n_init" else 1
    return chosen


def _made(estimator: type) -> Iterator[Any]:
    """Yield instances as the library's own tests make them, else one without arguments."""
    try:
        from sklearn.utils._test_common.instance_generator import _construct_instances

        yield from _construct_instances(estimator)
    except Exception:
        try:
            yield estimator()
        except TypeError:
            return


_WAYS = [
    ("X", "two"), ("X", "labels"), ("X", "y"), ("positive", "counts"), ("sparse", "two"), ("X", "several"),
    ("words", "two"), ("texts", "two"), ("dicts", "two"), ("sets", None), ("labels", None), ("column", "y"),
    ("X", "matrix"), ("square", None), ("X", None),
]  # fmt: skip


def fitted(instance: Any, given: dict[str, Any], rng: Random, most: int) -> Iterator[Sample]:
    """Yield copies of an estimator, fitted on what it takes of the data, with what it may be asked about."""
    from sklearn.base import clone

    ways = rng.sample(_WAYS, len(_WAYS))
    for data_name, target_name in ways:
        if most <= 0:
            return
        try:
            model = clone(instance)
            table = given[data_name]
            if rng.random() < 0.15 and data_name == "X":
                import pandas

                table = pandas.DataFrame(table, columns=list("abcd"))
            model.fit(table) if target_name is None else model.fit(table, given[target_name])
        except Exception:
            continue
        most -= 1
        yield f"{data_name}-{target_name}", model, _asked_with(model, table, given.get(target_name))


def _asked_with(model: Any, table: Any, target: Any) -> dict[str, Any]:
    """Return the data of a fit, and what an estimator makes of it; of anything else, libraries ask less."""
    arguments = {"X": table}
    if target is not None:
        arguments["y"] = target
    for name in ("transform", "predict"):
        try:
            arguments[name] = getattr(model, name)(table)
        except Exception:
            continue
    return arguments


FEW = """CountVectorizer TfidfVectorizer DictVectorizer FeatureHasher OneHotEncoder OrdinalEncoder
KBinsDiscretizer MultiLabelBinarizer LabelEncoder StandardScaler PCA KMeans LogisticRegression
SVC NearestNeighbors KNeighborsClassifier DecisionTreeClassifier RandomForestRegressor
HistGradientBoostingClassifier GaussianProcessRegressor SimpleImputer FunctionTransformer
OneVsRestClassifier SelectKBest""".split()


def few(rng: Random, variants: int) -> Iterator[Sample]:
    """Yield some estimators, once each, in a few seconds."""
    return (sample for sample in samples(rng, 0, FEW) if sample[0].split()[0] in FEW)


def composed() -> Iterator[Any]:
    """Yield estimators that hold others."""
    from sklearn import (
        compose,
        decomposition,
        ensemble,
        feature_extraction,
        feature_selection,
        impute,
        linear_model,
        model_selection,
        neighbors,
        pipeline,
        preprocessing,
        svm,
        tree,
    )

    logistic = linear_model.LogisticRegression(max_iter=5)
    yield pipeline.make_pipeline(preprocessing.StandardScaler(), logistic)
    yield pipeline.make_pipeline(feature_extraction.text.TfidfVectorizer(ngram_range=(1, 2)), logistic)
    yield pipeline.make_pipeline(feature_extraction.text.CountVectorizer(), decomposition.TruncatedSVD(2))
    yield pipeline.make_union(decomposition.PCA(2), feature_selection.SelectKBest(k=1))
    yield pipeline.make_pipeline(
        preprocessing.OneHotEncoder(handle_unknown="ignore"), tree.DecisionTreeClassifier()
    )
    yield pipeline.make_pipeline(
        preprocessing.OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist")
    )
    yield compose.make_column_transformer((preprocessing.StandardScaler(), [0, 1]), remainder="passthrough")
    yield model_selection.GridSearchCV(logistic, {"C": [0.1, 1]}, cv=2)
    yield ensemble.VotingClassifier([("a", logistic), ("b", tree.DecisionTreeClassifier(max_depth=2))])
    yield ensemble.StackingRegressor(
        [("a", linear_model.Ridge()), ("b", neighbors.KNeighborsRegressor(2))], cv=2
    )
    yield preprocessing.FunctionTransformer(np.log1p, inverse_func=np.expm1, check_inverse=False)
    yield pipeline.make_pipeline(impute.SimpleImputer(add_indicator=True), svm.SVC(probability=False))
    for algorithm in ("ball_tree", "kd_tree", "brute"):
        yield neighbors.KNeighborsClassifier(2, algorithm=algorithm)
    for kernel in ("linear", "poly", "rbf"):
        yield svm.SVC(kernel=kernel)


def parts() -> Iterator[tuple[str, Any]]:
    """Yield what estimators are made of, alone."""
    from sklearn import metrics
    from sklearn.gaussian_process import kernels

    given = data()
    yield "kernel", kernels.RBF(1.0) + kernels.WhiteKernel() * kernels.ConstantKernel(2.0)
    yield "scorer", metrics.make_scorer(metrics.accuracy_score)
    yield "scorer", metrics.get_scorer("r2")
    from sklearn.neighbors import BallTree, KDTree

    yield "tree", KDTree(given["X"])
    yield "tree", BallTree(given["X"], metric="manhattan")
    from sklearn.utils import Bunch

    yield "Bunch", Bunch(data=given["X"], target=given["two"])


def samples(rng: Random, variants: int, names: Collection[str] = ()) -> Iterator[Sample]:
    """Yield every estimator, or some, once and `variants` times more with other parameters and data."""
    from sklearn.utils import all_estimators

    warnings.simplefilter("ignore")
    given = data()
    arguments = {"X": given["X"], "y": given["y"]}
    for name, estimator in all_estimators():
        if names and name not in names:
            continue
        for instance in list(_made(estimator))[: variants + 1]:
            for way, model, asked in fitted(instance, given, rng, 1):
                yield f"{name} {way}", model, asked
        for _ in range(variants * 3):
            try:
                instance = estimator(**_options(estimator, rng))
            except Exception:
                continue
            for way, model, asked in fitted(instance, given, rng, 1):
                yield f"{name} {way}", model, asked
    for instance in composed():
        for way, model, asked in fitted(instance, given, rng, variants):
            yield f"{type(instance).__name__} {way}", model, asked
    for name, part in parts():
        yield name, part, arguments
