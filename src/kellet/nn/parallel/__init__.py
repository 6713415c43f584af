"""Modules that several processes train together."""

from typing import TYPE_CHECKING

from ...absent import absent as _absent
from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DistributedDataParallel"]

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        raise _absent("nn.parallel", name)
