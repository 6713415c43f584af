"""Gradients: the graph that operations record, and the engine that walks it.

This package knows no operation. `bridge.py` is where `kellet.core` tells it what a tensor is.
"""

from . import anomaly_mode as anomaly_mode
from . import function as function
from . import grad_mode as grad_mode
from . import graph as graph
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .engine import queue_callback as queue_callback
from .function import Function as Function
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck
from .gradients import backward as backward
from .gradients import grad as grad
from .modes import enable_grad as enable_grad
from .modes import inference_mode as inference_mode
from .modes import is_grad_enabled as is_grad_enabled
from .modes import no_grad as no_grad
from .modes import set_grad_enabled as set_grad_enabled
from .saved import SavedTensor as SavedTensor
from .variable import Variable as Variable

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "queue_callback",
    "set_detect_anomaly",
    "set_grad_enabled",
]
