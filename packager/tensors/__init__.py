"""What is true of an array before it is in a file: dtypes, layouts, views and the storages behind them."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .dtypes import DTYPE_BITS as DTYPE_BITS
    from .dtypes import DTYPES as DTYPES
    from .dtypes import ITEMSIZE as ITEMSIZE
    from .dtypes import SPELLED as SPELLED
    from .dtypes import WORDS as WORDS
    from .dtypes import DType as DType
    from .dtypes import dtype_from_name as dtype_from_name
    from .dtypes import dtype_name as dtype_name
    from .dtypes import dtype_of_stored as dtype_of_stored
    from .dtypes import is_dtype_name as is_dtype_name
    from .dtypes import itemsize_of as itemsize_of
    from .dtypes import itemsize_of_name as itemsize_of_name
    from .dtypes import numpy_dtype as numpy_dtype
    from .dtypes import raw_dtype as raw_dtype
    from .dtypes import stored_as as stored_as
    from .layouts import MAX_RANK as MAX_RANK
    from .layouts import Box as Box
    from .layouts import boxes as boxes
    from .layouts import contiguous_strides as contiguous_strides
    from .layouts import fits as fits
    from .layouts import is_contiguous as is_contiguous
    from .layouts import largest_view as largest_view
    from .layouts import reshaped_strides as reshaped_strides
    from .layouts import span as span
    from .storages import StoredTensor as StoredTensor
    from .storages import TensorData as TensorData
    from .storages import in_c_order as in_c_order
    from .storages import lay_out as lay_out
    from .storages import overlapping as overlapping
    from .storages import span_of as span_of

__all__ = [
    "DTYPES",
    "DTYPE_BITS",
    "ITEMSIZE",
    "MAX_RANK",
    "SPELLED",
    "WORDS",
    "Box",
    "DType",
    "StoredTensor",
    "TensorData",
    "boxes",
    "contiguous_strides",
    "dtype_from_name",
    "dtype_name",
    "dtype_of_stored",
    "fits",
    "in_c_order",
    "is_contiguous",
    "is_dtype_name",
    "itemsize_of",
    "itemsize_of_name",
    "largest_view",
    "lay_out",
    "numpy_dtype",
    "overlapping",
    "raw_dtype",
    "reshaped_strides",
    "span",
    "span_of",
    "stored_as",
]

__getattr__ = lazy_names(
    __name__,
    {
        "dtypes": "DTYPES DTYPE_BITS ITEMSIZE SPELLED WORDS DType dtype_from_name dtype_name dtype_of_stored "
        "is_dtype_name itemsize_of itemsize_of_name numpy_dtype raw_dtype stored_as",
        "layouts": "MAX_RANK Box boxes contiguous_strides fits is_contiguous largest_view reshaped_strides "
        "span",
        "storages": "StoredTensor TensorData in_c_order lay_out overlapping span_of",
    },
)
