"""What `save_object(example=, method=)` asks for besides the object: an entry point, and a call of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from packager.archive import EntryPoint
from packager.calls import IsOwn, can_be_called, default_method, inputs_of_example
from packager.errors import ArgumentError, PackagingError
from packager.names import demangle
from packager.texts import listed

from .request import DEFAULT_ENTRY, CheckRequest, EntryRequest, Item, ObjectRequest, Request
from .stored import StoredObject


def asked_by_example(
    asked: Request, saved: ObjectRequest, example: Any, method: str | None
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
            f"method={method!r}: entry point {name!r} of {saved.package}/{saved.resource} calls {called}; "
            "leave the method out, or name the entry point otherwise"
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
