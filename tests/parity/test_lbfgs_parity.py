"""LBFGS against torch's, step by step: weights, losses, numbers of evaluations and states."""

import pytest

pytest.importorskip("torch")

import inspect

import numpy as np
import torch
from hypothesis import find, given, settings
from hypothesis import strategies as st

import kellet
from tests.parity.drawn import EXAMPLES, optional

TOLERANCE = {"float32": 2e-3, "float64": 1e-6}
OPTIONS = [
    {},
    {"lr": 0.1},
    {"lr": 0.5, "max_iter": 4, "history_size": 2},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "lr": 0.01, "max_iter": 3},
    {"line_search_fn": "strong_wolfe", "lr": 50.0, "max_iter": 5, "history_size": 3},
    {"line_search_fn": "strong_wolfe", "max_eval": 4},
    {"line_search_fn": "strong_wolfe", "tolerance_grad": 1.0},
    {"tolerance_change": 10.0},
]


def rosenbrock(library, x, y):
    return (100 * (y - x**2) ** 2 + (1 - x) ** 2).sum()


def logistic(library, x, y):
    return library.nn.functional.softplus(x * y).sum() + 0.1 * (x**2).sum() + ((y - 1) ** 2).sum()


def run(library, dtype, options, function, seed, steps, state=None):
    rng = np.random.default_rng(seed)
    leaves = [library.from_numpy(rng.standard_normal(3).astype(dtype)).requires_grad_() for _ in range(2)]
    optimizer = library.optim.LBFGS(leaves, **options)
    if state is not None:
        optimizer.load_state_dict(state)
    trace = []

    def closure():
        optimizer.zero_grad()
        loss = function(library, *leaves)
        loss.backward()
        trace.append(loss.item())
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return leaves, trace, optimizer


def same(theirs, ours, dtype):
    (leaves, trace, optimizer), (my_leaves, my_trace, mine) = theirs, ours
    tolerance = TOLERANCE[dtype]
    assert len(my_trace) == len(trace)
    np.testing.assert_allclose(my_trace, trace, rtol=tolerance, atol=tolerance)
    for a, b in zip(leaves, my_leaves, strict=True):
        assert b.dtype == a.detach().numpy().dtype
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=tolerance, atol=tolerance)
    expected, found = optimizer.state_dict(), mine.state_dict()
    (group,), (my_group,) = expected["param_groups"], found["param_groups"]
    assert {**my_group, "lr": float(my_group["lr"])} == {**group, "lr": float(group["lr"])}
    state, my_state = expected["state"][0], found["state"][0]
    assert set(my_state) == set(state)
    assert (my_state["n_iter"], my_state["func_evals"]) == (state["n_iter"], state["func_evals"])
    for name in ("old_dirs", "old_stps", "ro"):
        assert len(my_state.get(name) or ()) == len(state.get(name) or ())
    return state, my_state


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("function", [logistic, rosenbrock])
def test_every_loss_weight_and_state_is_torchs(function, options):
    if function is rosenbrock:
        options = {"line_search_fn": "strong_wolfe", **options}  # without a search it runs away
    theirs, ours = (run(library, "float64", options, function, 0, 3) for library in (torch, kellet))
    state, mine = same(theirs, ours, "float64")
    for name in ("d", "prev_flat_grad", "H_diag", "prev_loss"):
        if name in state:
            np.testing.assert_allclose(np.asarray(mine[name]), np.asarray(state[name]), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_single_precision_goes_the_same_way(search):
    options = {"line_search_fn": search, "lr": 0.3, "max_iter": 4}
    same(*(run(library, "float32", options, logistic, 0, 1) for library in (torch, kellet)), "float32")


DRAWN = optional(
    lr=st.sampled_from([0.01, 0.3, 1.0, 5.0, -0.1]),
    max_iter=st.integers(0, 5),
    max_eval=st.one_of(st.none(), st.integers(2, 12)),  # with one, torch's search fails inside
    tolerance_grad=st.sampled_from([0.0, 1e-7, 0.1, 1.0]),
    tolerance_change=st.sampled_from([0.0, 1e-9, 0.01, 0.5]),
    history_size=st.integers(1, 4),
    line_search_fn=st.sampled_from([None, "strong_wolfe"]),
)


def test_all_options_are_drawn():
    names = set(inspect.signature(torch.optim.LBFGS.__init__).parameters) - {"self", "params"}
    assert names == set(inspect.signature(kellet.optim.LBFGS).parameters) - {"params"}
    assert all(find(DRAWN, lambda options, name=name: name in options) for name in names)


@settings(deadline=None, max_examples=8 * EXAMPLES)
@given(
    seed=st.integers(0, 1000),
    options=DRAWN,
    function=st.sampled_from([logistic, rosenbrock]),
    steps=st.integers(1, 2),
    as_tensor=st.booleans(),
)
def test_any_options_go_the_same_way(seed, options, function, steps, as_tensor):
    if options.get("line_search_fn") is None:
        # Without a search, long steps run away, and then every bit counts.
        options = {**options, "lr": min(options.get("lr", 0.3), 0.3)}
        function = logistic

    def play(library):
        rate = options.get("lr")
        given = {**options, "lr": library.tensor(rate)} if as_tensor and rate is not None else options
        return run(library, "float64", given, function, seed, steps)

    theirs = outcome(lambda: play(torch))
    ours = outcome(lambda: play(kellet))
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"torch: {theirs!r}, here: {ours!r}"
        return
    assert not isinstance(ours, Exception), ours
    same(theirs, ours, "float64")


def outcome(play):
    try:
        return play()
    except (ValueError, RuntimeError, IndexError) as error:
        return error


def test_training_goes_on_from_a_state():
    options = {"line_search_fn": "strong_wolfe", "max_iter": 3}
    _, _, first = run(kellet, "float64", options, logistic, 0, 2)
    state = first.state_dict()
    _, _, theirs = run(torch, "float64", options, logistic, 0, 2)
    same(
        run(torch, "float64", options, logistic, 5, 2, theirs.state_dict()),
        run(kellet, "float64", options, logistic, 5, 2, state),
        "float64",
    )


def test_complex_parameters_are_moved_by_their_parts():
    found = []
    for library in (torch, kellet):
        z = library.from_numpy(np.array([1.0 + 2.0j, -1.0 + 0.5j])).requires_grad_()
        optimizer = library.optim.LBFGS([z], lr=0.5, max_iter=5)

        def closure(z=z, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((z - (0.5 - 1j)).abs() ** 2).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        found.append(z.detach().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)


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
