"""The layers and losses, one file for each family. State keys, arguments and first values are PyTorch's.

The classes that the files of this folder define are offered here, and by `kellet.nn`.
"""

from typing import TYPE_CHECKING

from ...core.wrong_arguments import explain_construction as _explain_construction
from ...public_names import classes_of
from . import (
    activation,
    attention,
    composed_pooling,
    convolution,
    distances,
    embedding,
    linear,
    loss,
    normalization,
    padding,
    partial_norms,
    pooling,
    rectifiers,
    recurrent,
    recurrent_cells,
    resampling,
    shuffling,
    transformer,
    transposed,
)

if TYPE_CHECKING:
    from .activation import *
    from .attention import *
    from .composed_pooling import *
    from .convolution import *
    from .distances import *
    from .embedding import *
    from .linear import *
    from .loss import *
    from .normalization import *
    from .padding import *
    from .partial_norms import *
    from .pooling import *
    from .rectifiers import *
    from .recurrent import *
    from .recurrent_cells import *
    from .resampling import *
    from .shuffling import *
    from .transformer import *
    from .transposed import *
else:
    _layers = classes_of(
        activation,
        attention,
        composed_pooling,
        convolution,
        distances,
        embedding,
        linear,
        loss,
        normalization,
        padding,
        partial_norms,
        pooling,
        rectifiers,
        recurrent,
        recurrent_cells,
        resampling,
        shuffling,
        transformer,
        transposed,
    )
    globals().update(_layers)
    _explain_construction(*_layers.values())
    __all__ = [*_layers]
