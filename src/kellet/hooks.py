"""The one hook mechanism of both packages: a registry of callables and the handle that removes one.

Modules, tensors, graph nodes, wrappers and exporters all keep their hooks in a `HookRegistry`
and hand out `RemovableHandle`s. The arguments of a hook and the meaning of its return value
belong to the place that calls it.

The rules, the same everywhere:

1. `registry.entries` is an immutable tuple, swapped under a lock when a hook comes or goes.
   A pass walks the tuple it started with, so a hook added during a pass waits for the next one.
2. An entry carries its own `live` flag, checked before each call, so a hook removed during a
   pass (by itself, by another hook, by another thread) is not called any more in that pass.
   The same flag keeps a hook silent that was removed between forward and backward.
3. Options (`with_kwargs`, `always_call`, ...) live in the entry, never in a table beside it.
4. No lock is held while a hook runs.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, Generic, TypeVar

__all__ = [
    "HookEntry",
    "HookMapping",
    "HookRegistry",
    "RemovableHandle",
    "longest_form",
    "require_callable",
    "require_form",
    "signature_of",
]

Hook = TypeVar("Hook", bound=Callable[..., Any])

_global_ids = itertools.count()
_swap_lock = threading.Lock()


class HookEntry(Generic[Hook]):
    """One registered hook: the callable, its options, and whether it may still be called.

    `id` is unique within its counter (the whole process, unless the registry was given one of
    its own). `live` turns False for ever when the hook is removed.

    >>> registry = HookRegistry()
    >>> handle = registry.add(print, always=True)
    >>> [(entry.live, entry.options) for entry in registry]
    [(True, {'always': True})]
    """

    __slots__ = ("hook", "id", "live", "options")

    def __init__(self, id: int, hook: Hook, options: dict[str, Any]) -> None:
        self.id = id
        self.hook = hook
        self.options = options
        self.live = True

    def __repr__(self) -> str:
        state = "" if self.live else ", removed"
        return f"HookEntry(id={self.id}, {self.hook!r}{state})"


class HookRegistry(Generic[Hook]):
    """The hooks of one kind at one place, in the order in which they are called.

    `for entry in registry` walks a snapshot and skips hooks removed meanwhile. `if registry`
    costs one attribute look-up and is what hot paths test.

    Copying a registry (`copy.deepcopy`, pickle) copies its entries with their ids: a handle of
    the original removes only the original's hook, and a handle copied together with its registry
    stays linked to the copy.

    >>> calls = []
    >>> registry = HookRegistry()
    >>> handle = registry.add(calls.append)
    >>> for entry in registry:
    ...     entry.hook("seen")
    >>> handle.remove()
    >>> calls, len(registry)
    (['seen'], 0)
    """

    __slots__ = ("__weakref__", "_ids", "entries")

    entries: tuple[HookEntry[Hook], ...]

    def __init__(self, ids: Iterator[int] | None = None) -> None:
        self.entries = ()
        self._ids = ids

    def add(self, hook: Hook, *, prepend: bool = False, **options: Any) -> RemovableHandle:
        """Register `hook` last, or first with `prepend`, and return the handle that removes it.

        Raises TypeError at once when `hook` is not callable.
        """
        require_callable(hook)
        with _swap_lock:
            entry = HookEntry(next(_global_ids if self._ids is None else self._ids), hook, options)
            self.entries = (entry, *self.entries) if prepend else (*self.entries, entry)
        return RemovableHandle(self, entry.id)

    def discard(self, id: int) -> bool:
        """Remove the entry with this id; say whether it was there."""
        with _swap_lock:
            found = [entry for entry in self.entries if entry.id == id]
            for entry in found:
                entry.live = False
            self.entries = tuple(entry for entry in self.entries if entry.id != id)
        return bool(found)

    def clear(self) -> None:
        """Remove every hook."""
        with _swap_lock:
            for entry in self.entries:
                entry.live = False
            self.entries = ()

    def __iter__(self) -> Iterator[HookEntry[Hook]]:
        return (entry for entry in self.entries if entry.live)

    def __len__(self) -> int:
        return len(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __repr__(self) -> str:
        return f"HookRegistry({list(self.entries)!r})"

    def __getstate__(self) -> list[tuple[int, Hook, dict[str, Any]]]:
        return [(entry.id, entry.hook, entry.options) for entry in self.entries]

    def __setstate__(self, state: list[tuple[int, Hook, dict[str, Any]]]) -> None:
        self._ids = None
        self.entries = tuple(HookEntry(id, hook, options) for id, hook, options in state)

    def __reduce__(self) -> tuple[Any, ...]:
        # Two phases (make, then fill): a hook may lead back to the registry that holds it.
        return (_new_registry, (), self.__getstate__())


def _new_registry() -> HookRegistry[Any]:
    return HookRegistry()


class HookMapping(MutableMapping[int, Callable[..., Any]]):
    """The hooks of a registry by their ids, as PyTorch's `_forward_hooks` and the like show them.

    Taking hooks out (`clear`, `pop`, `del`) removes them. `find` returns the registry, or None where no
    hook was ever registered. Setting one raises TypeError that names `registration`: it would have no
    handle and no options.

    Source: the OrderedDict of hooks that PyTorch keeps on modules and tensors.

    >>> registry = HookRegistry()
    >>> handle = registry.add(print)
    >>> hooks = HookMapping(lambda: registry, "register_hook")
    >>> list(hooks.values()), hooks.clear(), len(registry)
    ([<built-in function print>], None, 0)
    """

    __slots__ = ("_find", "_registration")

    def __init__(self, find: Callable[[], HookRegistry[Any] | None], registration: str) -> None:
        self._find = find
        self._registration = registration

    def __getitem__(self, id: int) -> Callable[..., Any]:
        for entry in self._entries():
            if entry.id == id:
                hook: Callable[..., Any] = entry.hook
                return hook
        raise KeyError(id)

    def __setitem__(self, id: int, hook: Callable[..., Any]) -> None:
        raise TypeError(f"hooks are not set by their ids; register this one with {self._registration}")

    def __delitem__(self, id: int) -> None:
        registry = self._find()
        if registry is None or not registry.discard(id):
            raise KeyError(id)

    def __iter__(self) -> Iterator[int]:
        return iter([entry.id for entry in self._entries()])

    def __len__(self) -> int:
        return len(self._entries())

    def __bool__(self) -> bool:
        return bool(self._entries())

    def __repr__(self) -> str:
        return f"HookMapping({dict(self)!r})"

    def move_to_end(self, id: int, last: bool = True) -> None:
        """Raise TypeError that says where the order of hooks is chosen."""
        raise TypeError(f"hooks are ordered by {self._registration}, which takes prepend=True for the first")

    def _entries(self) -> tuple[HookEntry[Any], ...]:
        registry = self._find()
        return () if registry is None else registry.entries


class RemovableHandle:
    """What registration returns: removes its hook by `remove()`, by a call, or at the end of `with`.

    Removing twice is fine. Dropping the handle leaves the hook in place. The handle holds its
    registry weakly, so keeping one on a module makes no reference cycle.

    Source: torch.utils.hooks.RemovableHandle; there it is not callable. Lucid returns a function
    that removes by equality: called twice it raises, and it may remove another registration of
    the same function.

    >>> registry = HookRegistry()
    >>> with registry.add(print):
    ...     len(registry)
    1
    >>> len(registry)
    0
    """

    __slots__ = ("__weakref__", "_registry", "id")

    id: int

    def __init__(self, registry: HookRegistry[Any], id: int) -> None:
        self._registry: weakref.ref[HookRegistry[Any]] | None = weakref.ref(registry)
        self.id = id

    def remove(self) -> None:
        """Remove the hook; nothing happens when it is gone already."""
        registry = self.registry
        if registry is not None:
            registry.discard(self.id)

    @property
    def registry(self) -> HookRegistry[Any] | None:
        """The registry that the hook is in; None when that is gone."""
        return self._registry() if self._registry is not None else None

    def attach(self, registry: HookRegistry[Any], id: int) -> None:
        """Let this handle remove the hook `id` of `registry` from now on: for a handle that was stored.

        >>> registry = HookRegistry()
        >>> handle, other = registry.add(print), RemovableHandle(HookRegistry(), -1)
        >>> other.attach(registry, handle.id)
        >>> other.remove()
        >>> len(registry)
        0
        """
        self._registry, self.id = weakref.ref(registry), id

    def __call__(self) -> None:
        self.remove()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[HookRegistry[Any] | None, int]:
        return (self.registry, self.id)

    def __setstate__(self, state: tuple[HookRegistry[Any] | None, int]) -> None:
        registry, self.id = state
        self._registry = weakref.ref(registry) if registry is not None else None


def require_callable(hook: object) -> None:
    """Raise TypeError unless `hook` can be called: when registered, not when it is first needed.

    >>> require_callable(print)
    >>> require_callable(3)
    Traceback (most recent call last):
    TypeError: ...
    """
    if not callable(hook):
        raise TypeError(f"a hook must be callable, got {type(hook).__name__}: {hook!r}")


def require_form(hook: Callable[..., Any], form: Sequence[str]) -> None:
    """Raise TypeError unless `hook` can be called with the arguments of `form`.

    >>> require_form(lambda grad_outputs: None, ("grad_inputs", "grad_outputs"))
    Traceback (most recent call last):
    TypeError: ...
    """
    longest_form(hook, (form,), 0)


def longest_form(hook: Callable[..., Any], forms: Sequence[Sequence[str]], fallback: int) -> int:
    """Pick the longest documented argument list that `hook` can take; return its index in `forms`.

    Decided once, when the hook is registered, so that a hook that fits no form fails there and
    not in the middle of a load. `fallback` is the form for callables whose signature cannot be
    read (some builtins). Raises TypeError naming every form when none fits.

    The longest wins because `(module, state_dict, prefix, *args)`, a common spelling, takes any
    length: handed the short list it would read the third argument as something it is not.

    >>> forms = [("module", "state_dict", "strict"), ("module", "a", "b", "c", "d", "e", "f", "g")]
    >>> longest_form(lambda module, state_dict, *rest: None, forms, fallback=0)
    1
    """
    require_callable(hook)
    try:
        signature = signature_of(hook)
    except (TypeError, ValueError):
        return fallback
    for index in sorted(range(len(forms)), key=lambda i: -len(forms[i])):
        try:
            signature.bind(*forms[index])
        except TypeError:
            continue
        return index
    wanted = " or ".join(f"({', '.join(form)})" for form in forms)
    raise TypeError(f"hook {hook!r} takes {signature}; it must take {wanted}")


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return what a function takes, by its parameters; raise TypeError or ValueError where nothing says.

    From Python 3.14 on annotations run when they are asked for, and may name what only type checkers import:
    there they are texts.

    >>> [*signature_of(lambda module, args: None).parameters]
    ['module', 'args']
    """
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.STRING)
    return inspect.signature(function)
