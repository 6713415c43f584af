"""Averages of the models of several ranks, for those that have trained apart for a while."""

from . import averagers as averagers
from .averagers import PeriodicModelAverager as PeriodicModelAverager

__all__ = ["PeriodicModelAverager", "averagers"]
