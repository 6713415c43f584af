"""An audited table becomes the object graph again: one loop, every reference backwards.

Names are resolved and checked before, all of them, so that nothing is built when one is wrong. What
goes wrong then comes from the classes themselves, or from data that no check can see; it is raised
as ObjectBuildError with the record and the attribute path.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Sequence, Sized

from packager._archive import FREE_KEYS
from packager._codecs import ObjectCodec
from packager._process import failure_of_model, gc_paused
from packager.errors import DeviceNotHereError, PackageError

from .checking import paths_to
from .key_spread import require_once
from .kinds import FILLS, ROWS
from .records import KIND_NAMES, Kind, Record

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, TypeVar

    _T = TypeVar("_T")
    _Sized = TypeVar("_Sized", bound=Sized)


class ObjectBuildError(PackageError, ValueError):
    """An object cannot be built: a class refused its state, or its data does not fit."""


def build(
    audited: object,
    names: object,
    tensors: Callable[[str], memoryview] | None = None,
    *,
    importer: object = None,
    map_location: object = None,
) -> Any:
    """Build the object of an audited table, which `audit` of packager._audit gives.

    `names` are the objects behind its names, as `resolve_names` gives them: nothing is imported here, and no
    loader is asked for a source.
    `tensors(name)` gives the bytes of a storage; where they are writable, so are the arrays. It is
    not needed where no record refers to one. `importer` is handed to functions of
    `__reduce_package__`, `map_location` to codecs of tensors.

    Raises ObjectBuildError where a class refuses its state, or data does not fit.

    >>> from packager._audit import TrustContext, audit
    >>> from packager._objects import encode
    >>> build(audit(encode({"a": [1, (2,)]}).records, TrustContext.data_only()), {})
    {'a': [1, (2,)]}
    """
    builder = Builder(audited, names, tensors, importer, map_location)
    with gc_paused():
        return builder.run()


_TEXT: Final = frozenset({str})


class Builder:
    """One building: the objects by record number. It is `packager._codecs.Decoding` for codecs."""

    def __init__(
        self,
        audited: Any,
        names: Any,
        tensors: Callable[[str], memoryview] | None,
        importer: Any,
        map_location: Any,
    ) -> None:
        self.map_location = map_location
        self.audited = audited
        self.names = names
        self._tensors = tensors
        self.importer = importer
        self.built: list[Any] = []
        self._buffers: dict[str, memoryview] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._notes: dict[Callable[[], object], object] = {}
        self._slots: dict[type, dict[str, Any]] = {}
        self.gates = audited.gates(names)  # which packager._audit answers

    def run(self) -> Any:
        """Build every record; return the root."""
        built = self.built
        for record in self.audited.records:
            try:
                built.append(ROWS[record[0]].make(self, record))
            except Exception as error:
                raise self._failure(record, error) from error
        self.gates.complete(built, self._object_codecs(), self._failed)
        return self.value(self.audited.root)

    def _object_codecs(self) -> Iterable[tuple[int, ObjectCodec]]:
        for index, record in enumerate(self.audited.records):
            if record[0] == Kind.OBJ and (codec := self.object_codec(index)) is not None:
                yield index, codec[0]

    def _failed(self, index: int, error: Exception) -> PackageError:
        return self._failure(self.audited.records[index], error, index)

    def _failure(self, record: Record, error: Exception, index: int | None = None) -> PackageError:
        index = len(self.built) if index is None else index
        subject = -1 - record[1] if record[0] in FILLS else index
        path = paths_to(self.audited.records, self.audited.root, {subject})[subject]
        if isinstance(error, DeviceNotHereError):
            return DeviceNotHereError(f"{self.audited.what}: {path}: {error}")
        return ObjectBuildError(
            f"{self.audited.what}: {path} cannot be built (record {index}, {KIND_NAMES[record[0]]}): "
            f"{failure_of_model(error)}"
        ).holding(getattr(error, "problems", ()))

    # --- packager._codecs.Decoding ---

    def number(self, family: str, number: int, make: Callable[[], int]) -> int:
        key = (family, number)
        if key not in self._numbers:
            self._numbers[key] = make()
        return self._numbers[key]

    def shared_state(self, make: Callable[[], _T]) -> _T:
        return self._notes.setdefault(make, make())  # type: ignore[return-value]  # keyed by its maker

    # --- what the rows of kinds ask for ---

    def value(self, operand: object) -> Any:
        """Return what an operand stands for."""
        return self.built[-1 - operand] if type(operand) is int and operand < 0 else operand

    def values(self, operands: Sequence[Any]) -> list[Any]:
        """Return what operands stand for."""
        built = self.built
        return [
            built[-1 - operand] if type(operand) is int and operand < 0 else operand for operand in operands
        ]

    def buffer(self, storage: str) -> memoryview:
        """Return the bytes of a storage, which is asked for once. Raises ValueError where none were given."""
        if storage not in self._buffers:
            if self._tensors is None:
                raise ValueError(f"a record refers to the storage {storage!r}, but no tensors were given")
            self._buffers[storage] = self._tensors(storage)
        return self._buffers[storage]

    def dict_of(self, keys: Sequence[Any], values: Sequence[Any]) -> Any:
        """Return a dict of keys, each of which is there once, and their values."""
        if len(keys) > FREE_KEYS or set(map(type, keys)) != _TEXT:  # few texts need no look
            self.gates.check_keys(keys, in_set=False)
        return _each_once(keys, dict(zip(keys, values, strict=True)))

    def set_of(self, kind: type, members: Sequence[Any]) -> Any:
        """Return a set or a frozenset of members, each of which is there once."""
        self.gates.check_keys(members, in_set=True)
        return _each_once(members, kind(members))

    def arguments(self, function: object, args: Sequence[Any], keywords: object = None) -> Sequence[Any]:
        """Return the arguments of a call. Raises ValueError for those that code in C must not be given."""
        self.gates.check_arguments(function, args, keywords)
        return args

    def object_codec(self, index: int) -> tuple[ObjectCodec, int] | None:
        """Return the codec that made an object of attributes, and its version; None where none did."""
        record = self.audited.records[index]
        if record[0] != Kind.OBJ:
            return None
        codec: tuple[ObjectCodec, int] | None = self.built[-1 - record[1]][1]
        return codec

    def put(self, target: Any, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Give pairs to a mapping; a class of stored code may keep them as it likes."""
        self.gates.check_more_keys(target, keys)
        plain = isinstance(type(target).__setitem__, types.WrapperDescriptorType)
        before = len(target) if plain else 0
        for key, value in zip(keys, values, strict=True):
            target[key] = value
        if plain:
            require_once(keys, len(target) - before)

    def set_attributes(
        self, made: object, names: Sequence[str], values: Sequence[Any], *, anew: bool = False
    ) -> None:
        """Put values into slots and into the `__dict__`; no property, no `__setattr__` runs.

        What a call has set already takes its place in the stored order where they are set `anew`, or encoding
        the object again would differ. Raises AttributeError where there is no place for one.
        """
        if not names:
            return
        slots = self._slots.get(type(made))
        if slots is None:
            slots = self._slots[type(made)] = slots_of(type(made))
        own = _own_dict(made)
        for name in names if anew and own else ():
            own.pop(name, None)
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


def _own_dict(made: Any) -> Any:
    """The `__dict__` of an object itself: an alias shows that of what it stands for."""
    try:
        return object.__getattribute__(made, "__dict__")
    except AttributeError:
        return None


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
