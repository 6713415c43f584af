"""Tensors: the class, the functions that make and transform them.

The functions that the files of this package define are offered here, and by `kellet` itself.
"""

from typing import TYPE_CHECKING

from ..public_names import functions_of
from . import (
    arithmetic,
    arranging,
    comparing,
    composed,
    conversion,
    creation,
    derived,
    elementwise,
    index_writing,
    indexing,
    matrices,
    products,
    random,
    random_fills,
    ranking,
    reducing,
    shaping,
    type_promotion,
    vectors,
)
from . import tensor as _tensor  # the name without a line is the function of creation.py
from .device import Device as Device
from .generators import Generator as Generator
from .generators import default_generator as default_generator
from .printing import set_printoptions as set_printoptions
from .tensor import Tensor as Tensor

if TYPE_CHECKING:
    from .arithmetic import *
    from .arranging import *
    from .comparing import *
    from .composed import *
    from .conversion import *
    from .creation import *
    from .derived import *
    from .elementwise import *
    from .index_writing import *
    from .indexing import *
    from .matrices import *
    from .products import *
    from .random import *
    from .random_fills import *
    from .ranking import *
    from .reducing import *
    from .shaping import *
    from .tensor import *
    from .type_promotion import *
    from .vectors import *
else:
    _functions = functions_of(
        arithmetic,
        arranging,
        comparing,
        composed,
        conversion,
        creation,
        derived,
        elementwise,
        index_writing,
        indexing,
        matrices,
        products,
        random,
        random_fills,
        ranking,
        reducing,
        shaping,
        type_promotion,
        vectors,
        _tensor,
    )
    globals().update(_functions)
    __all__ = ["Device", "Generator", "Tensor", "default_generator", "set_printoptions", *_functions]
