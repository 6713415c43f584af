"""Of which kind stored values are, read off their table."""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch

from packager._libraries.learned.kinds import Attribute, KindReader, name_kind, row_by_name
from packager._objects import encode
from packager._objects.checking import checked_table
from packager._objects.records import Kind as K
from tests.attacks import object_forger as forge
from tests.tables import one_test


def reader_of(encoded: Any) -> KindReader:
    storages = {one.name: (one.dtype, one.buffer.nbytes) for one in encoded.storages}
    table = checked_table(encoded.records, storages, None, "object")
    return KindReader(
        table,
        lambda name, role: name_kind(name, role, row_by_name(name)),
        {"more", "names", "n_jobs"},
    )


def kinds(obj: Any) -> set[str]:
    """The kinds of an object, as it is stored."""
    encoded = encode(obj)
    reader = reader_of(encoded)
    return set(reader.kinds(reader._table.root))


KINDS: dict[str, tuple[Any, set[str]]] = {
    "nothing": (None, {"none"}),
    "a bool": (True, {"number"}),
    "a number below zero": (-1, {"number"}),
    "a long number": (1 << 90, {"number"}),
    "a number of NumPy": (np.float32(2), {"number"}),
    "a bool of NumPy": (np.bool_(True), {"number"}),
    "a text": ("x" * 100, {"text"}),
    "a text of NumPy": (np.str_("x"), {"text"}),
    "bytes": (b"x", {"bytes"}),
    "numbers": (np.arange(3), {"array"}),
    "fields": (np.zeros(2, [("x", "f4"), ("n", "i8")]), {"array"}),
    "texts": (np.array(["a", "bc"]), {"labels"}),
    "objects": (np.array(["a", None, 3], object), {"labels"}),
    "dates": (np.array(["2026-01-01"], "M8[D]"), {"array of dates"}),
    "estimators in an array": (
        np.array([LogisticRegression(), None], object),
        {"array of estimator", "array of none"},
    ),
    "a masked array": (np.ma.array([1, 2], mask=[True, False]), {"masked array"}),
    "an empty list": ([], {"list"}),
    "a packed list": ([1, -2, "a"], {"list of number", "list of text"}),
    "a tuple is a list": (
        (1, (2.0, None)),
        {"list of number", "list of list of number", "list of list of none"},
    ),
    "steps": ([("a", LogisticRegression())], {"list of list of text", "list of list of estimator"}),
    "a long list": (list(range(5000)), {"list of number"}),
    "a long dict": ({str(key): key for key in range(5000)}, {"dict by text", "dict of number"}),
    "a set": ({1, 2}, {"set of number"}),
    "a dict": ({"a": np.ones(2), 3: []}, {"dict by text", "dict by number", "dict of array", "dict of list"}),
    "an empty dict": ({}, {"dict"}),
    "a bunch": (Bunch(one=1), {"dict by text", "dict of number"}),
    "a sparse matrix": (sp.csc_array(np.eye(2)), {"sparse"}),
    "another sparse matrix": (sp.lil_array(np.eye(2)), {"scipy.sparse:lil_array"}),
    "a class of numbers": (np.float64, {"dtype"}),
    "a dtype": (np.dtype("f4"), {"dtype"}),
    "a function of NumPy": (np.log1p, {"numpy function"}),
    "what reads memory": (np.ndarray, {"numpy:ndarray"}),
    "a function of the library": (f1_score, {"function"}),
    "a partial": (partial(f1_score, average="macro"), {"partial function"}),
    "a splitter": (KFold(3), {"splitter"}),
    "a tree": (DecisionTreeClassifier().fit([[0], [1]], [0, 1]).tree_, {"tree"}),
    "a generator": (np.random.RandomState(1), {"generator"}),
    "a slice": (slice(1, 2), {"slice"}),
    "an ordered dict": (OrderedDict(a=1), {"collections.mapping"}),
}


@one_test
@pytest.mark.parametrize(("value", "expected"), KINDS.values(), ids=KINDS)
def test_a_value_is_of_these_kinds(value: Any, expected: set[str]) -> None:
    assert kinds(value) == expected


def test_a_list_that_contains_itself_is_nested_too_deep() -> None:
    made: list[Any] = []
    made.append(made)
    assert all(kind.endswith("nested too deep") for kind in kinds(made))


def test_what_the_caller_vouches_for_is_of_no_kind() -> None:
    encoded = encode([LogisticRegression(), 1])
    reader = reader_of(encoded)
    trusting = KindReader(reader._table, lambda name, role: None)
    assert trusting.kinds(reader._table.root) == {"list of number"}


def test_attributes_have_their_numbers_texts_and_pairs() -> None:
    records = [
        [K.GLOBAL, "sklearn.svm", "SVC"],
        [K.NEW, -1],
        [K.INT, -3],
        [K.PACKED_DICT, "a", 1],
        [K.PACKED_LIST, "x", -2],
        [K.DICT, "tol", -3, "more", -4, "names", -5, "C", 2.5],
        [K.STATE, -2, -6],
    ]
    reader = reader_of(forge.table_of(records, root=-2))
    assert reader.attributes(records[-1]) == [
        Attribute("tol", frozenset({"number"}), (-3,), ()),
        Attribute("more", frozenset({"dict by text", "dict of number"}), (), (("a", 1),)),
        Attribute("names", frozenset({"list of text", "list of number"}), ("x", -2), ()),
        Attribute("C", frozenset({"number"}), (2.5,), ()),
    ]


@one_test
@pytest.mark.parametrize("state", [[K.PACKED_LIST, 1], [K.PACKED_DICT, 1, 2], [K.TUPLE, -2]], ids=str)
def test_a_state_that_is_no_dict_of_names_has_no_attributes(state: list[Any]) -> None:
    records = [[K.GLOBAL, "sklearn.svm", "SVC"], [K.NEW, -1], state, [K.STATE, -2, -3]]
    assert reader_of(forge.table_of(records, root=-2)).attributes(records[-1]) is None


def test_a_packed_state_may_have_numbers_below_zero() -> None:
    records = [
        [K.GLOBAL, "sklearn.svm", "SVC"],
        [K.NEW, -1],
        [K.PACKED_DICT, "n_jobs", -1],
        [K.STATE, -2, -3],
    ]
    (found,) = reader_of(forge.table_of(records, root=-2)).attributes(records[-1]) or ()
    assert re.fullmatch(r"n_jobs", found.name)
    assert found.scalars == (-1,)
