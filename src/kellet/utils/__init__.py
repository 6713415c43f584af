"""Places that torch has under `torch.utils`."""

from . import checkpoint as checkpoint
from . import data as data
from . import hooks as hooks

__all__ = ["checkpoint", "data", "hooks"]
