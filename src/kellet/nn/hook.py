"""Hooks as objects: a `Hook` puts itself on a module and takes itself off again.

Source: inferno's `Hook`, `ContextualHook` and `StateHook`. Differences: a value that is not callable
is refused instead of dropped, a ContextualHook passes on the return values of its methods, and a
hook whose object is gone returns None. A StateHook is not a Module here, so a module may keep its own
StateHooks as attributes without becoming its own descendant.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from ..hooks import RemovableHandle, require_callable
from .module import Module


class Hook:
    """A forward pre-hook and a forward hook that come and go together, in the wanted modes only.

    `prehook` and `posthook` are hooks for `Module.register_forward_pre_hook` and `register_forward_hook`;
    `prehook_kwargs` and `posthook_kwargs` are passed on to them (`with_kwargs`, `prepend`,
    `always_call`). `train_update` and `eval_update` say in which modes of the module they run; a
    skipped hook changes nothing. The module holds the Hook weakly: when the Hook is collected, its
    hooks leave the module. A copy of a Hook is registered nowhere.

    Raises RuntimeError when both hooks are None, TypeError for one that cannot be called.

    >>> import kellet
    >>> from kellet import nn
    >>> net = nn.Identity()
    >>> hook = nn.Hook(posthook=lambda module, args, output: output * 2, eval_update=False)
    >>> hook.register(net)
    >>> net(kellet.ones(1)), net.eval()(kellet.ones(1))
    (tensor([2.]), tensor([1.]))
    >>> hook.deregister()
    >>> hook.registered
    False
    """

    def __init__(
        self,
        prehook: Callable[..., Any] | None = None,
        posthook: Callable[..., Any] | None = None,
        *,
        prehook_kwargs: Mapping[str, Any] | None = None,
        posthook_kwargs: Mapping[str, Any] | None = None,
        train_update: bool = True,
        eval_update: bool = True,
    ) -> None:
        self._prepare(prehook, posthook, prehook_kwargs, posthook_kwargs, train_update, eval_update)

    def _prepare(
        self,
        prehook: Any,
        posthook: Any,
        prehook_kwargs: Mapping[str, Any] | None,
        posthook_kwargs: Mapping[str, Any] | None,
        train_update: bool,
        eval_update: bool,
    ) -> None:
        if prehook is None and posthook is None:
            raise RuntimeError("at least one of 'prehook', 'posthook' must not be None")
        self._prehook, self._posthook = prehook, posthook
        for place in ("_prehook", "_posthook"):
            if getattr(self, place) is not None:
                require_callable(self._function(place))
        self._prehook_kwargs = dict(prehook_kwargs or {})
        self._posthook_kwargs = dict(posthook_kwargs or {})
        self.trainexec, self.evalexec = train_update, eval_update
        self._handles: list[RemovableHandle] = []
        self._leave: weakref.finalize[..., Any] | None = None

    @property
    def registered(self) -> bool:
        """Whether the hook is on a module now."""
        return bool(self._handles)

    @property
    def trainexec(self) -> bool:
        """Whether the hook runs while the module trains; may be set at any time."""
        return self._trainexec

    @trainexec.setter
    def trainexec(self, value: bool) -> None:
        self._trainexec = bool(value)

    @property
    def evalexec(self) -> bool:
        """Whether the hook runs while the module evaluates; may be set at any time."""
        return self._evalexec

    @evalexec.setter
    def evalexec(self, value: bool) -> None:
        self._evalexec = bool(value)

    def register(self, module: Module) -> None:
        """Put the hook on `module`.

        Raises RuntimeError if it is registered already, TypeError for a value that is not a Module; nothing
        has changed then.
        """
        if self.registered:
            raise RuntimeError(
                f"this {type(self).__name__} is already registered to a module; deregister() it first"
            )
        if not isinstance(module, Module):
            raise TypeError(f"'module' must be an nn.Module, got {type(module).__name__}: {module!r}")
        handles: list[RemovableHandle] = []
        try:
            if self._prehook is not None:
                gate = HookGate(self, "_prehook")
                handles.append(module.register_forward_pre_hook(gate, **self._prehook_kwargs))
            if self._posthook is not None:
                gate = HookGate(self, "_posthook")
                handles.append(module.register_forward_hook(gate, **self._posthook_kwargs))
        except BaseException:
            remove_all(handles)
            raise
        self._handles = handles
        self._leave = weakref.finalize(self, remove_all, handles)

    def deregister(self) -> None:
        """Take the hook off its module; without a module, nothing happens. It can be registered again."""
        if self._leave is not None:
            self._leave()
        self._handles, self._leave = [], None

    def _function(self, place: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self, place)
        return function

    def _runs_in(self, mode: bool) -> bool:
        return self._trainexec if mode else self._evalexec

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_handles": [], "_leave": None}


class HookGate:
    """What a module calls in place of a Hook's function: it holds the Hook weakly and looks at the mode.

    >>> net, hook = kellet.nn.Identity(), kellet.nn.Hook(prehook=lambda module, args: None)
    >>> hook.register(net)
    >>> [type(entry.hook).__name__ for entry in kellet.nn.storing.hook_registry(net, "forward_pre")]
    ['HookGate']
    """

    __slots__ = ("hook", "place")

    def __init__(self, hook: Hook | None, place: str) -> None:
        self.hook = weakref.ref(hook) if hook is not None else None
        self.place = place

    def __call__(self, module: Module, *args: Any) -> Any:
        hook = self.hook() if self.hook is not None else None
        if hook is None or not hook._runs_in(module.training):
            return None
        return hook._function(self.place)(module, *args)

    def __deepcopy__(self, memo: dict[int, Any]) -> HookGate:
        # Like a function, the Hook is not copied with the module that calls it.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (HookGate, (self.hook() if self.hook is not None else None, self.place))


def remove_all(handles: list[RemovableHandle]) -> None:
    """Remove the hooks of all handles."""
    for handle in handles:
        handle.remove()


class ContextualHook(Hook):
    """A Hook whose functions are its own methods, given by name, so that they can use its state.

    The hook returns the method's return value. Raises AttributeError when there is no such
    method, and else as `Hook`.

    >>> import kellet
    >>> from kellet import nn
    >>> class Count(nn.ContextualHook):
    ...     def __init__(self):
    ...         super().__init__(posthook="count")
    ...         self.calls = 0
    ...     def count(self, module, args, output):
    ...         self.calls += 1
    >>> hook, net = Count(), nn.Identity()
    >>> hook.register(net)
    >>> _ = net(kellet.ones(1)), net(kellet.ones(1))
    >>> hook.calls
    2
    """

    def __init__(
        self,
        prehook: str | None = None,
        posthook: str | None = None,
        *,
        prehook_kwargs: Mapping[str, Any] | None = None,
        posthook_kwargs: Mapping[str, Any] | None = None,
        train_update: bool = True,
        eval_update: bool = True,
    ) -> None:
        self._prepare(prehook, posthook, prehook_kwargs, posthook_kwargs, train_update, eval_update)

    def _function(self, place: str) -> Callable[..., Any]:
        # By name at every call: a bound method kept on self would be a cycle.
        method: Callable[..., Any] = getattr(self, getattr(self, place))
        return method


class StateHook(ContextualHook, ABC):
    """A hook that acts on one module's state around its calls, and by hand whenever it is called.

    A subclass defines `hook(module)`; its answer is ignored. It runs after `forward`, or before it
    with `as_prehook`; `prepend` and `always_call` as for `register_forward_hook`. Nothing runs
    before `register()`.

    Called, the StateHook runs its hook now: only while registered unless `force`, only in the
    wanted modes unless `ignore_mode`.

    Raises TypeError for a value that is not a Module.

    >>> class Norm(kellet.nn.StateHook):
    ...     def hook(self, module):
    ...         module.weight.data /= module.weight.data.norm()
    >>> net = kellet.nn.Linear(3, 1)
    >>> hook = Norm(net)
    >>> hook.register()
    >>> _ = net(kellet.ones(1, 3))
    >>> kellet.allclose(net.weight.norm(), kellet.tensor(1.0))
    True
    """

    def __init__(
        self,
        module: Module,
        train_update: bool = True,
        eval_update: bool = True,
        *,
        as_prehook: bool = False,
        prepend: bool = False,
        always_call: bool = False,
    ) -> None:
        if not isinstance(module, Module):
            raise TypeError(f"'module' must be an nn.Module, got {type(module).__name__}: {module!r}")
        self._module = module
        super().__init__(
            prehook="_run" if as_prehook else None,
            posthook=None if as_prehook else "_run",
            prehook_kwargs={"prepend": prepend},
            posthook_kwargs={"prepend": prepend, "always_call": always_call},
            train_update=train_update,
            eval_update=eval_update,
        )

    @abstractmethod
    def hook(self, module: Module) -> None:
        """Act on the module; every subclass defines it."""

    @property
    def module(self) -> Module:
        """The module that the hook is made for."""
        return self._module

    def register(self) -> None:  # type: ignore[override]  # inferno's signature: the module is known
        """Put the hook on its module; nothing happens when it is there already."""
        if not self.registered:
            super().register(self._module)

    def __call__(self, force: bool = False, ignore_mode: bool = False) -> None:
        """Run the hook now, if it is registered (or `force`) and wanted in this mode (or `ignore_mode`)."""
        if (force or self.registered) and (ignore_mode or self._runs_in(self._module.training)):
            self.hook(self._module)

    def _run(self, module: Module, *args: Any) -> None:
        self.hook(module)
