"""Files of weights, ours and foreign, read without executing anything or needing what wrote them."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .checkpoint import *
    from .contents import *
    from .lazy_arrays import *
    from .legacy_tensors import *
    from .other_weights import *
    from .pickle_machine import *
    from .stored_tensors import *
    from .torch_files import *
    from .torch_packages import *
    from .writing import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "checkpoint": "Checkpoint CheckpointMetadata open_checkpoint",
            "contents": "LeftOut",
            "lazy_arrays": "LazyStateDict as_lazy bare constant joined made_whole whole_array",
            "legacy_tensors": "LegacyTensor array_of",
            "other_weights": "open_other_weights",
            "pickle_machine": "Opaque PickleRefused",
            "stored_tensors": "stored_tensor",
            "torch_files": "read_torch_file",
            "torch_packages": "TorchPackage open_torch_package",
            "writing": "WrittenCheckpoint write_checkpoint",
        },
    )
