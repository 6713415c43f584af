"""Datasets, samplers, and the loader that makes batches of them, under PyTorch's names."""

from ..core.wrong_arguments import explain_construction as _explain_construction
from .collate import default_collate as default_collate
from .collate import default_convert as default_convert
from .dataset import ConcatDataset as ConcatDataset
from .dataset import Dataset as Dataset
from .dataset import IterableDataset as IterableDataset
from .dataset import Subset as Subset
from .dataset import TensorDataset as TensorDataset
from .dataset import random_split as random_split
from .distributed_sampler import DistributedSampler as DistributedSampler
from .loader import DataLoader as DataLoader
from .sampler import BatchSampler as BatchSampler
from .sampler import RandomSampler as RandomSampler
from .sampler import Sampler as Sampler
from .sampler import SequentialSampler as SequentialSampler
from .sampler import SubsetRandomSampler as SubsetRandomSampler
from .sampler import WeightedRandomSampler as WeightedRandomSampler
from .workers import WorkerInfo as WorkerInfo
from .workers import get_worker_info as get_worker_info

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
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

_explain_construction(*(kind for kind in map(globals().get, __all__) if isinstance(kind, type)))
