"""Codecs: one family of types each, between objects and plain nodes."""

from .base import CannotStore as CannotStore
from .base import Child as Child
from .base import Codec as Codec
from .base import Decoding as Decoding
from .base import Encoding as Encoding
from .base import Node as Node
from .base import ObjectCodec as ObjectCodec
from .base import StoredTensor as StoredTensor
from .base import TensorData as TensorData
from .tensors import tensor_in as tensor_in

__all__ = [
    "CannotStore",
    "Child",
    "Codec",
    "Decoding",
    "Encoding",
    "Node",
    "ObjectCodec",
    "StoredTensor",
    "TensorData",
    "tensor_in",
]
