"""The functions behind the layers, with PyTorch's names and arguments.

The functions that the files of this folder define are offered here.
"""

from typing import TYPE_CHECKING

from ...absent import absent as _absent
from ...core.wrong_arguments import explaining as _explaining
from ...public_names import functions_of
from . import (
    activations,
    attention,
    bags,
    composed_pooling,
    convolution,
    distances,
    dropping,
    losses,
    normalization,
    padding,
    pooling,
    resampling,
    shuffling,
)
from . import linear as _linear  # the name without a line is the function

if TYPE_CHECKING:
    from .activations import *
    from .attention import *
    from .bags import *
    from .composed_pooling import *
    from .convolution import *
    from .distances import *
    from .dropping import *
    from .linear import *
    from .losses import *
    from .normalization import *
    from .padding import *
    from .pooling import *
    from .resampling import *
    from .shuffling import *
else:
    _functions = functions_of(
        activations,
        attention,
        bags,
        composed_pooling,
        convolution,
        distances,
        dropping,
        losses,
        normalization,
        padding,
        pooling,
        resampling,
        shuffling,
        _linear,
    )
    globals().update(_explaining(_functions, __name__))
    __all__ = [*_functions]

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        raise _absent("nn.functional", name)
