"""The graph from outside: nodes, places in it, hooks on saved values and on several tensors.

Source: torch.autograd.graph, in whose place these names stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .gradients import GradientEdge, get_gradient_edge
from .multi_grad import register_multi_grad_hook
from .node import Node
from .saved import disable_saved_tensors_hooks, saved_tensors_hooks
from .variable import Variable, bump

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "saved_tensors_hooks",
]


def increment_version(tensor: Any) -> None:
    """Tell autograd that the data of a tensor (or of several) was changed behind its back.

    A graph that saved the old values then raises VersionError instead of using the new ones.

    Raises TypeError for what is no tensor.

    Source: torch.autograd.graph.increment_version.
    """
    for one in [tensor] if isinstance(tensor, Variable) or not isinstance(tensor, Iterable) else tensor:
        if not isinstance(one, Variable):
            raise TypeError(f"increment_version takes tensors, got {type(one).__name__}")
        bump(one)
