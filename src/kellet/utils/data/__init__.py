"""Datasets and loaders, in the place where torch has them; see `kellet.data`."""

from typing import TYPE_CHECKING

from ... import data as _data
from ...data import *
from . import distributed as distributed

if not TYPE_CHECKING:  # type checkers read the star above
    __all__ = ["distributed", *_data.__all__]
