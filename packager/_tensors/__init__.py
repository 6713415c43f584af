"""What is true of an array before it is in a file: dtypes, layouts, views and the storages behind them."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .dtypes import *
    from .layouts import *
    from .storages import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "dtypes": "DTYPES DTYPE_BITS FORMATS ITEMSIZE SPELLED WORDS cast dtype_from_name dtype_name "
            "dtype_of dtype_of_stored full is_dtype_name is_installed itemsize_of itemsize_of_name join "
            "library_here library_of library_of_class name_of_dtype numpy_dtype raw_dtype roll stored_as "
            "tensor_of to_numpy",
            "layouts": "Box StoredTensor boxes contiguous_strides fits is_contiguous part_of per_axis "
            "reshaped_strides span",
            "storages": "MappedPages Shard TensorData box_text bytes_in_order cover_problem lay_out "
            "overlapping rank_range same_bytes span_of",
        },
    )
