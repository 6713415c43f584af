"""Parameters that are computed from others: a weight as a function of the tensors trained in its place.

A parametrised module has a class of its own, derived from its class, in which the name is a property. The
trained tensors are in `module.parametrizations.<name>`, as `original`, or `original0`, `original1`, ...;
under these names it is in the state dict.

As in PyTorch, such a module is saved by its state dict: packed as an object it needs a factory that makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...autograd import no_grad
from ...core import Tensor
from ...core.wrong_arguments import explain_functions as _explain_functions
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]

_cache: dict[tuple[int, str], Any] = {}
_depth = [0]


class ParametrizationList(ModuleList):
    """The parametrisations of one tensor, in order of application, and the tensors it is computed from.

    Raises ValueError where `right_inverse` of one of them returns no tensors, or a tensor of another dtype.

    Source: torch.nn.utils.parametrize.ParametrizationList; `register_parametrization` makes it.

    >>> from kellet import nn
    >>> net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> [name for name, _ in net.parametrizations.weight.named_parameters()]
    ['original0', 'original1']
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    new = module.right_inverse(new)
        if not isinstance(new, Tensor | list | tuple):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            if new.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype; it made "
                    f"{new.dtype} of {original.dtype}"
                )
            original.data = new.detach()
            _register(self, "original", original)
        else:
            for number, one in enumerate(new):
                whole = isinstance(original, Parameter)
                made = Parameter(one.detach(), original.requires_grad) if whole else one.detach()
                _register(self, f"original{number}", made)

    def _originals(self) -> list[Any]:
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def forward(self) -> Any:
        first, *others = list(self)
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value

    def right_inverse(self, value: Any) -> None:
        """Store what makes `value`, in place.

        Raises RuntimeError where a parametrisation has no `right_inverse`, ValueError where it returns
        another number of tensors, or other dtypes.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            parts, targets = [value] if self.is_tensor else list(value), self._originals()
            if len(parts) != len(targets) or any(
                not isinstance(part, Tensor) or part.dtype != target.dtype
                for part, target in zip(parts, targets, strict=True)
            ):
                raise ValueError(
                    f"'right_inverse' must return {len(targets)} tensors of the dtypes of the originals. "
                    f"Got {parts!r}"
                )
            for part, target in zip(parts, targets, strict=True):
                target.data = part.detach()


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let `module.<tensor_name>` be computed by `parametrization` from its old value; return the module.

    The parametrisation is a module from tensor to tensor. Where it has a `right_inverse`, it computes the
    trained tensors, one or several, from the present value; setting the attribute later goes the same way.
    Each further one is applied to the result of the one before. Unless `unsafe`, shape and dtype must stay.

    Raises ValueError if one of them changes, or the module has no parameter or buffer of this name.

    Source: torch.nn.utils.parametrize.register_parametrization.

    >>> from kellet import nn
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> net = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> kellet.equal(net.weight, net.weight.mT)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _add_to(module, tensor_name, parametrization, unsafe)
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe)
        if not unsafe:
            _check_made(made(), original)
        for place in (module._parameters, module._buffers):
            place.pop(tensor_name, None)
        if not is_parametrized(module):
            _derive_class(module)
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _add_to(module: Module, tensor_name: str, parametrization: Module, unsafe: bool) -> None:
    before = getattr(module, tensor_name)
    known: ParametrizationList = module.parametrizations[tensor_name]
    if not unsafe:
        _check_made(parametrization(before), before)
    known.append(parametrization)
    known.unsafe |= unsafe


def _check_made(made: Any, original: Tensor) -> None:
    if not isinstance(made, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    if made.dtype != original.dtype or made.shape != original.shape:
        raise ValueError(
            "Registering a parametrization may not change the dtype or the shape of the tensor, unless "
            f"`unsafe` is enabled. It made {made.dtype}, {made.shape} of {original.dtype}, {original.shape}"
        )


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _derive_class(module: Module) -> None:
    cls = type(module)
    # No __dict__ of slots or pickling of its own: a state dict is what is saved.
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), {"__module__": cls.__module__})


def _property(name: str) -> property:
    def computed(self: Any) -> Any:
        if not _depth[0]:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def store(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(computed, store)


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrised tensor once within the block.

    Source: torch.nn.utils.parametrize.cached.

    >>> net = kellet.nn.utils.parametrizations.weight_norm(kellet.nn.Linear(2, 3))
    >>> with cached():
    ...     net.weight is net.weight
    True
    """
    _depth[0] += 1
    try:
        yield
    finally:
        _depth[0] -= 1
        if not _depth[0]:
            _cache.clear()


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Say whether the module has a parametrised tensor, or the one of this name is.

    >>> is_parametrized(kellet.nn.Linear(2, 3))
    False
    """
    known = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(known, ModuleDict):
        return False
    return len(known) > 0 if tensor_name is None else tensor_name in known


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a plain parameter or buffer of a parametrised tensor again; return the module.

    It has the value that was computed, or (not `leave_parametrized`) the one it was computed from.

    Raises ValueError for a tensor that is not parametrised, or computed from several and not to be left so.

    Source: torch.nn.utils.parametrize.remove_parametrizations.

    >>> net = kellet.nn.utils.parametrizations.weight_norm(kellet.nn.Linear(2, 3))
    >>> remove_parametrizations(net, "weight")
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    known: ParametrizationList = module.parametrizations[tensor_name]
    original = known._originals()[0]
    if not (known.is_tensor or leave_parametrized):
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is computed from several"
        )
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach()
        if known.is_tensor:
            original.data = value
        else:
            original = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type[Module]:
    """Return the class that the module had before.

    >>> net = kellet.nn.utils.parametrizations.weight_norm(kellet.nn.Linear(2, 3))
    >>> type_before_parametrizations(net).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


_explain_functions(globals())
