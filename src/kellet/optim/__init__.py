"""Optimisers, with hooks around their steps and around saving and loading their state."""

from .adam import Adam as Adam
from .adam import AdamW as AdamW
from .optimizer import Optimizer as Optimizer
from .sgd import SGD as SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
