"""Walking the tree of modules: children, parameters and buffers by name, and operations on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, cast

from ..core import Tensor
from .members import Members
from .parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


class ModuleTree(Members):
    """The part of `Module` that reads the tree below a module and acts on the whole of it."""

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield (name, module) for each direct submodule, once for each module."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield each direct submodule once."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield (dotted name, module) for this module and all below it, parents first.

        A module reachable by two names is yielded under the first, unless `remove_duplicate` is False.
        """
        memo = set() if memo is None else memo
        pending = [(prefix, cast("Module", self))]
        while pending:
            name, module = pending.pop()
            if remove_duplicate:
                if module in memo:
                    continue
                memo.add(module)
            yield name, module
            if module._modules:
                below = [
                    (f"{name}.{child_name}" if name else child_name, child)
                    for child_name, child in module._modules.items()
                    if child is not None
                ]
                pending.extend(reversed(below))

    def modules(self) -> Iterator[Module]:
        """Yield this module and all below it, each once, parents first."""
        return (module for _, module in self.named_modules())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (dotted name, parameter), here and (with `recurse`) below.

        A parameter tied to two names is yielded under the first, unless `remove_duplicate` is False.
        """
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield each parameter once: what an optimizer is given."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (dotted name, buffer), here and (with `recurse`) below, persistent or not."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield each buffer once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _named_members(
        self, place: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, cast("Module", self))]
        )
        for owner_name, owner in owners:
            around = f"{owner_name}." if owner_name else ""
            for name, value in getattr(owner, place).items():
                if value is None:
                    continue
                if remove_duplicate:
                    if id(value) in seen:
                        continue
                    seen.add(id(value))
                yield around + name, value

    def get_submodule(self, target: str) -> Module:
        """Return the module at the dotted path `target`; the empty path is this module.

        Raises AttributeError that names the first part of the path that is missing or no Module.
        """
        module: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
            module = getattr(module, part)
            if not isinstance(module, ModuleTree):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return cast("Module", module)

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at the dotted path `target`, whose parent must exist.

        With `strict` there must be a module to replace. Raises ValueError for an empty path or for a value
        that is not a Module, AttributeError for a path that does not exist.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, ModuleTree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module).__name__}")
        parent_path, _, name = target.rpartition(".")
        parent = self.get_submodule(parent_path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), ModuleTree):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at the dotted path `target`; AttributeError if it does not exist."""
        return cast("Parameter", self._get_member("_parameters", "an nn.Parameter", target))

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at the dotted path `target`; AttributeError if it does not exist."""
        return cast("Tensor", self._get_member("_buffers", "a buffer", target))

    def _get_member(self, place: str, kind: str, target: str) -> object:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if name not in getattr(owner, place):
            raise AttributeError(f"`{name}` is not {kind}")
        return getattr(owner, name)

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call `fn(module)` on every module below and then on this one; return this one.

        >>> from kellet import nn
        >>> net = nn.Sequential(nn.ReLU(), nn.Tanh())
        >>> names = []
        >>> _ = net.apply(lambda module: names.append(type(module).__name__))
        >>> names
        ['ReLU', 'Tanh', 'Sequential']
        """
        for child in self.children():
            child.apply(fn)
        fn(cast("Module", self))
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and below: Dropout drops, BatchNorm uses and updates batch statistics.

        Raises ValueError for a mode that is not a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {type(mode).__name__}: {mode!r}")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """Do the same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Make every parameter here and below record gradients, or not."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros in place."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach()
                parameter.grad.zero_()
