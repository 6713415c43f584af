"""Codecs that are rows: what a node of one must hold, and what is told of one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from packager._codecs import Child, Node
from packager._codecs.base import LiteralCodec, PartsCodec, kinds, words
from packager._codecs.codec_rows import Choice, one_of
from tests.tables import one_test

NONE, INT, TEXT = (Child("scalar", value=value) for value in (None, 1, "a"))
DICT, BYTES = Child("dict"), Child("tensor", value=("U8", [3], None, 0))
ARRAY, METHOD = Child("codec", "numpy.ndarray"), Child("codec", "method")


def row(words_of_parts: str, **more: Any) -> PartsCodec:
    return PartsCodec("a.thing", ("lib:Thing",), words_of_parts, "a thing", lambda obj: Node(), list, **more)


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
        codec = LiteralCodec("a.text", ("lib:Text",), kinds(str), "a text", str, str, once=once)
        assert codec.encode("a", None) == Node("a", key=key)  # type: ignore[arg-type]  # it asks for nothing


CHOICE = Choice(
    "a.choice",
    PartsCodec("none", ("builtins:NoneType",), "", "nothing more", lambda obj: Node(), lambda: None),
    PartsCodec("word", ("builtins:str",), "scalar", "a word and a scalar",
          lambda obj: Node([obj], (1,)), lambda parts, one: parts[0] * one, one_of(["a", "b"])),
    once=True,
)  # fmt: skip
CONTEXT: Any = None  # these rows ask for nothing


def test_a_kind_begins_the_literal_and_its_row_says_the_rest() -> None:
    assert CHOICE.types == ("builtins:NoneType", "builtins:str")
    for obj, literal, children in ((None, ["none"], []), ("a", ["word", "a"], [INT])):
        node = CHOICE.encode(obj, CONTEXT)
        assert node.literal == literal
        assert node.key == (None if children else ("none",))
        CHOICE.check(literal, children, 1)
        assert CHOICE.decode(literal, [1 for _ in children], 1, CONTEXT) == obj


@one_test
@pytest.mark.parametrize(
    ("literal", "children", "message"),
    [
        ("none", [], "a kind of a.choice"),
        ([], [], "a kind of a.choice"),
        ([None], [], "a kind of a.choice, found None"),
        (["other"], [], "a kind of a.choice, found other"),
        (["none", "a"], [], "nothing more"),
        (["word"], [INT], "a word and a scalar"),
        (["word", "c"], [INT], "a word and a scalar"),
        (["word", "a"], [], "a word and a scalar"),
    ],
)
def test_another_kind_or_other_parts_of_one_are_refused(
    literal: Any, children: list[Child], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        CHOICE.check(literal, children, 1)
