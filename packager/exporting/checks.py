"""Golden calls: an entry point is called with given arrays, and inputs and result are stored."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packager.archive import CheckRecord, EntryPoint
from packager.errors import PackageError
from packager.objects import encode_state_dict

from .calls import call_with_arrays
from .contents import finding_text, member_of_state
from .plan import PlannedTensors
from .request import CheckRequest, ObjectRequest

__all__ = ["CheckStoreError", "StoredCheck", "store_check"]


class CheckStoreError(PackageError):
    """A check whose call fails, or whose arrays cannot be stored."""


@dataclass(frozen=True)
class StoredCheck:
    """A call and its result as they will lie in the archive."""

    record: CheckRecord
    members: tuple[PlannedTensors, PlannedTensors]


def store_check(
    request: CheckRequest,
    points: Sequence[EntryPoint],
    objects: Sequence[ObjectRequest],
    is_as_saved: Callable[[ObjectRequest], bool],
) -> StoredCheck:
    """Call the entry point on a copy of its object: what is stored must not see the call.

    Raises CheckStoreError where there is no such entry point, its object is no longer what was
    saved, the call fails, or the arrays have dtypes that safetensors has no word for.
    """
    point = next((point for point in points if point.name == request.name), None)
    saved = _saved(point, objects) if point is not None else None
    if point is None or saved is None:
        known = ", ".join(point.name for point in points) or "none"
        raise CheckStoreError(f"there is no entry point {request.name!r} with an object; there is {known}")
    if not is_as_saved(saved):
        raise CheckStoreError(
            f"object {point.package}/{point.resource} changed since save_object(), so that the call would "
            "not be one of what is stored; save a copy of it, or change it before it is saved"
        )
    try:
        thing = copy.deepcopy(saved.obj)
        result = call_with_arrays(thing, request.inputs, point.callable)
    except Exception as error:  # whatever the model's code raises is told with the check's name
        raise CheckStoreError(f"calling it failed: {type(error).__name__}: {error}") from error
    base = f".data/checks/{request.name}"
    inputs = _member(f"{base}/inputs.safetensors", request.inputs)
    outputs = _member(f"{base}/outputs.safetensors", result)
    return StoredCheck(CheckRecord(request.name, point.name, inputs.name, outputs.name), (inputs, outputs))


def _saved(point: EntryPoint, objects: Sequence[ObjectRequest]) -> ObjectRequest | None:
    for item in objects:
        if (item.package, item.resource) == (point.package, point.resource):
            return item if item.obj is not None else None
    return None


def _member(name: str, arrays: Mapping[str, Any]) -> PlannedTensors:
    import numpy

    encoded = encode_state_dict({key: numpy.asarray(value) for key, value in arrays.items()})
    if encoded.refusals:
        raise CheckStoreError("; ".join(finding_text(finding) for finding in encoded.refusals))
    if encoded.extras:
        odd = ", ".join(f"{key} ({numpy.asarray(value).dtype})" for key, value in arrays.items())
        raise CheckStoreError(f"only dtypes of safetensors can be stored in a check, got {odd}")
    return member_of_state(name, encoded)
