"""Errors that pickle and copy whole: with arguments, fields and notes, whatever their `__init__` takes."""

from __future__ import annotations

from _thread import get_ident
from types import MemberDescriptorType

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class PicklesWhole(BaseException):
    """An error or warning that another process gets as it was, and that copies as it is.

    Python makes an error anew by calling its class with `args`, which fails where `__init__` takes fields; a
    `multiprocessing.Pool` then waits for ever. Here the arguments and fields are put back by themselves. One
    that cannot be pickled (a module, a lock), or not be read where it arrives, arrives as a text that says
    so. The traceback, `__cause__` and `__context__` stay behind.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: _Part(value) for name, value in {**_members(self), **vars(self)}.items()}
        return _made_again, (type(self), tuple(map(_Part, self.args)), fields)


def _members(error: BaseException) -> dict[str, Any]:
    """Return the fields of an error that are not in its `__dict__`, as `errno` of an OSError."""
    found = {
        name: getattr(error, name)
        for kind in type(error).__mro__
        for name, member in vars(kind).items()
        if isinstance(member, MemberDescriptorType) and not name.startswith("__")
    }
    return {name: value for name, value in found.items() if value is not None}


def _made_again(kind: type[BaseException], args: tuple[Any, ...], fields: dict[str, Any]) -> BaseException:
    """Return an error of `kind` without calling its `__init__`. Parts are those of a copy in this process."""
    args = tuple(map(_value_of, args))
    base: Any = kind
    while base.__module__ != "builtins":
        base = base.__base__  # the one of several bases whose fields the object has room for
    error: BaseException = base.__new__(kind, *args)
    error.args = args  # an OSError with an `__init__` of its own begins without
    for name, value in fields.items():
        setattr(error, name, _value_of(value))
    return error


class _Part:
    """An argument or a field of an error: pickled by itself, so that one that cannot be spoils no other."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __deepcopy__(self, memo: dict[int, Any]) -> _Part:
        import copy

        try:
            return _Part(self._once(lambda: copy.deepcopy(self.value, memo)))
        except Exception:  # shared then, as copy.copy shares it
            return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        import pickle

        what = f"{type(self.value).__module__}.{type(self.value).__qualname__}"
        try:
            return _read, (what, self._once(lambda: pickle.dumps(self.value, protocol)))
        except Exception as error:
            return _lost, (what, str(error))

    def _once(self, made: Callable[[], Any]) -> Any:
        """Return what is made of the value. Raises RecursionError where that leads to the value again."""
        key = get_ident(), id(self.value)
        if key in _UNDER_WAY:
            raise RecursionError("it holds itself")
        _UNDER_WAY.add(key)
        try:
            return made()
        finally:
            _UNDER_WAY.remove(key)


_UNDER_WAY: set[tuple[int, int]] = set()
"""Values that are being pickled or copied, by thread: a pickle within another one sees no circle."""


def _value_of(part: Any) -> Any:
    return part.value if isinstance(part, _Part) else part


def _read(what: str, data: bytes) -> Any:
    import pickle

    try:
        return pickle.loads(data)
    except Exception as error:
        return _lost(what, str(error))


def _lost(what: str, why: str) -> str:
    return f"<{what}, which could not be sent: {why}>"
