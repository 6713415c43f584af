"""An audited table becomes the object graph again: one loop, every reference backwards.

Names are resolved and checked before, all of them, so that nothing is built when one is wrong. What
goes wrong then comes from the classes themselves, or from data that no check can see; it is raised
as ObjectBuildError with the record and the attribute path.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence, Sized
from functools import cached_property
from typing import Any, Final, TypeVar

from packager.archive import FREE_KEYS
from packager.codecs import ObjectCodec, StateCheck, default_registry, state_checks
from packager.collector import gc_paused
from packager.errors import DeviceNotHereError, PackageError
from packager.process import failure_of_model

from .auditing import AuditedObject
from .checking import paths_to
from .family_states import FAMILY, check_family, family_taker
from .key_spread import require_once
from .keys import KeyChecks
from .kinds import FILLS, ROWS
from .listed_states import LISTED_STATES
from .records import KIND_NAMES, Kind, Record
from .resolving import Names
from .safeguards import (
    check_foreign_state,
    check_takes_state,
    forbid_other_values,
    forbid_shadows,
    slots_of,
)
from .trust import TOKENIZER

_T = TypeVar("_T")
_Sized = TypeVar("_Sized", bound=Sized)


class ObjectBuildError(PackageError, ValueError):
    """A checked object that cannot be built: a class refused its state, or data that does not fit."""


def build(
    audited: AuditedObject,
    names: Names,
    tensors: Callable[[str], memoryview] | None = None,
    *,
    importer: Any = None,
    map_location: Any = None,
) -> Any:
    """Build the object of an audited table.

    `names` are the objects behind its names, as `resolve_names` gives them: nothing is imported here, and no
    loader is asked for a source.
    `tensors(name)` gives the bytes of a storage; where they are writable, so are the arrays. It is
    not needed where no record refers to one. `importer` is handed to functions of
    `__reduce_package__`, `map_location` to codecs of tensors.

    Raises ObjectBuildError where a class refuses its state, or data does not fit.

    >>> from packager.objects import TrustContext, audit, encode
    >>> build(audit(encode({"a": [1, (2,)]}).records, TrustContext.data_only()), {})
    {'a': [1, (2,)]}
    """
    builder = Builder(audited, names, tensors, importer, map_location)
    with gc_paused():
        return builder.run()


_TEXT: Final = frozenset({str})
_CHECKED_AT_ONCE: Final = 128
"""Objects in one sweep of a check: enough for NumPy to be quick, and its arrays stay small."""


class Builder:
    """One building: the objects by record number. It is `packager.codecs.Decoding` for codecs."""

    def __init__(
        self,
        audited: AuditedObject,
        names: Names,
        tensors: Callable[[str], memoryview] | None,
        importer: Any,
        map_location: Any,
    ) -> None:
        self.map_location = map_location
        self.audited = audited
        self.names: Names = names
        self._tensors = tensors
        self.importer = importer
        self.built: list[Any] = []
        self._buffers: dict[str, memoryview] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._notes: dict[Callable[[], object], object] = {}
        self._slots: dict[type, dict[str, Any]] = {}
        self._state_checks: dict[int, tuple[StateCheck, ...]] = {}
        granted = [(names.get(use[:2]), grant.by) for use, grant in audited.grants.items()]
        self._trusted = {id(obj) for obj, by in granted if by == "trust"}
        self._foreign = {id(obj) for obj, by in granted if by == "extern"}
        self._families, self._tokenizers = (
            {id(names.get(use[:2])) for use, grant in audited.grants.items() if grant.condition == condition}
            - self._trusted
            for condition in (FAMILY, TOKENIZER)
        )
        self._takers = {
            id(names[use]): taker
            for use in names
            if (taker := _taker_of(":".join(use))) is not None and id(names[use]) not in self._trusted
        }

    @cached_property
    def keys(self) -> KeyChecks:
        records = self.audited.records
        return KeyChecks(lambda: sum(map(len, records)), self._trusted)

    def run(self) -> Any:
        """Build every record; return the root."""
        built = self.built
        for record in self.audited.records:
            try:
                built.append(ROWS[record[0]].make(self, record))
            except Exception as error:
                raise self._failure(record, error) from error
        self._check_c_state()
        if self.audited.is_data_alone:
            self._check_made()
            self._check_families()
        return self.value(self.audited.root)

    def _check_made(self) -> None:
        """What codecs of objects made of data alone, looked at when it is complete."""
        records = self.audited.records
        for index in [index for index, record in enumerate(records) if record[0] == Kind.OBJ]:
            record, codec = records[index], self.object_codec(index)
            if codec is None or id(type(self.built[index])) in self._trusted:
                continue
            try:
                codec[0].check_made(self.built[index])
            except Exception as error:
                raise self._failure(record, error, index) from error

    def _check_families(self) -> None:
        """What objects of known families name, where the class would call it or write there."""
        for index, made in enumerate(self.built if self._families else ()):
            if id(type(made)) in self._families:
                try:
                    check_family(made)
                except ValueError as error:
                    raise self._failure(self.audited.records[index], error, index) from error

    def _check_c_state(self) -> None:
        """What code in C will trust, looked at when all is complete; with stored code or trust as well."""
        kinds = [*map(type, self.built)]
        by_id = dict(zip(map(id, kinds), kinds, strict=True))
        checked = {number: checks for number, cls in by_id.items() if (checks := self._checks_of(cls))}
        waiting: dict[StateCheck, list[int]] = {}
        for index, number in enumerate(map(id, kinds) if checked else ()):
            for check in checked.get(number, ()):
                waiting.setdefault(check, []).append(index)
        for check, places in waiting.items():
            for start in range(0, len(places), _CHECKED_AT_ONCE):
                self._check_many(check, places[start : start + _CHECKED_AT_ONCE])

    def _check_many(self, check: StateCheck, places: Sequence[int]) -> None:
        """Check objects in one sweep where there is one, and each by itself where it finds a fault."""
        try:
            passed = check.passes_all([self.built[index] for index in places])
        except Exception:  # whatever it is, the object by itself has it, too
            passed = False
        for index in () if passed else places:
            try:
                check.check_made(self.built[index])
            except Exception as error:
                raise self._failure(self.audited.records[index], error, index) from error

    def _checks_of(self, cls: Any) -> tuple[StateCheck, ...]:
        """The checks of a class, by its id: a class of stored code may hash as it likes."""
        found = self._state_checks.get(id(cls))
        if found is None:
            found = self._state_checks[id(cls)] = (
                state_checks(cls, self._codecs_here.library) if isinstance(cls, type) else ()
            )
        return found

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

    # --- packager.codecs.Decoding ---

    def number(self, family: str, number: int, make: Callable[[], int]) -> int:
        key = (family, number)
        if key not in self._numbers:
            self._numbers[key] = make()
        return self._numbers[key]

    def shared_state(self, make: Callable[[], _T]) -> _T:
        return self._notes.setdefault(make, make())  # type: ignore[return-value]  # keyed by its maker

    # --- what data alone, and classes of externs, may not do ---

    def check_names(self, cls: type, names: Sequence[str], *, with_slots: bool = True) -> None:
        """Demand that data alone takes the place of no method or value; what is trusted is the caller's."""
        if self.audited.is_data_alone and id(cls) not in self._trusted:
            forbid_shadows(cls, names, with_slots=with_slots)
            if id(cls) in self._families or id(cls) in self._tokenizers:
                forbid_other_values(cls, names)

    def _check_keys(self, values: Sequence[Any], *, in_set: bool) -> None:
        """In data alone no key is hashed or compared by code of its class, or at a price beyond its size."""
        if self.audited.is_data_alone:
            self.keys.require(values, in_set=in_set)

    def check_more_keys(self, target: Any, values: Sequence[Any]) -> None:
        """Look at keys that a dict or a set is given later, together with what it holds."""
        if self.audited.is_data_alone:
            self.keys.require_more(target, values)

    def check_maker(self, cls: Any) -> None:
        """Raise ValueError where data alone goes around the codec that makes a class, and its checks."""
        if not self.audited.is_data_alone or id(cls) in self._trusted:
            return
        codec = self._codecs_here.for_class(cls)
        if codec is not None:
            raise ValueError(f"{cls.__qualname__} is made by the codec {codec.name!r}, which was passed over")

    @cached_property
    def _codecs_here(self) -> Any:
        return default_registry()

    def made(self, cls: Any) -> Any:
        """Return an instance without state; of an extern by `object.__new__`, where its own is in Python."""
        known = id(cls) in self._foreign or id(cls) in self._families
        if known and isinstance(cls.__new__, types.FunctionType):
            return object.__new__(cls)
        return cls.__new__(cls)

    # --- what the rows of kinds ask for ---

    def value(self, operand: Any) -> Any:
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
                raise ValueError(f"no tensors were given, and a record refers to {storage!r}")
            self._buffers[storage] = self._tensors(storage)
        return self._buffers[storage]

    def dict_of(self, keys: Sequence[Any], values: Sequence[Any]) -> Any:
        """Return a dict of keys, each of which is there once, and their values."""
        if len(keys) > FREE_KEYS or set(map(type, keys)) != _TEXT:  # few texts need no look
            self._check_keys(keys, in_set=False)
        return _each_once(keys, dict(zip(keys, values, strict=True)))

    def set_of(self, kind: type, members: Sequence[Any]) -> Any:
        """Return a set or a frozenset of members, each of which is there once."""
        self._check_keys(members, in_set=True)
        return _each_once(members, kind(members))

    def arguments(self, function: Any, args: Sequence[Any], keywords: Any = None) -> Sequence[Any]:
        """Return the arguments of a call. Raises ValueError for those that code in C must not be given."""
        for check in self._checks_of(function):
            if keywords:
                raise ValueError(f"{function.__qualname__} is made from arguments without names")
            check.check_arguments(args)
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
        self.check_more_keys(target, keys)
        plain = isinstance(type(target).__setitem__, types.WrapperDescriptorType)
        before = len(target) if plain else 0
        for key, value in zip(keys, values, strict=True):
            target[key] = value
        if plain:
            require_once(keys, len(target) - before)

    def give_state(self, index: int, state: Any) -> None:
        """Give an object a state: by a function of ours, its codec, or `__setstate__` of its class.

        Raises ValueError for one that the class does not take.
        """
        target = self.built[index]
        taker = self._takers.get(id(type(target)))
        if taker is not None:
            taker(target, state)
            return
        setstate = getattr(type(target), "__setstate__", None)
        if setstate is None:
            raise ValueError(f"{type(target).__qualname__} has no __setstate__")
        if type(state) is dict:
            self.check_names(type(target), [name for name in state if type(name) is str])
        for check in self._checks_of(type(target)):
            check.check_state(target, state)
        codec = self.object_codec(index)
        if codec is not None:
            if self.audited.is_data_alone and id(type(target)) not in self._trusted:
                check_takes_state(codec[0], type(target))
            codec[0].set_state(target, state, codec[1])
            return
        if id(type(target)) in self._foreign:
            check_foreign_state(type(target), setstate)
        setstate(target, state)

    def set_attributes(
        self, made: Any, names: Sequence[str], values: Sequence[Any], *, anew: bool = False
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


def _taker_of(name: str) -> Callable[[Any, Any], None] | None:
    """What takes up the state of a class of the default list, by its name."""
    return LISTED_STATES.get(name) or family_taker(name)


def _own_dict(made: Any) -> Any:
    """The `__dict__` of an object itself: an alias shows that of what it stands for."""
    try:
        return object.__getattribute__(made, "__dict__")
    except AttributeError:
        return None
