"""The steps of a proof: everything in an open archive is loaded, compared with what was stored, and called.

The same steps are done in the clean process and, where an archive runs nothing, in the one that made it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from packager.archive import ArchiveReader, EntryPoint, ObjectRecord, StateDictRecord, TensorReader
from packager.errors import PackageError
from packager.graph import OrderedImporter, sys_importer
from packager.late_patterns import late_pattern
from packager.loading import stored_names
from packager.names import demangle, is_mangled
from packager.objects import EncodedObject, encode, unpack_table
from packager.package_importer import PackageImporter
from packager.quick_dataclasses import dataclass, field
from packager.tensors import MappedPages, same_bytes
from packager.texts import few_of, listed

from .proof import FailureKind, GlobalDifference

if TYPE_CHECKING:
    from .held_values import Held

_DEVICE: Final = late_pattern(r"(?:cuda|mps|xpu|hpu|mtia|privateuseone)(?::[0-9]+)?")
_NAN: Final = float("nan")
_WORTH_ASKING: Final = 1 << 18
"""Bytes of a storage, from which on it is sooner asked whether its pages were written to than read."""
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
    run: Callable[[], None] = field(repr=False)


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
        held: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        unread: Sequence[str] = (),
        given: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.notes = [f"{entry} was saved without its dependencies, and was not read" for entry in unread]
        self._unread = unread
        self.differences: list[GlobalDifference] = []
        self._held = held
        self._given = _held(given)
        self._settings = settings
        self._importer = importer
        self._manifest = importer.manifest
        self._modules = modules
        self._points: dict[tuple[str, str], list[EntryPoint]] = {}
        for point in self._manifest.entry_points:
            self._points.setdefault((point.package, point.resource), []).append(point)

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
        if self._held or self._settings:
            yield Step("globals", "globals of modules", self._globals)
        for check in self._manifest.checks:
            yield Step("call", f"check {check.name}", partial(self._call, check.name))
        if self.differences and self._manifest.checks:
            yield Step("globals", "globals of modules", self._globals_after_calls)
        loaded = {*self._importer.modules}
        for name in self._modules:
            yield Step("import", f"module {name}", partial(self._import, name))
        if self._held and self._modules:
            yield Step("globals", "globals of modules", partial(self._globals_beyond, loaded))

    def _import(self, name: str) -> None:
        self._importer.import_module(name)

    def _object(self, record: ObjectRecord) -> None:
        obj = self._importer.load_object(record.package, record.resource, map_location="cpu")
        if record.factory is None:
            self._require_same(record, obj)
        elif given := self._given.get(f"{record.package}/{record.resource}"):
            self._tell_of_lost(record, given, obj)
        for point in self._points.get((record.package, record.resource), ()):
            from packager.calls import entry_method  # comparing answers and calling are for those who call

            entry_method(point, obj, self._defines)

    def _tell_of_lost(self, record: ObjectRecord, given: Mapping[str, Held], obj: Any) -> None:
        """Note what was set on an object that neither its factory nor its state dict brings back."""
        from .made_objects import what_is_lost  # where there is a factory

        if lost := what_is_lost(given, obj):
            self.notes.append(
                f"object {record.package}/{record.resource} is made anew by {record.factory}, and what was "
                f"set on the one that was saved does not come back: {lost}; let the factory set it, by "
                "config= where it differs, or keep it in the state dict"
            )

    def _defines(self, cls: type, value: Any) -> bool:
        return is_mangled(cls.__module__) and demangle(cls.__module__) in self._manifest.stored_modules

    def _state_dict(self, record: StateDictRecord) -> None:
        # Keys alone: what is no tensor is built for them, and no page of a tensor is read.
        list(self._importer.load_state_dict(record.package, record.resource))

    def _pickle(self, entry: str) -> None:
        folder, _, resource = entry.rpartition("/")
        self._importer.load_pickle(folder.replace("/", "."), resource, map_location="cpu")

    def _globals(self) -> None:
        """Compare globals, once everything is loaded. Raises NotAsStoredError for those of a script."""
        outside = self._held.keys() - self._manifest.stored_modules
        there = {name: sys.modules[name] for name in outside if name in sys.modules}
        there |= self._importer.modules
        if self._settings:
            from .process_settings import what_is_set

            self.notes += what_is_set(self._settings)
        self._compare_globals(self._held, there)

    def _globals_after_calls(self) -> None:
        """Keep the differences that golden calls have left: here, too, the calls were made before."""
        from .module_globals import differences

        left = {(one.module, one.name) for one in differences(_held(self._held), self._importer.modules)}
        self.differences = [one for one in self.differences if (one.module, one.name) in left]

    def _globals_beyond(self, loaded: Collection[str]) -> None:
        """Compare globals of the modules that were imported beyond those: calls may have changed these."""
        there = {name: module for name, module in self._importer.modules.items() if name not in loaded}
        held = {name: values for name, values in self._held.items() if name in there}
        self._compare_globals(held, there)

    def _compare_globals(
        self, held: Mapping[str, Mapping[str, Any]], there: Mapping[str, ModuleType]
    ) -> None:
        if not held:
            return
        from .module_globals import differences  # what looks into globals reads sources, too

        found = list(differences(_held(held), there))
        self.differences += [one for one in found if one.module != "__main__"]
        own = [one for one in found if one.module == "__main__" and (one.has_numbers or not one.quiet)]
        if own:
            says = listed([f'exporter.answer("{one.id}", "none")' for one in own], apart="; ")
            raise NotAsStoredError(
                listed([f"{one.name} {one.what}{_bound(one)}" for one in own], apart="; "),
                "give the object that needs it what it holds, or bind it where it is defined; where nothing "
                f"that is loaded needs it, say so: {says}",
            )

    def _call(self, name: str) -> None:
        from packager.calls import DEFAULT_TOLERANCE

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
            self.notes.append(f"{label} is made by {', '.join(made_by)}, and was not compared: {differs}")
        elif self._encoded(record, obj).records != again.records:
            self.notes.append(f"{label} is encoded otherwise each time, so that it was not compared")
        else:
            raise NotAsStoredError(differs, advice)

    def _difference(self, record: ObjectRecord, again: EncodedObject) -> tuple[str, str]:
        """Say in what an object differs from what is stored, and what helps; "" where it does not."""
        if again.refusals:
            return f"what was loaded cannot be stored again: {again.refusals[0]}", ""
        stored = self._importer.archive.read(record.entry)
        if again.records == stored:
            return "", ""
        from .differing_objects import first_difference  # most objects come back

        found = first_difference(_on_cpu(stored), _on_cpu(again.records), record.resource)
        return (f"what was loaded is not what was stored: {found[0]}", found[1]) if found else ("", "")

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
                self.notes.append(f"{label}, {storage.name}: equal but for rounding")
            else:
                changed.append(storage.name)
        if changed:
            raise NotAsStoredError(f"other values than were stored: {listed(changed)}").holding(changed)


def _held(plain: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Held]]:
    """Return what was written of values as plain data; most archives of libraries' objects have none."""
    if not plain:
        return {}
    from .held_values import held_of_plain

    return held_of_plain(plain)


def _bound(one: GlobalDifference) -> str:
    return f" (__main__.py:{one.line})" if one.line else ""


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

    from packager.calls import DEFAULT_TOLERANCE, compare_answers

    first, second = (numpy.frombuffer(one.cast("B"), dtype=_FLOATS[dtype]) for one in (stored, found))
    return all(one.within(DEFAULT_TOLERANCE) for one in compare_answers({"": first}, {"": second}))
