"""What the hooks of modules are called with, for type checkers and for annotations.

A `module` is Any, so that a hook may ask for its own class; answers are checked where a hook is called.
"""

from __future__ import annotations

from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

Takes = ParamSpec("Takes")
Gives = TypeVar("Gives", covariant=True)


class HasForward(Protocol[Takes, Gives]):
    """What a call of a module takes and gives."""

    def forward(self, *args: Takes.args, **kwargs: Takes.kwargs) -> Gives: ...


class ForwardPreHook(Protocol):
    """Called before `forward`."""

    def __call__(self, module: Any, args: tuple[Any, ...], /) -> object: ...


class ForwardPreHookWithKwargs(Protocol):
    """Called before `forward`, when registered with `with_kwargs`."""

    def __call__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> object: ...


class ForwardHook(Protocol):
    """Called after `forward`."""

    def __call__(self, module: Any, args: tuple[Any, ...], output: Any, /) -> object: ...


class ForwardHookWithKwargs(Protocol):
    """Called after `forward`, when registered with `with_kwargs`."""

    def __call__(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any, /
    ) -> object: ...


class OutputGradientHook(Protocol):
    """Called with a module's output and its gradient."""

    def __call__(self, tensor: Any, grad: Any, /) -> object: ...


class FullBackwardPreHook(Protocol):
    """Called when the gradients of the outputs are known."""

    def __call__(self, module: Any, grad_output: tuple[Any, ...], /) -> object: ...


class FullBackwardHook(Protocol):
    """Called when the gradients of the inputs are known."""

    def __call__(
        self, module: Any, grad_input: tuple[Any, ...], grad_output: tuple[Any, ...], /
    ) -> object: ...


class StateDictPreHook(Protocol):
    """Called before a module's state is saved."""

    def __call__(self, module: Any, prefix: str, keep_vars: bool, /) -> object: ...


class StateDictHook(Protocol):
    """Called after a module's state is saved, as lucid does."""

    def __call__(self, module: Any, state_dict: Any, prefix: str, keep_vars: bool, /) -> None: ...


class StateDictPostHook(Protocol):
    """Called after a module's state is saved, as PyTorch does."""

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any, /) -> None: ...


class LongLoadPreHook(Protocol):
    """Called before a module's keys are matched, as PyTorch does."""

    def __call__(
        self,
        module: Any,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
        /,
    ) -> object: ...


class ShortLoadPreHook(Protocol):
    """Called before a module's keys are matched, as lucid does."""

    def __call__(self, module: Any, state_dict: Any, strict: bool, /) -> object: ...


class LongLoadPostHook(Protocol):
    """Called before missing keys are judged, as lucid does."""

    def __call__(
        self, module: Any, missing_keys: list[str], unexpected_keys: list[str], strict: bool, /
    ) -> None: ...


class ShortLoadPostHook(Protocol):
    """Called before missing keys are judged, as PyTorch does."""

    def __call__(self, module: Any, incompatible_keys: Any, /) -> None: ...


AnyForwardPreHook: TypeAlias = ForwardPreHook | ForwardPreHookWithKwargs
AnyForwardHook: TypeAlias = ForwardHook | ForwardHookWithKwargs
LoadPreHook: TypeAlias = LongLoadPreHook | ShortLoadPreHook
LoadPostHook: TypeAlias = LongLoadPostHook | ShortLoadPostHook
