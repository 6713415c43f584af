"""The one table of dtypes: a line here is a dtype of tensors, under the same name in `kellet`.

What holds of all of them, by their kind, is in dtypes.py.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

DType = np.dtype[Any]
DTypeLike: TypeAlias = "DType | str | type"
"""What is taken for a dtype: one, a name, a NumPy scalar type, or Python's bool, int, float, complex."""

__all__ = [
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool_: DType = np.dtype("bool")
uint8: DType = np.dtype("uint8")
uint16: DType = np.dtype("uint16")
uint32: DType = np.dtype("uint32")
uint64: DType = np.dtype("uint64")
int8: DType = np.dtype("int8")
int16: DType = np.dtype("int16")
int32: DType = np.dtype("int32")
int64: DType = np.dtype("int64")
float16: DType = np.dtype("float16")
float32: DType = np.dtype("float32")
float64: DType = np.dtype("float64")
complex64: DType = np.dtype("complex64")
complex128: DType = np.dtype("complex128")

ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
"""From the package ml_dtypes, where that is installed: made when they are first asked for."""
