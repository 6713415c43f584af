"""Codecs: one family of types each, between objects and plain nodes."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .base import *
    from .c_state import *
    from .codec_rows import *
    from .frameworks import *
    from .library import *
    from .payloads import *
    from .registry import *
    from .state_tensors import *
    from .stored_arrays import *
    from .torch_codec import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "base": "CannotStore Child Codec Decoding Encoding Finish LiteralCodec Node ObjectCodec "
            "PartsCodec Role StoredTensor TensorData expect expect_class expect_payload expect_sizes "
            "kinds words",
            "c_state": "StateCheck attributes_of is_int met_nodes require require_array "
            "require_inside require_int require_permutation require_tree",
            "codec_rows": "Choice one_of",
            "frameworks": "split_literal",
            "payloads": "Fields panics_as_errors parsed_json payload text_of view_of",
            "library": "Library find_library",
            "registry": "CodecRegistry carried_files default_registry state_checks stored_state",
            "state_tensors": "columns_out tensor_out",
            "stored_arrays": "LIBRARIES array_layout in_place tensor_in",
            "torch_codec": "registry_without_torch",
        },
    )
