"""The node of an operation from the table of rules: what it saved, and its derivative run on that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType, dtype_name, is_differentiable
from ..errors import DTypeError
from ..rules import Rule, raw
from ..rules.quiet import quietly
from ..rules.rule import EQUAL, Context
from .bridge import bridge, wrap
from .modes import PackHooks, Task, modes, state
from .node import Node, sequence_numbers, target
from .saved import (
    RELEASED,
    OutputValue,
    PackedValue,
    SavedTensor,
    at_place,
    check_version,
    pack,
    released_error,
    repack,
)
from .variable import Variable

_new = object.__new__

SAVED_NAMES = {"self": 0, "input": 0, "other": 1, "exponent": 1, "mat2": 1, "result": -1, "output": -1}
"""`grad_fn._saved_self` and `grad_fn._raw_saved_self`: which value it is, in PyTorch's spelling."""


class RuleNode(Node):
    """One use of a rule.

    `inputs` has an entry per input: a tensor, a number, a PackedValue, or None where nothing was
    saved; `versions` are those of the tensors. `outputs` holds the saved outputs the same way.
    """

    __slots__ = ("inputs", "kept", "options", "outputs", "rule", "shapes", "versions")
    _named = False

    rule: Rule
    inputs: Any
    versions: tuple[int, ...]
    outputs: Any
    options: dict[str, Any]
    shapes: tuple[tuple[int, ...], ...]
    kept: dict[str, Any]

    def name(self) -> str:
        return self.rule.label

    def run(self, grads: Sequence[Any], needs: tuple[bool, ...], task: Task) -> Sequence[Any]:
        graph = task.graph
        rule = self.rule
        if grads[0] is None and (self.others is None or not any(value is not None for value in grads)):
            return (None,) * len(needs)
        if self.others is not None:
            grads = self._whole(grads, graph)
        ctx = self.context(needs, graph, task.keep)
        assert rule.backward is not None  # a rule without a derivative makes no node
        if graph:
            return rule.backward(bridge.xp, ctx, *grads)
        try:
            return task.quietly(rule.backward, raw, ctx, *grads)  # type: ignore[no-any-return]  # a tuple
        except RuntimeError:
            return quietly(rule.backward, raw, ctx, *grads)  # type: ignore[no-any-return]  # a tuple

    def context(self, needs: tuple[bool, ...], graph: bool, keep: bool) -> Any:
        """Return what the derivative finds of its forward run: this node itself where nothing was saved.

        Unless `keep`, the node lets go of it.

        Raises GradientError when that was released, VersionError when it was changed.
        """
        if self.kept is RELEASED:
            raise released_error(self.rule.label)
        if self.inputs is None and self.outputs is None and not self.kept and needs is self.needs:
            return self
        ctx: Context = _new(Context)
        ctx.needs = needs
        ctx.options = self.options
        ctx.shapes = self.shapes
        ctx.kept = self.kept
        if self.inputs is not None:
            ctx.inputs = self._saved_inputs(graph)
        if self.outputs is not None:
            ctx.outputs = self._saved_outputs(graph)
        if not keep:
            self.release()
        return ctx

    def release(self) -> None:
        """Release the saved values, if there are any."""
        if self.inputs is not None:
            self.inputs = RELEASED
        if self.outputs is not None:
            self.outputs = RELEASED
        if self.kept:
            self.kept = RELEASED

    def _whole(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        """The gradients of several outputs, with zeros where none arrived for a floating output."""
        return [self._zeros(i, graph) if value is None else value for i, value in enumerate(grads)]

    def _zeros(self, number: int, graph: bool) -> Any:
        shape, dtype = self.output(number)
        if not is_differentiable(dtype):
            return None
        return wrap(np.zeros(shape, dtype)) if graph else np.zeros(shape, dtype)

    # --- saved values -----------------------------------------------------------------------------

    def _saved_inputs(self, graph: bool) -> tuple[Any, ...]:
        if self.inputs is RELEASED:
            raise released_error(self.name())
        values: list[Any] = []
        for value, version, edge in zip(self.inputs, self.versions, self.edges):  # noqa: B905  # strict= costs 0.25 us
            if isinstance(value, Variable):
                counter = value._counter
                if counter is not None and counter.value != version:
                    check_version(self.name(), value._array, version, counter.value)
                values.append(at_place(value, edge) if graph else value._array)
            elif isinstance(value, PackedValue):
                values.append(value.tensor(self) if graph else value.raw(self))
            else:
                values.append(value)
        return tuple(values)

    def _saved_outputs(self, graph: bool) -> tuple[Any, ...]:
        if self.outputs is RELEASED:
            raise released_error(self.name())
        if graph:
            return tuple([None if value is None else value.tensor(self) for value in self.outputs])
        return tuple([None if value is None else value.raw(self) for value in self.outputs])

    def saved(self, index: int, name: str) -> Any:
        """Return a saved value as a tensor. Raises AttributeError, with `name` in it, where it was not."""
        if index not in self.rule.wanted(self.needs):
            raise AttributeError(f"{self.rule.label} saved no value {name!r}")
        return self._saved_inputs(True)[index] if index >= 0 else self._saved_outputs(True)[~index]

    def raw_saved(self, index: int, name: str) -> SavedTensor:
        """Return a saved value as what takes pack hooks. Raises AttributeError where it was not saved."""
        if index not in self.rule.wanted(self.needs):
            raise AttributeError(f"{self.rule.label} saved no value {name!r}")
        self._saved_inputs(False) if index >= 0 else self._saved_outputs(False)
        return SavedTensor._of(self, index)

    def pack_one(self, index: int, hooks: PackHooks) -> None:
        """Send one saved value through hooks of its own."""
        held = list(self.inputs if index >= 0 else self.outputs)
        at = index if index >= 0 else ~index
        held[at] = repack(held[at], hooks, self, self.edges[index] if index >= 0 else None)
        self.__class__ = PackedRuleNode
        if index >= 0:
            self.inputs = tuple(held)
        else:
            self.outputs = tuple(held)


def _reader(read: Callable[[RuleNode, int, str], Any], index: int, name: str) -> property:
    return property(lambda node: read(node, index, name))


# Properties and no `__getattr__`, for the reason that core/absent_methods.py gives.
for _name, _index in SAVED_NAMES.items():
    setattr(RuleNode, f"_saved_{_name}", _reader(RuleNode.saved, _index, f"_saved_{_name}"))
    setattr(RuleNode, f"_raw_saved_{_name}", _reader(RuleNode.raw_saved, _index, f"_raw_saved_{_name}"))


class PackedRuleNode(RuleNode):
    """A RuleNode whose saved values went through hooks, which run when it does."""

    __slots__ = ()
    _named = False

    def run(self, grads: Sequence[Any], needs: tuple[bool, ...], task: Task) -> Sequence[Any]:
        task.enter()
        return super().run(grads, needs, task)

    def _saved_inputs(self, graph: bool) -> tuple[Any, ...]:
        """The same; hooks see the values in the order in which they were packed.

        Raises DTypeError where an operation of one dtype got a value back in another one.
        """
        values = self._unpacked(graph)
        if self.rule.promote is EQUAL:
            for value in values:
                dtype = getattr(value, "dtype", self.dtype)
                if dtype is not self.dtype and dtype != self.dtype:
                    raise DTypeError(
                        f"{self.rule.label}: expected saved tensors of the same dtype as the gradient, "
                        f"{dtype_name(self.dtype)}, got {dtype_name(dtype)}; return them from the unpack "
                        "hook as they were packed"
                    )
        return values

    def _saved_outputs(self, graph: bool) -> tuple[Any, ...]:
        """The same, each in the dtype of the output: PyTorch's derivatives of results promote as a whole."""
        return tuple(
            [
                None if value is None else _in(self.output(number)[1], value, graph)
                for number, value in enumerate(super()._saved_outputs(graph))
            ]
        )

    def _unpacked(self, graph: bool) -> tuple[Any, ...]:
        inputs = self.inputs
        if not self.rule.last_first or inputs is RELEASED or any(isinstance(one, Variable) for one in inputs):
            return super()._saved_inputs(graph)
        found = [
            (value.tensor(self) if graph else value.raw(self)) if isinstance(value, PackedValue) else value
            for value in reversed(inputs)
        ]
        return tuple(reversed(found))


def record(
    rule: Rule,
    inputs: tuple[Any, ...],
    options: dict[str, Any],
    needs: tuple[bool, ...],
    kept: dict[str, Any],
    outputs: Sequence[Variable],
) -> RuleNode:
    """Make the node of one use of `rule` and hang `outputs` on it.

    `needs` flags the inputs that require a gradient; at least one does, and none is a view whose
    history is out of date.
    """
    node: RuleNode = _new(RuleNode)
    node.rule = rule
    node.hooks = node.others = None
    node.needs = needs
    node.options = options
    node.kept = kept
    node.sequence = next(sequence_numbers)
    node.edges = tuple(
        [
            (value if value._edge is None else value._edge) if need else None
            for value, need in zip(inputs, needs)  # noqa: B905  # strict= costs 0.25 us
        ]
    )
    node.shapes = _shapes(inputs) if rule.shapes else ()
    first = outputs[0]
    node.shape = first._array.shape
    node.dtype = first._array.dtype
    if rule.outputs == 1:
        first._edge = node
        first._needs = True
    else:
        node.others = tuple([(out._array.shape, out._array.dtype) for out in outputs[1:]])
        for number, out in enumerate(outputs):
            if is_differentiable(out._array.dtype):
                out._edge = target(node, number)
                out._needs = True
    wanted = rule.wanted(needs)
    if wanted:
        _save(node, wanted, inputs, outputs)
    else:
        node.inputs = node.outputs = None
        node.versions = ()
    if modes.odd and modes.anomaly:
        _note_lines(node)
    return node


def _note_lines(node: RuleNode) -> None:
    """Keep with a node the lines that led to its step, as PyTorch does; see anomaly_mode.py."""
    import traceback  # where somebody looks for a fault alone

    node.metadata["traceback_"] = traceback.format_stack()[:-2]


def _shapes(inputs: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple([value._array.shape if isinstance(value, Variable) else () for value in inputs])


def _save(
    node: RuleNode, wanted: tuple[int, ...], inputs: tuple[Any, ...], outputs: Sequence[Variable]
) -> None:
    """Keep what the derivative will read, and no more."""
    packing = modes.odd and state.packing
    rule = node.rule
    if packing:
        node.__class__ = PackedRuleNode
    held: list[Any] = [None] * len(inputs)
    versions = [0] * len(inputs)
    results: list[Any] = [None] * len(outputs)
    for index in _packing_order(rule, wanted) if packing else wanted:
        if index < 0:
            results[~index] = (
                pack(outputs[~index], ~index) if packing else OutputValue(outputs[~index], ~index)
            )
        elif index < len(inputs):
            held[index] = value = inputs[index]
            if isinstance(value, Variable):
                if packing:
                    held[index] = pack(value)
                elif value._counter is not None:
                    versions[index] = value._counter.value
    node.inputs = tuple(held) if wanted[0] >= 0 else None
    node.versions = tuple(versions)
    node.outputs = tuple(results) if wanted[-1] < 0 else None


def _packing_order(rule: Rule, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The saved values in the order in which hooks see them, outputs last."""
    if not rule.last_first:
        return wanted
    inputs = [index for index in wanted if index >= 0]
    return (*reversed(inputs), *wanted[len(inputs) :])


def _in(dtype: DType, value: Any, graph: bool) -> Any:
    if value.dtype == dtype:
        return value
    return bridge.xp.cast(value, dtype=dtype) if graph else value.astype(dtype)
