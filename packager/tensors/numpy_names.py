"""How archives name NumPy's dtypes, and which of them safetensors has a word for.

A name is "<f4", "<M8[ns]" or "bfloat16". Names run nothing: they are looked up in tables and handed to
`numpy.dtype` only after they matched a pattern.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from .dtypes import DTYPES, ITEMSIZE, WORDS, numpy_dtype

__all__ = [
    "SPELLED",
    "dtype_from_name",
    "dtype_name",
    "dtype_of_stored",
    "is_dtype_name",
    "itemsize_of_name",
    "stored_as",
]

SPELLED: Final = {dtype.spelling: dtype for dtype in DTYPES.values() if dtype.in_numpy}
"""Dtypes of numbers by the names that archives have for them."""

_EXTENSIONS: Final = {dtype.name for dtype in DTYPES.values() if dtype.is_extension}
_NAME: Final = re.compile(
    r"[<>|](?:b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SUV][0-9]{1,9}"
    r"|[mM]8(?:\[[0-9]{0,9}(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)\Z"
)


def dtype_name(dtype: Any) -> str | None:
    """The name of a dtype without parts; None when it has fields, a shape, objects or metadata."""
    if dtype.fields is not None or dtype.subdtype is not None or dtype.metadata or dtype.hasobject:
        return None
    name = str(dtype.name if dtype.name in _EXTENSIONS else dtype.str)
    return name if is_dtype_name(name) else None


def is_dtype_name(name: object) -> bool:
    """Whether this is a name that `dtype_name` gives."""
    return isinstance(name, str) and (name in _EXTENSIONS or _NAME.match(name) is not None)


@lru_cache(maxsize=256)
def dtype_from_name(name: str) -> Any:
    """The dtype of a name. Raises ValueError where this NumPy, or ml_dtypes, does not have it."""
    try:
        return numpy_dtype(name)
    except ImportError as error:
        raise ValueError(f"dtype {name} needs ml_dtypes, which is not installed here") from error
    except TypeError as error:
        raise ValueError(f"NumPy on this machine has no dtype {name!r}") from error


def stored_as(name: str) -> tuple[str, int]:
    """The dtype of safetensors that an array of this dtype is stored in, and how many of it per element.

    An element that safetensors has no word for is a row of bytes. (A row of one is a row as well.)

    >>> stored_as("<f4"), stored_as("<c16"), stored_as("<M8[ns]"), stored_as(">f4"), stored_as("float8_e3m4")
    (('F32', 0), ('U8', 16), ('U8', 8), ('U8', 4), ('U8', 1))
    """
    known = SPELLED.get(name)
    if known is not None and known.word in ITEMSIZE:
        return known.word, 0
    return "U8", itemsize_of_name(name)


def dtype_of_stored(stored: str) -> str:
    """The name of the dtype that arrays of a dtype of safetensors have.

    Raises ValueError for one whose elements lie packed.

    >>> dtype_of_stored("F32"), dtype_of_stored("BF16")
    ('<f4', 'bfloat16')
    """
    if stored not in ITEMSIZE:
        raise ValueError(f"no array has the dtype {stored}: its elements lie packed")
    return WORDS[stored].spelling


def itemsize_of_name(name: str) -> int:
    """The bytes of an element of a named dtype."""
    if name in _EXTENSIONS:
        return DTYPES[name].itemsize
    count = int(re.findall(r"[0-9]+", name)[0])
    return 4 * count if name[1] == "U" else count
