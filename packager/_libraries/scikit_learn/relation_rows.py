"""Rows of scikit-learn: what the attributes of an estimator that was fitted have to do with each other.

Each row was found by `fixtures/families/poison.py`: without it code in C reads or writes outside of an array,
or a number that stands in no array asks for more memory or time than there is.
"""

from __future__ import annotations

from math import comb
from typing import Any, Final

from packager._archive import MAX_STORED_THREADS
from packager._codecs import attributes_of, require_int
from packager._libraries.relations import WORDS, RelationCheck, extents_of

from .c_state import require_features, require_first_predictions, tree_of

# Where an estimator holds the one that decides; the others where it says nothing of classes itself.
_FINAL: Final = ("steps", "best_estimator_", "final_estimator_", "label_binarizer_", "_label_binarizer")
_HELD: Final = ("estimator_", "estimator")
_MOST_NESTED: Final = 20
_MOST_FACTORS: Final = 256
_LARGEST: Final = 1 << 22  # sizes that stand in no array: names of as many columns fit into half a gigabyte
_MOST_PROCESSES: Final = 64  # which joblib starts all at once, each with a Python of its own
_ROWS_SEEN: Final = 1 << 26  # rows of training data, of which a bagged model that is shown draws numbers

_ROWS: Final = {
    "sklearn.base:BaseEstimator": """
        if n_features_in_ is not None:
            n_features_in_ in range(largest())
        if _n_features_out is not None:
            _n_features_out in range(largest())
        if _n_samples is not None:
            _n_samples in range(most_rows())
        if _max_samples is not None:
            _max_samples in range(most_rows())
        # Of support vector machines; in a part of the rows that a bagged one saw, a class may be missing.
        if _n_support is not None:
            if classes_ is not None:
                len(_n_support) <= len(classes_)
    """,
    "sklearn.base:ClassifierMixin": """
        if n_classes_ is not None:
            if classes_ is not None:
                n_classes_ == lens(members(classes_))
            else:
                n_classes_ in range(largest())
    """,
    "sklearn.cluster._birch:Birch": """
        if subcluster_centers_:
            subcluster_centers_: f[_, _]
            _subcluster_norms: f[len(subcluster_centers_)]
    """,
    "sklearn.cluster._kmeans:_BaseKMeans": """
        if cluster_centers_:
            cluster_centers_: f[_, n_features_in_]
            len(cluster_centers_) > 0
            _n_threads in range(1, most_threads() + 1)
    """,
    "sklearn.covariance._empirical_covariance:EmpiricalCovariance": """
        precision_: f[n_features_in_, n_features_in_] | None
    """,
    "sklearn.decomposition._dict_learning:SparseCoder": """
        if n_components_ is not None:
            n_components_ in range(largest())
    """,
    # These start processes where they are used, and not only where they are fitted.
    **dict.fromkeys(
        (
            "sklearn.compose._column_transformer:ColumnTransformer",
            "sklearn.decomposition._dict_learning:_BaseSparseCoding",
            "sklearn.decomposition._lda:LatentDirichletAllocation",
            "sklearn.multioutput:_MultiOutputEstimator",
            "sklearn.pipeline:FeatureUnion",
        ),
        """
        if n_jobs is not None:
            n_jobs <= most_processes()
        """,
    ),
    "sklearn.decomposition._nmf:MiniBatchNMF": """
        if components_:
            _n_components == len(components_)
    """,
    "sklearn.dummy:DummyRegressor": """
        if n_outputs_:
            n_outputs_ == width(constant_)
    """,
    "sklearn.isotonic:IsotonicRegression": """
        if X_thresholds_:
            X_thresholds_: f[_]
            len(X_thresholds_) > 0
        if y_thresholds_:
            y_thresholds_: f[len(X_thresholds_)]
            is_text(out_of_bounds)
    """,
    "sklearn.preprocessing._polynomial:SplineTransformer": """
        if n_features_out_:
            n_features_out_ in range(largest())
    """,
    "sklearn.preprocessing._polynomial:PolynomialFeatures": """
        if _n_out_full:
            _n_out_full == products(n_features_in_, 0, _max_degree, interaction_only, include_bias)
            n_output_features_ == products(
                n_features_in_, _min_degree, _max_degree, interaction_only, include_bias
            )
            _n_out_full in range(most_rows())
    """,
    "sklearn.tree._classes:BaseDecisionTree": """
        if tree_:
            fits_tree(self, n_features_in_)
            n_outputs_ == tree_outputs(self)
    """,
    # Each tree is handed the input of the forest as it is.
    "sklearn.ensemble._forest:BaseForest": """
        if estimators_:
            for tree in estimators_:
                fits_tree(tree, n_features_in_)
                n_outputs_ == tree_outputs(tree)
        if _n_samples_bootstrap is not None:
            _n_samples_bootstrap in range(most_rows())
    """,
    "sklearn.ensemble._iforest:IsolationForest": """
        if estimators_:
            _max_features in range(1, n_features_in_ + 1)
            for tree, estimators_features_ in zip(estimators_, estimators_features_):
                fits_tree(tree, _max_features)
                estimators_features_: iu[_max_features]
                estimators_features_ in range(n_features_in_)
    """,
    # A table of trees as wide as the table that predictions are added to.
    "sklearn.ensemble._gb:BaseGradientBoosting": """
        if estimators_:
            estimators_: O[_, _]
            len(estimators_) > 0
            n_trees_per_iteration_ == width(estimators_)
            for tree in estimators_:
                fits_tree(tree, n_features_in_)
                tree_outputs(tree) == 1
            starts(init_, width(estimators_))
            width(estimators_) == outputs(self)
    """,
    "sklearn.cluster._agglomerative:AgglomerativeClustering": """
        if labels_:
            labels_ in range(n_clusters_)
            n_clusters_ <= len(labels_)
    """,
    "sklearn.feature_extraction.text:CountVectorizer": """
        if vocabulary_:
            vocabulary_ in range(len(vocabulary_))
    """,
    "sklearn.feature_extraction._dict_vectorizer:DictVectorizer": """
        if vocabulary_:
            vocabulary_ in range(len(vocabulary_))
    """,
    "sklearn.preprocessing._label:MultiLabelBinarizer": """
        if classes_:
            distinct(classes_)
            if _cached_dict is not None:
                _cached_dict in range(len(classes_))
    """,
    "sklearn.neighbors._classification:KNeighborsClassifier": """
        if _y:
            for labels, names in zip(columns(_y), members(classes_)):
                labels in range(len(names))
    """,
    "sklearn.neighbors._classification:RadiusNeighborsClassifier": """
        if _y:
            for labels, names in zip(columns(_y), members(classes_)):
                labels in range(len(names))
    """,
    "sklearn.preprocessing._encoders:OneHotEncoder": """
        if _n_features_outs:
            len(_n_features_outs) == len(categories_)
            for names in categories_:
                grows(names)
            if true(_infrequent_enabled):
                lens(_infrequent_indices) - 1 == (
                    lens(categories_) - given(_drop_idx_after_grouping) - _n_features_outs
                )
                given(_default_to_infrequent_mappings) == given(_infrequent_indices)
                for places, names, few in zip(
                    _default_to_infrequent_mappings, categories_, _infrequent_indices
                ):
                    if places is not None:
                        places in range(len(names) + 1 - len(few))
            else:
                _n_features_outs == lens(categories_) - given(_drop_idx_after_grouping)
            if _drop_idx_after_grouping is not None:
                for place, count in zip(each(_drop_idx_after_grouping), _n_features_outs):
                    if place is not None:
                        place in range(count + 1)
    """,
    # One column each: their rows become the rows of one matrix.
    "sklearn.multiclass:OneVsRestClassifier": """
        if estimators_:
            for one in estimators_:
                outputs(one) == 1
    """,
    "sklearn.multiclass:_ConstantPredictor": """
        if y_:
            len(y_) == 1
    """,
    # So many columns as classes, wherever that is asked: by the row above, and by what stands in between.
    "sklearn.linear_model._base:LinearClassifierMixin": """
        if coef_:
            rows(intercept_) == 1
            width(intercept_) <= rows(coef_)
    """,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting:BaseHistGradientBoosting": """
        if n_trees_per_iteration_:
            n_trees_per_iteration_ == outputs(self)
    """,
    "sklearn.ensemble._bagging:BaseBagging": """
        if n_jobs is not None:
            n_jobs <= most_processes()
        if estimators_:
            _max_features in range(1, n_features_in_ + 1)
    """,
    "sklearn.ensemble._bagging:BaggingClassifier": """
        if estimators_:
            for one in estimators_:
                outputs(one) <= outputs(self)
    """,
    "sklearn.semi_supervised._self_training:SelfTrainingClassifier": """
        if estimator_:
            outputs(estimator_) == outputs(self)
    """,
}


def _outputs(value: Any, what: str) -> int:
    """Return how many columns the decision of a classifier has, as far as it can be seen; else one.

    What wraps another one answers as that does.
    """
    import numpy

    for _ in range(_MOST_NESTED):
        held = attributes_of(value)
        inner = next((held[name] for name in _FINAL if held.get(name) is not None), None)
        if inner is None and held.get("coef_") is not None:
            shape = extents_of(held["coef_"], f"coef_ of {what}")
            return shape[0] if len(shape) == 2 else 1
        classes = held.get("classes_")
        if inner is None and type(classes) is numpy.ndarray and classes.ndim == 1:
            return 1 if len(classes) == 2 else len(classes)
        if inner is None:
            inner = next((held[name] for name in _HELD if held.get(name) is not None), None)
        if type(inner) is list and inner and type(inner[-1]) is tuple and len(inner[-1]) == 2:
            inner = inner[-1][1]
        if inner is None:
            return 1
        value = inner
    raise ValueError(f"{what} is nested deeper than {_MOST_NESTED}")


def _products(columns: Any, least: Any, most: Any, distinct: Any, constant: Any, what: str) -> int:
    """Return how many products there are of so many columns and factors, of each but once if `distinct`."""
    count = require_int(columns, what, 0, _LARGEST)
    factors = range(
        max(1, require_int(least, what, 0, _MOST_FACTORS)), require_int(most, what, 0, _MOST_FACTORS) + 1
    )
    more = 0 if WORDS["true"](distinct, what) else 1
    return sum(comb(count + more * (many - 1), many) for many in factors) + int(WORDS["true"](constant, what))


_WORDS: Final = {
    **WORDS,
    "largest": lambda what: _LARGEST,
    "most_rows": lambda what: _ROWS_SEEN,
    "most_threads": lambda what: MAX_STORED_THREADS,
    "most_processes": lambda what: _MOST_PROCESSES,
    "outputs": _outputs,
    "products": _products,
    "fits_tree": lambda tree, features, what: require_features(tree, features),
    "tree_outputs": lambda tree, what: tree_of(tree).n_outputs,
    "starts": lambda init, width, what: require_first_predictions(init, width),
}


CHECKS: Final = tuple(RelationCheck(name, rows, _WORDS) for name, rows in _ROWS.items())
