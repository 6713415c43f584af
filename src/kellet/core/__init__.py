"""Tensors: the class, the functions that make and transform them.

What a file of this room lists in its `__all__` is offered here, and by `kellet` itself.
"""

from typing import TYPE_CHECKING

from . import (
    arithmetic,
    arranging,
    conversion,
    creation,
    derived,
    device,
    elementwise,
    indexing,
    joining,
    products,
    random,
    reducing,
    shaping,
)
from . import tensor as _tensor  # the name without a line is the function of creation.py
from .arithmetic import *
from .arranging import *
from .conversion import *
from .creation import *
from .derived import *
from .device import *
from .elementwise import *
from .indexing import *
from .joining import *
from .products import *
from .random import *
from .reducing import *
from .shaping import *
from .tensor import *

if not TYPE_CHECKING:  # type checkers read the stars above, and no list that is put together
    __all__ = [
        *arithmetic.__all__,
        *arranging.__all__,
        *conversion.__all__,
        *creation.__all__,
        *derived.__all__,
        *device.__all__,
        *elementwise.__all__,
        *indexing.__all__,
        *joining.__all__,
        *products.__all__,
        *random.__all__,
        *reducing.__all__,
        *shaping.__all__,
        *_tensor.__all__,
    ]
