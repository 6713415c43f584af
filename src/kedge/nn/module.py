"""`Module`: what is called, owns parameters, forms a tree, and saves and loads its state.

The four parts are module_hooks.py (the call and its hooks), members.py (what a module owns), tree.py
(walking the tree) and state_dict.py with load_state_dict.py. Here they come together, with the
conversion of all tensors of a module and its printed form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .. import dtypes
from ..autograd.modes import no_grad
from ..core.device import Device, check_device
from ..core.tensor import Tensor
from ..hooks import RemovableHandle
from .load_state_dict import StateLoading
from .module_hooks import ModuleCall
from .tree import ModuleTree

if TYPE_CHECKING:
    from .hooked import HookedModule

__all__ = ["Module"]

Self = TypeVar("Self", bound="Module")


class Module(ModuleCall, ModuleTree, StateLoading):
    """The base of every layer and model.

    A subclass calls `super().__init__()`, gives itself parameters and submodules by setting
    attributes, and defines `forward`. It is used by calling it, which runs its hooks.

    >>> import kedge
    >>> from kedge import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self, factor):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(kedge.tensor(factor))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> net = nn.Sequential(Scale(2.0), nn.ReLU())
    >>> [name for name, parameter in net.named_parameters()]
    ['0.factor']
    >>> net(kedge.tensor([-1.0, 3.0])).tolist()
    [0.0, 6.0]

    Source: torch.nn.Module.
    """

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Convert the floating-point parameters and buffers here and below, in place; return the module.

        `to(dtype)`, `to(device)`, `to(device, dtype)` and `to(tensor)` are understood; the one
        device is "cpu". Raises TypeError for a dtype that is neither floating-point nor complex.
        """
        dtype = _wanted_dtype(*args, **kwargs)
        return self if dtype is None else self._convert(dtype)

    def float(self: Self) -> Self:
        """Convert the floating-point parameters and buffers to float32, in place."""
        return self._convert(dtypes.float32)

    def double(self: Self) -> Self:
        """Convert the floating-point parameters and buffers to float64, in place."""
        return self._convert(dtypes.float64)

    def half(self: Self) -> Self:
        """Convert the floating-point parameters and buffers to float16, in place."""
        return self._convert(dtypes.float16)

    def cpu(self: Self) -> Self:
        """Return the module: its tensors are where they always are."""
        return self

    def _convert(self: Self, dtype: Any) -> Self:
        return self._apply(
            lambda tensor: tensor.to(dtype) if tensor.is_floating_point() or tensor.is_complex() else tensor
        )

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Put `fn(value)` in the place of every parameter's and gradient's values, and of every buffer.

        Parameters stay the same objects, so that optimisers keep them.
        """
        if recurse:
            for child in self.children():
                child._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is None:
                    continue
                grad = parameter.grad
                parameter.grad = None
                parameter.data = fn(parameter)
                if grad is not None:
                    parameter.grad = fn(grad).requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def with_forward_hook(
        self: Self, hook: Callable[[Any, Any], object]
    ) -> tuple[HookedModule[Self], RemovableHandle]:
        """Return a `HookedModule` around this one that calls `hook(input, output)`, and the hook's handle."""
        wrapper = _wrapped(self)
        return wrapper, wrapper.register_forward_hook(hook)

    def with_forward_pre_hook(
        self: Self, hook: Callable[[Any], Any]
    ) -> tuple[HookedModule[Self], RemovableHandle]:
        """Return a `HookedModule` around this one that calls `hook(input)` for the input, and the handle."""
        wrapper = _wrapped(self)
        return wrapper, wrapper.register_forward_pre_hook(hook)

    def with_backward_hook(
        self: Self, hook: Callable[[Any, Any], object]
    ) -> tuple[HookedModule[Self], RemovableHandle]:
        """Return a `HookedModule` around this one that calls `hook(grad_input, grad_output)`, and its handle.

        Source of the three: ferrotorch.
        """
        wrapper = _wrapped(self)
        return wrapper, wrapper.register_backward_hook(hook)

    def extra_repr(self) -> str:
        """Return what the printed form says of this module besides its submodules."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        head = self.extra_repr().splitlines()
        below = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if not below and len(head) <= 1:
            return f"{self._get_name()}({''.join(head)})"
        return "\n  ".join([f"{self._get_name()}(", *head, *below]) + "\n)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _wrapped(module: Self) -> HookedModule[Self]:
    # The wrapper is a Module itself, so its file stands on this one.
    from .hooked import HookedModule

    return HookedModule(module)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _wanted_dtype(*args: Any, **kwargs: Any) -> Any:
    dtype = kwargs.pop("dtype", None)
    device = kwargs.pop("device", None)
    kwargs.pop("non_blocking", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument {next(iter(kwargs))!r}")
    for arg in args:
        if isinstance(arg, Tensor):
            dtype = arg.dtype
        elif isinstance(arg, Device) or (
            isinstance(arg, str) and arg.split(":")[0] in ("cpu", "cuda", "mps")
        ):
            device = arg
        elif arg is not None and not isinstance(arg, bool):
            dtype = arg
    check_device(device)
    if dtype is None:
        return None
    found = dtypes.as_dtype(dtype)
    if not dtypes.is_differentiable(found):
        raise TypeError(
            "nn.Module.to only accepts floating point or complex dtypes, but got desired "
            f"dtype={dtypes.dtype_name(found)}"
        )
    return found
