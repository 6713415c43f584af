"""What a module owns: parameters, buffers and submodules, registered under names and reached as attributes.

A value given to an attribute is sorted by its type: a `Parameter` becomes a parameter, a `Module`
a submodule, a `Buffer` (or anything given to the name of a buffer) a buffer, and the rest stays an
ordinary attribute. Three kinds of hook, global to all modules, see and may replace what is registered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..absent import GUIDE, OF_MODULES
from ..core import Tensor
from ..hooks import HookRegistry, RemovableHandle
from .parameter import Buffer, Parameter

if TYPE_CHECKING:
    from .module import Module

Value = TypeVar("Value")

_parameter_hooks: HookRegistry[Callable[..., Any]] = HookRegistry()
_buffer_hooks: HookRegistry[Callable[..., Any]] = HookRegistry()
_module_hooks: HookRegistry[Callable[..., Any]] = HookRegistry()


def register_module_parameter_registration_hook(hook: Callable[[Any, str, Any], object]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever any module registers a parameter.

    A return value other than None is registered in its place.

    Source: torch.nn.modules.module.register_module_parameter_registration_hook.

    >>> with register_module_parameter_registration_hook(lambda module, name, parameter: print(name)):
    ...     net = kellet.nn.Linear(2, 1)
    weight
    bias
    """
    return _parameter_hooks.add(hook)


def register_module_buffer_registration_hook(hook: Callable[[Any, str, Any], object]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever any module registers a buffer (also None).

    A return value other than None is registered in its place.

    Source: torch.nn.modules.module.register_module_buffer_registration_hook.

    >>> with register_module_buffer_registration_hook(lambda module, name, buffer: print(name)):
    ...     kellet.nn.Module().register_buffer("count", kellet.zeros(1))
    count
    """
    return _buffer_hooks.add(hook)


def register_module_module_registration_hook(hook: Callable[[Any, str, Any], object]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever any module registers a submodule (also None).

    A return value other than None is registered in its place.

    Source: torch.nn.modules.module.register_module_module_registration_hook.

    >>> with register_module_module_registration_hook(lambda module, name, submodule: print(name)):
    ...     net = kellet.nn.Sequential(kellet.nn.ReLU())
    0
    """
    return _module_hooks.add(hook)


class Members:
    """The part of `Module` that registers parameters, buffers and submodules.

    Raises TypeError for arguments, unless `call_super_init`.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Module | None]

    call_super_init: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            extra = f"{len(args)} positional" if args else f"the keyword {next(iter(kwargs))!r}"
            raise TypeError(
                f"{type(self).__name__} hands {extra} argument(s) to Module.__init__(), which takes none; "
                "set call_super_init = True on the class to pass them on to the next base"
            )
        # Straight into __dict__: __setattr__ below looks at these very dicts. One by one: Python then
        # keeps the names once for all modules of a class, where `update` would give each its own table.
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register `param` as a parameter called `name`; None keeps the name without a value.

        Raises KeyError for a name that is empty, dotted or taken, TypeError for a value that is not a
        Parameter, ValueError for one that was computed from another tensor.
        """
        self._check_name("parameter", name, "_parameters")
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' "
                "(kellet.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                f"explicitly. To express '{name}' as a function of another Tensor, compute the value in "
                "the forward() method."
            )
        self._parameters[name] = _told(_parameter_hooks, self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register `tensor` as a buffer: state that is saved (unless not `persistent`) but not trained.

        Raises KeyError for a name that is empty, dotted or taken, TypeError for a value that is not a Tensor.
        """
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' "
                "(kellet.Tensor or None required)"
            )
        self._buffers[name] = _told(_buffer_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register `module` as a submodule called `name`; None keeps the name without a value.

        Raises KeyError for a name that is empty, dotted or taken, TypeError for a value that is not a Module.
        """
        if module is not None and not isinstance(module, Members):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = _told(_module_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Do the same as `add_module`."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: str, place: str) -> None:
        if place not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[place]:
            raise KeyError(f"attribute '{name}' already exists")

    def __getattr__(self, name: str) -> Any:
        # Reached only when ordinary look-up failed.
        own = self.__dict__
        for place in ("_parameters", "_buffers", "_modules"):
            members = own.get(place)
            if members is not None and name in members:
                return members[name]
        message = f"'{type(self).__name__}' object has no attribute '{name}'"
        if name in OF_MODULES:
            message += f". PyTorch has it; {OF_MODULES[name]}; see {GUIDE}"
        raise AttributeError(message)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            self._require_init("parameters")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' "
                    "(kellet.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Members):
            self._require_init("module")
            self._forget(name, "_modules")
            own["_modules"][name] = _told(_module_hooks, self, name, value)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' "
                    "(kellet.nn.Module or None expected)"
                )
            own["_modules"][name] = _told(_module_hooks, self, name, None)
        elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        self._require_init("buffer")
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(value)}' as buffer '{name}' "
                "(kellet.nn.Buffer, kellet.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent = value.persistent
        else:
            persistent = name not in self._non_persistent_buffers_set
        # Overrides of register_buffer may know only two arguments.
        if persistent:
            self.register_buffer(name, value)
        else:
            self.register_buffer(name, value, persistent=False)

    def _require_init(self, kind: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")

    def _forget(self, name: str, keep: str) -> None:
        """Take `name` out of every place but `keep`, where it is about to be registered."""
        self.__dict__.pop(name, None)
        for place in ("_parameters", "_buffers", "_modules"):
            if place != keep:
                self.__dict__[place].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        # Names such as "0" (the children of Sequential) are not attributes one can type.
        return sorted(name for name in names if not name[:1].isdigit())


def _told(hooks: HookRegistry[Callable[..., Any]], module: Members, name: str, value: Value) -> Value:
    for entry in hooks:
        answer = entry.hook(module, name, value)
        if answer is not None:
            value = answer
    return value


def _typename(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
