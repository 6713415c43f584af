"""`HookedModule`: hooks kept beside a module in a wrapper, the module itself untouched.

Source: ferrotorch's `hooks.rs`. Its forward pre-hooks must answer, its other hooks only observe.
There backward hooks are stored and never called; here they run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..core.tensor import Tensor
from ..errors import HookTypeError
from ..hooks import HookEntry, HookRegistry, RemovableHandle
from .backward_hooks import BackwardHook
from .module import Module

if TYPE_CHECKING:
    from .load_state_dict import IncompatibleKeys
    from .state_dict import StateHooks

__all__ = ["HookedModule"]

Inner = TypeVar("Inner", bound=Module)
Self = TypeVar("Self", bound="HookedModule[Any]")


class HookedModule(Module, Generic[Inner]):
    """A module around `inner` that runs hooks when it is called and stands for `inner` in all else.

    Parameters, buffers, submodules, mode and state are those of `inner`, under the same names
    without a prefix. The hooks see the first positional argument as the input. They may be
    registered, run and removed from any thread; their handles count 0, 1, 2, ... within the wrapper.
    `forward` runs the hooks as well.

    Raises TypeError for what is not a Module.

    >>> import kedge
    >>> from kedge import nn
    >>> net, handle = nn.Identity().with_forward_hook(lambda input, output: print(output.shape))
    >>> _ = net(kedge.ones(4))
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
        """Call `hook(input)` before the module runs; what it answers becomes the input, and None raises."""
        return self._pre_hooks.add(hook)

    def register_forward_hook(self, hook: Callable[[Any, Any], object]) -> RemovableHandle:  # type: ignore[override]  # ferrotorch's form
        """Call `hook(input, output)` after the module ran, input as it went in; the answer is ignored."""
        return self._observers.add(hook)

    def register_backward_hook(self, hook: Callable[[Any, Any], object]) -> RemovableHandle:
        """Call `hook(grad_input, grad_output)` during backward; the answer is ignored.

        Both are single Tensors: the gradients of the input and of the (first) output, None where
        there is none.
        """
        return self._gradient_observers.add(hook)

    def forward(self, input: Any, *args: Any, **kwargs: Any) -> Any:
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

    def train(self: Self, mode: bool = True) -> Self:
        self.inner.train(mode)
        return self

    def apply(self: Self, fn: Callable[[Module], object]) -> Self:
        self.inner.apply(fn)
        return self

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
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
        # A copied registry counts with everybody; these go on counting among themselves.
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
