"""How NumPy's dtypes are written down, and which of them safetensors has a word for.

A dtype is a name ("<f4", "<M8[ns]", "bfloat16") or, when it has fields or a shape of its own, a
short list with its parts as children. Names that run nothing: they are looked up in tables and
handed to `numpy.dtype` only after they matched a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node
from .checks import expect, expect_sizes

__all__ = [
    "DTypeCodec",
    "dtype_from_name",
    "dtype_name",
    "dtype_of_stored",
    "is_dtype_name",
    "itemsize_of_name",
    "stored_as",
]

# What safetensors calls them. Everything else is stored as bytes, and named by the codec.
_NATIVE: Final = {
    "|b1": "BOOL", "|u1": "U8", "|i1": "I8", "<u2": "U16", "<i2": "I16", "<u4": "U32", "<i4": "I32",
    "<u8": "U64", "<i8": "I64", "<f2": "F16", "<f4": "F32", "<f8": "F64", "<c8": "C64",
}  # fmt: skip
# Dtypes of ml_dtypes: all of one or two bytes.
_EXTENSION: Final = {
    "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e4m3": "U8",
    "float8_e4m3b11fnuz": "U8", "float8_e4m3fnuz": "U8", "float8_e5m2fnuz": "U8", "float8_e3m4": "U8",
    "float8_e8m0fnu": "U8", "float4_e2m1fn": "U8", "float6_e2m3fn": "U8", "float6_e3m2fn": "U8",
    "int2": "U8", "int4": "U8", "uint2": "U8", "uint4": "U8",
}  # fmt: skip
_NAME: Final = re.compile(
    r"[<>|](?:b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SUV][0-9]{1,9}"
    r"|[mM]8(?:\[[0-9]{0,9}(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)\Z"
)


def dtype_name(dtype: Any) -> str | None:
    """The name of a dtype without parts; None when it has fields, a shape, objects or metadata."""
    if dtype.fields is not None or dtype.subdtype is not None or dtype.metadata or dtype.hasobject:
        return None
    name = str(dtype.name if dtype.name in _EXTENSION else dtype.str)
    return name if is_dtype_name(name) else None


def is_dtype_name(name: object) -> bool:
    """Whether this is a name that `dtype_name` gives."""
    return isinstance(name, str) and (name in _EXTENSION or _NAME.match(name) is not None)


@lru_cache(maxsize=256)
def dtype_from_name(name: str) -> Any:
    """The dtype of a name. Raises ValueError where this NumPy, or ml_dtypes, does not have it."""
    import numpy

    if name in _EXTENSION:
        try:
            import ml_dtypes
        except ImportError as error:
            raise ValueError(f"dtype {name} needs ml_dtypes, which is not installed here") from error
        return numpy.dtype(getattr(ml_dtypes, name))
    try:
        return numpy.dtype(name)
    except TypeError as error:
        raise ValueError(f"NumPy on this machine has no dtype {name!r}") from error


def stored_as(name: str) -> tuple[str, int]:
    """The dtype of safetensors that an array of this dtype is stored in, and how many of it per element.

    An element that safetensors has no word for is a row of bytes. (A row of one is a row as well.)

    >>> stored_as("<f4"), stored_as("<c16"), stored_as("<M8[ns]"), stored_as(">f4"), stored_as("float8_e3m4")
    (('F32', 0), ('U8', 16), ('U8', 8), ('U8', 4), ('U8', 1))
    """
    if name in _NATIVE:
        return _NATIVE[name], 0
    if name in _EXTENSION and _EXTENSION[name] != "U8":
        return _EXTENSION[name], 0
    return "U8", itemsize_of_name(name)


@lru_cache(maxsize=256)
def dtype_of_stored(stored: str) -> str:
    """The name of the dtype that arrays of a dtype of safetensors have.

    >>> dtype_of_stored("F32"), dtype_of_stored("BF16")
    ('<f4', 'bfloat16')
    """
    return next(name for name, known in [*_NATIVE.items(), *_EXTENSION.items()] if known == stored)


def itemsize_of_name(name: str) -> int:
    """The bytes of an element of a named dtype."""
    if name in _EXTENSION:
        return 2 if name == "bfloat16" else 1
    count = int(re.findall(r"[0-9]+", name)[0])
    return 4 * count if name[1] == "U" else count


class DTypeCodec(Codec):
    """Dtype objects: the name; or fields with names, titles and offsets; or a base and a shape."""

    name = "numpy.dtype"
    types = ("numpy:dtype",)

    def claims(self, cls: type) -> bool:
        import numpy

        return issubclass(cls, numpy.dtype)

    def encode(self, obj: Any, context: Encoding) -> Node:
        # A dtype is a value: one record for equal ones. Metadata does not take part in ==.
        if obj.metadata:
            raise CannotStore(f"dtype {obj} carries metadata", "drop it: numpy.dtype(x.descr)")
        name = dtype_name(obj)
        if name is not None:
            return Node(name, key=name)
        if obj.subdtype is not None:
            base, shape = obj.subdtype
            return Node(["subarray", *shape], (base,), key=(_spelled(obj), obj.isalignedstruct))
        if obj.fields is not None:
            return self._structured(obj)
        if obj.kind == "O":
            return Node("|O", key="|O")
        if obj.kind == "T":
            return self._string(obj)
        raise CannotStore(f"dtype {obj} has no stored form", "convert the array to a dtype of NumPy itself")

    def _structured(self, obj: Any) -> Node:
        literal: list[Any] = ["struct", obj.itemsize, bool(obj.isalignedstruct)]
        bases = []
        for name in obj.names:
            base, offset, *title = obj.fields[name]
            if title and not isinstance(title[0], str):
                raise CannotStore(f"dtype {obj} has the title {title[0]!r}, which is not a string")
            literal += [name, offset, title[0] if title else None]
            bases.append(base)
        return Node(literal, tuple(bases), key=(_spelled(obj), obj.isalignedstruct))

    def _string(self, obj: Any) -> Node:
        missing = hasattr(obj, "na_object")
        return Node(["string", bool(obj.coerce), missing], (obj.na_object,) if missing else ())

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        if isinstance(literal, str):
            expect((is_dtype_name(literal) or literal == "|O") and not children, "the name of a dtype")
            return
        expect(isinstance(literal, list) and len(literal) > 0, "a dtype's name or parts")
        assert isinstance(literal, list)
        kind, *parts = literal
        if kind == "string":
            expect(
                list(map(type, parts)) == [bool, bool] and len(children) == parts[1],
                "coerce, and a missing value",
            )
            return
        expect(all(child.codec == self.name for child in children), "dtypes as children")
        if kind == "subarray":
            expect(len(children) == 1, "a base")
            expect_sizes(parts, limit=2**31)
            return
        expect(kind == "struct" and len(parts) == 2 + 3 * len(children), "fields")
        expect_sizes(parts[:1], "a size", 2**31)
        expect(type(parts[1]) is bool, "alignment")
        names, offsets, titles = parts[2::3], parts[3::3], parts[4::3]
        expect(all(type(name) is str for name in names) and len(set(names)) == len(names), "names of fields")
        expect_sizes(offsets, "offsets", 2**31)
        expect(all(title is None or type(title) is str for title in titles), "titles")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import numpy

        if isinstance(literal, str):
            return numpy.dtype(object) if literal == "|O" else dtype_from_name(literal)
        kind, *parts = literal
        if kind == "string":
            options = {"na_object": children[0]} if children else {}
            return numpy.dtypes.StringDType(coerce=parts[0], **options)
        if kind == "subarray":
            return numpy.dtype((children[0], tuple(parts)))
        names, offsets = parts[2::3], parts[3::3]
        fields: Any = {"names": names, "formats": list(children), "offsets": offsets, "itemsize": parts[0]}
        if any(parts[4::3]):
            fields["titles"] = parts[4::3]
        return numpy.dtype(fields, align=parts[1])


def _spelled(dtype: Any) -> str:
    """Everything that tells two dtypes apart, titles and offsets included."""
    return repr(dtype)
