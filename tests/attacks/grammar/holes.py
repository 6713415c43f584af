"""Holes that were closed once: each is put back by taking away the rule that closes it, and must be found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any
from unittest import mock

from packager.codecs import (
    arrays,
    default_registry,
    frameworks,
    modules,
    numpy_values,
    optimizers,
    torch_codec,
)
from packager.loading import stored_objects
from packager.objects import building, inert, keys, safeguards, trust

from .run import Grammar

Hole = Callable[[], list[Any]]
"""A hole: the patches that open it."""


def _nothing(*arguments: Any, **options: Any) -> Any:
    return iter(())


def _quiet(*arguments: Any, **options: Any) -> None:
    return None


def _granted(role: str, *names: str) -> Any:
    """More names on the default list."""
    more = frozenset(tuple(name.split(":")) for name in names)
    return mock.patch.dict(trust._EXACT, {role: trust._EXACT[role] | more})


def _rule(codec: str) -> Any:
    return mock.patch.dict(inert._BY_CODEC, {codec: _nothing})


def _without(*names: str) -> Any:
    """The rules of data alone without some of them."""
    kept = {
        kind: tuple(one for one in rules if one.__name__ not in names)
        for kind, rules in inert._RULES.items()
    }
    return mock.patch.object(inert, "_RULES", kept)


def _of(place: Any, name: str, instead: Any = _quiet) -> Any:
    return mock.patch.object(place, name, instead)


def _any_key() -> list[Any]:
    return [_of(keys.KeyChecks, "require"), _of(keys.KeyChecks, "require_more")]


def _takes_attributes() -> list[Any]:
    families = {type(codec) for codec in default_registry()}
    return [mock.patch.object(family, "takes_attributes", True) for family in families]


def _stays_data(self: Any, modules: Any) -> Any:
    from dataclasses import replace

    return replace(self, allows_code=True, by_names=False)


HOLES: MappingProxyType[str, Hole] = MappingProxyType(
    {
        "EXTEND on a UserList": lambda: [
            _granted("create", "collections:UserList"),
            _without("_fill_of_class", "_contents"),
        ],
        "hooks in data alone": lambda: [_of(inert, "_hook", _nothing)],
        "factory of a defaultdict": lambda: [_rule("collections.mapping")],
        "partial of anything": lambda: [_rule("functools.partial")],
        "bound method": lambda: [_rule("method")],
        "getter": lambda: [_rule("getter")],
        "UPDATE on an extern by way of a mock": lambda: [
            _of(trust.TrustContext, "for_object", _stays_data),
            _of(trust, "_is_foreign_extern", lambda top, context: top in context.externs),
            _of(inert, "_FILLS", {}),
            *_any_key(),
        ],
        "STATE on a class of an extern": lambda: [_of(inert, "_FILLS", {})],
        "a state by the class's own method": lambda: [_of(building, "LISTED_STATES", {})],
        "constructors called with anything": lambda: [_without("_call")],
        "__new__ of a class of an extern": lambda: [
            _of(building._Builder, "_made", lambda self, cls: cls.__new__(cls))
        ],
        "SimpleNamespace with callables": lambda: [_without("_attributes")],
        "objects in memory of the archive": lambda: [_of(arrays, "array_from", _array_of_anything)],
        "FILL of shared objects": lambda: [*_takes_attributes(), _of(building, "forbid_shadows")],
        "attributes in the place of methods": lambda: [_of(building, "forbid_shadows")],
        "__array_interface__ and its like": lambda: [_of(building, "forbid_shadows", _only_methods)],
        "keys of odd classes": lambda: _any_key(),
        "a class around its codec": lambda: [_of(building._Builder, "_check_maker")],
        "tables of modules": lambda: [
            _of(modules.ModuleCodec, "check_made"),
            _of(frameworks.Framework, "check_tables"),
        ],
        "hooks among the attributes": lambda: [
            _of(modules.ModuleCodec, "_refuse_hooks"),
            _of(building, "forbid_shadows"),
        ],
        "state of an optimiser": lambda: [
            _of(optimizers.OptimizerCodec, "_check_state"),
            *(_rule(f"{family}.optimizer") for family in ("kellet", "torch")),
        ],
        "stored source under a listed name": lambda: [
            _of(trust.TrustContext, "stored_on_the_way", lambda self, module: ())
        ],
        "code of a state dict": lambda: [
            _of(trust.TrustContext, "data_alone", lambda self: _stays_data(self, ()))
        ],
        "factory of an object": lambda: [_of(stored_objects, "require_factory_allowed")],
        "a missing value of strings": lambda: [
            _of(numpy_values, "_MISSING", _Anything()),
        ],
        "fill value and mask of objects": lambda: [
            _of(arrays.MaskedArrayCodec, "decode", _masked_of_anything)
        ],
        "entropy of anything": lambda: [
            _of(numpy_values, "_are_ints", lambda value: True),
            _rule("numpy.seed_sequence"),
        ],
    }
)
TORCH_HOLES: MappingProxyType[str, Hole] = MappingProxyType(
    {
        "__setstate__ of a recurrent layer": lambda: [_of(torch_codec, "require_recurrent_state")],
        "__setstate__ of a layer": lambda: [_of(building, "check_takes_state")],
    }
)


class _Anything:
    """A collection that has everything in it."""

    def __contains__(self, value: object) -> bool:
        return True


def _array_of_anything(tensor: Any, dtype: Any, name: Any) -> Any:
    import numpy

    return numpy.ndarray((1,), dtype, tensor.buffer, 0)


def _only_methods(cls: type, names: Any, *, with_slots: bool = True) -> None:
    plain = [name for name in names if not (name.startswith("__") and name.endswith("__"))]
    safeguards.forbid_shadows(cls, plain, with_slots=with_slots)


def _masked_of_anything(self: Any, literal: Any, children: Any, version: int, context: Any) -> Any:
    import numpy

    if literal == "masked":
        return numpy.ma.masked
    data, mask, fill = children
    given = None if fill is None else fill[()]
    return numpy.ma.MaskedArray(
        data, numpy.ma.nomask if mask is None else mask, fill_value=given, hard_mask=literal
    )


@contextlib.contextmanager
def opened(name: str) -> Iterator[None]:
    """Open a hole for a while."""
    with contextlib.ExitStack() as stack:
        for patch in {**HOLES, **TORCH_HOLES}[name]():
            stack.enter_context(patch)
        yield


def graphs_until_found(grammar: Grammar, name: str, most: int, first: int = 0) -> tuple[int, str]:
    """Return how many graphs it took to find a hole, and what was found; "" where nothing was.

    What the same graph shows without the hole does not count.
    """
    step = 256
    for start in range(first, first + most, step):
        with opened(name):
            found = grammar.run(range(start, start + step)).found
        for number, text in sorted(found):
            if not grammar.run([number]).found:
                return number - first + 1, text
    return most, ""
