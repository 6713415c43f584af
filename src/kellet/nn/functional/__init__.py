"""The functions behind the layers, with PyTorch's names and arguments."""

from typing import TYPE_CHECKING

from . import activations, attention, convolution, losses, normalization, padding, pooling
from . import dropout as _dropout  # the names without a line are the functions below
from . import linear as _linear
from .activations import *
from .attention import *
from .convolution import *
from .dropout import *
from .linear import *
from .losses import *
from .normalization import *
from .padding import *
from .pooling import *

if not TYPE_CHECKING:  # type checkers read the stars above, and no list that is put together
    __all__ = [
        *activations.__all__,
        *attention.__all__,
        *convolution.__all__,
        *_dropout.__all__,
        *_linear.__all__,
        *losses.__all__,
        *normalization.__all__,
        *padding.__all__,
        *pooling.__all__,
    ]
