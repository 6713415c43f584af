"""What data that brings no code may not do while it is built: stand for methods of a class.

An entry of `__dict__` comes before a method of the class, so an attribute named as one would be called in
its place, by the framework as by us. Where the class holds a mere value, or a slot, an attribute of that
name is one too; and a property comes before every entry. Of known families and of tokenizers even a value
stays that of the class (names of the files that they write, of what they look up), unless code beside the
class assigns an attribute of that name.
Keys are in keys.py.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from functools import lru_cache
from opcode import opmap

from packager.codecs import ObjectCodec

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

MISSING: Final = object()
"""What `class_attribute` answers for a name that no class along the line defines."""


GENERIC: Final = "__orig_class__"
"""What `typing` puts on an object that was made by an alias, such as `OrderedDict[int, str]()`: the alias.

It is an attribute of data where inert.py has seen that it is one.
"""


def class_attribute(cls: type, name: str) -> Any:
    """Return what a class, or one that it inherits from, holds under a name; no descriptor runs."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), MISSING)


def forbid_shadows(cls: type, names: Iterable[str], *, with_slots: bool = True) -> None:
    """Raise ValueError for names of attributes that would take the place of something that a class does.

    So would names in double underscores: libraries ask objects for `__array_interface__`, and take what
    it says for memory, or for `__torch_function__`, and call it. Without `with_slots`, slots are what the
    class works with, and left alone, too.

    >>> forbid_shadows(types.SimpleNamespace, ["width"])
    >>> forbid_shadows(types.SimpleNamespace, ["__reduce__"])
    Traceback (most recent call last):
    ValueError: __reduce__ of SimpleNamespace is a method_descriptor, in whose place data puts nothing
    """
    own_slots = slots_of(cls) if with_slots else {}
    for name in names:
        found = class_attribute(cls, name)
        if (
            found is not MISSING
            and _does_something(found)
            and name not in own_slots
            and not _stands_for(found)
        ):
            raise ValueError(
                f"{name} of {cls.__qualname__} is a {type(found).__name__}, in whose place data puts nothing"
            )
        described = name == "__doc__" and cls.__module__.startswith(
            "statsmodels."
        )  # its results say what they are
        if name.startswith("__") and name.endswith("__") and not described:
            raise ValueError(f"{name} is no attribute of data: libraries ask a {cls.__qualname__} for it")


def _stands_for(found: Any) -> bool:
    """Whether a class of statsmodels holds something that its objects hold one of their own of.

    A method that only says that there is such an attribute, or the function of a distribution.
    """
    if type(found).__module__ == "statsmodels.genmod.families.varfuncs":
        return True
    return f"{getattr(found, '__module__', '')}:{getattr(found, '__qualname__', '')}" in _STANDING_FOR


_STANDING_FOR: Final = frozenset({"statsmodels.base.model:LikelihoodModelResults.normalized_cov_params"})


def _does_something(found: Any) -> bool:
    """Whether what a class holds is a method, a descriptor, or anything else that is called or asked."""
    if isinstance(found, property):
        return False
    return callable(found) or hasattr(type(found), "__get__") or hasattr(type(found), "__set__")


def forbid_other_values(cls: type, names: Iterable[str]) -> None:
    """Raise ValueError for names of attributes that a class has a value of for all its objects.

    Where code beside the class assigns such an attribute, each object may have its own.
    """
    for name in names:
        found = class_attribute(cls, name)
        if found is MISSING or name == "__doc__" or _does_something(found) or isinstance(found, property):
            continue
        if not any(name in _assigned_by(base) for base in cls.__mro__):
            raise ValueError(
                f"{name} of {cls.__qualname__} is one value for all its objects, which its code assigns to "
                "none of them; leave the attribute out"
            )


@lru_cache(maxsize=1024)
def _assigned_by(cls: type) -> frozenset[str]:
    """Return the names of attributes that a class assigns, or another part of its module, to any object."""
    held = [*vars(cls).values()]
    for part in vars(sys.modules.get(cls.__module__, cls)).values():
        if isinstance(part, type | types.FunctionType) and part.__module__ == cls.__module__:
            held += vars(part).values() if isinstance(part, type) else [part]
    waiting = [*map(_code_of, held)]
    names: set[str] = set()
    while waiting:
        code = waiting.pop()
        if isinstance(code, types.CodeType):
            waiting += code.co_consts
            names.update(_stored_names(code))
    return frozenset(names)


def _code_of(found: Any) -> Any:
    """Return the code of a function, of a property and of what a decorator made of a function.

    There is none of a class method: what it assigns is for all objects.
    """
    if isinstance(found, property):
        found = found.fset
    while isinstance(found, types.FunctionType) and "__wrapped__" in vars(found):
        found = vars(found)["__wrapped__"]
    return found.__code__ if isinstance(found, types.FunctionType) else None


def _stored_names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of the attributes that code assigns, instruction by instruction."""
    more = 0
    for operation, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        number = more | low
        more = number << 8 if operation == _EXTENDED else 0
        if operation == _STORES:
            yield code.co_names[number]


_EXTENDED: Final = opmap["EXTENDED_ARG"]
_STORES: Final = opmap["STORE_ATTR"]


def slots_of(cls: type) -> dict[str, Any]:
    """Return the member descriptors of `__slots__`, by the names that attributes have.

    Those of classes built in C are left alone: they are what the class itself works with, such as the
    factory of a defaultdict.
    """
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            if isinstance(member, types.MemberDescriptorType) and "__slots__" in vars(base):
                found[name] = member
            else:
                found.pop(name, None)
    return found


def check_takes_state(codec: ObjectCodec, cls: type) -> None:
    """Raise ValueError for a class that is given attributes by its codec, and no state.

    A framework's own `__setstate__` for files of its older versions computes with what it is given.
    """
    if not codec.uses_setstate(cls):
        raise ValueError(f"{cls.__qualname__} is given attributes by the codec {codec.name!r}, and no state")


def check_foreign_state(cls: type, setstate: Any) -> None:
    """Raise ValueError for a class of scikit-learn whose `__setstate__` is not scikit-learn's own.

    The audit knows the name alone; scikit-learn's own `__setstate__` only takes up attributes.
    """
    if cls.__module__.startswith("sklearn.") and not str(setstate.__module__).startswith("sklearn."):
        raise ValueError(f"{cls.__qualname__} has a __setstate__ from elsewhere, {setstate.__module__}")
