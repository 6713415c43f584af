"""What each codec demands of its record before anything is built: a row for each demand, and honest twins."""

from __future__ import annotations

import collections
import enum
import re
from typing import Any

import numpy
import pytest

from packager._archive import bounds
from packager._codecs import Child
from tests.codecs.parts import codec_of, decoded
from tests.tables import one_test

INT, TEXT, NONE = Child("scalar", None, 1), Child("scalar", None, "a"), Child("scalar", None, None)
LONG = Child("scalar", None, b"\1" * 9)
LIST, DICT, TUPLE, CLASS = Child("list"), Child("dict"), Child("tuple"), Child("global")
ARRAY = Child("codec", "numpy.ndarray")
DTYPE, GENERATOR = Child("codec", "numpy.dtype"), Child("codec", "numpy.bit_generator")
SEEDS = Child("codec", "numpy.seed_sequence")


def floats(*shape: int) -> Child:
    return Child("tensor", None, ("F32", list(shape), [1] * len(shape), 0))


ACCEPTED: list[tuple[str, Any, list[Child]]] = [
    ("complex", [1.0, 2.0], []),
    ("bytearray", b"a", []),
    ("singleton", "Ellipsis", []),
    ("slice", "slice", [INT, NONE, TEXT]),
    ("enum", "DARK", [CLASS]),
    ("enum", 3, [CLASS]),
    ("fraction", None, [INT, LONG]),
    ("re.pattern", ["a", 32], []),
    ("re.pattern", [b"a", 0], []),
    ("array.array", ["h", 2, b"abcd"], []),
    ("array.array", ["u", 0, b""], [TEXT]),
    ("logging.logger", "a.b", []),
    ("namedtuple", None, [CLASS]),
    ("namedtuple", None, [CLASS, INT]),
    ("scalar subclass", None, [CLASS, INT]),
    ("functools.partial", None, [CLASS, TUPLE, DICT]),
    ("method", None, [CLASS, INT]),
    ("getter", "itemgetter", [INT]),
    ("getter", "attrgetter", [TEXT]),
    ("collections.mapping", "Counter", []),
    ("collections.mapping", "defaultdict", [NONE]),
    ("collections.deque", None, []),
    ("collections.deque", 0, []),
    ("collections.deque", 3, []),
    ("collections.chainmap", None, [DICT]),
    ("numpy.dtype", "<f4", []),
    ("numpy.dtype", "|O", []),
    ("numpy.dtype", ["string", True, False], []),
    ("numpy.dtype", ["string", False, True], [NONE]),
    ("numpy.dtype", ["subarray", 2, 3], [DTYPE]),
    ("numpy.dtype", ["struct", 8, False, "a", 0, None, "b", 4, "title"], [DTYPE, DTYPE]),
    ("numpy.dtype", ["subarray"], [DTYPE]),
    ("numpy.scalar", "text", [TEXT]),
    ("numpy.scalar", ["<i4", b"abcd"], []),
    ("numpy.scalar", [None, b"abcd", True], [DTYPE]),
    ("numpy.bit_generator", "PCG64", [DICT, NONE]),
    ("numpy.bit_generator", "PCG64", [DICT, SEEDS]),
    ("numpy.generator", None, [GENERATOR]),
    ("numpy.random_state", [True, 0.5], [GENERATOR]),
    ("numpy.seed_sequence", [4, 0], [INT, TUPLE]),
    ("numpy.seed_sequence", [bounds.MAX_SEED_POOL, 7], [INT, TUPLE]),
    ("numpy.ndarray", ["ndarray", "<f4"], [floats(2)]),
    ("numpy.masked", "masked", []),
    ("numpy.masked", False, [ARRAY, NONE, ARRAY]),
    ("kellet.tensor", ["Tensor", "<f4", True], [floats(2)]),
    ("kellet.tensor", ["Parameter", "<f4", True, "empty", 2, 3], []),
]

REFUSED: list[tuple[str, Any, list[Child], str]] = [
    ("complex", [1.0, 2], [], "two floats"),
    ("complex", [1.0], [], "two floats"),
    ("complex", (1.0, 2.0), [], "two floats"),
    ("complex", [1.0, 2.0], [NONE], "two floats"),
    ("bytearray", "a", [], "bytes"),
    ("bytearray", b"a", [NONE], "bytes"),
    ("singleton", "None", [], "the name of a singleton"),
    ("singleton", "Ellipsis", [NONE], "the name of a singleton"),
    ("slice", "slice", [INT, INT], "three children"),
    ("slice", "xrange", [INT, INT, INT], "three children"),
    ("enum", "DARK", [INT], "a class"),
    ("enum", "DARK", [CLASS, CLASS], "a name or a value"),
    ("enum", True, [CLASS], "a name or a value"),
    ("fraction", None, [INT], "numerator and denominator"),
    ("fraction", 1, [INT, INT], "numerator and denominator"),
    ("fraction", None, [INT, TEXT], "ints"),
    ("fraction", None, [INT, LIST], "ints"),
    ("fraction", None, [INT, Child("scalar", None, bytes(bounds.MAX_FRACTION_BYTES + 1))], "ints of at most"),
    ("re.pattern", ["a"], [], "a pattern and flags"),
    ("re.pattern", ["a", 0], [NONE], "a pattern and flags"),
    ("re.pattern", [1, 0], [], "a pattern and flags"),
    ("re.pattern", ["a", True], [], "a pattern and flags"),
    ("array.array", ["u", 0, b""], [INT], "one string"),
    ("array.array", ["h", 2, b"abc"], [], "whole items"),
    ("logging.logger", 1, [], "the name of a module"),
    ("logging.logger", "a", [NONE], "the name of a module"),
    ("logging.logger", "a" * (bounds.MAX_LOGGER_NAME + 1), [], "the name of a module"),
    ("logging.logger", "." * bounds.MAX_NAME_PARTS, [], "the name of a module"),
    ("namedtuple", None, [], "a class and items"),
    ("namedtuple", 1, [CLASS], "a class and items"),
    ("namedtuple", None, [INT], "a class"),
    ("scalar subclass", None, [CLASS], "a class and a value"),
    ("scalar subclass", 1, [CLASS, INT], "a class and a value"),
    ("scalar subclass", None, [INT, INT], "a class"),
    ("functools.partial", None, [CLASS, TUPLE], "a function, arguments and keywords"),
    ("functools.partial", 1, [CLASS, TUPLE, DICT], "a function, arguments and keywords"),
    ("functools.partial", None, [INT, TUPLE, DICT], "a function"),
    ("functools.partial", None, [CLASS, LIST, DICT], "arguments and keywords"),
    ("functools.partial", None, [CLASS, TUPLE, LIST], "arguments and keywords"),
    ("method", None, [CLASS], "a function and an object"),
    ("method", 1, [CLASS, INT], "a function and an object"),
    ("getter", "methodcaller", [TEXT], "the kind of getter"),
    ("getter", "itemgetter", [], "the kind of getter"),
    ("getter", "attrgetter", [INT], "names of public attributes"),
    ("getter", "attrgetter", [TEXT, Child("scalar", None, "a._b")], "names of public attributes"),
    ("collections.mapping", "dict", [], "the name of a mapping"),
    ("collections.mapping", "Counter", [NONE], "a factory for a defaultdict"),
    ("collections.mapping", "defaultdict", [], "a factory for a defaultdict"),
    ("collections.deque", -1, [], "the greatest length"),
    ("collections.deque", True, [], "the greatest length"),
    ("collections.deque", 3, [INT], "the greatest length"),
    ("collections.chainmap", None, [], "mappings"),
    ("collections.chainmap", 1, [DICT], "mappings"),
    ("numpy.dtype", "<f5", [], "the name of a dtype"),
    ("numpy.dtype", "|O", [DTYPE], "the name of a dtype"),
    ("numpy.dtype", [], [], "a dtype's name or parts"),
    ("numpy.dtype", ["string", True, True], [], "a missing value"),
    ("numpy.dtype", ["string", True, False], [NONE], "a missing value"),
    ("numpy.dtype", ["string", 1, False], [], "a missing value"),
    ("numpy.dtype", ["string", True], [], "a missing value"),
    ("numpy.dtype", ["subarray", 2], [INT], "dtypes as children"),
    ("numpy.dtype", ["subarray", 2], [], "a base"),
    ("numpy.dtype", ["subarray", -2], [DTYPE], "a shape"),
    ("numpy.dtype", ["struct", 8, False, "a", 0], [DTYPE], "fields"),
    ("numpy.dtype", ["union", 8, False, "a", 0, None], [DTYPE], "fields"),
    ("numpy.dtype", ["struct", -1, False, "a", 0, None], [DTYPE], "a size"),
    ("numpy.dtype", ["struct", 8, 0, "a", 0, None], [DTYPE], "alignment"),
    ("numpy.dtype", ["struct", 8, False, 1, 0, None], [DTYPE], "names of fields"),
    ("numpy.dtype", ["struct", 8, False, "a", 0, None, "a", 4, None], [DTYPE, DTYPE], "names of fields"),
    ("numpy.dtype", ["struct", 8, False, "a", -1, None], [DTYPE], "offsets"),
    ("numpy.dtype", ["struct", 8, False, "a", 0, 1], [DTYPE], "titles"),
    *(
        ("numpy.dtype", ["struct", 8, False, "a", 0, None, "b", 0, None, *third], [DTYPE] * 3, said)
        for third, said in (((1, 0, None), "names"), (("c", -1, None), "offsets"), (("c", 0, 1), "titles"))
    ),
    ("numpy.scalar", "text", [INT], "a string"),
    ("numpy.scalar", "text", [], "a string"),
    ("numpy.scalar", ["<i4", "abcd"], [], "a dtype and bytes"),
    ("numpy.scalar", ["<i4"], [], "a dtype and bytes"),
    ("numpy.scalar", ["<i4", b"abcd"], [DTYPE], "the name of a dtype"),
    ("numpy.scalar", ["<i4", b"abcd", True], [], "the name of a dtype"),
    ("numpy.scalar", ["<i4", b"abc"], [], "as many bytes"),
    ("numpy.scalar", [None, b"abcd", 1], [DTYPE], "a structured scalar"),
    ("numpy.scalar", [None, b"abcd"], [DTYPE], "a structured scalar"),
    ("numpy.scalar", [None, b"abcd", True], [INT], "a dtype"),
    ("numpy.scalar", [None, b"abcd", True], [DTYPE, DTYPE], "a dtype"),
    ("numpy.bit_generator", "PCG65", [DICT, NONE], "an algorithm"),
    ("numpy.bit_generator", "PCG64", [DICT], "an algorithm"),
    ("numpy.bit_generator", "PCG64", [LIST, NONE], "its state"),
    ("numpy.bit_generator", "PCG64", [DICT, INT], "a seed sequence"),
    ("numpy.bit_generator", "PCG64", [DICT, LIST], "a seed sequence"),
    ("numpy.bit_generator", "PCG64", [DICT, GENERATOR], "a seed sequence"),
    ("numpy.generator", None, [SEEDS], "a bit generator"),
    ("numpy.generator", None, [], "a bit generator"),
    ("numpy.generator", 1, [GENERATOR], "a bit generator"),
    ("numpy.random_state", [1, 0.5], [GENERATOR], "the state of normals"),
    ("numpy.random_state", [True, 0.5], [SEEDS], "a bit generator"),
    ("numpy.random_state", [True, 0.5], [GENERATOR, GENERATOR], "a bit generator"),
    ("numpy.seed_sequence", [3, 0], [INT, TUPLE], "a pool of 4 to 4096 words, found 3"),
    ("numpy.seed_sequence", [bounds.MAX_SEED_POOL + 1, 0], [INT, TUPLE], "a pool of 4 to 4096 words, found"),
    ("numpy.seed_sequence", [4, -1], [INT, TUPLE], "0 and more children that were spawned, found -1"),
    ("numpy.seed_sequence", [4, 0], [INT], "entropy and spawn key"),
    ("numpy.seed_sequence", [4, True], [INT, TUPLE], "pool size and children"),
    ("numpy.ndarray", ["ndarray", "<f8"], [floats(2)], "a tensor of F64"),
    ("numpy.ndarray", ["ndarray", "<f4"], [floats(2), floats(2)], "the name of a dtype, and memory"),
    ("numpy.ndarray", ["ndarray", "<f4"], [INT], "a tensor of F32"),
    ("numpy.ndarray", ["ndarray", "<f4", 2], [floats(2)], "the class and the dtype"),
    ("numpy.ndarray", ["ndarray", None], [floats(2), DTYPE], "a tensor of U8"),
    ("numpy.masked", "masked", [ARRAY], "data, mask and fill value"),
    ("numpy.masked", 1, [ARRAY, NONE, NONE], "data, mask and fill value"),
    ("numpy.masked", True, [ARRAY, NONE], "data, mask and fill value"),
    ("numpy.masked", True, [ARRAY, INT, NONE], "arrays"),
    ("numpy.masked", True, [ARRAY, LIST, NONE], "arrays"),
    ("kellet.tensor", ["Module", "<f4", True], [floats(2)], "a kind of tensor"),
    ("kellet.tensor", ["Tensor", "<f5", True], [floats(2)], "a kind of tensor"),
    ("kellet.tensor", ["Tensor", "<f4", 1], [floats(2)], "a kind of tensor"),
    ("kellet.tensor", ["Tensor", "<f4"], [floats(2)], "kind, dtype, requires_grad"),
    ("kellet.tensor", ["Tensor", "<f4", True], [], "memory"),
    ("kellet.tensor", ["Tensor", "<f8", True], [floats(2)], "a tensor of F64"),
    ("kellet.tensor", ["Tensor", "<f4", True, "full", 2], [], "no values"),
    ("kellet.tensor", ["Tensor", "<f4", True, "empty", 2], [floats(2)], "no values"),
    ("kellet.tensor", ["Tensor", "<f4", True, "empty", -2, 3], [], "a shape"),
    ("kellet.tensor", ["Tensor", "<f4", True, "empty", 2, True], [], "a shape"),
    ("kellet.tensor", ["Tensor", "<f4", True, "empty", bounds.MAX_EXTENT], [], "a shape"),
]


@one_test
@pytest.mark.parametrize(("name", "literal", "children"), ACCEPTED)
def test_what_a_codec_writes_passes(name: str, literal: Any, children: list[Child]) -> None:
    codec = codec_of(name)
    codec.check(literal, children, codec.version)


@one_test
@pytest.mark.parametrize(("name", "literal", "children", "expected"), REFUSED)
def test_what_no_codec_writes_is_refused(
    name: str, literal: Any, children: list[Child], expected: str
) -> None:
    codec = codec_of(name)
    with pytest.raises(ValueError, match=f"expected .*{expected}"):
        codec.check(literal, children, codec.version)


# --- what stands behind a name, when it is known ---


class Attributed(collections.namedtuple("Attributed", "left right")):  # has a __dict__
    pass


Fields = collections.namedtuple("Fields", "left right")


class Unlike:
    _fields = ("left", "right")


class Bare(tuple[int, ...]):
    __slots__ = ()


class Width(int):
    pass


class Level(enum.IntEnum):
    HIGH = 1


def test_a_named_tuple_is_of_a_class_of_named_tuples() -> None:
    assert decoded("namedtuple", None, Fields, 1, 2) == Fields(1, 2)
    for other in (Unlike, Bare, Attributed, tuple, int, len, Fields(1, 2)):
        with pytest.raises(ValueError, match=re.escape(f"{other!r} is not a named tuple")):
            decoded("namedtuple", None, other, 1, 2)
    for items in ((), (1,), (1, 2, 3)):
        with pytest.raises(ValueError, match="has other fields than in the archive"):
            decoded("namedtuple", None, Fields, *items)


def test_a_scalar_is_of_a_class_made_from_such_a_value() -> None:
    made = decoded("scalar subclass", None, Width, 3)
    assert type(made) is Width
    assert made == 3
    for cls, value in ((Width, "3"), (Width, True), (int, 3), (Level, 1), (Fields, 1), (len, 1)):
        with pytest.raises(ValueError, match=f"is not made from {type(value).__name__}"):
            decoded("scalar subclass", None, cls, value)


def test_flags_of_patterns_are_those_that_python_knows() -> None:
    assert decoded("enum", 10, re.RegexFlag) == re.IGNORECASE | re.MULTILINE
    with pytest.raises(ValueError, match="has no flags of the value"):
        decoded("enum", 1 << 20, re.RegexFlag)


def test_a_partial_takes_a_function_a_tuple_and_a_dict() -> None:
    made = decoded("functools.partial", None, max, (1,), {"default": 2})
    assert (made.func, made.args, made.keywords) == (max, (1,), {"default": 2})
    for parts in ((max, [1], {}), (max, (1,), []), (made, (), {})):
        with pytest.raises(ValueError, match="a partial takes a function, a tuple and a dict"):
            decoded("functools.partial", None, *parts)


def test_arrays_of_numpy_s_own_classes_are_not_those_of_another_package() -> None:
    codec = codec_of("numpy.subclass")
    of_a_package = type("Signal", (numpy.ndarray,), {"__module__": "signals.arrays"})
    below_numpy = type("chararray", (numpy.ndarray,), {"__module__": "numpy.char"})
    assert [codec.claims(cls) for cls in (of_a_package, below_numpy, numpy.memmap)] == [True, False, False]
