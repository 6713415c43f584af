"""Legacy files, read without executing anything and without the framework that wrote them."""

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
