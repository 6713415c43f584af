"""What an entry point may call: the object itself, what models are called by, or a method of stored code.

The name of the method stands in the manifest, so it is found in data. `write_bytes` of a stored path
writes a file: a name may lead to code of the archive, which its user has agreed to run, and else to
nothing but the few names under which models compute. It is looked up on classes, never on the object:
attributes of the object are data, too.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

from packager._archive import EntryPoint
from packager._names import demangle
from packager.errors import ArgumentError, PackageError

from .array_calls import POSITION, CallError, copied_input, signature_of
from .plain_values import stored_form

LISTED: Final = ("__call__", "forward", "predict", "predict_proba", "transform", "decision_function")
"""The methods that an entry point may name whatever defines them; no name is `__call__`."""

IsOwn = Callable[[type, Any], bool]
"""Says of a class, and of what it has under the name, whether code of the archive defines it."""


class EntryMethodError(PackageError, TypeError):
    """An entry point names a method that is missing or not allowed. Nothing was called."""


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
            point,
            f"{name!r} is a path; expected the name of one method. Save that part as an object of its own",
        )
    if name.startswith("_") or not name.isidentifier():
        raise _refused(
            point, f"{name!r} is not the name of a public method; expected one without an underscore"
        )
    if not names_code():
        raise _refused(
            point,
            f"the object is data, of which only {', '.join(LISTED[1:])} can be called, not "
            f"{name!r}{_BY_HAND}",
        )


def has_method(cls: type, name: str) -> bool:
    """Say whether a class has something under that name; nothing of it is computed.

    >>> has_method(list, "append"), has_method(list, "predict")
    (True, False)
    """
    return any(name in base.__dict__ for base in cls.__mro__)


def entry_method(point: EntryPoint, thing: object, is_own: IsOwn) -> Any:
    """Return what is called for the entry point on `thing`; nothing of `thing` is called or computed.

    Raises EntryMethodError for what `require_entry_name` refuses, a method that its class does not
    have, that neither LISTED names nor code of the archive defines, that is no method, or that an
    attribute of the object hides.
    """
    name = point.callable
    require_entry_name(point, lambda: True)
    kind = f"{demangle(type(thing).__module__)}.{type(thing).__qualname__}"
    if name is None or name == "__call__":
        if not callable(thing):
            raise _refused(point, f"{kind} cannot be called{_to_name(type(thing), is_own)}")
        return thing
    owner = next((cls for cls in type(thing).__mro__ if name in cls.__dict__), None)
    if owner is None:
        raise _refused(point, f"{kind} has no method {name!r}{_to_name(type(thing), is_own)}")
    value = owner.__dict__[name]
    if name not in LISTED and owner not in _own_classes(type(thing), value, is_own):
        raise _refused(
            point,
            f"{name!r} of {kind} is not defined by code of the archive; expected {', '.join(LISTED[1:])}, "
            f"or a method of a stored class{_BY_HAND}",
        )
    if not _is_method(value):
        raise _refused(
            point,
            f"{name!r} of {kind} is a {type(value).__name__}; expected a "
            f"method{_to_name(type(thing), is_own)}",
        )
    if name in _attributes(thing):
        raise _refused(
            point,
            f"the object has an attribute {name!r}, which hides the method of {kind}; rename the attribute",
        )
    try:
        return value.__get__(thing, type(thing)) if hasattr(type(value), "__get__") else value
    except AttributeError as error:  # a method that is there under a condition, as scikit-learn has them
        raise _refused(point, f"this {kind} has no {name!r}: {error}") from error


def _to_name(cls: type, is_own: IsOwn) -> str:
    """Return how to name a method of a class that may be called; else how to do without an entry point."""
    there = [name for name in LISTED[1:] if has_method(cls, name)]
    there += [
        name
        for base in cls.__mro__
        for name, value in vars(base).items()
        if not name.startswith("_") and _is_method(value) and base in _own_classes(cls, value, is_own)
    ]
    if not there:
        return _BY_HAND
    return f"; name a method in save() or run(): method={there[0]!r} (--callable {there[0]})"


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
    return EntryMethodError(f"entry point {point.name!r} of {point.package}/{point.resource}: {found}")


_BY_HAND: Final = "; load the object with PackageImporter.load_object(), and call it yourself"
_BY_DEFAULT: Final = ("predict", "transform", "decision_function")
_WHAT_IS_STORED: Final = (
    "arrays and tensors, DataFrames, numbers, text, bytes, None, and lists and dicts of plain values"
)


class Example:
    """The arguments of one call, by position and by name, for `example=`.

    >>> Example([1.0, 2.0], scale=3)
    Example([1.0, 2.0], scale=3)
    """

    __slots__ = ("args", "kwargs")

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"Example({', '.join(given)})"


def default_method(obj: object) -> str | None:
    """Return the name of the method that an example calls where none is named; None for the object itself.

    An object that cannot be called is called by the first that it has of `predict`, `transform` and
    `decision_function`. It is None, too, where it has none of these.

    >>> default_method(print) is None
    True
    """
    if callable(obj):
        return None
    # Of scikit-learn's methods some are there under a condition.
    there = (one for one in _BY_DEFAULT if has_method(type(obj), one) and callable(getattr(obj, one, None)))
    return next(there, None)


def can_be_called(obj: object) -> bool:
    """Say whether an example can call an object without a name of a method.

    >>> can_be_called(print), can_be_called([3])
    (True, False)
    """
    return callable(obj) or default_method(obj) is not None


def inputs_of_example(example: object, method: object) -> dict[str, Any]:
    """Return the inputs of a call by name, as they are stored: an Example, or one argument by itself.

    They are copies. A positional argument stays one, as `arg0`: hooks before a call of a module may see no
    others. What an entry point takes has the names of the signature of `method`.

    Raises ArgumentError for a tuple or list that was meant as several arguments, and for what cannot be
    stored.

    >>> inputs_of_example(Example([1, 2], scale=3), None)
    {'arg0': [1, 2], 'scale': 3}
    """
    given = example if isinstance(example, Example) else Example(example)
    if given is not example and isinstance(example, tuple | list) and _fits_spread(example, method):
        raise ArgumentError(
            f"example= is one argument, and {getattr(method, '__name__', type(method).__name__)} takes "
            f"several; write example=packager.Example({_names_of(method, len(example))})"
        )
    inputs = {f"arg{index}": value for index, value in enumerate(given.args)}
    if clashing := [name for name in given.kwargs if POSITION.fullmatch(name)]:
        raise ArgumentError(
            f"example=: {clashing[0]!r} is reserved for an argument by position; give it without a name"
        )
    return {name: _stored(name, value) for name, value in (inputs | given.kwargs).items()}


def _fits_spread(example: Sequence[Any], method: Any) -> bool:
    """Say whether a call takes the items of a tuple or list, and not the tuple or list."""
    signature = signature_of(method)
    return signature is not None and not _takes(signature, (example,)) and _takes(signature, example)


def _names_of(method: Any, count: int) -> str:
    """Return the names of the first parameters of what is called, as they stand in a call."""
    signature = signature_of(method)
    return ", ".join([] if signature is None else [*signature.parameters][:count])


def _takes(signature: inspect.Signature, args: Sequence[Any]) -> bool:
    try:
        signature.bind(*args)
    except TypeError:
        return False
    return True


def _copied(name: str, value: Any) -> Any:
    try:
        return copied_input(name, value)
    except CallError as error:
        raise ArgumentError(str(error)) from error


def _stored(name: str, value: Any) -> Any:
    found = f"example=: argument {name} is of type {type(value).__name__}"
    numpy: Any = sys.modules.get("numpy")
    if numpy and isinstance(value, numpy.ndarray) and type(value) not in (numpy.ndarray, numpy.memmap):
        raise ArgumentError(f"{found}; expected a plain array: write numpy.asarray(array)")
    if numpy and isinstance(value, numpy.ndarray) and value.dtype.hasobject:
        raise ArgumentError(
            f"{found} and of dtype object; write array.astype(str) for texts, array.astype(float) for numbers"
        )
    try:
        return stored_form(name, _copied(name, value))
    except ArgumentError as error:
        raise ArgumentError(f"example=: argument {name}: {error}") from error
    except Exception as error:  # a copy runs code of the value's class
        way_out = "give each array as an argument of its own: packager.Example(*args, **kwargs)"
        if not isinstance(value, list | tuple | dict):
            way_out = f"save a wrapper whose method takes one of these and makes the {type(value).__name__}"
        raise ArgumentError(f"{found}; expected {_WHAT_IS_STORED}. To go on, {way_out}") from error
