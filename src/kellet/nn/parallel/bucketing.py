"""Which gradients travel together: parameters put into buckets, in the order in which gradients come."""

from __future__ import annotations

from collections.abc import Sequence

from ...core import Tensor

FIRST_BUCKET_BYTES = 2**20
"""The first bucket is small, so that something is under way early."""


def assign_buckets(parameters: Sequence[Tensor], order: Sequence[int], cap_bytes: int) -> list[list[int]]:
    """Put parameters, by their numbers in `order`, into buckets of one dtype; return these in sending order.

    A bucket is full with the parameter that brings it to `cap_bytes`, the first one to FIRST_BUCKET_BYTES
    where that is less. A bucket comes where its last parameter comes in `order`.

    Source: PyTorch Distributed: Experiences on Accelerating Data Parallel Training (Li et al., VLDB 2020),
    section 3.2.3.

    >>> import kellet
    >>> assign_buckets([kellet.zeros(4), kellet.zeros(4), kellet.zeros(1)], [2, 1, 0], cap_bytes=20)
    [[2, 1], [0]]
    """
    full: list[tuple[int, list[int]]] = []  # with the place of the last parameter
    open_ones: dict[object, tuple[int, int, list[int]]] = {}
    for place, number in enumerate(order):
        array = parameters[number]._array
        _, held, numbers = open_ones.pop(array.dtype, (0, 0, []))
        held, numbers = held + array.nbytes, [*numbers, number]
        if held >= (cap_bytes if full else min(cap_bytes, FIRST_BUCKET_BYTES)):
            full.append((place, numbers))
        else:
            open_ones[array.dtype] = (place, held, numbers)
    full += [(place, numbers) for place, _, numbers in open_ones.values()]
    return [numbers for _, numbers in sorted(full)]
