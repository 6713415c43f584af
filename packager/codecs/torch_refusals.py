"""Modules of PyTorch that cannot be stored as they are, and what to store in their place.

They wrap a module that can be stored, or were made from one by a compiler of PyTorch: what they add
belongs to this process, or is a program in a form of its own that nobody can look into before it runs.
"""

from __future__ import annotations

from typing import Any, Final

from .base import CannotStore

_COMPILED: Final = (
    "it was compiled by torch.compile, and what was compiled belongs to this process",
    "save the module inside, module._orig_mod, and call torch.compile after loading",
    "compile in place, module.compile(): then the module is stored as it was written",
)
_SCRIPTED: Final = (
    "it is TorchScript, a compiled program whose Python class is gone",
    "save the module that was scripted or traced, and script it again after loading",
    "store the bytes that torch.jit.save writes, with save_binary(), for torch.jit.load",
)
_TRACED: Final = (
    "it is a graph of torch.fx, whose class was made in memory",
    "save the module that was traced, and trace it again after loading",
    "store the bytes that torch.export.save writes, with save_binary(), for torch.export.load",
)
_DISTRIBUTED: Final = (
    "it belongs to the processes that train together here",
    "save the module inside, module.module",
)
_SHARDED: Final = (
    "its parameters are spread over the processes that train together here",
    "gather the full state dict, and save_state_dict() that, or load it into a module that is not wrapped",
)
_REFUSED: Final[dict[str, tuple[str, ...]]] = {
    "torch._dynamo.eval_frame:OptimizedModule": _COMPILED,
    "torch.jit._script:ScriptModule": _SCRIPTED,
    "torch.fx.graph_module:GraphModule": _TRACED,
    "torch.nn.parallel.distributed:DistributedDataParallel": _DISTRIBUTED,
    "torch.distributed.fsdp.fully_sharded_data_parallel:FullyShardedDataParallel": _SHARDED,
}

_LEFT_BEHIND: Final = "torch.nn.utils.parametrizations:weight_norm.<locals>._weight_norm_compat_hook"


def is_refused(cls: type) -> bool:
    """Whether instances of a class of modules, or of one that it inherits from, are never stored."""
    return _why_refused(cls) is not None


def require_storable(module: Any) -> None:
    """Raise CannotStore for a module that cannot be stored as it stands, saying what can be."""
    import torch

    name = type(module).__qualname__.rpartition(".")[2]
    why = _why_refused(type(module))
    if why is not None:
        reason, *options = why
        raise CannotStore(f"{name} cannot be stored: {reason}", *options)
    if hasattr(type(module), "parametrizations") or "parametrizations" in module._modules:
        raise CannotStore(
            f"{name} is parametrized: its class was made in memory",
            "torch.nn.utils.parametrize.remove_parametrizations(...) before saving",
            "build the object by a factory: save_object(..., factory=, config=)",
        )
    tensors = {**module._parameters, **module._buffers}
    lazy = [name for name, value in tensors.items() if torch.nn.parameter.is_lazy(value)]
    if lazy:
        raise CannotStore(
            f"{name} has no shapes yet for {', '.join(lazy)}: they come with the first input",
            "call the model once with a sample input before saving",
        )


def computed_by_hooks(module: Any) -> list[str]:
    """The attributes that forward pre-hooks of PyTorch set anew before every call, from parameters.

    Weight and spectral norm of old, and pruning. Their last values need no graph.
    """
    from torch.nn.utils.prune import BasePruningMethod
    from torch.nn.utils.spectral_norm import SpectralNorm
    from torch.nn.utils.weight_norm import WeightNorm

    found = []
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, (WeightNorm, SpectralNorm)):
            found.append(hook.name)
        elif isinstance(hook, BasePruningMethod):
            found.append(hook._tensor_name)
    return found


def require_parameters(module: Any, hook: Any) -> None:
    """Raise ValueError for a hook of weight or spectral norm on a module without what it computes from."""
    from torch.nn.utils.spectral_norm import SpectralNorm
    from torch.nn.utils.weight_norm import WeightNorm

    endings = {WeightNorm: ("_g", "_v"), SpectralNorm: ("_orig",)}.get(type(hook), ())
    missing = [hook.name + ending for ending in endings if hook.name + ending not in module._parameters]
    if missing:
        raise ValueError(
            f"{type(hook).__name__} of {hook.name!r} on a module without the parameters {', '.join(missing)}"
        )


def require_recurrent_state(cls: type, state: dict[str, Any]) -> None:
    """Raise ValueError unless the state of a recurrent layer has the weights and names of today's PyTorch.

    From any other its class computes names, as many as the state says, and looks them up.
    """
    import torch

    if not issubclass(cls, torch.nn.RNNBase):
        return
    names, weights = state.get("_flat_weights_names"), state.get("_flat_weights")
    groups = state.get("_all_weights")
    tensors = type(weights) is list and all(
        weight is None or isinstance(weight, torch.Tensor) for weight in weights
    )
    named = type(groups) is list and len(groups) > 0 and all(map(_are_names, groups))
    if "all_weights" in state or not (_are_names(names) and tensors and named):
        raise ValueError(f"the state of {cls.__qualname__} does not say its weights by name")


def _are_names(names: Any) -> bool:
    return type(names) is list and len(names) > 0 and all(type(name) is str for name in names)


def is_obsolete(module: Any, hook: Any) -> bool:
    """Whether a load hook is what `remove_parametrizations` leaves behind of weight_norm.

    It reads old state dicts into the parametrization that is gone, and no import leads to it.
    """
    name = f"{getattr(hook, '__module__', '')}:{getattr(hook, '__qualname__', '')}"
    return name == _LEFT_BEHIND and "parametrizations" not in module._modules


def _why_refused(cls: type) -> tuple[str, ...] | None:
    names = (f"{base.__module__}:{base.__qualname__}" for base in cls.__mro__)
    return next((_REFUSED[name] for name in names if name in _REFUSED), None)
