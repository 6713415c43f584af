"""The layers and losses, one file for each family. State keys, arguments and first values are PyTorch's."""

from typing import TYPE_CHECKING

from . import (
    activation,
    attention,
    convolution,
    dropout,
    embedding,
    linear,
    loss,
    normalization,
    pooling,
    shape,
    transformer,
)
from .activation import *
from .attention import *
from .convolution import *
from .dropout import *
from .embedding import *
from .linear import *
from .loss import *
from .normalization import *
from .pooling import *
from .shape import *
from .transformer import *

if not TYPE_CHECKING:  # type checkers read the stars above, and no list that is put together
    __all__ = [
        *activation.__all__,
        *attention.__all__,
        *convolution.__all__,
        *dropout.__all__,
        *embedding.__all__,
        *linear.__all__,
        *loss.__all__,
        *normalization.__all__,
        *pooling.__all__,
        *shape.__all__,
        *transformer.__all__,
    ]
