"""One model on all ranks: that it is the same, and that its values are those of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from ...autograd.variable import bump
from ...core import Tensor
from ...distributed import ProcessGroup, broadcast
from ...dtypes import dtype_name
from ...errors import RankMismatchError
from ...listing import first_of

AT_ONCE = 2**26
"""Bytes of values that are put together for one broadcast."""


def require_same_model(group: ProcessGroup, parameters: Sequence[tuple[str, Tensor]]) -> None:
    """Compare names, shapes, dtypes, order and number of the parameters of all ranks.

    Raises RankMismatchError, on all ranks, with the first difference of each to rank 0.
    """
    rows = [
        f"{name!r}, {dtype_name(each._array.dtype)} {each._array.shape}"
        + ("" if each.requires_grad else ", without gradient")
        for name, each in parameters
    ]
    found = [text.decode().splitlines() for text in group.all_gather_bytes("\n".join(rows).encode())]
    differences = [
        f"  rank {rank}, {_first_difference(theirs, found[0])}"
        for rank, theirs in enumerate(found)
        if theirs != found[0]
    ]
    if differences:
        raise RankMismatchError(
            f"DistributedDataParallel: the ranks have different models; rank 0 has {len(found[0])} "
            "parameters\n"
            + "\n".join(first_of(differences))
            + "\nBuild the module in the same way on every rank"
        ).holding(differences)


def send_values(group: ProcessGroup, tensors: Sequence[Tensor], src: int) -> None:
    """Write the values that one rank of the group has to the tensors of all, whatever their dtypes."""
    pending: list[Tensor] = []
    held = 0
    for tensor in tensors:
        pending.append(tensor)
        held += tensor._array.nbytes
        if held >= AT_ONCE:
            _send_together(group, pending, src)
            pending, held = [], 0
    if pending:
        _send_together(group, pending, src)


def _send_together(group: ProcessGroup, tensors: Sequence[Tensor], src: int) -> None:
    flat = [np.ascontiguousarray(tensor._array).reshape(-1).view(np.uint8) for tensor in tensors]
    together = np.concatenate(flat)
    broadcast(together, group=group, group_src=src)
    if group.rank() == src:
        return
    start = 0
    for tensor in tensors:
        end = start + tensor._array.nbytes
        values = together[start:end].view(tensor._array.dtype)
        tensor._array[...] = values.reshape(tensor._array.shape)
        bump(tensor)
        start = end


def _first_difference(theirs: Sequence[str], expected: Sequence[str]) -> str:
    number, (found, wanted) = next(
        (number, pair)
        for number, pair in enumerate(zip_longest(theirs, expected, fillvalue="nothing"))
        if pair[0] != pair[1]
    )
    return f"parameter {number} of {len(theirs)}: expected {wanted}; found {found}"
