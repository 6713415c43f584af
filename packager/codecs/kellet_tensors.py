"""Codecs for the tensors of kellet: a NumPy array, whether it requires a gradient, and attributes.

`.grad`, hooks on tensors and version counters are not stored.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from packager.tensors import dtype_from_name, dtype_name, is_dtype_name, stored_as

from .arrays import array_data, array_from
from .base import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    LiteralValue,
    Node,
    Role,
    expect,
    expect_sizes,
    expect_tensor,
    shares_methods,
)
from .module_frameworks import EmptySlots, SavedModules

_KINDS: Final = ("Tensor", "Parameter", "Buffer")


@dataclass(slots=True, eq=False)
class _Said:
    """Whether it was said already that gradients are not stored."""

    grad: bool = False


class TensorCodec(Codec):
    """Tensors, parameters and buffers.

    The literal is [kind, dtype, requires_grad], and for a slot whose values a hook replaced also
    "empty" and the shape.
    """

    name = "kellet.tensor"
    types = ("kellet.core.tensor:Tensor",)
    takes_attributes = True

    def claims(self, cls: type) -> bool:
        return cls in _classes().values()

    def encode(self, obj: Any, context: Encoding) -> Node:
        say_what_is_left_out(obj, context)
        if obj.grad_fn is not None:
            raise CannotStore(
                "a tensor that was computed with gradients (it has a grad_fn): its graph cannot be stored",
                "store tensor.detach()",
            )
        array = array_of(obj)
        name = dtype_name(array.dtype)
        if name is None:
            raise CannotStore(f"a tensor of {array.dtype}", "convert it to another dtype")
        literal: list[Any] = [type(obj).__name__, name, bool(obj.requires_grad)]
        if id(obj) in context.shared_state(SavedModules).dropped:
            return Node([*literal, "empty", *obj.shape], attributes=dict(vars(obj)))
        return Node(literal, (array_data(array, name),), attributes=dict(vars(obj)))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) >= 3, "kind, dtype, requires_grad")
        kind, name, requires_grad, *rest = literal
        expect(kind in _KINDS and is_dtype_name(name) and type(requires_grad) is bool, "a kind of tensor")
        if rest:
            expect(rest[0] == "empty" and not children, "no values")
            expect_sizes(rest[1:])
            return
        expect(len(children) == 1, "memory")
        stored, row = stored_as(str(name))
        _, extents = expect_tensor(children[0], stored)
        expect(not row or (bool(extents) and extents[-1] == row), f"rows of {row} bytes")

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

    def claims(self, cls: type) -> bool:
        import kellet

        return cls not in _classes().values() and shares_methods(cls, kellet.Tensor, "__reduce_ex__")

    def encode(self, obj: Any, context: Encoding) -> Node:
        say_what_is_left_out(obj, context)
        if obj.grad_fn is not None:
            raise CannotStore("a tensor that was computed with gradients", "store tensor.detach()")
        array = array_of(obj)
        return Node(bool(obj.requires_grad), (type(obj), array), attributes=dict(vars(obj)))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is bool and len(children) == 2 and children[0].kind == "global", "a class")
        expect(children[1].codec == "numpy.ndarray", "an array")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import kellet

        cls, array = children
        if not (isinstance(cls, type) and issubclass(cls, kellet.Tensor)):
            raise ValueError(f"{cls!r} is not a class of tensors")
        make, (_, _, _), _ = kellet.from_numpy(array).__reduce_ex__(2)
        return make(cls, array, literal)

    def roles(self, literal: LiteralValue, count: int, version: int) -> Sequence[Role]:
        return ("create", "value")


class DeviceCodec(Codec):
    """The device: there is one."""

    name = "kellet.device"
    types = ("kellet.core.device:Device",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        return Node(str(obj))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal == "cpu" and not children, "'cpu'")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import kellet

        return kellet.zeros(()).device


TENSOR_CODECS: Final = (TensorSubclassCodec(), TensorCodec(), DeviceCodec())


def array_of(tensor: Any) -> Any:
    """The array of a tensor, over its own memory."""
    return tensor.detach().numpy()


def plain_array(value: Any) -> Any:
    """The array of a tensor as a state dict holds it; None for anything else."""
    plain = type(value) in (_classes()["Tensor"], _classes()["Parameter"])
    return array_of(value) if plain and not vars(value) else None


def memory_key(tensor: Any) -> Hashable:
    """Address, dtype, shape and strides."""
    array = array_of(tensor)
    return (array.__array_interface__["data"][0], array.dtype, array.shape, array.strides)


def say_what_is_left_out(tensor: Any, context: Encoding) -> None:
    """Warn of gradients, once, and of hooks."""
    said = context.shared_state(_Said)
    if not said.grad and tensor.grad_fn is None and tensor.grad is not None:
        said.grad = True
        context.warn("gradients (.grad), here and elsewhere, are not stored")
    if tensor._backward_hooks or tensor._post_accumulate_grad_hooks:
        context.warn("hooks on a tensor are left out; register them after loading")


def _classes() -> dict[str, Any]:
    import kellet.nn

    return {"Tensor": kellet.Tensor, "Parameter": kellet.nn.Parameter, "Buffer": kellet.nn.Buffer}
