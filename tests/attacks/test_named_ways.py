"""The ways by which a library once ran, wrote, read or crashed on what an archive said: each by its name.

A row is an honest object, how it is used, what of it was changed, and what is said of that now. The honest
one comes back and works. Without its row each change passed: what an object opened, evaluated, looked up or
showed, and what code in C took for places, lengths and sizes.
"""

from __future__ import annotations

import base64
import copy
import importlib
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from packager._audit import UntrustedNamesError
from packager._objects import EncodedObject, ObjectBuildError
from packager.testing import round_trip
from tests.attacks import object_forger as forge
from tests.attacks.c_state import FAR, X, Y
from tests.tables import one_test

TEXTS = ["a cat sat on the mat", "the dog ran", "a dog and a cat"]
RECORDS = [{"cat": 1, "dog": 2}, {"dog": 3, "cow": 1}]
NAMES = np.array([["red", "a"]] * 9 + [["blue", "b"]] * 6 + [["grey", "c"]] + [["pink", "b"]], object)
SETS = [{"a", "b"}, {"c"}]
BOTH = np.c_[Y == 0, Y > 0].astype(int)
CHOSEN = "/tmp/chosen"
SCRIPT = "javascript:alert(1)"


def made(home: str, *args: Any, **options: Any) -> Any:
    """An object of a class, "module:Class"."""
    module, _, name = home.partition(":")
    return getattr(importlib.import_module(module), name)(*args, **options)


def learner(name: str, *args: Any, **options: Any) -> Any:
    return made(f"sklearn.{name}", *args, **options)


def boosted(home: str) -> Any:
    return made(home, n_estimators=2, n_jobs=1).fit(X, Y > 0)


def predict(one: Any) -> Any:
    return one.predict(X)


def transform(given: Any) -> Callable[[Any], Any]:
    return lambda one: one.transform(given)


def shown(one: Any) -> Any:
    return SCRIPT in one._repr_html_()


def ordinary_least_squares() -> Any:
    return made("statsmodels.api:OLS", X[:, 0], X[:, 1:]).fit()


def cox() -> Any:
    import pandas

    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "time": X[:, 2] + 1, "seen": Y > 0})
    return made("lifelines:CoxPHFitter", penalizer=0.1).fit(table, "time", "seen")


def words() -> Any:
    return made("transformers:CanineTokenizer")


def mapped(*units: int) -> Any:
    """A tokenizer with a map of characters: a trie of so many units, the others empty, and a text."""
    whole = [*units, *[0] * (256 - len(units))]
    data = struct.pack("<I256I", 1024, *whole) + b"a\0"
    text = json.loads(made("tokenizers:Tokenizer", made("tokenizers.models:BPE", {"a": 0}, [])).to_str())
    text["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}
    return importlib.import_module("tokenizers").Tokenizer.from_str(json.dumps(text))


def rewritten(honest: Any, other: Any) -> EncodedObject:
    """What is stored of an honest object, with the text of another one that would not be stored."""
    found = forge.encoded(honest)
    text = other.to_str().encode()
    assert len(text) == len(memoryview(found.storages[0].buffer))
    return replace(found, storages=(replace(found.storages[0], buffer=memoryview(text)),))


def imputer() -> Any:
    importlib.import_module("sklearn.experimental.enable_iterative_imputer")
    given = X.copy()
    given[0, 0] = np.nan
    return learner("impute:IterativeImputer", max_iter=2, random_state=0).fit(given)


def repr_of_names(one: Any) -> Any:
    return sorted(vars(one).items(), key=str)


def from_archive(found: EncodedObject) -> Any:
    return forge.load(forge.archive_of(found, externs=("tokenizers",)))


def wide_line() -> Any:
    return learner("multiclass:OneVsRestClassifier", learner("linear_model:LogisticRegression")).fit(X, BOTH)


def at(path: str, value: Any) -> Callable[[Any], Any]:
    """A copy of an object with one attribute changed, which lies below the names and numbers of a path."""

    def change(honest: Any) -> Any:
        top = held = copy.deepcopy(honest)
        *way, last = path.split(".")
        for step in way:
            held = held[int(step)] if step.isdigit() else getattr(held, step)
        if last.isdigit():
            held[int(last)] = value
        else:
            vars(held)[last] = value(vars(held)[last]) if callable(value) else value
        return top

    return change


def first(number: int) -> Callable[[Any], Any]:
    """The same array or table, with another number in its first place."""

    def move(value: Any) -> Any:
        if isinstance(value, dict):
            return {**value, next(iter(value)): number}
        other = value.copy()
        other.flat[0] = number
        return other

    return move


def shorter(value: Any) -> Any:
    return value[:2]


# What is needed, an honest object, how it is used, what is changed, and what is said.
Way = tuple[str, Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any], str]
WAYS: dict[str, Way] = {
    "a formula of statsmodels": (
        "statsmodels",
        ordinary_least_squares,
        lambda one: one.predict(X[:, 1:]),
        at("model.formula", "y ~ __import__('os').system('id')"),
        "was made from a formula, which is evaluated as Python",
    ),
    "where statsmodels looks for a formula": (
        "statsmodels",
        ordinary_least_squares,
        lambda one: one.predict(X[:, 1:]),
        at("model.data.model_spec", "x"),
        "was made from a formula",
    ),
    "a formula of lifelines": (
        "lifelines",
        cox,
        lambda one: one.summary,
        at("formula", "__import__('os').system('id')"),
        "was made from a formula",
    ),
    "labels of neighbours": (
        "sklearn",
        lambda: learner("neighbors:KNeighborsClassifier", algorithm="brute", metric="manhattan").fit(X, Y),
        predict,
        at("_y", first(FAR)),
        f"labels has values from 0 to {FAR}",
    ),
    "labels of neighbours in a radius": (
        "sklearn",
        lambda: learner("neighbors:RadiusNeighborsClassifier", 2.0, algorithm="brute").fit(X, Y),
        predict,
        at("_y", first(-1)),
        "labels has values from -1",
    ),
    "a vocabulary": (
        "sklearn",
        lambda: learner("feature_extraction.text:CountVectorizer").fit(TEXTS),
        transform(TEXTS),
        at("vocabulary_", first(-FAR)),
        f"vocabulary_ has values from -{FAR}",
    ),
    "a vocabulary with weights": (
        "sklearn",
        lambda: learner("feature_extraction.text:TfidfVectorizer").fit(TEXTS),
        transform(TEXTS),
        at("vocabulary_", first(FAR)),
        "vocabulary_ has values from",
    ),
    "a vocabulary of records": (
        "sklearn",
        lambda: learner("feature_extraction:DictVectorizer").fit(RECORDS),
        transform(RECORDS),
        at("vocabulary_", first(FAR)),
        "vocabulary_ has values from",
    ),
    "labels of sets": (
        "sklearn",
        lambda: learner("preprocessing:MultiLabelBinarizer").fit(SETS),
        transform(SETS),
        at("_cached_dict", {"a": FAR, "b": 1, "c": 2}),
        "_cached_dict has values from",
    ),
    "categories": (
        "sklearn",
        lambda: learner("preprocessing:OneHotEncoder").fit(NAMES),
        transform(NAMES),
        at("_n_features_outs", [-4, 11]),
        r"_n_features_outs is \[-4, 11\]",
    ),
    "places of rare categories": (
        "sklearn",
        lambda: learner("preprocessing:OneHotEncoder", min_frequency=3).fit(NAMES),
        transform(NAMES[:9]),
        at("_default_to_infrequent_mappings.0", np.array([FAR, 0, 0, 0])),
        "places has values from",
    ),
    "bins": (
        "sklearn",
        lambda: learner("preprocessing:KBinsDiscretizer", 4, strategy="uniform").fit(X),
        transform(X),
        at("_encoder._n_features_outs", [1, 4, 4, 4, 4]),
        r"_n_features_outs is \[",
    ),
    "leaves of trees": (
        "sklearn",
        lambda: learner("ensemble:RandomTreesEmbedding", 3, max_depth=3, random_state=0).fit(X),
        transform(X),
        at("one_hot_encoder_._n_features_outs", [1, 1, 1]),
        r"_n_features_outs is \[",
    ),
    "a wide intercept": (
        "sklearn",
        wide_line,
        predict,
        at("estimators_.0.intercept_", np.zeros(5)),
        "is 5, expected at most 1",
    ),
    "classes cut short": (
        "sklearn",
        lambda: learner("neighbors:KNeighborsClassifier", algorithm="brute").fit(X, Y),
        predict,
        at("classes_", shorter),
        "expected 0 to 1",
    ),
    "classes of vectors cut short": (
        "sklearn",
        lambda: learner("svm:SVC").fit(X, Y),
        predict,
        at("classes_", shorter),
        r"len._n_support. is 3, expected at most 2",
    ),
    "classes of trees cut short": (
        "sklearn",
        lambda: learner("ensemble:GradientBoostingClassifier", n_estimators=2).fit(X, Y),
        predict,
        at("classes_", shorter),
        "n_classes_ is 3, expected 2",
    ),
    "files that a tokenizer writes": (
        "transformers",
        words,
        lambda one: one.cls_token,
        at("vocab_files_names", {"vocab_file": CHOSEN}),
        "vocab_files_names belongs to the class CanineTokenizer",
    ),
    "a hasher without features": (
        "sklearn",
        lambda: learner("feature_extraction:FeatureHasher", n_features=8),
        transform(RECORDS),
        at("n_features", 0),
        "n_features of FeatureHasher is 0, expected 1 to .* .row of scikit-learn.",
    ),
    "a hasher of words without features": (
        "sklearn",
        lambda: learner("feature_extraction.text:HashingVectorizer", n_features=8),
        transform(TEXTS),
        at("n_features", 0),
        "n_features of HashingVectorizer is 0, expected 1",
    ),
    "threads of a forest": (
        "sklearn",
        lambda: learner("ensemble:RandomForestClassifier", 2, n_jobs=2).fit(X, Y),
        predict,
        at("n_jobs", 1 << 20),
        "n_jobs of RandomForestClassifier is 1048576, expected -1024 to 1024",
    ),
    "threads of LightGBM": (
        "lightgbm",
        lambda: boosted("lightgbm:LGBMClassifier"),
        predict,
        at("n_jobs", 100_000),
        "n_jobs of LGBMClassifier is 100000, expected -1024",
    ),
    "threads of XGBoost": (
        "xgboost",
        lambda: boosted("xgboost:XGBClassifier"),
        predict,
        at("n_jobs", 100_000),
        "n_jobs of XGBClassifier is 100000",
    ),
    "a script of a notebook": (
        "sklearn",
        lambda: learner("linear_model:LogisticRegression").fit(X, Y),
        shown,
        at("__doc_link_template", SCRIPT),
        "__doc_link_template of LogisticRegression, which makes links of a page",
    ),
    "a script of a notebook by another library": (
        "imblearn",
        lambda: made("imblearn.over_sampling:RandomOverSampler"),
        shown,
        at("__doc_link_template", SCRIPT),
        "__doc_link_template of RandomOverSampler is not an attribute of the class",
    ),
    "a name that no code of another library assigns": (
        "imblearn",
        lambda: made("imblearn.over_sampling:RandomOverSampler"),
        shown,
        at("anything", 1),
        "anything of RandomOverSampler is an attribute that its code never assigns",
    ),
    "a name that no code of a tokenizer assigns": (
        "transformers",
        words,
        lambda one: one.cls_token,
        at("anything", 1),
        "anything of CanineTokenizer is an attribute that its code never assigns",
    ),
    "processes for each column": (
        "sklearn",
        lambda: learner(
            "compose:make_column_transformer", (learner("preprocessing:StandardScaler"), [0])
        ).fit(X),
        transform(X),
        at("n_jobs", 65),
        "n_jobs is 65, expected at most 64",
    ),
    "processes of an encoder": (
        "category_encoders",
        lambda: made("category_encoders:HashingEncoder", cols=[0], max_process=1).fit(X),
        transform(X),
        at("max_process", 1000),
        "max_process is 1000, not an int from 0 to 64",
    ),
    "a pattern that takes without end": (
        "sklearn",
        lambda: learner("feature_extraction.text:CountVectorizer", token_pattern=r"[a-z]+(?:'s)?").fit(TEXTS),
        transform(TEXTS),
        at("token_pattern", r"(\w+)+$"),
        "token_pattern of CountVectorizer is .*, a pattern that may run without end",
    ),
    "what cuts the data anew": (
        "sklearn",
        lambda: learner("model_selection:RepeatedKFold", n_splits=2, n_repeats=2, random_state=0),
        lambda one: [len(test) for _, test in one.split(X)],
        at("cv", lambda old: np.exp),
        "cv of RepeatedKFold has an unexpected type .numpy function",
    ),
    "what chooses columns": (
        "sklearn",
        lambda: learner("compose:make_column_selector", "^a", dtype_include=[np.number, object]),
        repr_of_names,
        at("dtype_include", lambda old: learner("linear_model:LogisticRegression")),
        "in an object of sklearn.compose:make_column_selector .row of scikit-learn., which holds types",
    ),
    "what fills gaps": (
        "sklearn",
        imputer,
        transform(X),
        at("imputation_sequence_", [SimpleNamespace(feat_idx=FAR)]),
        "imputation_sequence_ of IterativeImputer has an unexpected type",
    ),
    "a trie that panics": (
        "tokenizers",
        lambda: mapped(),
        lambda one: one.normalizer.normalize_str("abc"),
        lambda honest: rewritten(honest, mapped(1 << 10 << 9)),
        "steps inside 256 units of a trie",
    ),
    "files to read": (
        "sklearn",
        lambda: learner("feature_extraction.text:CountVectorizer").fit(TEXTS),
        transform(TEXTS),
        at("input", "filename"),
        "input of CountVectorizer is 'filename', expected one of",
    ),
    "a folder of pickles": (
        "sklearn",
        lambda: made("sklearn.pipeline:make_pipeline", learner("preprocessing:StandardScaler")).fit(X),
        transform(X),
        at("memory", CHOSEN),
        "memory of Pipeline is '/tmp/chosen'",
    ),
}


@cache
def honest(name: str) -> Any:
    needed, make, *_ = WAYS[name]
    pytest.importorskip(needed)
    return make()


@one_test
@pytest.mark.parametrize("name", WAYS)
def test_the_honest_one_comes_back_and_works(name: str) -> None:
    before = honest(name)
    use = WAYS[name][2]
    loaded = round_trip(before).object
    assert type(loaded) is type(before)
    assert str(use(loaded)) == str(use(before))


@one_test
@pytest.mark.parametrize("name", WAYS)
def test_the_changed_one_is_refused(name: str) -> None:
    change, message = WAYS[name][3:]
    changed = change(honest(name))
    load = from_archive if isinstance(changed, EncodedObject) else round_trip
    with pytest.raises((UntrustedNamesError, ObjectBuildError), match=message):
        load(changed)
