"""Calls that are made, or tried, before anything is written: golden calls, and the factories of objects.

A golden call is an entry point called with given arrays; inputs and result are stored. It is
made twice: a result that differs the second time is refused as random.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from packager.archive import CheckRecord, EntryPoint, SchemaRecord, TraceRecord
from packager.calls import (
    DEFAULT_TOLERANCE,
    LISTED,
    Around,
    CallError,
    GoldenValues,
    IsOwn,
    Recorder,
    call_in_mode,
    compare_answers,
    entry_method,
    fitted_inputs,
    learnt_schema,
    misfits_of_answer,
    mode_name,
    nothing_around,
    pack_trace,
    pack_values,
    stored_form,
    tracing,
)
from packager.errors import CodeExitError, PackageError
from packager.libraries import library_of
from packager.objects import encode_state_dict
from packager.process import AnswerRequired, failure_of_model
from packager.quick_dataclasses import dataclass, field, replace
from packager.texts import listed

from .plan import PlannedTensors
from .request import CheckRequest, EntryRequest, ObjectRequest
from .stored import finding_text, member_of_state


class CheckStoreError(PackageError):
    """A check whose call fails, or whose arrays cannot be stored; `fix` is a line that mends it, or ""."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


@dataclass(frozen=True)
class StoredCheck:
    """A call and its result as they will lie in the archive; `trace` is empty where none was asked for."""

    record: CheckRecord
    members: tuple[PlannedTensors, PlannedTensors]
    values: GoldenValues = field(repr=False)
    trace: bytes = field(default=b"", repr=False)

    @property
    def trace_record(self) -> TraceRecord:
        """The record of its trace."""
        return TraceRecord(self.record.name, f".data/checks/{self.record.name}/trace.msgpack")


def store_check(
    request: CheckRequest,
    points: Sequence[EntryPoint],
    objects: Sequence[ObjectRequest],
    is_own: IsOwn,
    is_as_saved: Callable[[ObjectRequest], bool],
) -> StoredCheck:
    """Call the entry point on a copy of its object: what is stored must not see the call.

    It is called twice, in one mode, each time on a copy of its own, with the inputs as they will be read
    back; once more where a trace is asked for. `is_own` knows what code of the archive defines; see
    `entry_method`.

    Raises CheckStoreError where there is no such entry point, its object is no longer what was saved, the
    call is refused or fails, the two answers differ, or inputs or answer hold what cannot be stored.
    """
    point = next((point for point in points if point.name == request.entry_point), None)
    saved = _saved(point, objects) if point is not None else None
    if point is None or saved is None:
        known = listed([point.name for point in points]) or "none"
        told = f"there is no entry point {request.entry_point!r} with an object; there is {known}"
        raise CheckStoreError(*_with_entry(told, request.entry_point, objects))
    if not is_as_saved(saved):
        raise CheckStoreError(
            f"object {point.package}/{point.resource} changed since save_object(), so that the call would "
            "not be one of what is stored; save a copy of it, or change it before it is saved"
        )
    try:
        given = {name: stored_form(name, value) for name, value in request.inputs.items()}
        request = replace(request, inputs=given)
        result = _answer(saved.obj, request, point, is_own)
        again = _answer(saved.obj, request, point, is_own)
        traced, trace = _traced_answer(saved.obj, request, point, is_own) if request.trace else ({}, b"")
    except CodeExitError as error:  # says by itself what was called, and where it ended
        raise CheckStoreError(str(error)) from error
    except Exception as error:  # whatever the model's code raises is told with the check's name
        said = f"calling it failed: {failure_of_model(error)}"
        raise CheckStoreError(said) from error
    _require_repeatable(result, again, mode_name(request.training))
    if request.trace:
        _require_traceable(result, traced)
    base = f".data/checks/{request.name}"
    inputs = _member(f"{base}/inputs.safetensors", given, training=request.training)
    outputs = _member(f"{base}/outputs.safetensors", result)
    record = CheckRecord(request.name, point.name, inputs.name, outputs.name)
    return StoredCheck(record, (inputs, outputs), GoldenValues(given, result), trace)


def store_schema(
    point: EntryPoint,
    obj: Any,
    method: Any,
    asked: EntryRequest | None,
    calls: Sequence[StoredCheck],
) -> SchemaRecord | None:
    """Return what an entry point takes and gives, by declaration and by its golden calls; None for neither.

    Raises CallError where what is declared is no parameter, and where a golden call does not fit it.
    """
    takes, gives = ({}, {}) if asked is None else (asked.takes, asked.gives)
    exact = library_of(obj) == "torch"  # the others convert numbers by themselves
    values = [call.values for call in calls]
    schema = learnt_schema(point.name, method, values, takes, gives, exact=exact)
    if schema is not None:
        for call in calls:
            fitted_inputs(schema, call.values.inputs)
            if misfits := misfits_of_answer(gives, call.values.answer):
                said = f"the answer of check {call.record.name}: {listed(misfits, apart='; ')}"
                raise CallError(said).holding(misfits)
    return schema


def _with_entry(told: str, name: str, objects: Sequence[ObjectRequest]) -> tuple[str, str]:
    """Return what is told, and the line that makes an entry point of the object that is meant."""
    saved = [item for item in objects if item.obj is not None]
    meant = next((item for item in saved if name in (item.resource, item.package)), None)
    if meant is None and len(saved) == 1:
        [meant] = saved
    if meant is None:
        return f"{told}; name the object: exporter.save_entry({name!r}, package, resource)", ""
    fix = f'exporter.save_entry("{name}", "{meant.package}", "{meant.resource}"'
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


def _answer(obj: Any, request: CheckRequest, point: EntryPoint, is_own: IsOwn) -> dict[str, Any]:
    """Return the parts of one answer of a copy."""
    thing = _copied(obj)
    return _answer_of(thing, entry_method(point, thing, is_own), request)


def _traced_answer(
    obj: Any, request: CheckRequest, point: EntryPoint, is_own: IsOwn
) -> tuple[dict[str, Any], bytes]:
    """Return the parts of one answer of a copy, and the trace of the call as it is stored."""
    thing = _copied(obj)
    method = entry_method(point, thing, is_own)  # before the methods of estimators are wrapped
    recorder = Recorder()
    answer = _answer_of(thing, method, request, partial(tracing, recorder=recorder))
    return answer, pack_trace(recorder.trace())


def _copied(obj: Any) -> Any:
    with AnswerRequired(f"copying {type(obj).__name__} for the call"):
        return copy.deepcopy(obj)


def _answer_of(
    thing: Any,
    method: Any,
    request: CheckRequest,
    around: Around = nothing_around,
) -> dict[str, Any]:
    """Return the parts of one answer; nothing of them is shared with the model, which may write to its."""
    import numpy

    answer = call_in_mode(thing, request.inputs, method, training=request.training, around=around)
    return {name: numpy.array(value) if hasattr(value, "dtype") else value for name, value in answer.items()}


def _require_repeatable(first: Mapping[str, Any], second: Mapping[str, Any], mode: str) -> None:
    """Raise CheckStoreError where a second call answered otherwise: no check of it could ever pass."""
    differing = [
        f"{one.name} ({'not in every answer' if one.name not in first or one.name not in second else one})"
        for one in compare_answers(first, second)
        if not one.within(DEFAULT_TOLERANCE)
    ]
    if differing:
        raise CheckStoreError(
            f"the answer is random: a second call with the same inputs, in {mode}, gave another "
            f"{listed(differing)}; let the code draw from a generator that it seeds in each call, keep no "
            "state from call to call outside of the object, or leave the check out"
        ).holding(differing)


def _require_traceable(answer: Mapping[str, Any], traced: Mapping[str, Any]) -> None:
    """Raise CheckStoreError where the answer is another while hooks look on: its trace would be of no use."""
    differing = [str(one) for one in compare_answers(answer, traced) if not one.within(DEFAULT_TOLERANCE)]
    if differing:
        raise CheckStoreError(
            f"the answer is another while it is traced ({listed(differing, apart='; ')}): the code asks for "
            "forward hooks, or for what a method is; store this check without trace"
        ).holding(differing)


def _saved(point: EntryPoint, objects: Sequence[ObjectRequest]) -> ObjectRequest | None:
    for item in objects:
        if (item.package, item.resource) == (point.package, point.resource):
            return item if item.obj is not None else None
    return None


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


def why_not_called(factory: Callable[..., Any] | str, config: Mapping[str, Any]) -> str:
    """Say why a call of the factory would fail before it runs; "" where it would not, or nobody knows."""
    from inspect import signature  # where there is a factory

    found: Any = factory
    if isinstance(factory, str):
        module, _, name = factory.partition(":")
        found = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
    else:
        factory = f"{factory.__module__}:{getattr(factory, '__qualname__', factory)}"
    try:
        parameters = signature(found)
    except (TypeError, ValueError):  # no function at all, or a compiled one that does not say
        return "" if callable(found) or found is None else f"{factory} is no function and no class: {found!r}"
    try:
        parameters.bind(**config)
    except TypeError as error:
        return f"{factory}: {error}; it takes {parameters}, and config has {sorted(config)}"
    return ""
