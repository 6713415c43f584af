"""Transforms: what they do to arrays, what they say beforehand, and what undoes them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._migrations.transforms import (
    Cast,
    Header,
    Permute,
    Reshape,
    Roll,
    Scale,
    Slice,
    TransformError,
    Transpose,
    header_of,
)

ARRAY = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_slice_roll_and_transpose_give_the_exact_values():
    assert Slice(0, 1, 3).apply(ARRAY).tolist() == ARRAY[1:3].tolist()
    assert Roll(0, -1).apply(ARRAY)[:, 0].tolist() == [6.0, 12.0, 18.0, 0.0]
    assert Transpose().apply(ARRAY).tolist() == ARRAY.T.tolist()
    assert Scale(0.5).apply(ARRAY).dtype == np.float32


def test_permute_is_the_rotary_regrouping():
    heads, rows = 2, np.arange(8)
    weight = np.stack([rows, rows + 100], axis=1)
    expected = weight.reshape(heads, 2, 2, 2).swapaxes(1, 2).reshape(8, 2)
    moved = Permute(0, (heads, -1, 2), (0, 2, 1)).apply(weight)
    assert moved.tolist() == expected.tolist()
    assert moved[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


@pytest.mark.parametrize("transform", [Slice(0, 1), Transpose(), Reshape((6, 4))])
def test_views_share_their_memory(transform):
    assert np.shares_memory(transform.apply(ARRAY), ARRAY)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (Reshape((5, 5)), r"reshape of \(4, 6\) \(24 elements\) to \(5, 5\)"),
        (Reshape((-1, -1)), "must stay the same"),
        (Reshape((-4, -6)), "must stay the same"),
        (Transpose((0, 0)), r"transpose \[0, 0\] of an array with 2 axes"),
        (Slice(2, 0, 1), r"slice along axis 2: an array of shape \(4, 6\) has no such"),
        (Permute(0, (3, -1), (0, 1)), "must stay the same"),
        (Permute(0, (2, 2), (0, 0)), r"permute: order \[0, 0\]; expected each of"),
    ],
)
def test_what_cannot_be_done_is_said_beforehand(transform, message):
    with pytest.raises(TransformError, match=message):
        transform.header(header_of(ARRAY))


def test_what_loses_values_has_no_inverse():
    assert Slice(0, 0, 2).inverse() is None
    assert Reshape((2, 3)).inverse() is None
    assert Cast("float16").inverse() is None
    assert Cast("float16", old="float32").inverse() is None
    assert Cast("float64", old="float32").inverse() == Cast("float32", old="float64")
    assert Scale(3.0).inverse() is None
    assert Scale(0.25).inverse() == Scale(4.0)


def test_bfloat16_is_cast_through_ml_dtypes():
    cast = Cast("bfloat16").apply(np.array([1.0, 2.5], np.float32))
    assert header_of(cast) == Header((2,), "bfloat16")


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@given(shape=shapes, data=st.data())
def test_plan_equals_effect_and_the_inverse_gives_the_value_back(shape, data):
    rank = len(shape)
    axis = data.draw(st.integers(-rank, rank - 1))
    transform = data.draw(
        st.sampled_from(
            [
                Transpose(tuple(data.draw(st.permutations(range(rank))))),
                Transpose(),
                Reshape((-1,), old=shape),
                Slice(axis, data.draw(st.integers(-5, 5)), data.draw(st.integers(-5, 5))),
                Roll(axis, data.draw(st.integers(-5, 5))),
                Cast(data.draw(st.sampled_from(["float64", "float16", "int8"])), old="float32"),
                Scale(data.draw(st.sampled_from([2.0, -0.5, 3.0]))),
                Permute(axis, (1, -1), (1, 0)),
            ]
        )
    )
    value = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    changed = transform.apply(value)
    assert header_of(changed) == transform.header(header_of(value))
    back = transform.inverse()
    if back is not None:
        assert back.apply(changed).tobytes() == value.tobytes()
