"""Files of weights, ours and foreign, read without executing anything or needing what wrote them."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .checkpoint import Checkpoint as Checkpoint
    from .checkpoint import CheckpointMetadata as CheckpointMetadata
    from .checkpoint import open_checkpoint as open_checkpoint
    from .contents import LeftOut as LeftOut
    from .pickle_machine import Opaque as Opaque
    from .pickle_machine import PickleRefused as PickleRefused
    from .tensors import LegacyStorage as LegacyStorage
    from .tensors import LegacyTensor as LegacyTensor
    from .tensors import array_of as array_of
    from .torch_files import read_torch_file as read_torch_file
    from .torch_packages import TorchPackage as TorchPackage
    from .torch_packages import open_torch_package as open_torch_package

__all__ = [
    "Checkpoint",
    "CheckpointMetadata",
    "LeftOut",
    "LegacyStorage",
    "LegacyTensor",
    "Opaque",
    "PickleRefused",
    "TorchPackage",
    "array_of",
    "open_checkpoint",
    "open_torch_package",
    "read_torch_file",
]

__getattr__ = lazy_names(
    __name__,
    {
        "checkpoint": "Checkpoint CheckpointMetadata open_checkpoint",
        "contents": "LeftOut",
        "pickle_machine": "Opaque PickleRefused",
        "tensors": "LegacyStorage LegacyTensor array_of",
        "torch_files": "read_torch_file",
        "torch_packages": "TorchPackage open_torch_package",
    },
)
