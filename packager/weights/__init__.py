"""Files of weights, ours and foreign, read without executing anything or needing what wrote them."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .checkpoint import Checkpoint as Checkpoint
    from .checkpoint import CheckpointMetadata as CheckpointMetadata
    from .checkpoint import open_checkpoint as open_checkpoint
    from .contents import LeftOut as LeftOut
    from .lazy_arrays import LazyStateDict as LazyStateDict
    from .lazy_arrays import as_lazy as as_lazy
    from .lazy_arrays import bare as bare
    from .lazy_arrays import constant as constant
    from .lazy_arrays import joined as joined
    from .lazy_arrays import made_whole as made_whole
    from .pickle_machine import Opaque as Opaque
    from .pickle_machine import PickleRefused as PickleRefused
    from .tensors import LegacyTensor as LegacyTensor
    from .tensors import array_of as array_of
    from .torch_files import read_torch_file as read_torch_file
    from .torch_packages import TorchPackage as TorchPackage
    from .torch_packages import open_torch_package as open_torch_package
    from .writing import WrittenCheckpoint as WrittenCheckpoint
    from .writing import write_checkpoint as write_checkpoint

__all__ = [
    "Checkpoint",
    "CheckpointMetadata",
    "LazyStateDict",
    "LeftOut",
    "LegacyTensor",
    "Opaque",
    "PickleRefused",
    "TorchPackage",
    "WrittenCheckpoint",
    "array_of",
    "as_lazy",
    "bare",
    "constant",
    "joined",
    "made_whole",
    "open_checkpoint",
    "open_torch_package",
    "read_torch_file",
    "write_checkpoint",
]

__getattr__ = lazy_names(
    __name__,
    {
        "checkpoint": "Checkpoint CheckpointMetadata open_checkpoint",
        "contents": "LeftOut",
        "lazy_arrays": "LazyStateDict as_lazy bare constant joined made_whole",
        "pickle_machine": "Opaque PickleRefused",
        "tensors": "LegacyTensor array_of",
        "torch_files": "read_torch_file",
        "torch_packages": "TorchPackage open_torch_package",
        "writing": "WrittenCheckpoint write_checkpoint",
    },
)
