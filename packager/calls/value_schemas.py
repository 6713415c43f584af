"""The types of values: what one value is, what several have in common, and whether a value is of a type."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import partial, reduce
from typing import Any, Final

from packager.archive import FAMILIES, ValueType
from packager.quick_dataclasses import replace
from packager.tensors import DTYPES, numpy_dtype
from packager.texts import ShowsItsText, listed, shortened

from .array_calls import PLAIN

_WORDS: Final = {
    type(None): "none",
    bool: "bool",
    int: "int",
    float: "float",
    complex: "complex",
    str: "text",
    bytes: "bytes",
}
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
    if one.kind != other.kind or one.kind not in ("array", "list", "dict"):
        return _ANY
    if one.kind == "array":
        dtype = _dtype_of_both(one.dtype, other.dtype)
        return _ANY if dtype is None else ValueType("array", dtype, _shape_of_both(one.shape, other.shape))
    if one.parts is None or other.parts is None or dict(one.parts).keys() != dict(other.parts).keys():
        return ValueType("dict")
    others = dict(other.parts)
    return replace(one, parts=tuple((key, _both(inner, others[key])) for key, inner in one.parts))


def _dtype_of_both(one: str, other: str) -> str | None:
    """Return the dtype that two have in common: one where they are alike, else a family; None for neither."""
    if one == other:
        return one
    kinds = [_kinds(name) for name in (one, other)]
    families = (name for name, family in FAMILIES.items() if all(kind and kind <= family for kind in kinds))
    return next(families, None)


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


assert set(PLAIN) == set(_WORDS)
