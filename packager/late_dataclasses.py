"""Dataclasses whose methods are compiled when they are first used; used as `dataclasses` is.

`dataclasses.dataclass` compiles six functions for a frozen class at once, a third of a millisecond, and
importing the module imports `inspect`. A command that opens an archive defines forty such classes and makes
objects of seven. Here a class gets descriptors, each of which becomes the function that it stands for when it
is first looked up.

What the classes of this package ask for is there, and nothing else: no InitVar, `metadata`, `unsafe_hash` or
`weakref_slot`. `dataclasses.fields`, `asdict` and `is_dataclass` take the classes as they are, and so do
`inspect.signature`, `pickle` and `copy`.

Source: dataclasses of Python, whose semantics these are.
"""

from __future__ import annotations

import sys
from functools import partial
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace

__all__ = ["dataclass", "field", "field_names", "replace"]


class _Missing:
    """What stands for a default that was not given, and in a signature for one that is made by a call."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING: Final = _Missing()
_RECORDED: Final = "__late_fields__"
_NOT_COMPILED: Final = 8  # objects that are made in the time that compiling takes


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


class _Late:
    """A method of a class, or another attribute, that is made when it is first looked up."""

    __slots__ = ("home", "make", "name")

    def __init__(self, name: str, make: Callable[[type], Any]) -> None:
        self.name, self.make = name, make
        self.home: type = object  # told once it is known: a class with slots is made anew

    def __get__(self, instance: object, owner: type) -> Any:
        home = self.home
        made = self.make(home)
        setattr(home, self.name, made)
        return made.__get__(instance, owner) if hasattr(made, "__get__") else made


class _LateInit(_Late):
    """`__init__`, which is compiled for the objects after the first few: most classes make one or two."""

    __slots__ = ("fields", "left", "set")

    def __init__(self, make: Callable[[type], Any], fields: Mapping[str, _Field]) -> None:
        super().__init__("__init__", make)
        self.fields = fields
        plain = all(one.init and not one.keyword for one in fields.values())
        self.left = _NOT_COMPILED if plain else 0

    def __get__(self, instance: object, owner: type) -> Any:
        if self.left <= 0 or not isinstance(instance, self.home):  # a class: `inspect` of 3.13
            return super().__get__(instance, owner)
        self.left -= 1
        return partial(self._fill, instance)

    def _fill(self, instance: Any, /, *values: Any, **named: Any) -> None:
        """Do what the compiled method does; a call that does not fit is left to it, and its message."""
        given = dict(zip(self.fields, values, strict=False))
        wrong = len(values) > len(given) or not given.keys().isdisjoint(named)
        given |= named
        for name, one in self.fields.items():
            if name not in given and one.is_optional:
                given[name] = one.default if one.factory is _MISSING else one.factory()
        if wrong or given.keys() != self.fields.keys():
            super().__get__(instance, self.home)(*values, **named)
            return
        for name in self.fields:  # in their order, which that of a `__dict__` is
            object.__setattr__(instance, name, given[name])
        if hasattr(self.home, "__post_init__"):
            instance.__post_init__()


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
    """Make a class a dataclass, whose methods are compiled when they are first used: see the module."""

    def made(cls: type) -> type:
        fields = _fields_of(cls, kw_only)
        late: dict[str, Callable[[type], Any]] = {}
        if repr:
            late["__repr__"] = lambda home: _repr(home, fields)
        if eq:
            late["__eq__"] = lambda home: _comparison(home, fields, "__eq__", "==")
        if order:
            for name, sign in (("__lt__", "<"), ("__le__", "<="), ("__gt__", ">"), ("__ge__", ">=")):
                late[name] = partial(_comparison, fields=fields, name=name, sign=sign)
        has_hash = cls.__dict__.get("__hash__", _MISSING)
        has_hash = has_hash is not _MISSING and not (has_hash is None and "__eq__" in cls.__dict__)
        if eq and frozen and not has_hash:
            late["__hash__"] = lambda home: _hash(home, fields)
        params = {"frozen": frozen, "eq": eq, "repr": repr, "order": order, "kw_only": kw_only}
        late["__dataclass_fields__"] = lambda home: _real(home, fields, params).__dataclass_fields__
        late["__dataclass_params__"] = lambda home: _real(home, fields, params).__dataclass_params__
        if frozen:
            late["__setattr__"] = lambda home: _refusal(home, fields, "__setattr__", "assign to")
            late["__delattr__"] = lambda home: _refusal(home, fields, "__delattr__", "delete")
        written = {name for name, value in cls.__dict__.items() if name != "__hash__" or has_hash}
        members: dict[str, Any] = {
            name: _Late(name, make) for name, make in late.items() if name not in written
        }
        members["__init__"] = _LateInit(lambda home: _init(home, fields, frozen), fields)
        if eq and not frozen and not has_hash:
            members["__hash__"] = None
        members[_RECORDED] = fields
        members["__match_args__"] = tuple(
            name for name, one in fields.items() if one.init and not one.keyword
        )
        cls = _with_slots(cls, fields, members, frozen) if slots else _with_members(cls, fields, members)
        for member in members.values():
            if isinstance(member, _Late):
                member.home = cls
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


def _fields_of(cls: type, kw_only: bool) -> dict[str, _Field]:
    """Return the fields of a class by name, those of its bases first."""
    fields: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= base.__dict__.get(_RECORDED, {})
    for name, annotation in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063 - without `inspect`
        if _is_class_variable(annotation):
            continue
        told = cls.__dict__.get(name, _MISSING)
        one = told if isinstance(told, _Field) else _Field(told)
        if one.default.__class__.__hash__ is None:
            raise ValueError(f"mutable default {type(one.default)} for field {name}: use default_factory")
        one.annotation = annotation
        one.keyword = kw_only if one.keyword is None else one.keyword
        fields[name] = one
    return fields


def _is_class_variable(annotation: Any) -> bool:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__qualname__", "")
    return text.removeprefix("typing.").startswith("ClassVar")


def _with_members(cls: type, fields: Mapping[str, _Field], members: Mapping[str, Any]) -> type:
    for name, one in fields.items():
        if isinstance(cls.__dict__.get(name), _Field):
            if one.default is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, one.default)
    for name, member in members.items():
        setattr(cls, name, member)
    return cls


def _with_slots(cls: type, fields: Mapping[str, _Field], members: Mapping[str, Any], frozen: bool) -> type:
    """Return the class made anew with a slot for each field that its bases have none for."""
    inherited = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
    dropped = {*fields, "__dict__", "__weakref__"}
    space = {name: value for name, value in cls.__dict__.items() if name not in dropped}
    space["__slots__"] = tuple(name for name in fields if name not in inherited)
    if frozen:  # what pickle and copy would set attribute by attribute
        space |= {
            "__getstate__": lambda self: [getattr(self, name) for name in fields],
            "__setstate__": _set_state,
        }
    made = type(cls)(cls.__name__, cls.__bases__, space | dict(members))
    made.__qualname__ = cls.__qualname__
    return made


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, _RECORDED), state, strict=True):
        object.__setattr__(self, name, value)


def _refusal(cls: type, fields: Mapping[str, _Field], method: str, what: str) -> Any:
    """Return what refuses to change an object; a class below may have attributes of its own."""

    def refuse(self: object, name: str, *value: object) -> None:
        if type(self) is cls or name in fields:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {what} field {name!r}")
        getattr(super(cls, self), method)(name, *value)

    return refuse


def _init(cls: type, fields: Mapping[str, _Field], frozen: bool) -> Any:
    space: dict[str, Any] = {"_set": object.__setattr__, "_left": _MISSING}
    slots = _slots_of(cls) if frozen else {}
    places: list[tuple[str, _Field]] = []
    keywords: list[tuple[str, _Field]] = []
    body: list[str] = []
    for name, one in fields.items():
        if one.is_optional:
            space |= {f"_default_{name}": one.default, f"_make_{name}": one.factory}
        value = name
        if one.init:
            default = f"=_default_{name}" if one.default is not _MISSING else ""
            default = "=_left" if one.factory is not _MISSING else default
            (keywords if one.keyword else places).append((name + default, one))
            if one.factory is not _MISSING:
                value = f"_make_{name}() if {name} is _left else {name}"
        elif one.is_optional:
            value = f"_default_{name}" if one.factory is _MISSING else f"_make_{name}()"
        else:
            continue
        if name in slots:  # the setter of a slot is faster than the search for it
            space[f"_set_{name}"] = slots[name].__set__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    _require_defaults_last(cls, places)
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    heads = ["self", *(head for head, _ in places)]
    heads += ["*", *(head for head, _ in keywords)] if keywords else []
    init = _compiled(cls, "__init__", ", ".join(heads), body or ["pass"], space)
    init.__annotations__ = {name: one.annotation for name, one in fields.items() if one.init}
    init.__annotations__["return"] = None
    return init


def _slots_of(cls: type) -> dict[str, Any]:
    """Return what stands for the slots of a class and its bases, by their names."""
    return {
        name: value
        for base in reversed(cls.__mro__)
        for name, value in base.__dict__.items()
        if type(value) is MemberDescriptorType
    }


def _require_defaults_last(cls: type, places: list[tuple[str, _Field]]) -> None:
    optional = [one.is_optional for _, one in places]
    if optional != sorted(optional):
        raise TypeError(f"{cls.__qualname__}: a field without a default follows one with a default")


def _repr(cls: type, fields: Mapping[str, _Field]) -> Any:
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name, one in fields.items() if one.repr)
    body = [f"return f'{{self.__class__.__qualname__}}({shown})'"]
    return recursive_repr()(_compiled(cls, "__repr__", "self", body, {}))


def _comparison(cls: type, fields: Mapping[str, _Field], name: str, sign: str) -> Any:
    body = [
        "if other.__class__ is self.__class__:",
        f" return {_tuple_of('self', fields)} {sign} {_tuple_of('other', fields)}",
        "return NotImplemented",
    ]
    return _compiled(cls, name, "self, other", body, {})


def _hash(cls: type, fields: Mapping[str, _Field]) -> Any:
    return _compiled(cls, "__hash__", "self", [f"return hash({_tuple_of('self', fields)})"], {})


def _tuple_of(whose: str, fields: Mapping[str, _Field]) -> str:
    return "(" + "".join(f"{whose}.{name}, " for name, one in fields.items() if one.compare) + ")"


def _compiled(cls: type, name: str, heads: str, body: list[str], values: Mapping[str, Any]) -> Any:
    """Compile a method of names of fields, which are identifiers; `values` are there by name.

    It is compiled among the names of the class' module, where its annotations are understood.
    """
    lines = [f"def make({', '.join(values)}):", f" def {name}({heads}):", *(f"  {line}" for line in body)]
    made: dict[str, Any] = {}
    exec("\n".join([*lines, f" return {name}"]), vars(sys.modules[cls.__module__]), made)
    method = made["make"](**values)
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


def _real(cls: type, fields: Mapping[str, _Field], params: Mapping[str, bool]) -> Any:
    """Return a dataclass of Python with the same fields, for what `dataclasses` asks."""
    import dataclasses

    space: dict[str, Any] = {"__annotations__": {}, "__module__": cls.__module__}
    for name, one in fields.items():
        told = {"default": one.default, "default_factory": one.factory}
        given = {key: value for key, value in told.items() if value is not _MISSING}
        space["__annotations__"][name] = one.annotation
        space[name] = dataclasses.field(
            **given, init=one.init, repr=one.repr, compare=one.compare, kw_only=bool(one.keyword)
        )
    return dataclasses.dataclass(**params)(type(cls.__name__, (), space))
