"""Modules that hold parameters, by position and by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from ..core import Tensor
from .module import Module
from .parameter import Parameter


class ParameterList(Module):
    """Parameters called "0", "1", ...; tensors become parameters, other values are kept as they are.

    Source: torch.nn.ParameterList.

    >>> weights = kellet.nn.ParameterList([kellet.ones(2), kellet.zeros(3)])
    >>> len(weights), weights[1].requires_grad
    (2, True)
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(self._size))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(self[position] for position in range(*index.indices(self._size)))
        return getattr(self, self._name_at(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name_at(index), _as_parameter(value))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: object) -> Self:
        """Add a value at the end; return the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end; return the list.

        Raises TypeError for a tensor, and for a value that cannot be iterated over.
        """
        if isinstance(values, Tensor) or not hasattr(values, "__iter__"):
            raise TypeError(f"ParameterList.extend takes an iterable of values, got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def pop(self, index: int = -1) -> Any:
        """Remove the value at `index` and return it."""
        values = list(self)
        value = values.pop(index)
        for position in range(self._size):
            delattr(self, str(position))
        self._size = 0
        self.extend(values)
        return value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({position}): {_described(value)}" for position, value in enumerate(self))

    def _name_at(self, index: int) -> str:
        position = index.__index__()
        if not -self._size <= position < self._size:
            raise IndexError(f"index {position} is out of range: there are {self._size} values")
        return str(position % self._size)


class ParameterDict(Module):
    """Parameters by name; tensors become parameters, other values are kept as they are.

    Made from a mapping or from pairs of name and value.

    Source: torch.nn.ParameterDict.

    >>> weights = kellet.nn.ParameterDict({"scale": kellet.ones(2)})
    >>> list(weights.keys()), weights["scale"].requires_grad
    (['scale'], True)
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def __getitem__(self, name: str) -> Any:
        if name not in self._keys:
            raise KeyError(name)
        return getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._keys and hasattr(self, name):
            raise KeyError(f"{name!r} is an attribute of ParameterDict itself, so it cannot be a name in it")
        setattr(self, name, _as_parameter(value))
        self._keys[name] = None

    def __delitem__(self, name: str) -> None:
        del self._keys[name]
        delattr(self, name)

    def keys(self) -> Iterator[str]:
        """Return the names."""
        return iter(self)

    def values(self) -> Iterator[Any]:
        """Return the parameters."""
        return (self[name] for name in self._keys)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return the pairs of name and parameter."""
        return ((name, self[name]) for name in self._keys)

    def get(self, name: str, default: object = None) -> Any:
        """Return the parameter called `name`, or `default`."""
        return self[name] if name in self._keys else default

    def pop(self, name: str) -> Any:
        """Remove the parameter called `name` and return it."""
        value = self[name]
        del self[name]
        return value

    def clear(self) -> None:
        """Remove every parameter."""
        for name in list(self._keys):
            del self[name]

    def popitem(self) -> tuple[str, Any]:
        """Remove the parameter that came last and return its name and it."""
        name, _ = self._keys.popitem()
        self._keys[name] = None
        return name, self.pop(name)

    def setdefault(self, name: str, default: object = None) -> Any:
        """Return the parameter called `name`, after adding `default` if the name is absent."""
        if name not in self._keys:
            self[name] = default
        return self[name]

    def copy(self) -> ParameterDict:
        """Return another dict of the same parameters."""
        return ParameterDict(list(self.items()))

    def fromkeys(self, names: Iterable[str], default: object = None) -> ParameterDict:
        """Return another dict with `default` under every name."""
        return ParameterDict([(name, default) for name in names])

    def __or__(self, other: ParameterDict) -> ParameterDict:
        copy = self.copy()
        copy.update(other)
        return copy

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def update(self, values: ParameterDict | Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Add parameters, in the place of those of the same names; a plain dict is sorted by name first.

        PyTorch sorts there too, and the states of optimisers go by the order of parameters.
        """
        if isinstance(values, ParameterDict | Mapping):
            pairs = list(values.items())
            if not isinstance(values, ParameterDict | OrderedDict):
                pairs.sort()
        else:
            pairs = list(values)
        for pair in pairs:
            name, value = pair
            self[name] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({name}): {_described(value)}" for name, value in self.items())


def _as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _described(value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"object of type {type(value).__name__}"
    size = "x".join(str(length) for length in value.shape)
    return f"{type(value).__name__} containing: [{value.dtype} of size {size}]"
