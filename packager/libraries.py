"""What a library's author tells packager: which objects it has, what they hold, and codecs for them."""

from ._audit import (
    ANY,
    ATTRIBUTES,
    NOTHING,
    PLAIN,
    SCALARS,
    TENSORS,
    TEXTS,
    ClassOf,
    IsA,
    Row,
    Rows,
    take_attributes,
)
from ._codecs import CannotStore, Codec, Library, LiteralCodec, Node, PartsCodec, kinds

__all__ = [
    "ANY",
    "ATTRIBUTES",
    "NOTHING",
    "PLAIN",
    "SCALARS",
    "TENSORS",
    "TEXTS",
    "CannotStore",
    "ClassOf",
    "Codec",
    "IsA",
    "Library",
    "LiteralCodec",
    "Node",
    "PartsCodec",
    "Row",
    "Rows",
    "kinds",
    "take_attributes",
]
