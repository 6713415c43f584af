"""Schedulers: learning rates that change from step to step, under the names that PyTorch has for them."""

from typing import TYPE_CHECKING

from ...absent import absent as _absent
from ...core.wrong_arguments import explain_construction as _explain_construction
from .cosine import CosineAnnealingLR as CosineAnnealingLR
from .cosine import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .factors import ConstantLR as ConstantLR
from .factors import ExponentialLR as ExponentialLR
from .factors import LinearLR as LinearLR
from .factors import MultiStepLR as MultiStepLR
from .factors import PolynomialLR as PolynomialLR
from .factors import StepLR as StepLR
from .functions import LambdaLR as LambdaLR
from .functions import MultiplicativeLR as MultiplicativeLR
from .one_cycle import OneCycleLR as OneCycleLR
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau
from .scheduler import LRScheduler as LRScheduler
from .sequences import ChainedScheduler as ChainedScheduler
from .sequences import SequentialLR as SequentialLR

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

_explain_construction(*(globals()[_name] for _name in __all__))

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        raise _absent("optim.lr_scheduler", name)
