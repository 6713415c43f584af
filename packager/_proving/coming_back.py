"""The steps of a proof: everything in an open archive is loaded, compared with what was stored, and called.

The same steps are done in the clean process and, where an archive runs nothing, in the one that made it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from packager._archive import ArchiveReader, ObjectRecord, StateDictRecord, TensorReader
from packager._graph import OrderedImporter, sys_importer
from packager._loading import stored_names
from packager._names import demangle, is_mangled
from packager._objects import EncodedObject, Kind, encode, is_reference, paths_to, unpack_table
from packager._quick_dataclasses import dataclass, field
from packager._tensors import MappedPages, same_bytes
from packager._texts import few_of, listed
from packager.errors import PackageError
from packager.package_importer import PackageImporter

from .proof import FailureKind

_DEVICE: Final = re.compile(r"(?:cuda|mps|xpu|hpu|mtia|privateuseone)(?::[0-9]+)?")
_NAN: Final = float("nan")
_WORTH_ASKING: Final = 1 << 18
"""Bytes of a storage, from which on it is sooner asked whether its pages were written to than read."""
_MOST_TEXT: Final = 80
_MOST_NAMES: Final = 8
_KEYS: Final = {Kind.SHAPE: slice(3, None), Kind.DICT: slice(1, None, 2), Kind.PACKED_DICT: slice(1, None, 2)}
"""Where the keys are in a record."""
_BY_CODE: Final = (
    "code of its class changes attributes during loading (__init__, __new__, __setstate__, set_extra_state, "
    "a hook of the state dict). Let it restore the saved attributes alone, or store a factory: "
    'exporter.save_object(package, resource, obj, factory="module:name", config={...})'
)
_FLOATS: Final = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}


class NotAsStoredError(PackageError):
    """What was loaded is not what was stored; `advice` says what helps, where that is known."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


@dataclass(frozen=True)
class Step:
    """One thing to do: `subject` is what it is about, as the plan calls it."""

    kind: FailureKind
    subject: str
    run: Callable[[], object] = field(repr=False)


def pickles_of(reader: ArchiveReader) -> tuple[str, ...]:
    """Return the entries that are real pickles."""
    return tuple(entry.name for entry in reader.manifest.entries if entry.kind == "pickle")


def names_to_trust(reader: ArchiveReader) -> tuple[str, ...]:
    """Return the names that loaders refuse unless they are told to trust them."""
    found = stored_names(reader)
    return tuple(sorted({name for stored in found for name in (*stored.needs_trust, *stored.vouched)}))


class ComingBack:
    """The steps of a proof over an open archive; `notes` gathers what could not be compared."""

    def __init__(
        self,
        importer: PackageImporter,
        modules: Sequence[str] = (),
        unread: Sequence[str] = (),
    ) -> None:
        self.notes = [f"{entry} was not read, as it was saved with dependencies=False" for entry in unread]
        self._unread = unread
        self._importer = importer
        self._manifest = importer.manifest
        self._modules = modules

    def steps(self) -> Iterator[Step]:
        """Yield the steps in their order.

        Golden calls come when everything has been compared. Modules that were saved come after them: whoever
        loads an object has not imported those, and what they would register must not help it here.
        """
        for record in self._manifest.objects:
            label = f"object {record.package}/{record.resource}"
            yield Step("object", label, partial(self._object, record))
        for state in self._manifest.state_dicts:
            label = f"state dict {state.package}/{state.resource}"
            yield Step("state dict", label, partial(self._state_dict, state))
        for entry in pickles_of(self._importer.archive):
            if entry in self._unread:
                continue
            yield Step("pickle", f"pickle {entry}", partial(self._pickle, entry))
        for check in self._manifest.checks:
            yield Step("call", f"check {check.name}", partial(self._call, check.name))
        for name in self._modules:
            yield Step("import", f"module {name}", partial(self._importer.import_module, name))

    def _object(self, record: ObjectRecord) -> None:
        obj = self._importer.load_object(record.package, record.resource, map_location="cpu")
        if record.factory is None:
            self._require_same(record, obj)
        for point in self._manifest.entry_points:
            if (point.package, point.resource) == (record.package, record.resource):
                from packager._calls import entry_method  # comparing answers and calling are for who calls

                entry_method(point, obj, self._defines)

    def _defines(self, cls: type, value: Any) -> bool:
        return is_mangled(cls.__module__) and demangle(cls.__module__) in self._manifest.stored_modules

    def _state_dict(self, record: StateDictRecord) -> None:
        # Keys alone: what is no tensor is built for them, and no page of a tensor is read.
        list(self._importer.load_state_dict(record.package, record.resource))

    def _pickle(self, entry: str) -> None:
        folder, _, resource = entry.rpartition("/")
        self._importer.load_pickle(folder.replace("/", "."), resource, map_location="cpu")

    def _call(self, name: str) -> None:
        from packager._calls import DEFAULT_TOLERANCE

        for outcome in self._importer.check(name):
            far = [one for one in outcome.deviations if not one.within(DEFAULT_TOLERANCE)]
            if far:
                began = [] if outcome.drift is None else [*outcome.drift.lines()][:2]
                said = "; ".join([*few_of([f"{one.name}: {one}" for one in far]), *began])
                raise NotAsStoredError(said).holding(far)

    # --- encoding again ---

    def _require_same(self, record: ObjectRecord, obj: Any) -> None:
        """Encode a loaded object again, and raise NotAsStoredError where other bytes come of it.

        What a call of the archive's own code makes may be another object by design, as what
        `__reduce_package__` leaves behind is: then a difference is a note.
        """
        label = f"object {record.package}/{record.resource}"
        again = self._encoded(record, obj)
        differs, advice = self._difference(record, again)
        if not differs:
            self._require_same_tensors(record, again, label)
        elif made_by := self._own_calls(record):
            self.notes.append(f"{label} was not compared, as {', '.join(made_by)} makes it: {differs}")
        elif self._encoded(record, obj).records != again.records:
            self.notes.append(
                f"{label} was not compared, as its state differs each time it is saved. To have it "
                "compared, leave times, ids and the like out of its state in __getstate__"
            )
        else:
            raise NotAsStoredError(differs, advice)

    def _difference(self, record: ObjectRecord, again: EncodedObject) -> tuple[str, str]:
        """Say in what an object differs from what is stored, and what helps; "" where it does not."""
        if again.refusals:
            return f"the loaded object cannot be stored again: {again.refusals[0]}", ""
        stored = self._importer.archive.read(record.entry)
        if again.records == stored:
            return "", ""
        found = first_difference(_on_cpu(stored), _on_cpu(again.records), record.resource)
        return (f"the loaded object is not the stored one: {found[0]}", found[1]) if found else ("", "")

    def _own_calls(self, record: ObjectRecord) -> list[str]:
        """Return the names of the archive's own code that are called to make an object."""
        own = self._manifest.stored_modules
        return [use.name for use in record.types if use.role == "call" and use.name.partition(":")[0] in own]

    def _encoded(self, record: ObjectRecord, obj: Any) -> EncodedObject:
        importer = OrderedImporter(self._importer, sys_importer)
        encoded = encode(obj, importer=importer, exporter=_UniqueIds(), root=record.resource)
        return encoded.with_sources(self._manifest.stored_modules.__contains__)

    def _require_same_tensors(self, record: ObjectRecord, again: EncodedObject, label: str) -> None:
        if record.tensors is None:
            return
        tensors = TensorReader(self._importer.archive, record.tensors)
        changed, pages = [], None
        for storage in again.storages:
            if storage.name not in tensors:
                changed.append(storage.name)
                continue
            stored = tensors.storage(tensors[storage.name].storage)
            if storage.buffer.nbytes >= _WORTH_ASKING:
                pages = pages or MappedPages()
                if pages.are_same(stored, storage.buffer):
                    continue
            if same_bytes(stored, storage.buffer):
                continue
            if _is_near(stored, storage.buffer, storage.dtype):
                self.notes.append(f"{label}, {storage.name}: equal except for rounding")
            else:
                changed.append(storage.name)
        if changed:
            told = f"values differ from the stored ones: {listed(changed)}"
            raise NotAsStoredError(told, _BY_CODE).holding(changed)


class _UniqueIds:
    """What `__reduce_package__` is handed for an exporter: what it saves is in the archive already."""

    def __init__(self) -> None:
        self._given = 0

    def get_unique_id(self) -> str:
        self._given += 1
        return str(self._given - 1)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("save_"):
            return lambda *args, **kwargs: None
        raise AttributeError(name)


def _on_cpu(records: bytes) -> Any:
    """Return a table with the names of accelerators replaced: tensors were loaded to the CPU."""
    return _without_devices(unpack_table(records, "encoded object"))


def _without_devices(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_devices(one) for one in value]
    if isinstance(value, float) and value != value:
        return _NAN  # equal to itself, as the bytes of one are
    return "cpu" if isinstance(value, str) and _DEVICE.fullmatch(value) else value


def _is_near(stored: memoryview, found: memoryview, dtype: str) -> bool:
    """Say whether floating values differ by no more than golden calls may, as a hook's rounding does."""
    if dtype not in _FLOATS or stored.nbytes != found.nbytes:
        return False
    import numpy

    from packager._calls import DEFAULT_TOLERANCE, compare_answers

    first, second = (numpy.frombuffer(one.cast("B"), dtype=_FLOATS[dtype]) for one in (stored, found))
    return all(one.within(DEFAULT_TOLERANCE) for one in compare_answers({"": first}, {"": second}))


def first_difference(stored: Any, again: Any, root: str) -> tuple[str, str] | None:
    """Say where two unpacked tables part, and what helps; None where they are equal.

    `root` is what the object is called.

    >>> first_difference([[], [[7, "width", 3]], -1], [[], [[7, "width", 4]], -1], "net")
    ("net: 'width' was 3 and is 4", '')
    >>> first_difference([[], [[6, 1]], -1], [[], [[6, 1]], -1], "net") is None
    True
    """
    (_, before, top), (_, now, _) = stored, again
    at = next((at for at, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]), None)
    if at is None and len(before) != len(now):
        return f"{len(before)} records were stored, {len(now)} were loaded", ""
    if at is None:
        return None if stored == again else ("its parts refer to each other differently", "")
    first, second, holder = before[at], now[at], at
    keys = _KEYS.get(first[0]) if first[0] == second[0] else None
    if first[0] == Kind.SHAPE:  # told by the first object that has these attributes
        holder = next((n for n, one in enumerate(before) if one[0] == Kind.OBJ and one[1] == -1 - at), at)
    where = paths_to(before, top, {holder}, root)[holder]
    if keys is not None:
        pairs = ((second[keys], first[keys]), (first[keys], second[keys]))
        new, lost = (listed([repr(one) for one in a if one not in b], _MOST_NAMES) for a, b in pairs)
        told = [f"has {new}, which the stored one lacks"] if new else []
        told += [f"lacks {lost}, which the stored one has"] if lost else []
        if told or first[0] == Kind.SHAPE:
            return f"{where} {' and '.join(told) or 'has its attributes in another order'}", _BY_CODE
    was, now_is, key = first[1:], second[1:], ""
    if first[0] == second[0] and len(first) == len(second):
        place = next(place for place, one in enumerate(first) if one != second[place])
        if not is_reference(first[place]) and not is_reference(second[place]):
            was, now_is = first[place], second[place]
            key = f"{first[place - 1]!r} " if keys is not None and not is_reference(first[place - 1]) else ""
    return f"{where}: {key}was {was!r:.{_MOST_TEXT}} and is {now_is!r:.{_MOST_TEXT}}", ""
