"""Section 7.2: each column of an index that does not fit the others, and each tensor that lies nowhere."""

from __future__ import annotations

import ctypes
import dataclasses
import io
import struct
from collections.abc import Callable
from typing import Any

import pytest

from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    MissingEntryError,
    TensorReader,
    TensorSpec,
    add_tensors,
    index_name,
    pack,
    tensor_index,
    unpack,
    verify,
)
from packager._archive.safetensors import MemberPlan, plan_member
from packager._archive.stored_tensors import storages_of
from packager._archive.tensor_index import DTYPES, TensorIndex, tensor_bytes
from packager.errors import ArchiveError
from tests.tables import one_test

U8, F32, F4 = (DTYPES.index(name) for name in ("U8", "F32", "F4"))


def numbers(code: str, *values: int) -> bytes:
    return struct.pack(f"<{len(values)}{code}", *values)


# Two tensors: "a" of U8 [4] in storage 0, "b" of F32 [2, 1] in storage 1, backwards.
HONEST: list[Any] = [
    2,
    "a\0b",
    bytes([U8, F32]),
    b"\1\2",
    numbers("Q", 4, 2, 1),
    numbers("I", 0, 1),
    numbers("Q", 4, 12),
    [[1, 1, [-1, 1]]],
    {"format": "pt"},
    [],
]


def load(changes: dict[int, Any]) -> TensorIndex:
    return TensorIndex.load(pack([changes.get(at, column) for at, column in enumerate(HONEST)]), what="index")


def specs(changes: dict[int, Any]) -> list[TensorSpec]:
    index = load(changes)
    return [index.spec(number, key) for number, key in enumerate("ab")]


A, B = TensorSpec("a", "U8", (4,), (1,), 0, 0), TensorSpec("b", "F32", (2, 1), (-1, 1), 1, 1)


def test_columns_say_what_tensors_are() -> None:
    assert specs({}) == [A, B]
    index = load({})
    assert [index.storage_range(number) for number in (0, 1)] == [(0, 4), (4, 12)]
    assert (index.data_size, index.metadata) == (12, {"format": "pt"})
    empty = TensorIndex.load(pack([0, "", b"", b"", b"", b"", b"", [], {}, []]), what="index")
    assert (list(empty), empty.data_size) == ([], 0)


@one_test
@pytest.mark.parametrize("place", range(10))
def test_there_are_ten_columns_each_of_its_kind(place: int) -> None:
    for wrong in (None, 1.5, True if place == 0 else 1):
        with pytest.raises(
            ArchiveError, match="index: found other columns; expected the ten columns of the format"
        ):
            load({place: wrong})
    for columns in (HONEST[:place] + HONEST[place + 1 :], [*HONEST, 1]):
        with pytest.raises(
            ArchiveError, match="index: found other columns; expected the ten columns of the format"
        ):
            TensorIndex.load(pack(columns), what="index")


@one_test
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({0: 3}, r"columns for \(2, 2, 2, 2\.0, 3\.0\) tensors; expected each for 3"),
        ({1: "a"}, r"columns for \(1, 2, 2, 2\.0, 2\.0\) tensors; expected each for 2"),
        ({1: ""}, r"columns for \(1, 2, 2, 2\.0, 2\.0\) tensors"),
        ({1: "a\0b\0c"}, r"columns for \(3, 2, 2, 2\.0, 2\.0\) tensors"),
        ({2: b"\1"}, r"columns for \(2, 1, 2, 2\.0, 2\.0\) tensors"),
        ({3: b"\1"}, r"columns for \(2, 2, 1, 2\.0, 0\.0\) tensors"),
        ({3: b"\1\1"}, r"columns for \(2, 2, 2, 2\.0, 1\.0\) tensors"),
        ({4: numbers("Q", 4, 2)}, r"columns for \(2, 2, 2, 2\.0, 3\.0\) tensors"),
        ({4: numbers("Q", 4, 2, 1) + b"\0"}, r"columns for \(2, 2, 2, 2\.0, 1\.875\) tensors"),
        ({5: numbers("I", 0)}, r"columns for \(2, 2, 2, 1\.0, 2\.0\) tensors"),
        ({5: numbers("I", 0, 1) + b"\0"}, r"columns for \(2, 2, 2, 2\.25, 2\.0\) tensors"),
        ({6: numbers("Q", 4, 12) + b"\0"}, r"columns for \(2, 2, 2, 2\.0, 2\.0\) tensors"),
        ({7: [[1, 1]]}, r"index, views: found \[1, 1\]; expected a number, an offset, and strides or None"),
        ({7: [[1, 1, None, 1]]}, "expected a number, an offset, and strides or None"),
        ({7: [(1)]}, "expected a number, an offset, and strides or None"),
        ({7: [[1, 1, "1"]]}, "expected a number, an offset, and strides or None"),
        ({7: [[1, 1, [1.0, 1]]]}, "expected a number, an offset, and strides or None"),
        ({7: [[1, True, None]]}, "expected a number, an offset, and strides or None"),
        ({7: [[None, 1, None]]}, "expected a number, an offset, and strides or None"),
        ({7: [[1, 1, None], [0, 1, None]]}, "numbers that do not rise; expected numbers below 2, each once"),
        ({7: [[1, 1, None], [1, 1, None]]}, "numbers that do not rise; expected numbers below 2, each once"),
        ({7: [[2, 1, None]]}, "numbers that do not rise; expected numbers below 2, each once"),
        ({7: [[-1, 1, None]]}, "numbers that do not rise; expected numbers below 2, each once"),
        ({8: {"a": 1}}, "index, metadata: found other values; expected strings"),
        ({8: {"a": "b", "c": None}}, "index, metadata: found other values; expected strings"),
    ],
)
def test_columns_that_do_not_fit_each_other_are_refused(changes: dict[int, Any], message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        load(changes)


def test_a_member_has_so_many_tensors_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_index, "MAX_TENSORS", 2)
    assert load({}).count == 2
    monkeypatch.setattr(tensor_index, "MAX_TENSORS", 1)
    with pytest.raises(ArchiveError, match="expected each for 2, at most 1"):
        load({})


@one_test
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({2: bytes([U8, len(DTYPES)])}, f"tensor 'b': found dtype number {len(DTYPES)}, shape"),
        ({4: numbers("Q", 4, 1 << 62, 2)}, "tensor 'b': found dtype number"),
        ({4: numbers("Q", 4, 0, 1 << 63)}, "tensor 'b': found dtype number"),
        (
            {7: [[1, 1, [-1]]]},
            r"tensor 'b': found strides \(-1,\); expected one for each dimension of",
        ),
        (
            {7: [[1, 1, [-1, 1, 1]]]},
            r"tensor 'b': found strides \(-1, 1, 1\); expected one for each",
        ),
        ({7: [[1, 1, [-1, 1 << 60]]]}, f"'b': found strides .* of less than {1 << 62} bytes"),
        ({7: [[1, 1, [-1, -(1 << 60)]]]}, f"'b': found strides .* of less than {1 << 62} bytes"),
        ({5: numbers("I", 0, 2)}, "storage 2: found 2 storages; expected a lower number"),
        ({6: numbers("Q", 4)}, "storage 1: found 1 storages; expected a lower number"),
        ({6: numbers("Q", 13, 12)}, "storage 0: found bytes 0 to 13 of 12; expected rising ends"),
        ({6: numbers("Q", 4, 11)}, "'b': found elements 0 to 2; expected elements within the 7 bytes of its"),
        ({7: [[1, 0, [-1, 1]]]}, "tensor 'b': found elements -1 to 1; expected elements within the 8 bytes"),
        ({7: [[1, 2, [-1, 1]]]}, "tensor 'b': found elements 1 to 3; expected elements within the 8 bytes"),
        (
            {4: numbers("Q", 5, 2, 1)},
            "tensor 'a': found elements 0 to 5; expected elements within the 4 bytes",
        ),
    ],
)
def test_a_tensor_that_lies_nowhere_is_refused_when_it_is_asked_for(
    changes: dict[int, Any], message: str
) -> None:
    with pytest.raises(ArchiveError, match=message):
        specs(changes)


@pytest.mark.parametrize(("rank", "possible"), [(64, True), (65, False)])
def test_shapes_that_can_be(rank: int, possible: bool) -> None:
    changes = {0: 1, 1: "a", 2: bytes([U8]), 3: bytes([rank]), 4: numbers("Q", *[1] * rank), 7: []}
    index = load({**changes, 5: numbers("I", 0), 6: numbers("Q", 1)})
    if possible:
        assert index.spec(0, "a").shape == (1,) * rank
    else:
        with pytest.raises(ArchiveError, match="tensor 'a': found dtype number"):
            index.spec(0, "a")


def test_elements_of_fewer_bits_than_a_byte_fill_whole_bytes() -> None:
    assert [tensor_bytes("F4", (n,)) for n in (0, 2, 6)] == [0, 1, 3]
    with pytest.raises(ArchiveError, match=r"dtype F4 with shape \(3,\) takes 12 bits; expected whole bytes"):
        tensor_bytes("F4", (3,))


# --- reading by it ---


@pytest.fixture
def stored() -> TensorReader:
    file = io.BytesIO()
    tensors = [
        TensorSpec("x.w", "F32", (4, 2), (2, 1), 0, 0),
        TensorSpec("x.t", "F32", (2, 4), (1, 2), 0, 0),
        TensorSpec("x.tail", "F32", (2, 2), (2, 1), 4, 0),
        TensorSpec("y", "U8", (), (), 0, 1),
        TensorSpec("z", "F4", (3, 2), (2, 1), 0, 2),
    ]
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "net/w", tensors, [struct.pack("<8f", *range(8)), b"s", b"abc"])
        writer.seal(Manifest())
    return TensorReader(ArchiveReader(file), "net/w")


def floats(data: Any) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def test_rows_are_read_alone(stored: TensorReader) -> None:
    for start in range(5):
        for stop in range(start, 5):
            assert floats(stored.rows("x.w", start, stop)) == list(range(2 * start, 2 * stop))
    assert floats(stored.rows("x.tail", 1, 2)) == [6.0, 7.0]
    assert [bytes(stored.rows("z", at, at + 1)) for at in range(3)] == [b"a", b"b", b"c"]
    for start, stop in ((-1, 1), (2, 1), (0, 5), (5, 5)):
        with pytest.raises(ValueError, match=f"tensor 'x.w' has 4 rows, asked for {start} to {stop}"):
            stored.rows("x.w", start, stop)
    for key in ("x.t", "y"):
        with pytest.raises(ValueError, match=f"tensor '{key}': its rows are not contiguous; read the whole"):
            stored.rows(key, 0, 0)


def test_parts_of_storages_are_read_alone(stored: TensorReader) -> None:
    number = stored["x.w"].storage
    assert (stored.storage_size(number), floats(stored.part(number, 8, 16))) == (32, [2.0, 3.0])
    assert bytes(stored.part(number, 32, 32)) == b""
    for low, high in ((-1, 1), (2, 1), (0, 33), (33, 33)):
        with pytest.raises(ValueError, match=f"bytes {low} to {high} of a storage of 32"):
            stored.part(number, low, high)


def test_what_an_audit_asks_of_storages(stored: TensorReader) -> None:
    sizes = {"x.w": ("F32", 32), "y": ("U8", 1), "z": ("F4", 3), "x.t": ("F32", 32), "x.tail": ("F32", 16)}
    assert storages_of(stored) == sizes
    assert storages_of(stored, "x.") == {"w": ("F32", 32), "t": ("F32", 32), "tail": ("F32", 16)}
    assert storages_of(None) == {}


def test_a_key_that_is_not_there_is_told(stored: TensorReader) -> None:
    with pytest.raises(MissingEntryError, match=r"'net/w' has no tensor 'x'; keys\(\)"):
        stored["x"]


@pytest.mark.parametrize(
    "names", ["y x.t x.tail b y", "a y b y c", "y a y b c", "a b c y y", "y y a b c", "y y y y y"]
)
def test_a_key_that_is_there_twice_is_refused_when_it_is_asked_for(stored: TensorReader, names: str) -> None:
    vars(stored)["index"] = dataclasses.replace(stored.index, names=names.replace(" ", "\0"))
    with pytest.raises(ArchiveError, match=r"index of 'net/w'.* a key twice; expected each key once"):
        stored["y"]
    with pytest.raises(ArchiveError, match=r"a key twice; expected each key once"):
        list(stored)


@pytest.mark.parametrize("size", [0, 8, 12])
def test_a_member_has_room_for_its_header(size: int) -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("net/w", bytes(size), kind="tensors", align=64)
        writer.add(".data/index/net/w", pack([0, "", b"", b"", b"", b"", b"", [], {}, []]), kind="index")
        writer.seal(Manifest())
    if size >= 8:
        assert len(TensorReader(ArchiveReader(file), "net/w")) == 0
    else:
        with pytest.raises(ArchiveError, match="'net/w': found 0 bytes of data; expected less than 0"):
            TensorReader(ArchiveReader(file), "net/w")


def test_a_member_and_its_index_are_of_their_kinds() -> None:
    of_other_kinds = [(("resource", "index"), "'net/w' is of kind resource; expected tensors")]
    of_other_kinds += [(("tensors", "resource"), "'.data/index/net/w' is of kind resource; expected index")]
    for kinds, message in of_other_kinds:
        file = io.BytesIO()
        with ArchiveWriter(file) as writer:
            writer.add("net/w", bytes(8), kind=kinds[0], align=64)
            writer.add(".data/index/net/w", b"", kind=kinds[1])
            writer.seal(Manifest())
        with pytest.raises(MissingEntryError, match=message):
            TensorReader(ArchiveReader(file), "net/w")


# --- the plan of a member ---


def planned(*tensors: TensorSpec, sizes: list[int], metadata: dict[str, str] | None = None) -> MemberPlan:
    return plan_member(TensorIndex.of(tensors, sizes, metadata))


def flat(key: str, dtype: str, count: int, storage: int) -> TensorSpec:
    return TensorSpec(key, dtype, (count,), (1,), 0, storage)


def test_storages_of_whole_lines_come_first_then_wide_ones_then_by_key() -> None:
    tensors = [
        flat("odd", "U8", 5, 0),
        flat("b", "F32", 16, 1),
        flat("a", "F32", 16, 2),
        flat("wide", "F64", 3, 3),
        flat("narrow", "U8", 64, 4),
        flat("half", "F16", 3, 5),
    ]
    assert planned(*tensors, sizes=[5, 64, 64, 24, 64, 6]).order == [2, 1, 4, 3, 5, 0]
    shifted = [TensorSpec("view", "F32", (1,), (1,), 0, 0), flat("u", "U8", 3, 1)]
    assert planned(*shifted, sizes=[6, 3]).order == [1, 0]


def test_a_storage_that_no_tensor_fills_is_named_after_the_first_in_it() -> None:
    tensors = [
        TensorSpec("row", "F32", (1,), (1,), 1, 0),
        TensorSpec("row#storage", "U8", (2,), (1,), 0, 1),
        TensorSpec("row#storage#", "U8", (1,), (1,), 0, 1),
    ]
    header = planned(*tensors, sizes=[8, 7]).header
    assert b'"row#storage##":{"dtype":"F32","shape":[2]' in header
    assert b'"row#storage#storage":{"dtype":"U8","shape":[7]' in header
    assert b'"row#storage":{"dtype":"U8","shape":[9]' in planned(tensors[0], sizes=[9]).header


@one_test
@pytest.mark.parametrize(
    ("tensor", "views"),
    [
        (TensorSpec("a", "U8", (4,), (1,), 0, 0), []),
        (TensorSpec("a", "U8", (3,), (1,), 0, 0), []),
        (TensorSpec("a", "U8", (3,), (1,), 1, 0), [[0, 1, None]]),
        (TensorSpec("a", "U8", (2,), (2,), 0, 0), [[0, 0, [2]]]),
        (TensorSpec("a", "U8", (2,), (-1,), 1, 0), [[0, 1, [-1]]]),
        (TensorSpec("a", "U8", (2, 0), (7, 7), 0, 0), []),
    ],
)
def test_an_index_has_strides_and_offsets_of_views_alone(tensor: TensorSpec, views: list[Any]) -> None:
    assert unpack(planned(tensor, sizes=[4]).index, what="index")[7] == views


@pytest.mark.parametrize(
    ("bound", "right", "message"),
    [
        ("MAX_HEADER", 120, "120 bytes of their safetensors header are more than the 119 of one member"),
        ("MAX_METADATA", 2, "2 texts in their __metadata__ are more than the 1 of one member; use several"),
        ("most_sizes", 3, "3 sizes in their shapes are more than the 2 of one member; use several"),
    ],
)
def test_a_header_that_would_be_refused_is_not_written(
    monkeypatch: pytest.MonkeyPatch, bound: str, right: int, message: str
) -> None:
    tensors = [TensorSpec("a", "U8", (1, 1, 2), (2, 2, 1), 0, 0)]

    def plan(most: int) -> MemberPlan:
        value: int | Callable[[int], int] = (
            (lambda size: most + size - 120) if bound == "most_sizes" else most
        )
        monkeypatch.setattr(f"packager._archive.safetensors.{bound}", value)
        return planned(*tensors, sizes=[2], metadata={"a": "b", "c": "d"})

    assert len(plan(right).header) == 128
    with pytest.raises(ArchiveError, match=message):
        plan(right - 1)


@one_test
@pytest.mark.parametrize(
    ("shape", "possible"),
    [
        ((), True),
        ((1,) * 64, True),
        ((1,) * 65, False),
        (((1 << 61) - 1,), True),
        ((1 << 61,), False),
        ((1 << 60, 2), False),
        ((1 << 30, 1 << 30), True),
        ((0, (1 << 61) - 1), True),
        ((0, 1 << 61), False),
    ],
)
def test_a_shape_can_be_where_its_bytes_can_be_counted(shape: tuple[int, ...], possible: bool) -> None:
    """By 63 bits, and as if no extent were zero."""
    assert (tensor_index.shape_problem(shape, 32) is None) is possible


@pytest.mark.parametrize("header", [48, 64, 80])
def test_private_storages_start_at_a_multiple_of_64_whatever_stands_before_them(header: int) -> None:
    tensors = [TensorSpec(key, "U8", (16,), (1,), 0, number) for number, key in enumerate("abcde")]
    file, data = io.BytesIO(), bytes(range(80))
    with ArchiveWriter(file) as writer:
        writer.add("w", bytes(header) + data, kind="tensors", align=64)
        writer.add(index_name("w"), planned(*tensors, sizes=[16] * 5).index, kind="index")
        writer.seal(Manifest())
    with ArchiveReader(file.getvalue()) as reader:
        storages = [TensorReader(reader, "w").storage(number, private=True) for number in range(5)]
        assert b"".join(storages) == data
        for storage in storages:
            assert ctypes.addressof(ctypes.c_char.from_buffer(storage)) % 64 == 0


@pytest.mark.parametrize("view", [(0, None), (0, (2, 1))])
def test_a_view_that_is_none_is_found(view: tuple[int, tuple[int, ...] | None]) -> None:
    index = TensorIndex.of([TensorSpec("a", "U8", (2, 2), (2, 1), 0, 0)], [4])
    plan = plan_member(dataclasses.replace(index, views={0: view}))
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("m", [plan.header, b"four"], kind="tensors", align=64)
        writer.add(index_name("m"), plan.index, kind="index")
        writer.seal(Manifest())
    (problem,) = verify(ArchiveReader(file)).problems
    assert "needless views" in problem.message
