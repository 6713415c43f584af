"""The command `packager`."""

from .main import main as main

__all__ = ["main"]
