"""Tensors: the class, the functions that make and transform them.

The functions that the files of this package define are offered here, and by `kellet` itself.
"""

from typing import TYPE_CHECKING

from ..public_names import classes_of, functions_of
from .creation import tensor as tensor
from .device import Device as Device
from .device import get_default_device as get_default_device
from .device import set_default_device as set_default_device
from .generators import Generator as Generator
from .generators import default_generator as default_generator
from .printing import set_printoptions as set_printoptions
from .tensor import Tensor as Tensor
from .wrong_arguments import explain_methods as _explain_methods
from .wrong_arguments import explaining as _explaining

if TYPE_CHECKING:
    from .arithmetic import *
    from .arranging import *
    from .complex_numbers import *
    from .conversion import *
    from .creation import *
    from .elementwise import *
    from .indexing import *
    from .inplace import *
    from .products import *
    from .random import *
    from .ranking import *
    from .reducing import *
    from .shaping import *
    from .tensor import *
    from .type_promotion import *
    from .typed_tensors import *
else:
    _functions = functions_of(
        __name__,
        "arithmetic arranging complex_numbers conversion creation elementwise indexing products "
        "random inplace ranking reducing shaping type_promotion tensor",
    )
    globals().update(_explaining(_functions, "kellet"))
    _explain_methods(Tensor)
    _typed = classes_of(__name__, "typed_tensors")
    globals().update(_typed)
    __all__ = [
        "Device",
        "Generator",
        "Tensor",
        "default_generator",
        "get_default_device",
        "set_default_device",
        "set_printoptions",
        *_functions,
        *_typed,
    ]
