"""Which bytes a view touches: said once, and compared with what NumPy's own views touch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._tensors import contiguous_strides, fits, is_contiguous, overlapping, span

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(shape=shapes, data=st.data())
def test_a_view_touches_the_elements_that_numpy_says(shape: tuple[int, ...], data: st.DataObject) -> None:
    strides = tuple(data.draw(st.lists(st.integers(-6, 6), min_size=len(shape), max_size=len(shape))))
    offset = data.draw(st.integers(0, 20))
    touched = [
        offset + sum(at * step for at, step in zip(index, strides, strict=True))
        for index in np.ndindex(shape)
    ]
    low, high = span(shape, strides, offset)
    assert (low, high) == ((min(touched), max(touched) + 1) if touched else (offset, offset))
    for size in (0, 20, 4 * high, 4 * high - 1):
        assert fits(shape, strides, offset, 32, size) == (low >= 0 and 4 * high <= size)


@given(shape=shapes)
def test_strides_in_c_order_are_numpys(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, "i4")
    if array.size:
        assert contiguous_strides(shape) == tuple(step // 4 for step in array.strides)
    assert is_contiguous(shape, contiguous_strides(list(shape)))
    assert is_contiguous(shape, contiguous_strides(shape)[1:]) == (shape == ())


@pytest.mark.parametrize(("strides", "plain"), [((3, 1), True), ((1, 2), False), ((7, 1), False)])
def test_a_layout_that_is_not_in_order_is_seen(strides: tuple[int, ...], plain: bool) -> None:
    assert is_contiguous((2, 3), strides) is plain
    assert is_contiguous((1, 3), (strides[0], 1))


@given(st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 30), st.integers(1, 6))), max_size=8))
def test_spans_that_overlap_directly_or_through_others_are_one_group(
    drawn: list[tuple[int, int] | None],
) -> None:
    spans = [None if one is None else (one[0], one[0] + one[1]) for one in drawn]
    group = list(range(len(spans)))
    for _ in spans:
        for i, one in enumerate(spans):
            for j, other in enumerate(spans):
                if one and other and one[0] < other[1] and other[0] < one[1]:
                    group[i] = group[j] = min(group[i], group[j])
    expected: dict[int, list[int]] = {}
    for number, name in enumerate(group):
        expected.setdefault(name, []).append(number)
    assert overlapping(spans) == list(expected.values())
