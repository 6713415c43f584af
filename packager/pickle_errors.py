"""The errors that are `pickle.UnpicklingError`, too; `packager.errors` offers them beside the others."""

from __future__ import annotations

try:
    from _pickle import UnpicklingError  # `pickle` itself takes longer to import
except ImportError:  # a Python without it
    from pickle import UnpicklingError

from .errors import PackageError

__all__ = ["PickleRefusedError", "UntrustedTypeError"]


class UntrustedTypeError(PackageError, UnpicklingError):
    """Stored objects name types that neither the archive holds nor the caller trusts."""


class PickleRefusedError(PackageError, UnpicklingError):
    """The resource is a real pickle, which runs code when read, and `allow_pickle` is False."""
