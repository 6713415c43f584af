"""Holes that were closed once: each is put back by taking away the rule that closes it, and must be found."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from types import MappingProxyType, MemberDescriptorType
from typing import Any
from unittest import mock

from packager._audit import Row, Rows, forms, gates, keys, own_rows, trust
from packager._codecs import (
    arrays,
    default_registry,
    frameworks,
    modules,
    numpy_values,
    optimizers,
    plain,
    standard_values,
    torch_codec,
)
from packager._libraries.scipy import sparse_state
from packager._loading import stored_objects
from packager._objects import building
from packager._objects.kinds import ROWS as KIND_ROWS
from packager._quick_dataclasses import replace

from .run import Grammar
from .table import K

_forbid_shadows = gates.forbid_shadows  # as it is where nothing is open

Hole = Callable[[], list[Any]]
"""A hole: the patches that open it."""


def _nothing(*arguments: Any, **options: Any) -> Any:
    return iter(())


def _quiet(*arguments: Any, **options: Any) -> None:
    return None


def _granted(role: str, *names: str) -> Any:
    """More names on the default list."""
    pairs = [name.split(":") for name in names]
    tables = [(Row(role), {module: name}) for module, name in pairs]
    return mock.patch.object(own_rows, "ROWS", Rows(*own_rows.ROWS.tables, *tables))


def _rule(codec: str) -> Any:
    return mock.patch.dict(forms._BY_CODEC, {codec: _nothing})


def _without(*names: str) -> Any:
    """The rules of data alone without some of them."""
    kept = {
        kind: tuple(one for one in rules if one.__name__ not in names) for kind, rules in forms._RULES.items()
    }
    return mock.patch.object(forms, "_RULES", kept)


def _of(place: Any, name: str, instead: Any = _quiet) -> Any:
    return mock.patch.object(place, name, instead)


def _any_key() -> list[Any]:
    return [_of(keys.KeyChecks, "check_keys"), _of(keys.KeyChecks, "check_more_keys")]


def _takes_attributes() -> list[Any]:
    families = {type(codec) for codec in default_registry()}
    return [mock.patch.object(family, "takes_attributes", True) for family in families]


def _stays_data(self: Any, modules: Any) -> Any:
    return replace(self, allows_code=True, by_names=False)


def _code_by_a_mock(self: Any, modules: Any) -> Any:
    """The context of an object for which a mock counts as a stored module."""
    interned = self.interned
    return replace(
        self,
        interned=lambda module: module == "dummy" or interned(module),
        allows_code=any(module == "dummy" or interned(module) for module in modules),
        by_names=False,
    )


def _more_to_modules(row: Any) -> Any:
    """EXTEND or UPDATE that takes what a codec made of attributes for its target."""

    def check(table: Any, record: Any) -> None:
        before = table.codec_of
        table.codec_of = {} if table.referred(record[1]) == "object" else before
        try:
            row.validate(table, record)
        finally:
            table.codec_of = before

    return replace(row, validate=check)


def _kept_state(made: Any, state: Any) -> None:
    """Take up a state whose names were looked at, and keep the very dict."""
    gates.forbid_shadows(type(made), state)
    made.__dict__ = state


def _without_taker(row: Row) -> Row:
    """A row that lets the audit pass a state, which the class then takes up itself."""
    return row if row.takes_state is None else replace(row, takes_state=_by_itself)


def _by_itself(made: Any, state: Any) -> None:
    type(made).__setstate__(made, state)


def _keeping(table: tuple[Row, Any]) -> tuple[Row, Any]:
    row, names = table
    return (replace(row, takes_state=_kept_state), names) if "numpy.polynomial" in names else table


def _all_slots(cls: type) -> dict[str, Any]:
    return {
        name: member
        for base in reversed(cls.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
    }


def _claimed(held: dict[str, Any], names: Any) -> bool:
    return any(bool(held[name]) for name in names if held.get(name) is not None)


HOLES: MappingProxyType[str, Hole] = MappingProxyType(
    {
        "EXTEND on a UserList": lambda: [
            _granted("create", "collections:UserList"),
            _without("_fill_of_class", "_contents"),
        ],
        "hooks in data alone": lambda: [_of(forms, "_hook", _nothing)],
        "factory of a defaultdict": lambda: [_rule("collections.mapping")],
        "partial of anything": lambda: [_rule("functools.partial")],
        "bound method": lambda: [_rule("method")],
        "getter": lambda: [_rule("getter")],
        "a mock for stored code": lambda: [_of(trust.TrustContext, "for_object", _code_by_a_mock)],
        "UPDATE on an extern by way of a mock": lambda: [
            _of(trust.TrustContext, "for_object", _code_by_a_mock),
            _of(trust, "_is_foreign_extern", lambda top, context: top in context.externs),
            _of(forms, "_RULES_BESIDE_CODE", {}),
            *_any_key(),
        ],
        "STATE on a class of an extern": lambda: [_of(forms, "_RULES_BESIDE_CODE", {})],
        "a state by the class's own method": lambda: [
            _of(
                own_rows,
                "ROWS",
                Rows(*((_without_taker(row), names) for row, names in own_rows.ROWS.tables)),
            )
        ],
        "constructors called with anything": lambda: [_without("_call")],
        "__new__ of a class of an extern": lambda: [
            _of(gates.Gates, "make", lambda self, cls: cls.__new__(cls))
        ],
        "SimpleNamespace with callables": lambda: [_without("_attributes")],
        "objects in memory of the archive": lambda: [_of(arrays, "array_from", _array_of_anything)],
        "FILL of shared objects": lambda: [*_takes_attributes(), _of(gates, "forbid_shadows")],
        "attributes in the place of methods": lambda: [_of(gates, "forbid_shadows")],
        "__array_interface__ and its like": lambda: [_of(gates, "forbid_shadows", _only_methods)],
        "keys of odd classes": lambda: _any_key(),
        "a class around its codec": lambda: [_of(gates.Gates, "check_maker")],
        "tables of modules": lambda: [
            _of(modules.ModuleCodec, "check_made"),
            _of(frameworks.Framework, "check_tables"),
        ],
        "hooks among the attributes": lambda: [
            _of(modules.ModuleCodec, "_refuse_hooks"),
            _of(gates, "forbid_shadows"),
        ],
        "state of an optimiser": lambda: [
            _of(optimizers.OptimizerCodec, "_check_state"),
            *(_rule(f"{family}.optimizer") for family in ("kellet", "torch")),
        ],
        "a concrete path": lambda: [
            _granted("create", "pathlib:Path", "pathlib:PosixPath"),
            _granted("call", "pathlib:Path", "pathlib:PosixPath"),
        ],
        "a Hook as an object": lambda: [_without("_attributes")],
        "a factory changed afterwards": lambda: [
            _of(building, "slots_of", _all_slots),
            _of(gates, "forbid_shadows"),
        ],
        "attributes of a function by its alias": lambda: [
            _without("_attributes", "_call"),
            _of(building, "_own_dict", lambda made: made.__dict__),
        ],
        "slots of a tensor": lambda: [_of(gates, "forbid_shadows", _with_slots)],
        "items and pairs for a module": lambda: [
            mock.patch.dict(
                KIND_ROWS, {kind: _more_to_modules(KIND_ROWS[kind]) for kind in (K.EXTEND, K.UPDATE)}
            )
        ],
        "pairs for a listed class": lambda: [_without("_fill_of_class")],
        "a state kept, and changed afterwards": lambda: [
            _of(own_rows, "ROWS", Rows(*map(_keeping, own_rows.ROWS.tables)))
        ],
        "names of modules that are no texts": lambda: [_of(frameworks, "_are_names", lambda table: True)],
        "what a framework compares": lambda: [_of(forms, "_is_compared", lambda codec, name: False)],
        "strings made of anything": lambda: [
            _rule("numpy.ndarray"),
            _of(arrays, "_require_own_strings"),
        ],
        "a range of anything": lambda: [_rule("slice"), _of(plain, "_expect_ints")],
        "a pattern that is printed": lambda: [_of(standard_values, "re", _PrintingPatterns())],
        "flags of a sparse matrix": lambda: [_of(sparse_state, "_is_claimed", _claimed)],
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
        "__setstate__ of a layer": lambda: [_of(gates, "check_takes_state")],
        "states of other shapes": lambda: [
            _of(torch_codec.TorchFramework, "require_fit"),
            _of(forms, "split_literal", lambda literal: (True, (), ())),
        ],
        "hook of a norm with anything": lambda: [_of(forms, "_is_norm_hook", lambda table, index: True)],
        "names that torch looks up": lambda: [_of(torch_codec.TorchValueCodec, "decode", _looked_up)],
        "numbers that an optimiser converts": lambda: [_of(optimizers, "_is_number", lambda value: True)],
        "flags of an optimiser": lambda: [_of(optimizers, "_ASKED", frozenset())],
    }
)
SEEN_AS: MappingProxyType[str, str] = MappingProxyType(
    {
        "UPDATE on an extern by way of a mock": r"mailbox:MH\.",
        "SimpleNamespace with callables": "in a SimpleNamespace",
        "hooks among the attributes": "hook",
        "a Hook as an object": "Hook",
        "a factory changed afterwards": "factory",
        "attributes of a function by its alias": "shares was changed",
    }
)
"""What must be seen of a hole, where opening it opens another one, too; of the others, anything."""


class _Anything:
    """A collection that has everything in it."""

    def __contains__(self, value: object) -> bool:
        return True


def _array_of_anything(tensor: Any, dtype: Any, name: Any) -> Any:
    import numpy

    return numpy.ndarray((1,), dtype, tensor.buffer, 0)


def _only_methods(cls: type, names: Any, *, with_slots: bool = True, replaces: Any = ()) -> None:
    plain = [name for name in names if not (name.startswith("__") and name.endswith("__"))]
    _forbid_shadows(cls, plain, with_slots=with_slots)


def _with_slots(cls: type, names: Any, *, with_slots: bool = True, replaces: Any = ()) -> None:
    _forbid_shadows(cls, names, with_slots=True)


class _PrintingPatterns:
    """The module `re` for a codec that leaves its flags as they are."""

    DEBUG = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(re, name)


def _looked_up(self: Any, literal: Any, children: Any, version: int, context: Any) -> Any:
    import torch

    kind, *parts = literal
    if kind == "Size":
        return torch.Size(parts)
    value = torch.device(parts[0]) if kind == "device" else getattr(torch, parts[0])
    if type(value).__name__ != kind:
        raise ValueError(f"torch has no {kind} {parts[0]!r}")
    return value


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
    step, wanted = 256, re.compile(SEEN_AS.get(name, ""))
    for start in range(first, first + most, step):
        with opened(name):
            found = grammar.run(range(start, min(start + step, first + most))).found
        for number, text in sorted(found):
            if wanted.search(text) and not _shows(grammar, number, wanted):
                return number - first + 1, text
    return most, ""


def _shows(grammar: Grammar, number: int, wanted: re.Pattern[str]) -> bool:
    return any(wanted.search(text) for _, text in grammar.run([number]).found)
