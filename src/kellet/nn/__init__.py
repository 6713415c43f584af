"""Modules: layers, losses and containers, with a hook at every step of calling, saving and loading."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ..absent import absent as _absent
from . import functional as functional
from . import init as init
from . import layers
from . import modules as modules
from . import storing as storing
from . import utils as utils
from .containers import ModuleDict as ModuleDict
from .containers import ModuleList as ModuleList
from .containers import Sequential as Sequential
from .hook import ContextualHook as ContextualHook
from .hook import Hook as Hook
from .hook import StateHook as StateHook
from .layers import *
from .load_plan import IncompatibleKeys as IncompatibleKeys
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

if TYPE_CHECKING:
    from . import parallel as parallel

if not TYPE_CHECKING:  # type checkers read the stars above, and no list that is put together
    __all__ = [
        "Buffer",
        "ContextualHook",
        "Hook",
        "HookedModule",
        "IncompatibleKeys",
        "Module",
        "ModuleDict",
        "ModuleList",
        "Parameter",
        "ParameterDict",
        "ParameterList",
        "Sequential",
        "StateDict",
        "StateHook",
        "functional",
        "init",
        "modules",
        "parallel",
        "storing",
        "utils",
        "register_class_load_state_dict_pre_hook",
        *layers.__all__,
    ]

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        if name == "parallel":  # with it come processes that work together, which few programs are
            return _import_module(".parallel", __name__)
        raise _absent("nn", name)
