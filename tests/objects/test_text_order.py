"""Texts of large sets are sorted by their first bytes, in the order that texts have."""

from __future__ import annotations

import random

import pytest

from packager.objects import TrustContext, audit, build, encode, unpack_table
from packager.objects.records import Kind as K
from packager.objects.runs import RUN_FROM
from packager.objects.text_order import texts_in_order
from tests.tables import one_test

LETTERS = "ab\u00e9\u4e2d\U0001f600\uffff\x01"


@one_test
@pytest.mark.parametrize("seed", range(20))
def test_texts_are_sorted_as_python_sorts_them(seed: int) -> None:
    rng = random.Random(seed)
    starts = ("", "the same ")
    drawn = (rng.choice(starts) + "".join(rng.choices(LETTERS, k=rng.randrange(9))) for _ in range(500))
    texts = sorted(set(drawn))
    rng.shuffle(texts)
    found = texts_in_order(texts)
    assert found is not None
    expected = sorted(texts)
    assert [texts[at] for at in found.places.tolist()] == expected
    assert found.lengths.tolist() == list(map(len, expected))
    assert found.joined == "".join(expected).encode()


def test_more_than_are_joined_at_once() -> None:
    texts = [f"{at * 7919 % 40_000}" for at in range(40_000)]
    found = texts_in_order(texts)
    assert found is not None
    assert found.joined.decode() == "".join(sorted(texts))


@pytest.mark.parametrize("text", ["a\0", "\0", "\ud800", "x" * 256, "\u4e2d" * 86])
def test_texts_that_are_sorted_one_by_one(text: str) -> None:
    assert texts_in_order(["b", text, "a"]) is None


@one_test
@pytest.mark.parametrize("kind", [set, frozenset])
@pytest.mark.parametrize("one", ["short", "a\0", "x" * 256])
def test_a_set_has_the_same_table_either_way(kind: type, one: str) -> None:
    texts = [f"word {at * 7919 % RUN_FROM}" for at in range(RUN_FROM)] + [one]
    table = encode(kind(texts)).records
    assert table == encode(kind(reversed(texts))).records
    _, records, _ = unpack_table(table, "object")
    assert records[0][:2] == [K.RUN, "text"]
    assert records[0][4:] == [b"".join(text.encode() for text in sorted(texts)), None, None]
    assert build(audit(table, TrustContext.data_only()), {}) == set(texts)


def test_texts_of_a_sorted_set_have_numbers_in_later_runs() -> None:
    texts = [f"word {at * 7919 % RUN_FROM}" for at in range(RUN_FROM)]
    obj = [texts[0], set(texts), texts, {*texts, "new"}, frozenset(texts)]
    table = encode(obj).records
    assert len(table) < 2.5 * sum(map(len, texts))  # each text is there once
    assert build(audit(table, TrustContext.data_only()), {}) == obj
