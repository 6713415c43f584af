"""Codecs for PyTorch: modules with their hooks, handles of hooks.

Tensors are in torch_tensors.py, small values in torch_layouts.py, optimisers in optimizers.py. torch is
imported inside functions only: these codecs are there, and check what an archive says, where it is not.
"""

from __future__ import annotations

import re
import weakref
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import WRAPPER_ASSIGNMENTS, cached_property, partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from packager._tensors import DTYPES
from packager._texts import listed
from packager.errors import ArchiveError

from .base import (
    CannotStore,
    Codec,
    Decoding,
    Encoding,
    TensorData,
)
from .frameworks import Framework
from .modules import HandleCodec, Hook, ModuleCodec
from .registry import CodecRegistry, default_registry
from .stored_arrays import tensor_in
from .torch_layouts import GENERATOR, LAYOUTS, TorchValueCodec
from .torch_tensors import TensorCodec, TensorSubclassCodec, memory_key, plain_memory


class TorchFramework(Framework):
    """Modules and tensors of PyTorch."""

    family = "torch"

    def base(self) -> Any:
        import torch

        return torch.nn.Module

    def memory_of(self, tensor: object) -> Hashable:
        return memory_key(tensor)

    def memory(self, tensor: Any, context: Encoding) -> Sequence[TensorData]:
        found = plain_memory(tensor.detach(), context) if tensor.numel() else None
        return () if found is None else (found,)

    def is_tensor(self, value: object) -> bool:
        import torch

        return isinstance(value, torch.Tensor)

    def loads_by_itself(self, module: Any) -> bool:
        base = self.base()
        return bool(
            module._load_state_dict_pre_hooks
            or module._load_state_dict_post_hooks
            or type(module)._load_from_state_dict is not base._load_from_state_dict
            or type(module).load_state_dict is not base.load_state_dict
            or type(module).set_extra_state is not base.set_extra_state
        )

    def changes_by_loading(self, module: Any) -> bool:
        """Leave out overrides of PyTorch's own classes: they bring states of older versions up to date.

        On the way they ask attributes of the module, which in data alone may be anything.
        """
        hooks = module._load_state_dict_pre_hooks or module._load_state_dict_post_hooks
        own = type(module).__module__.startswith("torch.nn.")
        return bool(hooks) or (not own and self.loads_by_itself(module))

    def require_fit(self, root: object, items: Mapping[str, Any]) -> None:
        """Raise ValueError for what is no tensor of the shape of its slot, where no hook changes it first."""
        if any(self.changes_by_loading(module) for _, module in self.walk(root)):
            return
        odd = [
            slot.key for slot in self.slots(root) if not _fits(items.get(slot.key, slot.value), slot.value)
        ]
        if odd:
            said = f"the state lacks tensors of the right shapes for {listed([*map(repr, odd)])}"
            raise ArchiveError(said).holding(odd)

    def make_state(self, items: Mapping[str, Any], metadata: Any) -> Any:
        state: OrderedDict[str, Any] = OrderedDict(items)
        if metadata is not None:
            known = OrderedDict((path, dict(facts)) for path, facts in metadata.items())
            state._metadata = known  # type: ignore[attr-defined]  # where PyTorch looks for it
        return state


def _fits(value: Any, tensor: Any) -> bool:
    """Check whether PyTorch takes a value of a state for a tensor; a number may have one axis."""
    import torch

    if not isinstance(value, torch.Tensor) or torch.nn.parameter.is_lazy(value):
        return False
    if torch.nn.parameter.is_lazy(tensor):
        return True
    return bool(value.shape == tensor.shape or (tensor.ndim == 0 and value.shape == (1,)))


class TorchModuleCodec(ModuleCodec):
    """torch.nn.Module."""

    name = "torch.module"
    types = ("torch.nn.modules.module:Module",)
    framework = TorchFramework()

    def claims(self, cls: type) -> bool:
        return is_refused(cls) or super().claims(cls)

    def attributes(self, obj: object, context: Encoding) -> Mapping[str, object]:
        require_storable(obj, context)
        stored = dict(super().attributes(obj, context))
        for name in computed_by_hooks(obj):
            if name in stored:
                stored[name] = stored[name].detach()  # type: ignore[attr-defined]  # a tensor
        return stored

    def hook_attributes(self) -> frozenset[str]:
        return self._hook_attributes

    @cached_property
    def _hook_attributes(self) -> frozenset[str]:
        return frozenset(name for name in self._fresh() if "hook" in name)

    def hooks_of(self, module: Any) -> list[Hook]:
        found = []
        for kind, table in _tables(module):
            for identity, hook in table.items():
                options: dict[str, Any] = {
                    name.removeprefix(f"{kind}_"): True
                    for name, flags in vars(module).items()
                    if name.startswith(f"{kind}_") and isinstance(flags, dict) and identity in flags
                }
                if kind == "_load_state_dict_pre_hooks":
                    options["with_module"] = bool(hook.with_module)
                    hook = hook.hook
                    if is_obsolete(module, hook):
                        continue
                elif kind == "_state_dict_hooks" and getattr(hook, "_from_public_api", False):
                    options["public"] = True
                elif kind == "_backward_hooks":
                    options["full"] = bool(module._is_full_backward_hook)
                found.append(Hook(kind, identity, hook, options))
        return found

    def set_state(self, obj: object, state: object, version: int) -> None:
        if type(state) is dict:
            require_recurrent_state(type(obj), state)
        super().set_state(obj, state, version)

    def registries_of(self, module: object) -> Iterator[tuple[Any, str]]:
        return ((table, kind) for kind, table in _tables(module))

    def register(self, module: object, kind: str, hook: object, options: Mapping[str, Any]) -> int:
        """Register a hook. Raises ValueError for an unknown kind, and for parameters that are missing."""
        register = _REGISTER.get(kind)
        if register is None:
            raise ValueError(f"there is no kind of hook {kind!r}")
        require_parameters(module, hook)
        if _answers_by_itself(hook):
            return int(register(module, hook, dict(options)).id)
        identity = int(register(module, lambda *args, **kwargs: None, dict(options)).id)
        _put_in_place(vars(module)[kind], identity, hook, "public" in options)
        return identity


def _answers_by_itself(hook: Any) -> bool:
    """Whether a hook may be asked for an attribute: no method of a class is called for it."""
    if type(hook) is MethodType:
        hook = hook.__func__
    return type(hook) in (FunctionType, BuiltinFunctionType, partial)


def _put_in_place(table: dict[int, Any], identity: int, hook: Any, public: bool) -> None:
    """Put an object where a function was registered: what PyTorch asks of one runs no method of a class."""
    held = table[identity]
    if type(held) is FunctionType:
        table[identity] = hook
    else:  # a wrapper, with the names of what it was made for
        for name in WRAPPER_ASSIGNMENTS:
            vars(held).pop(name, None)
        held.hook = held.__wrapped__ = hook
    if public:
        object.__setattr__(hook, "_from_public_api", True)


def _tables(module: Any) -> list[tuple[str, dict[int, Any]]]:
    """Return the hook tables of a module: attribute name and dict of hooks by id."""
    return [(kind, vars(module)[kind]) for kind in _REGISTER if kind in vars(module)]


def _register_forward_pre(module: Any, hook: Any, options: dict[str, Any]) -> Any:
    return module.register_forward_pre_hook(hook, with_kwargs="with_kwargs" in options)


def _register_forward(module: Any, hook: Any, options: dict[str, Any]) -> Any:
    return module.register_forward_hook(
        hook, with_kwargs="with_kwargs" in options, always_call="always_called" in options
    )


def _register_backward(module: Any, hook: Any, options: dict[str, Any]) -> Any:
    full = options.get("full", True)
    return module.register_full_backward_hook(hook) if full else module.register_backward_hook(hook)


def _register_state_dict(module: Any, hook: Any, options: dict[str, Any]) -> Any:
    public = options.get("public", False)
    return module.register_state_dict_post_hook(hook) if public else module._register_state_dict_hook(hook)


def _register_load_pre(module: Any, hook: Any, options: dict[str, Any]) -> Any:
    return module._register_load_state_dict_pre_hook(hook, with_module=options.get("with_module", False))


_REGISTER: Final[dict[str, Any]] = {
    "_forward_pre_hooks": _register_forward_pre,
    "_forward_hooks": _register_forward,
    "_backward_pre_hooks": lambda module, hook, options: module.register_full_backward_pre_hook(hook),
    "_backward_hooks": _register_backward,
    "_state_dict_pre_hooks": lambda module, hook, options: module.register_state_dict_pre_hook(hook),
    "_state_dict_hooks": _register_state_dict,
    "_load_state_dict_pre_hooks": _register_load_pre,
    "_load_state_dict_post_hooks": lambda module, hook, options: module.register_load_state_dict_post_hook(
        hook
    ),
}


class TorchHandleCodec(HandleCodec):
    """Handles of the hooks of modules."""

    name = "torch.handle"
    types = ("torch.utils.hooks:RemovableHandle",)
    family = "torch"
    owners = ("torch.module",)
    kinds = _REGISTER.keys()

    def registry_of(self, handle: Any) -> Any:
        table = handle.hooks_dict_ref()
        return table if table is not None and handle.id in table else None

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from torch.utils.hooks import RemovableHandle

        table: OrderedDict[int, Any] = OrderedDict()
        return RemovableHandle(table)

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        """Attach a handle to its module. Raises ValueError for what is no module."""
        kind, number = literal
        module = children[0]
        if not isinstance(module, TorchModuleCodec.framework.base()):
            raise ValueError(f"a handle of a hook refers to a {type(module).__qualname__}; expected a module")
        obj.id = context.number("torch", number, lambda: obj.id)
        obj.hooks_dict_ref = weakref.ref(vars(module)[kind])
        flags = [flags for name, flags in vars(module).items() if name.startswith(f"{kind}_")]
        obj.extra_dict_ref = tuple(weakref.ref(table) for table in flags)


# --- modules that cannot be stored as they are ---
#
# They wrap a module that can be stored, or were made from one by a compiler of PyTorch: what they add
# belongs to this process, or is a program in a form of its own that cannot be looked into before it runs.

_COMPILED: Final = (
    "torch.compile made it, and its compiled code belongs to this process",
    "save the module inside, module._orig_mod, and call torch.compile after loading",
    "compile in place, module.compile(): then the module is stored uncompiled",
)
_SCRIPTED: Final = (
    "it is TorchScript, a compiled program without its Python class",
    "save the module that was scripted or traced, and script it again after loading",
    "store the bytes that torch.jit.save writes, with save_binary(), for torch.jit.load",
)
_TRACED: Final = (
    "it is a graph of torch.fx, whose class was made in memory",
    "save the module that was traced, and trace it again after loading",
    "store the bytes that torch.export.save writes, with save_binary(), for torch.export.load",
)
_DISTRIBUTED: Final = (
    "it belongs to this training's processes",
    "save the module inside, module.module",
)
_SHARDED: Final = (
    "its parameters are spread over this training's processes",
    "gather the full state dict; then save_state_dict() it, or load it into an unwrapped module",
)
_AVERAGED: Final = (
    "torch.optim.swa_utils made its averaging function, which cannot be imported",
    "save the averaged module inside, ema.module, and make an AveragedModel of it to continue training",
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
    """Check whether instances of a class of modules, or of one that it inherits from, are never stored."""
    return _why_refused(cls) is not None


def require_storable(module: Any, context: Encoding) -> None:
    """Raise CannotStore for a module that cannot be stored as it stands, saying what can be."""
    import torch

    name = type(module).__qualname__.rpartition(".")[2]
    why = _why_refused(type(module)) or (_AVERAGED if _averages_by_a_closure(module) else None)
    if why is not None:
        reason, *options = why
        raise CannotStore(f"{name} cannot be stored: {reason}", *options)
    if hasattr(type(module), "parametrizations") or "parametrizations" in module._modules:
        raise CannotStore(
            f"{name} is parametrized: its class was made in memory",
            *_removals(module, context.path()),
            "build the object by a factory: PackageExporter.save_object(..., factory=, config=)",
        )
    tensors = {**module._parameters, **module._buffers}
    lazy = [name for name, value in tensors.items() if torch.nn.parameter.is_lazy(value)]
    if lazy:
        raise CannotStore(
            f"{name} has no shapes yet for {listed(lazy)}: the first input gives them",
            "call the model once with a sample input before saving",
        )


def _removals(module: Any, path: str) -> list[str]:
    """Return the option to compute each parametrized tensor once; none for a module that only looks so."""
    from torch.nn import ModuleDict

    held = module._modules.get("parametrizations")
    if not isinstance(held, ModuleDict):
        return []
    remove = "torch.nn.utils.parametrize.remove_parametrizations"
    path = re.sub(r"\.(\d+)", r"[\1]", path)  # a list of modules names them by numbers
    calls = [f'{remove}({path}, "{name}")' for name in held]
    return [f"before saving: {'; '.join(calls)}"]


def computed_by_hooks(module: Any) -> list[str]:
    """Return the attributes that forward pre-hooks of PyTorch set anew before every call, from parameters.

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
        raise ValueError(f"the state of {cls.__qualname__} must list its weights by name")


def _are_names(names: Any) -> bool:
    return type(names) is list and len(names) > 0 and all(type(name) is str for name in names)


def is_obsolete(module: Any, hook: object) -> bool:
    """Check whether a load hook is what `remove_parametrizations` leaves behind of weight_norm.

    It reads old state dicts into the parametrization that is gone, and no import leads to it.
    """
    name = f"{getattr(hook, '__module__', '')}:{getattr(hook, '__qualname__', '')}"
    return name == _LEFT_BEHIND and "parametrizations" not in module._modules


def _why_refused(cls: type) -> tuple[str, ...] | None:
    names = (f"{base.__module__}:{base.__qualname__}" for base in cls.__mro__)
    return next((_REFUSED[name] for name in names if name in _REFUSED), None)


def _averages_by_a_closure(module: Any) -> bool:
    """Check whether this is an AveragedModel with a function that `get_ema_avg_fn` or the like has made."""
    functions = (getattr(module, name, None) for name in ("avg_fn", "multi_avg_fn"))
    names = (f"{getattr(one, '__module__', '')}:{getattr(one, '__qualname__', '')}" for one in functions)
    return any(name.startswith("torch.optim.swa_utils:get_") and "<locals>" in name for name in names)


# --- where PyTorch is not ---


def registry_without_torch(library: str) -> CodecRegistry:
    """Return codecs that make what another library has of tensors of PyTorch, and texts of its dtypes."""
    instead: list[Codec] = [_Tensor(library), _Value(), *(_Layout(one) for one in LAYOUTS)]
    registry = default_registry()
    registry.replace(instead)
    return registry


class _Tensor(TensorCodec):
    def __init__(self, library: str) -> None:
        self._library = library

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Make an array. Raises ValueError for a tensor that has no memory, and for dtypes NumPy lacks."""
        _, name, device, _, *marks = literal
        dtype = DTYPES[name]
        if marks[:1] == ["empty"] or not dtype.in_numpy:
            raise ValueError(f"a tensor of {name} on {device!r} has no form without PyTorch; install torch")
        made = tensor_in(children[0], None if dtype.word else dtype.spelling, self._library)
        made = made.conj() if "conj" in marks else made
        return -made if "neg" in marks else made


class _Value(TorchValueCodec):
    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        kind, *parts = literal
        if kind == "Size":
            return tuple(parts)
        return parts[0] if kind == "device" else f"torch.{parts[0]}"


class _Layout(Codec):
    """Tensors that are made of others, which is said."""

    def __init__(self, codec: Codec) -> None:
        self.name, self.version = codec.name, codec.version
        self.takes_attributes, self.is_data = codec.takes_attributes, codec.is_data
        self._codec = codec

    def check(self, literal: Any, children: Any, version: int) -> None:
        self._codec.check(literal, children, version)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Raise ValueError."""
        raise ValueError(
            f"a {self.name.removeprefix('torch.')} tensor has no form without PyTorch; install torch"
        )


CODECS: Final = (
    TorchValueCodec(),
    TensorSubclassCodec(),
    TensorCodec(),
    *LAYOUTS,
    GENERATOR,
    TorchModuleCodec(),
    TorchHandleCodec(),
)
