"""Entry points, and calls of them that are made before anything is written: golden calls.

A golden call is an entry point called with given arrays; inputs and result are stored. It is made on the
object itself, twice, and the object is put back after each. Where the outputs differ, the call is not
repeatable: no outputs are stored. Else a copy is called, too: what it answers otherwise, the archive would.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any, Protocol

from packager._archive import CheckRecord, EntryPoint, SchemaRecord, TraceRecord
from packager._calls import (
    DEFAULT_TOLERANCE,
    LISTED,
    Around,
    Before,
    CallError,
    EntryMethodError,
    GoldenValues,
    IsOwn,
    Recorder,
    call_in_mode,
    can_be_called,
    compare_answers,
    default_method,
    entry_method,
    fitted_inputs,
    inputs_of_example,
    learnt_schema,
    misfits_of_answer,
    mode_name,
    modules_in,
    nothing_around,
    pack_trace,
    pack_values,
    stored_form,
    tracing,
)
from packager._names import demangle
from packager._objects import IN_TRAINING
from packager._process import AnswerRequired, failure_of_model
from packager._quick_dataclasses import dataclass, field, replace
from packager._state_dicts import encode_state_dict
from packager._tensors import library_of
from packager._texts import few_of, listed
from packager.errors import ArgumentError, CodeExitError, PackageError, PackagingError

from .plan import PlannedTensors
from .request import DEFAULT_ENTRY, CheckRequest, EntryRequest, Item, ObjectRequest, Request
from .stored import StoredObject, finding_text, member_of_state

_MOST_SUSPECTS = 3
Objects = Mapping[tuple[str, str], ObjectRequest]
"""What was saved, by package and resource."""
_NOT_STORED = (
    "this change is not stored: loading imports the modules afresh. Keep everything that outputs depend on "
    "in the object"
)


class CallWatch(Protocol):
    """Sees what calls change on modules: the proof has it, which stands above this room."""

    def look(self) -> None:
        """Take what is there now for what is there before a call."""

    def changes(self) -> list[str]:
        """Return what has changed since, each with its place and values."""

    def suspects(self, obj: object) -> Iterator[str]:
        """Yield what modules of the object's package keep that a copy does not get."""


class CheckStoreError(PackageError):
    """An example cannot be called or stored; `fix` is a line that solves it, or ""."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


@dataclass(frozen=True)
class StoredCheck:
    """A call and its result as they will lie in the archive; `trace` is empty where none was asked for.

    `values` are those of each call with an answer of its own, `warnings` what has to be told of the calls,
    and `changes` what the first of them changed outside of the object.
    """

    record: CheckRecord
    members: tuple[PlannedTensors, ...]
    values: tuple[GoldenValues, ...] = field(repr=False)
    warnings: tuple[str, ...]
    changes: tuple[str, ...] = ()
    trace: bytes = field(default=b"", repr=False)

    @property
    def trace_record(self) -> TraceRecord:
        """The record of its trace."""
        return TraceRecord(self.record.name, f".data/checks/{self.record.name}/trace.msgpack")


def store_check(
    request: CheckRequest,
    points: Sequence[EntryPoint],
    objects: Objects,
    is_own: IsOwn,
    is_as_saved: Callable[[ObjectRequest], bool],
    watch: CallWatch,
) -> StoredCheck:
    """Call the entry point of the object twice, and that of a copy once; the object is left as it was.

    All calls are made in one mode, from the same states of generators, with the inputs as they will be read
    back; the object is called once more where a trace is asked for. `is_own` knows what code of the archive
    defines; see `entry_method`. What the first call changes on modules that `watch` sees is told.

    Raises CheckStoreError where there is no such entry point, its object is no longer what was saved, the
    call is refused or fails, the copy answers otherwise, or inputs or answer hold what cannot be stored.
    """
    point = next((point for point in points if point.name == request.entry_point), None)
    saved = objects.get((point.package, point.resource)) if point is not None else None
    if point is None or saved is None or saved.obj is None:
        known = listed([point.name for point in points]) or "none"
        told = f"there is no entry point {request.entry_point!r} with an object; there is {known}"
        raise CheckStoreError(*_with_entry(told, request.entry_point, [*objects.values()]))
    if not is_as_saved(saved):
        raise CheckStoreError(
            f"object {point.package}/{point.resource} changed since save_object(), so the example would not "
            "fit what is stored. Save a copy of it, or change it before it is saved"
        )
    with _failures_told():
        given = {name: stored_form(name, value) for name, value in request.inputs.items()}
        calls = _Calls(saved.obj, replace(request, inputs=given), point, is_own)
        watch.look()
        first = calls.answer()
        changed = watch.changes()
        second = calls.answer()
    warnings, trace = [], b""
    if differing := _differing(first, second):
        warnings.append(_not_repeatable(request, differing))
    else:
        if request.trace:
            trace = calls.trace(first)
        warnings += calls.compare_modes(first) + calls.compare_copy(first, changed, watch)
    if not is_as_saved(saved):
        warnings.append(
            f"check {request.name}: the call changed object {point.package}/{point.resource} in a way that "
            "cannot be undone. The object is stored as it was saved"
        )
    base = f".data/checks/{request.name}"
    members = [_member(f"{base}/inputs.safetensors", given, training=request.training)]
    if not differing:
        members.append(_member(f"{base}/outputs.safetensors", first))
    outputs = None if differing else members[1].name
    record = CheckRecord(request.name, point.name, members[0].name, outputs)
    answers = [first, second] if differing else [first]
    values = tuple(GoldenValues(given, answer) for answer in answers)
    changes = _told_of_changes(request.name, changed)
    return StoredCheck(record, tuple(members), values, tuple(warnings), changes, trace)


def refused_entries(points: Sequence[EntryPoint], objects: Objects, is_own: IsOwn) -> dict[str, str]:
    """Return the entry points that a loader would refuse, each with the reason."""
    found = {}
    for point in points:
        place = (point.package, point.resource)
        try:
            if place in objects:
                entry_method(point, objects[place].obj, is_own)
            else:
                missing = "no such object is saved. Save it first, or name a saved one"
                found[point.name] = f"{'/'.join(place)}: {missing}"
        except EntryMethodError as error:
            found[point.name] = str(error)
    return found


def store_schemas(
    points: Sequence[EntryPoint],
    objects: Objects,
    declared: Mapping[str, EntryRequest],
    calls: Sequence[StoredCheck],
    is_own: IsOwn,
) -> tuple[tuple[SchemaRecord, ...], dict[str, str]]:
    """Return what entry points take and give, by declaration and by their golden calls.

    The second value has those of which what is declared is no parameter, or does not fit a call, with why.
    """
    schemas, undeclarable = [], {}
    for point in points:
        obj = objects[point.package, point.resource].obj
        made = [call for call in calls if call.record.entry_point == point.name]
        if not made and point.name not in declared:
            continue
        try:
            method = entry_method(point, obj, is_own)
            schema = _schema(point, obj, method, declared.get(point.name), made)
        except CallError as error:
            undeclarable[point.name] = str(error)
        else:
            schemas += [] if schema is None else [schema]
    return tuple(schemas), undeclarable


def _schema(
    point: EntryPoint,
    obj: Any,
    method: Any,
    asked: EntryRequest | None,
    calls: Sequence[StoredCheck],
) -> SchemaRecord | None:
    takes, gives = ({}, {}) if asked is None else (asked.takes, asked.gives)
    exact = library_of(obj) == "torch"  # the others convert numbers by themselves
    values = [one for call in calls for one in call.values]
    schema = learnt_schema(point.name, method, values, takes, gives, exact=exact)
    if schema is None:
        return None
    for call in calls:
        for one in call.values:
            fitted_inputs(schema, one.inputs)
            if misfits := misfits_of_answer(gives, one.answer):
                said = f"the output of example {call.record.name}: {listed(misfits, apart='; ')}"
                raise CallError(said).holding(misfits)
    return schema


def _with_entry(told: str, name: str, objects: Sequence[ObjectRequest]) -> tuple[str, str]:
    """Return what is told, and the line that makes an entry point of the object that is meant."""
    saved = [item for item in objects if item.obj is not None]
    meant = next((item for item in saved if name in (item.resource, item.package)), None)
    if meant is None and len(saved) == 1:
        [meant] = saved
    if meant is None:
        return f"{told}; name the object: exporter.save_entry_point({name!r}, package, resource)", ""
    fix = f'exporter.save_entry_point("{name}", "{meant.package}", "{meant.resource}"'
    if callable(meant.obj):
        return told, f"{fix})"
    kind = type(meant.obj).__qualname__
    methods = LISTED[1:]  # the first is a call of the object itself
    method = next((one for one in methods if callable(getattr(type(meant.obj), one, None))), None)
    if method is None:
        return f"{told}; {kind} cannot be called, and its class has no {', '.join(methods)}", ""
    return (
        f"{told}; {kind} cannot be called itself: name its method (--callable {method})",
        f'{fix}, "{method}")',
    )


class _Calls:
    """The calls of one object that a check makes; after each it is as it was."""

    def __init__(self, obj: Any, request: CheckRequest, point: EntryPoint, is_own: IsOwn) -> None:
        self._obj, self._request, self._point, self._is_own = obj, request, point, is_own
        self._before = Before(obj)

    def answer(
        self, thing: Any = None, around: Around = nothing_around, *, in_own_mode: bool = False
    ) -> dict[str, Any]:
        """Return the parts of the answer of the object, or of a copy; nothing of them is shared with it."""
        import numpy

        thing, request = self._obj if thing is None else thing, self._request
        try:
            method = entry_method(self._point, thing, self._is_own)  # before the methods of it are wrapped
            training = None if in_own_mode else request.training
            answer = call_in_mode(
                thing, request.inputs, method, training=training, from_seed=True, around=around
            )
            return {
                name: numpy.array(value) if hasattr(value, "dtype") else value
                for name, value in answer.items()
            }
        finally:
            self._before.put_back()

    def compare_modes(self, answer: Mapping[str, Any]) -> list[str]:
        """Return a warning where the object is in training mode, and its answer is another in this mode."""
        if self._request.training or not any(one.training for one in modules_in(self._obj)):
            return []
        try:
            differing = _differing(answer, self.answer(in_own_mode=True))
            told = f"gives another {differing}" if differing else ""
        except Exception as error:  # of any class, as a batch of one does in a BatchNorm
            told = f"fails: {failure_of_model(error)}"
        place = f"{self._point.package}/{self._point.resource}"
        return [f"{place} {IN_TRAINING}. In this mode the example {told}"] if told else []

    def trace(self, answer: Mapping[str, Any]) -> bytes:
        """Return the trace of a call as it is stored.

        Raises CheckStoreError where the answer is another while hooks look on: it would be of no use.
        """
        recorder = Recorder()
        with _failures_told():
            traced = self.answer(around=partial(tracing, recorder=recorder))
        if differing := _differing(answer, traced):
            raise CheckStoreError(
                f"the output differs while it is traced ({differing}): the code looks at forward hooks or "
                "at its own methods. Store this example without trace"
            )
        return pack_trace(recorder.trace())

    def compare_copy(self, answer: Mapping[str, Any], changed: list[str], watch: CallWatch) -> list[str]:
        """Call a copy of the object; return a warning where there is none.

        Raises CheckStoreError where the copy answers otherwise, or fails: the object keeps state elsewhere.
        """
        noted = self._before.ids
        self._before = Before(())  # what it takes of memory is needed for the copy
        try:
            with AnswerRequired(f"copying {type(self._obj).__name__} for the call"):
                copied = copy.deepcopy(self._obj)
        except CodeExitError as error:
            raise CheckStoreError(str(error)) from error
        except Exception as error:  # of any class that does not take part
            told = (
                f"the object cannot be copied ({failure_of_model(error)}). Only the proof compares its "
                "outputs"
            )
            return [f"check {self._request.name}: {told}"]
        self._before = Before(copied, among=noted)  # what a copy shares
        try:
            found = self.answer(copied)
        except Exception as error:  # as above
            told = f"a copy of the object fails where the object itself works: {failure_of_model(error)}"
        else:
            differing = _differing(answer, found)
            if not differing:
                return []
            told = f"a copy of the object gives other outputs: {differing}"
        suspects = [*changed, *watch.suspects(self._obj)]
        raise CheckStoreError(
            f"{told}. So would the loaded object: it keeps state outside of itself, in class attributes, "
            "globals of modules, weak dictionaries or closures. Keep the state in attributes of the object"
            + (f". Suspected: {listed(suspects, _MOST_SUSPECTS)}" if suspects else "")
        )


@contextmanager
def _failures_told() -> Iterator[None]:
    """Raise CheckStoreError for whatever the code of a model raises in the block."""
    try:
        yield
    except CodeExitError as error:  # says by itself what was called, and where it ended
        raise CheckStoreError(str(error)) from error
    except Exception as error:  # told with the check's name
        raise CheckStoreError(f"calling it failed: {failure_of_model(error)}") from error


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Say in which parts two answers differ, and by how much; "" where they do not."""
    found = [
        f"{one.name} ({'not in every answer' if one.name not in first or one.name not in second else one})"
        for one in compare_answers(first, second)
        if not one.within(DEFAULT_TOLERANCE)
    ]
    return listed(found)


def _told_of_changes(check: str, changed: list[str]) -> tuple[str, ...]:
    """Return a line for each of the first places that a call has changed, and how many there are more."""
    told = few_of([f"check {check}: the call changed {place}" for place in changed])
    told[:1] = [f"{one}; {_NOT_STORED}" for one in told[:1]]
    return tuple(told)


def _not_repeatable(request: CheckRequest, differing: str) -> str:
    return (
        f"check {request.name} is not repeatable: a second call from the same generator states, in "
        f"{mode_name(request.training)}, gave another {differing}. Outputs are not compared. Let the code "
        "read no clock, seed its own generators, and keep state between calls in the object"
    )


def _member(name: str, values: Mapping[str, Any], *, training: bool = False) -> PlannedTensors:
    try:
        arrays, texts = pack_values(values, training=training)
    except CallError as error:
        raise CheckStoreError(str(error)) from error
    encoded = encode_state_dict(arrays)
    if encoded.refusals:
        refusals = [*map(finding_text, encoded.refusals)]
        raise CheckStoreError(listed(refusals, apart="; ")).holding(refusals)
    if encoded.extras:
        odd = [f"{key} ({value.dtype})" for key, value in arrays.items()]
        said = f"only dtypes of safetensors can be stored in a check, got {listed(odd)}"
        raise CheckStoreError(said).holding(odd)
    return replace(member_of_state(name, encoded), metadata=texts)


def asked_by_example(
    asked: Request, saved: ObjectRequest, example: object, method: str | None
) -> tuple[Item, ...]:
    """Return the entry point of an object, where it has none yet, and its golden call.

    The entry point has the name of the resource; where that is of another object, of package and resource.

    Raises ArgumentError for what cannot be called or stored, PackagingError where a place is taken.
    """
    if asked.is_repeated or (example is None and method is None):
        return ()
    name, point = _entry_point(asked, saved)
    if point is not None and method not in (None, point.callable):
        called = point.callable or "the object itself"
        raise PackagingError(
            f"method={method!r}: entry point {name!r} of {saved.package}/{saved.resource} calls {called}. "
            "Leave out the method, or give the entry point another name"
        )
    items: list[Item] = []
    if point is not None:
        method = point.callable
    else:
        method = default_method(saved.obj) if method is None else method
        is_default = (name, saved.package, method) == (DEFAULT_ENTRY, DEFAULT_ENTRY, None)
        if not is_default:
            items.append(EntryRequest(name, saved.package, saved.resource, method))
    if example is not None:
        called = _called(saved.obj, method)
        items.append(CheckRequest(name, inputs_of_example(example, called)))
    for item in items:
        asked.require_free(item)
    return tuple(items)


def unchecked_objects(
    asked: Request, stored: Mapping[tuple[str, str], StoredObject], code: Mapping[str, bytes], is_own: IsOwn
) -> Iterator[str]:
    """Yield the objects that could be called, need stored `code` and have no golden call, as "model/net"."""
    checked = {check.entry_point for check in asked.of(CheckRequest)}
    places = {(point.package, point.resource) for point in asked.entry_points() if point.name in checked}
    for item in asked.of(ObjectRequest):
        place = (item.package, item.resource)
        if place in places or isinstance(item.obj, type) or place not in stored:
            continue
        if any(demangle(use.module) in code for use in stored[place].uses) and (
            can_be_called(item.obj) or _own_methods(item.obj, is_own)
        ):
            yield "/".join(place)


def _entry_point(asked: Request, saved: ObjectRequest) -> tuple[str, EntryPoint | None]:
    """Return the name of the entry point of an object, and the point where there is one already."""
    points = {point.name: point for point in asked.entry_points()}
    name = saved.resource
    point = points.get(name)
    if point is not None and (point.package, point.resource) != (saved.package, saved.resource):
        return f"{saved.package}.{saved.resource}", None
    return name, point


def _called(obj: Any, method: str | None) -> Any:
    """Return what is called. Raises ArgumentError where there is nothing."""
    kind = type(obj).__qualname__
    try:
        called = obj if method is None else getattr(obj, method, None)
    except Exception as error:  # a property runs code of the object
        raise ArgumentError(
            f"example=: {method!r} of {kind} raises {type(error).__name__}: {error}"
        ) from error
    if callable(called):
        return called
    methods = listed(_own_methods(obj, lambda cls, value: True))
    lacks = "cannot be called itself" if method is None else f"has no method {method!r}"
    named = f"name what is called by method=, one of {methods}" if methods else "its class has no methods"
    raise ArgumentError(f"example=: {kind} {lacks}; {named}")


def _own_methods(obj: Any, is_own: IsOwn) -> list[str]:
    """Return the public methods that stored code defines for an object."""
    return [
        name
        for base in type(obj).__mro__
        if is_own(base, None)
        for name, value in vars(base).items()
        if isinstance(value, FunctionType) and not name.startswith("_")
    ]
