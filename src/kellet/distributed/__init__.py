"""Processes that work together: groups, operations on arrays of all ranks, and communication hooks.

The module whose gradients travel is `kellet.nn.parallel.DistributedDataParallel`.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ..absent import absent as _absent
from ..futures import Future as Future
from ..public_names import functions_of
from . import algorithms as algorithms
from .grad_bucket import GradBucket as GradBucket
from .mpi import MPITransport as MPITransport
from .process_group import ProcessGroup as ProcessGroup
from .reduction import ReduceOp as ReduceOp
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

if TYPE_CHECKING:
    from .collectives import *
    from .rooted import *
else:
    _functions = functions_of(__name__, "collectives rooted")
    globals().update(_functions)
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
        "destroy_process_group",
        "get_rank",
        "get_world_size",
        "group",
        "init_process_group",
        "is_available",
        "is_initialized",
        "is_mpi_available",
        "new_group",
        "new_subgroups",
        *_functions,
    ]

# A Module, and Modules stand above this room: imported when first used, as kellet does with its packages.
_ABOVE = {"DistributedDataParallel": ".nn.parallel"}

if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        if name in _ABOVE:
            return getattr(_import_module(_ABOVE[name], __name__.rpartition(".")[0]), name)
        raise _absent("distributed", name)
