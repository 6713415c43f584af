"""What an entry point may call: the object itself, what models are called by, or a method of stored code.

The name of the method stands in the manifest, so it is found in data. `write_bytes` of a stored path
writes a file: a name may lead to code of the archive, which its user has agreed to run, and else to
nothing but the few names under which models compute. It is looked up on classes, never on the object:
attributes of the object are data, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from packager.archive import EntryPoint
from packager.errors import PackageError
from packager.names import demangle

LISTED: Final = ("__call__", "forward", "predict", "predict_proba", "transform", "decision_function")
"""The methods that an entry point may name whatever defines them; no name is `__call__`."""

IsOwn = Callable[[type, Any], bool]
"""Says of a class, and of what it has under the name, whether code of the archive defines it."""


class EntryMethodError(PackageError, TypeError):
    """An entry point names what must not be called, or cannot be. Nothing was called."""


def require_entry_name(point: EntryPoint, names_code: Callable[[], bool]) -> None:
    """Check what can be known before the object is there.

    `names_code` says whether the stored object names code of the archive.

    Raises EntryMethodError for a name that begins with an underscore or is none at all, and for one
    that is not in LISTED where the object is data alone.
    """
    name = point.callable
    if name is None or name in LISTED:
        return
    if "." in name:
        raise _refused(
            point, f"{name!r} is a path, and one name is expected: save that part as an object of its own"
        )
    if name.startswith("_") or not name.isidentifier():
        raise _refused(point, f"{name!r} is not the name of a public method")
    if not names_code():
        raise _refused(point, f"{name!r} is a method of data alone: the object names no code of the archive")


def has_method(cls: type, name: str) -> bool:
    """Say whether a class has something under that name; nothing of it is computed.

    >>> has_method(list, "append"), has_method(list, "predict")
    (True, False)
    """
    return any(name in base.__dict__ for base in cls.__mro__)


def entry_method(point: EntryPoint, thing: Any, is_own: IsOwn) -> Any:
    """Return what is called for the entry point on `thing`; nothing of `thing` is called or computed.

    Raises EntryMethodError for what `require_entry_name` refuses, a method that its class does not
    have, that neither LISTED names nor code of the archive defines, that is no method, or that an
    attribute of the object hides.
    """
    name = point.callable
    require_entry_name(point, lambda: True)
    kind = f"a {demangle(type(thing).__module__)}.{type(thing).__qualname__}"
    if name is None or name == "__call__":
        if not callable(thing):
            raise _refused(point, f"the object is {kind}, which cannot be called{_to_name(type(thing))}")
        return thing
    owner = next((cls for cls in type(thing).__mro__ if name in cls.__dict__), None)
    if owner is None:
        raise _refused(point, f"the object is {kind}, and its class has no method {name!r}")
    value = owner.__dict__[name]
    if name not in LISTED and owner not in _own_classes(type(thing), value, is_own):
        raise _refused(point, f"the object is {kind}, and no code of the archive defines its {name!r}")
    if not _is_method(value):
        raise _refused(
            point, f"the object is {kind}, whose {name!r} is no method but a {type(value).__name__}"
        )
    if name in _attributes(thing):
        raise _refused(point, f"an attribute of the object hides the method {name!r} of its class")
    try:
        return value.__get__(thing, type(thing)) if hasattr(type(value), "__get__") else value
    except AttributeError as error:  # a method that is there under a condition, as scikit-learn has them
        raise _refused(point, f"the object is {kind}, and it has no {name!r} here: {error}") from error


def _to_name(cls: type) -> str:
    """Return how to name a method of LISTED that a class has; nothing where it has none."""
    there = [name for name in LISTED[1:] if has_method(cls, name)]
    return f"; it has {' and '.join(there)}: name one, callable={there[0]!r} (--callable)" if there else ""


def _own_classes(cls: type, value: Any, is_own: IsOwn) -> set[type]:
    """Return those of a class and its bases that the archive defines; not the bases of others."""
    found, work = set(), [cls]
    while work:
        current = work.pop()
        if current not in found and is_own(current, value):
            found.add(current)
            work += current.__bases__
    return found


def _is_method(value: Any) -> bool:
    """Say whether a value in a class is called as a method: a property or a slot gives out data."""
    if isinstance(value, property | cached_property) or hasattr(type(value), "__set__"):
        return False
    return callable(value) or hasattr(type(value), "__get__")


def _attributes(thing: Any) -> Any:
    try:
        return object.__getattribute__(thing, "__dict__")
    except AttributeError:  # only slots
        return {}


def _refused(point: EntryPoint, found: str) -> EntryMethodError:
    return EntryMethodError(
        f"entry point {point.name!r} of {point.package}/{point.resource}: {found}; an entry point calls the "
        f"object itself, {', '.join(LISTED[1:])}, or a public method of a class whose source is in the "
        "archive: save an object of such a class, or load the object and call it yourself"
    )
