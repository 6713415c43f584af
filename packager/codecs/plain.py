"""Codecs for values of Python itself that have no record of their own, and for what wraps a callable.

Whatever Python would rebuild through `getattr`, `operator`, `functools` or a private function has
its codec here, so that no archive needs to name those.
"""

from __future__ import annotations

import array
import enum
import functools
import logging
import operator
import re
import sys
from collections.abc import Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from .base import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    LiteralValue,
    Node,
    expect,
    expect_class,
    shares_methods,
)

if TYPE_CHECKING:
    from fractions import Fraction


class ComplexCodec(Codec):
    """Complex numbers: two floats."""

    name = "complex"
    types = ("builtins:complex",)

    def encode(self, obj: complex, context: Encoding) -> Node:
        return Node([obj.real, obj.imag])

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and list(map(type, literal)) == [float, float], "two floats")
        expect(not children, "no children")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> complex:
        return complex(*literal)


class ByteArrayCodec(Codec):
    """Byte arrays: their bytes. They are mutable, so each is stored for itself."""

    name = "bytearray"
    types = ("builtins:bytearray",)

    def encode(self, obj: bytearray, context: Encoding) -> Node:
        return Node(bytes(obj))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is bytes and not children, "bytes")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> bytearray:
        return bytearray(literal)


class SingletonCodec(Codec):
    """Ellipsis, NotImplemented, and the types of these and of None, which have no module."""

    name = "singleton"
    types = ("builtins:ellipsis", "builtins:NotImplementedType")

    def encode(self, obj: Any, context: Encoding) -> Node:
        return Node(next(name for name, value in _SINGLETONS.items() if value is obj))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is str and literal in _SINGLETONS and not children, "the name of a singleton")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return _SINGLETONS[literal]


_SINGLETONS: Final[dict[str, Any]] = {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}


class SliceCodec(Codec):
    """Slices and ranges: start, stop and step."""

    name = "slice"
    types = ("builtins:slice", "builtins:range")

    def encode(self, obj: slice | range, context: Encoding) -> Node:
        parts = (obj.start, obj.stop, obj.step)
        # One record for equal ones: pickles of others make them anew, or keep them, as it comes.
        plain = all(part is None or type(part) is int for part in parts)
        return Node(type(obj).__name__, parts, key=(type(obj).__name__, parts) if plain else None)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal in ("slice", "range") and len(children) == 3, "'slice' or 'range' with three children")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return slice(*children) if literal == "slice" else range(*children)


class EnumCodec(Codec):
    """Members of enumerations: the class, and the name; unnamed combinations of flags, the value."""

    name = "enum"
    types = ("enum:Enum",)
    creates = True

    def claims(self, cls: type) -> bool:
        return issubclass(cls, enum.Enum)

    def encode(self, obj: enum.Enum, context: Encoding) -> Node:
        """Return the name or the value of a member. Raises CannotStore for what is no member of its class."""
        cls = type(obj)
        name: str | None = obj.name  # None for a combination of flags
        if name is not None and cls.__members__.get(name) is obj:
            return Node(name, (cls,))
        if not isinstance(obj, enum.Flag) or type(obj.value) is not int:
            raise CannotStore(f"{obj!r} is no member of {cls.__qualname__}")
        return Node(obj.value, (cls,))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) in (str, int) and len(children) == 1, "a name or a value, and a class")
        expect(children[0].kind == "global", "a class")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Look up a member. Raises ValueError where the class has none of that name, or no flags."""
        cls = children[0]
        expect_class(cls, enum.Enum, "an enumeration")
        if isinstance(literal, int):
            if not issubclass(cls, enum.Flag):
                raise ValueError(f"{cls!r} is not an enumeration of flags")
            return cls(literal)
        if literal not in cls.__members__:
            raise ValueError(f"{cls!r} has no member {literal!r}")
        return cls.__members__[literal]


class FractionCodec(Codec):
    """Fractions: two ints. (From a string Python would make the powers of ten that it names.)"""

    name = "fraction"
    types = ("fractions:Fraction",)

    def encode(self, obj: Fraction, context: Encoding) -> Node:
        return Node(None, (obj.numerator, obj.denominator))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 2, "numerator and denominator")
        expect(
            all(child.kind == "scalar" and type(child.value) in (int, bytes) for child in children), "ints"
        )

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from fractions import Fraction

        return Fraction(*children)


class PatternCodec(Codec):
    """Compiled regular expressions: the pattern and the flags."""

    name = "re.pattern"
    types = ("re:Pattern",)

    def encode(self, obj: re.Pattern[Any], context: Encoding) -> Node:
        # `re.compile` keeps patterns, so equal ones are one object wherever they are made.
        return Node([obj.pattern, obj.flags], key=(obj.pattern, obj.flags))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) == 2 and not children, "a pattern and flags")
        expect(type(literal[0]) in (str, bytes) and type(literal[1]) is int, "a pattern and flags")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        pattern, flags = literal
        return re.compile(pattern, flags & ~re.DEBUG)  # which prints what is compiled


class ArrayCodec(Codec):
    """array.array: the type code, the item size, and the bytes, little-endian."""

    name = "array.array"
    types = ("array:array",)
    _codes: ClassVar[str] = "bBhHiIlLqQfd"

    def encode(self, obj: array.array[Any], context: Encoding) -> Node:
        if obj.typecode not in self._codes:
            return Node([obj.typecode, 0, b""], (obj.tounicode(),))
        return Node([obj.typecode, obj.itemsize, _little(obj).tobytes()])

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(
            isinstance(literal, list) and list(map(type, literal)) == [str, int, bytes], "code, size, bytes"
        )
        code, size, data = literal
        if code in ("u", "w"):
            text = len(children) == 1 and isinstance(children[0].value, str)
            expect(size == 0 and data == b"" and text, "one string")
        else:
            expect(code in tuple(self._codes) and not children, "a type code")
            expect(size in (1, 2, 4, 8) and len(data) % size == 0, "whole items")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build an array. Raises ValueError where items of that type have another size."""
        code, size, data = literal
        made = array.array(code)
        if code in ("u", "w"):
            if children[0]:  # CPython 3.13.0 leaves an error behind for an empty text
                made.fromunicode(children[0])
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


class LoggerCodec(Codec):
    """Loggers: their name. What is configured for them belongs to the process."""

    name = "logging.logger"
    types = ("logging:Logger",)

    def claims(self, cls: type) -> bool:
        return issubclass(cls, logging.Logger)

    def encode(self, obj: logging.Logger, context: Encoding) -> Node:
        """Return the name of a logger. Raises CannotStore for one that is not registered under its name."""
        known = obj is logging.getLogger() or logging.Logger.manager.loggerDict.get(obj.name) is obj
        if not known:
            raise CannotStore(f"logger {obj.name!r} is not the one that logging.getLogger gives")
        return Node("" if obj is logging.getLogger() else obj.name)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is str and not children, "a name")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return logging.getLogger(literal or None)


class NamedTupleCodec(Codec):
    """Named tuples: the class and the items, put together by `tuple` itself."""

    name = "namedtuple"
    types = ("builtins:tuple",)
    creates = True

    def claims(self, cls: type) -> bool:
        fields = getattr(cls, "_fields", None)
        return (
            isinstance(fields, tuple)
            and tuple in cls.__bases__
            and shares_methods(cls, tuple, "__reduce_ex__", "__reduce__")
            and "__dict__" not in dir(cls)
        )

    def encode(self, obj: tuple[Any, ...], context: Encoding) -> Node:
        return Node(None, (type(obj), *obj))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) > 0, "a class and items")
        expect(children[0].kind == "global", "a class")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a named tuple. Raises ValueError for another kind of class, and for other fields."""
        cls, *items = children
        if not (isinstance(cls, type) and issubclass(cls, tuple) and self.claims(cls)):
            raise ValueError(f"{cls!r} is not a named tuple")
        if len(items) != len(cls._fields):  # type: ignore[attr-defined]  # claimed above
            raise ValueError(f"{cls!r} has other fields than in the archive")
        return tuple.__new__(cls, items)


class ScalarSubclassCodec(Codec):
    """Instances of subclasses of int, float, str, bytes and complex that are made as their base is."""

    name = "scalar subclass"
    types = ("builtins:int", "builtins:float", "builtins:str", "builtins:bytes", "builtins:complex")
    takes_attributes = True
    creates = True

    def claims(self, cls: type) -> bool:
        base = _scalar_base(cls)
        own = "__reduce_ex__ __reduce__ __getnewargs__ __getnewargs_ex__ __getstate__ __setstate__"
        return base is not None and shares_methods(cls, base, *own.split())

    def encode(self, obj: Any, context: Encoding) -> Node:
        base = _scalar_base(type(obj))
        assert base is not None
        value = base(obj) if base is not str else str.__str__(obj)
        state = obj.__getstate__()
        plain, slots = state if isinstance(state, tuple) else (state, None)
        return Node(None, (type(obj), value), attributes={**(plain or {}), **(slots or {})})

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 2 and children[0].kind == "global", "a class and a value")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build an instance of the class. Raises ValueError where it is not made from such a value."""
        cls, value = children
        base = _scalar_base(cls) if isinstance(cls, type) else None
        if base is None or type(value) is not base or issubclass(cls, enum.Enum):
            raise ValueError(f"{cls!r} is not made from {type(value).__name__}")
        return base.__new__(cls, value)


def _scalar_base(cls: type) -> Any:
    bases = (int, float, str, bytes, complex)
    return next((base for base in bases if issubclass(cls, base) and cls is not base), None)


class PartialCodec(Codec):
    """functools.partial: the function, the arguments, the keywords."""

    name = "functools.partial"
    types = ("functools:partial",)
    takes_attributes = True

    def encode(self, obj: functools.partial[Any], context: Encoding) -> Node:
        return Node(None, (obj.func, obj.args, obj.keywords), attributes=dict(vars(obj)))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 3, "a function, arguments and keywords")
        function, args, keywords = (child.kind for child in children)
        expect(function in ("global", "function", "method", "object", "codec"), "a function")
        expect(args == "tuple" and keywords == "dict", "arguments and keywords")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a partial. Raises ValueError for other parts than a function, a tuple and a dict."""
        function, args, keywords = children
        if type(args) is not tuple or type(keywords) is not dict or isinstance(function, functools.partial):
            raise ValueError("a partial takes a function, a tuple and a dict")
        made = functools.partial(function, *args)
        # The dict itself may be shared, and partial would copy it; its state takes it as it is.
        made.__setstate__((function, args, keywords, None))  # type: ignore[attr-defined]  # missing in typeshed
        return made


class MethodCodec(Codec):
    """A function bound to an object that is not of its class: `types.MethodType(function, self)`."""

    name = "method"
    types = ("builtins:method",)

    def encode(self, obj: MethodType, context: Encoding) -> Node:
        return Node(None, (obj.__func__, obj.__self__))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 2, "a function and an object")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return MethodType(*children)


class GetterCodec(Codec):
    """operator.itemgetter and operator.attrgetter; the latter for names without a leading underscore."""

    name = "getter"
    types = ("operator:itemgetter", "operator:attrgetter")

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return what a getter gets. Raises CannotStore for private attributes."""
        items = obj.__reduce__()[1]
        kind = type(obj).__name__
        if kind == "attrgetter" and not all(_is_public(name) for name in items):
            raise CannotStore(f"{obj!r} reads private attributes", "use a named function of your own package")
        return Node(kind, items)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(
            literal in ("itemgetter", "attrgetter") and len(children) > 0, "the kind of getter, and its items"
        )
        if literal == "attrgetter":
            expect(all(_is_public(child.value) for child in children), "names of public attributes")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return operator.itemgetter(*children) if literal == "itemgetter" else operator.attrgetter(*children)


def _is_public(name: object) -> bool:
    return isinstance(name, str) and all(part.isidentifier() and part[0] != "_" for part in name.split("."))


CODECS: Final = (
    ComplexCodec(),
    ByteArrayCodec(),
    SingletonCodec(),
    SliceCodec(),
    EnumCodec(),
    FractionCodec(),
    PatternCodec(),
    ArrayCodec(),
    LoggerCodec(),
    NamedTupleCodec(),
    ScalarSubclassCodec(),
    PartialCodec(),
    MethodCodec(),
    GetterCodec(),
)
