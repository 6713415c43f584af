"""Tensors of kellet: the codecs. Those of state dicts are in state_tensors.py.

A tensor of kellet is a NumPy array, whether it requires a gradient, and attributes. `.grad`, hooks on
tensors and version counters are not stored. PyTorch's are in torch_tensors.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from packager.tensors import dtype_from_name, dtype_name, is_dtype_name

from .array_memory import array_data
from .base import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    LiteralValue,
    Node,
    expect,
    expect_class,
    expect_sizes,
    shares_methods,
)
from .codec_rows import Literal, words
from .frameworks import EmptySlots, Saved, require_leaf
from .stored_arrays import array_from, expect_elements

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

_KINDS: Final = ("Tensor", "Parameter", "Buffer")


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
        expect(kind in _KINDS and is_dtype_name(name) and type(requires_grad) is bool, "a kind of tensor")
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


def array_of(tensor: Any) -> Any:
    """Return the array of a tensor, over its own memory."""
    return tensor.detach().numpy()


def is_plain(tensor: Any) -> bool:
    """Check whether a tensor is of kellet's own classes, and has no attributes."""
    return type(tensor) in (_classes()["Tensor"], _classes()["Parameter"]) and not vars(tensor)


def memory_key(tensor: Any) -> Hashable:
    """Return the address, dtype, shape and strides of a tensor."""
    array = array_of(tensor)
    return (array.__array_interface__["data"][0], array.dtype, array.shape, array.strides)


def _classes() -> dict[str, Any]:
    import kellet.nn

    return {"Tensor": kellet.Tensor, "Parameter": kellet.nn.Parameter, "Buffer": kellet.nn.Buffer}


CODECS: Final = (
    TensorSubclassCodec(), TensorCodec(),
    Literal("kellet.device", ("kellet.core.device:Device",), words(["cpu"]), "'cpu'", str, _device,
          is_data="plain"),
)  # fmt: skip
