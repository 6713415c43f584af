"""The generators of random numbers that the process has: those of Python, NumPy, kellet and PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from operator import attrgetter
from typing import Final

_SEED: Final = 0
_GENERATORS: Final = (
    ("random", "getstate", "setstate", "seed"),
    ("numpy.random", "get_state", "set_state", "seed"),
    ("kellet", "get_rng_state", "set_rng_state", "manual_seed"),
    ("torch", "get_rng_state", "set_rng_state", "default_generator.manual_seed"),
    ("torch.cuda", "get_rng_state_all", "set_rng_state_all", "manual_seed_all"),
)
"""The modules that have generators of the process, and what gives their state, sets it, and seeds them."""


@contextmanager
def seeded() -> Iterator[None]:
    """Let the generators of the process begin at one seed in the block; after it they go on as they stood.

    So a golden call draws the same numbers wherever it is made.
    """
    for name in ("random", "numpy.random"):
        import_module(name)
    with ExitStack() as undo:
        for name, get, put, seed in _GENERATORS:
            module = sys.modules.get(name)
            if module is not None and (name != "torch.cuda" or module.is_initialized()):
                undo.callback(getattr(module, put), getattr(module, get)())
                attrgetter(seed)(module)(_SEED)
        yield
