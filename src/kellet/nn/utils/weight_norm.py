"""Weight normalisation by a forward pre-hook: the older form, whose state keys end in _g and _v."""

from __future__ import annotations

from typing import Any

from ...core.wrong_arguments import explain_functions as _explain_functions
from ..module import Module
from ..parameter import Parameter
from .parametrizations import directed, lengths
from .weight_hooks import put_hook, refuse_second, take_hook


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into lengths (`<name>_g`) and directions (`<name>_v`), trained apart; return the module.

    The weight is computed before each call of the module. Raises RuntimeError for a second time.

    Source: torch.nn.utils.weight_norm, which PyTorch gives up for `parametrizations.weight_norm`.

    >>> [key for key in weight_norm(kellet.nn.Linear(2, 3)).state_dict()]
    ['bias', 'weight_g', 'weight_v']
    """
    refuse_second(module, "weight_norm", name)
    axis = -1 if dim is None else dim
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(lengths(weight.detach(), axis)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    hook = _WeightNorm(name, axis)
    hook(module, ())
    put_hook(module, "weight_norm", name, hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a plain parameter of the weight again; return the module.

    Raises ValueError where `weight_norm` was not used on it.

    >>> net = weight_norm(kellet.nn.Linear(2, 3))
    >>> sorted(remove_weight_norm(net).state_dict())
    ['bias', 'weight']
    """
    hook: _WeightNorm = take_hook(module, "weight_norm", name)
    value = hook.weight(module).detach()
    delattr(module, name)
    for part in "gv":
        del module._parameters[f"{name}_{part}"]
    setattr(module, name, Parameter(value))
    return module


class _WeightNorm:
    """The hook."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def weight(self, module: Any) -> Any:
        return directed(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    def __call__(self, module: Any, args: Any) -> None:
        setattr(module, self.name, self.weight(module))


_explain_functions(globals())
