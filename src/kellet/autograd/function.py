"""Custom steps: a Function with a forward and a backward of its own."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import is_differentiable
from ..errors import GradientError
from ..hooks import signature_of
from .bridge import bridge, wrap
from .modes import PackHooks, Task, no_grad, state
from .node import Node, Target, sequence_numbers, target
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
from .variable import Variable, bump, counter_of, edge_of
from .views import CUSTOM, SEVERAL, View, check_in_place, move_retained, rebase

__all__ = ["Function", "FunctionContext", "once_differentiable"]


class FunctionContext(Node):
    """The `ctx` of one call of a Function, and its node in the graph: one object, as in PyTorch.

    Anything may be noted on it as an attribute. Tensors that backward needs belong into
    `save_for_backward`, which notices when they are changed in place.

    >>> class Double(kellet.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.factor = 2
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * ctx.factor
    >>> x = kellet.ones(1, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor([2.])
    """

    __slots__ = ("__dict__",)

    _function: type[Function]
    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    to_save: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    silent: tuple[int, ...] = ()
    _materialize_non_diff_grads = True
    _saved: Any = ()
    _tensors: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (and None) for backward; call it once, in forward or setup_context.

        Raises TypeError for anything else: note that on `ctx` itself.
        """
        for one in tensors:
            if one is not None and not isinstance(one, Variable):
                raise TypeError(
                    f"save_for_backward can only save tensors or None, got {type(one).__name__}; keep "
                    "other values as attributes, ctx.name = value"
                )
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept, each at its place in the graph.

        Raises VersionError when one was changed in place since, GradientError after it was released.
        """
        if self._saved is RELEASED:
            raise released_error(self.name())
        return tuple([self._unpacked(*saved) for saved in self._saved])

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        """The saved tensors as handles that take pack hooks of their own."""
        if self._saved is RELEASED:
            raise released_error(self.name())
        return tuple([SavedTensor._of(self, index) for index in range(len(self._saved))])

    def mark_dirty(self, *tensors: Any) -> None:
        """Say that forward changed these inputs in place; each must be returned as an output."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that no gradient flows to these outputs."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether backward is given zeros (True, the default) or None for an undefined gradient."""
        self.materialize_grads = value

    def name(self) -> str:
        return type(self).__name__

    # --- the engine's side ------------------------------------------------------------------------

    def run(self, grads: Sequence[Any], needs: tuple[bool, ...], task: Task) -> Sequence[Any]:
        graph = task.graph
        task.enter()
        given = [self._gradient(value, number, graph) for number, value in enumerate(grads)]
        answer = self._function.backward(self, *given)
        results = self._checked(answer if isinstance(answer, tuple | list) else (answer,))
        if not task.keep and self._saved:
            self._saved = RELEASED
        return results if graph else [None if value is None else value._array for value in results]

    def pack_one(self, index: int, hooks: PackHooks) -> None:
        """Send one saved tensor through hooks of its own."""
        held = list(self._saved)
        value, version, edge = held[index]
        held[index] = (repack(value, hooks, self, edge), version, edge)
        self._saved = tuple(held)

    def _gradient(self, value: Any, number: int, graph: bool) -> Any:
        """A gradient as backward is given it; outputs that are not tensors have None."""
        if value is not None:
            return value if graph else wrap(value)
        shape, dtype = self.output(number)
        if dtype is None or not self.materialize_grads:
            return None
        if number in self.silent and not self._materialize_non_diff_grads:
            return None
        return wrap(np.zeros(shape, dtype))

    def _checked(self, answer: Sequence[Any]) -> list[Any]:
        """The gradients of the tensors among the inputs."""
        count = len(self._tensors)
        if len(answer) < count or any(value is not None for value in answer[count:]):
            raise GradientError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got "
                f"{len(answer)}); return one for each argument of forward, None for those without"
            )
        for position, (value, tensor) in enumerate(zip(answer, self._tensors, strict=False), 1):
            if value is not None and not tensor:
                raise GradientError(
                    f"function {self.name()} returned a gradient different from None at position "
                    f"{position}, but the corresponding forward input was not a Variable; return None there"
                )
            if value is not None and not isinstance(value, Variable):
                raise TypeError(
                    f"function {self.name()} returned '{type(value).__name__}' at position {position}; "
                    "expected a tensor or None"
                )
        return [value for value, tensor in zip(answer, self._tensors, strict=False) if tensor]

    def _unpacked(self, value: Any, version: int, edge: Target | None) -> Any:
        if isinstance(value, OutputValue | PackedValue):
            return value.tensor(self)
        if isinstance(value, Variable):
            check_version(self.name(), value._array, version, value._version)
            return at_place(value, edge)
        return value

    def _keep(self, outputs: Sequence[Any]) -> None:
        """Turn what forward asked to save into what the node holds; own outputs not as tensors."""
        own = {
            id(out): n for n, out in enumerate(outputs) if isinstance(out, Variable) and out.grad_fn is self
        }
        self._saved = tuple(
            [
                (None, 0, None) if one is None else (pack(one, own.get(id(one))), one._version, edge_of(one))
                for one in self.to_save
            ]
        )


class Function:
    """A step with a derivative of your own: subclass, write two static methods, call `apply`.

    `forward(ctx, *args)` computes, gradients off; `backward(ctx, *grads)` returns a gradient for
    each argument of forward, None for those that are not tensors. Alternatively `forward(*args)` with
    `setup_context(ctx, inputs, output)` beside it.

    Raises TypeError: it is not made, its `apply` is called.

    Source: torch.autograd.Function.

    >>> import kellet
    >>> class Double(kellet.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = kellet.ones(2, requires_grad=True)
    >>> y = Double.apply(x)
    >>> y
    tensor([2., 2.], grad_fn=<DoubleBackward>)
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    _backward_cls: type[FunctionContext]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        raise TypeError(f"{name} should not be instantiated: call {name}.apply(...)")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        members = {"_function": cls, "__slots__": (), "__module__": cls.__module__}
        cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionContext,), members)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; to be written by the subclass."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function, as a static method"
        )

    @staticmethod
    def setup_context(ctx: object, inputs: tuple[Any, ...], output: object) -> None:
        """Save what backward needs, where forward does not take `ctx`."""
        raise NotImplementedError("setup_context is not implemented; write it beside a forward without ctx")

    @staticmethod
    def backward(ctx: object, *grads: Any) -> Any:
        """Return the gradients of forward's arguments; to be written by the subclass."""
        raise NotImplementedError(
            "You must implement either the backward method of this custom autograd.Function, as a static "
            "method, or use it with gradients off only"
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on the arguments and record the step where a gradient is required."""
        node = cls._backward_cls()
        separate = cls.setup_context is not Function.setup_context
        if separate:
            args = _with_defaults(cls.forward, args, kwargs)
        tensors = [one for one in args if isinstance(one, Variable)]
        edges = tuple([edge_of(one) if state.grad else None for one in tensors])
        node._tensors = tuple([isinstance(one, Variable) for one in args])
        node.needs_input_grad = tuple([isinstance(one, Variable) and one.requires_grad for one in args])
        with no_grad():
            if separate:
                answer = cls.forward(*args)
                cls.setup_context(node, args, answer)
            else:
                answer = cls.forward(node, *args, **kwargs)
        several = isinstance(answer, tuple | list)
        outputs = _finish(node, tensors, edges, list(answer) if several else [answer])
        return tuple(outputs) if several else outputs[0]


def _with_defaults(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments of forward, with those that were left out."""
    bound = signature_of(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


# --- after forward --------------------------------------------------------------------------------


def _finish(
    node: FunctionContext, tensors: list[Any], edges: tuple[Any, ...], outputs: list[Any]
) -> list[Any]:
    """Hang the outputs on the node; inputs that came back become views, dirty ones get a new history."""
    recorded = any(edge is not None for edge in edges)
    _check_dirty(node, tensors, outputs)
    node.hooks = None
    node.edges = edges
    node.needs = tuple([edge is not None for edge in edges])
    node.sequence = next(sequence_numbers)
    places = [
        (out._array.shape, out._array.dtype) if isinstance(out, Variable) else ((), None) for out in outputs
    ]
    node.shape, node.dtype = places[0] if places else ((), None)
    node.others = tuple(places[1:]) or None
    found = [
        _finish_one(node, tensors, out, number, recorded) if isinstance(out, Variable) else out
        for number, out in enumerate(outputs)
    ]
    if recorded:
        node._keep(found)
    node.to_save = ()
    return found


def _check_dirty(node: FunctionContext, tensors: list[Any], outputs: list[Any]) -> None:
    for one in node.dirty_tensors:
        if not _among(one, tensors):
            warnings.warn(
                f"{node.name()}: Only input Tensors should be given to ctx.mark_dirty(); "
                "another value was given and is ignored. Leave it out",
                stacklevel=4,
            )
        elif not _among(one, outputs):
            raise GradientError(
                f"{node.name()}: Some elements marked as dirty during the forward method were not returned "
                "as output. Return every input that forward changes in place"
            )


def _finish_one(node: FunctionContext, tensors: list[Any], out: Any, number: int, recorded: bool) -> Any:
    is_input = _among(out, tensors)
    dirty = is_input and _among(out, node.dirty_tensors)
    if dirty:
        bump(out)
    if not recorded:
        if state.grad and not is_input and out._view is not None:
            out._view.refusal = CUSTOM.format(number=number, name=type(node)._function.__name__)
        return out
    if _among(out, node.non_differentiable) or not is_differentiable(out._array.dtype):
        node.silent = (*node.silent, number)
        return out.detach() if is_input and not dirty else out
    if dirty:
        _rebase_dirty(node, tensors, out, number)
        return out
    if is_input:
        shown, out = out, wrap(out._array)
        out._counter = counter_of(shown)
        out._view = View(shown, (), shown._version, None)
    if out._view is not None:
        reason = CUSTOM if node.others is None else SEVERAL
        out._view.refusal = reason.format(number=number, name=type(node)._function.__name__)
        out._view.version = counter_of(out).value
    out._edge = target(node, number)
    out._needs = True
    return out


def _rebase_dirty(node: FunctionContext, tensors: list[Any], out: Any, number: int) -> None:
    """The history of an input that forward changed, of its base too where it is a view."""
    check_in_place(out, True)
    if out._view is None:
        move_retained(out, target(node, number))
        out._edge = target(node, number)
        out._needs = True
    elif node.others is not None:
        raise GradientError(
            f"{node.name()}: your Function modifies inplace an input that is a view of another Tensor, and "
            "has several outputs; pass a .clone() of the view, or return one output"
        )
    else:
        rebase(out, node, next(i for i, one in enumerate(tensors) if one is out))


def _among(one: Any, others: Sequence[Any]) -> bool:
    return any(one is other for other in others)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that is not differentiable itself: its results raise when differentiated again.

    Source: torch.autograd.function.once_differentiable.

    >>> class Double(kellet.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = kellet.ones(1, requires_grad=True)
    >>> kellet.autograd.grad(Double.apply(x), x)
    (tensor([2.]),)
    """

    @functools.wraps(function)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            answer = function(ctx, *grads)
        if not state.grad or not any(isinstance(g, Variable) and g.requires_grad for g in grads):
            return answer
        results = answer if isinstance(answer, tuple | list) else (answer,)
        given = [g for g in grads if isinstance(g, Variable) and g.requires_grad]
        made = tuple(
            [_Once.apply(value, *given) if isinstance(value, bridge.tensor) else value for value in results]
        )
        return made if isinstance(answer, tuple | list) else made[0]

    return wrapped


class _Once(Function):
    """The value of its first argument, with a history that refuses to be walked."""

    @staticmethod
    def forward(ctx: Any, value: Any, *given: Any) -> Any:
        return wrap(value._array)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise GradientError(
            "trying to differentiate twice a function that was marked with @once_differentiable; write a "
            "backward made of differentiable operations, and remove the decorator"
        )
