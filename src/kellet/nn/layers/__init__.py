"""The layers and losses, one file for each family. State keys, arguments and first values are PyTorch's.

The classes that the files of this folder define are offered here, and by `kellet.nn`.
"""

from typing import TYPE_CHECKING

from ...core.wrong_arguments import explain_construction as _explain_construction
from ...public_names import classes_of

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
    from .recurrent import *
    from .recurrent_cells import *
    from .resampling import *
    from .shuffling import *
    from .transformer import *
else:
    _layers = classes_of(
        __name__,
        "activations dropping losses attention convolution distances embedding linear normalization "
        "padding pooling recurrent recurrent_cells resampling shuffling transformer",
    )
    globals().update(_layers)
    _explain_construction(*_layers.values())
    __all__ = [*_layers]
