"""The base of the older normalisations: a forward pre-hook that computes a weight of a module from its parts.

A module keeps such hooks by the name of their weight, in one dict for each kind of normalisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..module import Module


def refuse_second(module: Module, kind: str, name: str) -> None:
    """Raise RuntimeError where the weight `name` has a hook of this kind."""
    if name in vars(module).get(f"_{kind}s", {}):
        raise RuntimeError(f"Cannot register two {kind} hooks on the same parameter {name}")


def put_hook(module: Module, kind: str, name: str, hook: Callable[..., Any]) -> None:
    """Call `hook` before each call of the module, until it is taken."""
    handle = module.register_forward_pre_hook(hook)
    vars(module).setdefault(f"_{kind}s", {})[name] = (hook, handle)


def take_hook(module: Module, kind: str, name: str) -> Any:
    """Remove the hook of the weight `name` and return it. Raises ValueError if it is absent."""
    known = vars(module).get(f"_{kind}s", {}).pop(name, None)
    if known is None:
        raise ValueError(f"{kind} of '{name}' not found in {module}")
    hook, handle = known
    handle.remove()
    return hook
