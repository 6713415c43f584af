"""The part of a state dict that belongs to one submodule, as load hooks see it."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

__all__ = ["StateView"]


class StateView(MutableMapping[str, Any]):
    """A live view of the keys of `state` that start with `prefix`: what is changed here is changed there.

    Keys are whole, or (`stripped`) without the prefix. Setting a whole key that does not start
    with the prefix raises KeyError: it would belong to another module.

    >>> state = {"a.w": 1, "b.w": 2}
    >>> view = StateView(state, "a.", stripped=True)
    >>> view["bias"] = view.pop("w")
    >>> state
    {'b.w': 2, 'a.bias': 1}
    """

    __slots__ = ("_prefix", "_state", "_stripped")

    def __init__(self, state: MutableMapping[str, Any], prefix: str, *, stripped: bool) -> None:
        self._state = state
        self._prefix = prefix
        self._stripped = stripped

    def __getitem__(self, key: str) -> Any:
        return self._state[self._whole(key)]

    def __setitem__(self, key: str, value: Any) -> None:
        self._state[self._whole(key)] = value

    def __delitem__(self, key: str) -> None:
        del self._state[self._whole(key)]

    def __iter__(self) -> Iterator[str]:
        cut = len(self._prefix) if self._stripped else 0
        return (key[cut:] for key in self._state if key.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"StateView({dict(self)!r})"

    def _whole(self, key: str) -> str:
        if self._stripped:
            return self._prefix + key
        if not key.startswith(self._prefix):
            raise KeyError(f"{key!r} does not start with {self._prefix!r}, so it is not this module's to see")
        return key
