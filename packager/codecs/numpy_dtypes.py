"""The codec of NumPy's dtypes.

A dtype is a name ("<f4", "<M8[ns]", "bfloat16") or, when it has fields or a shape of its own, a
short list with its parts as children.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packager.archive import MAX_NUMPY_EXTENT
from packager.tensors import dtype_from_name, dtype_name, is_dtype_name

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node
from .checks import expect, expect_sizes


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
            expect_sizes(parts, limit=MAX_NUMPY_EXTENT)
            return
        expect(kind == "struct" and len(parts) == 2 + 3 * len(children), "fields")
        expect_sizes(parts[:1], "a size", MAX_NUMPY_EXTENT)
        expect(type(parts[1]) is bool, "alignment")
        names, offsets, titles = parts[2::3], parts[3::3], parts[4::3]
        expect(all(type(name) is str for name in names) and len(set(names)) == len(names), "names of fields")
        expect_sizes(offsets, "offsets", MAX_NUMPY_EXTENT)
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
