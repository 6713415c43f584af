"""State dicts of many small modules: 4,000 parameters in 2,000 modules, no values worth copying.

The modules lie in three levels (20 x 10 x 10), as layers lie in blocks: torch takes time in the
square of the number of siblings to load.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row

SECTION = "Autograd core"
SAVING = (
    "a third is making 4,000 Tensors, a quarter building their names, a sixth the dict of the version for "
    "each of 2,000 modules; a cache of names would be wrong as soon as somebody writes to a module's tables."
)
LOADING = (
    "every value is checked before the first is written, in a walk of its own through memory that no cache "
    "holds, and every module is looked at, since any may have hooks or a way of its own to load."
)
BLOCKS, LAYERS, PARTS = 20, 10, 10


def rows() -> list[Row]:
    saving = {"kellet": _kellet_save, "torch": _torch_save, "by hand": _save_by_hand}
    loading = {"kellet": _kellet_load, "torch": _torch_load, "by hand": _load_by_hand}
    what = "4,000 parameters in 2,000 modules"
    return [
        Row(SECTION, f"state_dict(), {what}", "ms", saving, (Goal(0.25, "torch", list=2),), why=SAVING),
        Row(
            SECTION, f"load_state_dict(), {what}", "ms", loading, (Goal(0.06, "torch", list=2),), why=LOADING
        ),
    ]


def _model(nn: Any) -> Any:
    layers = [nn.Sequential(*(nn.Linear(2, 2) for _ in range(PARTS))) for _ in range(BLOCKS * LAYERS)]
    return nn.Sequential(*(nn.Sequential(*layers[n * LAYERS : (n + 1) * LAYERS]) for n in range(BLOCKS)))


def _kellet_save() -> Contender:
    from kellet import nn

    return Contender(_model(nn).state_dict)


def _torch_save() -> Contender:
    from torch import nn

    return Contender(_model(nn).state_dict)


def _kellet_load() -> Contender:
    from kellet import nn

    return _load(nn)


def _torch_load() -> Contender:
    from torch import nn

    return _load(nn)


def _load(nn: Any) -> Contender:
    """Load one model's state into another, so that values move."""
    source, target = _model(nn), _model(nn)
    state = source.state_dict()

    def result() -> list[np.ndarray]:
        target.load_state_dict(state)
        same = [
            np.array_equal(value.numpy(), state[key].numpy()) for key, value in target.state_dict().items()
        ]
        return [np.asarray(same)]

    return Contender(lambda: target.load_state_dict(state), result=result)


def _arrays() -> dict[str, np.ndarray]:
    places = product(range(BLOCKS), range(LAYERS), range(PARTS), ("weight", "bias"))
    names = [".".join(map(str, place)) for place in places]
    return {name: np.ones((2, 2) if name.endswith("weight") else 2, np.float32) for name in names}


def _save_by_hand() -> Contender:
    arrays = _arrays()
    return Contender(lambda: {name: array for name, array in arrays.items()})  # noqa: C416 - a name at a time, as one must


def _load_by_hand() -> Contender:
    source, target = _arrays(), _arrays()

    def load() -> None:
        for name, array in target.items():
            array[...] = source[name]

    return Contender(load)
