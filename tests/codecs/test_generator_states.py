"""Each part of the state of a bit generator, at its bound and one beyond."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest

from packager._codecs.c_state import require_bit_generator_state


def words(count: int, dtype: str = "u8") -> Any:
    return np.zeros(count, dtype)


HALF = {"has_uint32": 2, "uinteger": 1 << 32}
# The first value above each bound, and how many words each array has.
STATES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "MT19937": ({"key": words(624, "u4"), "pos": 625}, {}),
    "PCG64": ({"state": 1 << 128, "inc": 1 << 128}, HALF),
    "PCG64DXSM": ({"state": 1 << 128, "inc": 1 << 128}, HALF),
    "Philox": (
        {"counter": words(4), "key": words(2)},
        {"buffer": words(4), "buffer_pos": 5, **HALF},
    ),
    "SFC64": ({"state": words(4)}, HALF),
}


def state_of(algorithm: str) -> dict[str, Any]:
    """A state in which each part is as large as it may be."""
    inner, beside = (
        {name: part - 1 if isinstance(part, int) else part for name, part in parts.items()}
        for parts in STATES[algorithm]
    )
    return {"bit_generator": algorithm, "state": inner, **beside}


def refuses(algorithm: str, state: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        require_bit_generator_state(algorithm, state)


@pytest.mark.parametrize("algorithm", STATES)
def test_the_parts_of_a_state_lie_below_their_bounds(algorithm: str) -> None:
    live = getattr(np.random, algorithm)(1).state
    if algorithm != "MT19937":
        assert live.keys() == state_of(algorithm).keys()
    require_bit_generator_state(algorithm, live)
    require_bit_generator_state(algorithm, state_of(algorithm))
    for at, parts in enumerate(STATES[algorithm]):
        for name, part in parts.items():
            wrong = (
                [
                    (part, f"{part}, not an int from 0 to {part - 1}"),
                    (-1, f"-1, not an int from 0 to {part - 1}"),
                    (True, "a bool, not an int"),
                ]
                if isinstance(part, int)
                else []
            )
            for value, said in wrong:
                state = state_of(algorithm)
                (state if at else state["state"])[name] = value
                refuses(algorithm, state, f"{name} of {algorithm} is {said}")
            if not isinstance(part, int):
                state = state_of(algorithm)
                (state if at else state["state"])[name] = np.append(part, part[:1])
                refuses(
                    algorithm,
                    state,
                    f"{name} of {algorithm} has shape [{len(part) + 1}], expected [{len(part)}]",
                )


@pytest.mark.parametrize("algorithm", STATES)
def test_a_state_has_the_parts_of_its_algorithm(algorithm: str) -> None:
    other = f"the state of {algorithm} has other parts"
    good = state_of(algorithm)
    for wrong in (
        None,
        [*good.items()],
        {**good, "more": 1},
        {**good, "state": {**good["state"], "more": 1}},
        {**good, "state": [*good["state"]]},
        {name: part for name, part in good.items() if name != "state"},
    ):
        refuses(algorithm, wrong, other)
    for name in STATES[algorithm][0]:
        less = copy.deepcopy(good)
        del less["state"][name]
        refuses(algorithm, less, other)
    refuses(algorithm, {**good, "bit_generator": "PCG"}, f"the state is not that of {algorithm}")
