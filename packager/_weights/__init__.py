"""Files of weights, ours and foreign, read without executing anything or needing what wrote them."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .checkpoint import *
    from .contents import *
    from .lazy_arrays import *
    from .legacy_tensors import *
    from .pickle_machine import *
    from .torch_files import *
    from .torch_packages import *
    from .writing import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "checkpoint": "Checkpoint CheckpointMetadata open_checkpoint open_other_weights",
            "contents": "LeftOut",
            "lazy_arrays": "LazyStateDict as_lazy bare constant joined made_whole whole_array",
            "legacy_tensors": "LegacyTensor array_of stored_tensor",
            "pickle_machine": "Opaque CheckpointPickleError",
            "torch_files": "read_torch_file",
            "torch_packages": "TorchPackage open_torch_package",
            "writing": "WrittenCheckpoint write_checkpoint",
        },
    )
