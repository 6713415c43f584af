"""Calling a module with its hooks around it, and the order of every hook of a module.

This is the order, written down once; tests/nn/test_order_of_hooks.py walks it as one trace.
"Each" means: first the hooks of all modules (`register_module_*_hook`), then the module's own;
within each group in order of registration, those with `prepend=True` before.

Forward, `module(*args, **kwargs)`:

 1. each forward pre-hook; one that answers changes the arguments for all that follow;
 2. tensors among the positional arguments pass the input gate, where step 9 will be noticed
    (only if the module has full backward hooks or pre-hooks);
 3. `forward`, inside which the submodules run through this same list;
 4. each forward hook; one that answers replaces the output for all that follow;
 5. the output's tensors pass the output gate, where step 7 will be noticed; the tensor that
    comes out is what `register_backward_hook` watches and what the caller gets.
    When a step raises an Exception, the `always_call` forward hooks that have not started run
    now, and the exception goes on.

Backward, once the gradients of the output's tensors are known:

 6. tensor hooks of the output: the hook of `register_backward_hook` among them, in the order in
    which they were put on the tensor;
 7. each full backward pre-hook; one that answers replaces the gradients that flow on;
 8. the backward of what `forward` computed, inside which the submodules, last used first, run
    through 6 to 9;
 9. each full backward hook; one that answers replaces the gradients of the inputs. Where no
    input requires a gradient it runs straight after step 7.

Saving, `module.state_dict()`:

10. each state-dict pre-hook of the module (own ones only from here on);
11. its version (into `_metadata`), parameters, persistent buffers, extra state;
12. each submodule in order, 10 to 13;
13. its state-dict hooks, those of both signatures in one order.

Loading, `module.load_state_dict(state)`:

14. hooks of the module's classes, base class first (`register_class_load_state_dict_pre_hook`:
    the place of migrations);
15. its own load pre-hooks; then its keys are matched, and nothing is written yet (but a module with
    `set_extra_state` gets its values, and that call, now);
16. each submodule in order, 14 to 16; then everything found so far is judged: a wrong shape or
    type refuses the load here, before any value changed;
17. all values are written, root first;
18. load post-hooks, those of submodules before those of the module around them;
19. missing and unexpected keys, as the post-hooks left them, refuse a strict load: what was
    written is put back.

The order is PyTorch's but for one place: there nothing is planned, so that the post-hooks of one
submodule run before the pre-hooks of the next.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..core import Tensor
from ..core.not_tensors import explained, is_no_tensor, wanted_tensor
from ..errors import HookError
from ..hooks import HookEntry, HookMapping, HookRegistry, RemovableHandle, longest_form
from .backward_hooks import BackwardHook
from .output_hooks import watch_last_operation, watch_output

if TYPE_CHECKING:
    from .hook_shapes import (
        AnyForwardHook,
        AnyForwardPreHook,
        FullBackwardHook,
        FullBackwardPreHook,
        Gives,
        HasForward,
        OutputGradientHook,
        Takes,
    )

AnyHook = Callable[..., Any]


class CallHooks:
    """The hooks around the call of one module, or around the calls of all."""

    __slots__ = (
        "forward",
        "forward_pre",
        "full_backward",
        "full_backward_pre",
        "last_backward",
        "output_gradient",
    )

    def __init__(self) -> None:
        self.forward_pre: HookRegistry[AnyHook] = HookRegistry()
        self.forward: HookRegistry[AnyHook] = HookRegistry()
        self.full_backward_pre: HookRegistry[AnyHook] = HookRegistry()
        self.full_backward: HookRegistry[AnyHook] = HookRegistry()
        self.output_gradient: HookRegistry[AnyHook] = HookRegistry()
        self.last_backward: HookRegistry[AnyHook] = HookRegistry()


_everywhere = CallHooks()
_none_of_its_own = CallHooks()


def _hooks_by_id(holder: str, kind: str, registration: str) -> property:
    """Make the property under which PyTorch keeps a module's hooks of one kind.

    It can be looked at and emptied, also by setting it to an empty mapping.
    """

    def look(module: Any) -> HookMapping:
        def find() -> HookRegistry[AnyHook] | None:
            found = module.__dict__.get(holder)
            return None if found is None else getattr(found, kind)

        return HookMapping(find, registration)

    def empty(module: Any, hooks: Mapping[Any, Any]) -> None:
        if hooks:
            raise TypeError(f"hooks are not set by their ids; register each with {registration}")
        look(module).clear()

    return property(look, empty, doc=f"The hooks of `{registration}`, by their ids.")


def _ids_with(kind: str, option: str) -> property:
    """Make the property under which PyTorch keeps the ids of hooks that were registered with an option."""

    def look(module: Any) -> dict[int, bool]:
        hooks = module.__dict__.get("_call_hooks")
        entries = () if hooks is None else getattr(hooks, kind)
        return {entry.id: True for entry in entries if entry.options[option]}

    return property(look, doc=f"The ids of the hooks with `{option}`; a copy.")


class ModuleCall:
    """The part of `Module` that is called: `forward` with the hooks around it."""

    # None: no hook here and none anywhere, so a call tests one thing. The first own hook puts a
    # CallHooks on the instance; the first global one gives all other modules an empty one here.
    _call_hooks: CallHooks | None = None

    if TYPE_CHECKING:  # a call takes and gives what the `forward` of the class does

        def __call__(self: HasForward[Takes, Gives], *args: Takes.args, **kwargs: Takes.kwargs) -> Gives:
            """Call `forward` with the hooks around it."""
            raise NotImplementedError

    else:

        def __call__(self, *args, **kwargs):
            try:
                if self._call_hooks is None:
                    return self.forward(*args, **kwargs)
                return _call_with_hooks(self, self._call_hooks, args, kwargs)
            except Exception as error:
                explanation = _explanation(self, error, args, kwargs)
                if explanation is None:
                    raise
                raise explanation from error

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; every subclass defines it. No hook runs by calling this."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def register_forward_pre_hook(
        self, hook: AnyForwardPreHook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; its return value becomes the arguments.

        None keeps the arguments; a tuple replaces them; any other value `v` stands for `(v,)`.
        With `with_kwargs` the hook is `hook(module, args, kwargs)` and answers None or
        `(args, kwargs)`; another answer raises HookError. The hook runs in `module(...)`, not in
        `module.forward(...)`.

        >>> import kellet
        >>> from kellet import nn
        >>> net = nn.Identity()
        >>> with net.register_forward_pre_hook(lambda module, args: (args[0] + 1,)):
        ...     net(kellet.ones(2))
        tensor([2., 2.])

        Source: torch.nn.Module.register_forward_pre_hook.
        """
        return self._own_call_hooks().forward_pre.add(hook, prepend=prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self,
        hook: AnyForwardHook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; a value other than None replaces the output.

        With `with_kwargs` the hook is `hook(module, args, kwargs, output)`. With `always_call` it
        runs once even when `forward` or another hook raised an Exception; its output is then None
        or the latest output, and an exception of its own becomes a UserWarning.

        >>> import kellet
        >>> from kellet import nn
        >>> net = nn.Identity()
        >>> with net.register_forward_hook(lambda module, args, output: output * 3):
        ...     net(kellet.ones(2))
        tensor([3., 3.])

        Source: torch.nn.Module.register_forward_hook.
        """
        registry = self._own_call_hooks().forward
        return registry.add(hook, prepend=prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_backward_hook(self, hook: OutputGradientHook) -> RemovableHandle:
        """Call `hook(tensor, grad)` when the gradient of the module's output tensor is known.

        Only for modules that return a single Tensor that requires a gradient; the answer is
        ignored. Raises TypeError for a hook that cannot take two arguments.

        Source: lucid. torch's deprecated method of this name takes (module, grad_input,
        grad_output): that is `register_full_backward_hook`.
        """
        try:
            longest_form(hook, [("tensor", "grad")], 0)
        except TypeError as error:
            raise TypeError(
                f"{error}; a hook (module, grad_input, grad_output) goes to register_full_backward_hook"
            ) from None
        return self._own_call_hooks().output_gradient.add(hook)

    def register_full_backward_pre_hook(
        self, hook: FullBackwardPreHook, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of all outputs are known.

        `grad_output` has one entry for each Tensor among the outputs, None where an output was not
        used. A tuple of the same length replaces the gradients that flow on through the module;
        None keeps them; another length raises HookError.

        Source: torch.nn.Module.register_full_backward_pre_hook; there outputs that are not Tensors
        have an entry None, here (as in lucid) no entry.
        """
        return self._own_call_hooks().full_backward_pre.add(hook, prepend=prepend)

    def register_full_backward_hook(self, hook: FullBackwardHook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        `grad_input` has one entry for each positional argument (as the forward pre-hooks left
        them), None where it is not a Tensor or requires no gradient. A tuple of the same length
        replaces what flows on to the inputs; None keeps it; another length raises HookError. Where
        no input requires a gradient the hook runs as soon as `grad_output` is known and must
        answer None.

        Source: torch.nn.Module.register_full_backward_hook; there a Tensor that requires no
        gradient has zeros, and a hook removed between forward and backward still runs.
        """
        return self._own_call_hooks().full_backward.add(hook, prepend=prepend)

    _forward_pre_hooks = _hooks_by_id("_call_hooks", "forward_pre", "register_forward_pre_hook")
    _forward_hooks = _hooks_by_id("_call_hooks", "forward", "register_forward_hook")
    _forward_pre_hooks_with_kwargs = _ids_with("forward_pre", "with_kwargs")
    _forward_hooks_with_kwargs = _ids_with("forward", "with_kwargs")
    _forward_hooks_always_called = _ids_with("forward", "always_call")
    _backward_pre_hooks = _hooks_by_id("_call_hooks", "full_backward_pre", "register_full_backward_pre_hook")
    _backward_hooks = _hooks_by_id("_call_hooks", "full_backward", "register_full_backward_hook")
    _state_dict_pre_hooks = _hooks_by_id("_state_hooks", "save_pre", "register_state_dict_pre_hook")
    _state_dict_hooks = _hooks_by_id("_state_hooks", "save_post", "register_state_dict_hook")
    _load_state_dict_pre_hooks = _hooks_by_id("_state_hooks", "load_pre", "register_load_state_dict_pre_hook")
    _load_state_dict_post_hooks = _hooks_by_id(
        "_state_hooks", "load_post", "register_load_state_dict_post_hook"
    )

    def _own_call_hooks(self) -> CallHooks:
        # setdefault is atomic: two threads that register the first hooks share one CallHooks.
        hooks: CallHooks = self.__dict__.setdefault("_call_hooks", CallHooks())
        return hooks


def for_all_modules() -> CallHooks:
    """Return the hooks that run at each module, and let calls look for them from now on."""
    ModuleCall._call_hooks = _none_of_its_own
    return _everywhere


def _call_with_hooks(
    module: ModuleCall, own: CallHooks, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Steps 1 to 5 of the list above."""
    output: Any = None
    forward_hooks: Iterator[HookEntry[AnyHook]] | None = None
    try:
        for entry in _everywhere.forward_pre.entries + own.forward_pre.entries:
            if entry.live:
                args, kwargs = _run_forward_pre_hook(entry, module, args, kwargs)
        gates = _backward_gates(module, own)
        if gates is not None:
            args = gates.setup_input_hook(args)
        output = module.forward(*args, **kwargs)
        forward_hooks = iter(_everywhere.forward.entries + own.forward.entries)
        for entry in forward_hooks:
            if entry.live:
                answer = _run_forward_hook(entry, module, args, kwargs, output)
                if answer is not None:
                    output = answer
        if gates is not None:
            output = gates.setup_output_hook(output)
        if own.output_gradient.entries and isinstance(output, Tensor) and output.requires_grad:
            watch_output(output, own.output_gradient)
        if _everywhere.last_backward.entries:
            watch_last_operation(module, output, _everywhere.last_backward.entries)
        return output
    except Exception:
        if forward_hooks is None:
            forward_hooks = iter(_everywhere.forward.entries + own.forward.entries)
        _run_always_hooks(forward_hooks, module, args, kwargs, output)
        raise


def _run_forward_pre_hook(
    entry: HookEntry[AnyHook], module: ModuleCall, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not entry.options["with_kwargs"]:
        answer = entry.hook(module, args)
        if answer is None:
            return args, kwargs
        return (answer if isinstance(answer, tuple) else (answer,)), kwargs
    answer = entry.hook(module, args, kwargs)
    if answer is None:
        return args, kwargs
    if isinstance(answer, tuple) and len(answer) == 2:
        new_args, new_kwargs = answer
        if isinstance(new_args, tuple) and isinstance(new_kwargs, dict):
            return new_args, new_kwargs
    raise HookError(
        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
        f"{answer!r} from {entry.hook!r} on {type(module).__name__}; "
        "new_args must be a tuple and new_kwargs a dict."
    )


def _run_forward_hook(
    entry: HookEntry[AnyHook],
    module: ModuleCall,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    output: Any,
) -> Any:
    if entry.options["with_kwargs"]:
        return entry.hook(module, args, kwargs, output)
    return entry.hook(module, args, output)


def _backward_gates(module: ModuleCall, own: CallHooks) -> BackwardHook | None:
    pre = _everywhere.full_backward_pre.entries + own.full_backward_pre.entries
    full = _everywhere.full_backward.entries + own.full_backward.entries
    return BackwardHook(module, full, pre) if pre or full else None


def _run_always_hooks(
    not_started: Iterator[HookEntry[AnyHook]],
    module: ModuleCall,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    output: Any,
) -> None:
    for entry in not_started:
        if not entry.live or not entry.options["always_call"]:
            continue
        try:
            answer = _run_forward_hook(entry, module, args, kwargs, output)
        except Exception as error:
            warnings.warn(
                "module forward hook with `always_call=True` raised an exception that was silenced "
                f"as another error was raised in forward: {error}",
                stacklevel=4,
            )
            continue
        if answer is not None:
            output = answer


def _explanation(
    module: ModuleCall, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError | None:
    """What to raise instead of `error` where an argument is no tensor and should be one."""
    where = type(module).__name__
    if isinstance(error, _OF_WRONG_VALUES) and type(module).__module__.startswith(_LAYERS):
        kind: Any = type(module)
        needed = _needed(kind)
        given = {**dict(zip(needed, args, strict=False)), **kwargs}
        for name in needed:
            if name in given and is_no_tensor(given[name]):
                return wanted_tensor(f"{where}, argument {name!r}", given[name])
    if isinstance(error, AttributeError):
        return explained(where, error, (*args, *kwargs.values()))
    return None


_LAYERS = f"{__package__}.layers."
_OF_WRONG_VALUES = (AttributeError, TypeError, ValueError, IndexError)


@functools.cache
def _needed(cls: type[ModuleCall]) -> tuple[str, ...]:
    """The arguments of the forward of a layer that have no default: tensors, all of them."""
    parameters = tuple(inspect.signature(cls.forward).parameters.values())[1:]
    return tuple(
        one.name for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    )
