"""Operations of which one rank has the result, or the parts, under PyTorch's names: reduce, gather, scatter.

They are made of those of all ranks, and so send as much as these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .collectives import (
    _array_of,
    _as_numbers,
    _carried,
    _check_op,
    _check_parts,
    _described,
    _divide,
    _started,
    _write_back,
    _written,
    get_group_rank,
)
from .process_group import ProcessGroup, require_rank
from .reduction import ReduceOp
from .transport import Transport
from .work import Work
from .world import resolve_group


def reduce(
    tensor: object,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Put the tensors of all ranks together, as `all_reduce` does, and write the result to that of one rank.

    `dst` is its rank among all processes, `group_dst` that in the group; one of both has to be given. The
    tensors of the others stay as they are.

    Raises ValueError for a rank that is not in the group, and for none or two; DTypeError as `all_reduce`.

    Source: torch.distributed.reduce, which may leave anything in the tensors of the others.

    >>> import kellet.distributed as dist
    >>> x = kellet.ones(2)
    >>> dist.reduce(x, dst=0, group=dist.ProcessGroup(dist.AloneTransport()))
    >>> x
    tensor([1., 1.])
    """
    found = resolve_group(group)
    root = _root("reduce", found, "dst", dst, group_dst, default=None)
    array = _written(tensor) if found.rank() == root else _array_of(tensor)
    _check_op("reduce", array, op)

    def call(transport: Transport) -> list[Any]:
        flat = np.array(array, order="C").reshape(-1)
        transport.all_reduce(_as_numbers(flat), _carried(op))
        if transport.rank == root:
            _divide(flat, op, transport.size)
            _write_back(tensor, array, flat)
        return [tensor]

    return _started(found, f"reduce {op.name} {_described(array)} to {root}", call, async_op)


def gather(
    tensor: object,
    gather_list: Sequence[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Write the tensors of all ranks, which have one shape, to `gather_list` of one rank, in their order.

    That is rank 0, or `dst` among all processes, or `group_dst` in the group. It alone has a list.

    Raises ValueError for a rank that is not in the group, for two, for a list elsewhere and for none there;
    ShapeError and DTypeError as `all_gather`.

    Source: torch.distributed.gather.

    >>> import kellet.distributed as dist
    >>> found = [kellet.zeros(2)]
    >>> dist.gather(kellet.ones(2), found, group=dist.ProcessGroup(dist.AloneTransport()))
    >>> found
    [tensor([1., 1.])]
    """
    found = resolve_group(group)
    root = _root("gather", found, "dst", dst, group_dst, default=0)
    array = _array_of(tensor)
    outputs = _parts("gather", "gather_list", gather_list, found, root)
    targets = [_written(output) for output in outputs]
    if found.rank() == root:
        _check_parts("gather", targets, array, found.size())

    def call(transport: Transport) -> list[Any]:
        flat = np.ascontiguousarray(array).reshape(-1)
        gathered = np.empty(flat.size * transport.size, flat.dtype)
        transport.all_gather(gathered, flat)
        for output, target, part in zip(outputs, targets, gathered.reshape(transport.size, -1), strict=False):
            _write_back(output, target, part)
        return list(outputs)

    return _started(found, f"gather {_described(array)} to {root}", call, async_op)


def scatter(
    tensor: object,
    scatter_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Write to the tensor of each rank the one that stands at its place in `scatter_list` of one rank.

    That is rank 0, or `src` among all processes, or `group_src` in the group. It alone has a list.

    Raises ValueError for a rank that is not in the group, for two, for a list elsewhere and for none there;
    ShapeError where the list has another length than the group, or a tensor another shape; DTypeError for
    other dtypes.

    Source: torch.distributed.scatter.

    >>> import kellet.distributed as dist
    >>> mine = kellet.zeros(2)
    >>> dist.scatter(mine, [kellet.ones(2)], group=dist.ProcessGroup(dist.AloneTransport()))
    >>> mine
    tensor([1., 1.])
    """
    found = resolve_group(group)
    root = _root("scatter", found, "src", src, group_src, default=0)
    target = _written(tensor)
    inputs = [_array_of(each) for each in _parts("scatter", "scatter_list", scatter_list, found, root)]
    if found.rank() == root:
        _check_parts("scatter", inputs, target, found.size())

    def call(transport: Transport) -> list[Any]:
        flat = np.empty(transport.size * target.size, target.dtype)
        if transport.rank == root:
            np.stack(inputs, out=flat.reshape(transport.size, *target.shape))
        transport.broadcast(flat, root)
        _write_back(tensor, target, flat.reshape(transport.size, -1)[transport.rank])
        return [tensor]

    return _started(found, f"scatter {_described(target)} from {root}", call, async_op)


def _root(
    name: str,
    group: ProcessGroup,
    argument: str,
    rank: int | None,
    inside: int | None,
    *,
    default: int | None,
) -> int:
    """Return the rank in the group of the one that an operation is about."""
    if rank is None and inside is None and default is not None:
        return default
    if (rank is None) == (inside is None):
        raise ValueError(f"{name}: expected either {argument} or group_{argument}; found {rank} and {inside}")
    root = get_group_rank(group, rank) if rank is not None else inside
    assert root is not None
    require_rank(group, root)
    return root


def _parts(
    name: str, argument: str, given: Sequence[Any] | None, group: ProcessGroup, root: int
) -> list[Any]:
    """Return the list that the one rank has to give, and the others must not."""
    if (given is not None) != (group.rank() == root):
        has = "must not be given" if given is not None else "has to be given"
        raise ValueError(f"{name}: {argument} {has} on rank {group.rank()}; rank {root} alone has it")
    return list(given or ())
