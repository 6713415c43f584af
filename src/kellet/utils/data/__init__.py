"""Datasets and loaders, in the place where torch has them; see `kellet.data`."""

from typing import TYPE_CHECKING

from ...absent import absent as _absent
from ...data import BatchSampler as BatchSampler
from ...data import ConcatDataset as ConcatDataset
from ...data import DataLoader as DataLoader
from ...data import Dataset as Dataset
from ...data import DistributedSampler as DistributedSampler
from ...data import IterableDataset as IterableDataset
from ...data import RandomSampler as RandomSampler
from ...data import Sampler as Sampler
from ...data import SequentialSampler as SequentialSampler
from ...data import Subset as Subset
from ...data import SubsetRandomSampler as SubsetRandomSampler
from ...data import TensorDataset as TensorDataset
from ...data import WeightedRandomSampler as WeightedRandomSampler
from ...data import default_collate as default_collate
from ...data import default_convert as default_convert
from ...data import get_worker_info as get_worker_info
from ...data import random_split as random_split
from . import distributed as distributed

__all__ = [
    "BatchSampler",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "distributed",
    "get_worker_info",
    "random_split",
]


if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        raise _absent("utils.data", name)
