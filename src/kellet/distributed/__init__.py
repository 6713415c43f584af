"""Several processes that train one model: groups, operations on arrays of all ranks, and data parallelism."""

from .process_group import ProcessGroup as ProcessGroup
from .reduce_op import ReduceOp as ReduceOp
from .transport import AloneTransport as AloneTransport
from .transport import Transport as Transport
from .work import Work as Work
from .world import destroy_process_group as destroy_process_group
from .world import get_rank as get_rank
from .world import get_world_size as get_world_size
from .world import group as group
from .world import init_process_group as init_process_group
from .world import is_initialized as is_initialized
from .world import new_group as new_group
