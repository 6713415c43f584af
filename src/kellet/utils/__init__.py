"""Places that torch has under `torch.utils`."""

from . import hooks as hooks

__all__ = ["hooks"]
