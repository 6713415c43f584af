"""Modules: layers, losses and containers, with a hook at every step of calling, saving and loading."""

from . import functional as functional
from . import init as init
from . import modules as modules
from .containers import ModuleDict as ModuleDict
from .containers import ModuleList as ModuleList
from .containers import Sequential as Sequential
from .hook import ContextualHook as ContextualHook
from .hook import Hook as Hook
from .hook import StateHook as StateHook
from .layers import GELU as GELU
from .layers import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from .layers import AvgPool2d as AvgPool2d
from .layers import BatchNorm1d as BatchNorm1d
from .layers import BatchNorm2d as BatchNorm2d
from .layers import BCELoss as BCELoss
from .layers import BCEWithLogitsLoss as BCEWithLogitsLoss
from .layers import Conv1d as Conv1d
from .layers import Conv2d as Conv2d
from .layers import CrossEntropyLoss as CrossEntropyLoss
from .layers import Dropout as Dropout
from .layers import Embedding as Embedding
from .layers import Flatten as Flatten
from .layers import HuberLoss as HuberLoss
from .layers import Identity as Identity
from .layers import KLDivLoss as KLDivLoss
from .layers import L1Loss as L1Loss
from .layers import LayerNorm as LayerNorm
from .layers import Linear as Linear
from .layers import LogSoftmax as LogSoftmax
from .layers import MaxPool2d as MaxPool2d
from .layers import MSELoss as MSELoss
from .layers import MultiheadAttention as MultiheadAttention
from .layers import NLLLoss as NLLLoss
from .layers import ReLU as ReLU
from .layers import Sigmoid as Sigmoid
from .layers import SiLU as SiLU
from .layers import SmoothL1Loss as SmoothL1Loss
from .layers import Softmax as Softmax
from .layers import Softmin as Softmin
from .layers import Tanh as Tanh
from .layers import TransformerEncoder as TransformerEncoder
from .layers import TransformerEncoderLayer as TransformerEncoderLayer
from .layers import Unflatten as Unflatten
from .load_state_dict import IncompatibleKeys as IncompatibleKeys
from .load_state_dict import (
    register_class_load_state_dict_pre_hook as register_class_load_state_dict_pre_hook,
)
from .module import HookedModule as HookedModule
from .module import Module as Module
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter_containers import ParameterDict as ParameterDict
from .parameter_containers import ParameterList as ParameterList
from .state_dict import StateDict as StateDict

__all__ = [
    "GELU",
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Buffer",
    "ContextualHook",
    "Conv1d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "Hook",
    "HookedModule",
    "HuberLoss",
    "Identity",
    "IncompatibleKeys",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "NLLLoss",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softmin",
    "StateDict",
    "StateHook",
    "Tanh",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Unflatten",
    "functional",
    "init",
    "modules",
    "register_class_load_state_dict_pre_hook",
]
