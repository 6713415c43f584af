"""What is true of an array before it is in a file: dtypes, layouts, views and the storages behind them."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .dtypes import *
    from .layouts import *
    from .shards import *
    from .storages import *
    from .unwritten_pages import *
    from .verbs import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "dtypes": "DTYPES DTYPE_BITS ITEMSIZE SPELLED WORDS dtype_from_name dtype_name "
            "dtype_of_stored is_dtype_name itemsize_of itemsize_of_name numpy_dtype raw_dtype stored_as",
            "layouts": "Box StoredTensor boxes contiguous_strides fits is_contiguous part_of per_axis "
            "reshaped_strides span",
            "shards": "Shard box_text cover_problem rank_range",
            "storages": "TensorData bytes_in_order lay_out overlapping same_bytes span_of",
            "unwritten_pages": "MappedPages",
            "verbs": "FORMATS cast dtype_of full is_installed join library_here library_of library_of_class "
            "name_of_dtype roll tensor_of to_numpy",
        },
    )
