"""What is asked while an audited table is built, and when it is complete: by the rows of its names.

Of data alone: what stands in the place of methods of a class. An entry of `__dict__` comes before a method of
the class, so an attribute named as one would be called in its place, by the framework as by us. Where the
class has a slot, an attribute of that name is one too; and a property comes before every entry. A mere value
(the name of a file that it writes, of what it looks up) stays that of the class as well, unless code beside
the class assigns such an attribute. Keys are in keys.py.

Beside code as well: what code in C will trust.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from opcode import opmap

from packager._codecs import CodecRegistry, ObjectCodec, StateCheck, state_checks
from packager._objects import MISSING, slots_of

from .keys import KeyChecks
from .rows import ATTRIBUTES, Row

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

GENERIC: Final = "__orig_class__"
"""What `typing` puts on an object that was made by an alias, such as `OrderedDict[int, str]()`: the alias.

It is an attribute of data where forms.py has seen that it is one.
"""


def class_attribute(cls: type, name: str) -> Any:
    """Return what a class, or one that it inherits from, holds under a name; no descriptor runs."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), MISSING)


def forbid_shadows(
    cls: type, names: Iterable[str], *, with_slots: bool = True, replaces: Sequence[str] = ()
) -> None:
    """Raise ValueError for names of attributes that would take the place of something that a class has.

    So would names in double underscores: libraries ask objects for `__array_interface__`, and take what
    it says for memory, or for `__torch_function__`, and call it. Without `with_slots`, slots are what the
    class works with, and left alone, too. `replaces` are names that a class only has to be replaced.

    >>> forbid_shadows(types.SimpleNamespace, ["width"])
    >>> forbid_shadows(types.SimpleNamespace, ["__reduce__"])
    Traceback (most recent call last):
    ValueError: __reduce__ of SimpleNamespace is a method_descriptor; data may not replace it
    """
    own_slots = slots_of(cls) if with_slots else {}
    for name in names:
        if name in replaces:
            continue
        found = class_attribute(cls, name)
        if found is not MISSING and _does_something(found) and name not in own_slots:
            raise ValueError(
                f"{name} of {cls.__qualname__} is a {type(found).__name__}; data may not replace it"
            )
        if name.startswith("__") and name.endswith("__"):
            raise ValueError(f"data may not set {name} of a {cls.__qualname__}: libraries read it")
        if found is not MISSING:
            _forbid_other_value(cls, name, found)


def _does_something(found: Any) -> bool:
    """Whether what a class holds is a method, a descriptor, or anything else that is called or asked."""
    if isinstance(found, property):
        return False
    return callable(found) or hasattr(type(found), "__get__") or hasattr(type(found), "__set__")


def _forbid_other_value(cls: type, name: str, found: Any) -> None:
    """Raise ValueError for the name of an attribute that a class has a value of for all its objects.

    Where code beside the class assigns such an attribute, each object may have its own.
    """
    if _does_something(found) or isinstance(found, property):
        return
    if not any(name in _assigned_by(base) for base in cls.__mro__):
        raise ValueError(
            f"{name} belongs to the class {cls.__qualname__}, whose code never assigns it to an object; "
            "leave the attribute out"
        )


def forbid_unassigned(cls: type, names: Iterable[str]) -> None:
    """Raise ValueError for the name of an attribute that no code beside the class or a base assigns.

    >>> forbid_unassigned(types.SimpleNamespace, ["width"])
    Traceback (most recent call last):
    ValueError: width of SimpleNamespace is an attribute that its code never assigns
    """
    known = frozenset[str]().union(*map(_assigned_by, cls.__mro__), *map(_parameters_of, cls.__mro__))
    for name in names:
        if name not in known:
            raise ValueError(f"{name} of {cls.__qualname__} is an attribute that its code never assigns")


def _parameters_of(cls: type) -> Sequence[str]:
    """Return the names of what a class is made from: a base may assign them by name."""
    code = _code_of(vars(cls).get("__init__"))
    return () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


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


def check_takes_state(codec: ObjectCodec, cls: type) -> None:
    """Raise ValueError for a class that is given attributes by its codec, and no state.

    A framework's own `__setstate__` for files of its older versions computes with what it is given.
    """
    if not codec.uses_setstate(cls):
        raise ValueError(f"{cls.__qualname__} is given attributes by the codec {codec.name!r}, and no state")


def check_foreign_state(cls: type, setstate: object) -> None:
    """Raise ValueError for a class whose `__setstate__` is not that of its own library.

    The audit knows the name alone, and that the library's own methods only take up what they are given.
    """
    top = cls.__module__.partition(".")[0]
    if str(setstate.__module__).partition(".")[0] != top:
        raise ValueError(f"{cls.__qualname__} has a __setstate__ from elsewhere, {setstate.__module__}")


class Gates:
    """The rows of one audited object, as its builder asks them; every method raises ValueError.

    `names` are the objects behind its names, `grants` say why each is allowed.
    """

    def __init__(
        self,
        grants: Mapping[tuple[str, str, Any], Any],
        names: Mapping[tuple[str, str], Any],
        registry: CodecRegistry,
        operands: Callable[[], int],
        *,
        is_data_alone: bool,
    ) -> None:
        granted = [(id(names.get(use[:2])), grant) for use, grant in grants.items()]
        self._trusted = {number for number, grant in granted if grant.by == "trust"}
        self._foreign = {number for number, grant in granted if grant.by == "extern"}
        self._rows: dict[int, Row] = {
            number: grant.row
            for number, grant in granted
            if grant.row is not None and number not in self._trusted
        }
        self._registry, self._operands = registry.settled(), operands
        self._is_data_alone = is_data_alone
        self._c_states: dict[int, tuple[StateCheck, ...]] = {}

    @cached_property
    def _keys(self) -> KeyChecks:
        return KeyChecks(self._operands, self._trusted)

    def note_large_number(self) -> None:
        """Note that a number of many digits is there, which takes its time to be hashed."""
        self._keys.note_large_number()

    def check_keys(self, values: Sequence[Any], *, in_set: bool) -> None:
        """Raise ValueError for keys of data that code of a class would hash, or at a price beyond their
        size."""
        if self._is_data_alone:
            self._keys.check_keys(values, in_set=in_set)

    def check_more_keys(self, target: object, values: Sequence[Any]) -> None:
        """Raise ValueError for the same in what a dict or a set is given later, beside what it holds."""
        if self._is_data_alone:
            self._keys.check_more_keys(target, values)

    def check_names(self, cls: type, names: Sequence[str], *, with_slots: bool = True) -> None:
        """Raise ValueError where data would take the place of a method or a value of a class."""
        self._forbid(cls, [name for name in names if name != GENERIC], with_slots=with_slots)

    def _forbid(self, cls: type, names: Sequence[str], *, with_slots: bool = True) -> None:
        if not self._is_data_alone or id(cls) in self._trusted:
            return
        row = self._rows.get(id(cls))
        replaces = () if row is None else row.replaces.split()
        forbid_shadows(cls, names, with_slots=with_slots, replaces=replaces)

    def check_maker(self, cls: Any) -> None:
        """Raise ValueError for a class of data that a codec knows, which is made by that codec alone."""
        if not self._is_data_alone or id(cls) in self._trusted:
            return
        codec = self._registry.for_class(cls)
        if codec is not None:
            raise ValueError(f"{cls.__qualname__} was stored without the codec {codec.name!r} that makes it")

    def make(self, cls: Any) -> Any:
        """Make an instance without state; `__new__` of a class of an extern, in Python, is passed over."""
        row = self._rows.get(id(cls))
        known = id(cls) in self._foreign or (row is not None and row.is_a is ATTRIBUTES)
        if known and isinstance(cls.__new__, types.FunctionType):
            return object.__new__(cls)
        return cls.__new__(cls)

    def check_arguments(self, function: Any, args: Sequence[Any], keywords: object) -> None:
        """Raise ValueError for arguments of a call that code in C trusts, and must not."""
        for check in self._c_state_of(function):
            if keywords:
                raise ValueError(f"{function.__qualname__} takes positional arguments only")
            check.check_arguments(args)

    def take_state(self, target: object, state: object, codec: tuple[ObjectCodec, int] | None) -> None:
        """Let an object take up a state: by its row, by its codec, or by its own method.

        Raises ValueError for a state that it must not be given.
        """
        cls = type(target)
        row = self._rows.get(id(cls))
        if row is not None and row.takes_state is not None:
            row.takes_state(target, state)
            return
        setstate = getattr(cls, "__setstate__", None)
        if setstate is None:
            raise ValueError(f"{cls.__qualname__} has no __setstate__")
        if type(state) is dict:
            self._forbid(cls, [name for name in state if type(name) is str])
        for check in self._c_state_of(cls):
            check.check_state(target, state)
        if codec is not None:
            if self._is_data_alone and id(cls) not in self._trusted:
                check_takes_state(codec[0], cls)
            codec[0].set_state(target, state, codec[1])
            return
        if id(cls) in self._foreign and row is not None and "fills itself by its own" in row.uses:
            check_foreign_state(cls, setstate)
        setstate(target, state)

    # --- when all is built ---

    def complete(
        self,
        built: Sequence[Any],
        codecs: Iterable[tuple[int, ObjectCodec]],
        failure: Callable[[int, Exception], Exception],
    ) -> None:
        """Ask what code in C will trust; of data alone also what codecs and rows demand of a whole object.

        `codecs` are those of objects, by their place. Raises what `failure` makes of a place and an error.
        """
        classes = {id(cls): cls for cls in map(type, built)}
        in_c = {
            number: [(one.check_made, "") for one in self._c_state_of(cls)] for number, cls in classes.items()
        }
        _ask_all(built, in_c, failure)
        if not self._is_data_alone:
            return
        for index, codec in codecs:
            if id(type(built[index])) not in self._trusted:
                _ask(codec.check_made, built[index], index, failure)
        whole = {number: [(row.complete, row.told_by)] for number, row in self._rows.items() if row.complete}
        _ask_all(built, whole, failure)

    def _c_state_of(self, cls: Any) -> tuple[StateCheck, ...]:
        """The checks of a class, by its id: a class of stored code may hash as it likes."""
        found = self._c_states.get(id(cls))
        if found is None:
            found = state_checks(cls, self._registry.library) if isinstance(cls, type) else ()
            self._c_states[id(cls)] = found
        return found


def _ask_all(
    built: Sequence[Any],
    checks: Mapping[int, Sequence[tuple[Callable[[Any], None], str]]],
    failure: Callable[[int, Exception], Exception],
) -> None:
    """Ask the checks of each class, which are given by its id, with who told them."""
    for index, made in enumerate(built if any(checks.values()) else ()):
        for check, told_by in checks.get(id(type(made)), ()):
            _ask(check, made, index, failure, told_by)


def _ask(
    check: Callable[[Any], None],
    made: Any,
    index: int,
    failure: Callable[[int, Exception], Exception],
    told_by: str = "",
) -> None:
    try:
        check(made)
    except ValueError as error:
        raise failure(index, ValueError(f"{error}{told_by}") if told_by else error) from error
    except Exception as error:
        raise failure(index, error) from error
