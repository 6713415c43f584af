"""Which values may be keys of dicts and members of sets where data brings no code.

A key is hashed, and compared with others. That must not run what a class defines in Python, unless the
class is one of those that are known to hash what they hold, and hold what can be hashed.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

_PLAIN: Final = frozenset({str, int, float, bool, bytes, complex, type(None)})
_KNOWN: Final = frozenset(
    {"fractions:Fraction", "torch:Tensor", "torch.nn.parameter:Parameter"}
    | {f"ipaddress:IPv{n}{kind}" for n in (4, 6) for kind in ("Address", "Network", "Interface")}
    | {f"kellet.core.{name}" for name in ("tensor:Tensor", "device:Device")}
    | {f"kellet.nn.parameter:{name}" for name in ("Parameter", "Buffer")}
    | {f"pathlib{part}:Pure{kind}Path" for part in ("", "._local") for kind in ("", "Posix", "Windows")}
)


def require_keys(values: Collection[Any], trusted: Collection[int] = ()) -> None:
    """Raise ValueError unless each value can be hashed and compared without running a class's own code.

    `trusted` are the ids of classes that the caller vouches for.

    >>> require_keys(["a", 1, (2.5, None), int])
    >>> require_keys([memoryview])
    >>> from pathlib import Path
    >>> require_keys([Path()])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: a key, or a member of a set, is an instance of pathlib...Path, whose own code would run
    """
    if set(map(type, values)) <= _PLAIN:
        return
    waiting, seen = list(values), set()
    while waiting:
        value = waiting.pop()
        cls = type(value)
        if cls in _PLAIN or id(value) in seen:
            continue
        seen.add(id(value))
        if issubclass(cls, tuple | frozenset):
            waiting += [*(tuple if issubclass(cls, tuple) else frozenset).__iter__(value)]
        if id(cls) not in trusted and not (_is_built_in(cls) or _is_known(value, cls)):
            raise ValueError(
                f"a key, or a member of a set, is an instance of {cls.__module__}.{cls.__qualname__}, "
                "whose own code would run"
            )


def _is_built_in(cls: type) -> bool:
    """Whether both methods are written in C, or those of `object`: they go by identity, or by value."""
    return all(
        isinstance(getattr(cls, name, None), types.WrapperDescriptorType) for name in ("__hash__", "__eq__")
    )


def _is_known(value: Any, cls: type) -> bool:
    if issubclass(cls, enum.Enum):
        return cls.__members__.get(value._name_) is value or type(value._value_) is int
    if cls is UUID:
        return type(getattr(value, "int", None)) is int
    return f"{cls.__module__}:{cls.__qualname__}" in _KNOWN
