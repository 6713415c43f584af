"""Operations on tensors of all ranks of a group, under PyTorch's names.

Each takes tensors or NumPy arrays. They are sent as they lie in memory; one that is not contiguous is copied
first. Operations write their results in place, and no graph records it. With `async_op=True` it
returns a `Work` at once, and the tensors must not be touched before that is done; without, it returns when
this rank's part is done.

Besides what each one says, all raise RankMismatchError, on every rank, where the ranks do not call the same
operation with equal shapes and dtypes, and RankFailedError or CollectiveTimeoutError where another rank does
not come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd import Variable
from ..autograd.variable import bump
from ..dtypes import dtype_name, is_differentiable
from ..errors import DTypeError, ShapeError
from .process_group import ProcessGroup, require_rank
from .reduction import ReduceOp
from .transport import Array, Transport
from .work import Work
from .world import resolve_group

_BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def all_reduce(
    tensor: object, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Put the tensors of all ranks together, element by element, and write the result to each of them.

    All ranks get the same bits. Dtypes of 16 bits and fewer are added up in float32 and rounded once.

    Raises DTypeError for an operation that the dtype does not have: AVG of integers, SUM of bools, MAX of
    complex numbers, BAND of floats.

    Source: torch.distributed.all_reduce.

    >>> import kellet.distributed as dist
    >>> dist.init_process_group()
    >>> x = kellet.tensor([1.0, 2.0])
    >>> dist.all_reduce(x, dist.ReduceOp.SUM)
    >>> x  # of one rank
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    found = resolve_group(group)
    array = _written(tensor)
    _check_op("all_reduce", array, op)

    def call(transport: Transport) -> list[Any]:
        flat = np.ascontiguousarray(array).reshape(-1)
        transport.all_reduce(_as_numbers(flat), _carried(op))
        _divide(flat, op, transport.size)
        _write_back(tensor, array, flat)
        return [tensor]

    return _started(found, f"all_reduce {op.name} {_described(array)}", call, async_op)


def broadcast(
    tensor: object,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    group_src: int | None = None,
) -> Work | None:
    """Write the tensor of one rank to that of every other one.

    `src` is its rank among all processes, `group_src` that in the group; one of both has to be given.

    Raises ValueError for a rank that is not in the group, and for none or two.

    Source: torch.distributed.broadcast.

    >>> import kellet.distributed as dist
    >>> x = kellet.ones(2)
    >>> dist.broadcast(x, src=0, group=dist.ProcessGroup(dist.AloneTransport()))
    >>> x
    tensor([1., 1.])
    """
    found = resolve_group(group)
    if (src is None) == (group_src is None):
        raise ValueError(f"broadcast: expected either src or group_src; found {src} and {group_src}")
    root = get_group_rank(found, src) if src is not None else group_src
    assert root is not None
    require_rank(found, root)
    array = _written(tensor) if found.rank() != root else _array_of(tensor)

    def call(transport: Transport) -> list[Any]:
        flat = np.ascontiguousarray(array).reshape(-1)
        transport.broadcast(flat, root)
        if transport.rank != root:
            _write_back(tensor, array, flat)
        return [tensor]

    return _started(found, f"broadcast {_described(array)} from {root}", call, async_op)


def all_gather(
    tensor_list: Sequence[Any], tensor: object, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks, which have one shape, to `tensor_list`, in the order of ranks.

    Raises ShapeError where the list has another length than the group, or a tensor another shape; DTypeError
    for other dtypes.

    Source: torch.distributed.all_gather.

    >>> import kellet.distributed as dist
    >>> dist.init_process_group()
    >>> found = [kellet.zeros(2)]
    >>> dist.all_gather(found, kellet.tensor([1.0, 2.0]))
    >>> found
    [tensor([1., 2.])]
    >>> dist.destroy_process_group()
    """
    found = resolve_group(group)
    array = _array_of(tensor)
    outputs = [_written(output) for output in tensor_list]
    _check_parts("all_gather", outputs, array, found.size())

    def call(transport: Transport) -> list[Any]:
        flat = np.ascontiguousarray(array).reshape(-1)
        gathered = np.empty(flat.size * transport.size, flat.dtype)
        transport.all_gather(gathered, flat)
        for output, target, part in zip(
            tensor_list, outputs, gathered.reshape(transport.size, -1), strict=True
        ):
            _write_back(output, target, part)
        return list(tensor_list)

    return _started(found, f"all_gather {_described(array)}", call, async_op)


def all_gather_into_tensor(
    output_tensor: object, input_tensor: object, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks to one, one after another along its first axis, or along a new one.

    Raises ShapeError where `output_tensor` has neither of these shapes, DTypeError for another dtype.

    Source: torch.distributed.all_gather_into_tensor.

    >>> import kellet.distributed as dist
    >>> rows = kellet.zeros(1, 2)  # of one rank
    >>> alone = dist.ProcessGroup(dist.AloneTransport())
    >>> dist.all_gather_into_tensor(rows, kellet.ones(2), group=alone)
    >>> rows
    tensor([[1., 1.]])
    """
    found = resolve_group(group)
    array, target = _array_of(input_tensor), _written(output_tensor)
    _check_whole("all_gather_into_tensor", target, array, found.size())

    def call(transport: Transport) -> list[Any]:
        whole = np.ascontiguousarray(target).reshape(-1)
        transport.all_gather(whole, np.ascontiguousarray(array).reshape(-1))
        _write_back(output_tensor, target, whole)
        return [output_tensor]

    return _started(found, f"all_gather_into_tensor {_described(array)}", call, async_op)


def reduce_scatter(
    output: object,
    input_list: Sequence[Any],
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Put the lists of all ranks together, element by element, and write the entry of this rank to `output`.

    Raises ShapeError where the list has another length than the group, or a tensor another shape; DTypeError
    for other dtypes and for an operation that the dtype does not have.

    Source: torch.distributed.reduce_scatter.

    >>> import kellet.distributed as dist
    >>> mine = kellet.zeros(2)
    >>> dist.reduce_scatter(mine, [kellet.ones(2)], group=dist.ProcessGroup(dist.AloneTransport()))
    >>> mine
    tensor([1., 1.])
    """
    found = resolve_group(group)
    target = _written(output)
    inputs = [_array_of(each) for each in input_list]
    _check_parts("reduce_scatter", inputs, target, found.size())
    return _reduce_scatter("reduce_scatter", output, target, lambda: np.stack(inputs), op, found, async_op)


def reduce_scatter_tensor(
    output: object,
    input: object,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Put the tensors of all ranks together, element by element, and write this rank's part to `output`.

    The parts lie one after another along the first axis of `input`, or along one more than `output` has.

    Raises ShapeError where `input` has neither of these shapes; DTypeError for other dtypes and for an
    operation that the dtype does not have.

    Source: torch.distributed.reduce_scatter_tensor.

    >>> import kellet.distributed as dist
    >>> dist.init_process_group()
    >>> mine = kellet.zeros(2)
    >>> dist.reduce_scatter_tensor(mine, kellet.tensor([1.0, 2.0]))
    >>> mine  # of one rank
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    found = resolve_group(group)
    target, whole = _written(output), _array_of(input)
    _check_whole("reduce_scatter_tensor", whole, target, found.size())
    return _reduce_scatter("reduce_scatter_tensor", output, target, lambda: whole, op, found, async_op)


def barrier(group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Wait until every rank is here.

    Source: torch.distributed.barrier.

    >>> import kellet.distributed as dist
    >>> dist.barrier(dist.ProcessGroup(dist.AloneTransport()))
    """
    return _started(resolve_group(group), "barrier", lambda transport: [], async_op)


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """Return the ranks, among all processes, of the members of a group in their order.

    Source: torch.distributed.get_process_group_ranks.

    >>> import kellet.distributed as dist
    >>> dist.get_process_group_ranks(dist.ProcessGroup(dist.AloneTransport()))
    [0]
    """
    return list(resolve_group(group).ranks)


def get_global_rank(group: ProcessGroup | None, group_rank: int) -> int:
    """Return the rank among all processes of one that has `group_rank` in the group.

    Raises ValueError for a rank that the group does not have.

    Source: torch.distributed.get_global_rank.

    >>> import kellet.distributed as dist
    >>> dist.get_global_rank(dist.ProcessGroup(dist.AloneTransport(), ranks=[3]), 0)
    3
    """
    found = resolve_group(group)
    require_rank(found, group_rank)
    return found.ranks[group_rank]


def get_group_rank(group: ProcessGroup | None, global_rank: int) -> int:
    """Return the rank in the group of one that has `global_rank` among all processes.

    Raises ValueError for one that is not in the group.

    Source: torch.distributed.get_group_rank.

    >>> import kellet.distributed as dist
    >>> dist.get_group_rank(dist.ProcessGroup(dist.AloneTransport(), ranks=[3]), 3)
    0
    """
    found = resolve_group(group)
    if global_rank not in found.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group; it has {list(found.ranks)}")
    return found.ranks.index(global_rank)


# --- what they share ---------------------------------------------------------------------------------


def _started(
    group: ProcessGroup, description: str, call: Callable[[Transport], list[Any]], async_op: bool
) -> Work | None:
    work = group.start(description, call)
    if async_op:
        return work
    work.wait()
    return None


def _reduce_scatter(
    name: str,
    output: Any,
    target: Array,
    whole: Callable[[], Array],
    op: ReduceOp,
    group: ProcessGroup,
    async_op: bool,
) -> Work | None:
    _check_op(name, target, op)

    def call(transport: Transport) -> list[Any]:
        mine = np.empty(target.size, target.dtype)
        flat = np.ascontiguousarray(whole()).reshape(-1)
        transport.reduce_scatter(_as_numbers(mine), _as_numbers(flat), _carried(op))
        _divide(mine, op, transport.size)
        _write_back(output, target, mine)
        return [output]

    return _started(group, f"{name} {op.name} {_described(target)}", call, async_op)


def _array_of(tensor: Any) -> Array:
    if isinstance(tensor, Variable):
        return tensor._array
    if isinstance(tensor, np.ndarray):
        return tensor
    raise TypeError(f"expected a kellet.Tensor or a numpy.ndarray, got {type(tensor).__name__}")


def _written(tensor: Any) -> Array:
    array = _array_of(tensor)
    if not array.flags.writeable:
        raise ValueError("the result would be written to an array that is read-only; pass a copy of it")
    return array


def _write_back(tensor: Any, array: Array, flat: Array) -> None:
    """Bring a result to the array that was asked for, and tell the graph that it has changed."""
    if not np.shares_memory(array, flat):
        array[...] = flat.reshape(array.shape)
    if isinstance(tensor, Variable):
        bump(tensor)


def _described(array: Array) -> str:
    return f"{dtype_name(array.dtype)} {array.shape}"


def _as_numbers(flat: Array) -> Array:
    """Bools as bytes of 0 and 1: whatever operation they have is that of the bytes."""
    return flat.view(np.uint8) if flat.dtype.kind == "b" else flat


def _carried(op: ReduceOp) -> ReduceOp:
    return ReduceOp.SUM if op is ReduceOp.AVG else op


def _divide(flat: Array, op: ReduceOp, size: int) -> None:
    if op is ReduceOp.AVG:
        np.divide(flat, flat.dtype.type(size), out=flat)


def _check_op(name: str, array: Array, op: ReduceOp) -> None:
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{name}: expected op to be a ReduceOp, got {type(op).__name__}")
    kind = array.dtype.kind
    wrong = (
        (op in _BITWISE and kind not in "biu")
        or (op in (ReduceOp.MIN, ReduceOp.MAX) and kind == "c")
        or (op in (ReduceOp.SUM, ReduceOp.PRODUCT) and kind == "b")
        or (op is ReduceOp.AVG and not is_differentiable(array.dtype))
    )
    if wrong:
        raise DTypeError(
            f"{name}: {dtype_name(array.dtype)} has no ReduceOp.{op.name}; convert the tensor, or take "
            "another op"
        )


def _check_parts(name: str, parts: Sequence[Array], one: Array, size: int) -> None:
    if len(parts) != size:
        raise ShapeError(f"{name}: expected a list of {size} tensors, one for each rank; found {len(parts)}")
    for place, part in enumerate(parts):
        if part.shape != one.shape:
            raise ShapeError(
                f"{name}: tensor {place} of the list has shape {part.shape}, expected {one.shape}"
            )
        _check_dtypes(name, part, one)


def _check_whole(name: str, whole: Array, part: Array, size: int) -> None:
    joined = (size * part.shape[0], *part.shape[1:]) if part.ndim else (size,)
    if whole.shape not in (joined, (size, *part.shape)):
        raise ShapeError(
            f"{name}: for {size} parts of shape {part.shape} expected a tensor of shape {joined} or "
            f"{(size, *part.shape)}; found {whole.shape}, of {math.prod(whole.shape)} elements"
        )
    _check_dtypes(name, whole, part)


def _check_dtypes(name: str, found: Array, expected: Array) -> None:
    if found.dtype != expected.dtype:
        raise DTypeError(
            f"{name}: expected tensors of one dtype; found {dtype_name(found.dtype)} and "
            f"{dtype_name(expected.dtype)}"
        )
