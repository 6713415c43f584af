"""What is listed as different where dtypes meet is met, and told; and what is refused says why."""

from __future__ import annotations

from pathlib import Path

import pytest

import kellet
import kellet.nn.functional
from tests.answers import record
from tests.answers.dtype_pairs import LISTED, SUBJECT, Difference, unlike

GUIDE = Path(__file__).parents[2] / "docs" / "pytorch-differences.md"


@pytest.mark.parametrize("difference", LISTED, ids=lambda one: one.row)
def test_the_guide_tells_of_each_difference(difference: Difference) -> None:
    assert f"| {difference.row} |" in GUIDE.read_text(encoding="utf-8")


def test_what_is_listed_is_met() -> None:
    met = set()
    for name in ("a < b", "a[b]", "where condition", "a[0] = b", "scalar"):
        expected = record.recorded("dtype_pairs")[name]
        found = [*unlike(SUBJECT.play(name, kellet), expected)]
        # A pair that torch has no code for, whatever we do with it.
        found.append(("complex64", "complex64", expected["complex64 and complex64"], None))
        met |= {one.row for one in LISTED if any(one.meets(name, *pair) for pair in found)}
    assert met == {one.row for one in LISTED}


def test_an_order_of_complex_numbers_is_refused() -> None:
    x = kellet.tensor([1 + 1j, 2])
    for compare in (
        lambda: x < x,
        lambda: x <= 2,
        lambda: x.real > x,
        lambda: x.real <= 1j,
        lambda: kellet.maximum(x, x),
        lambda: x.max(),
        lambda: x.max(0),
        lambda: x.amin(),
        lambda: x.argmax(),
        lambda: x.sort(),
        lambda: x.topk(1),
        lambda: x.clamp(min=0),
    ):
        with pytest.raises(kellet.errors.DTypeError, match=r"complex numbers have no order; compare \.abs"):
            compare()
    assert (x == x).all()
    assert not (x != x).any()


def test_a_difference_of_bools_is_refused() -> None:
    mask = kellet.tensor([True, False])
    for subtract in (
        lambda: mask - mask.int(),
        lambda: mask.float() - mask,
        lambda: 1 - mask,
        lambda: 1.0 - mask,
        lambda: mask.float() - True,
        lambda: mask.float().sub_(mask),
    ):
        with pytest.raises(kellet.errors.DTypeError, match="to invert a mask"):
            subtract()


def test_refused_dtypes_are_named() -> None:
    layer = kellet.nn.Linear(2, 1)
    with pytest.raises(kellet.errors.DTypeError, match=r"linear: .* got float32 and float64; convert"):
        layer(kellet.ones(1, 2, dtype=kellet.float64))
