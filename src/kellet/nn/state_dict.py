"""Saving a module's state: `StateDict`, views of one for load hooks, and the part of `Module` that fills one.

The order of the hooks is steps 10 to 13 of module_hooks.py. Loading is in load_state_dict.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from ..autograd.variable import counter_of
from ..core import Tensor
from ..errors import HookError
from ..hooks import HookRegistry, RemovableHandle
from .members import Members
from .parameter import Parameter

if TYPE_CHECKING:
    from .hook_shapes import StateDictHook, StateDictPostHook, StateDictPreHook

EXTRA_STATE = "_extra_state"

_new = object.__new__

AnyHook = Callable[..., Any]


class StateDict(dict[str, Any]):
    """The state of a module: dotted names to values, in the order of the modules.

    `_metadata` maps the path of each module (`""` for the root) to its metadata, above all the version of its
    class. Copies of every kind keep it.

    Source: the OrderedDict with a `_metadata` attribute that PyTorch returns.

    >>> state = kellet.nn.Linear(2, 1).state_dict()
    >>> type(state).__name__, list(state)
    ('StateDict', ['weight', 'bias'])
    """

    _metadata: dict[str, dict[str, Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._metadata = dict(getattr(args[0], "_metadata", None) or {}) if args else {}

    def copy(self) -> StateDict:
        """Return a shallow copy, of the metadata too."""
        return StateDict(self)


class StateView(MutableMapping[str, Any]):
    """A live view of the keys of `state` that start with `prefix`: a change here changes `state`.

    Keys are whole, or (`stripped`) without the prefix. Setting a whole key that does not start
    with the prefix raises KeyError: it would belong to another module.

    >>> state = {"a.w": 1, "b.w": 2}
    >>> view = StateView(state, "a.", stripped=True)
    >>> view["bias"] = view.pop("w")
    >>> state
    {'b.w': 2, 'a.bias': 1}
    """

    __slots__ = ("_prefix", "_state", "_stripped")

    def __init__(self, state: MutableMapping[str, Any], prefix: str, *, stripped: bool) -> None:
        self._state = state
        self._prefix = prefix
        self._stripped = stripped

    def __getitem__(self, key: str) -> Any:
        return self._state[self._whole(key)]

    def __setitem__(self, key: str, value: Any) -> None:
        self._state[self._whole(key)] = value

    def __delitem__(self, key: str) -> None:
        del self._state[self._whole(key)]

    def __iter__(self) -> Iterator[str]:
        cut = len(self._prefix) if self._stripped else 0
        return (key[cut:] for key in self._state if key.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"StateView({dict(self)!r})"

    def _whole(self, key: str) -> str:
        if self._stripped:
            return self._prefix + key
        if not key.startswith(self._prefix):
            raise KeyError(f"{key!r} does not start with {self._prefix!r}, so this view cannot hold it")
        return key


class StateHooks:
    """The hooks around saving and loading the state of one module."""

    __slots__ = ("load_post", "load_pre", "save_post", "save_pre")

    def __init__(self) -> None:
        self.save_pre: HookRegistry[AnyHook] = HookRegistry()
        self.save_post: HookRegistry[AnyHook] = HookRegistry()
        self.load_pre: HookRegistry[AnyHook] = HookRegistry()
        self.load_post: HookRegistry[AnyHook] = HookRegistry()


class StateSaving(Members):
    """The part of `Module` that saves its state."""

    # Raised by a class whose parameters or buffers change; saved as the version of the module.
    _version: int = 1

    # Made when the first hook of the kind comes.
    _state_hooks: StateHooks | None = None

    def state_dict(
        self,
        destination: MutableMapping[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """Return the parameters and persistent buffers here and below, under dotted names.

        The values share memory with the module and are detached from the graph; with `keep_vars` they are the
        parameters and buffers themselves. Names registered as None are left out; a parameter tied to two
        names appears under both. A class that defines `get_extra_state` adds its return value as
        `_extra_state`.

        The result is a `StateDict`, or `destination`, filled, which gets versions only if it has
        an attribute `_metadata`. `prefix` is put before every name.

        >>> from kellet import nn
        >>> nn.Linear(2, 1).state_dict().keys()
        dict_keys(['weight', 'bias'])

        Source: torch.nn.Module.state_dict.
        """
        if destination is None:
            destination = StateDict()
        _save(self, destination, prefix, keep_vars, getattr(destination, "_metadata", None), {})
        return destination

    def _save_to_state_dict(
        self, destination: MutableMapping[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        """Put this module's own state, without its submodules', into `destination`; made to be overridden."""
        _save_own(self, destination, prefix, keep_vars)

    def get_extra_state(self) -> Any:
        """Return further state of the module; a class that defines it is asked when saving.

        Such a class defines `set_extra_state` too, which gets the same value when loading.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define get_extra_state()")

    def set_extra_state(self, state: object) -> None:
        """Load the value that `get_extra_state` returned; called when the module's tensors are loaded."""
        raise NotImplementedError(f"{type(self).__name__} does not define set_extra_state()")

    def register_state_dict_pre_hook(self, hook: StateDictPreHook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module's state is saved; its answer is ignored.

        `prefix` is `""` or the module's path with a dot behind.

        Source: torch.nn.Module.register_state_dict_pre_hook, and lucid.
        """
        return self._own_state_hooks().save_pre.add(hook)

    def register_state_dict_hook(self, hook: StateDictHook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, keep_vars)` after the state here and below is saved.

        `state_dict` is the whole destination; the hook changes it in place and must return None, else
        HookError. It may put in values that are not tensors.

        Source: lucid. PyTorch's form is `register_state_dict_post_hook`.
        """
        return self._own_state_hooks().save_post.add(hook, with_metadata=False)

    def register_state_dict_post_hook(self, hook: StateDictPostHook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the state here and below is saved.

        As `register_state_dict_hook` in all else; `local_metadata` is the module's part of
        `_metadata` and may be changed.

        Source: torch.nn.Module.register_state_dict_post_hook.
        """
        return self._own_state_hooks().save_post.add(hook, with_metadata=True)

    def _own_state_hooks(self) -> StateHooks:
        # setdefault is atomic: two threads that register the first hooks share one StateHooks.
        hooks: StateHooks = self.__dict__.setdefault("_state_hooks", StateHooks())
        return hooks


def _save(
    module: StateSaving,
    destination: MutableMapping[str, Any],
    prefix: str,
    keep_vars: bool,
    metadata: dict[str, Any] | None,
    versions: dict[type, int | None],
) -> None:
    """Steps 10 to 13. `versions` remembers what `_usual_version` answers, for this one save."""
    local_metadata = {"version": module._version}
    if metadata is not None:
        metadata[prefix[:-1]] = local_metadata
    if module._state_hooks is not None:
        for entry in module._state_hooks.save_pre:
            entry.hook(module, prefix, keep_vars)
    if type(module)._save_to_state_dict is StateSaving._save_to_state_dict:
        _save_own(module, destination, prefix, keep_vars)
    else:
        module._save_to_state_dict(destination, prefix, keep_vars)
    if module._modules:
        _save_below(module, destination, prefix, keep_vars, metadata, versions)
    if module._state_hooks is not None:
        _run_save_hooks(module, module._state_hooks, destination, prefix, keep_vars, local_metadata)


def _save_below(
    module: StateSaving,
    destination: MutableMapping[str, Any],
    prefix: str,
    keep_vars: bool,
    metadata: dict[str, Any] | None,
    versions: dict[type, int | None],
) -> None:
    """Step 12, for every submodule. One that overrides `state_dict` is asked by calling it.

    What `_save` and `Tensor.detach` do for a module without hooks stands here once more, on the
    spot: calls for each of 4,000 parameters in 2,000 modules take 1.15 times as long.
    """
    cls: type[StateSaving] | None = None
    version: int | None = None
    for name, child in module._modules.items():
        if child is None:
            continue
        own = child.__dict__
        if type(child) is not cls:  # to ask for every module takes 4 % of a save
            cls = type(child)
            version = versions.get(cls, -1)
            if version == -1:
                version = versions[cls] = _usual_version(cls)
        path = prefix + name
        below = path + "."
        if version is None or "_state_hooks" in own or "_version" in own or "state_dict" in own:
            if cls.state_dict is StateSaving.state_dict and "state_dict" not in own:
                _save(child, destination, below, keep_vars, metadata, versions)
            else:
                child.state_dict(destination=destination, prefix=below, keep_vars=keep_vars)
            continue
        if metadata is not None:
            metadata[path] = {"version": version}
        if keep_vars or own["_buffers"]:
            _save_own(child, destination, below, keep_vars)
        else:
            for key, parameter in own["_parameters"].items():
                if type(parameter) is Parameter:
                    made = _new(Tensor)
                    made._array = parameter._array
                    counter = parameter._counter
                    made._counter = counter_of(parameter) if counter is None else counter
                    made._edge = made._grad = made._view = made._hooks = None
                    made._needs = False
                    destination[below + key] = made
                elif parameter is not None:
                    destination[below + key] = parameter.detach()
        if own["_modules"]:
            _save_below(child, destination, below, keep_vars, metadata, versions)


def _usual_version(cls: type[StateSaving]) -> int | None:
    """The version of a class whose modules save what they own and no more; None for another class."""
    usual = (
        cls.state_dict is StateSaving.state_dict
        and cls._save_to_state_dict is StateSaving._save_to_state_dict
        and cls.get_extra_state is StateSaving.get_extra_state
        and type(cls._version) is int
        and cls._version >= 0
    )
    return cls._version if usual else None


def _save_own(
    module: StateSaving, destination: MutableMapping[str, Any], prefix: str, keep_vars: bool
) -> None:
    for name, parameter in module._parameters.items():
        if parameter is not None:
            destination[prefix + name] = parameter if keep_vars else parameter.detach()
    if module._buffers:
        transient = module._non_persistent_buffers_set
        for name, buffer in module._buffers.items():
            if buffer is not None and name not in transient:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
    if type(module).get_extra_state is not StateSaving.get_extra_state:
        destination[prefix + EXTRA_STATE] = module.get_extra_state()


def _run_save_hooks(
    module: StateSaving,
    hooks: StateHooks,
    destination: MutableMapping[str, Any],
    prefix: str,
    keep_vars: bool,
    local_metadata: dict[str, Any],
) -> None:
    for entry in hooks.save_post:
        last = local_metadata if entry.options["with_metadata"] else keep_vars
        answer = entry.hook(module, destination, prefix, last)
        if answer is not None:
            raise HookError(
                f"state_dict post-hook must return None, got {type(answer).__name__} from {entry.hook!r} "
                f"on {type(module).__name__} at {prefix[:-1]!r}; change the dictionary in place"
            )
