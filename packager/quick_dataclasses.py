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
from reprlib import recursive_repr
from types import MemberDescriptorType

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
    from typing import Any, Final, TypeVar

    _Record = TypeVar("_Record")

__all__ = ["dataclass", "field", "field_names", "records", "replace"]

_MISSING: Final[Any] = object()
_RECORDED: Final = "__quick_fields__"


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


class _OfPython:
    """An attribute of a class that is taken from its dataclass of Python when it is first looked up."""

    __slots__ = ("fields", "home", "name", "params")

    def __init__(
        self, home: type, name: str, fields: Mapping[str, _Field], params: Mapping[str, bool]
    ) -> None:
        self.home, self.name, self.fields, self.params = home, name, fields, params

    def __get__(self, instance: object, owner: type) -> Any:
        real = _real(self.home, self.fields, self.params)
        if self.name == "__signature__":
            from inspect import signature

            found: Any = signature(real)
        else:
            found = getattr(real, self.name)
        setattr(self.home, self.name, found)
        return found


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
        fields = _fields_of(cls, kw_only)
        has_hash = cls.__dict__.get("__hash__", _MISSING)
        has_hash = has_hash is not _MISSING and not (has_hash is None and "__eq__" in cls.__dict__)
        written = {name for name in cls.__dict__ if name != "__hash__" or has_hash}
        cls = _with_slots(cls, fields, frozen) if slots else _without_slots(cls, fields)

        methods: dict[str, Any] = {}
        if repr:
            methods["__repr__"] = _repr(fields)
        if eq:
            values = _values(fields)
            methods["__eq__"] = _equality(values)
            methods["__hash__"] = _hash(values) if frozen else None
        if order:
            for name, compare in (("__lt__", lt), ("__le__", le), ("__gt__", gt), ("__ge__", ge)):
                methods[name] = _order(_values(fields), compare)
        if frozen:
            methods["__setattr__"] = _refusal(cls, fields, "__setattr__", "assign to")
            methods["__delattr__"] = _refusal(cls, fields, "__delattr__", "delete")
        for name in methods.keys() - written:
            setattr(cls, name, methods[name])
        setattr(cls, "__init__", _init(cls, fields, params))  # noqa: B010 - mypy takes no other spelling
        setattr(cls, _RECORDED, fields)
        places = tuple(name for name, one in fields.items() if one.init and not one.keyword)
        setattr(cls, "__match_args__", places)  # noqa: B010 - the same
        for name in ("__dataclass_fields__", "__dataclass_params__", "__signature__"):
            setattr(cls, name, _OfPython(cls, name, fields, params))
        return cls

    return made if cls is None else made(cls)


def _replace(record: Any, /, **changes: Any) -> Any:
    """Return a record like this one, with other values in some of its fields.

    >>> from packager.archive.entries import Place
    >>> replace(Place("net/weights", 0, 8), stop=16)
    Place(member='net/weights', start=0, stop=16)
    """
    fields = getattr(record, _RECORDED)
    kept = {name: getattr(record, name) for name, one in fields.items() if one.init and name not in changes}
    return type(record)(**kept, **changes)


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _field, _replace


def field_names(record: Any) -> tuple[str, ...]:
    """Return the names of the fields of a class, or of an object, in their order.

    >>> from packager.archive.entries import Place
    >>> field_names(Place)
    ('member', 'start', 'stop')
    """
    return tuple(getattr(record, _RECORDED))


def records(cls: type[_Record], count: int, *columns: Iterable[Any]) -> list[_Record]:
    """Return so many records of a class with slots: a column for each field, in their order.

    A column may be longer; such a class has no `__post_init__`. Without a call for each, that takes
    half of the time.

    >>> from packager.archive.entries import Place
    >>> records(Place, 2, ["net/weights", "net/index"], [0, 8], [8, 9])[1]
    Place(member='net/index', start=8, stop=9)
    """
    made = [object.__new__(cls) for _ in range(count)]
    for name, column in zip(field_names(cls), columns, strict=True):
        any(map(getattr(cls, name).__set__, made, column))  # each of them gives None
    return made


def _fields_of(cls: type, kw_only: bool) -> dict[str, _Field]:
    """Return the fields of a class by name, those of its bases first."""
    fields: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= base.__dict__.get(_RECORDED, {})
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


def _without_slots(cls: type, fields: Mapping[str, _Field]) -> type:
    for name, one in fields.items():
        if isinstance(cls.__dict__.get(name), _Field):
            if one.default is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, one.default)
    return cls


def _with_slots(cls: type, fields: Mapping[str, _Field], frozen: bool) -> type:
    """Return the class made anew with a slot for each field that its bases have none for."""
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    dropped = {*fields, "__dict__", "__weakref__"}
    space = {name: value for name, value in cls.__dict__.items() if name not in dropped}
    space["__slots__"] = tuple(name for name in fields if name not in inherited)
    if frozen:  # what pickle and copy would set attribute by attribute
        space |= {
            "__getstate__": lambda self: [getattr(self, name) for name in fields],
            "__setstate__": _set_state,
        }
    made = type(cls)(cls.__name__, cls.__bases__, space)
    made.__qualname__ = cls.__qualname__
    return made


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, _RECORDED), state, strict=True):
        object.__setattr__(self, name, value)


def _init(cls: type, fields: Mapping[str, _Field], params: Mapping[str, bool]) -> Callable[..., None]:
    """Return what fills an object; a call with every value in its place is the short way."""
    names = tuple(name for name, one in fields.items() if one.init)
    places = tuple(name for name in names if not fields[name].keyword)
    short = len(names) if names == places else -1
    has_more = hasattr(cls, "__post_init__")

    defaults = {name: fields[name].default for name in names if fields[name].default is not _MISSING}
    factories = {name: fields[name].factory for name in names if fields[name].factory is not _MISSING}

    wanted = frozenset(names)
    # What gives the values that are left out, place by place: the short way where none is named.
    optional = [name for name in places if fields[name].is_optional]
    makers = [factories[name] if name in factories else repeat(defaults[name]).__next__ for name in optional]
    required = len(places) - len(makers)

    def given(values: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        if not named and required <= len(values) < short:
            return [*values, *[make() for make in makers[len(values) - required :]]]
        told = dict(zip(places, values, strict=False)) | named
        fits = len(told) == len(values) + len(named)  # none too many, and none twice
        told = defaults | told
        for name, make in factories.items():
            if name not in told:
                told[name] = make()
        if not fits or told.keys() != wanted:
            _real(cls, fields, params)(*values, **named)  # raises, and says what does not fit
        return [told[name] for name in names]

    members = {
        name: value
        for base in reversed(cls.__mro__[:-1])  # `object` has none
        for name, value in base.__dict__.items()
        if type(value) is MemberDescriptorType
    }
    if names and members.keys() >= {*names}:  # the setter of a slot is faster than the search for it
        setters = tuple(members[name].__set__ for name in names)

        def __init__(self: Any, /, *values: Any, **named: Any) -> None:
            if named or len(values) != short:
                values = given(values, named)  # type: ignore[assignment]  # a list does as well
            for put, value in zip(setters, values):  # noqa: B905 - as many, and a keyword takes time
                put(self, value)
            if has_more:
                self.__post_init__()
    else:
        assign = object.__setattr__ if params["frozen"] else setattr

        def __init__(self: Any, /, *values: Any, **named: Any) -> None:
            if named or len(values) != short:
                values = given(values, named)  # type: ignore[assignment]  # a list does as well
            for name, value in zip(names, values):  # noqa: B905 - the same
                assign(self, name, value)
            if has_more:
                self.__post_init__()

    return __init__


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
    def __repr__(self: Any) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name, one in fields.items() if one.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    return recursive_repr()(__repr__)


def _refusal(cls: type, fields: Mapping[str, _Field], method: str, what: str) -> Callable[..., None]:
    """Return what refuses to change an object; a class below may have attributes of its own."""

    def refuse(self: object, name: str, *value: object) -> None:
        if type(self) is cls or name in fields:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {what} field {name!r}")
        getattr(super(cls, self), method)(name, *value)

    return refuse


def _real(cls: type, fields: Mapping[str, _Field], params: Mapping[str, bool]) -> Any:
    """Return a dataclass of Python with the same fields, for what `dataclasses` and `inspect` ask."""
    import dataclasses

    space: dict[str, Any] = {
        "__annotations__": {},
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
    }
    for name, one in fields.items():
        told = {"default": one.default, "default_factory": one.factory}
        given = {key: value for key, value in told.items() if value is not _MISSING}
        space["__annotations__"][name] = one.annotation
        space[name] = dataclasses.field(
            **given, init=one.init, repr=one.repr, compare=one.compare, kw_only=bool(one.keyword)
        )
    return dataclasses.dataclass(**params)(type(cls.__name__, (), space))
