"""Sequences of different lengths: padded to the longest, or packed without padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import core
from ...core import Tensor, from_numpy
from ...core.wrong_arguments import explain_functions as _explain_functions

__all__ = [
    "PackedSequence",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence(NamedTuple):
    """Sequences without padding: the rows of all of them step by step, the longest sequence first.

    `data` has one row for each step of each sequence, `batch_sizes` says how many sequences have each step.
    `sorted_indices` and `unsorted_indices` lead to the order by length and back, where that is another one.
    Made by `pack_padded_sequence` and `pack_sequence`.

    Source: torch.nn.utils.rnn.PackedSequence.

    >>> kellet.nn.utils.rnn.pack_sequence([kellet.tensor([1, 2, 3]), kellet.tensor([4])]).data
    tensor([1, 4, 2, 3])
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a tensor (L, N, *), with `batch_first` (N, L, *), of sequences that have these lengths.

    With `enforce_sorted` the longest sequence stands first, and so on; without, they are sorted here.

    Raises RuntimeError for lengths that do not fit, are not positive, or are not sorted as they should be.

    Source: torch.nn.utils.rnn.pack_padded_sequence.

    >>> padded = kellet.tensor([[1, 4], [2, 0], [3, 0]])
    >>> packed = kellet.nn.utils.rnn.pack_padded_sequence(padded, [3, 1])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """
    counts = np.asarray(lengths.numpy() if isinstance(lengths, Tensor) else lengths, np.int64)
    steps = input.transpose(0, 1) if batch_first else input
    _check_lengths(counts, steps)
    order = back = None
    if not enforce_sorted:
        places = np.argsort(-counts, kind="stable")
        order, back = from_numpy(places), from_numpy(np.argsort(places, kind="stable"))
        steps, counts = steps.index_select(1, order), counts[places]
    elif (counts[1:] > counts[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True; pass "
            "enforce_sorted=False"
        )
    sizes, rows, columns = _packed_places(counts)
    return PackedSequence(steps[from_numpy(rows), from_numpy(columns)], from_numpy(sizes), order, back)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the sequences padded, (L, N, *) or with `batch_first` (N, L, *), and their lengths.

    L is the longest length, or `total_length`.

    Raises ValueError for a `total_length` below the longest.

    Source: torch.nn.utils.rnn.pad_packed_sequence.

    >>> packed = kellet.nn.utils.rnn.pack_sequence([kellet.tensor([1, 2, 3]), kellet.tensor([4])])
    >>> kellet.nn.utils.rnn.pad_packed_sequence(packed)[0].tolist()
    [[1, 4], [2, 0], [3, 0]]
    """
    sizes = sequence.batch_sizes.numpy()
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    counts = (sizes[:, None] > np.arange(sizes[0])).sum(0)
    _, rows, columns = _packed_places(counts)
    # Where each step of each sequence lies among the rows; a row of padding comes behind them.
    places = np.full((total_length or longest, int(sizes[0])), sequence.data.shape[0])
    places[rows, columns] = np.arange(len(rows))
    padding = core.full((1, *sequence.data.shape[1:]), padding_value, dtype=sequence.data.dtype)
    if sequence.unsorted_indices is not None:
        back = sequence.unsorted_indices.numpy()
        places, counts = places[:, back], counts[back]
    padded = core.cat([sequence.data, padding])[from_numpy(places.T.copy() if batch_first else places)]
    return padded, from_numpy(counts)


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Return sequences (L_i, *) as one tensor (L, N, *), with `batch_first` (N, L, *), padded to the longest.

    `padding_side` is "right" or "left".

    Raises ValueError for another side, and for no sequences.

    Source: torch.nn.utils.rnn.pad_sequence.

    >>> kellet.nn.utils.rnn.pad_sequence([kellet.tensor([1, 2]), kellet.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if padding_side not in ("right", "left"):
        raise ValueError(f"padding_side is {padding_side!r}; expected 'right' or 'left'")
    several = list(sequences)
    if not several:
        raise ValueError("found no sequences; expected at least one")
    longest = max(sequence.shape[0] for sequence in several)
    padded = []
    for sequence in several:
        shape = (longest - sequence.shape[0], *sequence.shape[1:])
        padding = core.full(shape, padding_value, dtype=sequence.dtype)
        padded.append(core.cat([sequence, padding] if padding_side == "right" else [padding, sequence]))
    return core.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded tensor, each as long as it was.

    Source: torch.nn.utils.rnn.unpad_sequence.

    >>> kellet.nn.utils.rnn.unpad_sequence(kellet.tensor([[1, 4], [2, 0]]), kellet.tensor([2, 1]))
    [tensor([1, 2]), tensor([4])]
    """
    steps = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [steps[place][:length] for place, length in enumerate(lengths.tolist())]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L_i, *), as `pack_padded_sequence` does.

    Raises RuntimeError for sequences that are empty, or not sorted as they should be.

    Source: torch.nn.utils.rnn.pack_sequence.

    >>> kellet.nn.utils.rnn.pack_sequence([kellet.tensor([1, 2]), kellet.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences that were packed, in the order that they had.

    Source: torch.nn.utils.rnn.unpack_sequence.

    >>> packed = kellet.nn.utils.rnn.pack_sequence([kellet.tensor([1, 2]), kellet.tensor([3])])
    >>> kellet.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def _check_lengths(counts: np.ndarray[Any, Any], steps: Tensor) -> None:
    if counts.ndim != 1 or len(counts) != steps.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {counts.shape} (batch_size="
            f"{steps.shape[1]})"
        )
    if not len(counts) or counts.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if counts.max() > steps.shape[0]:
        raise RuntimeError(f"found a length of {counts.max()}; expected at most {steps.shape[0]}, the steps")


def _packed_places(counts: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """Return how many sequences have each step, and step and sequence of each packed row."""
    sizes = (counts > np.arange(counts.max())[:, None]).sum(1)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    columns = np.concatenate([np.arange(size) for size in sizes])
    return sizes, rows, columns


_explain_functions(globals())
