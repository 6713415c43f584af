"""Calls of what an archive holds: by values, and the golden calls that were stored with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from packager.archive import ArchiveReader, CheckRecord, EntryPoint, TensorReader, storages_of
from packager.audit import names_in
from packager.calls import (
    DEFAULT_TOLERANCE,
    Around,
    Deviation,
    call_in_mode,
    compare_answers,
    entry_method,
    fitted_inputs,
    nothing_around,
    require_entry_name,
    unpack_values,
)
from packager.errors import ArchiveError, PackageError
from packager.quick_dataclasses import dataclass, replace
from packager.state_dicts import open_state_dict
from packager.texts import listed

from .opening import OpenArchive
from .stored_objects import find_object

if TYPE_CHECKING:
    from .drifting import FoundDrift

Load = Callable[[str, str], Any]
"""`load_object` of a PackageImporter, which gives the object of a package and a name."""


class EntryPointError(PackageError, LookupError):
    """The archive has no entry point of that name."""


@dataclass(frozen=True)
class CheckOutcome:
    """A golden call, run here: the deviation of every part of its answer.

    `traced` says whether a trace of it is stored. Where one is, and a part is off by more than the
    tolerance, `drift` is the first submodule that differs. A call that is not `repeatable` was made here, and
    nothing was compared: it is within no tolerance.
    """

    name: str
    deviations: tuple[Deviation, ...]
    traced: bool = False
    drift: FoundDrift | None = None
    repeatable: bool = True

    def within(self, tolerance: float) -> bool:
        """Say whether every part is as near to the stored one as `tolerance` says."""
        return self.repeatable and all(one.within(tolerance) for one in self.deviations)


def run_entry(
    opened: OpenArchive,
    load: Load,
    name: str,
    inputs: Mapping[str, Any],
    *,
    callable: str | None = None,
    training: bool = False,
    from_seed: bool = False,
) -> dict[str, Any]:
    """Load what the entry point names, call it with values by name, and return the parts of the answer.

    An object can be named itself, as "package/resource"; `callable` names another method than the entry point
    does. Modules are in evaluation mode for the call, or in training mode. With `from_seed` it draws the
    numbers that golden calls draw.

    Where the archive says what the entry point takes, inputs are compared with it first.

    Raises EntryPointError where there is no such entry point, SchemaMismatchError, a CallError, for inputs
    that it does not take, EntryMethodError for one that must not be
    called, where that can be known before the object is built, CodeExitError where the code ends with
    `sys.exit()` or the like, and whatever else loading and calling raise.
    """
    modes = {"training": training, "from_seed": from_seed}
    return _called(opened, load, name, inputs, callable=callable, around=nothing_around, **modes)


def _called(
    opened: OpenArchive,
    load: Load,
    name: str,
    inputs: Mapping[str, Any],
    *,
    callable: str | None = None,
    training: bool = False,
    from_seed: bool = False,
    around: Around,
) -> dict[str, Any]:
    """Do what `run_entry` does, with the call inside of what `around` makes of the object."""
    point = _find_entry(opened.reader, name)
    if callable in (None, point.callable):
        inputs = _fitted(opened.reader, name, inputs)
    else:
        point = replace(point, callable=callable)
    require_entry_name(point, lambda: _names_code(opened.reader, point))
    thing = load(point.package, point.resource)
    method = entry_method(point, thing, opened.defines)
    return call_in_mode(thing, inputs, method, training=training, from_seed=from_seed, around=around)


def run_checks(
    opened: OpenArchive, load: Load, name: str | None = None, *, tolerance: float | None = None
) -> tuple[CheckOutcome, ...]:
    """Run every golden call of the archive where it stands, or that of one name, and compare the answers.

    Where a trace is stored, and an answer is off by more than `tolerance` (by default DEFAULT_TOLERANCE),
    the call is made again to find the first submodule that differs.

    Raises EntryPointError where none is stored under that name, ArchiveError where calls share what they
    would read: a file may then ask for far more than it holds.
    """
    checks = opened.reader.manifest.checks
    wanted = [record for record in checks if name in (None, record.name)]
    if name is not None and not wanted:
        calls = [record.name for record in checks]
        there = listed(calls) or "none"
        raise EntryPointError(f"no golden call {name!r}; the archive has {there}").holding(calls)
    _require_members_of_their_own(opened.reader)
    limit = DEFAULT_TOLERANCE if tolerance is None else tolerance
    return tuple(_run_check(opened, load, record, limit) for record in wanted)


def _find_entry(reader: ArchiveReader, name: str) -> EntryPoint:
    """Return the entry point of that name, or one for the object that is named. Raises EntryPointError."""
    points = {point.name: point for point in reader.manifest.entry_points}
    if name in points:
        return points[name]
    objects = {f"{record.package}/{record.resource}": record for record in reader.manifest.objects}
    if name in objects:
        return EntryPoint(name, objects[name].package, objects[name].resource)
    entries = listed([*points]) or "none"
    there = listed([*objects])
    raise EntryPointError(
        f"no entry point {name!r}; the archive has {entries}, and "
        + (
            f"the objects {there}: name one of these as the entry (--entry)"
            if there
            else "no object that could be called"
        )
    ).holding([*points, *objects])


def _fitted(reader: ArchiveReader, name: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return inputs as the schema of the entry point has them. Raises SchemaMismatchError."""
    schema = next((one for one in reader.manifest.schemas if one.entry_point == name), None)
    return inputs if schema is None else fitted_inputs(schema, inputs)


def _names_code(reader: ArchiveReader, point: EntryPoint) -> bool:
    """Say whether the records of an object, and not what stands beside them, name code of the archive."""
    code = reader.manifest.stored_modules
    record = find_object(reader, point.package, point.resource)
    if record.factory is not None and record.factory.partition(":")[0] in code:
        return True
    tensors = None if record.tensors is None else TensorReader(reader, record.tensors)
    what = f"object {record.package}/{record.resource}"
    names = names_in(reader.read(record.entry), storages=storages_of(tensors), what=what)
    return any(name.module in code for name in names)


def _require_members_of_their_own(reader: ArchiveReader) -> None:
    """Raise ArchiveError where two golden calls name the same inputs, answers or traces."""
    owners: dict[str, str] = {}
    traces = {one.check: one.entry for one in reader.manifest.traces}
    for record in reader.manifest.checks:
        for member in filter(None, (record.inputs, record.outputs, traces.get(record.name))):
            if member in owners:
                raise ArchiveError(
                    f"manifest, checks: {owners[member]!r} and {record.name!r} both name {member!r}; "
                    "expected inputs and answers of its own for each. The archive was not written by a "
                    "PackageExporter"
                )
            owners[member] = record.name


def golden_inputs(reader: ArchiveReader, record: CheckRecord) -> tuple[dict[str, Any], bool]:
    """Return the inputs of a golden call by name, and whether modules are in training mode for it.

    Raises ArchiveError for what no exporter writes.
    """
    return _values(reader, record.inputs)


def golden_answers(reader: ArchiveReader, record: CheckRecord) -> dict[str, Any]:
    """Return the answers of a golden call by name; none of one that is not repeatable.

    Raises ArchiveError for what no exporter writes.
    """
    return {} if record.outputs is None else _values(reader, record.outputs)[0]


def _run_check(opened: OpenArchive, load: Load, record: CheckRecord, tolerance: float) -> CheckOutcome:
    inputs, training = golden_inputs(opened.reader, record)
    traced = any(one.check == record.name for one in opened.reader.manifest.traces)
    call = partial(_called, opened, load, record.entry_point, inputs, training=training, from_seed=True)
    answer = call(around=nothing_around)
    if record.outputs is None:
        return CheckOutcome(record.name, (), repeatable=False)
    expected = golden_answers(opened.reader, record)
    deviations = compare_answers(expected, answer)
    off = next((one for one in deviations if not one.within(tolerance)), None)
    if off is None or not traced:
        return CheckOutcome(record.name, deviations, traced)
    from .drifting import find_drift  # answers that come back need none

    drift = find_drift(
        opened.reader, record.name, lambda around: call(around=around), expected, off, tolerance
    )
    return CheckOutcome(record.name, deviations, True, drift)


def _values(reader: ArchiveReader, member: str) -> tuple[dict[str, Any], bool]:
    """Return what a member of a golden call holds, and whether modules are in training mode for it."""
    tensors, what = TensorReader(reader, member), f"check {member}"
    stored = open_state_dict(tensors, None, what=what)
    return unpack_values({name: stored[name] for name in stored}, tensors.metadata, what=what)
