"""What data alone may hold, by exact types; and what the whole process shares, which no load changes.

A hole that only puts something callable into a place is found here, before anything has called it. The walk
calls no method of what it finds: `object.__getattribute__`, and the methods of the exact types that it knows.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import gc
import inspect
import io
import itertools
import logging
import operator
import random
import re
import struct
import types
import typing
import uuid
import weakref
import zoneinfo
from typing import Any

import numpy as np

import kellet
from kellet import nn

from . import vocabulary as words
from .world import SENTINEL


def unfit(made: Any) -> str:
    """Return what something that was built of data alone holds that it must not hold; "" for nothing."""
    waiting, seen, kept = [made], set(), []
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        problem, parts = _look(value)
        if problem:
            return problem
        waiting += parts
    return ""


def _look(value: Any) -> tuple[str, list[Any]]:
    """What is wrong with one value, and what it holds."""
    cls = type(value)
    if cls in _LEAVES:
        return "", []
    if cls in (list, tuple, collections.deque):
        return "", list(cls.__iter__(value))
    if cls in (set, frozenset):
        return _odd_key(cls.__iter__(value)), []
    if issubclass(cls, dict):
        items = list(dict.items(value))
        problem = _odd_key(key for key, _ in items)
        if cls is collections.defaultdict and value.default_factory not in _FACTORIES:
            problem = f"a defaultdict whose factory is a {type(value.default_factory).__name__}"
        return problem, [part for pair in items for part in pair] + _attributes(value)
    if cls is functools.partial:
        return _partial(value), [value.args, value.keywords, *_attributes(value)]
    if cls is functools._lru_cache_wrapper:
        return _wrapped(value.__wrapped__, "a function that remembers"), []
    if cls is types.MappingProxyType:
        return "", list(value.items())
    if cls is itertools.repeat:
        return "", gc.get_referents(value)[-1:]  # what it repeats, after its class
    if cls is inspect.Signature or cls is inspect.Parameter:
        return "", [getattr(value, name) for name in cls.__slots__ if name != "_kind"]
    if cls is types.UnionType or cls.__module__ in ("typing", "collections.abc"):
        return _annotation(value), []
    if cls in _CALLED_LATER:
        return f"a {cls.__name__}, which is called later", []
    if cls is np.ndarray and value.dtype.hasobject:
        return _array_of_objects(value)
    if isinstance(value, type) or cls in _FUNCTIONS:
        return _global(value)
    return _object(value, cls)


def _object(value: Any, cls: type) -> tuple[str, list[Any]]:
    """An instance of any other class: its attributes are no methods, and no names that libraries ask for."""
    names = _own_dict(value)
    if cls.__name__ in _NORMS and (odd := _norm(value, names)):
        return odd, []
    if (
        isinstance(value, (enum.Enum, logging.Logger))
        or cls.__module__ in _KEEPS_ITS_OWN
        or cls.__name__ == "_WrappedHook"
    ):
        return "", []  # what it holds, its class has put there
    for name in names:
        if type(name) is not str:
            return f"an attribute of a {cls.__name__} whose name is a {type(name).__name__}", []
        if name.startswith("__") and name.endswith("__"):
            return f"{name} among the attributes of a {cls.__name__}", []
        if _is_method(cls, name):
            return f"{name} of a {cls.__name__} in the place of a method", []
    if isinstance(value, kellet.Tensor) and not _has_own_slots(value):
        return f"a {cls.__name__} whose slots hold something else", []
    if isinstance(value, nn.Hook):
        return f"a {cls.__name__} as an object", []
    if cls is types.SimpleNamespace:
        found = next((one for one in names.values() if type(one) in (*_FUNCTIONS, functools.partial)), None)
        if found is not None or any(
            isinstance(one, (nn.Module, *_torch_modules())) for one in names.values()
        ):
            return f"a {type(found).__name__} in a SimpleNamespace", []
    if isinstance(value, (nn.Module, *_torch_modules())) and not {"_parameters", "_modules"} <= set(names):
        return f"a {cls.__name__} that was made around its codec", []
    if isinstance(value, (nn.Module, *_torch_modules())) and not _has_tables(names):
        return f"a {cls.__name__} whose tables hold something else", []
    hooks = _hooks(value) or _odd_tables(value, names)
    if hooks:
        return hooks, []
    return "", list(names.values())


_KEEPS_ITS_OWN = ("ipaddress", "numpy.ma", "numpy.ma.core", "torch.nn.utils.spectral_norm")


def _own_dict(value: Any) -> dict[Any, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _attributes(value: Any) -> list[Any]:
    return list(_own_dict(value).values())


def _is_method(cls: type, name: str) -> bool:
    for base in cls.__mro__:
        if name in vars(base):
            return isinstance(
                vars(base)[name], (types.FunctionType, classmethod, staticmethod, types.MethodDescriptorType)
            )
    return False


def _has_tables(names: dict[Any, Any]) -> bool:
    """Whether the tables of a module are such, and hold tensors and modules by name."""
    tables = names["_parameters"], names["_modules"], names.get("_buffers", {})
    if not all(type(table) in (dict, collections.OrderedDict) for table in tables):
        return False
    found = [part for table in tables for part in dict.values(table) if part is not None]
    tensors = (kellet.Tensor,) if words.torch is None else (kellet.Tensor, words.torch.Tensor)
    return all(isinstance(part, (nn.Module, *_torch_modules(), *tensors)) for part in found)


def _hooks(value: Any) -> str:
    """The hooks of a module in data alone are those that a norm of PyTorch made."""
    if isinstance(value, nn.Module):
        for place in ("_call_hooks", "_state_hooks"):
            held = _own_dict(value).get(place)
            for slot in getattr(type(held), "__slots__", ()):
                if getattr(held, slot, None):
                    return f"a hook of {type(value).__name__}"
    elif words.torch is not None and isinstance(value, words.torch.nn.Module):
        for name, table in _own_dict(value).items():
            if name in _torch_tables() and isinstance(table, dict):
                for hook in dict.values(table):
                    hook = getattr(hook, "hook", hook)
                    if type(hook).__name__ not in _NORMS:
                        return f"{name} of {type(value).__name__} holds a {type(hook).__name__}"
    return ""


def _odd_tables(value: Any, names: dict[Any, Any]) -> str:
    """Where a framework keeps hooks there is a table of its own, or nothing yet."""
    for name, held in names.items():
        if name in ("_call_hooks", "_state_hooks") and isinstance(value, nn.Module):
            own = held is None or type(held).__module__.startswith("kellet.nn.")
        elif name in _torch_tables() and isinstance(value, _torch_modules()):
            own = type(held) is collections.OrderedDict
        else:
            continue
        if not own:
            return f"{name} of {type(value).__name__} is a {type(held).__name__}, and no table of hooks"
    return ""


@functools.cache
def _torch_tables() -> frozenset[str]:
    """The attributes in which PyTorch keeps the hooks of a module."""
    found = {} if words.torch is None else vars(words.torch.nn.Module())
    return frozenset(name for name, held in found.items() if "hooks" in name and isinstance(held, dict))


_NORMS = ("WeightNorm", "SpectralNorm", "SpectralNormStateDictHook", "SpectralNormLoadStateDictPreHook")


def _norm(value: Any, names: dict[Any, Any]) -> str:
    """What a norm of PyTorch keeps of itself: numbers and a name, or the norm that it is for."""
    kinds = ("SpectralNorm",) if "fn" in names else ("int", "float", "str")
    odd = next((name for name, one in names.items() if type(one).__name__ not in kinds), None)
    return "" if odd is None else f"{odd} of a {type(value).__name__} is a {type(names[odd]).__name__}"


def _has_own_slots(tensor: Any) -> bool:
    """Whether a tensor of kellet is made of an array and of what was made for it, and of no graph."""
    slots = {
        name: getattr(type(tensor), name).__get__(tensor) for name in ("_array", "_edge", "_grad", "_hooks")
    }
    return isinstance(slots.pop("_array"), np.ndarray) and not any(
        held is not None and not type(held).__module__.startswith("kellet.") for held in slots.values()
    )


def _annotation(value: Any) -> str:
    """What an annotation is made of: listed classes, and what stands in a literal."""
    for part in typing.get_args(value):
        for one in part if isinstance(part, list) else [part]:
            if (
                typing.get_origin(one) is not None
                or type(one).__module__ == "typing"
                or one is ...
                or one is None
            ):
                continue
            if typing.get_origin(value) is typing.Literal:
                continue
            if not isinstance(one, type) or _global(one)[0]:
                return f"an annotation of a {type(one).__name__}"
    return ""


def _partial(value: Any) -> str:
    return _wrapped(value.func, "a partial")


def _wrapped(function: Any, what: str) -> str:
    if function is SENTINEL:
        return ""
    listed = isinstance(function, _FUNCTIONS) or (
        isinstance(function, type) and issubclass(function, (nn.Module, np.generic, *_torch_modules()))
    )
    home = str(getattr(function, "__module__", ""))
    if not listed or home.partition(".")[0] in ("builtins", "math", "scipy"):
        return f"{what} of {home}:{getattr(function, '__name__', type(function).__name__)}"
    return ""


def _torch_modules() -> tuple[Any, ...]:
    return () if words.torch is None else (words.torch.nn.Module,)


def _array_of_objects(value: Any) -> tuple[str, list[Any]]:
    base = value
    while type(base) is np.ndarray and base.base is not None:
        base = base.base
    if type(base) is not np.ndarray:
        return f"an array of {value.dtype} in memory of the archive", []
    return "", value.ravel().tolist() if value.dtype.kind == "O" and value.dtype.fields is None else []


def _global(value: Any) -> tuple[str, list[Any]]:
    """A listed name: whatever else is found was not granted."""
    if value is SENTINEL or id(value) in _granted():
        return "", []
    return (
        f"{getattr(value, '__module__', '')}:{getattr(value, '__qualname__', '?')}, which is not listed",
        [],
    )


@functools.cache
def _granted() -> dict[int, Any]:
    import importlib

    from packager._audit.resolve import resolve_name

    found = [resolve_name(importlib.import_module(module), name) for module, name in words.NAMES]
    return {id(value): value for value in found}


def _odd_key(keys: Any) -> str:
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        cls = type(key)
        if cls in _PLAIN_KEYS or isinstance(key, type):
            continue
        if issubclass(cls, tuple) or cls is frozenset:
            waiting += (tuple if issubclass(cls, tuple) else frozenset).__iter__(key)
        elif cls is uuid.UUID and type(key.int) is not int:
            return "a key that is a UUID of no int"
        elif cls is types.GenericAlias:
            waiting += [key.__origin__, *key.__args__]
        elif cls.__module__ == "outside" or (
            isinstance(vars(cls).get("__hash__"), types.FunctionType) and cls.__name__ not in _HASHED
        ):
            return f"a key that is a {cls.__module__}.{cls.__name__}"
    return ""


_LEAVES = frozenset(
    {
        *(
            int,
            float,
            str,
            bytes,
            bool,
            complex,
            type(None),
            bytearray,
            slice,
            range,
            type(...),
            type(NotImplemented),
        ),
        *(io.BytesIO, io.StringIO, itertools.count, struct.Struct, decimal.Context, zoneinfo.ZoneInfo),
        *(random.SystemRandom, weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary),
        *(type(dataclasses.MISSING), type(dataclasses.KW_ONLY), inspect._ParameterKind),
        *(() if words.regex is None else (words.regex.Pattern,)),
        *(re.Pattern, array.array, datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
        *(
            datetime.timezone,
            decimal.Decimal,
            fractions.Fraction,
            random.Random,
            np.dtype,
            type(np.dtype("f4")),
        ),
    }
)
_PLAIN_KEYS = frozenset({int, float, str, bytes, bool, complex, type(None)})
_HASHED = """Fraction UUID RegexFlag SafeUUID IPv4Address IPv6Address IPv4Network IPv6Network IPv4Interface
    IPv6Interface PurePath PurePosixPath PureWindowsPath Tensor Parameter Buffer Device Flag Enum""".split()
_FACTORIES = (None, int, float, str, bool, list, dict, set, tuple, collections.Counter, SENTINEL)
_CALLED_LATER = (
    types.MethodType,
    operator.attrgetter,
    operator.itemgetter,
    operator.methodcaller,
    map,
    filter,
    zip,
)
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    np.ufunc,
    type(np.clip),
)


# --- what the whole process shares ---


class SharedState:
    """Fingerprints of objects that the whole process shares."""

    def __init__(self) -> None:
        shared = [
            *(logging.getLogger(), logging.getLogger("packager"), logging.getLogger("grammar.a")),
            *(re.IGNORECASE, re.DOTALL, uuid.SafeUUID.safe, np.ma.masked, kellet.zeros(()).device),
            *(nn.Linear, nn.Module, uuid.UUID, np.poly1d, kellet.nn.functional.relu, random.Random),
        ]
        self._shared = [(one, _own_dict(one) or vars(type(one))) for one in shared]
        # Functions have attributes of their own, mostly none.
        functions = [one for one in _granted().values() if isinstance(one, types.FunctionType)]
        self._function_dicts = [_own_dict(one) for one in functions]
        self._before = self._now()

    def problem(self) -> str:
        """Return what a load has changed, once."""
        now = self._now()
        if now == self._before:
            return ""
        changed = [
            type(one).__name__
            for (one, _), was, is_ in zip(self._shared, self._before, now, strict=False)
            if was != is_
        ]
        if now[-1] != self._before[-1]:
            changed.append("a function")
        self._before = now
        return f"what the process shares was changed: {', '.join(changed)}"

    def _now(self) -> list[Any]:
        shared: list[Any] = [
            (len(names), type(one), [id(value) for value in names.values()] if len(names) < 20 else None)
            for one, names in self._shared
        ]
        return [*shared, sum(map(len, self._function_dicts))]
