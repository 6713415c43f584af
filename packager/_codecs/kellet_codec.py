"""Codecs for kellet: modules, registries and handles of hooks, hooks as objects, tensors.

A tensor of kellet is a NumPy array, whether it requires a gradient, and attributes. `.grad`, hooks on tensors
and version counters are not stored. Optimisers are in optimizers.py. kellet is imported in functions only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from packager._tensors import dtype_from_name, dtype_name, is_dtype_name

from .base import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    Finish,
    LiteralCodec,
    LiteralValue,
    Node,
    ObjectCodec,
    TensorData,
    expect,
    expect_class,
    expect_sizes,
    shares_methods,
    words,
)
from .frameworks import EmptySlots, Framework, Saved, require_leaf
from .modules import HANDLES, HOOKS, HandleCodec, Hook, ModuleCodec, hook_identity, storable
from .stored_arrays import array_data, array_from, expect_elements

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

# The kinds of hooks of a module; said here too, since an archive is checked where kellet is not imported.
_KINDS: Final = frozenset(
    "forward_pre forward full_backward_pre full_backward output_gradient "
    "save_pre save_post load_pre load_post".split()
)


class KelletFramework(Framework):
    """Modules and tensors of kellet."""

    family = "kellet"

    def base(self) -> Any:
        import kellet.nn

        return kellet.nn.Module

    def stands_for(self, module: Any) -> Any:
        from kellet.nn.storing import wrapped_module

        return wrapped_module(module)

    def memory_of(self, tensor: object) -> Hashable:
        return memory_key(tensor)

    def memory(self, tensor: object, context: Encoding) -> Sequence[TensorData]:
        array = array_of(tensor)
        name = dtype_name(array.dtype)
        return (array_data(array, name),) if name is not None and array.size else ()

    def is_tensor(self, value: object) -> bool:
        import kellet

        return isinstance(value, kellet.Tensor)

    def loads_by_itself(self, module: Any) -> bool:
        from kellet.nn.storing import loads_by_itself

        return loads_by_itself(module)

    def make_state(self, items: Mapping[str, Any], metadata: Any) -> Any:
        import kellet.nn

        state = kellet.nn.StateDict(items)
        state._metadata = {path: dict(known) for path, known in (metadata or {}).items()}
        return state


class KelletModuleCodec(ModuleCodec):
    """kellet.nn.Module."""

    name = "kellet.module"
    types = ("kellet.nn.module:Module",)
    framework = KelletFramework()

    def attributes(self, obj: Any, context: Encoding) -> Mapping[str, object]:
        from kellet.nn.storing import WRAPPED_ATTRIBUTES

        attributes = super().attributes(obj, context)
        if self.framework.stands_for(obj) is None:
            return attributes
        # A wrapper shows the very tables of what it wraps; loading ties them again.
        context.defer(HOOKS, obj, lambda: Finish("wrapper"))
        return {name: value for name, value in attributes.items() if name not in WRAPPED_ATTRIBUTES}

    def uses_setstate(self, cls: type) -> bool:
        import kellet.nn

        return super().uses_setstate(cls) or issubclass(cls, kellet.nn.HookedModule)

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
        from kellet.nn.storing import rewrap

        rewrap(obj)

    def hook_attributes(self) -> frozenset[str]:
        from kellet.nn.storing import HOOK_ATTRIBUTES

        return HOOK_ATTRIBUTES

    def hooks_of(self, module: object) -> list[Hook]:
        return [
            Hook(kind, entry.id, entry.hook, entry.options)
            for registry, kind in self.registries_of(module)
            for entry in registry
        ]

    def registries_of(self, module: Any) -> Iterator[tuple[Any, str]]:
        from kellet.nn.storing import hook_registries

        yield from ((registry, kind) for kind, registry in hook_registries(module))

    def register(self, module: Any, kind: str, hook: Any, options: Mapping[str, Any]) -> int:
        from kellet.nn.storing import hook_registry

        return int(hook_registry(module, kind).add(hook, **options).id)

    def owner_of(self, hook: object) -> Any:
        from kellet.nn.storing import HookGate

        return hook.hook() if isinstance(hook, HookGate) and hook.hook else super().owner_of(hook)


class RegistryCodec(Codec):
    """A `HookRegistry` that is no module's own: made empty, its hooks are added when all else is there."""

    name = "kellet.hooks"
    types = ("kellet.hooks:HookRegistry",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        saved = context.shared_state(Saved)
        saved.registries[id(obj)] = (obj, "")
        context.defer(HOOKS, obj, lambda: self._finish(obj, context))
        return Node()

    def _finish(self, registry: Any, context: Encoding) -> Finish | None:
        children: list[Any] = []
        for entry in registry:
            if storable(entry.hook, CODEC.owner_of(entry.hook), "hook", context):
                children += [
                    context.number("kellet", hook_identity(registry, entry.id)),
                    entry.hook,
                    dict(entry.options),
                ]
        return Finish(None, children) if children else None

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and not children, "nothing")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from kellet.hooks import HookRegistry

        return HookRegistry()

    def check_finish(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) > 0 and len(children) % 3 == 0, "hooks")
        for number, options in zip(children[::3], children[2::3], strict=True):
            expect(number.kind == "scalar" and type(number.value) is int, "the number of a hook")
            expect(options.kind == "dict", "the options of a hook")

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        """Add the hooks to an empty registry. Raises ValueError for one that cannot be called."""
        for number, hook, options in zip(children[::3], children[1::3], children[2::3], strict=True):
            if not callable(hook):  # kellet would print it
                raise ValueError(f"a hook must be callable, found a {type(hook).__name__}")
            identity = int(obj.add(hook, **options).id)
            context.number("kellet", number, lambda identity=identity: identity)  # type: ignore[misc]  # bound now


class KelletHandleCodec(HandleCodec):
    """Handles of the hooks of kellet, those of modules and of registries by themselves."""

    name = "kellet.handle"
    types = ("kellet.hooks:RemovableHandle",)
    family = "kellet"
    owners = ("kellet.module", "kellet.hooks")
    kinds = frozenset({"", *_KINDS})

    def registry_of(self, handle: Any) -> Any:
        registry = handle.registry
        live = registry is not None and any(entry.id == handle.id for entry in registry)
        return registry if live else None

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from kellet.hooks import HookRegistry, RemovableHandle

        return RemovableHandle(HookRegistry(), -1)

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        """Attach a handle to its registry. Raises ValueError where the owner has no hooks."""
        from kellet.hooks import HookRegistry
        from kellet.nn.storing import hook_registry

        kind, number = literal
        owner = children[0]
        registry = hook_registry(owner, kind) if kind else owner
        if not isinstance(registry, HookRegistry):
            raise ValueError(f"a handle of a hook refers to a {type(owner).__qualname__}, which has no hooks")
        obj.attach(registry, context.number("kellet", number, lambda: -1))


class HookCodec(ObjectCodec):
    """kellet.nn.Hook and its kin, with their handles: one that was registered is so again."""

    name = "kellet.hook"
    types = ("kellet.nn.hook:Hook",)

    def claims(self, cls: type) -> bool:
        import kellet.nn

        base = kellet.nn.Hook
        own = ("__reduce__", "__reduce_ex__", "__getstate__")
        return not hasattr(cls, "__setstate__") and all(
            getattr(cls, name) is getattr(base, name) for name in own
        )

    def attributes(self, obj: Any, context: Encoding) -> Mapping[str, object]:
        from kellet.nn.storing import hook_object_attributes

        return hook_object_attributes(obj)

    def make(self, cls: Any, version: int) -> Any:
        import kellet.nn

        expect_class(cls, kellet.nn.Hook, "a Hook")
        return cls.__new__(cls)

    def fill(self, obj: Any, attributes: Mapping[str, object], version: int) -> None:
        from kellet.nn.storing import restore_hook_object

        restore_hook_object(obj, attributes)


class GateCodec(Codec):
    """What a module calls in place of a Hook's function: it holds the Hook weakly."""

    name = "kellet.gate"
    types = ("kellet.nn.hook:HookGate",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        context.defer(HANDLES, obj, lambda: self._finish(obj, context))
        return Node(obj.place)

    def _finish(self, gate: Any, context: Encoding) -> Finish | None:
        hook = gate.hook() if gate.hook is not None else None
        return Finish(None, (hook,)) if hook is not None and context.stored(hook) else None

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal in ("_prehook", "_posthook") and not children, "the place of a hook")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from kellet.nn.storing import HookGate

        return HookGate(None, literal)

    def check_finish(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 1 and children[0].kind == "object", "a Hook")

    def finish(
        self, obj: Any, literal: Any, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        """Give a gate its Hook. Raises ValueError for another object."""
        import kellet.nn

        if not isinstance(children[0], kellet.nn.Hook):
            raise ValueError(f"{type(children[0]).__qualname__} is not a Hook")
        import weakref

        obj.hook = weakref.ref(children[0])


# --- tensors ---

_TENSORS: Final = ("Tensor", "Parameter", "Buffer")


class TensorCodec(Codec):
    """Tensors, parameters and buffers.

    The literal is [kind, dtype, requires_grad], and for a slot whose values a hook replaced also
    "empty" and the shape.
    """

    name = "kellet.tensor"
    is_data = "tensors"
    types = ("kellet.core.tensor:Tensor",)
    takes_attributes = True

    def claims(self, cls: type) -> bool:
        return cls in _classes().values()

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the memory of a tensor. Raises CannotStore for graphs, and for dtypes without a name."""
        require_leaf(obj, context)
        array = array_of(obj)
        name = dtype_name(array.dtype)
        if name is None:
            raise CannotStore(f"a tensor of {array.dtype}", "convert it to another dtype")
        literal: list[Any] = [type(obj).__name__, name, bool(obj.requires_grad)]
        if id(obj) in context.shared_state(Saved).dropped:
            return Node([*literal, "empty", *obj.shape], attributes=dict(vars(obj)))
        return Node(literal, (array_data(array, name),), attributes=dict(vars(obj)))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) >= 3, "kind, dtype, requires_grad")
        kind, name, requires_grad, *rest = literal
        expect(kind in _TENSORS and is_dtype_name(name) and type(requires_grad) is bool, "a kind of tensor")
        if rest:
            expect(rest[0] == "empty" and not children, "no values")
            expect_sizes(rest[1:])
            return
        expect(len(children) == 1, "memory")
        expect_elements(children[0], name)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import numpy

        import kellet

        kind, name, requires_grad, *rest = literal
        dtype = dtype_from_name(name)
        if rest:
            # One element, however many the shape has: the values come with the state.
            array = numpy.broadcast_to(numpy.zeros((), dtype), tuple(rest[1:]))
        else:
            array = array_from(children[0], dtype, name)
        made = kellet.from_numpy(array)
        if kind == "Parameter":
            made = kellet.nn.Parameter(made, requires_grad)
        elif kind == "Buffer":
            made = kellet.nn.Buffer(made)
        if kind != "Parameter":
            made.requires_grad_(requires_grad)
        if rest:
            context.shared_state(EmptySlots).tensors[id(made)] = made
        return made


class TensorSubclassCodec(Codec):
    """Tensors of a class of their own: the class, the plain tensor, the attributes."""

    name = "kellet.subclass"
    types = ("kellet.core.tensor:Tensor",)
    takes_attributes = True
    creates = True

    def claims(self, cls: type) -> bool:
        import kellet

        return cls not in _classes().values() and shares_methods(cls, kellet.Tensor, "__reduce_ex__")

    def encode(self, obj: Any, context: Encoding) -> Node:
        require_leaf(obj, context)
        return Node(bool(obj.requires_grad), (type(obj), array_of(obj)), attributes=dict(vars(obj)))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is bool and len(children) == 2 and children[0].kind == "global", "a class")
        expect(children[1].codec == "numpy.ndarray", "an array")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import kellet

        cls, array = children
        expect_class(cls, kellet.Tensor, "a class of tensors")
        make, (_, _, _), _ = kellet.from_numpy(array).__reduce_ex__(2)
        return make(cls, array, literal)


def _device(name: str) -> Any:
    import kellet

    return kellet.zeros(()).device


def _is_shape(literal: Any) -> bool:
    return type(literal) is list and all(type(size) is int for size in literal)


def _size(sizes: list[int]) -> Any:
    import kellet

    return kellet.Size(sizes)


def array_of(tensor: Any) -> Any:
    """Return the array of a tensor, over its own memory."""
    return tensor.detach().numpy()


def is_plain(tensor: object) -> bool:
    """Check whether a tensor is of kellet's own classes, and has no attributes."""
    return type(tensor) in (_classes()["Tensor"], _classes()["Parameter"]) and not vars(tensor)


def memory_key(tensor: object) -> Hashable:
    """Return the address, dtype, shape and strides of a tensor."""
    array = array_of(tensor)
    return (array.__array_interface__["data"][0], array.dtype, array.shape, array.strides)


def _classes() -> dict[str, Any]:
    import kellet.nn

    return {"Tensor": kellet.Tensor, "Parameter": kellet.nn.Parameter, "Buffer": kellet.nn.Buffer}


CODEC: Final = KelletModuleCodec()
CODECS: Final = (
    TensorSubclassCodec(), TensorCodec(), CODEC, RegistryCodec(), KelletHandleCodec(), HookCodec(),
    GateCodec(),
    LiteralCodec("kellet.device", ("kellet.core.device:Device",), words(["cpu"]), "'cpu'", str, _device,
          is_data="plain"),
    LiteralCodec("kellet.size", ("kellet.limits:Size",), _is_shape, "the sizes of a shape", list, _size,
          is_data="plain"),
)  # fmt: skip
