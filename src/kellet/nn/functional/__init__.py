"""The functions behind the layers, with PyTorch's names and arguments.

The functions that the files of this folder define are offered here.
"""

from typing import TYPE_CHECKING

from ...absent import absent as _absent
from ...core.wrong_arguments import explaining as _explaining
from ...public_names import functions_of

if TYPE_CHECKING:
    from .activations import *
    from .attention import *
    from .convolution import *
    from .distances import *
    from .dropping import *
    from .embedding import *
    from .linear import *
    from .losses import *
    from .normalization import *
    from .padding import *
    from .pooling import *
    from .resampling import *
    from .shuffling import *
else:
    _functions = functions_of(
        __name__,
        "activations attention convolution distances dropping losses normalization padding pooling "
        "resampling shuffling embedding linear",
    )
    globals().update(_explaining(_functions, __name__))
    __all__ = [*_functions]

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        raise _absent("nn.functional", name)
