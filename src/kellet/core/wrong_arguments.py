"""Errors for wrong arguments of public functions, which name the function and the argument.

Nothing is checked beforehand, so that usual calls cost next to nothing: when a function fails, its arguments
are held against its annotations, and the first one that does not fit is named. So what a function takes
stands once, where the type checker reads it too.
"""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from ..autograd import Variable
from ..errors import KelletError
from .axes import axis_of
from .not_tensors import wanted_tensor

# Failures of Python and NumPy over a value of another kind; ours say what they are about.
_OF_WRONG_KINDS = (AttributeError, TypeError, IndexError, KeyError, ZeroDivisionError, ValueError)

_RAISE = dis.opmap["RAISE_VARARGS"]

# What inner functions and the readers of axes and shapes say is told anew by the name that was called.
_RETOLD = frozenset({__file__, axis_of.__code__.co_filename})


def explaining(functions: Mapping[str, FunctionType], home: str) -> dict[str, Any]:
    """Return the functions so that a wrong argument is a TypeError that names it; `home` offers them.

    A method that is offered as a function takes its tensor as `input=` too, as in PyTorch.

    >>> kellet.nn.functional.leaky_relu(kellet.ones(2), "steep")
    Traceback (most recent call last):
    TypeError: leaky_relu, argument 'negative_slope': expected a number, got str 'steep'
    """
    renamed = (
        {} if home == "kellet.nn.functional" else NUMPYS
    )  # PyTorch wrote those in Python, which renames none
    made = {name: _explaining(function, name, renamed) for name, function in functions.items()}
    for name, call in made.items():  # so that they can be stored by the names that they are found by
        call.__module__, call.__qualname__ = home, name
    return made


def explain_functions(names: dict[str, Any]) -> None:
    """Do the same for the public functions that a file, with the names `names`, defines.

    >>> kellet.nn.init.zeros_([1.0])
    Traceback (most recent call last):
    TypeError: zeros_, argument 'tensor': expected a tensor, got list; make it one with kellet.tensor(...)
    """
    home = names["__name__"]
    for name, value in [*names.items()]:
        if isinstance(value, FunctionType) and value.__module__ == home and not name.startswith("_"):
            names[name] = _explaining(value, name)


def explain_methods(cls: type) -> None:
    """Do the same for the methods of `cls` that require arguments, or take tensors or an axis.

    Each then has a name of `cls`, also where a base defines it.

    Arithmetic is left alone: it has errors of its own for wrong operands, and must stay fast.

    >>> kellet.ones(2).dot([1.0, 2.0])
    Traceback (most recent call last):
    TypeError: dot, argument 'tensor': expected a tensor, got list; make it one with kellet.tensor(...)
    """
    kinds = [kind for kind in reversed(cls.__mro__) if kind.__name__ != "Arithmetic"]
    for name, method in {name: value for kind in kinds for name, value in vars(kind).items()}.items():
        if isinstance(method, FunctionType) and name[0] != "_" and _takes_something(method):
            setattr(cls, name, _explaining(method, name, NUMPYS))
    for kind in cls.__mro__:
        for name, method in vars(kind).items():
            if isinstance(method, FunctionType) and method.__module__.startswith(__package__):
                method.__qualname__ = f"{cls.__name__}.{name}"


def explain_construction(*classes: type) -> None:
    """Do the same for the `__init__` of classes, their own or inherited.

    >>> kellet.nn.Linear(3, "four")
    Traceback (most recent call last):
    TypeError: Linear, argument 'out_features': expected an integer, got str 'four'
    """
    for cls in classes:
        made = cls.__init__  # type: ignore[misc]  # of the class, whatever it is
        if isinstance(made, FunctionType) and not hasattr(made, "__wrapped__"):
            owner = next(kind for kind in cls.__mro__ if "__init__" in vars(kind))
            owner.__init__ = _explaining_construction(made)  # type: ignore[misc]  # the same, but for errors


def _takes_something(method: FunctionType) -> bool:
    """Whether the method has an argument that has to be given, is an axis, or may be a tensor."""
    if "dim" in method.__annotations__ or method.__code__.co_argcount - len(method.__defaults__ or ()) > 1:
        return True
    kinds = method.__annotations__
    return any("Tensor" in str(kind) for name, kind in kinds.items() if name != "return")


NUMPYS = {"axis": "dim", "keepdims": "keepdim"}
"""NumPy's names of arguments, which PyTorch's own functions take beside theirs."""


def _explaining(function: FunctionType, name: str, renamed: Mapping[str, str] = MappingProxyType({})) -> Any:
    own = function.__code__.co_varnames[:1] == ("self",)
    takes = frozenset(function.__annotations__)
    wrong_kinds, explain = _OF_WRONG_KINDS, explanation

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if own and "input" in kwargs:
            args = (kwargs.pop("input"), *args)
        try:
            return function(*args, **kwargs)
        except wrong_kinds as error:
            if other := {one for one in kwargs if renamed.get(one) in takes - kwargs.keys()}:
                return call(*args, **{renamed[one] if one in other else one: kwargs[one] for one in kwargs})
            wrong = explain(name, function, error, args, kwargs)
            if wrong is None:
                raise
            raise wrong from error

    # With the names of the function's file, where examples are looked for and run.
    bare: Any = call
    made = FunctionType(bare.__code__, function.__globals__, name, None, bare.__closure__)
    return functools.update_wrapper(made, function)


def _explaining_construction(function: FunctionType) -> Any:
    @functools.wraps(function)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            function(self, *args, **kwargs)
        except _OF_WRONG_KINDS as error:
            wrong = explanation(type(self).__name__, function, error, (self, *args), kwargs, own="Any")
            if wrong is None:
                raise
            raise wrong from error

    return __init__


def explanation(
    where: str,
    function: FunctionType,
    error: Exception,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    own: str = "Tensor",
) -> TypeError | None:
    """Return what to raise instead of `error`: arguments too many, missing or of another kind; or None.

    `own` is the kind of the argument `self`.
    """
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as mismatch:
        return TypeError(f"{where}: {_renamed(str(mismatch))}; it takes {_names(signature, own)}")
    raised = _raised_in(error)
    in_words = raised and raised not in _RETOLD and not isinstance(error, AttributeError)
    if in_words and not (isinstance(error, KelletError) and error.__cause__):
        return None  # it says what it is about
    # A value that is out of bounds is of the right kind; an axis that NumPy does not know may not be.
    bounds = isinstance(error, ValueError) and not isinstance(error, IndexError)
    for name, value in given.items():
        parameter = signature.parameters[name]
        wanted = own if name == "self" else str(parameter.annotation)
        if bounds and "Tensor" not in wanted:
            continue
        for one in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
            if not _fits(one, wanted, function.__globals__):
                return _unfit(f"{where}, argument {_renamed(repr(name))}", one, wanted)
    if type(error) is TypeError and raised != __file__:
        return TypeError(f"{where}: {error}; it takes {_names(signature, own)}")
    return None


def _raised_in(error: Exception) -> str:
    """The file whose `raise` the error comes from; nothing where Python or NumPy ran into it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_code[trace.tb_lasti] != _RAISE:
        return ""
    return trace.tb_frame.f_code.co_filename


def _renamed(text: str) -> str:
    return text.replace("'self'", "'input'")


def _names(signature: inspect.Signature, own: str) -> str:
    """The parameters and their defaults, without annotations."""
    shown = [one for one in signature.parameters.values() if one.name != "self" or own == "Tensor"]
    plain = [one.replace(annotation=one.empty) for one in shown]
    text = str(signature.replace(parameters=plain, return_annotation=signature.empty))
    return text.replace("(self", "(input", 1)


def _unfit(where: str, value: Any, wanted: str) -> TypeError:
    kinds = _either(wanted)
    if not _OF_TENSORS.isdisjoint(kinds) and isinstance(value, list | tuple):
        wrong = [(place, one) for place, one in enumerate(value) if not isinstance(one, Variable)]
        return wanted_tensor(f"{where}, value {wrong[0][0]}", wrong[0][1])
    if "Tensor" in kinds:
        return wanted_tensor(where, value)
    found = type(value).__name__
    shown = f"{found} {value!r}" if type(value) in _SHOWN else found
    return TypeError(f"{where}: expected {' or '.join(dict.fromkeys(map(_in_words, kinds)))}, got {shown}")


# --- annotations ----------------------------------------------------------------------------------

_SHOWN = (str, bytes, int, float, bool)  # no others: what a class says of its values is its own code
_SEQUENCES = ("Sequence", "Iterable", "list")
_OF_TENSORS = frozenset(f"{name}[Tensor]" for name in _SEQUENCES)
_LONGER = {"Size": "int | Sequence[int]", "Axes": "int | Sequence[int] | None"}


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float | np.number | Variable)


def _is_number(value: Any) -> bool:
    return _is_real(value) or isinstance(value, complex)


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "None": (lambda value: value is None, "None"),
    **dict.fromkeys(("Tensor", "Variable"), (lambda value: isinstance(value, Variable), "a tensor")),
    "int": (lambda value: hasattr(value, "__index__"), "an integer"),
    "float": (_is_real, "a number"),
    "complex": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, int | np.bool_ | Variable), "True or False"),
    "str": (lambda value: isinstance(value, str), "a str"),
    **dict.fromkeys(("Array", "np.ndarray"), (lambda value: isinstance(value, np.ndarray), "a NumPy array")),
}
_PLURALS = {"int": "integers", "float": "numbers", "Tensor": "tensors", "Any": "values"}


def _either(wanted: str) -> list[str]:
    """The parts of a union, with what aliases stand for."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(wanted):
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append(wanted[start:place].strip())
            start = place + 1
    parts.append(wanted[start:].strip())
    return [kind for part in parts for kind in (_either(_LONGER[part]) if part in _LONGER else [part])]


def _fits(value: Any, wanted: str, names: Mapping[str, Any]) -> bool:
    """Say whether a value is of one of the kinds, classes by `names`; what has no rule here fits."""
    return any(_is(value, kind, names) for kind in _either(wanted))


def _is(value: Any, kind: str, names: Mapping[str, Any]) -> bool:
    if kind in _KINDS:
        return _KINDS[kind][0](value)
    outer, _, inner = kind.partition("[")
    if outer == "Callable":
        return callable(value)
    if outer == "tuple":
        return isinstance(value, tuple | list)
    if outer not in _SEQUENCES:
        found = None if inner or kind == "Any" else names.get(kind)
        return not (isinstance(found, type) and not isinstance(value, found))
    if isinstance(value, str | bytes | dict | set) or not isinstance(value, Iterable):
        return False
    if isinstance(value, np.ndarray) and not value.ndim:
        return False
    return not isinstance(value, list | tuple | np.ndarray) or all(
        _fits(one, inner[:-1], names) for one in value
    )


def _in_words(kind: str) -> str:
    if kind in _KINDS:
        return _KINDS[kind][1]
    outer, _, inner = kind.partition("[")
    if outer in _SEQUENCES:
        return "a sequence of " + " or ".join(_PLURALS.get(one, one) for one in _either(inner[:-1]))
    return {"Callable": "a function", "tuple": "a tuple"}.get(outer, f"a {outer}")
