"""Objects as JSON and arrays, and back: tensors, numbers, texts, and containers of them; nothing that runs.

A number that is not an int or a float, and every container, is an object of one key, its kind:
`{"tuple": [1, {"tensor": "0", ...}]}`. Tensors are names of arrays; those that share all of their
memory share a name, and share memory again once loaded.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..core import Device, Tensor
from ..dtypes import as_dtype, dtype_name, is_differentiable
from ..errors import FileFormatError
from ..limits import Size
from ..nn import Buffer, Parameter, StateDict

Array = np.ndarray[Any, Any]

DEEPEST = 200
"""Containers in each other, at most."""

SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "Size": Size,
}
MAPPINGS: dict[str, Callable[[list[Any]], Any]] = {
    "dict": dict,
    "OrderedDict": OrderedDict,
    "Counter": lambda pairs: Counter(dict(pairs)),
    "defaultdict": lambda pairs: defaultdict(dict, pairs),
    "StateDict": StateDict,
}
TENSORS: dict[str, type[Any]] = {"Tensor": Tensor, "Parameter": Parameter, "Buffer": Buffer}


class Describing:
    """One object on its way into a file: its description, and the arrays by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._known: dict[Any, str] = {}
        self._around: list[int] = []

    def describe(self, value: Any, path: str) -> Any:
        """Return `value` as JSON; its arrays are kept under names like their paths.

        Raises TypeError for an object of another kind, ValueError for a container that contains itself.
        """
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, Variable):
            return self._tensor(value, path)
        if isinstance(value, np.ndarray):
            return {"array": self._named(value, path), "dtype": dtype_name(value.dtype)}
        if isinstance(value, np.generic):
            return {"number": self._named(np.asarray(value), path), "dtype": dtype_name(value.dtype)}
        kind = type(value).__name__
        if type(value) in (complex, bytes):
            return {kind: value.hex() if isinstance(value, bytes) else [value.real, value.imag]}
        if isinstance(value, np.dtype):
            return {"as_dtype": dtype_name(value)}
        if isinstance(value, Device):
            return {"device": "cpu"}
        if kind in MAPPINGS or kind in SEQUENCES:
            return self._container(value, kind, path)
        raise TypeError(
            f"save: cannot save {type(value).__module__}.{kind} at {path or 'the top'}: only tensors, "
            "arrays, numbers, texts and containers; save a state_dict(), or pack objects with packager"
        )

    def _container(self, value: Any, kind: str, path: str) -> Any:
        if id(value) in self._around or len(self._around) >= DEEPEST:
            raise ValueError(
                f"save: the container at {path or 'the top'} contains itself, or is nested "
                f"more than {DEEPEST} deep"
            )
        self._around.append(id(value))
        try:
            if kind in SEQUENCES:
                return {kind: [self.describe(one, f"{path}.{i}") for i, one in enumerate(value)]}
            pairs = [
                [self.describe(key, path), self.describe(one, f"{path}.{key}")] for key, one in value.items()
            ]
            if kind != "StateDict":
                return {kind: pairs}
            return {kind: pairs, "metadata": self.describe(value._metadata, f"{path}._metadata")}
        finally:
            self._around.pop()

    def _tensor(self, value: Any, path: str) -> Any:
        kind = type(value).__name__ if type(value).__name__ in TENSORS else "Tensor"
        found: dict[str, Any] = {
            "tensor": self._named(value._array, path),
            "dtype": dtype_name(value._array.dtype),
            "kind": kind,
        }
        if value.requires_grad:
            found["requires_grad"] = True
        if kind == "Buffer":
            found["persistent"] = value.persistent
        return found

    def _named(self, array: Array, path: str) -> str:
        if array.dtype.kind == "O" or array.dtype.names:
            raise TypeError(
                f"save: cannot save an array of {array.dtype} at {path or 'the top'}; only of numbers"
            )
        where = (array.ctypes.data if array.size else id(array), array.shape, array.strides, array.dtype)
        if where not in self._known:
            name = path.lstrip(".") or "tensor"
            while name in self.arrays or name == "__metadata__":
                name += "'"
            self.arrays[name] = array
            self._known[where] = name
        return self._known[where]


def restore(text: str, arrays: dict[str, Array]) -> Any:
    """Build the objects of a description. Raises FileFormatError for an invalid one."""
    try:
        return _Restoring(arrays).build(json.loads(text))
    except (RecursionError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"the saved objects cannot be built: {error}") from error


class _Restoring:
    """The way back: each kind by name, from a list that is closed."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self._arrays = arrays

    def build(self, node: Any) -> Any:
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if not isinstance(node, dict) or not node:
            raise FileFormatError(f"expected a value or an object with its kind, found {node!r}")
        kind = next(iter(node))
        value = node[kind]
        if kind in SEQUENCES:
            return SEQUENCES[kind]([self.build(one) for one in value])
        if kind in MAPPINGS:
            made = MAPPINGS[kind]([(self.build(key), self.build(one)) for key, one in value])
            if kind == "StateDict":
                made._metadata = self.build(node["metadata"])
            return made
        return self._single(kind, value, node)

    def _single(self, kind: str, value: Any, node: dict[str, Any]) -> Any:
        if kind == "tensor":
            return self._tensor(node)
        if kind == "array":
            return self._array(node, "array")
        if kind == "number":
            return self._array(node, "number")[()]
        if kind == "complex":
            return complex(*value)
        if kind == "bytes":
            return bytes.fromhex(value)
        if kind == "as_dtype":
            return as_dtype(str(value))
        if kind == "device":
            return Device(value)
        raise FileFormatError(f"there is no kind {kind!r}; the file may come from a newer kellet")

    def _array(self, node: dict[str, Any], key: str) -> Array:
        array, dtype = self._arrays[node[key]], as_dtype(str(node["dtype"]))
        if array.dtype != dtype:  # one that safetensors has no word for, kept as bytes
            array = array.view(dtype).reshape(array.shape[:-1])
        return array

    def _tensor(self, node: dict[str, Any]) -> Any:
        plain = wrap(self._array(node, "tensor"))
        requires_grad = node.get("requires_grad") is True and is_differentiable(plain._array.dtype)
        if node["kind"] == "Parameter":
            return Parameter(plain, requires_grad=requires_grad)  # type: ignore[arg-type]  # wrap makes Tensors
        if node["kind"] == "Buffer":
            return Buffer(plain, persistent=node.get("persistent") is True)  # type: ignore[arg-type]  # a Tensor
        if node["kind"] != "Tensor":
            raise FileFormatError(f"there is no kind of tensor {node['kind']!r}")
        return plain.requires_grad_(requires_grad)
