"""Codecs that are rows: what a node of one must hold, and what is told of one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from packager.codecs import Child, Node
from packager.codecs.base import Literal, Parts, kinds, words
from tests.tables import one_test

NONE, INT, TEXT = (Child("scalar", value=value) for value in (None, 1, "a"))
DICT, BYTES = Child("dict"), Child("tensor", value=("U8", [3], None, 0))
ARRAY, METHOD = Child("codec", "numpy.ndarray"), Child("codec", "method")


def row(words_of_parts: str, **more: Any) -> Parts:
    return Parts("a.thing", ("lib:Thing",), words_of_parts, "a thing", lambda obj: Node(), list, **more)


@one_test
@pytest.mark.parametrize(
    ("words_of_parts", "children"),
    [
        ("", []),
        ("dict", [DICT]),
        ("numpy.ndarray", [ARRAY]),
        ("dict|none any", [NONE, ARRAY]),
        ("codec", [METHOD]),
        ("any*", []),
        ("dict scalar*", [DICT, INT, TEXT]),
        ("dict scalar*", [DICT]),
        ("payload", [BYTES]),
    ],
)
def test_parts_of_the_kinds_that_are_said_pass(words_of_parts: str, children: list[Child]) -> None:
    row(words_of_parts).check(None, children, 1)


@one_test
@pytest.mark.parametrize(
    ("words_of_parts", "children", "found"),
    [
        ("", [DICT], "$"),
        ("dict", [], "$"),
        ("dict", [ARRAY], ", found numpy.ndarray$"),
        ("method", [METHOD], ", found method$"),  # a codec of this name makes no bound method of the table
        ("dict|none", [INT], ", found scalar$"),
        ("dict scalar*", [], "$"),
        ("dict scalar*", [DICT, INT, DICT], ", found dict$"),
    ],
)
def test_other_parts_are_told(words_of_parts: str, children: list[Child], found: str) -> None:
    with pytest.raises(ValueError, match=f"^expected a thing{found}"):
        row(words_of_parts).check(None, children, 1)


def test_a_literal_stands_where_a_form_is_said_and_nowhere_else() -> None:
    with pytest.raises(ValueError, match=r"^expected a thing$"):
        row("").check("b", [], 1)
    named = row("any*", form=words(["b"]), also=lambda literal, children: len(children) != 1)
    named.check("b", [], 1)
    for literal, children in (("c", []), (["b"], []), ("b", [INT])):
        with pytest.raises(ValueError, match=r"^expected a thing$"):
            named.check(literal, children, 1)


def test_equal_literals_are_stored_once_where_it_is_said() -> None:
    for once, key in ((True, "a"), (False, None)):
        codec = Literal("a.text", ("lib:Text",), kinds(str), "a text", str, str, once=once)
        assert codec.encode("a", None) == Node("a", key=key)  # type: ignore[arg-type]  # it asks for nothing
