"""An audited table becomes the object graph again: one loop, every reference backwards.

Names are resolved and checked before, all of them, so that nothing is built when one is wrong. What
goes wrong then comes from the classes themselves, or from data that no check can see; it is raised
as ObjectBuildError with the record and the attribute path.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, Final, Protocol, TypeVar

from packager.archive import FREE_KEYS
from packager.codecs import ObjectCodec, StoredTensor
from packager.collector import gc_paused
from packager.errors import DeviceNotHereError, PackageError
from packager.process import failure_of_model
from packager.tensors import contiguous_strides

from .functions import FunctionHome
from .key_spread import require_once
from .records import FILLS, KIND_NAMES, Kind, Record, paths_to
from .runs import values_of

_T = TypeVar("_T")
_Sized = TypeVar("_Sized", bound=Sized)


class Gates(Protocol):
    """What is asked while a table is built; `packager.audit` answers. Each method raises ValueError."""

    def note_large_number(self) -> None: ...
    def check_keys(self, values: Sequence[Any], *, in_set: bool) -> None: ...
    def check_more_keys(self, target: Any, values: Sequence[Any]) -> None: ...
    def check_names(self, cls: type, names: Sequence[str], *, with_slots: bool = True) -> None: ...
    def check_maker(self, cls: Any) -> None: ...
    def make(self, cls: Any) -> Any: ...
    def check_arguments(self, function: Any, args: Sequence[Any], keywords: Any) -> None: ...
    def take_state(self, target: Any, state: Any, codec: tuple[ObjectCodec, int] | None) -> None: ...
    def complete(
        self,
        built: Sequence[Any],
        codecs: Iterable[tuple[int, ObjectCodec]],
        failure: Callable[[int, Exception], Exception],
    ) -> None: ...


class ObjectBuildError(PackageError, ValueError):
    """A checked object that cannot be built: a class refused its state, or data that does not fit."""


def build(
    audited: Any,
    names: Any,
    tensors: Callable[[str], memoryview] | None = None,
    *,
    importer: Any = None,
    map_location: Any = None,
) -> Any:
    """Build the object of an audited table, which `audit` of packager.audit gives.

    `names` are the objects behind its names, as `resolve_names` gives them: nothing is imported here, and no
    loader is asked for a source.
    `tensors(name)` gives the bytes of a storage; where they are writable, so are the arrays. It is
    not needed where no record refers to one. `importer` is handed to functions of
    `__reduce_package__`, `map_location` to codecs of tensors.

    Raises ObjectBuildError where a class refuses its state, or data does not fit.

    >>> from packager.audit import TrustContext, audit
    >>> from packager.objects import encode
    >>> build(audit(encode({"a": [1, (2,)]}).records, TrustContext.data_only()), {})
    {'a': [1, (2,)]}
    """
    builder = _Builder(audited, names, tensors, importer, map_location)
    with gc_paused():
        return builder.run()


_TEXT: Final = frozenset({str})


class _Builder:
    """One building: the objects by record number. It is `packager.codecs.Decoding` for codecs."""

    def __init__(
        self,
        audited: Any,
        names: Any,
        tensors: Callable[[str], memoryview] | None,
        importer: Any,
        map_location: Any,
    ) -> None:
        self.map_location = map_location
        self._audited = audited
        self._names = names
        self._tensors = tensors
        self._importer = importer
        self._built: list[Any] = []
        self._buffers: dict[str, memoryview] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._notes: dict[Callable[[], object], object] = {}
        self._slots: dict[type, dict[str, Any]] = {}
        self._gates: Gates = audited.gates(names)

    def run(self) -> Any:
        """Build every record; return the root."""
        steps, built = _STEPS, self._built
        for record in self._audited.records:
            try:
                built.append(steps[record[0]](self, record))
            except Exception as error:
                raise self._failure(record, error) from error
        self._gates.complete(built, self._object_codecs(), self._failed)
        return self._value(self._audited.root)

    def _object_codecs(self) -> Iterable[tuple[int, ObjectCodec]]:
        for index, record in enumerate(self._audited.records):
            if record[0] == Kind.OBJ and (codec := self._object_codec(index)) is not None:
                yield index, codec[0]

    def _failed(self, index: int, error: Exception) -> PackageError:
        return self._failure(self._audited.records[index], error, index)

    def _failure(self, record: Record, error: Exception, index: int | None = None) -> PackageError:
        index = len(self._built) if index is None else index
        subject = -1 - record[1] if record[0] in FILLS else index
        path = paths_to(self._audited.records, self._audited.root, {subject})[subject]
        if isinstance(error, DeviceNotHereError):
            return DeviceNotHereError(f"{self._audited.what}: {path}: {error}")
        return ObjectBuildError(
            f"{self._audited.what}: {path} cannot be built (record {index}, {KIND_NAMES[record[0]]}): "
            f"{failure_of_model(error)}"
        ).holding(getattr(error, "problems", ()))

    # --- packager.codecs.Decoding ---

    def number(self, family: str, number: int, make: Callable[[], int]) -> int:
        key = (family, number)
        if key not in self._numbers:
            self._numbers[key] = make()
        return self._numbers[key]

    def shared_state(self, make: Callable[[], _T]) -> _T:
        return self._notes.setdefault(make, make())  # type: ignore[return-value]  # keyed by its maker

    # --- operands ---

    def _value(self, operand: Any) -> Any:
        return self._built[-1 - operand] if type(operand) is int and operand < 0 else operand

    def _values(self, operands: Sequence[Any]) -> list[Any]:
        built = self._built
        return [
            built[-1 - operand] if type(operand) is int and operand < 0 else operand for operand in operands
        ]

    # --- values and containers ---

    def _global(self, record: Record) -> Any:
        return self._names.get((record[1], record[2]))

    def _int(self, record: Record) -> int:
        literal = record[1]
        if type(literal) is not bytes:
            return literal  # type: ignore[no-any-return]  # an int, as was checked
        self._gates.note_large_number()
        return int.from_bytes(literal, "big", signed=True)

    def _str(self, record: Record) -> str:
        literal = record[1]
        return literal.decode("utf-8", "surrogatepass") if type(literal) is bytes else literal

    def _bytes(self, record: Record) -> Any:
        return record[1]

    def _tensor(self, record: Record) -> StoredTensor:
        _, storage, dtype, shape, strides, offset = record
        if storage not in self._buffers:
            if self._tensors is None:
                raise ValueError(f"no tensors were given, and a record refers to {storage!r}")
            self._buffers[storage] = self._tensors(storage)
        shape = tuple(shape)
        return StoredTensor(
            dtype,
            shape,
            contiguous_strides(shape) if strides is None else tuple(strides),
            offset,
            self._buffers[storage],
        )

    def _tuple(self, record: Record) -> Any:
        return tuple(self._values(record[1:]))

    def _list(self, record: Record) -> Any:
        return self._values(record[1:])

    def _dict(self, record: Record) -> Any:
        values = self._values(record[1:])
        keys = values[::2]
        if len(keys) > FREE_KEYS or set(map(type, keys)) != _TEXT:  # few texts need no look
            self._gates.check_keys(keys, in_set=False)
        return _each_once(keys, dict(zip(keys, values[1::2], strict=True)))

    def _set(self, record: Record) -> Any:
        values = self._values(record[1:])
        self._gates.check_keys(values, in_set=True)
        return _each_once(values, set(values))

    def _frozenset(self, record: Record) -> Any:
        values = self._values(record[1:])
        self._gates.check_keys(values, in_set=True)
        return _each_once(values, frozenset(values))

    def _packed_tuple(self, record: Record) -> Any:
        return tuple(record[1:])

    def _packed_list(self, record: Record) -> Any:
        return record[1:]

    def _packed_dict(self, record: Record) -> Any:
        keys = record[1::2]
        if len(keys) > FREE_KEYS or set(map(type, keys)) != _TEXT:
            self._gates.check_keys(keys, in_set=False)
        return _each_once(keys, dict(zip(keys, record[2::2], strict=True)))

    # --- long containers ---

    def _run(self, record: Record) -> list[Any]:
        return values_of(record)

    def _taken(self, operand: int) -> list[Any]:
        """The values of a run, which one container alone has."""
        values: list[Any] = self._built[-1 - operand]
        self._built[-1 - operand] = None
        return values

    def _long_list(self, record: Record) -> Any:
        return self._taken(record[1])

    def _long_tuple(self, record: Record) -> Any:
        return tuple(self._taken(record[1]))

    def _long_dict(self, record: Record) -> Any:
        keys, values = map(self._taken, record[1:])
        self._gates.check_keys(keys, in_set=False)
        return _each_once(keys, dict(zip(keys, values, strict=True)))

    def _long_set(self, record: Record) -> Any:
        members = self._taken(record[1])
        self._gates.check_keys(members, in_set=True)
        kind = set if record[0] == Kind.LONG_SET else frozenset
        return _each_once(members, kind(members))

    def _extend_long(self, record: Record) -> None:
        target = self._built[-1 - record[1]]
        type(target).extend(target, self._taken(record[2]))

    def _update_long(self, record: Record) -> None:
        keys, values = map(self._taken, record[2:])
        self._put(self._built[-1 - record[1]], keys, values)

    # --- objects ---

    def _shape(self, record: Record) -> Any:
        """(class, codec and version or None, names), as OBJ needs them."""
        cls = self._built[-1 - record[1]]
        codec = None if record[2] is None else self._audited.codecs[record[2]]
        if codec is None:
            self._gates.check_maker(cls)
        self._gates.check_names(cls, record[3:])
        return cls, codec, [sys.intern(name) for name in record[3:]]

    def _obj(self, record: Record) -> Any:
        cls, codec, names = self._built[-1 - record[1]]
        values = self._values(record[2:])
        if codec is not None:
            made = codec[0].make(cls, codec[1])
            codec[0].fill(made, dict(zip(names, values, strict=True)), codec[1])
            return made
        made = self._gates.make(cls)
        self._set_attributes(made, names, values)
        return made

    def _new(self, record: Record) -> Any:
        cls = self._built[-1 - record[1]]
        self._gates.check_maker(cls)
        if len(record) == 2:
            return self._gates.make(cls)
        return cls.__new__(cls, *self._arguments(cls, self._values(record[2:])))

    def _new_kw(self, record: Record) -> Any:
        cls, args, kwargs = self._values(record[1:])
        self._gates.check_maker(cls)
        return cls.__new__(cls, *self._arguments(cls, args, kwargs), **kwargs)

    def _call(self, record: Record) -> Any:
        function = self._built[-1 - record[1]]
        return function(*self._arguments(function, self._values(record[2:])))

    def _call_kw(self, record: Record) -> Any:
        function, args, kwargs = self._values(record[1:])
        return function(*self._arguments(function, args, kwargs), **kwargs)

    def _arguments(self, function: Any, args: Sequence[Any], keywords: Any = None) -> Sequence[Any]:
        """The arguments of a call, when code in C may trust them."""
        self._gates.check_arguments(function, args, keywords)
        return args

    def _package_call(self, record: Record) -> Any:
        return self._built[-1 - record[1]](self._importer, *self._values(record[2:]))

    def _method(self, record: Record) -> Any:
        owner, name = self._built[-1 - record[1]], record[2]
        for cls in type(owner).__mro__:
            if name in vars(cls):
                function = vars(cls)[name]
                if isinstance(function, types.FunctionType):
                    return types.MethodType(function, owner)
                break
        raise ValueError(f"{type(owner).__qualname__} has no method {name!r} written in Python")

    def _function(self, record: Record) -> Any:
        _, name, qualname, digest, own_name, own_qualname, *parts = record
        doc, defaults, keywords, *cells = self._values(parts)
        home: FunctionHome = self._names[name, ""]
        code = home.code_of(qualname, digest)
        if code is None:
            raise ValueError(f"the source of {name} has no {qualname} as it was stored")
        made = types.FunctionType(code, home.namespace, own_name or code.co_name, defaults, tuple(cells))
        made.__kwdefaults__, made.__doc__ = keywords, doc
        made.__qualname__ = own_qualname or code.co_qualname
        return made

    def _cell(self, record: Record) -> Any:
        return types.CellType(*self._values(record[1:]))

    def _node(self, record: Record) -> Any:
        codec = self._audited.codecs[record[1]]
        assert codec is not None
        return codec[0].decode(record[2], self._values(record[3:]), codec[1], self)

    # --- fills ---

    def _fill(self, record: Record) -> None:
        made = self._built[-1 - record[1]]
        names = [sys.intern(name) for name in record[2::2]]
        values = self._values(record[3::2])
        # Slots of what a codec made hold what the codec put there.
        made_by_codec = self._audited.records[-1 - record[1]][0] == Kind.CODEC
        self._gates.check_names(type(made), names, with_slots=not made_by_codec)
        codec = self._object_codec(-1 - record[1])
        if codec is not None:
            codec[0].fill(made, dict(zip(names, values, strict=True)), codec[1])
        else:
            # What a call has set already takes its place in the stored order, or encoding it again differs.
            before = _own_dict(made)
            for name in names if before else ():
                before.pop(name, None)
            self._set_attributes(made, names, values)

    def _object_codec(self, index: int) -> tuple[ObjectCodec, int] | None:
        record = self._audited.records[index]
        return self._built[-1 - record[1]][1] if record[0] == Kind.OBJ else None

    def _extend(self, record: Record) -> None:
        target = self._built[-1 - record[1]]
        type(target).extend(target, self._values(record[2:]))

    def _update(self, record: Record) -> None:
        target = self._built[-1 - record[1]]
        values = self._values(record[2:])
        self._put(target, values[::2], values[1::2])

    def _put(self, target: Any, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Give pairs to a mapping; a class of stored code may keep them as it likes."""
        self._gates.check_more_keys(target, keys)
        plain = isinstance(type(target).__setitem__, types.WrapperDescriptorType)
        before = len(target) if plain else 0
        for key, value in zip(keys, values, strict=True):
            target[key] = value
        if plain:
            require_once(keys, len(target) - before)

    def _add(self, record: Record) -> None:
        target, values = self._built[-1 - record[1]], self._values(record[2:])
        self._gates.check_more_keys(target, values)
        before = len(target)
        target.update(values)
        require_once(values, len(target) - before)

    def _setcell(self, record: Record) -> None:
        self._built[-1 - record[1]].cell_contents = self._value(record[2])

    def _state(self, record: Record) -> None:
        target, state = self._built[-1 - record[1]], self._value(record[2])
        self._gates.take_state(target, state, self._object_codec(-1 - record[1]))

    def _finish(self, record: Record) -> None:
        codec = self._audited.codecs[record[2]]
        assert codec is not None
        target = self._built[-1 - record[1]]
        codec[0].finish(target, record[3], self._values(record[4:]), codec[1], self)

    def _set_attributes(self, made: Any, names: list[str], values: list[Any]) -> None:
        """Put values into slots and into the `__dict__`; no property, no `__setattr__` runs."""
        if not names:
            return
        slots = self._slots.get(type(made))
        if slots is None:
            slots = self._slots[type(made)] = slots_of(type(made))
        own = _own_dict(made)
        for name, value in zip(names, values, strict=True):
            if name in slots:
                slots[name].__set__(made, value)
            elif own is None:
                raise AttributeError(f"{type(made).__qualname__!r} object has no attribute {name!r}")
            else:
                own[name] = value


def _each_once(keys: Sequence[Any], made: _Sized) -> _Sized:
    """Return a dict or a set that was made of these keys. Raises ValueError where one came twice."""
    if len(made) < len(keys):
        require_once(keys, len(made))
    return made


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


def _own_dict(made: Any) -> Any:
    """The `__dict__` of an object itself: an alias shows that of what it stands for."""
    try:
        return object.__getattribute__(made, "__dict__")
    except AttributeError:
        return None


_STEPS: Final[dict[int, Callable[[_Builder, Record], Any]]] = {
    Kind.GLOBAL: _Builder._global,
    Kind.INT: _Builder._int,
    Kind.STR: _Builder._str,
    Kind.BYTES: _Builder._bytes,
    Kind.TENSOR: _Builder._tensor,
    Kind.TUPLE: _Builder._tuple,
    Kind.LIST: _Builder._list,
    Kind.DICT: _Builder._dict,
    Kind.SET: _Builder._set,
    Kind.FROZENSET: _Builder._frozenset,
    Kind.PACKED_TUPLE: _Builder._packed_tuple,
    Kind.PACKED_LIST: _Builder._packed_list,
    Kind.PACKED_DICT: _Builder._packed_dict,
    Kind.SHAPE: _Builder._shape,
    Kind.OBJ: _Builder._obj,
    Kind.NEW: _Builder._new,
    Kind.NEW_KW: _Builder._new_kw,
    Kind.CALL: _Builder._call,
    Kind.CALL_KW: _Builder._call_kw,
    Kind.PACKAGE_CALL: _Builder._package_call,
    Kind.METHOD: _Builder._method,
    Kind.FUNCTION: _Builder._function,
    Kind.CELL: _Builder._cell,
    Kind.CODEC: _Builder._node,
    Kind.FILL: _Builder._fill,
    Kind.EXTEND: _Builder._extend,
    Kind.UPDATE: _Builder._update,
    Kind.ADD: _Builder._add,
    Kind.SETCELL: _Builder._setcell,
    Kind.STATE: _Builder._state,
    Kind.FINISH: _Builder._finish,
    Kind.RUN: _Builder._run,
    Kind.LONG_TUPLE: _Builder._long_tuple,
    Kind.LONG_LIST: _Builder._long_list,
    Kind.LONG_DICT: _Builder._long_dict,
    Kind.LONG_SET: _Builder._long_set,
    Kind.LONG_FROZENSET: _Builder._long_set,
    Kind.EXTEND_LONG: _Builder._extend_long,
    Kind.UPDATE_LONG: _Builder._update_long,
}
