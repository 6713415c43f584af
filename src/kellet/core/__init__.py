"""Tensors: the class, the functions that make and transform them.

The functions that the files of this package define are offered here, and by `kellet` itself.
"""

from typing import TYPE_CHECKING

from ..public_names import functions_of
from . import (
    arithmetic,
    arranging,
    comparing,
    conversion,
    creation,
    derived,
    elementwise,
    indexing,
    products,
    random,
    reducing,
    shaping,
)
from . import tensor as _tensor  # the name without a line is the function of creation.py
from .device import Device as Device
from .random import Generator as Generator
from .random import default_generator as default_generator
from .tensor import Tensor as Tensor

if TYPE_CHECKING:
    from .arithmetic import *
    from .arranging import *
    from .comparing import *
    from .conversion import *
    from .creation import *
    from .derived import *
    from .elementwise import *
    from .indexing import *
    from .products import *
    from .random import *
    from .reducing import *
    from .shaping import *
    from .tensor import *
else:
    _functions = functions_of(
        arithmetic,
        arranging,
        comparing,
        conversion,
        creation,
        derived,
        elementwise,
        indexing,
        products,
        random,
        reducing,
        shaping,
        _tensor,
    )
    globals().update(_functions)
    __all__ = ["Device", "Generator", "Tensor", "default_generator", *_functions]
