"""Hooks around the calls of all modules; when they run is written down in module_hooks.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import HookError
from ..hooks import RemovableHandle
from .module_hooks import for_all_modules

if TYPE_CHECKING:
    from .hook_shapes import AnyForwardHook, AnyForwardPreHook, FullBackwardHook, FullBackwardPreHook


def register_module_forward_pre_hook(
    hook: AnyForwardPreHook, *, with_kwargs: bool = False
) -> RemovableHandle:
    """Call `hook(module, args)` before the `forward` of every module, before the module's own hooks.

    As `Module.register_forward_pre_hook` in all else.

    Source: torch.nn.modules.module.register_module_forward_pre_hook.

    >>> with register_module_forward_pre_hook(lambda module, args: print(len(args))):
    ...     _ = kellet.nn.Identity()(kellet.ones(1))
    1
    """
    return for_all_modules().forward_pre.add(hook, with_kwargs=with_kwargs)


def register_module_forward_hook(
    hook: AnyForwardHook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the `forward` of every module, before the module's own hooks.

    As `Module.register_forward_hook` in all else.

    Source: torch.nn.modules.module.register_module_forward_hook; there a hook with both options is
    called without its kwargs when something raised.

    >>> handle = register_module_forward_hook(lambda module, args, output: print(type(module).__name__))
    >>> _ = kellet.nn.Identity()(kellet.ones(1))
    Identity
    >>> handle.remove()
    """
    return for_all_modules().forward.add(hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_full_backward_pre_hook(hook: FullBackwardPreHook) -> RemovableHandle:
    """Call `hook(module, grad_output)` in the backward of every module; see `Module`'s method.

    Source: torch.nn.modules.module.register_module_full_backward_pre_hook.

    >>> net = kellet.nn.Linear(1, 1)
    >>> with register_module_full_backward_pre_hook(lambda module, grad_output: print(grad_output)):
    ...     net(kellet.ones(1)).backward()
    (tensor([1.]),)
    """
    return for_all_modules().full_backward_pre.add(hook)


def register_module_full_backward_hook(hook: FullBackwardHook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` in the backward of every module; see `Module`'s method.

    Raises HookError while there are hooks of the deprecated `register_module_backward_hook`.

    Source: torch.nn.modules.module.register_module_full_backward_hook.

    >>> net = kellet.nn.Linear(1, 1)
    >>> with register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output)):
    ...     net(kellet.ones(1)).backward()
    (tensor([1.]),)
    """
    hooks = for_all_modules()
    if hooks.last_backward:
        raise HookError(_ONE_OF_BOTH)
    return hooks.full_backward.add(hook)


def register_module_backward_hook(hook: FullBackwardHook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` in the backward of the last operation of every module.

    Deprecated, as in PyTorch: `grad_input` belongs to the inputs of that operation and not to those of
    the module. Use `register_module_full_backward_hook`. A tuple replaces `grad_input`.

    Raises HookError while there are full backward hooks for all modules, TypeError for a value that cannot be
    called.

    Source: torch.nn.modules.module.register_module_backward_hook.

    >>> net = kellet.nn.Linear(1, 1)
    >>> with register_module_backward_hook(lambda module, grad_input, grad_output: print(grad_output)):
    ...     net(kellet.ones(1)).backward()
    (tensor([1.]),)
    """
    hooks = for_all_modules()
    if hooks.full_backward:
        raise HookError(_ONE_OF_BOTH)
    return hooks.last_backward.add(hook)


_ONE_OF_BOTH = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use "
    "only one of them: register_module_full_backward_hook, and remove the others"
)
