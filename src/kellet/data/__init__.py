"""Datasets, samplers, and the loader that makes batches of them, under PyTorch's names."""

from typing import TYPE_CHECKING

from ..core.wrong_arguments import explain_construction as _explain_construction
from ..public_names import classes_of
from .collate import default_collate as default_collate
from .collate import default_convert as default_convert
from .dataset import random_split as random_split
from .workers import WorkerInfo as WorkerInfo
from .workers import get_worker_info as get_worker_info

if TYPE_CHECKING:
    from .dataset import *
    from .distributed_sampler import *
    from .loader import *
    from .sampler import *
else:
    _classes = classes_of(__name__, "dataset distributed_sampler loader sampler")
    globals().update(_classes)
    _explain_construction(WorkerInfo, *_classes.values())
    __all__ = [
        "WorkerInfo",
        "default_collate",
        "default_convert",
        "get_worker_info",
        "random_split",
        *_classes,
    ]
