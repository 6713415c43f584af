"""What classes of the default list are given for a state: exact types, each part where it belongs."""

from __future__ import annotations

import random
import re
import uuid
from typing import Any

import numpy as np
import pytest

from packager._audit import row_of
from packager._codecs import find_library
from tests.tables import one_test


def taker(name: str) -> Any:
    """What takes up the state of a class."""
    module, _, qualname = name.partition(":")
    row = row_of(module, qualname, find_library)
    assert row is not None
    return row.takes_state


UUID = "the state of a UUID is an int of 128 bits, as 'int'; and 'is_safe', if it is known"
SAFE = "'is_safe' in the state of a UUID is 0, -1 or None"
RANDOM = "the state of random.Random is (3, 625 ints, a float or None)"
WORDS = (*range(1, 625), 624)
DICT = "the state of {} is of type {}; expected a dict whose keys are names"


class Name(str):
    pass


class Number(int):
    pass


REFUSED: dict[str, tuple[str, type, Any, str]] = {
    "no dict": ("uuid:UUID", uuid.UUID, [("int", 1)], DICT.format("UUID", "list")),
    "keys that are numbers": ("uuid:UUID", uuid.UUID, {1: 1, "int": 1}, DICT.format("UUID", "dict")),
    "names of a class": ("uuid:UUID", uuid.UUID, {Name("int"): 1}, DICT.format("UUID", "dict")),
    "no number": ("uuid:UUID", uuid.UUID, {"is_safe": 0}, UUID),
    "a bool": ("uuid:UUID", uuid.UUID, {"int": True}, UUID),
    "a number below": ("uuid:UUID", uuid.UUID, {"int": -1}, UUID),
    "a number of 129 bits": ("uuid:UUID", uuid.UUID, {"int": 1 << 128}, UUID),
    "something more": ("uuid:UUID", uuid.UUID, {"int": 1, "hex": 1}, UUID),
    "safe by a bool": ("uuid:UUID", uuid.UUID, {"int": 1, "is_safe": False}, SAFE),
    "safe by another number": ("uuid:UUID", uuid.UUID, {"int": 1, "is_safe": 1}, SAFE),
    "safe by a text": ("uuid:UUID", uuid.UUID, {"int": 1, "is_safe": "0"}, SAFE),
    "a list": ("random:Random", random.Random, [3, WORDS, None], RANDOM),
    "two parts": ("random:Random", random.Random, (3, WORDS), RANDOM),
    "four parts": ("random:Random", random.Random, (3, WORDS, None, None), RANDOM),
    "words in a list": ("random:Random", random.Random, (3, list(WORDS), None), RANDOM),
    "fewer words": ("random:Random", random.Random, (3, WORDS[1:], None), RANDOM),
    "more words": ("random:Random", random.Random, (3, (1, *WORDS), None), RANDOM),
    "a word of a class": ("random:Random", random.Random, (3, (Number(1), *WORDS[1:]), None), RANDOM),
    "another version": ("random:Random", random.Random, (2, WORDS, None), RANDOM),
    "a version that is a float": ("random:Random", random.Random, (3.0, WORDS, None), RANDOM),
    "a last number that is none": ("random:Random", random.Random, (3, WORDS, 1), RANDOM),
    "a polynomial in a list": (
        "numpy.polynomial:Chebyshev",
        np.polynomial.Chebyshev,
        [1],
        DICT.format("Chebyshev", "list"),
    ),
}


@one_test
@pytest.mark.parametrize(("name", "cls", "state", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_state_of_other_types_is_refused(name: str, cls: type, state: Any, message: str) -> None:
    made = cls.__new__(cls)
    before = repr(vars(made)) if hasattr(made, "__dict__") else None
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        taker(name)(made, state)
    assert (repr(vars(made)) if hasattr(made, "__dict__") else None) == before


@one_test
@pytest.mark.parametrize("number", [0, 7, (1 << 128) - 1])
@pytest.mark.parametrize(("said", "safe"), [(0, "safe"), (-1, "unsafe"), (None, "unknown")])
def test_a_uuid_takes_its_number_and_whether_it_is_safe(number: int, said: Any, safe: str) -> None:
    made = uuid.UUID.__new__(uuid.UUID)
    taker("uuid:UUID")(made, {"int": number, "is_safe": said})
    assert (made.int, made.is_safe) == (number, uuid.SafeUUID[safe])
    alone = uuid.UUID.__new__(uuid.UUID)
    taker("uuid:UUID")(alone, {"int": number})
    assert (alone.int, alone.is_safe) == (number, uuid.SafeUUID.unknown)


@pytest.mark.parametrize("last", [None, 0.5])
def test_a_random_generator_takes_its_words(last: float | None) -> None:
    made = random.Random(1)
    taker("random:Random")(made, (3, WORDS, last))
    assert made.getstate() == (3, WORDS, last)


class Matrix:
    pass


COORDINATES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"row": 1, "col": 2, "data": 3}, {"data": 3, "coords": (1, 2)}),
    ({"row": 1, "col": 2}, {"coords": (1, 2)}),
    ({"coords": (1, 2)}, {"coords": (1, 2)}),
    ({"coords": (1, 2), "row": 3, "col": 4}, {"coords": (1, 2), "row": 3, "col": 4}),
    ({"row": 1}, {"row": 1}),
    ({"col": 1}, {"col": 1}),
]


@one_test
@pytest.mark.parametrize(("state", "held"), COORDINATES)
def test_coordinates_in_two_attributes_become_one(state: dict[str, Any], held: dict[str, Any]) -> None:
    made = Matrix()
    taker("scipy.sparse:coo_matrix")(made, state)
    assert vars(made) == held


@pytest.mark.parametrize("name", ["numpy.polynomial:Legendre", "scipy.sparse:coo_matrix"])
def test_no_attribute_takes_the_place_of_what_a_class_defines(name: str) -> None:
    made = np.polynomial.Legendre([1])
    before = dict(vars(made))
    with pytest.raises(ValueError, match="truncate"):
        taker(name)(made, {"truncate": 1, "domain": 2})
    assert vars(made) == before
    taker(name)(made, {"domain": 2})
    assert vars(made) == {**before, "domain": 2}
