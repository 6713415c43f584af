"""Which library an object is of (NumPy, kellet or PyTorch), and the few verbs that each spells its own way.

A library is imported only where an object of it is there, or one is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from .dtypes import numpy_dtype, raw_dtype

FORMATS = {"torch": "pt", "kellet": "kellet"}
"""What stands under "format" in the metadata of safetensors, by the library whose tensors were saved."""


def library_of(thing: Any) -> str:
    """Return the library that an object's class is of, or inherits from: "torch", "kellet", else "numpy".

    >>> import numpy
    >>> library_of(numpy.ones(2)), library_of("a text")
    ('numpy', 'numpy')
    """
    return library_of_class(type(thing))


def library_of_class(cls: type) -> str:
    """Return the library that a class is of, or inherits from, as `library_of` does for an object of it."""
    own = cls.__module__.partition(".")[0]
    if own in _WITHOUT_EACH_OTHER:
        return _WITHOUT_EACH_OTHER[own]
    tops = {base.__module__.partition(".")[0] for base in cls.__mro__}
    return next((name for name in ("torch", "kellet") if name in tops), "numpy")


_WITHOUT_EACH_OTHER = {"torch": "torch", "kellet": "kellet", "numpy": "numpy", "builtins": "numpy"}
"""Packages whose classes inherit from none of the others'."""


def library_here(format: str | None) -> str:
    """Return the library that tensors of a safetensors format are made of: "numpy" where it is not installed.

    >>> library_here("kellet"), library_here(None), library_here("tf")
    ('kellet', 'numpy', 'numpy')
    """
    for name, known in FORMATS.items():
        if known == format and is_installed(name):
            return name
    return "numpy"


def is_installed(name: str) -> bool:
    """Say whether a library can be imported. Looked for once: the finders of a process are its own code.

    >>> is_installed("kellet"), is_installed("no_such_library")
    (True, False)
    """
    if name in sys.modules:
        return sys.modules[name] is not None
    return _is_found(name)


@cache
def _is_found(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def dtype_of(array: Any) -> str:
    """Return the name of an array's dtype, the same for every library: "float32", "bfloat16".

    >>> import numpy
    >>> dtype_of(numpy.zeros(2, numpy.float32))
    'float32'
    """
    return name_of_dtype(array.dtype)


@lru_cache(maxsize=256)
def name_of_dtype(dtype: Any) -> str:
    """Return the name of a dtype, whatever its byte order; kept: asking a dtype itself takes its time."""
    if hasattr(dtype, "newbyteorder"):  # NumPy's own text for a foreign order is its code: ">f4"
        dtype = dtype.newbyteorder("=")
    return str(dtype).rpartition(".")[2]


def full(library: str, shape: Sequence[int], fill: float, dtype: str) -> Any:
    """Make an array of a library with one value everywhere; `dtype` is a name."""
    if library == "numpy":
        import numpy

        return numpy.full(shape, fill, numpy_dtype(dtype))
    module = import_module(library)
    return module.full(shape, fill, dtype=getattr(module, dtype))


def join(parts: Sequence[Any], axis: int, *, stack: bool) -> Any:
    """Join arrays behind one another along an axis; with `stack` along a new one."""
    library = library_of(parts[0])
    name = "stack" if stack else "concatenate" if library == "numpy" else "cat"
    return getattr(import_module(library), name)(list(parts), axis)


def cast(array: Any, dtype: str) -> Any:
    """Convert an array to the dtype of a name."""
    if hasattr(array, "astype"):
        return array.astype(numpy_dtype(dtype))
    return array.to(getattr(import_module(library_of(array)), dtype))


def roll(array: Any, by: int, axis: int) -> Any:
    """Move the elements of an array along an axis; what falls off comes in at the other end."""
    if hasattr(array, "roll"):
        return array.roll(by, axis)
    import numpy

    return numpy.roll(array, by, axis)


def tensor_of(library: str, array: Any) -> Any:
    """Return a new tensor of a library with the values of an array; for "numpy" the array itself."""
    if library == "numpy":
        return array
    import numpy

    module = import_module(library)
    # A copy: what comes from an archive cannot be written to, and models may change their inputs.
    make = module.as_tensor if library == "torch" else module.tensor
    return make(numpy.array(array, order="C"))


def to_numpy(array: Any) -> Any:
    """Return an array of NumPy with the elements, little-endian; those that NumPy lacks as integers."""
    import numpy

    library = library_of(array)
    if library == "torch":
        import torch

        bare = array.detach().cpu().resolve_conj().resolve_neg().contiguous()
        if not bare.numel():
            return numpy.empty(tuple(bare.shape), raw_dtype(dtype_of(array)))
        # A single element counts as contiguous whatever its stride, and would not be seen as bytes.
        flat = bare.as_strided((bare.numel(),), (1,)).view(torch.uint8).numpy()
        return flat.view(raw_dtype(dtype_of(array))).reshape(tuple(bare.shape))
    found = numpy.asarray(array.detach().numpy() if library == "kellet" else array)
    return found.astype(found.dtype.newbyteorder("<"), copy=False)
