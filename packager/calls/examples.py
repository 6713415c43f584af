"""Examples: what an object is called with when it is saved, and which of its methods is called."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Final

from packager.errors import ArgumentError

from .array_calls import POSITION, copied_input, signature_of
from .entry_methods import has_method
from .plain_values import stored_form

_BY_DEFAULT: Final = ("predict", "transform", "decision_function")
_WHAT_IS_STORED: Final = "arrays and tensors, numbers, text, bytes, None, and lists and dicts of plain values"


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


def default_method(obj: Any) -> str | None:
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


def can_be_called(obj: Any) -> bool:
    """Say whether an example can call an object without a name of a method.

    >>> can_be_called(print), can_be_called([3])
    (True, False)
    """
    return callable(obj) or default_method(obj) is not None


def inputs_of_example(example: Any, method: Any) -> dict[str, Any]:
    """Return the inputs of a call by name, as they are stored: an Example, or one argument by itself.

    They are copies. A positional argument stays one, as `arg0`: hooks before a call of a module may see no
    others. What an entry point takes has the names of the signature of `method`.

    Raises ArgumentError for a tuple that was meant as several arguments, and for what cannot be stored.

    >>> inputs_of_example(Example([1, 2], scale=3), None)
    {'arg0': [1, 2], 'scale': 3}
    """
    given = example if isinstance(example, Example) else Example(example)
    if given is not example and isinstance(example, tuple) and _fits_spread(example, method):
        raise ArgumentError(
            f"example= is one argument, and a tuple of {len(example)} is one, too, which "
            f"{getattr(method, '__name__', type(method).__name__)} does not take; give several as "
            "packager.Example(*args, **kwargs)"
        )
    inputs = {f"arg{index}": value for index, value in enumerate(given.args)}
    if clashing := [name for name in given.kwargs if POSITION.fullmatch(name)]:
        raise ArgumentError(f"example=: {clashing[0]!r} is how a check calls an argument by position")
    return {name: _stored(name, value) for name, value in (inputs | given.kwargs).items()}


def _fits_spread(example: tuple[Any, ...], method: Any) -> bool:
    """Say whether a call takes the items of a tuple, and not the tuple."""
    signature = signature_of(method)
    return signature is not None and not _takes(signature, (example,)) and _takes(signature, example)


def _takes(signature: inspect.Signature, args: tuple[Any, ...]) -> bool:
    try:
        signature.bind(*args)
    except TypeError:
        return False
    return True


def _stored(name: str, value: Any) -> Any:
    found = f"example=: argument {name} is a {type(value).__name__}"
    if hasattr(value, "to_numpy") and hasattr(value, "columns"):
        raise ArgumentError(
            f"{found}, and tables cannot be stored in a check: give example=frame.to_numpy(); where columns "
            "are looked up by name, save an object of your own whose method makes the table of arrays"
        )
    numpy: Any = sys.modules.get("numpy")
    if numpy and isinstance(value, numpy.ndarray) and type(value) not in (numpy.ndarray, numpy.memmap):
        raise ArgumentError(f"{found}, and a check stores plain arrays alone: give numpy.asarray(...) of it")
    try:
        return stored_form(name, copied_input(name, value))
    except Exception as error:  # a copy runs code of the value's class
        way_out = "give each array as an argument of its own: packager.Example(*args, **kwargs)"
        if not isinstance(value, list | tuple | dict):
            way_out = f"save an object of your own whose method makes the {type(value).__name__} of these"
        raise ArgumentError(f"{found}, and a check stores {_WHAT_IS_STORED}; {way_out}") from error
