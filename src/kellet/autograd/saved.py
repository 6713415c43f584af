"""Values that a step keeps for backward, and the hooks that may pack them away meanwhile.

A saved input is the tensor itself with the version it had. A saved output must not be: the node
would hold the tensor that holds the node. It is an `OutputValue`: array, version, number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import is_differentiable
from ..errors import GradientError, HookError, HookTypeError, VersionError
from .bridge import Array, Counter, bridge, wrap
from .modes import PackHooks, no_grad, set_packing, state
from .node import Node, Target, target
from .variable import Variable, counter_of, edge_of

RELEASED: Any = object()
"""Takes the place of a node's saved values once backward has released them."""


def released_error(name: str) -> GradientError:
    """Make the error that a second backward raises."""
    return GradientError(
        f"{name}: Trying to backward through the graph a second time, or to read saved values after they "
        "have already been freed: the first backward released them. Specify retain_graph=True in every "
        "backward call but the last"
    )


def check_version(name: str, array: Array, expected: int, found: int) -> None:
    """Raise VersionError when a saved value was written since."""
    if found != expected:
        raise VersionError(
            f"{name}: a tensor needed for gradient computation has been modified by an inplace operation: "
            f"the value of shape {array.shape} and dtype {array.dtype} is at version {found}; expected "
            f"version {expected} instead. Use the out-of-place operation, or change a .clone() of it"
        )


def at_place(value: Variable, edge: Target | None) -> Variable:
    """Return a saved input at the place in the graph that it had.

    `detach_()` may have taken it from there since, and `requires_grad_(False)` a leaf.
    """
    if (value if value._edge is None and value._needs else value._edge) is edge:
        return value
    made = wrap(value._array)
    made._counter = value._counter
    made._edge = edge  # type: ignore[assignment]  # a leaf may stand for another tensor here
    made._needs = edge is not None
    return made


class OutputValue:
    """An output of a node, kept by that node."""

    __slots__ = ("array", "counter", "number", "version")

    def __init__(self, variable: Variable, number: int) -> None:
        self.array = variable._array
        if variable._counter is None:
            variable._counter = Counter()  # a fresh output has not been seen yet
        self.counter: Counter = variable._counter
        self.version = self.counter.value
        self.number = number

    def raw(self, node: Node) -> Array:
        """Return the array, after a look at its version."""
        check_version(node.name(), self.array, self.version, self.counter.value)
        return self.array

    def tensor(self, node: Node) -> Variable:
        """Return a tensor that stands at its place in the graph."""
        made = wrap(self.raw(node))
        made._counter = self.counter
        if is_differentiable(made._array.dtype):  # an output of indexes has no place in the graph
            made._edge = target(node, self.number)
            made._needs = True
        return made


class PackedValue:
    """A saved tensor that went through a pack hook, with the hook that brings it back.

    It is output `number` of its node, or else an input whose place in the graph is `edge`.
    """

    __slots__ = ("edge", "number", "packed", "unpack_hook")

    def __init__(self, variable: Variable, hooks: PackHooks, number: int | None, edge: Target | None) -> None:
        pack_hook, self.unpack_hook = hooks
        self.number = number
        self.edge = edge
        self.packed = _run_pack(pack_hook, variable, number is not None)

    def raw(self, node: Node) -> Array:
        return self._unpacked(node)._array

    def tensor(self, node: Node) -> Variable:
        """Return what the unpack hook returns, at the place in the graph of what was packed."""
        found = self._unpacked(node)
        return at_place(found, self.edge if self.number is None else target(node, self.number))

    def _unpacked(self, node: Node) -> Variable:
        found = self.unpack_hook(self.packed)
        if not isinstance(found, bridge.tensor):
            raise HookTypeError(
                f"{node.name()}: the unpack hook of a saved tensor returned '{type(found).__name__}'; "
                "it must return a tensor"
            )
        return found  # type: ignore[no-any-return]  # checked above, against a class known at run time only


def _run_pack(pack_hook: Callable[[Any], Any], variable: Variable, output: bool) -> Any:
    """Call the hook, gradients off: on the input itself, which it may know, or on an output's values.

    What the hook returns is held by the node, so it is not given the output, which holds the node.
    """
    shown = wrap(variable._array) if output else variable
    shown._counter = counter_of(variable)
    before = shown._counter.value
    with no_grad(), _without_hooks():
        packed = pack_hook(shown)
    if shown._counter.value != before:
        raise HookError(
            "A saved tensor pack hook is modifying its input in place. Others see the same values, so let "
            "the hook return a changed copy"
        )
    return packed


def pack(variable: Variable, number: int | None = None) -> Any:
    """Return what a node keeps for `variable` where this thread may have saved-tensor hooks.

    `number` tells which output of the node it is, None that it is an input.
    """
    if state.packing:
        return PackedValue(variable, state.packing[-1], number, edge_of(variable) if number is None else None)
    return variable if number is None else OutputValue(variable, number)


def repack(value: object, hooks: PackHooks, node: Node, edge: Target | None) -> PackedValue:
    """Return a saved value sent through hooks of its own; `edge` is the place of an input when it was saved.

    Raises GradientError where hooks are set already, or nothing was saved that they could pack.
    """
    if isinstance(value, PackedValue):
        raise GradientError("hooks on this saved tensor have already been set; register them once")
    if not isinstance(value, OutputValue | Variable):
        raise GradientError("nothing was saved here that hooks could pack; ask for another saved value")
    if isinstance(value, OutputValue):
        return PackedValue(value.tensor(node), hooks, value.number, None)
    return PackedValue(value, hooks, None, edge)


class saved_tensors_hooks:
    """Inside the `with`, `pack_hook(tensor)` is called for each tensor that an operation saves.

    Backward calls `unpack_hook` on the value that the pack hook returned; it must return a tensor with the
    same values. The innermost pair is used. Python numbers are not packed.

    Raises HookError when a pack hook changes its argument in place.

    Raises TypeError for a hook that cannot be called.

    Source: torch.autograd.graph.saved_tensors_hooks.

    >>> import kellet
    >>> x = kellet.tensor([1.0, 2.0], requires_grad=True)
    >>> with kellet.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy(), kellet.from_numpy):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(f"a hook must be callable, got {type(hook).__name__}: {hook!r}")
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if state.packing_refused:
            raise GradientError(state.packing_refused[-1])
        set_packing((*state.packing, (self.pack_hook, self.unpack_hook)))

    def __exit__(self, *exc: object) -> None:
        set_packing(state.packing[:-1])


class disable_saved_tensors_hooks:
    """Inside the `with`, `saved_tensors_hooks` raises GradientError with this message. It nests.

    Entering where such hooks are active raises at once.

    Source: torch.autograd.graph.disable_saved_tensors_hooks.

    >>> with kellet.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with kellet.autograd.graph.saved_tensors_hooks(print, print):
    ...         pass
    Traceback (most recent call last):
    kellet.errors.GradientError: ...
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if state.packing:
            raise GradientError(self.error_message)
        state.packing_refused = (*state.packing_refused, self.error_message)

    def __exit__(self, *exc: object) -> None:
        state.packing_refused = state.packing_refused[:-1]


class _without_hooks:
    """Operations of a pack hook are not packed themselves."""

    def __enter__(self) -> None:
        self._before = state.packing
        set_packing(())

    def __exit__(self, *exc: object) -> None:
        set_packing(self._before)


class SavedTensor:
    """One saved value of a node, as `grad_fn._raw_saved_...` shows it: pack hooks for it alone.

    Source: torch.autograd.SavedTensor. Raises RuntimeError where it is called.

    >>> node = kellet.ones(1, requires_grad=True).exp().grad_fn
    >>> isinstance(node._raw_saved_result, kellet.autograd.SavedTensor)
    True
    """

    _holder: Any
    _index: int

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden; nodes make them")

    @classmethod
    def _of(cls, holder: Any, index: int) -> SavedTensor:
        made = cls.__new__(cls)
        made._holder, made._index = holder, index
        return made

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pack this value now, and unpack it when backward, or a reader, wants it.

        Raises TypeError for a hook that cannot be called.
        """
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(f"a hook must be callable, got {type(hook).__name__}: {hook!r}")
        self._holder.pack_one(self._index, (pack_hook, unpack_hook))
