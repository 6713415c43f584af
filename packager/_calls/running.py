"""Calls of what an archive holds: by values, and the golden calls that were stored with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from packager._archive import ArchiveReader, CheckRecord, EntryPoint, SchemaRecord, TensorReader, storages_of
from packager._audit import names_in
from packager._quick_dataclasses import dataclass, replace
from packager._state_dicts import open_state_dict
from packager._texts import listed
from packager.errors import ArchiveError, NotStoredError

from .comparing import DEFAULT_TOLERANCE, Deviation, compare_answers
from .entry_methods import IsOwn, entry_method, require_entry_name
from .entry_schemas import fitted_inputs
from .evaluation import Around, call_in_mode, nothing_around
from .plain_values import unpack_values

if TYPE_CHECKING:
    from .drifts import FoundDrift


@dataclass(frozen=True)
class Callee:
    """An open archive, as a call needs it.

    `load` is `load_object` of a PackageImporter, `defines` says whether code of the archive defines a class.
    """

    reader: ArchiveReader
    load: Callable[[str, str], Any]
    defines: IsOwn


@dataclass(frozen=True)
class CheckOutcome:
    """The result of repeating an example here: the deviation of each output.

    `traced` says whether a trace of it is stored. If so, and an output is off by more than the tolerance,
    `drift` is the first submodule that differs. Outputs of a call that is not `repeatable` are not compared,
    and `within` is False.
    """

    name: str
    deviations: tuple[Deviation, ...]
    traced: bool = False
    drift: FoundDrift | None = None
    repeatable: bool = True

    def within(self, tolerance: float) -> bool:
        """Say whether every output is within `tolerance` of the stored one."""
        return self.repeatable and all(one.within(tolerance) for one in self.deviations)


def run_entry(
    callee: Callee,
    name: str,
    inputs: Mapping[str, Any],
    *,
    method: str | None = None,
    training: bool = False,
    from_seed: bool = False,
    around: Around = nothing_around,
) -> dict[str, Any]:
    """Load what the entry point names, call it with values by name, and return the parts of the answer.

    An object can be named itself, as "package/resource"; `method` names another one than the entry point
    does. Modules are in evaluation mode for the call, or in training mode. With `from_seed` it draws the
    numbers that golden calls draw. The call is made inside of what `around` makes of the object.

    Where the archive says what the entry point takes, inputs are compared with it first.

    Raises NotStoredError where there is no such entry point, SchemaMismatchError, a CallError, for inputs
    that it does not take, EntryMethodError for one that must not be called, where that can be known before
    the object is built, CodeExitError where the code ends with `sys.exit()` or the like, and whatever else
    loading and calling raise.
    """
    point = find_entry(callee.reader, name)
    if method in (None, point.callable):
        schema = schema_of(callee.reader, name)
        inputs = inputs if schema is None else fitted_inputs(schema, inputs)
    else:
        point = replace(point, callable=method)
    thing, called = load_entry(callee, point)
    return call_in_mode(thing, inputs, called, training=training, from_seed=from_seed, around=around)


def run_checks(
    callee: Callee, name: str | None = None, *, tolerance: float | None = None
) -> tuple[CheckOutcome, ...]:
    """Run every golden call of the archive where it stands, or that of one name, and compare the answers.

    Where a trace is stored, and an answer is off by more than `tolerance` (by default DEFAULT_TOLERANCE),
    the call is made again to find the first submodule that differs.

    Raises NotStoredError where none is stored under that name, ArchiveError where calls share what they
    would read: a file may then ask for far more than it holds.
    """
    checks = callee.reader.manifest.checks
    wanted = [record for record in checks if name in (None, record.name)]
    if name is not None and not wanted:
        calls = [record.name for record in checks]
        there = listed(calls) or "none; store one with save(..., example=x)"
        raise NotStoredError(f"no example {name!r}; the archive has {there}").holding(calls)
    _require_members_of_their_own(callee.reader)
    limit = DEFAULT_TOLERANCE if tolerance is None else tolerance
    return tuple(_run_check(callee, record, limit) for record in wanted)


def load_entry(callee: Callee, point: EntryPoint) -> tuple[Any, Any]:
    """Return the object of an entry point, built anew, and what of it is called.

    Raises EntryMethodError, before the object is built where that can be known, and what loading raises.
    """
    require_entry_name(point, lambda: _names_code(callee.reader, point))
    thing = callee.load(point.package, point.resource)
    return thing, entry_method(point, thing, callee.defines)


def find_entry(reader: ArchiveReader, name: str) -> EntryPoint:
    """Return the entry point of that name, or one for the object that is named. Raises NotStoredError."""
    points = {point.name: point for point in reader.manifest.entry_points}
    if name in points:
        return points[name]
    objects = {f"{record.package}/{record.resource}": record for record in reader.manifest.objects}
    if name in objects:
        return EntryPoint(name, objects[name].package, objects[name].resource)
    near = next(iter([*points, *objects]), None)
    advice = f"; write entry={near!r} (--entry {near})" if near else ", and no object to call"
    raise NotStoredError(
        f"no entry point {name!r}; the archive has {listed([*points, *objects]) or 'none'}{advice}"
    ).holding([*points, *objects])


def schema_of(reader: ArchiveReader, name: str) -> SchemaRecord | None:
    """Return what the archive says that an entry point takes and gives; None where it says nothing."""
    return next((one for one in reader.manifest.schemas if one.entry_point == name), None)


def _names_code(reader: ArchiveReader, point: EntryPoint) -> bool:
    """Say whether the records of an object, and not what stands beside them, name code of the archive."""
    code = reader.manifest.stored_modules
    named = (point.package, point.resource)
    record = next((one for one in reader.manifest.objects if (one.package, one.resource) == named), None)
    if record is None:
        return True  # loading it says what there is
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
                    "expected inputs and outputs of its own for each. The archive was not written by "
                    "packager"
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
    return {} if record.outputs is None else _values(reader, record.outputs, are_inputs=False)[0]


def _run_check(callee: Callee, record: CheckRecord, tolerance: float) -> CheckOutcome:
    inputs, training = golden_inputs(callee.reader, record)
    traced = any(one.check == record.name for one in callee.reader.manifest.traces)
    call = partial(run_entry, callee, record.entry_point, inputs, training=training, from_seed=True)
    answer = call()
    if record.outputs is None:
        return CheckOutcome(record.name, (), repeatable=False)
    expected = golden_answers(callee.reader, record)
    deviations = compare_answers(expected, answer)
    off = next((one for one in deviations if not one.within(tolerance)), None)
    if off is None or not traced:
        return CheckOutcome(record.name, deviations, traced)
    from .drifts import find_drift  # answers that come back need none

    drift = find_drift(
        callee.reader, record.name, lambda around: call(around=around), expected, off, tolerance
    )
    return CheckOutcome(record.name, deviations, True, drift)


def _values(reader: ArchiveReader, member: str, *, are_inputs: bool = True) -> tuple[dict[str, Any], bool]:
    """Return what a member of a golden call holds, and whether modules are in training mode for it."""
    tensors, what = TensorReader(reader, member), f"check {member}"
    stored = open_state_dict(tensors, None, what=what)
    return unpack_values(
        {name: stored[name] for name in stored}, tensors.metadata, what=what, are_inputs=are_inputs
    )
