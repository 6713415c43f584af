"""What autograd keeps with every tensor: array, place in the graph, gradient, version, hooks.

`kellet.Tensor` is a Variable with operations. A tensor made by a recorded step points to its node
(`_edge`); a leaf that requires a gradient has no node and stands in the edges of later nodes
itself, so that a forward pass makes nothing for it.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ..dtypes import dtype_name, is_differentiable
from ..errors import DTypeError, GradientError, ShapeError
from ..hooks import HookMapping, HookRegistry, RemovableHandle
from .accumulate import accumulator
from .bridge import Array, Counter, bridge
from .node import Edge, Node
from .node_hooks import LeafHooks, hooks_of

if TYPE_CHECKING:
    from typing import Self

    from .views import View


class Variable:
    """The state of one tensor. Everything with an underscore belongs to autograd and to core.

    `_array`    the ndarray
    `_edge`     the Node that made it, or an Edge when it is a further output; None for a leaf (or
                the leaf that an unpacked saved value stands for)
    `_needs`    whether it requires a gradient
    `_grad`     the gradient, a Tensor, or None
    `_counter`  the version counter; None stands for version 0, not shared so far
    `_view`     how it is seen through its base, for a differentiable view; else None
    `_hooks`    LeafHooks of a leaf, made on first use

    Called, as old code does, it returns a tensor over the same data, a leaf.

    >>> isinstance(kellet.ones(1), kellet.autograd.Variable)
    True
    >>> kellet.autograd.Variable(kellet.ones(1), requires_grad=True)
    tensor([1.], requires_grad=True)
    """

    __slots__ = ("__weakref__", "_array", "_counter", "_edge", "_grad", "_hooks", "_needs", "_view")

    _nr = -1
    _execution_engine: ClassVar[Any]
    _array: Array
    _edge: Node | Edge | None
    _needs: bool
    _grad: Any
    _counter: Counter | None
    _view: View | None
    _hooks: LeafHooks | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(bridge.tensor if cls is Variable else cls)

    # --- in the graph -----------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor. Can be set on leaves of floating or complex dtype."""
        if self._view is not None:
            self._view.refresh(self)
        return self._needs

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Start or stop to record what is done with this leaf; return the tensor.

        Raises DTypeError for integers and bools, GradientError when it would be switched off on a
        tensor that a recorded operation made.
        """
        if requires_grad:
            if not is_differentiable(self._array.dtype):
                raise DTypeError(
                    "only tensors of floating point and complex dtype can require gradients, this one is "
                    f"{dtype_name(self._array.dtype)}; convert it first, e.g. with .float()"
                )
            self._needs = True
        elif not self.is_leaf:
            raise GradientError(
                "you can only change requires_grad flags of leaf variables, and this tensor is the result of "
                f"{self.grad_fn!r}; use x.detach() for a tensor that requires no gradient"
            )
        else:
            self._needs = False
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return self._made_by() is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor; None for a leaf."""
        node = self._made_by()
        return None if node is None else node._shown()

    def _made_by(self) -> Node | None:
        """The same, whatever its class is called."""
        if self._view is not None:
            self._view.refresh(self)
        edge = self._edge
        if type(edge) is Edge:
            return edge.node
        return None if edge is None or edge._nr < 0 else edge  # type: ignore[return-value]  # a Node, as _nr says

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this tensor is."""
        return 0 if self._edge is None else max(self._edge._nr, 0)

    # --- the gradient -----------------------------------------------------------------------------

    @property
    def grad(self) -> Any:
        """The gradient that backward stored here, a tensor of the same shape and dtype, or None.

        Warns where it is None because this is not a leaf and `retain_grad()` was not called.
        """
        if self._grad is None and self._edge is not None and not self.is_leaf and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed, and "
                "backward() does not fill it. Call .retain_grad() on the tensor before backward, or look "
                "at the leaf",
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            self._check_grad(value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_grad(self, value: Any) -> None:
        if not isinstance(value, Variable):
            raise TypeError(f"assigned grad has to be a tensor or None, got {type(value).__name__}")
        if value is self:
            raise GradientError("can't assign a tensor as its own grad; assign x.detach().clone()")
        if value._array.dtype != self._array.dtype:
            raise DTypeError(
                f"assigned grad has dtype {dtype_name(value._array.dtype)}, but the tensor has "
                f"{dtype_name(self._array.dtype)}; convert the gradient with .to(x.dtype)"
            )
        if value._array.shape != self._array.shape:
            raise ShapeError(
                f"assigned grad has shape {value._array.shape}, but the tensor has {self._array.shape}; "
                "assign a gradient of the tensor's own shape"
            )

    def retain_grad(self) -> None:
        """Store the gradient of this non-leaf tensor in `.grad`, after all of its tensor hooks ran.

        Does nothing on a leaf. Raises GradientError when the tensor requires no gradient.

        Source: torch.Tensor.retain_grad.
        """
        self._require_gradient("can't retain_grad on")
        node = self._made_by()
        if node is not None:
            node._hooks().retain.setdefault(self.output_nr, weakref.ref(self))

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad()` was asked for on this non-leaf tensor."""
        node = self._made_by()
        return node is not None and node.hooks is not None and self.output_nr in node.hooks.retain

    # --- hooks ------------------------------------------------------------------------------------

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(grad)` every time the whole gradient of this tensor has been computed.

        The hook returns None, or a tensor of the same shape and dtype that is used instead. It
        should not change its argument in place: other tensors may share that gradient. A hook
        registered before an in-place operation on the tensor sees the gradient of the old value.

        Raises GradientError when the tensor requires no gradient, TypeError for a value that is not callable.

        Source: torch.Tensor.register_hook.

        >>> import kellet
        >>> x = kellet.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 2)
        >>> x.sum().backward()
        >>> x.grad
        tensor([2., 2.])
        """
        self._require_gradient("cannot register a hook on")
        return self._tensor_registry().add(hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(tensor)` each time backward has written `.grad` of this leaf.

        It must return None, else backward raises HookError. Raises GradientError for a tensor that is not a
        leaf or requires no gradient.

        Source: torch.Tensor.register_post_accumulate_grad_hook.
        """
        self._require_gradient("cannot register a hook on")
        if not self.is_leaf:
            raise GradientError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors; use register_hook, or "
                "retain_grad, on this one"
            )
        return self._leaf_hooks().after_accumulation().add(hook)

    @property
    def _backward_hooks(self) -> HookMapping | None:
        """The tensor hooks by their ids, or None where none was ever registered."""
        node = self._made_by()
        hooks = self._hooks if node is None else node.hooks
        registry = None if hooks is None else hooks.tensor.get(self.output_nr)
        return None if registry is None else HookMapping(lambda: registry, "register_hook")

    @property
    def _post_accumulate_grad_hooks(self) -> HookMapping | None:
        registry = None if self._hooks is None else self._hooks.post_accumulate
        if registry is None:
            return None
        return HookMapping(lambda: registry, "register_post_accumulate_grad_hook")

    def _tensor_registry(self) -> HookRegistry[Any]:
        node = self._made_by()
        hooks = self._leaf_hooks() if node is None else node._hooks()
        return hooks.of_tensor(self.output_nr)

    def _leaf_hooks(self) -> LeafHooks:
        return hooks_of(self, "_hooks", LeafHooks)  # type: ignore[no-any-return]  # of the kind asked for

    def _require_gradient(self, what: str) -> None:
        if not self.requires_grad:
            raise GradientError(
                f"{what} a tensor that doesn't require gradient; call requires_grad_() on it, or make it "
                "from tensors that require one with gradients enabled"
            )

    def _as_function(self) -> tuple[Node, int]:
        return (accumulator(self), 0)

    # --- versions ---------------------------------------------------------------------------------

    @property
    def _version(self) -> int:
        """How often the data was changed in place, through this tensor or another view of it."""
        return 0 if self._counter is None else self._counter.value

    @property
    def _base(self) -> Variable | None:
        """The tensor that this one is a view of."""
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None


_making = threading.Lock()


def edge_of(variable: Variable) -> Node | Edge | Variable | None:
    """Tell where the gradient of `variable` goes: its node, the leaf itself, or nowhere."""
    if variable._view is not None:
        variable._view.refresh(variable)
    edge = variable._edge
    return variable if edge is None and variable._needs else edge


def counter_of(variable: Variable) -> Counter:
    """Return the version counter of `variable`, made when it has none so far."""
    counter = variable._counter
    if counter is None:
        with _making:
            counter = variable._counter
            if counter is None:
                counter = variable._counter = Counter()
    return counter


def bump(variable: Variable) -> None:
    """Note that the data of `variable` was written."""
    counter_of(variable).value += 1
