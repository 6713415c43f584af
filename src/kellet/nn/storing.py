"""The door for code that stores modules and makes them again: their hooks, wrappers and hook objects.

Saving a state needs none of this: see `Module.state_dict`. Parameters, buffers and submodules are under the
names that PyTorch gives them (`_parameters`, `_buffers`, `_modules`).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..hooks import HookRegistry, RemovableHandle
from .hook import Hook, HookGate, remove_all
from .module import Module

__all__ = [
    "HOOK_ATTRIBUTES",
    "WRAPPED_ATTRIBUTES",
    "HookGate",
    "hook_object_attributes",
    "hook_registries",
    "hook_registry",
    "loads_by_itself",
    "restore_hook_object",
    "rewrap",
    "wrapped_module",
]

_CALL: Final = ("forward_pre", "forward", "full_backward_pre", "full_backward", "output_gradient")
_STATE: Final = ("save_pre", "save_post", "load_pre", "load_post")

HOOK_ATTRIBUTES: Final = frozenset({"_call_hooks", "_state_hooks"})
"""The attributes of a module in which its hooks are."""

WRAPPED_ATTRIBUTES: Final = frozenset({"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"})
"""The attributes of a wrapper that are the very objects of the module that it wraps."""


def hook_registries(module: Module) -> Iterator[tuple[str, HookRegistry[Any]]]:
    """Yield the kind and the registry of the hooks that `module` has of its own; none is made.

    >>> from kellet import nn
    >>> net = nn.Identity()
    >>> handle = net.register_forward_hook(print)
    >>> [(kind, len(registry)) for kind, registry in hook_registries(net) if registry]
    [('forward', 1)]
    """
    for place, kinds in (("_call_hooks", _CALL), ("_state_hooks", _STATE)):
        hooks = vars(module).get(place)
        if hooks is not None:
            yield from ((kind, getattr(hooks, kind)) for kind in kinds)


def hook_registry(module: Module, kind: str) -> HookRegistry[Any]:
    """Return the registry of the hooks of that kind, made on first use.

    For hooks around the state of a wrapper it is the registry of the wrapped module.

    Raises ValueError for an unknown kind, for a value that is not a module, and for an empty wrapper.

    >>> len(hook_registry(kellet.nn.Identity(), "forward"))
    0
    """
    if not isinstance(module, Module):
        raise ValueError(f"{type(module).__qualname__} has no hooks: it is not a module")
    inner = module._stands_for  # a wrapper asks what it wraps
    if inner is not None and not isinstance(inner, Module):
        raise ValueError(f"{type(module).__qualname__} wraps no module")
    if kind in _CALL:
        return getattr(module._own_call_hooks(), kind)  # type: ignore[no-any-return]  # a registry, as all of them
    if kind in _STATE:
        return getattr(module._own_state_hooks(), kind)  # type: ignore[no-any-return]  # a registry, as all of them
    raise ValueError(f"there is no kind of hook {kind!r}; there are {', '.join((*_CALL, *_STATE))}")


def loads_by_itself(module: Module) -> bool:
    """Say whether loading a state into this module runs a hook, or an override of its class.

    >>> net = kellet.nn.Identity()
    >>> handle = net.register_load_state_dict_pre_hook(lambda *args: None)
    >>> loads_by_itself(net)
    True
    """
    cls, hooks = type(module), module._state_hooks
    return bool(
        (hooks is not None and (hooks.load_pre or hooks.load_post))
        or cls._class_load_hooks
        or cls._load_from_state_dict is not Module._load_from_state_dict
        or cls.load_state_dict is not Module.load_state_dict
        or cls.set_extra_state is not Module.set_extra_state
    )


def wrapped_module(module: Module) -> Module | None:
    """Return the module that a wrapper (`HookedModule`) stands for; None for any other module.

    >>> from kellet import nn
    >>> net = nn.Identity()
    >>> wrapped_module(nn.HookedModule(net)) is net, wrapped_module(net)
    (True, None)
    """
    return module._stands_for


def rewrap(wrapper: Module) -> None:
    """Give a wrapper that lacks them the parameters, buffers and submodules of the wrapped module.

    Raises ValueError where it wraps no module.

    >>> wrapper = kellet.nn.HookedModule(kellet.nn.Linear(2, 1))
    >>> rewrap(wrapper)
    >>> [name for name, _ in wrapper.named_parameters()]
    ['weight', 'bias']
    """
    inner: object = wrapper._stands_for
    if not isinstance(inner, Module):
        raise ValueError("the wrapper wraps no module")
    wrapper.__dict__.update({name: vars(inner)[name] for name in WRAPPED_ATTRIBUTES})


def hook_object_attributes(hook: Hook) -> dict[str, Any]:
    """Return the attributes of a `Hook` that have to be stored, its handles among them.

    >>> hook = kellet.nn.Hook(prehook=print)
    >>> hook_object_attributes(hook)["_handles"]
    []
    """
    return {name: value for name, value in vars(hook).items() if name != "_leave"}


def restore_hook_object(hook: Hook, attributes: Mapping[str, Any]) -> None:
    """Give a `Hook` made by `__new__` its attributes; where it has handles it is registered as before.

    Raises ValueError unless its handles are a list of handles; then nothing has changed.

    >>> hook = kellet.nn.Hook(prehook=print)
    >>> made = kellet.nn.Hook.__new__(kellet.nn.Hook)
    >>> restore_hook_object(made, hook_object_attributes(hook))
    >>> made.registered
    False
    """
    handles = attributes.get("_handles", [])
    if type(handles) is not list or not all(isinstance(handle, RemovableHandle) for handle in handles):
        raise ValueError("the handles of a Hook must be a list of handles")
    hook.__dict__.update(attributes)
    hook._leave = weakref.finalize(hook, remove_all, list(handles)) if handles else None
