"""What a plan says of objects and state dicts alone: made anew for each plan, as they are encoded anew.

All else in a plan follows from the code, and from what `key_of_saved` says of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial

from packager.archive import MIGRATIONS, SchemaRecord
from packager.calls import CallError, EntryMethodError, IsOwn, entry_method

from .golden_calls import StoredCheck, store_schema
from .plan import PlannedEntry, PlannedTensors
from .request import EntryRequest, ObjectRequest, Request
from .stored import StoredMigrations, StoredObject, StoredState, objects_in, states_in


class SavedParts:
    """The parts of one plan: `saved` in the order of the calls; `defines` says what code is stored.

    Entry points are those of the request; `refused` are those that a loader would refuse, with the reason.
    """

    def __init__(
        self,
        request: Request,
        saved: Sequence[StoredObject | StoredState],
        migrations: StoredMigrations,
        defines: IsOwn,
    ) -> None:
        self._request = request
        self._saved = saved
        self._migrations = migrations
        self._defines = defines
        self.entry_points = request.entry_points()

    def entries(self) -> Iterator[PlannedEntry]:
        """Yield the entries that hold them, but for tensors."""
        for stored in objects_in(self._saved):
            yield planned_entry(stored.entry, "object", stored.encoded.records)
        for state in states_in(self._saved):
            if state.encoded.extras:
                yield planned_entry(state.extras_entry, "extras", state.encoded.extras)
        if self._migrations.data:
            yield planned_entry(MIGRATIONS, "migration", self._migrations.data)

    def members(self) -> Iterator[PlannedTensors]:
        """Yield the members that hold their tensors."""
        for stored in self._saved:
            yield from stored.members

    @cached_property
    def refused(self) -> dict[str, str]:
        """The entry points that a loader would refuse, each with the reason."""
        return dict(self._refused_entries())

    def schemas(self, calls: Iterable[StoredCheck] = ()) -> tuple[tuple[SchemaRecord, ...], dict[str, str]]:
        """Return what entry points take and give, and of which what is declared does not hold, with why."""
        saved = {(item.package, item.resource): item.obj for item in self._request.of(ObjectRequest)}
        declared = {item.name: item for item in self._request.of(EntryRequest)}
        made: dict[str, list[StoredCheck]] = {}
        for call in calls:
            made.setdefault(call.record.entry_point, []).append(call)
        schemas, undeclarable = [], {}
        for point in self.entry_points:
            if point.name in self.refused:
                continue
            obj = saved[point.package, point.resource]
            asked = declared.get(point.name)
            method = entry_method(point, obj, self._defines)
            try:
                schema = store_schema(point, obj, method, asked, made.get(point.name, ()))
            except CallError as error:
                undeclarable[point.name] = str(error)
                continue
            if schema is not None:
                schemas.append(schema)
        return tuple(schemas), undeclarable

    def _refused_entries(self) -> Iterator[tuple[str, str]]:
        saved = {(item.package, item.resource): item.obj for item in self._request.of(ObjectRequest)}
        for point in self.entry_points:
            place = (point.package, point.resource)
            if place not in saved:
                why = (
                    f"{point.package}/{point.resource}: no such object is saved; save it, or name one that is"
                )
                yield point.name, why
                continue
            try:
                entry_method(point, saved[place], self._defines)
            except EntryMethodError as error:
                yield point.name, str(error)


def planned_entry(name: str, kind: str, data: bytes) -> PlannedEntry:
    """Return an entry whose bytes are at hand."""
    return PlannedEntry(name, kind, len(data), "", partial(bytes, data))
