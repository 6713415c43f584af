"""The table of dtypes, and what libraries of arrays (NumPy, kellet, PyTorch) each spell their own way.

A dtype has one record, with every name and size that any other file knows it by.

Other tables of dtypes are views of this one. A dtype is added here and nowhere else in packager.
A library is imported only where an object of it is there, or one is asked for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module

from packager._quick_dataclasses import dataclass

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, Literal

    Kind = Literal["bool", "int", "uint", "float", "complex"]


@dataclass(frozen=True, slots=True)
class DType:
    """A dtype of numbers.

    `name` is what NumPy or ml_dtypes, kellet and PyTorch call it, as far as they have it. `bits` are those
    of an element in a safetensors file, and `word` is its name there, "" where safetensors has none. `code`
    is NumPy's own spelling ("<f4"), "" for what only ml_dtypes or PyTorch has. `in_torch` says whether
    PyTorch has it, `aliases` are its other names there, and `storage` is the class of storages in pickles.
    """

    name: str
    kind: Kind
    bits: int
    word: str = ""
    code: str = ""
    in_torch: bool = True
    storage: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def itemsize(self) -> int:
        """The bytes of an element in an array: whole ones, also where elements lie packed in a file."""
        return max(self.bits // 8, 1)

    @property
    def is_packed(self) -> bool:
        """Whether an element in a file has fewer bits than a byte, so that none can be viewed alone."""
        return self.bits < 8

    @property
    def in_numpy(self) -> bool:
        """Whether arrays have it, with ml_dtypes or without."""
        return self.name != "complex32"

    @property
    def is_extension(self) -> bool:
        """Whether NumPy has the dtype from ml_dtypes alone."""
        return self.in_numpy and not self.code

    @property
    def spelling(self) -> str:
        """How an archive names the dtype of an array: NumPy's own spelling, else the name."""
        return self.code or self.name


# In the order of the numbers that the index of a safetensors member has for them (section 7.2 of the
# format): what is added comes behind the last one that has a word.
_TABLE: Final = (
    DType("bool", "bool", 8, "BOOL", "|b1", storage="BoolStorage"),
    DType("float4_e2m1fn", "float", 4, "F4", in_torch=False),
    DType("float6_e2m3fn", "float", 6, "F6_E2M3", in_torch=False),
    DType("float6_e3m2fn", "float", 6, "F6_E3M2", in_torch=False),
    DType("uint8", "uint", 8, "U8", "|u1", storage="ByteStorage"),
    DType("int8", "int", 8, "I8", "|i1", storage="CharStorage"),
    DType("float8_e5m2", "float", 8, "F8_E5M2"),
    DType("float8_e4m3fn", "float", 8, "F8_E4M3"),
    DType("float8_e8m0fnu", "float", 8, "F8_E8M0"),
    DType("float8_e4m3fnuz", "float", 8, "F8_E4M3FNUZ"),
    DType("float8_e5m2fnuz", "float", 8, "F8_E5M2FNUZ"),
    DType("int16", "int", 16, "I16", "<i2", storage="ShortStorage", aliases=("short",)),
    DType("uint16", "uint", 16, "U16", "<u2"),
    DType("float16", "float", 16, "F16", "<f2", storage="HalfStorage", aliases=("half",)),
    DType("bfloat16", "float", 16, "BF16", storage="BFloat16Storage"),
    DType("int32", "int", 32, "I32", "<i4", storage="IntStorage", aliases=("int",)),
    DType("uint32", "uint", 32, "U32", "<u4"),
    DType("float32", "float", 32, "F32", "<f4", storage="FloatStorage", aliases=("float",)),
    DType("complex64", "complex", 64, "C64", "<c8", storage="ComplexFloatStorage"),
    DType("float64", "float", 64, "F64", "<f8", storage="DoubleStorage", aliases=("double",)),
    DType("int64", "int", 64, "I64", "<i8", storage="LongStorage", aliases=("long",)),
    DType("uint64", "uint", 64, "U64", "<u8"),
    DType("complex128", "complex", 128, "", "<c16", storage="ComplexDoubleStorage"),
    DType("complex32", "complex", 32),
    DType("float8_e4m3", "float", 8, in_torch=False),
    DType("float8_e4m3b11fnuz", "float", 8, in_torch=False),
    DType("float8_e3m4", "float", 8, in_torch=False),
    DType("int2", "int", 2, in_torch=False),
    DType("int4", "int", 4, in_torch=False),
    DType("uint2", "uint", 2, in_torch=False),
    DType("uint4", "uint", 4, in_torch=False),
)

DTYPES: Final[Mapping[str, DType]] = {dtype.name: dtype for dtype in _TABLE}
"""Every dtype by its name."""

WORDS: Final[Mapping[str, DType]] = {dtype.word: dtype for dtype in _TABLE if dtype.word}
"""Those that safetensors has a word for, by this word, in the order of the numbers of the index."""

DTYPE_BITS: Final[Mapping[str, int]] = {word: dtype.bits for word, dtype in WORDS.items()}
"""How many bits an element of each dtype of safetensors has. Those of fewer than eight lie packed."""

ITEMSIZE: Final[Mapping[str, int]] = {
    word: dtype.itemsize for word, dtype in WORDS.items() if not dtype.is_packed
}
"""Bytes per element of those that an array can be viewed as."""

SPELLED: Final = {dtype.spelling: dtype for dtype in DTYPES.values() if dtype.in_numpy}
"""Dtypes of numbers by the names that archives have for them."""


def numpy_dtype(name: str) -> Any:
    """Return the NumPy dtype of a name, those that ml_dtypes brings (`bfloat16`, `float8_e5m2`) included.

    Raises ImportError where such a one is named and ml_dtypes is not installed, TypeError for a name that
    neither knows.

    >>> numpy_dtype("float32")
    dtype('float32')
    """
    known = DTYPES.get(name)
    if known is None or not known.is_extension:
        return raw_dtype(name)
    import ml_dtypes
    import numpy

    if not hasattr(ml_dtypes, name):
        raise TypeError(f"ml_dtypes {ml_dtypes.__version__} has no dtype {name}")
    return numpy.dtype(getattr(ml_dtypes, name))


def raw_dtype(name: str) -> Any:
    """Return the NumPy dtype of a name; an unsigned integer of the same size where only ml_dtypes has it.

    Raises TypeError for a name that neither knows.

    >>> raw_dtype("bfloat16"), raw_dtype("float32")
    (dtype('uint16'), dtype('float32'))
    """
    import numpy

    known = DTYPES.get(name)
    if known is not None and not known.in_numpy:
        raise TypeError(f"NumPy has no dtype {name}")
    return numpy.dtype(f"u{known.itemsize}" if known is not None and known.is_extension else name)


def itemsize_of(name: str) -> int:
    """Return the bytes of one element of an array; raises as `raw_dtype` does."""
    known = DTYPES.get(name)
    return known.itemsize if known is not None and known.in_numpy else int(raw_dtype(name).itemsize)


# --- how archives name NumPy's dtypes: "<f4", "<M8[ns]", "bfloat16" ---
#
# Names run nothing: they are looked up in tables, and handed to `numpy.dtype` only after they matched
# a pattern.

_EXTENSIONS: Final = {dtype.name for dtype in DTYPES.values() if dtype.is_extension}
_NAME: Final = re.compile(
    r"[<>|](?:b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SUV][0-9]{1,9}"
    r"|[mM]8(?:\[[0-9]{0,9}(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)\Z"
)
_NUMBER: Final = re.compile("[0-9]+")
_COMMON: Final = frozenset(
    f"{order}{kind}" for order in "<>|" for kind in "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
)
"""Names of the pattern that are known without it."""


def dtype_name(dtype: Any) -> str | None:
    """Return the name of a dtype without parts; None where it has fields, a shape or objects, or no name."""
    if dtype.fields is not None or dtype.subdtype is not None or dtype.metadata or dtype.hasobject:
        return None
    if dtype.isbuiltin == 1:  # one of NumPy's own, whose `name` is put together whenever it is asked for
        name = str(dtype.str)
    elif dtype.type.__module__ == "ml_dtypes" and dtype.name not in _EXTENSIONS:
        return None  # NumPy would spell it as void
    else:
        name = str(dtype.name if dtype.name in _EXTENSIONS else dtype.str)
    return name if is_dtype_name(name) else None


def is_dtype_name(name: object) -> bool:
    """Check whether this is a name that `dtype_name` gives."""
    return isinstance(name, str) and (name in _COMMON or name in _EXTENSIONS or _NAME.match(name) is not None)


@lru_cache(maxsize=256)
def dtype_from_name(name: str) -> Any:
    """Return the dtype of a name. Raises ValueError where this NumPy, or ml_dtypes, does not have it."""
    try:
        return numpy_dtype(name)
    except ImportError as error:
        raise ValueError(
            f"dtype {name} needs ml_dtypes, which is not installed: pip install ml_dtypes"
        ) from error
    except TypeError as error:
        raise ValueError(f"NumPy on this machine lacks the dtype {name!r}") from error


def stored_as(name: str) -> tuple[str, int]:
    """Return the dtype of safetensors that stores an array of this dtype, and how many of it per element.

    An element that safetensors has no word for is a row of bytes. (A row of one is a row as well.)

    >>> stored_as("<f4"), stored_as("<c16"), stored_as("<M8[ns]"), stored_as(">f4"), stored_as("float8_e3m4")
    (('F32', 0), ('U8', 16), ('U8', 8), ('U8', 4), ('U8', 1))
    """
    known = SPELLED.get(name)
    if known is not None and known.word in ITEMSIZE:
        return known.word, 0
    return "U8", itemsize_of_name(name)


def dtype_of_stored(stored: str) -> str:
    """Return the name of the dtype that arrays of a dtype of safetensors have.

    Raises ValueError for one whose elements lie packed.

    >>> dtype_of_stored("F32"), dtype_of_stored("BF16")
    ('<f4', 'bfloat16')
    """
    if stored not in ITEMSIZE:
        raise ValueError(f"no array can have the dtype {stored}: its elements are packed")
    return WORDS[stored].spelling


def itemsize_of_name(name: str) -> int:
    """Return the bytes of an element of a named dtype."""
    if name in _EXTENSIONS:
        return DTYPES[name].itemsize
    count = int(_NUMBER.findall(name)[0])
    return 4 * count if name[1] == "U" else count


FORMATS = {"torch": "pt", "kellet": "kellet"}
"""What stands under "format" in the metadata of safetensors, by the library whose tensors were saved."""


def library_of(thing: object) -> str:
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
def name_of_dtype(dtype: object) -> str:
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


def tensor_of(library: str, array: object) -> Any:
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
