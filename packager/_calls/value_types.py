"""What a value of a call is, as a text that people read and archives hold: `float32[*, 3]`, `list[text]`.

And what the type of a value is, what several have in common, and whether a value is of a type.

A type has one spelling, so that the same schema gives the same bytes: section 5.6 of the format. A type
is compared with values, and never looked up, imported or called.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial, reduce
from typing import Any, Final

from packager._archive import MAX_EXTENT, MAX_RANK, MAX_TYPE_DEPTH, MAX_TYPE_TEXT
from packager._quick_dataclasses import dataclass, replace
from packager._tensors import DTYPES, numpy_dtype
from packager._texts import ShowsItsText, did_you_mean, listed, shortened
from packager.errors import ArchiveError, ArgumentError

from .array_calls import PLAIN
from .tables import InputTable, is_frame

FAMILIES: Final = {
    "integer": frozenset({"int", "uint"}),
    "real": frozenset({"bool", "int", "uint", "float"}),
    "number": frozenset({"bool", "int", "uint", "float", "complex"}),
}
"""Names for several dtypes: of which kinds those in each may be."""

_WORDS: Final = {
    type(None): "none",
    bool: "bool",
    int: "int",
    float: "float",
    complex: "complex",
    str: "text",
    bytes: "bytes",
}
assert set(PLAIN) == set(_WORDS)
_KINDS: Final = frozenset({"any", "dict", "table", *_WORDS.values()})
_NOT_NUMBERS: Final = frozenset({"text", "bytes", "datetime64", "timedelta64"})
_DTYPES: Final = frozenset({*DTYPES, *FAMILIES, *_NOT_NUMBERS})
_TOKEN: Final = re.compile(
    r'\s*(?:(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>0|[1-9][0-9]{0,15})|(?P<key>"(?:[^"\\]|\\.)*")'
    r"|(?P<mark>\.\.\.|[\[\]{}:,?*|]))\s*"
)
_BARE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXPECTED: Final = (
    "expected text, bytes, bool, int, float, complex, none, any, a dtype with axes (float32[*, 3], "
    "integer[...]), list[TYPE], dict, {name: TYPE}, table or table{column: TYPE}; TYPE? also allows None, "
    "and A|B is A or B"
)


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of an input or output; `str()` spells it, and `parse` reads that.

    `kind` is "array", "list", "either", or the word of a plain type. An array has a `dtype`, by name or
    family ("integer", "real", "number"), and a `shape`, in which None is an axis of any size; None for any
    shape. `parts` are the types of a dict by key, or of a table by column, None for any; that of the items of
    a list under "", and those that "either" may be, under "", too. `or_none` says that None is allowed as
    well.

    >>> ValueType.parse("float32[*,3]")
    ValueType(kind='array', dtype='float32', shape=(None, 3), parts=None, or_none=False)
    >>> str(ValueType("list", parts=(("", ValueType("text")),), or_none=True))
    'list[text]?'
    """

    kind: str = "any"
    dtype: str = ""
    shape: tuple[int | None, ...] | None = None
    parts: tuple[tuple[str, ValueType], ...] | None = None
    or_none: bool = False

    @classmethod
    def parse(cls, text: str) -> ValueType:
        """Read a type. Raises ArgumentError for an invalid text.

        >>> str(ValueType.parse('{words: list[text], "a b": int?}'))
        '{words: list[text], "a b": int?}'
        """
        if type(text) is not str:
            raise ArgumentError(f"the type {_shown(text)}: found {type(text).__name__}; {_EXPECTED}")
        if len(text) > MAX_TYPE_TEXT:
            raise ArgumentError(
                f"the type {_shown(text)}: found {len(text)} characters; the limit is {MAX_TYPE_TEXT}"
            )
        reader = _Reader(text)
        found = reader.type_here(0)
        reader.end()
        return found

    @property
    def items(self) -> ValueType:
        """The type of the items of a list."""
        assert self.kind == "list"
        assert self.parts is not None
        return self.parts[0][1]

    @property
    def choices(self) -> tuple[ValueType, ...]:
        """The types that "either" may be."""
        assert self.parts is not None
        return tuple(one for _, one in self.parts)

    def __str__(self) -> str:
        return self._plain() + ("?" if self.or_none else "")

    def _plain(self) -> str:
        if self.kind == "array":
            axes = (
                "..." if self.shape is None else ", ".join("*" if n is None else str(n) for n in self.shape)
            )
            return f"{self.dtype}[{axes}]"
        if self.kind == "list":
            return f"list[{self.items}]"
        if self.kind == "either":
            return " | ".join(map(str, self.choices))
        if self.parts is not None:
            kind = "table" if self.kind == "table" else ""
            return kind + "{" + ", ".join(f"{_spelt(key)}: {inner}" for key, inner in self.parts) + "}"
        return self.kind


@lru_cache(maxsize=1024)
def is_value_type(text: str) -> bool:
    """Say whether a text is a type, in its only spelling.

    >>> is_value_type("float32[*, 3]"), is_value_type("float32[*,3]"), is_value_type("float33[]")
    (True, False, False)
    """
    try:
        return str(ValueType.parse(text)) == text
    except ArgumentError:
        return False


@lru_cache(maxsize=1024)
def stored_type(text: str, what: str) -> ValueType:
    """Read the type that an archive holds. Raises ArchiveError for what is none, or spelled otherwise."""
    if not is_value_type(text):
        raise ArchiveError(
            f"{what}: found {_shown(text)}; expected the type of a value, as section 5.6 spells it"
        )
    return ValueType.parse(text)


class _Reader:
    """Reads a type from left to right; nesting is bounded, so that recursion is, too."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._place = 0

    def _split(self) -> Iterator[tuple[str, str]]:
        place = 0
        while place < len(self._text):
            match = _TOKEN.match(self._text, place)
            if match is None or match.lastgroup is None:
                raise self._refused(f"found {_shown(self._text[place:])}")
            yield match.lastgroup, match[match.lastgroup]
            place = match.end()

    def end(self) -> None:
        """Raise ArgumentError where something is left."""
        if self._place < len(self._tokens):
            raise self._refused(f"found {_shown(self._tokens[self._place][1])} after its end")

    def type_here(self, depth: int) -> ValueType:
        """Read the type that begins here, and those that it may be besides."""
        choices = [self._one(depth)]
        while self._takes("|"):
            choices.append(self._one(depth))
            if choices[-1] in choices[:-1]:
                raise self._refused(f"{choices[-1]} appears twice")
        return (
            choices[0]
            if len(choices) == 1
            else ValueType("either", parts=tuple(("", one) for one in choices))
        )

    def _one(self, depth: int) -> ValueType:
        if depth > MAX_TYPE_DEPTH:
            raise self._refused(f"found {depth} levels; the limit is {MAX_TYPE_DEPTH}")
        found = self._dict(depth) if self._takes("{") else self._named(depth)
        or_none = self._takes("?") and found.kind not in ("any", "none")  # to these it would add nothing
        return replace(found, or_none=or_none)

    def _named(self, depth: int) -> ValueType:
        kind, word = self._next()
        if kind != "word":
            raise self._refused(f"found {_shown(word)} in the place of a type")
        if word == "list" and self._takes("["):
            items = self.type_here(depth + 1)
            self._demand("]")
            return ValueType("list", parts=(("", items),))
        if word == "table" and self._takes("{"):
            return self._dict(depth, "table")
        if self._takes("["):
            if word not in _DTYPES:
                raise self._refused(f"unknown dtype {_shown(word)}{did_you_mean(word, _DTYPES)}")
            return ValueType("array", word, self._axes())
        if word not in _KINDS:
            raise self._refused(f"unknown type {_shown(word)}{did_you_mean(word, _KINDS)}")
        return ValueType(word)

    def _axes(self) -> tuple[int | None, ...] | None:
        if self._takes("..."):
            self._demand("]")
            return None
        axes: list[int | None] = []
        while not self._takes("]"):
            if axes:
                self._demand(",")
            kind, text = self._next()
            if text != "*" and (kind != "number" or int(text) >= MAX_EXTENT):
                raise self._refused(f"found {_shown(text)}; expected * or the size of an axis")
            axes.append(None if text == "*" else int(text))
            if len(axes) > MAX_RANK:
                raise self._refused(f"more than {MAX_RANK} axes")
        return tuple(axes)

    def _dict(self, depth: int, whole: str = "dict") -> ValueType:
        parts: dict[str, ValueType] = {}
        while not self._takes("}"):
            if parts:
                self._demand(",")
            kind, text = self._next()
            key = self._key(kind, text)
            if key in parts:
                raise self._refused(f"the key {_shown(key)} appears twice")
            self._demand(":")
            parts[key] = self.type_here(depth + 1)
        return ValueType(whole, parts=tuple(parts.items()))

    def _key(self, kind: str, text: str) -> str:
        if kind == "word":
            return text
        try:
            if kind == "key":
                from json import loads

                key: str = loads(text)
                key.encode()  # not so half of a surrogate pair
                return key
        except ValueError:
            pass  # told below, with what is expected
        raise self._refused(f"found {_shown(text)}; expected a key: a name, or text in double quotes")

    def _next(self) -> tuple[str, str]:
        if self._place == len(self._tokens):
            raise self._refused("it is incomplete")
        self._place += 1
        return self._tokens[self._place - 1]

    def _takes(self, mark: str) -> bool:
        is_here = self._place < len(self._tokens) and self._tokens[self._place] == ("mark", mark)
        self._place += is_here
        return is_here

    def _demand(self, mark: str) -> None:
        if not self._takes(mark):
            found = self._tokens[self._place][1] if self._place < len(self._tokens) else "the end"
            raise self._refused(f"found {_shown(found)}; expected {mark}")

    def _refused(self, found: str) -> ArgumentError:
        tail = "" if "expected" in found or found.endswith("?") else f"; {_EXPECTED}"
        return ArgumentError(f"the type {_shown(self._text)}: {found}{tail}")


def _spelt(key: str) -> str:
    if _BARE.fullmatch(key):
        return key
    from json import dumps  # most keys are bare

    return dumps(key)


def _shown(value: Any) -> str:
    return shortened(repr(value), 60)


_RANKS: Final = ("bool", "int", "float", "complex")
"""Numbers: each will do for those behind it, but a boolean for no other."""

_DTYPES_BY_KIND: Final = {"U": "text", "T": "text", "S": "bytes", "M": "datetime64", "m": "timedelta64"}
_MOST_ITEMS: Final = 10_000
_ANY: Final = ValueType()


class Misfit(ShowsItsText, Exception):
    """A value is not of a type: where inside of it, what was found, and what was expected."""

    def __init__(self, path: str, found: str, expected: str) -> None:
        super().__init__(f"{path}: found {found}, expected {expected}")
        self.path = path
        self.found = found
        self.expected = expected


def type_of(value: Any, *, floating: str = "float64") -> ValueType:
    """Return the type of one value, all sizes of arrays as they are.

    Floating numbers in lists are of the dtype `floating`.

    >>> str(type_of({"words": ["a", "b"], "scale": 2.0}))
    '{words: list[text], scale: float}'
    """
    if isinstance(value, str):
        return ValueType("text")
    if type(value) in _WORDS:
        return ValueType(_WORDS[type(value)])
    if hasattr(value, "dtype"):
        return ValueType("array", dtype_name(value.dtype), tuple(value.shape))
    if isinstance(value, InputTable):
        return ValueType("table", parts=type_of(dict(value.columns), floating=floating).parts)
    if isinstance(value, Mapping):
        if set(map(type, value)) <= {str}:
            of_inner = partial(type_of, floating=floating)
            return ValueType("dict", parts=tuple((key, of_inner(inner)) for key, inner in value.items()))
        return ValueType("dict")
    if isinstance(value, list | tuple):
        array = _as_array(value)
        if array is not None:
            dtype = floating if array.dtype.kind == "f" else dtype_name(array.dtype)
            return ValueType("array", dtype, array.shape)
        of_items = map(partial(type_of, floating=floating), value[:_MOST_ITEMS])
        return ValueType("list", parts=(("", common(of_items)),))
    return _ANY


@lru_cache(maxsize=256)
def dtype_name(dtype: Any) -> str:
    """Return what a type calls a dtype of NumPy.

    >>> import numpy
    >>> dtype_name(numpy.dtype("<U5")), dtype_name(numpy.dtype(">f4"))
    ('text', 'float32')
    """
    return _DTYPES_BY_KIND.get(dtype.kind) or str(dtype.name)


def common(types: Iterable[ValueType]) -> ValueType:
    """Return the narrowest type of those there are that all values of these types have; `any` for none.

    >>> str(common(map(ValueType.parse, ["float32[2, 3]", "float32[5, 3]", "none"])))
    'float32[*, 3]?'
    """
    found = list(dict.fromkeys(types))
    return reduce(_both, found) if found else _ANY


def _both(one: ValueType, other: ValueType) -> ValueType:
    or_none = one.or_none or other.or_none or "none" in (one.kind, other.kind)
    found = _both_plain(replace(one, or_none=False), replace(other, or_none=False))
    return replace(found, or_none=or_none and found.kind not in ("any", "none"))


def _both_plain(one: ValueType, other: ValueType) -> ValueType:
    if one == other or other.kind == "none":
        return one
    if one.kind == "none":
        return other
    if one.kind in _RANKS[1:] and other.kind in _RANKS[1:]:
        return max(one, other, key=lambda found: _RANKS.index(found.kind))
    if one.kind != other.kind or one.kind not in ("array", "list", "dict", "table"):
        return _ANY
    if one.kind == "array":
        dtype = _dtype_of_both(one.dtype, other.dtype)
        return _ANY if dtype is None else ValueType("array", dtype, _shape_of_both(one.shape, other.shape))
    if one.parts is None or other.parts is None or dict(one.parts).keys() != dict(other.parts).keys():
        return ValueType(one.kind)
    others = dict(other.parts)
    return replace(one, parts=tuple((key, _both(inner, others[key])) for key, inner in one.parts))


def _dtype_of_both(one: str, other: str) -> str | None:
    """Return the dtype that two have in common: one where they are alike, else a family; None for neither."""
    if one == other:
        return one
    kinds = [_kinds(name) for name in (one, other)]
    families = (name for name, family in FAMILIES.items() if all(kind and kind <= family for kind in kinds))
    return next(families, None)


@lru_cache(maxsize=256)
def _kinds(name: str) -> frozenset[str]:
    """Return the kinds of numbers that a dtype or a family may be of; none for text and dates."""
    if name in FAMILIES:
        return FAMILIES[name]
    return frozenset({DTYPES[name].kind}) if name in DTYPES else frozenset()


def _shape_of_both(
    one: tuple[int | None, ...] | None, other: tuple[int | None, ...] | None
) -> tuple[int | None, ...] | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(size if size == there else None for size, there in zip(one, other, strict=True))


# --- whether a value is of a type ---


def fitted(path: str, value: Any, expected: ValueType) -> Any:
    """Return a value as its type has it: numbers in lists as an array, an array without axes as its element.

    All else is returned as it is. Raises Misfit with the path of what is not of the type.

    >>> fitted("x", [[1, 2]], ValueType.parse("float32[*, 2]"))
    array([[1., 2.]], dtype=float32)
    """
    if expected.kind == "any" or (value is None and (expected.or_none or expected.kind == "none")):
        return value
    if expected.kind == "either":
        return _fitted_choice(path, value, expected)
    if expected.kind == "array":
        return _fitted_array(path, value, expected)
    if expected.kind == "list":
        return _fitted_list(path, value, expected)
    if expected.kind == "dict":
        return _fitted_dict(path, value, expected)
    if expected.kind == "table":
        return _fitted_table(path, value, expected)
    plain = value.item() if hasattr(value, "dtype") and not value.shape else value
    kind = "text" if isinstance(plain, str) else _WORDS.get(type(plain), "")
    if kind == expected.kind or (kind in _RANKS[1:] and expected.kind in _RANKS[_RANKS.index(kind) :]):
        return plain
    raise _misfit(path, value, expected)


def _fitted_choice(path: str, value: Any, expected: ValueType) -> Any:
    for one in expected.choices:
        try:
            return fitted(path, value, one)
        except Misfit:  # told below, with all that it may be
            continue
    raise _misfit(path, value, expected)


def _fitted_array(path: str, value: Any, expected: ValueType) -> Any:
    array = value if hasattr(value, "dtype") else _as_array(value, alone=True)
    if array is None or not _has_shape(array.shape, expected.shape):
        raise _misfit(path, value, expected)
    found = dtype_name(array.dtype)
    if found == expected.dtype or (_kinds(found) and _kinds(found) <= FAMILIES.get(expected.dtype, set())):
        return value
    if array is not value and _holds(expected.dtype, found):  # JSON has no dtypes
        try:
            return _as_array(value, alone=True, dtype=expected.dtype)
        except (OverflowError, ImportError):
            pass  # told below, with what is expected
    raise _misfit(path, value, expected)


def _fitted_list(path: str, value: Any, expected: ValueType) -> Any:
    is_array = hasattr(value, "dtype") and value.shape
    if not (is_array or isinstance(value, list | tuple)):
        raise _misfit(path, value, expected)
    for index, inner in enumerate(value.tolist() if is_array else value):
        fitted(f"{path}.{index}", inner, expected.items)
    return value


def _fitted_dict(path: str, value: Any, expected: ValueType) -> Any:
    if not isinstance(value, Mapping):
        raise _misfit(path, value, expected)
    if expected.parts is None:
        return value
    types = dict(expected.parts)
    odd = [key for key in value if key not in types]
    missing = [key for key in types if key not in value]
    if odd or missing:
        found = [*map(str, value)]
        raise Misfit(path, f"the keys {listed(found) or 'none'}", listed([*types])).holding(found)
    return {key: fitted(f"{path}.{key}", inner, types[key]) for key, inner in value.items()}


def _fitted_table(path: str, value: Any, expected: ValueType) -> Any:
    """Return a table, or a frame, with the columns of the type in its order; others are left out."""
    try:
        columns = InputTable.of(value).columns if is_frame(value) else getattr(value, "columns", value)
    except ArgumentError as error:
        raise Misfit(path, str(error), shortened(str(expected), 120)) from error
    if not isinstance(columns, Mapping):
        raise _misfit(path, value, expected)
    types = dict(expected.parts or ((name, _ANY) for name in columns))
    if missing := [name for name in types if name not in columns]:
        found = listed([*map(str, columns)]) or "none"
        raise Misfit(path, f"the columns {found}", f"also {listed(missing)}").holding(missing)
    fitting = {name: fitted(f"{path}.{name}", columns[name], one) for name, one in types.items()}
    return value[[*types]] if is_frame(value) else InputTable(fitting)


def _has_shape(found: tuple[int, ...], expected: tuple[int | None, ...] | None) -> bool:
    if expected is None:
        return True
    return len(found) == len(expected) and all(
        size in (None, there) for size, there in zip(expected, found, strict=True)
    )


def _holds(expected: str, found: str) -> bool:
    """Say whether numbers written without a dtype may become one: integers floating, not the other way."""
    if expected not in DTYPES or found not in DTYPES:
        return False
    ranks = {"bool": 0, "int": 1, "uint": 1, "float": 2, "complex": 3}
    kind, wanted = ranks[DTYPES[found].kind], ranks[DTYPES[expected].kind]
    return kind == wanted if 0 in (kind, wanted) else kind <= wanted


def _as_array(value: Any, *, alone: bool = False, dtype: str | None = None) -> Any:
    """Return numbers in lists, not ragged and not none, as an array; None for anything else.

    With `alone` also a number by itself, and a list without items.
    """
    import numpy

    leaves = set(_leaf_types(value))
    if not leaves <= {bool, int, float, complex} | ({str} if alone else set()):
        return None
    if not alone and not (leaves and isinstance(value, list | tuple)):
        return None
    try:
        with warnings.catch_warnings():
            # NumPy 1 warns of numbers that a dtype does not hold, and takes others for them.
            warnings.simplefilter("error", DeprecationWarning)
            return numpy.asarray(value, None if dtype is None else numpy_dtype(dtype))
    except ValueError:  # ragged
        return None
    except DeprecationWarning as error:
        raise OverflowError(str(error)) from error
    except OverflowError:
        if dtype is not None:
            raise
        return None


def _leaf_types(value: Any) -> Iterable[type]:
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _leaf_types(inner)
    else:
        yield type(value)


def _misfit(path: str, value: Any, expected: ValueType) -> Misfit:
    found = type_of(value)
    said = str(found) if found != _ANY else type(value).__name__
    return Misfit(path, shortened(said, 120), shortened(str(expected), 120))
