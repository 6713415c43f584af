"""LBFGS step by step: weights, losses, numbers of evaluations and states."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.answers import choices as st
from tests.answers.drawn import optional
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance

OPTIONS: list[dict[str, Any]] = [
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


def rosenbrock(library: Any, x: Any, y: Any) -> Any:
    return (100 * (y - x**2) ** 2 + (1 - x) ** 2).sum()


def logistic(library: Any, x: Any, y: Any) -> Any:
    return library.nn.functional.softplus(x * y).sum() + 0.1 * (x**2).sum() + ((y - 1) ** 2).sum()


DRAWN = optional(
    lr=st.sampled_from([0.01, 0.3, 1.0, 5.0, -0.1]),
    max_iter=st.integers(0, 5),
    max_eval=st.one_of(st.none(), st.integers(2, 12)),  # with one, torch's search fails inside
    tolerance_grad=st.sampled_from([0.0, 1e-7, 0.1, 1.0]),
    tolerance_change=st.sampled_from([0.0, 1e-9, 0.01, 0.5]),
    history_size=st.integers(1, 4),
    line_search_fn=st.sampled_from([None, "strong_wolfe"]),
)


Function = Callable[[Any, Any, Any], Any]


def steps_down(
    library: Any,
    dtype: str,
    options: dict[str, Any],
    function: Function,
    seed: int,
    steps: int,
    state: Any = None,
) -> tuple[list[Any], list[float], Any]:
    rng = np.random.default_rng(seed)
    leaves = [library.from_numpy(rng.standard_normal(3).astype(dtype)).requires_grad_() for _ in range(2)]
    optimizer = library.optim.LBFGS(leaves, **options)
    if state is not None:
        optimizer.load_state_dict(state)
    trace = []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = function(library, *leaves)
        loss.backward()
        trace.append(loss.item())
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return leaves, trace, optimizer


def told(leaves: list[Any], trace: list[float], optimizer: Any, whole: bool = False) -> Any:
    """Tell weights, losses, counts and lengths of the state; with `whole` its numbers as well."""
    found = optimizer.state_dict()
    (group,), state = found["param_groups"], found["state"][0]
    counts = {name: state[name] for name in ("n_iter", "func_evals")}
    lengths = {name: len(state.get(name) or ()) for name in ("old_dirs", "old_stps", "ro")}
    numbers = {
        name: np.asarray(state[name], np.float64)
        for name in ("d", "prev_flat_grad", "H_diag", "prev_loss")
        if whole and name in state
    }
    options = {**group, "lr": float(group["lr"])}
    return [leaves, trace, options, sorted(state), counts, lengths, numbers]


def play(library: Any, options: dict[str, Any], function: Function, whole: bool, **run: Any) -> Any:
    return told(*steps_down(library, options=options, function=function, **run), whole=whole)


def by_chance(
    library: Any, options: dict[str, Any], function: Function, seed: int, steps: int, as_tensor: bool
) -> Any:
    rate = options.get("lr")
    given = {**options, "lr": library.tensor(rate)} if as_tensor and rate is not None else options
    return told(*steps_down(library, "float64", given, function, seed, steps))


@st.composite
def drawn_run(draw: st.Draw) -> Play:
    options = draw(DRAWN)
    function = draw(st.sampled_from([logistic, rosenbrock]))
    if options.get("line_search_fn") is None:
        # Without a search, long steps run away, and then every bit counts.
        options = {**options, "lr": min(options.get("lr", 0.3), 0.3)}
        function = logistic
    return partial(
        by_chance,
        options=options,
        function=function,
        seed=draw(st.integers(0, 1000)),
        steps=draw(st.integers(1, 2)),
        as_tensor=draw(st.booleans()),
    )


def going_on(library: Any) -> Any:
    options = {"line_search_fn": "strong_wolfe", "max_iter": 3}
    *_, first = steps_down(library, "float64", options, logistic, 0, 2)
    return told(*steps_down(library, "float64", options, logistic, 5, 2, first.state_dict()))


def complex_parameters(library: Any) -> Any:
    z = library.from_numpy(np.array([1.0 + 2.0j, -1.0 + 0.5j])).requires_grad_()
    optimizer = library.optim.LBFGS([z], lr=0.5, max_iter=5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((z - (0.5 - 1j)).abs() ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return z


CASES: dict[str, Play] = {"going on": going_on, "complex parameters": complex_parameters}
for _function in (logistic, rosenbrock):
    for _number, _options in enumerate(OPTIONS):
        # Without a search the second runs away.
        _given = {"line_search_fn": "strong_wolfe", **_options} if _function is rosenbrock else _options
        CASES[f"{_function.__name__} | {_number}"] = partial(
            play, options=_given, function=_function, whole=True, dtype="float64", seed=0, steps=3
        )
for _search in (None, "strong_wolfe"):
    CASES[f"single precision | {_search}"] = partial(
        play,
        options={"line_search_fn": _search, "lr": 0.3, "max_iter": 4},
        function=logistic,
        whole=False,
        dtype="float32",
        seed=0,
        steps=1,
    )
for _number, _run in enumerate(st.draw_all(drawn_run(), "lbfgs", 80)):
    CASES[f"by chance | {_number}"] = _run


def near(case: str) -> Tolerance:
    found = 2e-3 if case.startswith("single") else 1e-6
    return Tolerance(found, found)


SUBJECT = Subject("lbfgs", CASES, near)
