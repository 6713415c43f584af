"""`Module`, which is called, owns parameters, forms a tree, and saves and loads its state; `HookedModule`.

The four parts are module_hooks.py (the call and its hooks), members.py (what a module owns), tree.py
(walking the tree) and state_dict.py with load_state_dict.py. Here they come together, with the
conversion of all tensors of a module and its printed form. The wrapper that keeps hooks beside a module
is a Module, and Modules make it, so it stands in the same file.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Generic, Self, TypeVar

from .. import dtypes
from ..autograd import no_grad
from ..core import Device, Tensor
from ..core.device import check_device
from ..errors import HookTypeError
from ..hooks import HookEntry, HookRegistry, RemovableHandle
from .backward_hooks import BackwardHook
from .load_plan import IncompatibleKeys
from .load_state_dict import StateLoading
from .module_hooks import ModuleCall
from .state_dict import StateHooks
from .tree import ModuleTree

Inner = TypeVar("Inner", bound="Module")


class Module(ModuleCall, ModuleTree, StateLoading):
    """The base of every layer and model.

    A subclass calls `super().__init__()`, gives itself parameters and submodules by setting
    attributes, and defines `forward`. It is used by calling it, which runs its hooks.

    >>> import kellet
    >>> from kellet import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self, factor):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(kellet.tensor(factor))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> net = nn.Sequential(Scale(2.0), nn.ReLU())
    >>> [name for name, parameter in net.named_parameters()]
    ['0.factor']
    >>> net(kellet.tensor([-1.0, 3.0])).tolist()
    [0.0, 6.0]

    Source: torch.nn.Module.
    """

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the floating-point parameters and buffers here and below, in place; return the module.

        `to(dtype)`, `to(device)`, `to(device, dtype)` and `to(tensor)` are understood; the one
        device is "cpu". Raises TypeError for a dtype that is neither floating-point nor complex.
        """
        dtype = _wanted_dtype(*args, **kwargs)
        return self if dtype is None else self._convert(dtype)

    def float(self) -> Self:
        """Convert the floating-point parameters and buffers to float32, in place."""
        return self._convert(dtypes.float32)

    def double(self) -> Self:
        """Convert the floating-point parameters and buffers to float64, in place."""
        return self._convert(dtypes.float64)

    def half(self) -> Self:
        """Convert the floating-point parameters and buffers to float16, in place."""
        return self._convert(dtypes.float16)

    def cpu(self) -> Self:
        """Return the module: its tensors are where they always are."""
        return self

    def _convert(self, dtype: Any) -> Self:
        return self._apply(
            lambda tensor: tensor.to(dtype) if tensor.is_floating_point() or tensor.is_complex() else tensor
        )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
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
        self, hook: Callable[[Any, Any], object]
    ) -> tuple[HookedModule[Self], RemovableHandle]:
        """Return a `HookedModule` around this one that calls `hook(input, output)`, and the hook's handle."""
        wrapper = HookedModule(self)
        return wrapper, wrapper.register_forward_hook(hook)

    def with_forward_pre_hook(self, hook: Callable[[Any], Any]) -> tuple[HookedModule[Self], RemovableHandle]:
        """Return a `HookedModule` around this one that calls `hook(input)` for the input, and the handle."""
        wrapper = HookedModule(self)
        return wrapper, wrapper.register_forward_pre_hook(hook)

    def with_backward_hook(
        self, hook: Callable[[Any, Any], object]
    ) -> tuple[HookedModule[Self], RemovableHandle]:
        """Return a `HookedModule` around this one that calls `hook(grad_input, grad_output)`, and its handle.

        Source of the three: ferrotorch.
        """
        wrapper = HookedModule(self)
        return wrapper, wrapper.register_backward_hook(hook)

    def extra_repr(self) -> str:
        """Return the text for the printed form of this module, besides its submodules."""
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


class HookedModule(Module, Generic[Inner]):
    """A module around `inner` that runs hooks when it is called and stands for `inner` in all else.

    Parameters, buffers, submodules, mode and state are those of `inner`, under the same names
    without a prefix. The hooks see the first positional argument as the input. They may be
    registered, run and removed from any thread; their handles count 0, 1, 2, ... within the wrapper.
    `forward` runs the hooks as well.

    Raises TypeError for a value that is not a Module.

    Source: ferrotorch's `hooks.rs`. Its forward pre-hooks must answer, its other hooks only observe.
    There backward hooks are stored and never called; here they run.

    >>> import kellet
    >>> from kellet import nn
    >>> net, handle = nn.Identity().with_forward_hook(lambda input, output: print(output.shape))
    >>> _ = net(kellet.ones(4))
    (4,)
    >>> handle.remove()
    >>> handle.id, net.inner
    (0, Identity())
    """

    _pre_hooks: HookRegistry[Callable[[Any], Any]]
    _observers: HookRegistry[Callable[[Any, Any], object]]
    _gradient_observers: HookRegistry[Callable[[Any, Any], object]]

    def __init__(self, inner: Inner) -> None:
        if not isinstance(inner, Module):
            raise TypeError(f"HookedModule wraps an nn.Module, got {type(inner).__name__}: {inner!r}")
        super().__init__()
        ids = itertools.count()
        self.__dict__.update(
            _inner=inner,
            # The very dictionaries of the inner module, so that every walk finds its names.
            _parameters=inner._parameters,
            _buffers=inner._buffers,
            _modules=inner._modules,
            _non_persistent_buffers_set=inner._non_persistent_buffers_set,
            _pre_hooks=HookRegistry(ids),
            _observers=HookRegistry(ids),
            _gradient_observers=HookRegistry(ids),
        )

    @property
    def inner(self) -> Inner:
        """The wrapped module."""
        inner: Inner = self.__dict__["_inner"]
        return inner

    @property
    def _stands_for(self) -> Inner:  # type: ignore[override]  # for each wrapper its own
        return self.inner

    def into_inner(self) -> Inner:
        """Return the wrapped module and drop every hook of the wrapper."""
        for registry in (self._pre_hooks, self._observers, self._gradient_observers):
            registry.clear()
        return self.inner

    def register_forward_pre_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:  # type: ignore[override]  # ferrotorch's form
        """Call `hook(input)` before the module runs; its return value becomes the input, and None raises."""
        return self._pre_hooks.add(hook)

    def register_forward_hook(self, hook: Callable[[Any, Any], object]) -> RemovableHandle:  # type: ignore[override]  # ferrotorch's form
        """Call `hook(input, output)` after the module ran, input as it went in; the answer is ignored."""
        return self._observers.add(hook)

    def register_backward_hook(self, hook: Callable[[Any, Any], object]) -> RemovableHandle:
        """Call `hook(grad_input, grad_output)` during backward; the answer is ignored.

        Both are single Tensors: the gradients of the input and of the (first) output, or None.
        """
        return self._gradient_observers.add(hook)

    def forward(self, input: object, *args: Any, **kwargs: Any) -> Any:
        """Run the wrapped module with the hooks. Raises HookTypeError for a pre-hook that answers None."""
        for entry in self._pre_hooks:
            answer = entry.hook(input)
            if answer is None:
                raise HookTypeError(
                    f"a forward pre-hook of HookedModule must return the input, got None from {entry.hook!r};"
                    " return the input unchanged to keep it"
                )
            input = answer
        if not self._gradient_observers:
            output = self.inner(input, *args, **kwargs)
        else:
            output = self._run_watched(input, *args, **kwargs)
        for observer in self._observers:
            observer.hook(input, output)
        return output

    def _run_watched(self, input: Any, *args: Any, **kwargs: Any) -> Any:
        watchers = tuple(_FirstOnly(entry) for entry in self._gradient_observers.entries)
        gates = BackwardHook(self, watchers, ())
        args = gates.setup_input_hook((input, *args))
        return gates.setup_output_hook(self.inner(*args, **kwargs))

    @property
    def training(self) -> bool:
        """Whether the inner module is in training mode."""
        return self.inner.training

    @training.setter
    def training(self, mode: bool) -> None:
        self.inner.training = mode

    def train(self, mode: bool = True) -> Self:
        self.inner.train(mode)
        return self

    def apply(self, fn: Callable[[Module], object]) -> Self:
        self.inner.apply(fn)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        self.inner._apply(fn, recurse)
        return self

    def state_dict(
        self,
        destination: MutableMapping[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        return self.inner.state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        return self.inner.load_state_dict(state_dict, strict=strict, assign=assign)

    def _own_state_hooks(self) -> StateHooks:
        return self.inner._own_state_hooks()

    def __repr__(self) -> str:
        return f"HookedModule(\n  (inner): {repr(self.inner).replace(chr(10), chr(10) + '  ')}\n)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # A copied registry takes ids from the global counter; these share one of their own.
        registries = (self._pre_hooks, self._observers, self._gradient_observers)
        taken = [entry.id for registry in registries for entry in registry.entries]
        ids = itertools.count(max(taken, default=-1) + 1)
        for registry in registries:
            registry._ids = ids


class _FirstOnly:
    """A gradient observer as an entry of full backward hooks: it sees the first gradient of each side."""

    __slots__ = ("_entry",)

    def __init__(self, entry: HookEntry[Callable[[Any, Any], object]]) -> None:
        self._entry = entry

    @property
    def live(self) -> bool:
        return self._entry.live

    def hook(self, module: object, grad_input: tuple[Any, ...], grad_output: tuple[Any, ...]) -> None:
        self._entry.hook(grad_input[0], grad_output[0])


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
