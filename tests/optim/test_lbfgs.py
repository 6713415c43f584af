"""LBFGS: what it cannot do is refused in words."""

import pytest

import kellet
import kellet.optim
from kellet.optim.line_search import Point, _away_from_ends


def test_what_it_cannot_do_is_refused_in_words():
    x = kellet.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        kellet.optim.LBFGS(groups())
    with pytest.raises(ValueError, match="only 'strong_wolfe' is supported as line_search_fn, got 'armijo'"):
        kellet.optim.LBFGS([x], line_search_fn="armijo")
    with pytest.raises(TypeError, match="needs a closure"):
        kellet.optim.LBFGS([x]).step()


def groups():
    return [{"params": [kellet.ones(1, requires_grad=True)]} for _ in range(2)]


@pytest.mark.parametrize(
    ("at", "close_before", "found"),
    [
        (1.0, False, (1.0, False)),
        (0.5, False, (0.5, True)),
        (0.5, True, (1.0, False)),
        (9.5, True, (9.0, False)),
        (10.0, False, (9.0, False)),
    ],
)
def test_a_trial_close_to_an_end_a_second_time_moves_a_tenth_inwards(at, close_before, found):
    pair = [Point(end, 0.0, None, 0.0) for end in (10.0, 0.0)]
    assert _away_from_ends(at, pair, close_before) == found
