"""Views, and what an in-place operation does to the history of a tensor, of its base and its views.

A view remembers its base and the steps that lead from there. When the data is written, through any
of them, the base gets the history of the new value; a view finds its own anew, by the steps, when
it is next asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GradientError
from ..rules import raw
from ..rules.copying import Step, replay
from .bridge import bridge, wrap
from .modes import Task, enable_grad
from .node import Edge, Node, sequence_numbers
from .variable import Variable, counter_of, edge_of

if TYPE_CHECKING:
    from ..rules import Rule

NO_GRAD = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Make the "
    "view with gradients enabled, or write to it inside no_grad"
)
SEVERAL = (
    "Output {number} of {name} is a view and is being modified inplace. This view is the output of a "
    "function that returns multiple views. Their common history cannot be split: take the part by "
    "indexing, or use the out-of-place operation"
)
CUSTOM = (
    "Output {number} of {name} is a view and is being modified inplace. This view was created inside a "
    "custom Function (or an input was returned as it is), and the history that the Function gives it "
    "would be lost. Return a .clone() from the Function, or use the out-of-place operation"
)

STALE = "and its base or another view of its base has been"


class View:
    """How a tensor is seen through its base: `steps` lead from the base to the view.

    `version` is that of the data when the history of the view was last known to be right.
    `refusal` says why the view may not be written while gradients are on, or is None.
    """

    __slots__ = ("base", "refusal", "steps", "version")

    def __init__(self, base: Variable, steps: tuple[Step, ...], version: int, refusal: str | None) -> None:
        self.base = base
        self.steps = steps
        self.version = version
        self.refusal = refusal

    def refresh(self, view: Variable) -> None:
        """Give `view` the history that its base has now, if the data was written since.

        Raises GradientError where the view has a history of its own that is out of date now.
        """
        found = counter_of(view).value
        if found == self.version:
            return
        if self.refusal is not None and view._edge is not None:
            raise GradientError(self.refusal.replace("and is being", STALE, 1))
        self.version = found
        if self.refusal is not None or not self.base.requires_grad:
            return
        with enable_grad():
            again = replay(bridge.xp, self.base, self.steps)
        move_retained(view, again._edge)
        view._edge = again._edge
        view._needs = again._needs


def make_view(
    view: Variable, source: Variable, rule: Rule, options: dict[str, Any], number: int | None, recorded: bool
) -> None:
    """Note that `view` is `rule` of `source` and shares its data; `recorded` says whether grad mode is on."""
    view._counter = counter_of(source)
    before = source._view
    step = (rule, options, number)
    refusal = None if recorded else NO_GRAD
    if number is not None and refusal is None:
        refusal = SEVERAL.format(number=number, name=rule.label)
    if before is None:
        view._view = View(source, (step,), view._counter.value, refusal)
    else:
        view._view = View(before.base, (*before.steps, step), view._counter.value, refusal or before.refusal)


def check_in_place(variable: Variable, needed: bool) -> None:
    """Raise GradientError when `variable` must not be written with gradients on.

    `needed` says whether the new value, or the old one, requires a gradient.
    """
    view = variable._view
    if view is not None and view.refusal is not None and (needed or view.base.requires_grad):
        raise GradientError(view.refusal)
    if variable.requires_grad and variable.is_leaf:
        raise GradientError(
            "a leaf Variable that requires grad is being used in an in-place operation; write to it inside "
            "kellet.no_grad(), or use the out-of-place operation"
        )
    if view is not None and view.base.requires_grad and view.base.is_leaf:
        raise GradientError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation; write "
            "to it inside kellet.no_grad(), or to a .clone() of the leaf"
        )


def rebase(variable: Variable, node: Node, position: int = 0) -> None:
    """Give `variable`, just written, the history `node`; its base follows when it is a view.

    `position` is the place of the old value among the inputs of `node`.
    """
    view = variable._view
    if view is None:
        move_retained(variable, node)
        variable._edge = node
        variable._needs = True
        return
    base = view.base
    whole = _new_copy_slices(base, view.steps, node, position)
    move_retained(base, whole)
    base._edge = whole
    base._needs = True
    view.version = -1  # the next look finds the history through the base
    view.refresh(variable)


def move_retained(variable: Variable, place: Node | Edge | None) -> None:
    """Let a tensor go on retaining its gradient with its new history; its hooks stay behind."""
    old = variable._edge
    if old is None or old._nr < 0 or place is None:
        return
    hooks = old._as_function()[0].hooks
    if hooks is not None and old._nr in hooks.retain:
        node, number = place._as_function()
        node._hooks().retain[number] = hooks.retain.pop(old._nr)


class CopySlices(Node):
    """The step from a base to the same base with one view of it written by `inner`.

    The edges are those of `inner`, with that of the base in the place of the view's, at `position`.
    """

    __slots__ = ("inner", "position", "steps")

    inner: Node
    position: int
    steps: tuple[Step, ...]

    def run(self, grads: Sequence[Any], needs: tuple[bool, ...], task: Task) -> Sequence[Any]:
        grad = grads[0]
        if grad is None:
            return (None,) * len(needs)
        xp = bridge.xp if task.graph else raw
        asked = tuple([need and inner for need, inner in zip(needs, self.inner.needs, strict=True)])
        results = list(self._run_inner(replay(xp, grad, self.steps), asked, task))
        at = self.position
        if needs[at]:
            part = results[at]
            if part is None:
                part = xp.constant(np.zeros(self.inner.shape, self.inner.dtype))
            results[at] = xp.overwrite(grad, part, steps=self.steps)
        return results

    def _run_inner(self, grad: Any, needs: tuple[bool, ...], task: Task) -> Sequence[Any]:
        """Run `inner`, which keeps what it saved where it takes part in the pass itself, later.

        A derivative that read an output of `inner` leads there: see OutputValue.
        """
        before, task.keep = task.keep, task.keep or self.inner in task.counts
        try:
            return self.inner.run((grad,), needs, task)
        finally:
            task.keep = before


def _new_copy_slices(base: Variable, steps: tuple[Step, ...], inner: Node, position: int) -> CopySlices:
    node = CopySlices()
    node.hooks = None
    node.others = None
    node.inner = inner
    node.steps = steps
    node.position = position
    node.edges = (*inner.edges[:position], edge_of(base), *inner.edges[position + 1 :])
    node.needs = tuple(edge is not None for edge in node.edges)
    node.sequence = next(sequence_numbers)
    node.shape = base._array.shape
    node.dtype = base._array.dtype
    return node


def old_value(variable: Variable) -> Variable:
    """Return the value of `variable` before it is written, at its place in the graph."""
    held = wrap(variable._array.copy())
    edge = edge_of(variable)
    held._edge = edge  # type: ignore[assignment]  # a leaf is never written with gradients on
    held._needs = edge is not None
    return held
