"""Rules without a graph: nothing is kept, blocks share memory, and the result is the same bits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from kellet.rules import RULES
from kellet.rules.attention import MOST, _blocks
from kellet.rules.error_function import BLOCK
from tests.rules.conftest import of_each_sample
from tests.tables import one_test


def same(one: Any, other: Any) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@one_test
@of_each_sample
def test_nothing_kept_gives_the_same_bits(made: Any) -> None:
    found = RULES[made.rule]
    if found.keeps:
        with np.errstate(all="ignore"):
            one = np.asarray(found.forward({}, *made.inputs, **made.options))
            other = np.asarray(found.forward(None, *made.inputs, **made.options))
        assert same(one, other)


@one_test
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_gelu_in_blocks_is_that_of_each_element(dtype: type, size: int) -> None:
    a = np.linspace(-9, 9, size, dtype=dtype)
    gelu = RULES["gelu"].forward
    found = gelu(None, a)
    places = list(range(0, size, 997))
    np.testing.assert_array_equal(found[places], [gelu(None, a[at : at + 1])[0] for at in places])
    assert same(gelu({}, a), found)


@pytest.mark.parametrize("options", [{}, {"allowed": True}, {"dropped": True}, {"bias": True}])
def test_attention_in_blocks_is_that_of_each_head(options: dict[str, bool]) -> None:
    """Of three heads, twice, two fit into a block, and the third has one of its own."""
    rng = np.random.default_rng(0)
    length = int((MOST / 2) ** 0.5)
    shape = (2, length, 3, 4)
    query, key, value = (rng.standard_normal(shape, dtype=np.float32).swapaxes(1, 2) for _ in range(3))
    scores = (2, 3, length, length)
    made = {
        "allowed": rng.random((2, 1, 1, length)) < 0.5,
        "dropped": rng.integers(0, 2, scores).astype(np.float32),
    }
    given = {name: value for name, value in made.items() if name in options}
    bias = rng.standard_normal((length, length), dtype=np.float32) if "bias" in options else None
    attention = RULES["attention"].forward
    together = attention(None, query, key, value, bias, scale=0.5, **given)
    assert same(attention({}, query, key, value, bias, scale=0.5, **given), together)
    for n, head in itertools.product(range(2), range(3)):
        one = {name: np.broadcast_to(mask, scores)[n, head] for name, mask in given.items()}
        alone = attention(None, query[n, head], key[n, head], value[n, head], bias, scale=0.5, **one)
        np.testing.assert_allclose(together[n, head], alone, rtol=1e-5, atol=1e-6)


@one_test
@pytest.mark.parametrize("lead", [(), (1,), (7,), (2, 3), (5, 1, 4), (3, 0), (0,)])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 4, 100])
def test_blocks_cover_every_matrix_once_the_largest_first(lead: tuple[int, ...], most: int) -> None:
    counts = np.zeros(lead, int)
    sizes = []
    for block in _blocks(lead, most):
        counts[block] += 1
        sizes.append(counts[block].size)
    assert (counts == 1).all()
    assert max(sizes) == sizes[0] <= max(1, most)
