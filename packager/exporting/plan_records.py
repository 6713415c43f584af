"""A plan of code as plain data, and back: lists of texts and numbers, each looked at when it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Any, Final, NamedTuple, get_args

from packager import seen
from packager.archive import GuardRecord
from packager.environment import License, StoredPart
from packager.graph import Candidate, Edge, Listings, Question
from packager.policy import Action, Origin, OriginKind
from packager.quick_dataclasses import field_names
from packager.seen import Seen

from .plan import ExportPlan, PlannedEntry, PlannedExtern, PlannedModule, PlanProblem
from .saved_parts import SAVED_KINDS, place_of_saved
from .set_variables import SetVariable
from .stored_licenses import LicenseCount


class NotPlainError(Exception):
    """Something in a plan is no plain data, or what was read is no plan."""


class _Maybe(NamedTuple):
    """A value of a type, or None."""

    kind: type


class _Many(NamedTuple):
    """A tuple of values of a type."""

    kind: type


_TEXTS: Final = _Many(str)
MOST_INLINE: Final = 1 << 20
"""Bytes of an entry that is no file: larger ones are not kept with a plan."""
_FIELDS: Final[Mapping[type, tuple[Any, ...]]] = {
    Candidate: (str, int, int),
    Edge: (str, str, str, str, int, _TEXTS, str, bool, str),
    GuardRecord: (str, int, str, _Maybe(bool)),
    License: (str, str),
    LicenseCount: (StoredPart, int, int, _TEXTS),
    Origin: (str, _Maybe(str), _Maybe(str), str),
    PlanProblem: (str, str, str, _TEXTS, _TEXTS, str),
    PlannedExtern: (str, Origin, _Maybe(str), _TEXTS, bool),
    PlannedModule: (str, str, str, str, Origin, _Maybe(str), bool, _Many(Edge), int),
    Question: (str, str, str, int, str, str, str, _Many(Candidate), str, _TEXTS),
    SetVariable: (str, str, int),
    StoredPart: (_TEXTS, str, str, bool, _Many(License)),
}
"""The types of the fields of each record, in their order."""
_PLAN: Final[Mapping[str, Any]] = {
    "modules": _Many(PlannedModule),
    "externs": _Many(PlannedExtern),
    "wheels_for": _TEXTS,
    "guards": _Many(GuardRecord),
    "licenses": _Many(LicenseCount),
    "problems": _Many(PlanProblem),
    "warnings": _TEXTS,
    "questions": _Many(Question),
    "library_warnings": _TEXTS,
    "library_questions": _Many(Question),
    "set_variables": _Many(SetVariable),
    "dead_rules": _TEXTS,
    "empty_rules": _TEXTS,
}
_APART: Final = frozenset(
    "entries left_out environment remembered tensors objects state_dicts entry_points schemas".split()
)
_NAMES: Final = {cls: field_names(cls) for cls in _FIELDS}


def dump_plan(plan: ExportPlan, files: Mapping[str, str]) -> dict[str, Any]:
    """Return a plan as plain data, but for its `SavedParts`; `files` are the digests of the files read.

    Raises NotPlainError where the plan holds more.
    """
    for name in field_names(plan):
        if name not in _PLAN and name not in _APART and getattr(plan, name):
            raise NotPlainError(f"{name} are made anew for each plan")
    paths = {digest: path for path, digest in files.items()}
    return {
        **{name: _dumper(shape)(getattr(plan, name)) for name, shape in _PLAN.items()},
        "entries": [_dumped_entry(one, paths) for one in plan.entries if one.kind not in SAVED_KINDS],
        "place": place_of_saved(plan.entries),
        "left_out": [_dumped_entry(one, paths) for one in plan.left_out],
        "environment": _tagged(plan.environment),
    }


def load_plan(data: Any, noted: Seen) -> tuple[ExportPlan, int]:
    """Return the plan that `dump_plan` was given, with the sources that it stores; `noted` are its answers.

    The second value says before which entry those of what was saved as data come. Raises NotPlainError for
    anything that is none, and where a source is not what it was.
    """
    try:
        kept = {name: _loader(shape)(data[name]) for name, shape in _PLAN.items()}
        plan = ExportPlan(
            **kept,
            entries=tuple([_loaded_entry(one, noted) for one in data["entries"]]),
            left_out=tuple([_loaded_entry(one, noted) for one in data["left_out"]]),
            environment=_untagged(data["environment"]),
            remembered=True,
        )
        _require_known(plan)
        if type(data["place"]) is not int or not 0 <= data["place"] <= len(plan.entries):
            raise NotPlainError("expected the place of an entry")
        return plan, data["place"]
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise NotPlainError(str(error)) from error


@cache
def _dumper(shape: Any) -> Callable[[Any], Any]:
    """Return what makes plain data of a value of a shape, and raises NotPlainError for what is not plain."""
    if type(shape) is _Many:
        return list if shape.kind is str else partial(_dump_many, _dumper(shape.kind))
    inner = tuple([(place, _dumper(field)) for place, field in _inner(shape)])
    return partial(_dump_record, attrgetter(*_NAMES[shape]), _accepted(shape), inner)


def _dump_many(dump: Callable[[Any], Any], value: Iterable[Any]) -> list[Any]:
    return [dump(one) for one in value]


def _dump_record(
    fields: Callable[[Any], tuple[Any, ...]],
    accepted: Collection[tuple[type, ...]],
    inner: Iterable[tuple[int, Callable[[Any], Any]]],
    value: Any,
) -> list[Any]:
    row = [*fields(value)]
    for place, dump in inner:
        row[place] = dump(row[place])
    if tuple(map(type, row)) not in accepted:
        raise NotPlainError(f"{value!r} is not all plain data")
    return row


@cache
def _loader(shape: Any) -> Callable[[Any], Any]:
    """Return what reads a value of a shape from plain data, and raises NotPlainError for anything else."""
    if type(shape) is _Many:
        return _read_texts if shape.kind is str else partial(_read_many, _loader(shape.kind))
    inner = tuple([(place, _loader(field)) for place, field in _inner(shape)])
    return partial(_read_record, shape, _accepted(shape), inner)


def _accepted(record: type) -> Collection[tuple[type, ...]]:
    """Return the types that the fields of a record may have as plain data.

    All fields are looked at at once: a plan has thousands of records.
    """
    found: list[tuple[type, ...]] = [()]
    for field in _FIELDS[record]:
        kinds: tuple[type, ...] = (field,)
        if type(field) is _Maybe:
            kinds = (field.kind, type(None))
        elif type(field) is _Many or field in _FIELDS:
            kinds = (list,)
        found = [(*before, kind) for before in found for kind in kinds]
    return frozenset(found)


def _inner(record: type) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a record that are records, or many values: where each stands, and its shape."""
    for place, field in enumerate(_FIELDS[record]):
        if type(field) is _Many or field in _FIELDS:
            yield place, field


def _read_record(
    record: Callable[..., Any],
    accepted: Collection[tuple[type, ...]],
    inner: Iterable[tuple[int, Callable[[Any], Any]]],
    value: Any,
) -> Any:
    if type(value) is not list or tuple(map(type, value)) not in accepted:
        raise NotPlainError(f"expected the fields of {record}")
    for place, read in inner:
        value[place] = read(value[place])
    return record(*value)


def _read_many(read: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    if type(value) is not list:
        raise NotPlainError("expected a list")
    return tuple(map(read, value))


def _read_texts(value: Any) -> tuple[str, ...]:
    if type(value) is not list or (value and {*map(type, value)} != {str}):
        raise NotPlainError("expected texts")
    return tuple(value)


def _dumped_entry(entry: PlannedEntry, paths: Mapping[str, str]) -> list[Any]:
    """Return an entry with its data, or with where they lie: a source by its digest, too."""
    read: Any = entry.read
    if isinstance(read, partial) and read.func is bytes:
        data = bytes(read())
        digest = hashlib.sha256(data).hexdigest()
        where: list[Any] = ["source", paths[digest], digest] if digest in paths and data else ["data", data]
        if where[0] == "data" and len(data) > MOST_INLINE:
            raise NotPlainError(f"{entry.name} is too large to be kept beside the plan")
    elif isinstance(read, partial) and isinstance(getattr(read.func, "__self__", None), Listings):
        where = ["file", *read.args]
    elif entry.kind == "hidden":
        where = ["data", b""]
    else:
        raise NotPlainError(f"{entry.name} is read by {read!r}")
    return [entry.name, entry.kind, entry.size, entry.because, entry.path, where]


def _require_known(plan: ExportPlan) -> None:
    """Raise NotPlainError for actions and origins that there are none of."""
    actions = {one.action for one in plan.modules}
    origins = {one.origin.kind for one in plan.modules} | {one.origin.kind for one in plan.externs}
    if not (actions <= {*get_args(Action)} and origins <= {*get_args(OriginKind)}):
        raise NotPlainError("expected actions and origins")
    if type(plan.environment) is not dict:
        raise NotPlainError("expected an environment")


def _loaded_entry(data: Any, noted: Seen) -> PlannedEntry:
    name, kind, size, because, path, (how, first, *digest) = data
    if not (type(name) is type(kind) is type(because) is type(path) is str) or type(size) is not int:
        raise NotPlainError("expected an entry")
    if how == "file" and f"size:{first}" in noted.states and not digest:
        return PlannedEntry(name, kind, size, because, partial(seen.read_file, first), path)
    if how == "source" and [noted.files.get(first)] == digest:
        content = seen.read_file(first)
        if [hashlib.sha256(content).hexdigest()] != digest or len(content) != size:
            raise NotPlainError(f"{first} was changed")
    elif how == "data" and type(first) is bytes and not digest:
        content = first
    else:
        raise NotPlainError("expected what an entry holds")
    return PlannedEntry(name, kind, size, because, partial(bytes, content), path)


def _tagged(value: Any) -> Any:
    """Return plain data in which a list says whether it was a tuple."""
    if isinstance(value, Mapping):
        return {name: _tagged(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [isinstance(value, tuple), *map(_tagged, value)]
    if value is None or type(value) in (str, int, bool, float, bytes):
        return value
    raise NotPlainError(f"{value!r} is no plain data")


def _untagged(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _untagged(one) for name, one in value.items()}
    if isinstance(value, list):
        is_tuple, *inner = value
        return tuple(map(_untagged, inner)) if is_tuple else list(map(_untagged, inner))
    return value
