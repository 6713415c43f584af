"""Codecs for small things of the standard library that models hold: buffers, counters, time zones, contexts.

Each is made by its own constructor in C, or a short one in Python, of numbers and texts that were looked at.
What belongs to the process alone is left out: a weak collection is stored without what it holds.
"""

from __future__ import annotations

import ast
import dataclasses
import gc
import io
import itertools
import random
import re
import struct
import types as python_types
import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node, expect, expect_class

if TYPE_CHECKING:
    import decimal

_MAX_ZONE: Final = 255
_ZONE: Final = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")
_MAX_FORMAT: Final = 1000


class BufferCodec(Codec):
    """io.BytesIO and io.StringIO: what is in them, and the position."""

    name = "io.buffer"
    types = ("_io:BytesIO", "_io:StringIO")

    def encode(self, obj: io.BytesIO | io.StringIO, context: Encoding) -> Node:
        """Return content and position. Raises CannotStore for one that is closed, or has more to it."""
        if obj.closed:
            raise CannotStore(f"a closed {type(obj).__name__}", "leave it out (__getstate__)")
        content, position = obj.getvalue(), obj.tell()
        if vars(obj) or position > len(content):
            raise CannotStore(
                f"a {type(obj).__name__} with attributes, or a position beyond its end",
                "store its getvalue()",
            )
        if isinstance(obj, io.StringIO) and tuple(obj.__getstate__())[1] != "\n":  # type: ignore[arg-type]  # a tuple
            raise CannotStore("a StringIO that translates the ends of lines", "store its getvalue()")
        return Node([type(obj).__name__, position], (content,))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and list(map(type, literal)) == [str, int], "a kind, a position")
        kind, position = literal
        expect(kind in _BUFFERS and len(children) == 1 and children[0].kind == "scalar", "a buffer")
        content = children[0].value
        expect(type(content) in (str, bytes), "its content")
        expect(kind == "StringIO" or type(content) is bytes, "bytes")
        expect(0 <= position <= len(content), f"a position from 0 to {len(content)}", position)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a buffer. Raises ValueError where its content is of the other kind."""
        kind, position = literal
        expect(type(children[0]) is (bytes if kind == "BytesIO" else str), "the content of a buffer")
        made = _BUFFERS[kind](children[0])
        made.seek(position)
        return made


_BUFFERS: Final[dict[str, Any]] = {"BytesIO": io.BytesIO, "StringIO": io.StringIO}


class ZoneCodec(Codec):
    """zoneinfo.ZoneInfo: the key. The rules are those of the machine that loads, as with pickle."""

    name = "zoneinfo"
    types = ("zoneinfo:ZoneInfo",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the key. Raises CannotStore for a zone without one, or with an odd one."""
        if not _is_zone(obj.key):
            raise CannotStore("a time zone that has no key of the usual form", "use ZoneInfo('Area/City')")
        return Node(obj.key, key=obj.key)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(_is_zone(literal) and not children, "the key of a time zone")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Return the zone of a key. Raises ValueError where this machine does not know it."""
        from zoneinfo import ZoneInfo

        if literal not in _zones_here():  # else files and modules would be looked for by a name from data
            raise ValueError(f"there is no time zone {literal!r} here; install tzdata")
        return ZoneInfo(literal)


@lru_cache(maxsize=1)
def _zones_here() -> frozenset[str]:
    """The keys of all time zones that this machine has."""
    from zoneinfo import available_timezones

    return frozenset(available_timezones())


def _is_zone(key: object) -> bool:
    return type(key) is str and len(key) <= _MAX_ZONE and _ZONE.fullmatch(key) is not None


class CounterCodec(Codec):
    """itertools.count and itertools.repeat: where they stand."""

    name = "itertools"
    types = ("itertools:count", "itertools:repeat")

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return where it stands. Raises CannotStore for a count of other things than ints and floats."""
        if type(obj) is itertools.repeat:
            with warnings.catch_warnings():  # Python 3.12 announces that iterators will not be copied
                warnings.simplefilter("ignore")
                args = obj.__reduce__()[1]
            value, times = (*args, None)[:2]
            return Node("repeat", (value, times))
        try:  # it says no more of itself than how it is printed; that is exact for numbers
            parts = ast.literal_eval(repr(obj).removeprefix("count"))
        except (ValueError, SyntaxError):
            raise CannotStore(f"{obj!r}, a count of no plain numbers", "count in ints or floats") from None
        start, step = parts if isinstance(parts, tuple) else (parts, 1)
        return Node("count", (start, step))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal in ("count", "repeat") and len(children) == 2, "'count' or 'repeat' with two children")
        numbers = (int, float, bytes) if literal == "count" else (int, type(None))
        for child in children if literal == "count" else children[1:]:
            expect(child.kind == "scalar" and type(child.value) in numbers, "numbers")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build an iterator. Raises ValueError for other parts than numbers."""
        first, second = children
        if literal == "count":
            expect(type(first) in (int, float) and type(second) in (int, float), "numbers")
            return itertools.count(first, second)
        return itertools.repeat(first) if second is None else itertools.repeat(first, second)


class ExceptionCodec(Codec):
    """Exceptions as values: the class, the arguments and the attributes; no traceback, and no cause."""

    name = "exception"
    types = ("builtins:BaseException",)
    takes_attributes = True
    creates = True

    def claims(self, cls: type) -> bool:
        """Check that an exception is no more than its arguments, and what was put on it."""
        own = ("__reduce__", "__reduce_ex__", "__setstate__", "__getstate__", "__new__")
        return not issubclass(cls, BaseExceptionGroup) and all(
            not isinstance(getattr(cls, name, None), python_types.FunctionType) for name in own
        )

    def encode(self, obj: BaseException, context: Encoding) -> Node:
        args = obj.__reduce__()[1]  # those of OSError are more than `args`
        return Node(None, (type(obj), *args), attributes=dict(vars(obj)))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(
            literal is None and len(children) > 0 and children[0].kind == "global", "a class and arguments"
        )

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build an exception; no `__init__` in Python runs. Raises ValueError for another class."""
        cls, *args = children
        expect_class(cls, BaseException, "a class of exceptions")
        if not self.claims(cls):
            raise ValueError(f"{cls!r} is more than its arguments")
        # Python makes a tuple of the place of such an error, whatever stands there, without end.
        place = len(args) != 2 or type(args[1]) is tuple
        expect(place or not issubclass(cls, SyntaxError), "the place of an error in a source, as a tuple")
        made = cls.__new__(cls, *args)
        first = next(
            base
            for base in cls.__mro__
            if not isinstance(vars(base).get("__init__"), python_types.FunctionType | None)
        )
        first.__init__(made, *args)
        return made


class WeakCodec(Codec):
    """Weak dictionaries and sets: empty, since what they hold lives by what holds it elsewhere."""

    name = "weakref.collection"
    types = ("weakref:WeakKeyDictionary", "weakref:WeakValueDictionary", "_weakrefset:WeakSet")

    def claims(self, cls: type) -> bool:
        return cls in _WEAK.values()

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the kind, and warn of what is left out. Raises CannotStore for one with attributes."""
        if len(obj):
            context.warn(
                f"a {type(obj).__name__} is stored empty: its {len(obj)} entries are there only as long as "
                "others hold them; keep them in a dict or a list, if they are needed"
            )
        return Node(type(obj).__name__)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is str and literal in _WEAK and not children, "the name of a weak collection")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return _WEAK[literal]()


_WEAK: Final[dict[str, Callable[[], Any]]] = {
    "WeakKeyDictionary": weakref.WeakKeyDictionary,
    "WeakValueDictionary": weakref.WeakValueDictionary,
    "WeakSet": weakref.WeakSet,
}


class DecimalContextCodec(Codec):
    """decimal.Context: six settings, names of the signals that are trapped, and of those that were seen."""

    name = "decimal.context"
    types = ("decimal:Context",)

    def claims(self, cls: type) -> bool:
        import decimal

        return cls is decimal.Context

    def encode(self, obj: decimal.Context, context: Encoding) -> Node:
        settings: list[Any] = [obj.prec, obj.rounding, obj.Emin, obj.Emax, obj.capitals, obj.clamp]
        signals = [[one.__name__ for one, on in held.items() if on] for held in (obj.traps, obj.flags)]
        return Node([*settings, len(signals[0]), *sorted(signals[0]), *sorted(signals[1])])

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) > 6 and not children, "settings and signals")
        prec, rounding, *numbers = literal[:7]
        expect(all(type(number) is int for number in (prec, *numbers)), "numbers")
        expect(type(rounding) is str and rounding.startswith("ROUND_"), "a way to round")
        expect(0 <= literal[6] <= len(literal) - 7, "signals")
        expect(all(type(name) is str and name in _SIGNALS for name in literal[7:]), "names of signals")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import decimal

        prec, rounding, low, high, capitals, clamp, count, *names = literal
        signals = [getattr(decimal, name) for name in names]
        return decimal.Context(prec, rounding, low, high, capitals, clamp, signals[count:], signals[:count])


_SIGNALS: Final = frozenset(
    """
    Clamped DivisionByZero FloatOperation Inexact InvalidOperation Overflow Rounded Subnormal Underflow
    """.split()
)


class MappingProxyCodec(Codec):
    """Views of a dict that do not change it: the dict itself."""

    name = "types.mappingproxy"
    types = ("builtins:mappingproxy",)

    def encode(self, obj: python_types.MappingProxyType[Any, Any], context: Encoding) -> Node:
        """Return the dict. Raises CannotStore for a view of another mapping."""
        (held,) = gc.get_referents(obj) or (None,)
        if type(held) is not dict:
            raise CannotStore(f"a view of a {type(held).__qualname__}", "make it a view of a dict")
        return Node(None, (held,))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 1 and children[0].kind == "dict", "a dict")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return python_types.MappingProxyType(children[0])


class StructCodec(Codec):
    """struct.Struct: the format."""

    name = "struct.struct"
    types = ("_struct:Struct",)

    def encode(self, obj: struct.Struct, context: Encoding) -> Node:
        """Return the format. Raises CannotStore for a very long one."""
        if len(obj.format) > _MAX_FORMAT:
            raise CannotStore(f"a format of {len(obj.format)} characters", "store its text")
        return Node(obj.format)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is str and len(literal) <= _MAX_FORMAT and not children, "a format")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Compile a format. Raises ValueError for one that Python does not know."""
        try:
            return struct.Struct(literal)
        except struct.error as error:
            raise ValueError(str(error)) from error


class StatelessCodec(Codec):
    """What has no state: marks of dataclasses, and the generator of the system."""

    name = "stateless"
    types = ("dataclasses:_MISSING_TYPE", "dataclasses:_KW_ONLY_TYPE", "random:SystemRandom")

    def encode(self, obj: Any, context: Encoding) -> Node:
        return Node(type(obj).__name__)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is str and literal in _STATELESS and not children, "the name of a mark")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return _STATELESS[literal]()


_STATELESS: Final[dict[str, Callable[[], Any]]] = {
    "_MISSING_TYPE": lambda: dataclasses.MISSING,
    "_KW_ONLY_TYPE": lambda: dataclasses.KW_ONLY,
    "SystemRandom": random.SystemRandom,
}

CODECS: Final = (
    BufferCodec(), ZoneCodec(), CounterCodec(), ExceptionCodec(), WeakCodec(), DecimalContextCodec(),
    MappingProxyCodec(), StructCodec(), StatelessCodec(),
)  # fmt: skip
