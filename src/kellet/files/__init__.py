"""Saving and loading tensors, state dicts and plain containers of them: one file, and never a pickle."""

from .saving import load as load
from .saving import save as save

__all__ = ["load", "save"]
