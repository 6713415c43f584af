"""Schedulers: learning rates that change from step to step, under the names that PyTorch has for them."""

from typing import TYPE_CHECKING

from ...absent import absent as _absent
from ...core.wrong_arguments import explain_construction as _explain_construction
from ...public_names import classes_of
from .scheduler import LRScheduler as LRScheduler

if TYPE_CHECKING:
    from .cosine import *
    from .factors import *
    from .functions import *
    from .one_cycle import *
    from .plateau import *
    from .sequences import *
else:
    _schedulers = classes_of(__name__, "cosine factors functions one_cycle plateau sequences")
    globals().update(_schedulers)
    _explain_construction(LRScheduler, *_schedulers.values())
    __all__ = ["LRScheduler", *_schedulers]

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        raise _absent("optim.lr_scheduler", name)
