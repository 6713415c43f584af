"""Which dtype comes of several: the rules of dtypes.py, asked by name."""

from __future__ import annotations

from ..autograd import Variable
from ..dtypes import DType, DTypeLike, as_dtype, category, promote
from ..dtypes import result_dtype as _of_values


def promote_types(type1: DTypeLike, type2: DTypeLike) -> DType:
    """Return the dtype of the sum of two tensors of these dtypes.

    >>> kellet.promote_types(kellet.int64, kellet.float16)
    dtype('float16')
    """
    return promote(as_dtype(type1), as_dtype(type2))


def result_type(tensor1: object, tensor2: object) -> DType:
    """Return the dtype of the sum of two tensors or numbers; those with axes decide before others.

    >>> kellet.result_type(kellet.tensor([1, 2]), 1.0)
    dtype('float32')
    """
    return _of_values([one._array if isinstance(one, Variable) else one for one in (tensor1, tensor2)])


def can_cast(from_: DTypeLike, to: DTypeLike) -> bool:
    """Say whether values of one dtype may be written into another: of a kind into the same or a higher one.

    >>> kellet.can_cast(kellet.float64, kellet.float32), kellet.can_cast(kellet.float32, kellet.int64)
    (True, False)
    """
    return category(as_dtype(from_)) <= category(as_dtype(to))
