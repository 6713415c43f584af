"""Places that torch has under `torch.utils`."""

from . import data as data
from . import hooks as hooks

__all__ = ["data", "hooks"]
