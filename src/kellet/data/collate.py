"""Samples put together into a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import Tensor, from_numpy, stack, tensor


def default_collate(batch: Sequence[Any]) -> Any:
    """Put samples together: tensors, arrays and numbers into tensors with one more dimension in front.

    Dicts, named tuples, tuples and lists are put together part by part and keep their class where it can be
    made of its parts, but a tuple becomes a list; texts and bytes are left as they are. Floats become
    float64.

    Raises RuntimeError for sequences of different lengths, TypeError for samples of any other type.

    Source: torch.utils.data.default_collate.

    >>> kellet.data.default_collate([{"x": 1.0, "y": "a"}, {"x": 2.0, "y": "b"}])
    {'x': tensor([1., 2.], dtype=float64), 'y': ['a', 'b']}
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray | np.generic):
        return _of_arrays(batch)
    if isinstance(first, bool | int):
        return tensor(list(batch))
    if isinstance(first, float):
        return from_numpy(np.asarray(batch, np.float64))
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return _like(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, Sequence):
        return _of_sequences(batch)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(first)}; pass collate_fn="
    )


def default_convert(data: object) -> Any:
    """Make tensors of the arrays in one sample, a list of a tuple; everything else stays unchanged.

    Source: torch.utils.data.default_convert.

    >>> import numpy
    >>> kellet.data.default_convert({"x": numpy.ones(2), "y": "a"})
    {'x': tensor([1., 1.], dtype=float64), 'y': 'a'}
    """
    if isinstance(data, np.ndarray | np.generic):
        return data if np.asarray(data).dtype.kind in "SUO" else from_numpy(np.asarray(data))
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        parts = [default_convert(part) for part in data]
        return parts if isinstance(data, tuple) else _like(data, parts)  # as in PyTorch
    return data


def _of_arrays(batch: Sequence[Any]) -> Tensor:
    arrays = [np.asarray(sample) for sample in batch]
    if arrays[0].dtype.kind in "SUO":
        raise TypeError(
            f"default_collate: expected arrays of numbers; found {arrays[0].dtype}; pass collate_fn="
        )
    return stack([from_numpy(array) for array in arrays])


def _of_sequences(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if len({len(sample) for sample in batch}) > 1:
        raise RuntimeError(
            f"each element in list of batch should be of equal size; found {sorted({len(s) for s in batch})}"
        )
    parts = [default_collate(samples) for samples in zip(*batch, strict=True)]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*parts)
    # As in PyTorch: a tuple of one sample each becomes a list, other sequences keep their class.
    return parts if isinstance(first, tuple) else _like(first, parts)


def _like(original: Any, parts: Any) -> Any:
    """Return parts as an object of the class of the original, where that can be made of them."""
    if type(original) is type(parts):
        return parts
    try:
        return type(original)(parts)
    except TypeError:  # a class with other arguments, such as range
        return parts
