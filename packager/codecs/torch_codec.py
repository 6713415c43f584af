"""Codecs for PyTorch: small values, modules with their hooks, handles of hooks, optimisers.

Tensors are in torch_tensors.py. torch is imported inside functions only, so that these codecs are
there, and can check what an archive says, where torch is not installed.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from .base import Child, Codec, Decoding, Encoding, Finish, LiteralValue, Node, TensorData, expect
from .module_frameworks import Hook, SavedModules
from .modules import HANDLES, ModuleCodec
from .optimizers import OptimizerCodec
from .torch_layouts import QUANTIZED, SPARSE, GeneratorCodec
from .torch_refusals import (
    computed_by_hooks,
    is_obsolete,
    is_refused,
    require_parameters,
    require_recurrent_state,
    require_storable,
)
from .torch_tensors import TensorCodec, TensorSubclassCodec, memory_key, plain_memory


class TorchValueCodec(Codec):
    """torch.dtype, torch.device, torch.layout, torch.memory_format and torch.Size: their names."""

    name = "torch.value"
    types = ("torch:dtype", "torch:device", "torch:layout", "torch:memory_format", "torch:Size")

    def encode(self, obj: Any, context: Encoding) -> Node:
        kind = type(obj).__name__
        if kind == "Size":
            return Node([kind, *obj])
        name = str(obj).removeprefix("torch.")
        return Node([kind, name], key=(kind, name))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) > 0 and not children, "the kind of value")
        kind, *parts = literal
        if kind == "Size":
            expect(all(type(part) is int for part in parts), "sizes")
            return
        expect(
            kind in ("dtype", "device", "layout", "memory_format") and len(parts) == 1, "a kind and a name"
        )
        name = parts[0]
        expect(isinstance(name, str) and name.replace(":", "_").isidentifier(), "a name")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import torch

        kind, *parts = literal
        if kind == "Size":
            return torch.Size(parts)
        if kind == "device":
            return torch.device(parts[0])
        value = vars(torch).get(parts[0])  # getattr would import what torch imports when it is asked
        if type(value).__name__ != kind:
            raise ValueError(f"torch {torch.__version__} has no {kind} {parts[0]!r}")
        return value


class TorchModuleCodec(ModuleCodec):
    """torch.nn.Module."""

    name = "torch.module"
    types = ("torch.nn.modules.module:Module",)
    family = "torch"

    def base(self) -> Any:
        import torch

        return torch.nn.Module

    def claims(self, cls: type) -> bool:
        return is_refused(cls) or super().claims(cls)

    def attributes(self, obj: Any, context: Encoding) -> Mapping[str, object]:
        require_storable(obj)
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

    def set_state(self, obj: Any, state: Any, version: int) -> None:
        if type(state) is dict:
            require_recurrent_state(type(obj), state)
        super().set_state(obj, state, version)

    def registries_of(self, module: Any) -> Iterator[tuple[Any, str]]:
        return ((table, kind) for kind, table in _tables(module))

    def register(self, module: Any, kind: str, hook: Any, options: Mapping[str, Any]) -> int:
        register = _REGISTER.get(kind)
        if register is None:
            raise ValueError(f"there is no kind of hook {kind!r}")
        require_parameters(module, hook)
        handle = register(module, hook, dict(options))
        return int(handle.id)

    def memory_of(self, tensor: Any) -> Hashable:
        return memory_key(tensor)

    def memory(self, tensor: Any, context: Encoding) -> Sequence[TensorData]:
        found = plain_memory(tensor.detach(), context) if tensor.numel() else None
        return () if found is None else (found,)

    def is_tensor(self, value: Any) -> bool:
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

    def make_state(self, items: Mapping[str, Any], metadata: Any) -> Any:
        state: OrderedDict[str, Any] = OrderedDict(items)
        if metadata is not None:
            known = OrderedDict((path, dict(facts)) for path, facts in metadata.items())
            state._metadata = known  # type: ignore[attr-defined]  # where PyTorch looks for it
        return state


def _tables(module: Any) -> list[tuple[str, dict[int, Any]]]:
    """The hook tables of a module: attribute name and dict of hooks by id."""
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


class HandleCodec(Codec):
    """The handle of a module's hook; one whose hook is gone, or is not stored, removes nothing."""

    name = "torch.handle"
    types = ("torch.utils.hooks:RemovableHandle",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        context.defer(HANDLES, obj, lambda: self._finish(obj, context))
        return Node()

    def _finish(self, handle: Any, context: Encoding) -> Finish | None:
        table = handle.hooks_dict_ref()
        module, kind = context.shared_state(SavedModules).registries.get(id(table), (None, ""))
        if module is None or handle.id not in table or not context.stored(module):
            return None
        return Finish([kind, context.number("torch", handle.id)], (module,))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and not children, "nothing")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from torch.utils.hooks import RemovableHandle

        table: OrderedDict[int, Any] = OrderedDict()
        return RemovableHandle(table)

    def check_finish(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and list(map(type, literal)) == [str, int], "a kind and a number")
        expect(literal[0] in _REGISTER and len(children) == 1, "a kind of hook, and a module")
        expect(children[0].codec == TorchModuleCodec.name or children[0].kind == "object", "a module")

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        kind, number = literal
        module = children[0]
        if not isinstance(module, TorchModuleCodec().base()):
            raise ValueError(f"{type(module).__qualname__} has no hooks: it is no module")
        obj.id = context.number("torch", number, lambda: obj.id)
        obj.hooks_dict_ref = weakref.ref(vars(module)[kind])
        flags = [flags for name, flags in vars(module).items() if name.startswith(f"{kind}_")]
        obj.extra_dict_ref = tuple(weakref.ref(table) for table in flags)


class TorchOptimizerCodec(OptimizerCodec):
    """torch.optim."""

    name = "torch.optimizer"
    types = ("torch.optim.optimizer:Optimizer",)

    def base(self) -> Any:
        import torch

        return torch.optim.Optimizer

    def is_key(self, value: Any) -> bool:
        import torch

        return isinstance(value, torch.Tensor)

    def hooks_of(self, optimizer: Any) -> list[str]:
        return [
            name
            for name, hooks in vars(optimizer).items()
            if name.endswith("_hooks") and isinstance(hooks, dict) and hooks
        ]


CODECS: Final = (
    TorchValueCodec(),
    TensorSubclassCodec(),
    TensorCodec(),
    SPARSE,
    QUANTIZED,
    GeneratorCodec(),
    TorchModuleCodec(),
    HandleCodec(),
    TorchOptimizerCodec(),
)
