"""Inputs and outputs as callers hold them: arrays, lists, dicts by name, and frames of pandas or polars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packager._archive import SchemaRecord
from packager._calls import CallError, ValueType, array_of, dtype_name, is_frame
from packager._tensors import DTYPES, numpy_dtype


def by_name(inputs: Any, schema: SchemaRecord | None) -> dict[str, Any]:
    """Return the inputs of a call by name: a dict has names, anything else is the first argument.

    Tensors become arrays: the call makes tensors of the model's library of them. The columns of a frame are
    arguments where the schema names them. Otherwise the frame is one array, or stays a frame where the schema
    asks for no array.

    >>> by_name([[1, 2]], None)
    {'arg0': [[1, 2]]}
    """
    if hasattr(inputs, "dtype"):
        return {"arg0": _without_library(inputs)}
    if isinstance(inputs, Mapping):
        return {name: _without_library(one) for name, one in inputs.items()}
    if not is_frame(inputs) or schema is None or not schema.takes:
        return {"arg0": inputs}
    types = {one.name: ValueType.parse(one.type) for one in schema.takes}
    required = {one.name for one in schema.takes if one.required}
    is_whole = types[schema.takes[0].name].kind == "table"
    if required and required <= set(inputs.columns) and not is_whole:
        return {name: _of_type(inputs[name], types.get(name)) for name in inputs.columns}
    return {"arg0": _of_type(inputs, types[schema.takes[0].name])}


def like(inputs: Any, parts: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """Return the outputs of a call in the form of its inputs, which were `given` by name.

    A dict gets all parts by name, a frame a frame with the same rows, a list plain values. Anything else gets
    the output itself, or a dict where there are several.

    Raises CallError for a frame if an output does not have one row for each of its rows.

    >>> import numpy
    >>> like([1, 2], {"output": numpy.array([3, 4])}, {}), like({"x": 1}, {"output": 2}, {})
    ([3, 4], {'output': 2})
    """
    if not hasattr(inputs, "dtype") and isinstance(inputs, Mapping):
        return dict(parts)
    found = _whole(parts)
    if is_frame(inputs):
        return _frame_like(inputs, found, given)
    if isinstance(inputs, list | tuple):
        return (
            {name: _plain(one) for name, one in found.items()} if isinstance(found, dict) else _plain(found)
        )
    return found


def _without_library(value: Any) -> Any:
    return array_of(value) if hasattr(value, "detach") else value


def _of_type(value: Any, expected: ValueType | None) -> Any:
    """Return a frame or a column as the schema has it: its numbers take the schema's dtype."""
    if expected is None or expected.kind in ("any", "dict", "table"):
        return value
    array = value.to_numpy()
    if expected.kind == "list":
        return array.reshape(len(array), -1)[:, 0].tolist() if array.size == len(array) else array
    import numpy

    if array.dtype.hasobject and expected.dtype == "text":
        return array.astype(str)
    if expected.dtype in DTYPES and dtype_name(array.dtype) in DTYPES:
        wanted = numpy_dtype(expected.dtype)
        if numpy.can_cast(array.dtype, wanted, "same_kind"):
            return array.astype(wanted, copy=False)
    return array


def _whole(parts: Mapping[str, Any]) -> Any:
    """Return the only output, or a list of plain values, whose items are parts; else all parts."""
    if [*parts] == ["output"]:
        return parts["output"]
    are_items = all(name == f"output.{number}" for number, name in enumerate(parts))
    if are_items and not any(hasattr(one, "dtype") and one.shape for one in parts.values()):
        return [_plain(one) for one in parts.values()]
    return dict(parts)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "dtype") else value


def _frame_like(frame: Any, found: Any, given: Mapping[str, Any]) -> Any:
    import numpy

    columns: dict[str, Any] = {}
    for name, value in (found if isinstance(found, dict) else {"output": found}).items():
        rows = numpy.asarray(value)
        if rows.shape[:1] != (len(frame),) or rows.ndim > 2:
            raise CallError(
                f"{name} has the shape {list(rows.shape)}, not one row for each of the {len(frame)} rows of "
                f"the frame. Pass arguments by name: predict({_spelt(given)})"
            )
        columns |= (
            {f"{name}.{n}": rows[:, n] for n in range(rows.shape[1])} if rows.ndim == 2 else {name: rows}
        )
    index = {"index": frame.index} if hasattr(frame, "index") else {}
    return type(frame)(columns, **index)


def _spelt(given: Mapping[str, Any]) -> str:
    """Return how the arguments that a frame gave are written by name."""
    name = next(iter(given))
    if len(given) > 1:
        return "{name: frame[name].to_numpy() for name in frame}"
    return f'{{"{name}": frame}}' if is_frame(given[name]) else f'{{"{name}": frame.to_numpy()}}'
