"""Codecs for values of NumPy: dtypes, scalars, random generators.

A dtype is a name ("<f4", "<M8[ns]", "bfloat16") or, when it has fields or a shape of its own, a short
list with its parts as children. A generator is the name of its algorithm and its state, as plain data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager._archive import (
    MAX_ALL_SEED_WORDS,
    MAX_DTYPE_DEPTH,
    MAX_DTYPE_FIELDS,
    MAX_NUMPY_EXTENT,
    MAX_SEED_POOL,
    MAX_SEED_WORDS,
)
from packager._quick_dataclasses import dataclass
from packager._tensors import dtype_from_name, dtype_name, is_dtype_name, itemsize_of_name

from .base import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    Node,
    PartsCodec,
    expect,
    expect_sizes,
    kinds,
    words,
)
from .c_state import require_bit_generator_state

_MISSING: Final = (type(None), bool, int, float, str, bytes)
_ALGORITHMS: Final = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


class DTypeCodec(Codec):
    """Dtype objects: the name; or fields with names, titles and offsets; or a base and a shape."""

    name = "numpy.dtype"
    is_data = "plain"
    takes_apart = True
    types = ("numpy:dtype",)

    def claims(self, cls: type) -> bool:
        import numpy

        return issubclass(cls, numpy.dtype)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the name or the parts of a dtype. Raises CannotStore for metadata, and unknown dtypes."""
        # A dtype is a value: one record for equal ones. Metadata does not take part in ==.
        if obj.metadata:
            raise CannotStore(
                f"dtype {obj} has metadata, which cannot be stored", "drop it: numpy.dtype(x.descr)"
            )
        name = dtype_name(obj)
        if name is not None:
            return Node(name, key=name)
        try:
            context.shared_state(_MeasuredDTypes).measure(obj)
        except ValueError as error:
            raise CannotStore(str(error), "keep the fields in arrays of their own") from error
        if obj.subdtype is not None:
            base, shape = obj.subdtype
            return Node(["subarray", *shape], (base,), key=(repr(obj), obj.isalignedstruct))
        if obj.fields is not None:
            return self._structured(obj)
        if obj.kind == "O":
            return Node("|O", key="|O")
        if obj.kind == "T":
            return self._string(obj)
        raise CannotStore(f"dtype {obj} cannot be stored", "convert the array to a dtype of NumPy itself")

    def _structured(self, obj: Any) -> Node:
        literal: list[Any] = ["struct", obj.itemsize, bool(obj.isalignedstruct)]
        bases = []
        for name in obj.names:
            base, offset, *title = obj.fields[name]
            if title and not isinstance(title[0], str):
                raise CannotStore(f"dtype {obj} has the title {title[0]!r}; expected a string", "rename it")
            literal += [name, offset, title[0] if title else None]
            bases.append(base)
        return Node(literal, tuple(bases), key=(repr(obj), obj.isalignedstruct))

    def _string(self, obj: Any) -> Node:
        """Return the node of strings of any length. Raises CannotStore for an odd missing value."""
        missing = hasattr(obj, "na_object")
        if missing and type(obj.na_object) not in _MISSING:
            raise CannotStore(
                f"dtype {obj} has a {type(obj.na_object).__qualname__} as its missing value",
                "use None, a float such as nan, or a string",
            )
        return Node(["string", bool(obj.coerce), missing], (obj.na_object,) if missing else ())

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        if isinstance(literal, str):
            expect((is_dtype_name(literal) or literal == "|O") and not children, "the name of a dtype")
            return
        expect(isinstance(literal, list) and len(literal) > 0, "a dtype's name or parts")
        kind, *parts = literal
        if kind == "string":
            expect(
                list(map(type, parts)) == [bool, bool] and len(children) == parts[1],
                "coerce, and a missing value",
            )
            return
        expect(all(child.codec == self.name for child in children), "dtypes as children")
        if kind == "subarray":
            expect(len(children) == 1, "a base")
            expect_sizes(parts, limit=MAX_NUMPY_EXTENT)
            return
        expect(kind == "struct" and len(parts) == 2 + 3 * len(children), "fields")
        expect_sizes(parts[:1], "a size", MAX_NUMPY_EXTENT)
        expect(type(parts[1]) is bool, "alignment")
        names, offsets, titles = parts[2::3], parts[3::3], parts[4::3]
        expect(all(type(name) is str for name in names) and len(set(names)) == len(names), "names of fields")
        expect_sizes(offsets, "offsets", MAX_NUMPY_EXTENT)
        expect(all(title is None or type(title) is str for title in titles), "titles")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a dtype. Raises ValueError for a missing value that is no scalar, and for too many fields."""
        import numpy

        if isinstance(literal, str):
            return numpy.dtype(object) if literal == "|O" else dtype_from_name(literal)
        made = self._made(literal, children)
        context.shared_state(_MeasuredDTypes).measure(made)
        return made

    def _made(self, literal: Any, children: Sequence[Any]) -> Any:
        import numpy

        kind, *parts = literal
        if kind == "string":
            # NumPy compares it with itself, asks for its truth, and prints it.
            if children and type(children[0]) not in _MISSING:
                raise ValueError(f"expected a scalar as the missing value, not {type(children[0]).__name__}")
            options = {"na_object": children[0]} if children else {}
            return numpy.dtypes.StringDType(coerce=parts[0], **options)
        if kind == "subarray":
            return numpy.dtype((children[0], tuple(parts)))
        names, offsets = parts[2::3], parts[3::3]
        # NumPy adds an offset to a size in 32 bits, where a sum that is too large passes for a small one.
        for name, offset, base in zip(names, offsets, children, strict=True):
            end = offset + base.itemsize
            expect(end <= parts[0], f"the field {name!r} to end within {parts[0]} bytes", end)
        fields: Any = {"names": names, "formats": list(children), "offsets": offsets, "itemsize": parts[0]}
        if any(parts[4::3]):
            fields["titles"] = parts[4::3]
        return numpy.dtype(fields, align=parts[1])


class _MeasuredDTypes:
    """How many fields each dtype of one object has, and how deep they are nested."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int, int]] = {}  # by the id of what is kept here

    def measure(self, dtype: Any, above: int = 1) -> tuple[Any, int, int]:
        """Return a dtype, its fields and its depth. Raises ValueError beyond the bounds."""
        known = self._known.get(id(dtype))
        if known is None:
            expect(above <= MAX_DTYPE_DEPTH, f"dtypes nested at most {MAX_DTYPE_DEPTH} deep", above)
            parts = [part[0] for part in (dtype.fields or {}).values()]
            parts += [] if dtype.subdtype is None else [dtype.subdtype[0]]
            inner = [self.measure(part, above + 1) for part in parts]
            fields = len(inner) + sum(part[1] for part in inner)
            known = dtype, fields, 1 + max((part[2] for part in inner), default=0)
            self._known[id(dtype)] = known
        expect(known[1] <= MAX_DTYPE_FIELDS, f"dtypes of at most {MAX_DTYPE_FIELDS} fields", known[1])
        deep = above + known[2] - 1
        expect(deep <= MAX_DTYPE_DEPTH, f"dtypes nested at most {MAX_DTYPE_DEPTH} deep", deep)
        return known


class ScalarCodec(Codec):
    """Scalars of NumPy: the dtype and the bytes, little-endian as the dtype says."""

    name = "numpy.scalar"
    is_data = "plain"
    types = ("numpy:generic",)

    def claims(self, cls: type) -> bool:
        return cls.__module__ in ("numpy", "ml_dtypes")

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the dtype and the bytes. Raises CannotStore for objects, and dtypes without a name."""
        import numpy

        if isinstance(obj, (numpy.str_, numpy.bytes_)):
            return Node("text", (str(obj) if isinstance(obj, numpy.str_) else bytes(obj),))
        if obj.dtype.fields is not None:
            if obj.dtype.hasobject:
                raise CannotStore("a structured scalar with objects in it", "store its fields")
            return Node(
                [None, bytes(obj.tobytes()), isinstance(obj, numpy.record)], (numpy.dtype(obj.dtype),)
            )
        name = dtype_name(obj.dtype)
        if name is None:
            raise CannotStore(f"a scalar of dtype {obj.dtype}")
        return Node([name, bytes(obj.tobytes())])

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        if literal == "text":
            expect(len(children) == 1 and children[0].kind == "scalar", "a string")
            expect(type(children[0].value) in (str, bytes), "a string")
            return
        expect(
            isinstance(literal, list) and len(literal) in (2, 3) and type(literal[1]) is bytes,
            "a dtype and bytes",
        )
        if literal[0] is None:
            expect(len(literal) == 3 and type(literal[2]) is bool, "a structured scalar")
            expect(len(children) == 1 and children[0].codec == "numpy.dtype", "a dtype")
            return
        expect(len(literal) == 2 and is_dtype_name(literal[0]) and not children, "the name of a dtype")
        expect(len(literal[1]) == itemsize_of_name(str(literal[0])), "as many bytes as the dtype has")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a scalar from its bytes. Raises ValueError for another number of bytes, and for objects."""
        import numpy

        if literal == "text":
            return numpy.str_(children[0]) if isinstance(children[0], str) else numpy.bytes_(children[0])
        name, data = literal[:2]
        if name is not None:
            dtype = dtype_from_name(name)
            return numpy.frombuffer(data, dtype)[0] if dtype.itemsize else dtype.type()
        dtype = numpy.dtype((numpy.record, children[0])) if literal[2] else children[0]
        if len(data) != dtype.itemsize or dtype.hasobject:
            raise ValueError(f"a scalar of {dtype} has {dtype.itemsize} bytes, found {len(data)}")
        return numpy.frombuffer(bytearray(data), dtype)[0]


def _parts_of_bits(obj: Any) -> Node:
    """Return the algorithm and its state. Raises CannotStore for generators that are not NumPy's own."""
    import numpy

    kind = type(obj).__name__
    if kind not in _ALGORITHMS or type(obj) is not getattr(numpy.random, kind):
        raise CannotStore(
            f"bit generator {type(obj).__qualname__} is not part of NumPy", "use one of NumPy's"
        )
    seed = getattr(obj, "seed_seq", None)
    return Node(kind, (obj.state, seed if isinstance(seed, numpy.random.SeedSequence) else None))


def _bits(kind: str, state: Any, seed: Any) -> Any:
    import numpy

    require_bit_generator_state(kind, state)
    if seed is None and kind == "MT19937":
        # Seeded in the way of RandomState: there is no sequence to spawn from.
        made = numpy.random.RandomState(0)._bit_generator
    else:
        made = getattr(numpy.random, kind)(seed)
    made.state = state
    return made


def _generator(bits: Any) -> Any:
    import numpy

    return numpy.random.Generator(bits)


def _parts_of_random_state(obj: Any) -> Node:
    state = obj.get_state(legacy=False)
    return Node([bool(state["has_gauss"]), float(state["gauss"])], (obj._bit_generator,))


def _random_state(literal: Any, bits: Any) -> Any:
    """Build it with the second half of the last pair of normals."""
    import numpy

    made = numpy.random.RandomState(bits)
    made.set_state({**made.get_state(legacy=False), "has_gauss": int(literal[0]), "gauss": literal[1]})
    return made


class SeedSequenceCodec(Codec):
    """numpy.random.SeedSequence: entropy, spawn key, pool size, and how many children it has spawned."""

    name = "numpy.seed_sequence"
    takes_apart = True
    types = ("numpy.random.bit_generator:SeedSequence", "numpy.random._bit_generator:SeedSequence")

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return its parts. Raises CannotStore for entropy of more words than a reader takes."""
        try:
            _words(obj.entropy)
            _words(obj.spawn_key)
        except ValueError as error:
            raise CannotStore(f"its seed is too long: {error}", "use a shorter seed") from None
        return Node([obj.pool_size, obj.n_children_spawned], (obj.entropy, tuple(obj.spawn_key)))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and list(map(type, literal)) == [int, int], "pool size and children")
        pool, spawned = literal
        expect(4 <= pool <= MAX_SEED_POOL, f"a pool of 4 to {MAX_SEED_POOL} words", pool)
        expect(spawned >= 0, "0 and more children that were spawned", spawned)
        expect(len(children) == 2, "entropy and spawn key")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a seed sequence. Raises ValueError for what is no ints, or of more words than any has."""
        import numpy

        entropy, key = children
        work = context.shared_state(_SeedWork)
        work.words += literal[0] + _words(entropy) + _words(key)
        most = f"seeds of at most {MAX_ALL_SEED_WORDS} words in one object"
        expect(work.words <= MAX_ALL_SEED_WORDS, most, work.words)
        if not (_are_ints(entropy) or entropy is None) or type(key) is not tuple or not _are_ints(key):
            raise ValueError(
                "entropy is an int, a sequence of ints or None, and the spawn key a tuple of ints"
            )
        return numpy.random.SeedSequence(
            entropy, spawn_key=key, pool_size=literal[0], n_children_spawned=literal[1]
        )


@dataclass(slots=True, eq=False)
class _SeedWork:
    """How many words all seeds of one object have."""

    words: int = 0


def _words(entropy: Any) -> int:
    """Return how many words of 32 bits are in what NumPy would make a seed of: numbers, and lists of them.

    Whatever else is there counts as one word, and is asked for nothing. Raises ValueError for more than a
    seed has.
    """
    import numpy

    found, waiting = 0, [entropy]
    while waiting:
        part = waiting.pop()
        if type(part) in (list, tuple):
            waiting += part[: MAX_SEED_WORDS + 1]
            found += 1  # an empty one, and one that holds itself, too
        elif type(part) is str:  # hexadecimal, or decimal
            found += len(part) // 8 + 1
        elif type(part) is int:
            found += part.bit_length() // 32 + 1
        else:
            found += part.size if type(part) is numpy.ndarray else 1
        least = found + len(waiting)
        expect(least <= 2 * MAX_SEED_WORDS, f"at most {MAX_SEED_WORDS} words", f"{least} and more")
    expect(found <= MAX_SEED_WORDS, f"at most {MAX_SEED_WORDS} words", found)
    return found


def _are_ints(value: Any) -> bool:
    """Return whether a value is an int, an array of ints, or a list or tuple of these.

    NumPy measures and iterates whatever else it is given.
    """
    import numpy

    if type(value) in (list, tuple):
        return all(map(_are_ints, value))
    if type(value) is numpy.ndarray or isinstance(value, numpy.integer):
        return bool(value.dtype.kind in "iu")
    return type(value) is int


VALUE_CODECS: Final = (
    DTypeCodec(), ScalarCodec(),
    PartsCodec("numpy.bit_generator",
          ("numpy.random.bit_generator:BitGenerator", "numpy.random._bit_generator:BitGenerator"),
          "dict numpy.seed_sequence|none", "an algorithm, its state and a seed sequence",
          _parts_of_bits, _bits, words(_ALGORITHMS), lambda cls: True, takes_apart=True),
    PartsCodec("numpy.generator", ("numpy.random._generator:Generator",), "numpy.bit_generator",
          "a bit generator", lambda obj: Node(None, (obj.bit_generator,)), _generator),
    SeedSequenceCodec(),
    PartsCodec("numpy.random_state", ("numpy.random.mtrand:RandomState",), "numpy.bit_generator",
          "the state of normals and a bit generator",
          _parts_of_random_state, _random_state, kinds(bool, float)),
)  # fmt: skip
