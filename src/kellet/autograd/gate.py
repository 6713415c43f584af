"""A gate: an identity over some tensors that tells a function of their gradients, and passes on its answer.

What a custom Function would do as well, without what only a Function needs: a gate stands around
every module with full backward hooks, so it is short.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .bridge import wrap
from .modes import Task
from .node import Node, sequence_numbers, target
from .variable import Variable, counter_of, edge_of
from .views import CUSTOM, View

__all__ = ["Arrived", "through_gate"]

Gradients = tuple[Any, ...]
Arrived = Callable[[Gradients], Gradients]

NAME = "BackwardHookFunctionBackward"
"""The name that such a node has in PyTorch."""

_new = object.__new__


class GateNode(Node):
    """The node of a gate; `arrived` takes the gradients as Tensors, None where none came."""

    __slots__ = ("arrived",)

    arrived: Arrived

    def name(self) -> str:
        return NAME

    def run(self, grads: Sequence[Any], needs: tuple[bool, ...], task: Task) -> Sequence[Any]:
        task.enter()
        if task.graph:
            return self.arrived(tuple(grads))
        answers = self.arrived(tuple([None if grad is None else wrap(grad) for grad in grads]))
        return [None if answer is None else answer._array for answer in answers]


def through_gate(tensors: Sequence[Any], arrived: Arrived) -> list[Any]:
    """Return tensors of the same data whose gradients go through `arrived` on their way to `tensors`.

    Every one of `tensors` requires a gradient. Backward calls `arrived` once, when all gradients
    are there, with one for each tensor, and passes on as many as it returns. To write to the
    tensors in place is refused, as for the outputs of a custom Function.
    """
    node = _new(GateNode)
    node.arrived = arrived
    node.hooks = None
    node.sequence = next(sequence_numbers)
    node.edges = tuple([edge_of(one) for one in tensors])
    node.needs = (True,) * len(tensors)
    (node.shape, node.dtype), *others = [(one._array.shape, one._array.dtype) for one in tensors]
    node.others = tuple(others) if others else None
    return [_beyond(node, number, one) for number, one in enumerate(tensors)]


def _beyond(node: GateNode, number: int, source: Variable) -> Variable:
    made = wrap(source._array)
    made._counter = counter = counter_of(source)
    made._view = View(source, (), counter.value, _refusal(number))
    made._edge = target(node, number)
    made._needs = True
    return made


@functools.cache
def _refusal(number: int) -> str:
    return CUSTOM.format(number=number, name=NAME)
