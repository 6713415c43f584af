"""Dataclasses whose classes cost next to nothing to define; used as `dataclasses` is.

`dataclasses.dataclass` writes six functions for a frozen class as text and compiles them, a third of a
millisecond, and importing the module imports `inspect`. A command that opens an archive defines forty such
classes. Here the methods are closures over the names of the fields: nothing is compiled, neither when a class
is defined nor while data are read, so that whoever watches a load for code that runs sees none of ours.

What the classes of this package ask for is there, and nothing else: no InitVar, `metadata`, `unsafe_hash` or
`weakref_slot`, no default where `init=False`. `dataclasses.fields`, `asdict` and `is_dataclass` take the
classes as they are, and so do `inspect.signature`, `pickle` and `copy`; a dataclass of Python is made for
them when they ask.

Source: dataclasses of Python, whose semantics these are.
"""

from __future__ import annotations

from itertools import repeat
from operator import attrgetter, ge, gt, le, lt
from types import MemberDescriptorType

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
    from typing import Any, Final, TypeVar

    _Record = TypeVar("_Record")

_MISSING: Final[Any] = object()
_RECORDED: Final = "__quick_record__"


class _Field:
    """What `field` was told of one field, and its annotation, as text."""

    __slots__ = ("annotation", "compare", "default", "factory", "init", "keyword", "repr")

    def __init__(
        self,
        default: Any = _MISSING,
        factory: Any = _MISSING,
        *,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
        kw_only: bool | None = None,
    ) -> None:
        self.default, self.factory = default, factory
        self.init, self.repr, self.compare, self.keyword = init, repr, compare, kw_only
        self.annotation: Any = None

    @property
    def is_optional(self) -> bool:
        """Whether a call may leave the field out."""
        return self.default is not _MISSING or self.factory is not _MISSING


def _field(*, default: Any = _MISSING, default_factory: Any = _MISSING, **how: Any) -> Any:
    """Say more of a field than its default: see `dataclasses.field`."""
    return _Field(default, default_factory, **how)


class _Made:
    """A class that was decorated: its fields by name, and how it was told to be made."""

    __slots__ = ("cls", "fields", "params")

    def __init__(self, cls: type, fields: dict[str, _Field], params: dict[str, bool]) -> None:
        self.cls, self.fields, self.params = cls, fields, params


class _OfPython:
    """An attribute of a class that is taken from its dataclass of Python when it is first looked up."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        home = next(cls for cls in owner.__mro__ if cls.__dict__.get(self.name) is self)
        real = _real(home.__dict__[_RECORDED])
        if self.name == "__signature__":
            from inspect import signature

            found: Any = signature(real)
        else:
            found = getattr(real, self.name)
        setattr(home, self.name, found)
        return found


_ASKED_OF_PYTHON: Final = {
    name: _OfPython(name) for name in ("__dataclass_fields__", "__dataclass_params__", "__signature__")
}


def _dataclass(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    order: bool = False,
    kw_only: bool = False,
) -> Any:
    """Make a class a dataclass, without compiling anything: see the module."""
    params = {"frozen": frozen, "eq": eq, "repr": repr, "order": order, "kw_only": kw_only}

    def made(cls: type) -> type:
        record = _Made(cls, _fields_of(cls, kw_only), params)
        added = _added(record)
        if slots:
            record.cls = _with_slots(record, added)
        else:
            _without_slots(record, added)
        return record.cls

    return made if cls is None else made(cls)


def _added(record: _Made) -> dict[str, Any]:
    """Return what a class gets besides its fields: methods that it does not have, and what others ask for."""
    fields, params, space = record.fields, record.params, record.cls.__dict__
    added: dict[str, Any] = {}
    if params["repr"] and "__repr__" not in space:
        added["__repr__"] = _repr(fields)
    if params["eq"]:
        values = _values(fields)
        if "__eq__" not in space:
            added["__eq__"] = _equality(values)
        # A class with an `__eq__` has a `__hash__` that is None, which it did not write.
        if space.get("__hash__") is None and ("__hash__" not in space or "__eq__" in space):
            added["__hash__"] = _hash(values) if params["frozen"] else None
    if params["order"]:
        for name, compare in (("__lt__", lt), ("__le__", le), ("__gt__", gt), ("__ge__", ge)):
            if name not in space:
                added[name] = _order(_values(fields), compare)
    if params["frozen"]:
        if "__setattr__" not in space:
            added["__setattr__"] = _refusal(record, "__setattr__", "assign to")
        if "__delattr__" not in space:
            added["__delattr__"] = _refusal(record, "__delattr__", "delete")
    added["__init__"] = _late_init(record)
    added["__match_args__"] = tuple([name for name, one in fields.items() if one.init and not one.keyword])
    added[_RECORDED] = record
    added |= _ASKED_OF_PYTHON
    return added


def _replace(record: Any, /, **changes: Any) -> Any:
    """Return a record like this one, with other values in some of its fields.

    >>> from packager._archive.entries import Place
    >>> replace(Place("net/weights", 0, 8), stop=16)
    Place(member='net/weights', start=0, stop=16)
    """
    fields = getattr(record, _RECORDED).fields
    kept = {name: getattr(record, name) for name, one in fields.items() if one.init and name not in changes}
    return type(record)(**kept, **changes)


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _field, _replace


def field_names(record: object) -> tuple[str, ...]:
    """Return the names of the fields of a class, or of an object, in their order.

    >>> from packager._archive.entries import Place
    >>> field_names(Place)
    ('member', 'start', 'stop')
    """
    return tuple(getattr(record, _RECORDED).fields)


def instances(cls: type[_Record], count: int, *columns: Iterable[Any]) -> list[_Record]:
    """Return so many instances of a class with slots: a column for each field, in their order.

    A column may be longer; such a class has no `__post_init__`. Without a call for each, that takes
    half of the time.

    >>> from packager._archive.entries import Place
    >>> instances(Place, 2, ["net/weights", "net/index"], [0, 8], [8, 9])[1]
    Place(member='net/index', start=8, stop=9)
    """
    made = [object.__new__(cls) for _ in range(count)]
    for name, column in zip(field_names(cls), columns, strict=True):
        any(map(getattr(cls, name).__set__, made, column))  # each of them gives None
    return made


def _fields_of(cls: type, kw_only: bool) -> dict[str, _Field]:
    """Return the fields of a class by name, those of its bases first."""
    fields: dict[str, _Field] = {}
    for base in cls.__mro__[-2:0:-1]:  # `object` has none
        if _RECORDED in base.__dict__:
            fields |= base.__dict__[_RECORDED].fields
    space = cls.__dict__
    for name, annotation in space.get("__annotations__", {}).items():  # without `inspect`
        if _is_class_variable(annotation):
            continue
        told = space.get(name, _MISSING)
        one = told if isinstance(told, _Field) else _Field(told)
        if told is not _MISSING and one.default.__class__.__hash__ is None:
            raise ValueError(f"mutable default {type(one.default)} for field {name}: use default_factory")
        if not one.init and one.is_optional:
            raise TypeError(f"{cls.__qualname__}: {name} is not among what is given, so it takes no default")
        one.annotation = annotation
        one.keyword = kw_only if one.keyword is None else one.keyword
        fields[name] = one
    optional = [one.is_optional for one in fields.values() if one.init and not one.keyword]
    if optional != sorted(optional):
        raise TypeError(f"{cls.__qualname__}: a field without a default follows one with a default")
    return fields


def _is_class_variable(annotation: Any) -> bool:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__qualname__", "")
    return "ClassVar" in text and text.removeprefix("typing.").startswith("ClassVar")


def _without_slots(record: _Made, added: Mapping[str, Any]) -> None:
    """Give a class what it gets besides its fields, and its fields their defaults."""
    cls = record.cls
    for name, one in record.fields.items():
        if isinstance(cls.__dict__.get(name), _Field):
            if one.default is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, one.default)
    for name, value in added.items():
        setattr(cls, name, value)


def _with_slots(record: _Made, added: Mapping[str, Any]) -> type:
    """Return the class made anew with a slot for each field that its bases have none for."""
    cls, fields = record.cls, record.fields
    space = cls.__dict__ | added
    for name in (*fields, "__dict__", "__weakref__"):
        space.pop(name, None)
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    space["__slots__"] = tuple([name for name in fields if name not in inherited])
    space["__qualname__"] = cls.__qualname__
    if record.params["frozen"]:  # what pickle and copy would set attribute by attribute
        space["__getstate__"], space["__setstate__"] = _get_state, _set_state
    return type(cls)(cls.__name__, cls.__bases__, space)


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, _RECORDED).fields]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, _RECORDED).fields, state, strict=True):
        object.__setattr__(self, name, value)


def _late_init(record: _Made) -> Callable[..., None]:
    """Return an `__init__` that makes the one of the class when its first object is made, and calls it."""
    real: list[Callable[..., None]] = []

    def __init__(self: Any, /, *values: Any, **named: Any) -> None:
        if not real:
            real.append(_init(record))
        cls: Any = record.cls
        if cls.__dict__["__init__"] is __init__:  # else something stands around it
            cls.__init__ = real[0]
        real[0](self, *values, **named)

    return __init__


def _init(record: _Made) -> Callable[..., None]:
    """Return what fills an object; a call with every value in its place is the short way."""
    cls, fields = record.cls, record.fields
    names = tuple([name for name, one in fields.items() if one.init])
    short = -1 if True in [fields[name].keyword for name in names] else len(names)
    given = _completion(record, names, short)
    has_more = hasattr(cls, "__post_init__")
    setters = _setters_of_slots(cls, names)
    if setters is not None:

        def __init__(self: Any, /, *values: Any, **named: Any) -> None:
            if named or len(values) != short:
                values = given(values, named)  # type: ignore[assignment]  # a list does as well
            for put, value in zip(setters, values):  # noqa: B905 - as many, and a keyword takes time
                put(self, value)
            if has_more:
                self.__post_init__()
    else:
        assign = object.__setattr__ if record.params["frozen"] else setattr

        def __init__(self: Any, /, *values: Any, **named: Any) -> None:
            if named or len(values) != short:
                values = given(values, named)  # type: ignore[assignment]  # a list does as well
            for name, value in zip(names, values):  # noqa: B905 - the same
                assign(self, name, value)
            if has_more:
                self.__post_init__()

    return __init__


def _setters_of_slots(cls: type, names: tuple[str, ...]) -> list[Callable[[Any, Any], None]] | None:
    """Return what sets each of the slots, faster than the search for them; None where some have none."""
    setters = []
    for name in names:
        member = next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)
        if type(member) is not MemberDescriptorType:
            return None
        setters.append(member.__set__)
    return setters or None


def _completion(
    record: _Made, names: tuple[str, ...], short: int
) -> Callable[[tuple[Any, ...], dict[str, Any]], list[Any]]:
    """Return what gives the values of all `names` for a call that leaves some out, or names some."""
    fields = record.fields
    # What gives the values that are left out, place by place: the short way where none is named.
    optional = [one for one in fields.values() if one.init and one.is_optional]
    makers = [repeat(one.default).__next__ if one.factory is _MISSING else one.factory for one in optional]
    required = len(names) - len(makers)
    known: list[Any] = []  # what only calls with names ask for

    def given(values: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        if not named and required <= len(values) < short:
            return [*values, *[make() for make in makers[len(values) - required :]]]
        if not known:
            places = [name for name in names if not fields[name].keyword]
            defaults = {name: fields[name].default for name in names if fields[name].default is not _MISSING}
            factories = {name: fields[name].factory for name in names if fields[name].factory is not _MISSING}
            known.append((places, defaults, factories, {*names}))
        places, defaults, factories, wanted = known[0]
        told = dict(zip(places, values, strict=False)) | named
        fits = len(told) == len(values) + len(named)  # none too many, and none twice
        told = defaults | told
        for name, make in factories.items():
            if name not in told:
                told[name] = make()
        if not fits or told.keys() != wanted:
            _real(record)(*values, **named)  # raises, and says what does not fit
        return [told[name] for name in names]

    return given


def _values(fields: Mapping[str, _Field]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gives the values of an object that are compared, as a tuple."""
    names = [name for name, one in fields.items() if one.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple([getattr(record, name) for name in names])


def _equality(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _order(
    values: Callable[[Any], tuple[Any, ...]], compare: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    def ordered(self: Any, other: Any) -> Any:
        return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return ordered


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _repr(fields: Mapping[str, _Field]) -> Callable[[Any], str]:
    shown: list[Callable[[Any], str]] = []  # made for the first object that is shown

    def show(self: Any) -> str:
        parts = (f"{name}={getattr(self, name)!r}" for name, one in fields.items() if one.repr)
        return f"{self.__class__.__qualname__}({', '.join(parts)})"

    def __repr__(self: Any) -> str:
        if not shown:
            from reprlib import recursive_repr

            shown.append(recursive_repr()(show))
        return shown[0](self)

    return __repr__


def _refusal(record: _Made, method: str, what: str) -> Callable[..., None]:
    """Return what refuses to change an object; a class below may have attributes of its own."""

    def refuse(self: object, name: str, *value: object) -> None:
        if type(self) is record.cls or name in record.fields:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {what} field {name!r}")
        getattr(super(record.cls, self), method)(name, *value)

    return refuse


def _real(record: _Made) -> Any:
    """Return a dataclass of Python with the same fields, for what `dataclasses` and `inspect` ask."""
    import dataclasses

    cls = record.cls
    space: dict[str, Any] = {
        "__annotations__": {},
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
    }
    for name, one in record.fields.items():
        told = {"default": one.default, "default_factory": one.factory}
        given = {key: value for key, value in told.items() if value is not _MISSING}
        space["__annotations__"][name] = one.annotation
        space[name] = dataclasses.field(
            **given, init=one.init, repr=one.repr, compare=one.compare, kw_only=bool(one.keyword)
        )
    return dataclasses.dataclass(**record.params)(type(cls.__name__, (), space))
