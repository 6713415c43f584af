"""Python's reduce protocol, read: what an object says about how it is made, in the words of our records."""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Iterator
from typing import Any, Final

from packager.codecs import CannotStore
from packager.process import place_in_model
from packager.quick_dataclasses import dataclass

_LONGEST_EMPTY: Final = 16
"""How many bytes of code a function without a body has at most, on any Python."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make an object again: `how` is "new" (`target.__new__`) or "call", or "package" for a
    function of `__reduce_package__`, which also gets the importer; then items, then state.

    `attributes` are set plainly; `state` goes through the object's own `__setstate__`.
    """

    how: str
    target: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    items: Iterator[Any] | None = None
    pairs: Iterator[tuple[Any, Any]] | None = None
    attributes: dict[str, Any] | None = None
    state: Any = None

    def is_plain(self, obj: Any) -> bool:
        """Return whether the object is no more than an instance of its class and attributes."""
        made = self.how == "new" and self.target is type(obj) and not self.args and self.kwargs is None
        return made and self.items is None and self.pairs is None and self.state is None


def recipe_of(obj: Any, exporter: Any) -> Recipe | str:
    """Return what `obj` says about itself, or the name of the global that it is.

    Looked up on the type, as pickle does, so that an object that answers to every attribute name is
    no problem. Raises CannotStore for what says that it cannot be stored, or says nothing usable.
    """
    cls = type(obj)
    own = getattr(cls, "__reduce_package__", None)
    if own is not None:
        function, args = _ask(obj, own, exporter)
        return Recipe("package", function, tuple(args))
    reducer = copyreg.dispatch_table.get(cls)
    reduced = _ask(obj, reducer) if reducer is not None else _ask(obj, cls.__reduce_ex__, 4)
    if isinstance(reduced, str):
        return reduced
    if not isinstance(reduced, tuple) or not 2 <= len(reduced) <= 6 or not isinstance(reduced[1], tuple):
        raise CannotStore(f"__reduce__ of {cls.__qualname__} gave {type(reduced).__name__}; expected a tuple")
    function, args, state, items, pairs, setter = (list(reduced) + [None] * 4)[:6]
    if setter is not None:
        raise CannotStore(
            f"{cls.__qualname__} is given its state by a function of its own, {setter!r}",
            "give the class __setstate__",
        )
    how, target, args, kwargs = _made_by(function, args)
    attributes, state = _split(obj, cls, state)
    return Recipe(how, target, args, kwargs, items, pairs, attributes, state)


def has_only_a_dict(cls: type) -> bool:
    """Return whether instances say nothing of themselves but their `__dict__`; they are not asked again.

    The state of the first instance has been looked at; slots, and states of another kind, are not plain.
    """
    own = (
        "__reduce_ex__",
        "__reduce__",
        "__getstate__",
        "__getnewargs__",
        "__getnewargs_ex__",
        "__setstate__",
    )
    untouched = all(getattr(cls, name, None) is getattr(object, name, None) for name in own)
    slots = any("__slots__" in vars(base) and vars(base)["__slots__"] for base in cls.__mro__)
    return untouched and not slots and cls.__dictoffset__ != 0 and cls not in copyreg.dispatch_table


def _ask(obj: Any, function: Any, *args: Any) -> Any:
    try:
        return function(obj, *args)
    except CannotStore:
        raise
    except Exception as error:
        raise CannotStore(
            f"{type(obj).__qualname__} says that it cannot be stored: {error}{place_in_model(error)}",
            "remove the attribute before saving (__getstate__), or build it lazily",
            "build the object by a factory: save_object(..., factory=, config=)",
        ) from error


def _made_by(function: Any, args: tuple[Any, ...]) -> tuple[str, Any, tuple[Any, ...], dict[str, Any] | None]:
    """Translate the helpers of copyreg and functools, which no archive names, into what they do."""
    name = getattr(function, "__name__", "")
    if name == "__newobj__":
        return "new", args[0], args[1:], None
    if name == "__newobj_ex__":
        cls, positional, keywords = args
        return "new", cls, tuple(positional), dict(keywords) or None
    if function is getattr(copyreg, "_reconstructor", None):
        cls, base, value = args
        return "new", cls, () if base is object else (value,), None
    if isinstance(function, functools.partial):
        return "call", function.func, (*function.args, *args), dict(function.keywords) or None
    return "call", function, args, None


def _split(obj: Any, cls: type, state: Any) -> tuple[dict[str, Any] | None, Any]:
    """Tell attributes that are set plainly from a state that only the class understands."""
    own = getattr(cls, "__setstate__", None)
    if own is not None:
        return None, None if _does_nothing(own) else state
    if state is None:
        return None, None
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    attributes: dict[str, Any] = {}
    for part in (plain, slots):
        if part is None:
            continue
        if not isinstance(part, dict) or not all(type(name) is str for name in part):
            raise CannotStore(
                f"the state of {cls.__qualname__} is {type(part).__name__}; without __setstate__ it must be "
                "a dict of attribute names",
                "give the class __setstate__",
            )
        if not attributes.keys().isdisjoint(part):
            raise CannotStore(f"{cls.__qualname__} has an attribute both in a slot and in its __dict__")
        attributes.update(part)
    return attributes or None, None


def _does_nothing(function: Any) -> bool:
    """Return whether a function's body is empty: a state that `__setstate__` passes over is not stored.

    scikit-learn's `Bunch` has such a method; a loaded one would be stored otherwise than the first.
    """
    code = getattr(function, "__code__", None)
    if code is None or len(code.co_code) > _LONGEST_EMPTY:
        return False
    import dis

    steps = [step for step in dis.get_instructions(code) if step.opname not in ("RESUME", "NOP")]
    names = [step.opname for step in steps]
    return names in (["LOAD_CONST", "RETURN_VALUE"], ["RETURN_CONST"]) and steps[0].argval is None
