"""Codecs: one family of types each, between objects and plain nodes."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .base import *
    from .c_state import *
    from .frameworks import *
    from .state_tensors import *
    from .stored_arrays import *
    from .tensors import *
    from .torch_absent import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "base": "CannotStore Child Codec Decoding Encoding Finish Node ObjectCodec Role StoredTensor "
            "TensorData CodecRegistry codec_files default_registry",
            "c_state": "CHECKED StateCheck state_checks stored_state",
            "frameworks": "split_literal",
            "state_tensors": "columns_out tensor_out",
            "stored_arrays": "LIBRARIES array_layout in_place tensor_in",
            "tensors": "TENSOR_CODECS",
            "torch_absent": "registry_without_torch",
        },
    )
