"""Codecs for values of Python itself that have no record of their own, for containers and for callables.

Whatever Python would rebuild through `getattr`, `operator`, `functools` or a private function has
its codec here, so that no archive needs to name those.
"""

from __future__ import annotations

import array
import enum
import functools
import operator
import re
import sys
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence
from types import MethodType
from typing import Any, Final

from packager._archive import MAX_FRACTION_BYTES, MAX_LOGGER_NAME, MAX_LOGGERS, MAX_NAME_PARTS
from packager._quick_dataclasses import dataclass

from .base import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    LiteralCodec,
    LiteralValue,
    Node,
    PartsCodec,
    expect,
    expect_class,
    kinds,
    shares_methods,
    words,
)

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import logging
    from fractions import Fraction


def _parts_of_slice(obj: slice | range) -> Node:
    parts = (obj.start, obj.stop, obj.step)
    # One record for equal ones: pickles of others make them anew, or keep them, as it comes.
    plain = all(part is None or type(part) is int for part in parts)
    return Node(type(obj).__name__, parts, key=(type(obj).__name__, parts) if plain else None)


def _expect_ints(children: Sequence[Child]) -> bool:
    """Raise ValueError for other children than ints; long ones are bytes of the table."""
    expect(all(child.kind == "scalar" and type(child.value) in (int, bytes) for child in children), "ints")
    return True


def _named(obj: enum.Enum) -> Node:
    """Return the name of a member; of a combination of flags without one the value."""
    cls = type(obj)
    name: str | None = obj.name
    if name is not None and cls.__members__.get(name) is obj:
        return Node(name, (cls,))
    if not isinstance(obj, enum.Flag) or type(obj.value) is not int:
        raise CannotStore(f"{obj!r} is not a member of {cls.__qualname__}", "store its value")
    return Node(obj.value, (cls,))


def _member(literal: Any, cls: Any) -> Any:
    expect_class(cls, enum.Enum, "an enumeration")
    if isinstance(literal, int):
        if not issubclass(cls, enum.Flag):
            raise ValueError(f"{cls!r} is not an enumeration of flags")
        if cls is re.RegexFlag and literal & ~_REGEX_FLAGS:  # it would keep each that is asked for
            raise ValueError(f"{cls!r} has no flags of the value {literal}")
        return cls(literal)
    if literal not in cls.__members__:
        raise ValueError(f"{cls!r} has no member {literal!r}")
    return cls.__members__[literal]


_REGEX_FLAGS: Final = functools.reduce(operator.or_, map(int, re.RegexFlag))


def _parts_of_fraction(obj: Fraction) -> Node:
    """Return two ints. Raises CannotStore where they are longer than a reader takes."""
    if max(obj.numerator.bit_length(), obj.denominator.bit_length()) >= 8 * MAX_FRACTION_BYTES:
        raise CannotStore(
            f"a fraction of ints of more than {MAX_FRACTION_BYTES} bytes",
            "store its numerator and its denominator, as ints",
        )
    return Node(None, (obj.numerator, obj.denominator))


def _expect_short_ints(children: Sequence[Child]) -> bool:
    """Raise ValueError for ints that are too long: two are divided by what they have in common, in a time
    that grows with the square."""
    _expect_ints(children)
    longest = max((len(child.value) for child in children if type(child.value) is bytes), default=0)
    expect(longest <= MAX_FRACTION_BYTES, f"ints of at most {MAX_FRACTION_BYTES} bytes", longest)
    return True


def _fraction(numerator: int, denominator: int) -> Fraction:
    from fractions import Fraction

    return Fraction(numerator, denominator)


_CODES: Final = "bBhHiIlLqQfd"


def _parts_of_array(obj: array.array[Any]) -> Node:
    if obj.typecode not in _CODES:
        return Node([obj.typecode, 0, b""], (obj.tounicode(),))
    return Node([obj.typecode, obj.itemsize, _little(obj).tobytes()])


def _expect_items(literal: Any, children: Sequence[Child]) -> bool:
    """Raise ValueError unless there is a text, or bytes that are whole items."""
    code, size, data = literal
    if code in ("u", "w"):
        text = len(children) == 1 and isinstance(children[0].value, str)
        expect(size == 0 and data == b"" and text, "one string")
    else:
        expect(code in tuple(_CODES) and not children, "a type code")
        expect(size in (1, 2, 4, 8) and len(data) % size == 0, "whole items")
    return True


def _array(literal: Any, *text: str) -> array.array[Any]:
    """Build an array. Raises ValueError where items of that type have another size."""
    code, size, data = literal
    made = array.array(code)
    if code in ("u", "w"):
        if text[0]:  # CPython 3.13.0 leaves an error behind for an empty text
            made.fromunicode(text[0])
        return made
    if made.itemsize != size:
        raise ValueError(f"items of type {code!r} have {made.itemsize} bytes here, {size} in the archive")
    made.frombytes(data)
    return _little(made)


def _little(values: array.array[Any]) -> array.array[Any]:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values


@dataclass(slots=True, eq=False)
class _MadeLoggers:
    """How many loggers one object has left in this process."""

    count: int = 0


class LoggerCodec(Codec):
    """Loggers: their name. What is configured for them belongs to the process."""

    name = "logging.logger"
    types = ("logging:Logger",)

    def claims(self, cls: type) -> bool:
        import logging  # which few models hold a logger of

        return issubclass(cls, logging.Logger)

    def encode(self, obj: logging.Logger, context: Encoding) -> Node:
        """Return the name of a logger. Raises CannotStore for a name of no module, or of another logger."""
        if not _is_logger_name(obj.name):
            raise CannotStore(
                f"a logger whose name has {len(obj.name)} characters", "give it the name of its module"
            )
        import logging

        known = obj is logging.getLogger() or logging.Logger.manager.loggerDict.get(obj.name) is obj
        if not known:
            raise CannotStore(
                f"logger {obj.name!r} was not made by logging.getLogger", "make it by logging.getLogger"
            )
        return Node("" if obj is logging.getLogger() else obj.name)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is str and not children, "the name of a module")
        name = str(literal)
        if not _is_logger_name(name):
            most = f"at most {MAX_LOGGER_NAME} characters and {MAX_NAME_PARTS} parts"
            there = f"{len(name)} characters and {name.count('.') + 1} parts"
            expect(False, f"the name of a module, of {most}", there)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Return the logger of a name. Raises ValueError for more new ones than an archive may leave behind.

        One that the process has not yet is like any that a library asks for: it has no level and no handler,
        and hands on to its parents. But the process keeps it.
        """
        import logging

        if literal and literal not in logging.Logger.manager.loggerDict:
            made = context.shared_state(_MadeLoggers)
            made.count += 1
            most = f"at most {MAX_LOGGERS} loggers that are new to this process"
            expect(made.count <= MAX_LOGGERS, most, made.count)
        return logging.getLogger(literal or None)


def _is_logger_name(name: str) -> bool:
    return len(name) <= MAX_LOGGER_NAME and name.count(".") < MAX_NAME_PARTS


def _is_named_tuple(cls: type) -> bool:
    return (
        isinstance(getattr(cls, "_fields", None), tuple)
        and tuple in cls.__bases__
        and shares_methods(cls, tuple, "__reduce_ex__", "__reduce__")
        and "__dict__" not in dir(cls)
    )


def _named_tuple(cls: Any, *items: Any) -> Any:
    """Put it together by `tuple` itself."""
    if not (isinstance(cls, type) and issubclass(cls, tuple) and _is_named_tuple(cls)):
        raise ValueError(f"{cls!r} is not a named tuple")
    if len(items) != len(cls._fields):  # type: ignore[attr-defined]  # as it is one
        raise ValueError(f"{cls!r} has other fields than in the archive")
    return tuple.__new__(cls, items)


def _is_scalar_class(cls: type) -> bool:
    """Check for a subclass of int, float, str, bytes or complex whose instances are made as those are."""
    base = _scalar_base(cls)
    own = "__reduce_ex__ __reduce__ __getnewargs__ __getnewargs_ex__ __getstate__ __setstate__"
    return base is not None and shares_methods(cls, base, *own.split())


def _value_and_state(obj: Any) -> Node:
    base = _scalar_base(type(obj))
    value = base(obj) if base is not str else str.__str__(obj)
    state = obj.__getstate__()
    plain, slots = state if isinstance(state, tuple) else (state, None)
    return Node(None, (type(obj), value), attributes={**(plain or {}), **(slots or {})})


def _scalar(cls: Any, value: Any) -> Any:
    base = _scalar_base(cls) if isinstance(cls, type) else None
    if base is None or type(value) is not base or issubclass(cls, enum.Enum):
        raise ValueError(f"{cls!r} is not made from {type(value).__name__}")
    return base.__new__(cls, value)


def _scalar_base(cls: type) -> Any:
    bases = (int, float, str, bytes, complex)
    return next((base for base in bases if issubclass(cls, base) and cls is not base), None)


def _partial(function: Any, args: Any, keywords: Any) -> Any:
    if type(args) is not tuple or type(keywords) is not dict or isinstance(function, functools.partial):
        raise ValueError("a partial takes a function, a tuple and a dict")
    made = functools.partial(function, *args)
    # The dict itself may be shared, and partial would copy it; its state takes it as it is.
    made.__setstate__((function, args, keywords, None))  # type: ignore[attr-defined]  # missing in typeshed
    return made


def _items_of(obj: Any) -> Node:
    """Return what a getter gets. Raises CannotStore for private attributes."""
    items = obj.__reduce__()[1]
    kind = type(obj).__name__
    if kind == "attrgetter" and not all(_is_public(name) for name in items):
        raise CannotStore(f"{obj!r} reads private attributes", "use a named function of your own package")
    return Node(kind, items)


def _is_public(name: object) -> bool:
    return isinstance(name, str) and all(part.isidentifier() and part[0] != "_" for part in name.split("."))


def _remembered(obj: Any) -> Node:
    """Return bounds and function, no answers. Raises CannotStore for a ufunc, which needs no memory."""
    if _is_ufunc(obj.__wrapped__):
        raise CannotStore("a cached ufunc", "use the ufunc itself")
    known = obj.cache_parameters()
    return Node([known["maxsize"], bool(known["typed"])], (obj.__wrapped__,))


def _are_bounds(literal: Any) -> bool:
    whole = isinstance(literal, list) and len(literal) == 2
    return whole and type(literal[0]) in (int, type(None)) and type(literal[1]) is bool


def _cached(bounds: Any, function: Any) -> Any:
    fit = callable(function) and not _is_ufunc(function)
    expect(fit, "a function", type(function).__qualname__)
    return functools.lru_cache(*bounds)(function)


def _is_ufunc(function: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(function, numpy.ufunc)


_GETTERS: Final[dict[str, Any]] = {"itemgetter": operator.itemgetter, "attrgetter": operator.attrgetter}


def _pairs_of(obj: Any) -> Node:
    children = (obj.default_factory,) if type(obj) is defaultdict else ()
    return Node(type(obj).__name__, children, pairs=obj, attributes=dict(getattr(obj, "__dict__", {})))


_MAPPINGS: Final[dict[str, Any]] = {
    "OrderedDict": OrderedDict,
    "Counter": Counter,
    "defaultdict": defaultdict,
}


_SINGLETONS: Final[dict[str, Any]] = {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}

CODECS: Final = (
    LiteralCodec("complex", ("builtins:complex",), kinds(float, float), "two floats",
            lambda obj: [obj.real, obj.imag], lambda parts: complex(*parts), is_data="plain"),
    # They are mutable, so each is stored for itself.
    LiteralCodec("bytearray", ("builtins:bytearray",), lambda data: type(data) is bytes, "bytes",
            bytes, bytearray, is_data="plain"),
    # The types of these, and of None, have no module.
    LiteralCodec("singleton", ("builtins:ellipsis", "builtins:NotImplementedType"), words(_SINGLETONS),
            "the name of a singleton", repr, _SINGLETONS.__getitem__, is_data="plain"),
    # Slices of anything, and ranges of ints: whatever else stands in a range is asked for its index.
    PartsCodec("slice", ("builtins:slice", "builtins:range"), "any any any",
          "'slice' or 'range' with three children",
          _parts_of_slice, lambda kind, *parts: slice(*parts) if kind == "slice" else range(*parts),
          words(("slice", "range")), also=lambda kind, parts: kind == "slice" or _expect_ints(parts),
          takes_apart=True, is_data="plain"),
    PartsCodec("enum", ("enum:Enum",), "global", "a name or a value, and a class", _named, _member,
          lambda literal: type(literal) in (str, int), lambda cls: issubclass(cls, enum.Enum), creates=True,
          is_data="plain"),
    # From a string Python would make the powers of ten that it names.
    PartsCodec("fraction", ("fractions:Fraction",), "any any", "numerator and denominator",
          _parts_of_fraction, _fraction, also=lambda literal, parts: _expect_short_ints(parts),
          is_data="plain"),
    # The type code, the size of an item, and the bytes, little-endian.
    PartsCodec("array.array", ("array:array",), "any*", "code, size, bytes", _parts_of_array, _array,
          kinds(str, int, bytes), also=_expect_items, is_data="plain"),
    LoggerCodec(),
    PartsCodec("namedtuple", ("builtins:tuple",), "global any*", "a class and items",
          lambda obj: Node(None, (type(obj), *obj)), _named_tuple, claimed=_is_named_tuple, creates=True,
          is_data="plain"),
    PartsCodec("scalar subclass",
          ("builtins:int", "builtins:float", "builtins:str", "builtins:bytes", "builtins:complex"),
          "global any", "a class and a value", _value_and_state, _scalar, claimed=_is_scalar_class,
          creates=True, takes_attributes=True, is_data="plain"),
    # What wraps a callable; in data alone it is refused, but for partials of a few listed functions.
    PartsCodec("functools.partial", ("functools:partial",), "global|function|method|object|codec tuple dict",
          "a function, arguments and keywords",
          lambda obj: Node(None, (obj.func, obj.args, obj.keywords), attributes=dict(vars(obj))), _partial,
          takes_attributes=True),
    # A function bound to an object that is not of its class.
    PartsCodec("method", ("builtins:method",), "any any", "a function and an object",
          lambda obj: Node(None, (obj.__func__, obj.__self__)), MethodType),
    # The latter for names without a leading underscore.
    PartsCodec("getter", ("operator:itemgetter", "operator:attrgetter"), "any any*",
          "the kind of getter, and its items, or names of public attributes", _items_of,
          lambda kind, *items: _GETTERS[kind](*items), words(_GETTERS),
          also=lambda kind, items: kind == "itemgetter" or all(_is_public(item.value) for item in items)),
    PartsCodec("functools.cache", ("functools:_lru_cache_wrapper",), "global|function|method|codec",
          "bounds and a function", _remembered, _cached, _are_bounds),
    # Containers, made empty and then filled, so that they may hold themselves. Called with what an archive
    # says they would take any iterable, endless ones among them.
    PartsCodec("collections.mapping", tuple(f"collections:{name}" for name in _MAPPINGS), "any*",
          "the name of a mapping, and a factory for a defaultdict", _pairs_of,
          lambda kind, *factory: _MAPPINGS[kind](*factory), words(_MAPPINGS),
          also=lambda kind, children: len(children) == (kind == "defaultdict"),
          takes_pairs=True, takes_attributes=True, is_data="plain"),
    PartsCodec("collections.deque", ("collections:deque",), "", "the greatest length",
          lambda obj: Node(obj.maxlen, items=tuple(obj)), lambda longest: deque(maxlen=longest),
          lambda longest: longest is None or (type(longest) is int and longest >= 0), takes_items=True,
          is_data="plain"),
    PartsCodec("collections.chainmap", ("collections:ChainMap",), "any any*", "mappings",
          lambda obj: Node(None, tuple(obj.maps)), ChainMap, is_data="plain"),
)  # fmt: skip
