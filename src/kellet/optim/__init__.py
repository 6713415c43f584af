"""Optimisers, with hooks around their steps and around saving and loading their state."""

from typing import TYPE_CHECKING

from ..absent import absent as _absent
from ..core.wrong_arguments import explain_construction as _explain_construction
from . import lr_scheduler as lr_scheduler
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adam import AdamW as AdamW
from .lbfgs import LBFGS as LBFGS
from .optimizer import Optimizer as Optimizer
from .rmsprop import RMSprop as RMSprop
from .sgd import SGD as SGD

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]

_explain_construction(Adagrad, Adam, AdamW, LBFGS, Optimizer, RMSprop, SGD)

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        raise _absent("optim", name)
