"""Legacy files, read without executing anything and without the framework that wrote them."""

from .pickle_machine import PickleRefused as PickleRefused
from .tensors import LegacyStorage as LegacyStorage
from .tensors import LegacyTensor as LegacyTensor
from .tensors import array_of as array_of
from .torch_files import read_torch_file as read_torch_file

__all__ = ["LegacyStorage", "LegacyTensor", "PickleRefused", "array_of", "read_torch_file"]
