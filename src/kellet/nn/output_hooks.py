"""Hooks of a module that are put on its outputs: on a tensor, or on the node that made it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..core import Tensor
from ..errors import HookError
from ..hooks import HookEntry, HookRegistry

AnyHook = Callable[..., Any]


def watch_last_operation(module: object, output: object, entries: tuple[HookEntry[AnyHook], ...]) -> None:
    """Put the deprecated hooks on the node that made the (first) tensor of the output."""
    while not isinstance(output, Tensor):
        if isinstance(output, dict):
            output = next((value for value in output.values() if isinstance(value, Tensor)), None)
        elif isinstance(output, tuple | list) and output:
            output = output[0]
        if not isinstance(output, Tensor | dict | tuple | list) or output in ((), [], {}):
            return
    node = output.grad_fn
    if node is None:
        return
    for entry in entries:
        node.register_hook(_LastOperation(module, entry))


class _LastOperation:
    """A deprecated hook as a hook of a node; the node does not keep the module alive."""

    __slots__ = ("_entry", "_module")

    def __init__(self, module: object, entry: HookEntry[AnyHook]) -> None:
        self._module = weakref.ref(module)
        self._entry = entry

    def __call__(self, grad_inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> Any:
        module = self._module()
        if module is None:
            raise HookError("You are trying to call the hook of a dead Module; keep it until backward")
        return self._entry.hook(module, grad_inputs, grad_outputs) if self._entry.live else None


def watch_output(output: Tensor, hooks: HookRegistry[AnyHook]) -> None:
    """Call the hooks with the gradient of `output`, without keeping that tensor alive."""
    # The tensor owns the hook on it: a strong reference back would be a cycle. Where the caller
    # let go of the tensor, the hooks get another one over the same values.
    watched, values = weakref.ref(output), output.detach()
    entries = hooks.entries

    def tell(grad: Tensor) -> None:
        tensor = watched()
        for entry in entries:
            if entry.live:
                entry.hook(values if tensor is None else tensor, grad)

    output.register_hook(tell)
