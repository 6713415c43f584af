"""Objects of scikit-learn that no fit could have made: each is refused at the audit; its twin loads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MultiLabelBinarizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import SVC

from packager._audit import TrustContext, UntrustedNamesError, audit
from packager._objects import Kind as K
from packager.testing import round_trip
from tests.attacks import object_forger as forge
from tests.attacks.c_state import X, Y, changed
from tests.tables import one_test

DOCS = ["plum and fig", "fig and pear", "pear and plum"]
LINE = LogisticRegression().fit(X, Y)

Case = tuple[Callable[[], Any], dict[str, Any], str]

HOSTILE: dict[str, Case] = {
    # What an object opens, shows, looks up or starts.
    "files to read": (
        lambda: CountVectorizer().fit(DOCS),
        {"input": "filename"},
        "input of CountVectorizer is 'filename', expected one of",
    ),
    "opened files to read": (
        lambda: TfidfVectorizer().fit(DOCS),
        {"input": "file"},
        "input of TfidfVectorizer is",
    ),
    "texts of any encoding": (
        lambda: HashingVectorizer(),
        {"encoding": "unicode_escape"},
        "encoding of HashingVectorizer is 'unicode_escape'",
    ),
    "a script of a page": (
        lambda: LINE,
        {"__doc_link_template": "javascript:alert(1)"},
        "__doc_link_template of LogisticRegression, which makes links of a page",
    ),
    "a module of a link": (
        lambda: LINE,
        {"_doc_link_module": "x"},
        "_doc_link_module of LogisticRegression, which",
    ),
    "a page itself": (
        lambda: LINE,
        {"_repr_html_inner": "<b>"},
        "_repr_html_inner of LogisticRegression is no",
    ),
    "a folder": (
        lambda: make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
        {"memory": "/tmp/kept"},
        "memory of Pipeline is '/tmp/kept', expected one of",
    ),
    "threads without end": (
        lambda: RandomForestClassifier(2, n_jobs=2).fit(X, Y),
        {"n_jobs": 1 << 20},
        "n_jobs of RandomForestClassifier is 1048576, expected -1024 to 1024",
    ),
    "a kernel that is none": (
        lambda: SVC().fit(X, Y),
        {"kernel": "eval"},
        "kernel of SVC is 'eval', an unexpected text",
    ),
    "a method of its own": (
        lambda: FunctionTransformer(np.log1p),
        {"func": "eval"},
        "func of FunctionTransformer has an unexpected type",
    ),
    # Parameters out of what the library declares.
    "a hasher without features": (
        lambda: FeatureHasher(n_features=8),
        {"n_features": 0},
        "n_features of FeatureHasher is 0, expected 1 to",
    ),
    "a hasher below zero": (
        lambda: HashingVectorizer(n_features=8),
        {"n_features": -1},
        "n_features of HashingVectorizer is -1, expected 1 to",
    ),
    "a hasher of NumPy's zero": (
        lambda: FeatureHasher(n_features=8),
        {"n_features": np.int64(0)},
        "n_features of FeatureHasher is 0",
    ),
    "no number": (
        lambda: FeatureHasher(n_features=8),
        {"n_features": float("nan")},
        "n_features of FeatureHasher is nan, expected",
    ),
    # Kinds that no fit gives.
    "a table of lists": (
        lambda: CountVectorizer().fit(DOCS),
        {"vocabulary_": {"fig": [0]}},
        "vocabulary_ of CountVectorizer has an unexpected type .dict of list of number.",
    ),
    "a table of texts": (
        lambda: CountVectorizer().fit(DOCS),
        {"vocabulary_": {"fig": "0"}},
        "vocabulary_ of CountVectorizer has an unexpected type",
    ),
    "classes that are a namespace": (
        lambda: LINE,
        {"classes_": SimpleNamespace(shape=(2,))},
        "classes_ of LogisticRegression has an unexpected type .types:SimpleNamespace.",
    ),
    "features that are an estimator": (
        lambda: LINE,
        {"n_features_in_": LogisticRegression()},
        "n_features_in_ of LogisticRegression has an unexpected type .estimator.",
    ),
    "centres that are a dict": (
        lambda: KMeans(2, n_init=1).fit(X),
        {"cluster_centers_": {"shape": (2, 5)}},
        "cluster_centers_ of KMeans has an unexpected type",
    ),
    "mappings that are texts": (
        lambda: OneHotEncoder(max_categories=2).fit([["a"], ["b"], ["c"]]),
        {"_default_to_infrequent_mappings": ["abc"]},
        "_default_to_infrequent_mappings of OneHotEncoder has an unexpected type",
    ),
    "edges that are objects": (
        lambda: KBinsDiscretizer(2, strategy="uniform").fit(X),
        {"bin_edges_": SimpleNamespace()},
        "bin_edges_ of KBinsDiscretizer has an unexpected type",
    ),
    "what never ends": (
        lambda: KBinsDiscretizer(2, strategy="uniform").fit(X),
        {"encode": itertools.count()},
        "encode of KBinsDiscretizer has an unexpected type .itertools.",
    ),
    "an estimator that is a function": (
        lambda: OneVsRestClassifier(LogisticRegression()).fit(X, Y),
        {"estimators_": [np.exp]},
        "estimators_ of OneVsRestClassifier has an unexpected type .list of numpy function.",
    ),
    # Names that the source of the class does not assign.
    "an attribute of another class": (
        lambda: LINE,
        {"stack_method_": ["predict"]},
        "stack_method_ of LogisticRegression is not an attribute of the class; delete it before saving",
    ),
    "constraints of its own": (
        lambda: LINE,
        {"_parameter_constraints": {}},
        "_parameter_constraints of LogisticRegression is not an attribute",
    ),
    "a list inside": (
        lambda: MultiLabelBinarizer().fit([["a"], ["b"]]),
        {"_cached_dict": {"a": SimpleNamespace()}},
        "_cached_dict of MultiLabelBinarizer has an unexpected type",
    ),
}


@one_test
@pytest.mark.parametrize(("make", "other", "message"), HOSTILE.values(), ids=HOSTILE)
def test_what_no_fit_gives_is_refused_and_its_twin_loads(
    make: Callable[[], Any], other: dict[str, Any], message: str
) -> None:
    honest = make()
    assert round_trip(honest).is_stable
    with pytest.raises(UntrustedNamesError, match=message):
        round_trip(changed(honest, **other))


@one_test
@pytest.mark.parametrize(("make", "other", "message"), HOSTILE.values(), ids=HOSTILE)
def test_one_line_of_trust_takes_it(make: Callable[[], Any], other: dict[str, Any], message: str) -> None:
    hostile = changed(make(), **other)
    with pytest.raises(UntrustedNamesError) as caught:
        round_trip(hostile)
    (form,) = caught.value.forms
    assert form.trust.endswith(f":{type(hostile).__name__}")
    assert f"trust=({form.trust!r},)" in str(caught.value)


def test_it_is_found_below_other_estimators() -> None:
    inner = changed(CountVectorizer().fit(DOCS), input="filename")
    made = changed(
        make_pipeline(CountVectorizer(), LogisticRegression()), steps=[("words", inner), ("line", LINE)]
    )
    with pytest.raises(UntrustedNamesError, match="input of CountVectorizer"):
        round_trip([{"model": made}])


def table(*records: list[Any]) -> bytes:
    """A table whose root is its second record, or the last of three."""
    return forge.table_of(
        list(records), root=-2 if len(records) > 3 or records[1][0] == K.NEW else -3
    ).records


NAME = [K.GLOBAL, "sklearn.feature_extraction.text", "CountVectorizer"]


@one_test
@pytest.mark.parametrize(
    "records",
    [
        pytest.param([NAME, [K.SHAPE, -1, None, "input"], [K.OBJ, -2, "file"]], id="attributes"),
        pytest.param([NAME, [K.NEW, -1], [K.FILL, -2, "input", "file"]], id="filled in"),
        pytest.param(
            [NAME, [K.NEW, -1], [K.PACKED_DICT, "input", "file"], [K.STATE, -2, -3]], id="a packed state"
        ),
        pytest.param([NAME, [K.NEW, -1], [K.DICT, "input", "file"], [K.STATE, -2, -3]], id="a state"),
        pytest.param(
            [NAME, [K.NEW, -1], [K.DICT], [K.UPDATE, -3, "input", "file"], [K.STATE, -2, -3]],
            id="a state that grows",
        ),
        pytest.param(
            [NAME, [K.NEW, -1], [K.PACKED_DICT], [K.STATE, -2, -3], [K.UPDATE, -3, "input", "file"]],
            id="and late",
        ),
    ],
)
def test_it_is_found_in_each_way_to_give_attributes(records: list[list[Any]]) -> None:
    with pytest.raises(UntrustedNamesError, match="input of CountVectorizer is 'file'"):
        audit(table(*records), TrustContext.data_only())


STACK = [K.GLOBAL, "sklearn.ensemble", "StackingClassifier"]


@one_test
@pytest.mark.parametrize(
    "records",
    [
        pytest.param([[K.LIST, "tofile"], [K.FILL, -2, "stack_method_", -3]], id="a list"),
        pytest.param([[K.PACKED_LIST, "tofile"], [K.FILL, -2, "stack_method_", -3]], id="a packed list"),
        pytest.param(
            [[K.LIST], [K.EXTEND, -3, "tofile"], [K.FILL, -2, "stack_method_", -3]], id="a list that grows"
        ),
        pytest.param([[K.LIST], [K.FILL, -2, "stack_method_", -3], [K.EXTEND, -3, "tofile"]], id="late"),
    ],
)
def test_names_of_methods_are_read_however_their_list_is_stored(records: list[list[Any]]) -> None:
    with pytest.raises(
        UntrustedNamesError, match="stack_method_ of StackingClassifier is 'tofile', an unexpected text"
    ):
        audit(table(STACK, [K.NEW, -1], *records), TrustContext.data_only())


@pytest.mark.parametrize(
    "held",
    [
        [K.LONG_LIST, ["text", "u1", bytes([6]), b"tofile", None, None]],
        [K.PACKED_LIST, *["predict"] * 600],
        [K.LIST, *["predict"] * 300],
    ],
    ids=["a run", "a long list", "many words"],
)
def test_names_of_methods_are_few(held: list[Any]) -> None:
    with pytest.raises(
        UntrustedNamesError, match="stack_method_ of StackingClassifier has an unexpected type"
    ):
        audit(table(STACK, [K.NEW, -1], held, [K.FILL, -2, "stack_method_", -3]), TrustContext.data_only())


def test_a_container_that_contains_itself_ends() -> None:
    records = table(NAME, [K.NEW, -1], [K.LIST], [K.EXTEND, -3, -3], [K.FILL, -2, "stop_words", -3])
    with pytest.raises(UntrustedNamesError, match="stop_words of CountVectorizer has an unexpected type"):
        audit(records, TrustContext.data_only())


@one_test
@pytest.mark.parametrize(
    "text", ["x" * 100, np.str_("x"), np.str_("x" * 100), "\ud800", np.str_("\ud800")], ids=ascii
)
def test_a_text_is_told_however_it_is_stored(text: Any) -> None:
    with pytest.raises(UntrustedNamesError, match=r"kernel of SVC is .*, an unexpected text"):
        round_trip(changed(SVC(), kernel=text))


@one_test
@pytest.mark.parametrize(
    "number", [0, np.int8(0), np.float16(0), False, -(1 << 70), 1 << 70, np.longdouble(0)], ids=repr
)
def test_a_number_is_told_however_it_is_stored(number: Any) -> None:
    with pytest.raises(UntrustedNamesError, match=r"n_features of FeatureHasher is .*, expected 1 to"):
        round_trip(changed(FeatureHasher(), n_features=number))


# --- what a look at them may cost ---

MANY = [K.PACKED_DICT, *(part for at in range(900) for part in (f"a{at}", at))]
NESTED = [[K.LIST, *["x"] * 3000], *([K.LIST, *[-3 - at] * 300] for at in range(9))]
CROWDED: dict[str, tuple[list[list[Any]], str]] = {
    "a list that contains itself often": (
        [[K.LIST], [K.EXTEND, -3, *[-3] * 3000], [K.FILL, -2, "stop_words", -3]],
        "stop_words of CountVectorizer has an unexpected type .list of nested too deep.",
    ),
    "lists in lists": (
        [*NESTED, [K.FILL, -2, "stop_words", -12]],
        "stop_words of CountVectorizer has an unexpected type .list of list of list",
    ),
    "many attributes": (
        [[K.DICT, *MANY[1:]], [K.UPDATE, -3, "more", 1, *["x", 2] * 900], [K.STATE, -2, -3]],
        "one of more than a thousand of CountVectorizer is not an attribute",
    ),
    "a state for many": (
        [MANY, *[[K.STATE, -2, -3]] * 3000],
        "and 90 more",
    ),
}


@one_test
@pytest.mark.parametrize(("records", "message"), CROWDED.values(), ids=CROWDED)
def test_it_is_looked_at_once(records: list[list[Any]], message: str) -> None:
    start = process_time()
    with pytest.raises(UntrustedNamesError, match=message):
        audit(table(NAME, [K.NEW, -1], *records), TrustContext.data_only())
    assert process_time() - start < 2
