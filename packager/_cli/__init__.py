"""The command `kellet`, which is also installed as `packager`."""

from .main import main as main

__all__ = ["main"]
