"""Tensors: the class, the functions that make and transform them.

The functions that the files of this package define are offered here, and by `kellet` itself.
"""

from typing import TYPE_CHECKING

from ..public_names import functions_of
from . import (
    arithmetic,
    arranging,
    comparing,
    complex_numbers,
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
from .device import get_default_device as get_default_device
from .device import set_default_device as set_default_device
from .generators import Generator as Generator
from .generators import default_generator as default_generator
from .printing import set_printoptions as set_printoptions
from .tensor import Tensor as Tensor
from .typed_tensors import BoolTensor as BoolTensor
from .typed_tensors import ByteTensor as ByteTensor
from .typed_tensors import CharTensor as CharTensor
from .typed_tensors import DoubleTensor as DoubleTensor
from .typed_tensors import FloatTensor as FloatTensor
from .typed_tensors import HalfTensor as HalfTensor
from .typed_tensors import IntTensor as IntTensor
from .typed_tensors import LongTensor as LongTensor
from .typed_tensors import ShortTensor as ShortTensor
from .wrong_arguments import explain_methods as _explain_methods
from .wrong_arguments import explaining as _explaining

if TYPE_CHECKING:
    from .arithmetic import *
    from .arranging import *
    from .comparing import *
    from .complex_numbers import *
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
        complex_numbers,
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
    globals().update(_explaining(_functions, "kellet"))
    _explain_methods(Tensor)
    __all__ = [
        "BoolTensor",
        "ByteTensor",
        "CharTensor",
        "Device",
        "DoubleTensor",
        "FloatTensor",
        "Generator",
        "HalfTensor",
        "IntTensor",
        "LongTensor",
        "ShortTensor",
        "Tensor",
        "default_generator",
        "get_default_device",
        "set_default_device",
        "set_printoptions",
        *_functions,
    ]
