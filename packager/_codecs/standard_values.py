"""Codecs for small things of the standard library that models hold: patterns, buffers, counters, time zones.

Each is made by its own constructor in C, or a short one in Python, of numbers and texts that were looked at.
What belongs to the process alone is left out: a weak collection is stored without what it holds. Python goes
through every character of a range when it compiles a pattern, so that five characters can take 30
milliseconds: the steps are counted before.
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
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from packager._archive import MAX_PATTERN_STEPS
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
    words,
)

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import decimal

_MAX_ZONE: Final = 255
_ZONE: Final = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")
_MAX_FORMAT: Final = 1000


class BufferCodec(Codec):
    """io.BytesIO and io.StringIO: what is in them, and the position."""

    name = "io.buffer"
    is_data = "plain"
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


def _key_of_zone(zone: Any) -> str:
    if not _is_zone(zone.key):
        raise CannotStore("a time zone without a usual key", "use ZoneInfo('Area/City')")
    return str(zone.key)


def _zone(key: str) -> Any:
    from zoneinfo import ZoneInfo

    if key not in _zones_here():  # else files and modules would be looked for by a name from data
        raise ValueError(f"there is no time zone {key!r} here; install tzdata")
    return ZoneInfo(key)


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
    is_data = "plain"
    takes_apart = True
    types = ("itertools:count", "itertools:repeat")

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return where it stands. Raises CannotStore for a count of other things than ints and floats."""
        if type(obj) is itertools.repeat:
            value = gc.get_referents(obj)[-1]  # since Python 3.14 it has no `__reduce__`
            return Node("repeat", (value, _times_of(obj)))
        try:  # it says no more of itself than how it is printed; that is exact for numbers
            parts = ast.literal_eval(repr(obj).removeprefix("count"))
        except (ValueError, SyntaxError):
            raise CannotStore(f"{obj!r}, whose numbers are not plain", "count in ints or floats") from None
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


def _times_of(obj: itertools.repeat[Any]) -> int | None:
    try:
        return obj.__length_hint__()
    except TypeError:  # without end
        return None


def _is_exception(cls: type) -> bool:
    """Check that an exception is no more than its arguments, and what was put on it."""
    own = ("__reduce__", "__reduce_ex__", "__setstate__", "__getstate__", "__new__")
    return not issubclass(cls, BaseExceptionGroup) and all(
        not isinstance(getattr(cls, name, None), python_types.FunctionType) for name in own
    )


def _arguments_of(error: BaseException) -> Node:
    args = error.__reduce__()[1]  # those of OSError are more than `args`
    return Node(None, (type(error), *args), attributes=dict(vars(error)))


def _exception(cls: Any, *args: Any) -> Any:
    """Build an exception; no `__init__` in Python runs. Raises ValueError for another class."""
    expect_class(cls, BaseException, "a class of exceptions")
    if not _is_exception(cls):
        raise ValueError(f"{cls!r} has parts beside its arguments")
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
    is_data = "plain"
    types = ("weakref:WeakKeyDictionary", "weakref:WeakValueDictionary", "_weakrefset:WeakSet")

    def claims(self, cls: type) -> bool:
        return cls in _WEAK.values()

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the kind, and warn of what is left out. Raises CannotStore for one with attributes."""
        if len(obj):
            context.warn(
                f"a {type(obj).__name__} is stored empty: its {len(obj)} entries live only as long as other "
                "objects hold them; use a dict or a list to store them"
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


def _parts_of_context(context: decimal.Context) -> list[Any]:
    settings = [context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp]
    signals = [[one.__name__ for one, on in held.items() if on] for held in (context.traps, context.flags)]
    return [*settings, len(signals[0]), *sorted(signals[0]), *sorted(signals[1])]


def _is_context(literal: Any) -> bool:
    expect(isinstance(literal, list) and len(literal) > 6, "settings and signals")
    prec, rounding, *numbers = literal[:7]
    expect(all(type(number) is int for number in (prec, *numbers)), "numbers")
    expect(type(rounding) is str and rounding.startswith("ROUND_"), "a way to round")
    expect(0 <= literal[6] <= len(literal) - 7, "signals")
    expect(all(type(name) is str and name in _SIGNALS for name in literal[7:]), "names of signals")
    return True


def _context(literal: Any) -> Any:
    import decimal

    prec, rounding, low, high, capitals, clamp, count, *names = literal
    signals = [getattr(decimal, name) for name in names]
    return decimal.Context(prec, rounding, low, high, capitals, clamp, signals[count:], signals[:count])


_SIGNALS: Final = frozenset(
    """
    Clamped DivisionByZero FloatOperation Inexact InvalidOperation Overflow Rounded Subnormal Underflow
    """.split()
)


def _held_by(view: Any) -> Node:
    (held,) = gc.get_referents(view) or (None,)
    if type(held) is not dict:
        raise CannotStore(f"a view of a {type(held).__qualname__}", "make it a view of a dict")
    return Node(None, (held,))


def _format_of(compiled: struct.Struct) -> str:
    if not _is_format(compiled.format):
        raise CannotStore(f"a format of {len(compiled.format)} characters", "store its text")
    return compiled.format


def _is_format(text: Any) -> bool:
    return type(text) is str and len(text) <= _MAX_FORMAT


def _struct(text: str) -> struct.Struct:
    try:
        return struct.Struct(text)
    except struct.error as error:
        raise ValueError(str(error)) from error


_TOKEN: Final = re.compile(
    r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\N\{[^}]*\}|\\[0-7]{1,3}|\\.|.", re.DOTALL
)
_HALVES: Final = re.compile(r"[\ud800-\udfff]")
_STEPS_PER_CHARACTER: Final = 16
_STEPS_PER_RANGE: Final = 256
_REGEX_FLAGS: Final = 1 << 20
_LAST: Final = 0xFFFF  # ranges beyond are taken as a whole


class PatternCodec(Codec):
    """Compiled regular expressions: the pattern and the flags."""

    name = "re.pattern"
    is_data = "plain"
    types = ("re:Pattern",)

    def encode(self, obj: re.Pattern[Any], context: Encoding) -> Node:
        """Return the pattern and the flags. Raises CannotStore where a reader would not compile them."""
        if isinstance(obj.pattern, str) and _HALVES.search(obj.pattern):
            raise CannotStore(
                "a pattern with an unpaired surrogate",
                "write the surrogate as an escape, such as \\ud800",
            )
        try:
            context.shared_state(_Steps).add(obj.pattern)
        except ValueError as error:
            raise CannotStore(str(error), "store the text, and compile it where it is used") from error
        # `re.compile` keeps patterns, so equal ones are one object wherever they are made.
        return Node([obj.pattern, obj.flags], key=(obj.pattern, obj.flags))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) == 2 and not children, "a pattern and flags")
        expect(type(literal[0]) in (str, bytes) and type(literal[1]) is int, "a pattern and flags")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Compile a pattern. Raises ValueError where that would take too long."""
        pattern, flags = literal
        context.shared_state(_Steps).add(pattern)
        return re.compile(pattern, flags & ~re.DEBUG)  # which prints what is compiled


class RegexPatternCodec(PatternCodec):
    """Compiled patterns of the library `regex`: the pattern and the flags, as for those of `re`."""

    name = "regex.pattern"
    is_data = "plain"
    types = ("_regex:Pattern",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the pattern and the flags. Raises CannotStore for named lists, and what takes too long."""
        if obj.named_lists:
            raise CannotStore(
                "a pattern with named lists", "write their words into the pattern, as alternatives"
            )
        return super().encode(obj, context)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Compile a pattern. Raises ValueError where that would take too long, or it is none."""
        import regex  # type: ignore[import-untyped, unused-ignore]  # its stubs are a distribution of their own

        pattern, flags = literal
        context.shared_state(_Steps).add(pattern)
        expect(0 <= flags < _REGEX_FLAGS, "flags", flags)
        try:
            return regex.compile(pattern, flags & ~int(regex.DEBUG))
        except regex.error as error:
            raise ValueError(str(error)) from error


@dataclass(slots=True, eq=False)
class _Steps:
    """How many steps all patterns of one object take."""

    count: int = 0

    def add(self, pattern: str | bytes) -> None:
        """Add those of a pattern. Raises ValueError for too many."""
        self.count += _STEPS_PER_CHARACTER * len(pattern)
        if self.count <= MAX_PATTERN_STEPS:
            self.count += _steps_of_ranges(
                pattern.decode("latin-1") if type(pattern) is bytes else str(pattern)
            )
        most = f"patterns that compile in at most {MAX_PATTERN_STEPS} steps"
        expect(self.count <= MAX_PATTERN_STEPS, most, self.count)


def _steps_of_ranges(pattern: str) -> int:
    """Return how many characters the ranges of a pattern have; each dash counts as one of a range."""
    tokens = _TOKEN.findall(pattern)
    dashes = (at for at, token in enumerate(tokens[:-1]) if token == "-" and at > 0)
    ends = ((_code(tokens[at - 1], 0), _code(tokens[at + 1], _LAST)) for at in dashes)
    return sum(_STEPS_PER_RANGE + max(0, min(high, _LAST) - low) for low, high in ends)


def _code(token: str, unknown: int) -> int:
    """Return the code point of a token; `unknown` for one that is given by its name."""
    if token[0] != "\\" or len(token) == 1:
        return ord(token)
    if token[1] in "xuU" and len(token) > 2:
        return int(token[2:], 16)
    if token[1] in "01234567":
        return int(token[1:], 8)
    return unknown if token[1] == "N" else ord(token[1])


_STATELESS: Final[dict[str, Callable[[], Any]]] = {
    "_MISSING_TYPE": lambda: dataclasses.MISSING,
    "_KW_ONLY_TYPE": lambda: dataclasses.KW_ONLY,
    "SystemRandom": random.SystemRandom,
}

CODECS: Final = (
    PatternCodec(), RegexPatternCodec(), BufferCodec(),
    # The rules of a zone are those of the machine that loads, as with pickle.
    LiteralCodec("zoneinfo", ("zoneinfo:ZoneInfo",), _is_zone, "the key of a time zone",
            _key_of_zone, _zone, once=True, is_data="plain"),
    CounterCodec(),
    # No traceback, and no cause.
    PartsCodec("exception", ("builtins:BaseException",), "global any*", "a class and arguments",
          _arguments_of, _exception, claimed=_is_exception, creates=True, takes_attributes=True,
          is_data="plain"),
    WeakCodec(),
    # Six settings, how many signals are trapped, names of these, and of those that were seen.
    LiteralCodec("decimal.context", ("decimal:Context",), _is_context, "settings and signals",
            _parts_of_context, _context, is_data="plain"),
    # Views of a dict that do not change it.
    PartsCodec("types.mappingproxy", ("builtins:mappingproxy",), "dict", "a dict",
          _held_by, lambda held: python_types.MappingProxyType(held), is_data="plain"),
    LiteralCodec("struct.struct", ("_struct:Struct",), _is_format, "a format", _format_of, _struct,
          is_data="plain"),
    # Marks of dataclasses, and the generator of the system.
    LiteralCodec("stateless",
            ("dataclasses:_MISSING_TYPE", "dataclasses:_KW_ONLY_TYPE", "random:SystemRandom"),
            words(_STATELESS), "the name of a mark",
            lambda obj: type(obj).__name__, lambda name: _STATELESS[name](), is_data="plain"),
)  # fmt: skip
