"""Codecs: one family of types each, between objects and plain nodes."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .base import *
    from .c_state import *
    from .codec_rows import *
    from .frameworks import *
    from .library import *
    from .payloads import *
    from .state_tensors import *
    from .stored_arrays import *
    from .torch_absent import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "base": "CannotStore Child Codec Decoding Encoding Finish Node ObjectCodec Role StoredTensor "
            "TensorData CodecRegistry default_registry expect expect_class expect_sizes state_checks "
            "stored_state",
            "c_state": "StateCheck attributes_of is_int met_nodes require require_array "
            "require_inside require_int require_permutation require_tree",
            "codec_rows": "Literal Parts kinds words",
            "frameworks": "split_literal",
            "payloads": "Fields expect_payload panics_as_errors parsed_json payload text_of view_of",
            "library": "Library carried_files find_library",
            "state_tensors": "columns_out tensor_out",
            "stored_arrays": "LIBRARIES array_layout in_place tensor_in",
            "torch_absent": "registry_without_torch",
        },
    )
