"""The layers and losses, one file for each family. State keys, arguments and first values are PyTorch's."""

from .activation import GELU as GELU
from .activation import LogSoftmax as LogSoftmax
from .activation import ReLU as ReLU
from .activation import Sigmoid as Sigmoid
from .activation import SiLU as SiLU
from .activation import Softmax as Softmax
from .activation import Softmin as Softmin
from .activation import Tanh as Tanh
from .attention import MultiheadAttention as MultiheadAttention
from .convolution import Conv1d as Conv1d
from .convolution import Conv2d as Conv2d
from .dropout import Dropout as Dropout
from .embedding import Embedding as Embedding
from .linear import Identity as Identity
from .linear import Linear as Linear
from .loss import BCELoss as BCELoss
from .loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from .loss import CrossEntropyLoss as CrossEntropyLoss
from .loss import HuberLoss as HuberLoss
from .loss import KLDivLoss as KLDivLoss
from .loss import L1Loss as L1Loss
from .loss import MSELoss as MSELoss
from .loss import NLLLoss as NLLLoss
from .loss import SmoothL1Loss as SmoothL1Loss
from .normalization import BatchNorm1d as BatchNorm1d
from .normalization import BatchNorm2d as BatchNorm2d
from .normalization import LayerNorm as LayerNorm
from .pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from .pooling import AvgPool2d as AvgPool2d
from .pooling import MaxPool2d as MaxPool2d
from .shape import Flatten as Flatten
from .shape import Unflatten as Unflatten
from .transformer import TransformerEncoder as TransformerEncoder
from .transformer import TransformerEncoderLayer as TransformerEncoderLayer

__all__ = [
    "GELU",
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "HuberLoss",
    "Identity",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "MultiheadAttention",
    "NLLLoss",
    "ReLU",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softmin",
    "Tanh",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Unflatten",
]
