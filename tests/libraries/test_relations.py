"""Rows of relations: each form says what it found against what it expected, and touches nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from packager._libraries.relations import WORDS, RelationCheck
from tests.attacks.test_checks_touch_nothing import Touchy, asked_by
from tests.codecs.parts import refuses
from tests.tables import one_test


def asked(rows: str, **attributes: Any) -> None:
    """What the check of these rows says of an object with these attributes."""
    RelationCheck("tests:None", rows, WORDS).check_made(SimpleNamespace(**attributes))


ONES, WIDE = np.ones(2), np.ones((2, 3))
PLACES = np.array([[0, 2], [1, 1]])

FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "an array": ("a: f[n, _]", {"a": WIDE, "n": 2}),
    "an array or none": ("a: f[2] | None", {"a": None}),
    "no attribute": ("a: f[2] | None", {}),
    "ints": ("a == 2", {"a": np.int64(2)}),
    "a list member by member": ("a == lens(b) - 1", {"a": [1, 2], "b": ["ab", (1, 2, 3)]}),
    "one for all": ("a <= 2", {"a": (1, 2)}),
    "an array of one axis": ("a == 1 + 1", {"a": np.array([2, 2])}),
    "lengths": ("len(a) + len(b) == 5", {"a": {"x": 1}, "b": sparse.csr_matrix((4, 9))}),
    "extents": ("width(a) + rows(a) + width(b) + rows(b) == 7", {"a": WIDE, "b": 0.5}),
    "places": ("a in range(3)", {"a": PLACES}),
    "places of columns": ("for a in columns(b):\n    a in range(c, c + 2)", {"b": PLACES[:, 1], "c": 1}),
    "two columns": ("for a in columns(b):\n    a in range(3)", {"b": PLACES}),
    "places of words": ("a in range(len(a))", {"a": {"x": 1, "y": np.int64(0)}}),
    "no places": ("a in range(0)", {"a": []}),
    "no attribute to ask": ("if a:\n    b == 1", {}),
    "none to ask": ("if a is not None:\n    b == 1", {"a": None}),
    "otherwise": ("if true(a):\n    b == 1\nelse:\n    b == 2", {"a": np.False_, "b": 2}),
    "loops": ("for a, n in zip(b, c):\n    len(a) == n", {"b": [(), "ab"], "c": (0, 2)}),
    "one member": ("for a in members(b):\n    len(a) == 2", {"b": ONES}),
    "each of an array": ("for a in each(b):\n    a > 0", {"b": np.array([1, 2])}),
    "given": ("given(a) == 0\ngiven(b) == c", {"a": None, "b": [None, 3], "c": [0, 1]}),
    "growing": ("grows(a)", {"a": np.array([1.0, 2, np.nan])}),
    "growing texts": ("grows(a)", {"a": np.array(["a", "b"])}),
    "objects": ("grows(a)", {"a": np.array(["b", "a"], object)}),
    "labels": ("distinct(a)", {"a": np.array(["a", 1, 2.5, np.str_("b"), np.nan, np.nan], object)}),
    "text": ("is_text(a)", {"a": "clip"}),
}

LABELS = "a has labels that are neither texts nor numbers"
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "another shape": ("a: f[n, _]", {"a": WIDE, "n": 3}, "a has shape [2, 3], expected [3, any]"),
    "another kind": ("a: iu[_]", {"a": ONES}, "a has dtype float64, expected a kind of 'iu'"),
    "no array": ("a: f[_]", {}, "a is a NoneType, not an array"),
    "no extent": ("a: f[n]", {"a": ONES}, f"n is a NoneType, not an int from 0 to {(1 << 62) - 1}"),
    "another number": ("a == b", {"a": 1, "b": 2}, "a is 1, expected 2"),
    "too many": ("a <= 2", {"a": 3}, "a is 3, expected at most 2"),
    "too few": ("len(a) > 0", {"a": ()}, "len(a) is 0, expected more than 0"),
    "one of many": ("a == b", {"a": [1, 2], "b": [1, 3]}, "a is [1, 2], expected [1, 3]"),
    "other lengths": ("a == b", {"a": [1, 2], "b": [1, 2, 3]}, "a is [1, 2], expected [1, 2, 3]"),
    "sums of other lengths": ("a == b + c", {"b": [1, 2], "c": [1, 2, 3]}, "b and c are of other lengths"),
    "a float": ("a == 2", {"a": 2.0}, "a is float, expected 2"),
    "a bool": ("a == 1", {"a": True}, "a is bool, expected 1"),
    "members that are floats": ("a == 1", {"a": [1, 1.0]}, "a has members that are no ints"),
    "a place behind": ("a in range(2)", {"a": PLACES}, "a has values from 0 to 2, expected 0 to 1"),
    "places of floats": ("a in range(2)", {"a": ONES}, "a has dtype float64, expected integers"),
    "a word behind": ("a in range(2)", {"a": {"x": 2, "y": 0}}, "a has values from 0 to 2, expected 0 to 1"),
    "a word before": ("a in range(2)", {"a": [-1, 0]}, "a has values from -1 to 0, expected 0 to 1"),
    "a number behind": ("a in range(1, 2)", {"a": 2}, "a is 2, not an int from 1 to 1"),
    "no bound": ("a in range(b)", {"a": 2}, "b is NoneType, expected an int"),
    "lists of other lengths": (
        "for a, b in zip(c, d):\n    a == b", {"c": [1], "d": [1, 2]}, "c and d are of lengths 1 and 2"
    ),
    "no list": ("for a in b:\n    a == 1", {"b": {1: 2}}, "b is a dict, not a list"),
    "no length": ("len(a) == 1", {"a": 1}, "a is a int, not an array or a sparse matrix"),
    "no columns": ("for a in columns(b):\n    a == 1", {"b": [1]}, "b is a list, not an array"),
    "falling": ("grows(a)", {"a": np.array([2, 1])}, "a does not grow"),
    "twice the same": ("grows(a)", {"a": np.array([1.0, 1.0])}, "a does not grow"),
    "a hole between": ("grows(a)", {"a": np.array([1.0, np.nan, 2.0])}, "a does not grow"),
    "no values": ("grows(a)", {"a": WIDE}, "a is a ndarray, not an array of values"),
    "a label twice": ("distinct(a)", {"a": np.array(["a", "b", "a"])}, "a has a label twice"),
    "a number twice": ("distinct(a)", {"a": np.array([1, True], object)}, "a has a label twice"),
    "labels of another kind": ("distinct(a)", {"a": np.array([None], object)}, LABELS),
    "labels in a list": ("distinct(a)", {"a": ["a"]}, "a is list, not an array"),
    "no text": ("is_text(a)", {"a": b"clip"}, "a is no text"),
}  # fmt: skip


@one_test
@pytest.mark.parametrize(("rows", "attributes"), FITS.values(), ids=FITS)
def test_what_fits_passes(rows: str, attributes: dict[str, Any]) -> None:
    asked(rows, **attributes)


@one_test
@pytest.mark.parametrize(("rows", "attributes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_said(rows: str, attributes: dict[str, Any], message: str) -> None:
    refuses(lambda: asked(rows, **attributes), message)


@one_test
@pytest.mark.parametrize(("rows", "attributes", "message"), REFUSED.values(), ids=REFUSED)
def test_nothing_is_asked_of_what_is_not_ours(rows: str, attributes: dict[str, Any], message: str) -> None:
    objects = np.empty(2, object)
    objects[0] = objects[1] = Touchy()
    for name in attributes:
        for value in (Touchy(), [Touchy()], (Touchy(), 1), {"x": Touchy()}, objects):
            changed = {**attributes, name: value}
            assert asked_by(lambda changed=changed: asked(rows, **changed)) == [], name


@pytest.mark.parametrize("rows", ["a = 1", "a: 1", "a[0] == 1", "if a == 1:\n    b == 1"])
def test_another_form_is_no_row(rows: str) -> None:
    with pytest.raises(SyntaxError, match="no form of"):
        asked(rows, a=1)
