"""Places that have a module of their own in torch; see `kellet.nn`."""

from . import module as module
from . import utils as utils
from .module import Module as Module

__all__ = ["Module", "module", "utils"]
