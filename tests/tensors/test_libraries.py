"""Whose object something is: by its class, or one that it inherits from; what its library makes of a verb."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
from packager._migrations import Cast, Migration, default, merge, migrate, rename
from packager._tensors import cast, dtype_of, full, join, library_of, roll, tensor_of, to_numpy
from tests.tables import one_test


class Marked(kellet.Tensor):
    """A tensor of a class that is not kellet's own."""


class Rows(np.ndarray):
    """An array of a class that is not NumPy's own."""


def marked(array: Any) -> Any:
    make, (_, *rest), _ = kellet.tensor(array).__reduce_ex__(2)
    return make(Marked, *rest)


@one_test
@pytest.mark.parametrize(
    ("thing", "library"),
    [
        (np.ones(2), "numpy"),
        (np.ones(2).view(Rows), "numpy"),
        (kellet.ones(2), "kellet"),
        (marked(np.ones(2)), "kellet"),
        (kellet.nn.Linear(1, 1), "kellet"),
        (type("Net", (kellet.nn.Module,), {})(), "kellet"),
        ({}, "numpy"),
    ],
)
def test_an_object_is_of_the_library_that_its_class_inherits_from(thing: Any, library: str) -> None:
    assert library_of(thing) == library


@pytest.mark.parametrize("library", ["numpy", "kellet"])
def test_the_verbs_give_the_same_in_every_library(library: str) -> None:
    array = np.arange(6.0, dtype="f4").reshape(2, 3)
    value = tensor_of(library, array)
    assert (library_of(value), dtype_of(value)) == (library, "float32")
    for found, expected in [
        (join([value, value], 1, stack=False), np.concatenate([array, array], 1)),
        (join([value, value], 1, stack=True), np.stack([array, array], 1)),
        (roll(value, -1, 1), np.roll(array, -1, 1)),
        (cast(value, "int16"), array.astype("i2")),
        (full(library, (2,), 3, "int64"), np.full(2, 3)),
    ]:
        assert library_of(found) == library
        assert to_numpy(found).dtype == expected.dtype
        assert np.array_equal(to_numpy(found), expected)


def test_tensors_of_a_class_of_ones_own_are_migrated_in_their_library() -> None:
    old = {"w": marked(np.arange(4.0)), "v": marked(np.arange(4.0))}
    steps = [
        merge(["w", "v"], "both"),
        default("new", 1, shape=(2,), dtype="float32"),
        rename("both", "c", Cast("float16")),
    ]
    new = migrate(Migration("own", steps), old)
    assert {key: library_of(new[key]) for key in new} == {"c": "kellet", "new": "kellet"}
    assert new["c"].tolist() == [0.0, 1.0, 2.0, 3.0] * 2
