"""Codecs for arrays of NumPy: those of every dtype, masked ones, and those of a class of their own.

The memory of an array is a tensor of safetensors. Dtypes that safetensors has no word for (strings,
dates, other byte orders, structured ones) are stored as rows of bytes; arrays of objects as their
elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from packager._archive import MAX_NUMPY_EXTENT, MAX_NUMPY_RANK, largest_view
from packager._tensors import dtype_from_name, dtype_name, is_dtype_name

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
    expect_tensor,
    shares_methods,
)
from .numpy_values import VALUE_CODECS
from .stored_arrays import array_data, array_from, expect_elements, plain_array


class ArrayCodec(Codec):
    """Arrays: the dtype (by name, or as a child) and a strided view of memory.

    A `numpy.memmap` becomes an ordinary array, and the plan says so. Whether an array can be written to is
    not stored.
    """

    name = "numpy.ndarray"
    is_data = "tensors"
    types = ("numpy:ndarray",)

    def claims(self, cls: type) -> bool:
        import numpy

        return cls in (numpy.ndarray, numpy.memmap, numpy.matrix, numpy.recarray)

    def encode(self, obj: Any, context: Encoding) -> Node:
        import numpy

        kind = type(obj).__name__ if type(obj) in (numpy.matrix, numpy.recarray) else "ndarray"
        plain = plain_array(obj, context)
        if obj.dtype.hasobject or obj.dtype.kind == "T":
            return _elements(obj, plain, kind)
        name = dtype_name(obj.dtype)
        if name is not None:
            return Node([kind, name], (array_data(plain, name),))
        return Node([kind, None], (array_data(plain, None), numpy.dtype(obj.dtype)))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) >= 2, "the class and the dtype of an array")
        kind, name, *shape = literal
        expect(kind in ("ndarray", "matrix", "recarray"), "the class of an array")
        if name == "elements":
            _check_elements(shape, children)
            return
        expect(not shape, "the class and the dtype of an array")
        if name is None:
            expect(len(children) == 2 and children[1].codec == "numpy.dtype", "memory and a dtype")
            expect(len(expect_tensor(children[0], "U8")[1]) > 0, "rows of bytes")
            return
        expect(is_dtype_name(name) and len(children) == 1, "the name of a dtype, and memory")
        expect_elements(children[0], name)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import numpy

        kind, name, *shape = literal
        if name == "elements":
            array = _from_elements(children[0], tuple(shape), children[1:])
        else:
            array = array_from(children[0], children[1] if name is None else dtype_from_name(name), name)
        if kind == "ndarray":
            return array
        if kind == "recarray" and array.dtype.fields:
            array = array.view(numpy.dtype((numpy.record, array.dtype)))
        return array.view(getattr(numpy, kind))


# --- arrays of objects, and of strings of any length ---


def _elements(obj: Any, plain: Any, kind: str) -> Node:
    if obj.dtype.fields is not None or obj.dtype.subdtype is not None:
        raise CannotStore(
            f"a structured array with objects in it ({obj.dtype})",
            "keep the objects in an array or list of their own",
        )
    return Node([kind, "elements", *plain.shape], (obj.dtype, *plain.ravel(order="C").tolist()))


def _check_elements(shape: list[Any], children: Sequence[Child]) -> None:
    expect_sizes(shape, limit=MAX_NUMPY_EXTENT)
    expect(len(children) > 0 and children[0].codec == "numpy.dtype", "a dtype")
    expect(len(shape) <= MAX_NUMPY_RANK, f"a shape of at most {MAX_NUMPY_RANK} sizes", len(shape))
    found = len(children) - 1
    expect(math.prod(shape) == found, "as many elements as the shape says", found)


def _from_elements(dtype: Any, shape: tuple[int, ...], elements: Sequence[Any]) -> Any:
    import numpy

    if dtype.kind not in "OT":
        raise ValueError(f"dtype {dtype} has no elements of its own")
    if dtype.kind == "T":
        _require_own_strings(dtype, elements)
    flat = numpy.empty(len(elements), dtype)
    for index, element in enumerate(elements):
        flat[index] = element
    return flat.reshape(shape)


def _require_own_strings(dtype: Any, elements: Sequence[Any]) -> None:
    """Demand strings, or what stands for a missing one; each is copied into the array.

    Raises ValueError for anything else, and for a few strings that would be copied again and again.
    """
    missing = type(getattr(dtype, "na_object", ""))
    expect(all(type(element) in (str, missing) for element in elements), "strings")
    texts = [element for element in elements if type(element) is str]
    stored = 4 * sum(map(len, {id(text): text for text in texts}.values()))
    copied = 4 * sum(map(len, texts))
    expect(copied <= largest_view(stored), f"strings of at most {largest_view(stored)} bytes, once copied")


class MaskedArrayCodec(Codec):
    """Masked arrays: data, mask, fill value, and whether the mask is hard."""

    name = "numpy.masked"
    is_data = "tensors"
    takes_apart = True
    types = ("numpy.ma:MaskedArray", "numpy.ma.core:MaskedArray", "numpy.ma.core:MaskedConstant")

    def claims(self, cls: type) -> bool:
        import numpy

        return cls in (numpy.ma.MaskedArray, type(numpy.ma.masked))

    def encode(self, obj: Any, context: Encoding) -> Node:
        import numpy

        if obj is numpy.ma.masked:
            return Node("masked", key="masked")
        mask = None if obj.mask is numpy.ma.nomask else obj.mask
        return Node(bool(obj.hardmask), (obj.data, mask, _fill_value_of(obj)))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(
            (literal == "masked" and not children) or (type(literal) is bool and len(children) == 3),
            "data, mask and fill value",
        )
        for child in children:
            expect(child.codec is not None or (child.kind == "scalar" and child.value is None), "arrays")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a masked array. Raises ValueError for parts that are no arrays."""
        import numpy

        if literal == "masked":
            return numpy.ma.masked
        data, mask, fill = children
        if not all(part is None or isinstance(part, numpy.ndarray) for part in children) or data is None:
            raise ValueError("a masked array is made of arrays")
        if any(
            part is not None and part.dtype.hasobject
            for part in (mask, *(() if data.dtype.hasobject else (fill,)))
        ):
            raise ValueError("a mask and a fill value hold no objects: NumPy would compare and print them")
        if mask is not None and (type(mask) is not numpy.ndarray or mask.shape != data.shape):
            raise ValueError("a mask is an array of the shape of the data: NumPy would repeat another")
        if fill is not None and (fill.ndim or fill.dtype != data.dtype):
            raise ValueError("a fill value is one value of the dtype of the data: NumPy would print another")
        made: Any = numpy.ma.MaskedArray(
            data,
            numpy.ma.nomask if mask is None else mask,
            fill_value=None if fill is None else fill[()],
            hard_mask=literal,
        )
        return made


def _fill_value_of(obj: Any) -> Any:
    """Return the fill value of a masked array as one value of its dtype; None where it has none yet.

    NumPy may keep another: a default of three characters for longer ones, or what it had before a conversion.
    """
    import numpy

    value = obj._fill_value
    if value is None or obj.dtype.hasobject:
        return value if value is None else numpy.asarray(value)
    return numpy.asarray(value, obj.dtype)


class SubclassCodec(Codec):
    """Arrays of a class of their own: the class, the plain array, and the attributes."""

    name = "numpy.subclass"
    types = ("numpy:ndarray",)
    takes_attributes = True
    creates = True

    def claims(self, cls: type) -> bool:
        import numpy

        own = shares_methods(cls, numpy.ndarray, "__reduce__", "__reduce_ex__", "__setstate__")
        return own and cls.__module__.partition(".")[0] != "numpy"

    def encode(self, obj: Any, context: Encoding) -> Node:
        import numpy

        return Node(None, (type(obj), obj.view(numpy.ndarray)), attributes=dict(getattr(obj, "__dict__", {})))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 2, "a class and an array")
        expect(children[0].kind == "global" and children[1].codec == "numpy.ndarray", "a class and an array")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import numpy

        cls, array = children
        expect_class(cls, numpy.ndarray, "a class of arrays")
        return array.view(cls)


CODECS: Final = (*VALUE_CODECS, SubclassCodec(), ArrayCodec(), MaskedArrayCodec())
