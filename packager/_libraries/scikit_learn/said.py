"""What is said of scikit-learn by hand: what its fits show is not thereby harmless."""

from __future__ import annotations

from typing import Final

from packager._archive import MAX_STORED_THREADS
from packager._libraries.learned.learned_rows import Said

_LINK: Final = "which makes links of a page, in a notebook; nothing but the library says them"
_MOST: Final = 2.0**31

SAID: Final = Said(
    groups={
        "BaseEstimator": "estimator",
        "Kernel": "kernel",
        "BaseLoss": "loss",
        "BaseLink": "loss",
        "_BaseScorer": "scorer",
        "_PassthroughScorer": "scorer",
        "_MultimetricScorer": "scorer",
        "BaseCrossValidator": "splitter",
        "BaseShuffleSplit": "splitter",
        "_RepeatedSplits": "splitter",
        "_CVIterableWrapper": "splitter",
    },
    refused=dict.fromkeys(
        "__doc_link_template _doc_link_template _doc_link_module _doc_link_url_param_generator".split(), _LINK
    ),
    fixed={
        "input": frozenset({"content"}),  # else texts are names of files, which it opens
        "memory": frozenset(),  # else a folder, which pickles are read from
    },
    # Texts that are kept, compared with data, or put beside it, and neither looked up nor opened.
    free=frozenset(
        """
        _sklearn_version fill_value missing_values outlier_label constant pos_label
        neg_label separator remainder refit owner threshold
        """.split()
    ),
    patterns=frozenset({"token_pattern"}),
    # What a parameter is that nobody gave, while its meaning changes.
    marks=frozenset({"deprecated", "warn"}),
    # Names of methods of other objects, which are looked up and called.
    worded=frozenset(
        "chain_method chain_method_ response_method _response_method stack_method stack_method_".split()
    ),
    assigned={
        "BaseSGDClassifier": frozenset({"classes_"}),
        "_BisectingTree": frozenset({"label"}),
        # One request for each method of an estimator; imbalanced-learn has one more for all.
        "MetadataRequest": frozenset(
            """
            fit partial_fit predict predict_proba predict_log_proba decision_function score split transform
            inverse_transform fit_transform fit_predict fit_resample
            """.split()
        ),
    },
    words={
        # Not all that Python knows: some of these import more, and take long.
        "encoding": frozenset(
            "ascii cp1252 iso-8859-1 latin-1 latin1 utf-16 utf-32 utf-8 utf-8-sig utf8 utf_8".split()
        ),
        "lr_schedule": frozenset({"adaptive", "constant", "invscaling"}),
        "_fit_algorithm": frozenset({"cd", "lars", "lasso_cd", "lasso_lars"}),
        "importance_getter": frozenset({"auto", "coef_", "feature_importances_"}),
    },
    limits={
        "n_jobs": (-MAX_STORED_THREADS, MAX_STORED_THREADS),
        "verbose": (-_MOST, _MOST),
        "random_state": (0, 2.0**32 - 1),
    },
)
