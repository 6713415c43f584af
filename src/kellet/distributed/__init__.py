"""Processes that work together: groups, operations on arrays of all ranks, and communication hooks.

The module whose gradients travel is `kellet.nn.parallel.DistributedDataParallel`.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ..absent import absent as _absent
from ..futures import Future as Future
from . import algorithms as algorithms
from .collectives import all_gather as all_gather
from .collectives import all_gather_into_tensor as all_gather_into_tensor
from .collectives import all_reduce as all_reduce
from .collectives import barrier as barrier
from .collectives import broadcast as broadcast
from .collectives import get_global_rank as get_global_rank
from .collectives import get_group_rank as get_group_rank
from .collectives import get_process_group_ranks as get_process_group_ranks
from .collectives import reduce_scatter as reduce_scatter
from .collectives import reduce_scatter_tensor as reduce_scatter_tensor
from .grad_bucket import GradBucket as GradBucket
from .mpi import MPITransport as MPITransport
from .process_group import ProcessGroup as ProcessGroup
from .reduction import ReduceOp as ReduceOp
from .rooted import gather as gather
from .rooted import reduce as reduce
from .rooted import scatter as scatter
from .transport import AloneTransport as AloneTransport
from .transport import Transport as Transport
from .work import Work as Work
from .world import GroupMember as GroupMember
from .world import destroy_process_group as destroy_process_group
from .world import get_rank as get_rank
from .world import get_world_size as get_world_size
from .world import group as group
from .world import init_process_group as init_process_group
from .world import is_available as is_available
from .world import is_initialized as is_initialized
from .world import is_mpi_available as is_mpi_available
from .world import new_group as new_group
from .world import new_subgroups as new_subgroups

__all__ = [
    "AloneTransport",
    "Future",
    "GradBucket",
    "GroupMember",
    "MPITransport",
    "ProcessGroup",
    "ReduceOp",
    "Transport",
    "Work",
    "algorithms",
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "barrier",
    "broadcast",
    "destroy_process_group",
    "gather",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_initialized",
    "is_mpi_available",
    "new_group",
    "new_subgroups",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
]

# A Module, and Modules stand above this room: imported when first used, as kellet does with its packages.
_ABOVE = {"DistributedDataParallel": ".nn.parallel"}

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        if name in _ABOVE:
            return getattr(_import_module(_ABOVE[name], __name__.rpartition(".")[0]), name)
        raise _absent("distributed", name)
