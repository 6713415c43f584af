"""Every layer and every loss, with options, shapes and numbers that are drawn."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.answers.choices import draw_all
from tests.answers.drawn import Case, play_function, play_layer
from tests.answers.drawn_layers import LAYERS
from tests.answers.drawn_losses import FUNCTIONS, LOSSES, weighed
from tests.answers.drawn_sequences import SEQUENCES
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance

NEAR = {"float32": 2e-4, "float64": 1e-9}
# The derivative of torch in float64 has a sixth that was rounded to float32.
ROUNDED = {"Hardsigmoid": 1e-8}
COUNT = 20


def near(case: str) -> Tolerance:
    name, dtype, _ = case.split(" | ")
    found = max(NEAR[dtype], ROUNDED.get(name, 0.0))
    return Tolerance(found, found, scaled=True)


def layer(library: Any, name: str, case: Case, dtype: str) -> Any:
    return play_layer(library, name, case, dtype)


def function(library: Any, name: str, case: Case) -> Any:
    return play_function(library, name, case)


def drawn_cases(count: int = COUNT, again: str = "") -> dict[str, Play]:
    """Draw `count` cases of each layer, loss and function in each dtype; `again` draws others."""
    found: dict[str, Play] = {}
    for dtype in NEAR:
        for name, strategy in {**LAYERS, **SEQUENCES, **LOSSES}.items():
            for number, case in enumerate(draw_all(strategy(dtype), f"{name} {dtype}{again}", count)):
                found[f"{name} | {dtype} | {number}"] = partial(layer, name=name, case=case, dtype=dtype)
        for name in FUNCTIONS.values():
            for number, case in enumerate(draw_all(weighed(name, dtype), f"{name} {dtype}{again}", count)):
                found[f"{name} | {dtype} | {number}"] = partial(function, name=name, case=case)
    return found


SUBJECT = Subject("layers_by_chance", drawn_cases(), near)
