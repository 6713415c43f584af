"""Codecs for kedge: modules, registries and handles of hooks, hooks as objects, optimisers.

Tensors are in kedge_tensors.py. kedge is imported inside functions only.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from packager.tensors import dtype_name

from .base import Child, Codec, Decoding, Encoding, Finish, LiteralValue, Node, ObjectCodec, TensorData
from .checks import expect
from .kedge_tensors import TENSOR_CODECS, array_of, memory_key
from .module_frameworks import Hook, ModuleNotes
from .modules import HANDLES, HOOKS, ModuleCodec, storable
from .optimizers import OptimizerCodec

__all__ = ["CODECS"]

# The registries of a module by kind: where they are, and the options that their hooks have.
_CALL: Final = ("forward_pre", "forward", "full_backward_pre", "full_backward", "output_gradient")
_STATE: Final = ("save_pre", "save_post", "load_pre", "load_post")
_WRAPPED: Final = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")


class KedgeModuleCodec(ModuleCodec):
    """kedge.nn.Module."""

    name = "kedge.module"
    types = ("kedge.nn.module:Module",)
    family = "kedge"

    def base(self) -> Any:
        import kedge.nn

        return kedge.nn.Module

    def attributes(self, obj: Any, context: Encoding) -> Mapping[str, object]:
        attributes = super().attributes(obj, context)
        if obj._stands_for is None:
            return attributes
        # A wrapper shows the very tables of what it wraps; loading ties them again.
        context.later(HOOKS, obj, lambda: Finish("wrapper"))
        return {name: value for name, value in attributes.items() if name not in _WRAPPED}

    def uses_setstate(self, cls: type) -> bool:
        import kedge.nn

        return super().uses_setstate(cls) or issubclass(cls, kedge.nn.HookedModule)

    def check_finish(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        if literal == "wrapper":
            expect(not children, "nothing but the word")
        else:
            super().check_finish(literal, children, version)

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        if literal != "wrapper":
            super().finish(obj, literal, children, version, context)
            return
        inner = obj._stands_for
        if not isinstance(inner, self.base()):
            raise ValueError("a wrapper around no module")
        obj.__dict__.update({name: vars(inner)[name] for name in _WRAPPED})

    def hook_attributes(self) -> frozenset[str]:
        return frozenset({"_call_hooks", "_state_hooks"})

    def hooks_of(self, module: Any) -> list[Hook]:
        return [
            Hook(kind, entry.id, entry.hook, entry.options)
            for registry, kind in self.registries_of(module)
            for entry in registry
        ]

    def registries_of(self, module: Any) -> Iterator[tuple[Any, str]]:
        for place, kinds in (("_call_hooks", _CALL), ("_state_hooks", _STATE)):
            hooks = vars(module).get(place)
            if hooks is not None:
                yield from ((getattr(hooks, kind), kind) for kind in kinds)

    def register(self, module: Any, kind: str, hook: Any, options: Mapping[str, Any]) -> int:
        return int(_registry(module, kind).add(hook, **options).id)

    def owner_of(self, hook: Any) -> Any:
        return hook.hook() if type(hook).__name__ == "_Gate" and hook.hook else super().owner_of(hook)

    def stands_for(self, module: Any) -> Any:
        return module._stands_for

    def memory_of(self, tensor: Any) -> Hashable:
        return memory_key(tensor)

    def memory(self, tensor: Any, context: Encoding) -> Sequence[TensorData]:
        from .arrays import array_data

        array = array_of(tensor)
        name = dtype_name(array.dtype)
        return (array_data(array, name),) if name is not None and array.size else ()

    def is_tensor(self, value: Any) -> bool:
        import kedge

        return isinstance(value, kedge.Tensor)

    def loads_by_itself(self, module: Any) -> bool:
        base, cls, hooks = self.base(), type(module), module._state_hooks
        return bool(
            (hooks is not None and (hooks.load_pre or hooks.load_post))
            or cls._class_load_hooks
            or cls._load_from_state_dict is not base._load_from_state_dict
            or cls.load_state_dict is not base.load_state_dict
            or cls.set_extra_state is not base.set_extra_state
        )

    def make_state(self, items: Mapping[str, Any], metadata: Any) -> Any:
        import kedge.nn

        state = kedge.nn.StateDict(items)
        state._metadata = {path: dict(known) for path, known in (metadata or {}).items()}
        return state


def _registry(module: Any, kind: str) -> Any:
    """The registry of that kind, made when the module has none yet."""
    if not isinstance(module, CODEC.base()):
        raise ValueError(f"{type(module).__qualname__} has no hooks: it is no module")
    inner = module._stands_for  # a wrapper asks what it wraps
    if inner is not None and not isinstance(inner, CODEC.base()):
        raise ValueError(f"{type(module).__qualname__} is a wrapper around no module")
    if kind in _CALL:
        return getattr(module._own_call_hooks(), kind)
    if kind in _STATE:
        return getattr(module._own_state_hooks(), kind)
    raise ValueError(f"there is no kind of hook {kind!r}")


class RegistryCodec(Codec):
    """A `HookRegistry` that is no module's own: made empty, its hooks are added when all else is there."""

    name = "kedge.hooks"
    types = ("kedge.hooks:HookRegistry",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        notes = context.notes(ModuleNotes)
        notes.registries[id(obj)] = (obj, "")
        context.later(HOOKS, obj, lambda: self._finish(obj, context))
        return Node()

    def _finish(self, registry: Any, context: Encoding) -> Finish | None:
        children: list[Any] = []
        for entry in registry:
            if storable(entry.hook, CODEC.owner_of(entry.hook), "hook", context):
                children += [context.number("kedge", entry.id), entry.hook, dict(entry.options)]
        return Finish(None, children) if children else None

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and not children, "nothing")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from kedge.hooks import HookRegistry

        return HookRegistry()

    def check_finish(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) > 0 and len(children) % 3 == 0, "hooks")
        for number, options in zip(children[::3], children[2::3], strict=True):
            expect(number.kind == "scalar" and type(number.value) is int, "the number of a hook")
            expect(options.kind == "dict", "the options of a hook")

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        for number, hook, options in zip(children[::3], children[1::3], children[2::3], strict=True):
            identity = int(obj.add(hook, **options).id)
            context.number("kedge", number, lambda identity=identity: identity)  # type: ignore[misc]  # bound now


class HandleCodec(Codec):
    """The handle of a hook; one whose hook is gone, or is not stored, removes nothing."""

    name = "kedge.handle"
    types = ("kedge.hooks:RemovableHandle",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        context.later(HANDLES, obj, lambda: self._finish(obj, context))
        return Node()

    def _finish(self, handle: Any, context: Encoding) -> Finish | None:
        registry = handle._registry() if handle._registry is not None else None
        owner, kind = context.notes(ModuleNotes).registries.get(id(registry), (None, ""))
        live = registry is not None and any(entry.id == handle.id for entry in registry)
        if owner is None or not live or not context.stored(owner):
            return None
        return Finish([kind, context.number("kedge", handle.id)], (owner,))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and not children, "nothing")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from kedge.hooks import HookRegistry, RemovableHandle

        return RemovableHandle(HookRegistry(), -1)

    def check_finish(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and list(map(type, literal)) == [str, int], "a kind and a number")
        assert isinstance(literal, list)
        expect(literal[0] in ("", *_CALL, *_STATE) and len(children) == 1, "a kind of hook, and its owner")
        expect(children[0].kind in ("object", "codec"), "the owner of a hook")

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        from kedge.hooks import HookRegistry

        kind, number = literal
        owner = children[0]
        obj.id = context.number("kedge", number, lambda: -1)
        registry = _registry(owner, kind) if kind else owner
        if not isinstance(registry, HookRegistry):
            raise ValueError(f"{type(owner).__qualname__} has no hooks for a handle to remove")
        obj._registry = weakref.ref(registry)


class HookCodec(ObjectCodec):
    """kedge.nn.Hook and its kin, with their handles: one that was registered is so again."""

    name = "kedge.hook"
    types = ("kedge.nn.hook:Hook",)

    def claims(self, cls: type) -> bool:
        import kedge.nn

        base = kedge.nn.Hook
        own = ("__reduce__", "__reduce_ex__", "__getstate__")
        return not hasattr(cls, "__setstate__") and all(
            getattr(cls, name) is getattr(base, name) for name in own
        )

    def attributes(self, obj: Any, context: Encoding) -> Mapping[str, object]:
        return {name: value for name, value in vars(obj).items() if name != "_leave"}

    def make(self, cls: type, version: int) -> Any:
        import kedge.nn

        if not issubclass(cls, kedge.nn.Hook):
            raise ValueError(f"{cls!r} is not a Hook")
        made: Any = cls.__new__(cls)
        made._leave = None
        return made

    def fill(self, obj: Any, attributes: Mapping[str, object], version: int) -> None:
        from kedge.hooks import RemovableHandle
        from kedge.nn.hook import _remove

        handles = attributes.get("_handles", [])
        if type(handles) is not list or not all(isinstance(handle, RemovableHandle) for handle in handles):
            raise ValueError("the handles of a Hook are a list of handles")
        obj.__dict__.update(attributes)
        if handles:
            obj._leave = weakref.finalize(obj, _remove, list(handles))


class GateCodec(Codec):
    """What a module calls in place of a Hook's function: it holds the Hook weakly."""

    name = "kedge.gate"
    types = ("kedge.nn.hook:_Gate",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        context.later(HANDLES, obj, lambda: self._finish(obj, context))
        return Node(obj.place)

    def _finish(self, gate: Any, context: Encoding) -> Finish | None:
        hook = gate.hook() if gate.hook is not None else None
        return Finish(None, (hook,)) if hook is not None and context.stored(hook) else None

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal in ("_prehook", "_posthook") and not children, "the place of a hook")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from kedge.nn.hook import _Gate

        return _Gate(None, literal)

    def check_finish(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 1 and children[0].kind == "object", "a Hook")

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        import kedge.nn

        if not isinstance(children[0], kedge.nn.Hook):
            raise ValueError(f"{type(children[0]).__qualname__} is not a Hook")
        obj.hook = weakref.ref(children[0])


class KedgeOptimizerCodec(OptimizerCodec):
    """kedge.optim."""

    name = "kedge.optimizer"
    types = ("kedge.optim.optimizer:Optimizer",)

    def base(self) -> Any:
        import kedge.optim

        return kedge.optim.Optimizer

    def is_key(self, value: Any) -> bool:
        import kedge

        return isinstance(value, kedge.Tensor)

    def hooks_of(self, optimizer: Any) -> list[str]:
        from kedge.hooks import HookRegistry

        return [name for name, value in vars(optimizer).items() if isinstance(value, HookRegistry) and value]


CODEC: Final = KedgeModuleCodec()
CODECS: Final = (
    *TENSOR_CODECS,
    CODEC,
    RegistryCodec(),
    HandleCodec(),
    HookCodec(),
    GateCodec(),
    KedgeOptimizerCodec(),
)
