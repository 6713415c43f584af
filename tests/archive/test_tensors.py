"""Section 7: state dicts: one member, one index, ties and views stored once."""

from __future__ import annotations

import contextlib
import ctypes
import io
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

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
    unpack,
    verify,
)
from packager._tensors import DTYPE_BITS
from packager.errors import ArchiveError, PackageError
from tests.tables import one_test

TYPES = {"F32": "<f4", "I64": "<i8", "F16": "<f2", "U8": "u1", "BOOL": "?", "C64": "<c8", "F64": "<f8"}


def archive_of(
    tensors: Sequence[TensorSpec], storages: Sequence[Any], metadata: Mapping[str, str] | None = None
) -> bytes:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "net/w", tensors, storages, metadata=metadata)
        writer.seal(Manifest())
    return file.getvalue()


def opened(data: bytes, **options: Any) -> TensorReader:
    return TensorReader(ArchiveReader(data, **options), "net/w")


def array(stored: TensorReader, key: str) -> np.ndarray:
    """The tensor as an array, through its storage, offset and strides."""
    spec = stored[key]
    dtype = np.dtype(TYPES[spec.dtype])
    strides = [stride * dtype.itemsize for stride in spec.strides]
    return np.ndarray(spec.shape, dtype, stored.storage(spec.storage), spec.offset * dtype.itemsize, strides)


def whole(key: str, dtype: str, shape: tuple[int, ...], storage: int) -> TensorSpec:
    strides = tuple(int(np.prod(shape[i + 1 :], dtype=int)) for i in range(len(shape)))
    return TensorSpec(key, dtype, shape, strides, 0, storage)


A = np.arange(12, dtype="f4").reshape(3, 4)
BASE = np.arange(10, dtype="u1")
TIED = [
    whole("z.weight", "F32", (3, 4), 0),
    TensorSpec("a.tied", "F32", (3, 4), (4, 1), 0, 0),
    TensorSpec("transposed", "F32", (4, 3), (1, 4), 0, 0),
    TensorSpec("row", "F32", (4,), (1,), 4, 0),
    TensorSpec("bits", "U8", (48,), (1,), 0, 0),
    TensorSpec("middle", "U8", (4,), (1,), 3, 1),
    TensorSpec("backwards", "U8", (3,), (-2,), 8, 1),
    TensorSpec("broadcast", "U8", (1000, 2), (0, 1), 1, 1),
    whole("empty", "F64", (0, 3), 2),
    whole("scalar", "I64", (), 3),
]
STORAGES = [A, BASE, np.zeros((0, 3)), np.int64(-5)]


def test_ties_views_and_odd_strides_come_back_and_are_stored_once() -> None:
    stored = opened(archive_of(TIED, STORAGES, {"format": "pt"}))
    assert list(stored) == [spec.key for spec in TIED]
    assert stored.metadata == {"format": "pt"}
    for spec in TIED:
        found = stored[spec.key]
        assert (found.shape, found.offset, found.dtype) == (spec.shape, spec.offset, spec.dtype)
        assert (
            stored[spec.key].storage == stored[next(t.key for t in TIED if t.storage == spec.storage)].storage
        )
    np.testing.assert_array_equal(array(stored, "a.tied"), A)
    np.testing.assert_array_equal(array(stored, "transposed"), A.T)
    np.testing.assert_array_equal(array(stored, "row"), A[1])
    np.testing.assert_array_equal(array(stored, "backwards"), BASE[8:3:-2])
    np.testing.assert_array_equal(array(stored, "broadcast"), np.broadcast_to(BASE[1:3], (1000, 2)))
    assert array(stored, "scalar") == -5
    assert array(stored, "empty").shape == (0, 3)
    assert len(ArchiveReader(archive_of(TIED, STORAGES)).read("net/w")) % 64 == (48 + 10 + 8) % 64


def test_the_safetensors_library_reads_the_member() -> None:
    data = archive_of(TIED, STORAGES, {"format": "pt"})
    found = safetensors.numpy.load(ArchiveReader(data).read("net/w"))
    assert sorted(found) == ["empty", "middle#storage", "scalar", "z.weight"]
    np.testing.assert_array_equal(found["z.weight"], A)
    np.testing.assert_array_equal(found["middle#storage"], BASE)


def test_data_of_a_tensor_spans_its_elements() -> None:
    stored = opened(archive_of(TIED, STORAGES))
    assert bytes(stored.data("row")) == A[1].tobytes()
    assert bytes(stored.data("backwards")) == BASE[4:9].tobytes()
    assert bytes(stored.data("broadcast")) == b"\x01\x02"
    assert bytes(stored.data("empty")) == b""


def test_many_at_once_give_the_same_as_one_by_one() -> None:
    stored = opened(archive_of(TIED, STORAGES))
    section = stored.section()
    plain = list(stored.contiguous())
    assert [key for key, *_ in plain] == ["z.weight", "a.tied", "bits", "empty", "scalar"]
    for key, dtype, shape, start in plain:
        assert (stored[key].dtype, stored[key].shape) == (dtype, shape)
        size = len(stored.data(key))
        assert section[start : start + size] == stored.data(key)
    assert [spec.key for spec in stored.strided()] == [
        "transposed",
        "row",
        "middle",
        "backwards",
        "broadcast",
    ]
    assert list(stored.strided()) == [stored[spec.key] for spec in stored.strided()]


def test_storages_start_at_a_multiple_of_their_element() -> None:
    shapes = {"b": ("U8", 3), "h": ("F16", 5), "d": ("F64", 2), "f": ("F32", 3), "odd": ("U8", 5)}
    tensors = [whole(key, dtype, (count,), i) for i, (key, (dtype, count)) in enumerate(shapes.items())]
    storages = [bytes(count * DTYPE_BITS[dtype] // 8) for dtype, count in shapes.values()]
    # A storage of 10 bytes that is looked at as F32 would shift those behind it.
    tensors.append(TensorSpec("view", "F32", (1,), (1,), 0, len(storages)))
    stored = opened(archive_of(tensors, [*storages, bytes(10)]))
    for key, dtype, _, start in stored.contiguous():
        assert start % (DTYPE_BITS[dtype] // 8) == 0 or key == "view"


def test_data_section_of_the_member_starts_at_a_multiple_of_64_in_the_file(tmp_path: Path) -> None:
    data = archive_of([whole("x", "U8", (7,), 0)], [b"needles"])
    assert data.index(b"needles") % 64 == 0


def test_equal_content_gives_equal_bytes_whatever_the_numbering_of_storages() -> None:
    swap = {0: 2, 1: 0, 2: 3, 3: 1}
    moved = [TensorSpec(t.key, t.dtype, t.shape, t.strides, t.offset, swap[t.storage]) for t in TIED]
    storages = [STORAGES[old] for old, _ in sorted(swap.items(), key=lambda pair: pair[1])]
    assert archive_of(moved, storages) == archive_of(TIED, STORAGES)


@st.composite
def state_dicts(draw: Any) -> tuple[list[TensorSpec], list[np.ndarray]]:
    storages = [np.arange(n, dtype="u1") for n in draw(st.lists(st.integers(0, 40), max_size=5))]
    tensors = []
    for number, storage in enumerate(storages):
        for _ in range(draw(st.integers(1, 3))):
            dtype = draw(st.sampled_from(sorted(TYPES)))
            elements = len(storage) * 8 // DTYPE_BITS[dtype]
            shape = draw(st.lists(st.integers(0, 4), max_size=3).map(tuple))
            strides = tuple(draw(st.integers(-3, 5)) for _ in shape)
            reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
            low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
            if 0 in shape:
                low = high = 0
            room = elements - (high - low) - (0 not in shape)
            if room < 0:
                shape, strides, low, room = (elements,), (1,), 0, 0
            offset = -low + draw(st.integers(0, room))
            key = draw(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6))
            tensors.append(TensorSpec(key, dtype, shape, strides, offset, number))
    unique = {tensor.key: tensor for tensor in tensors if tensor.key != "__metadata__"}
    used = {tensor.storage for tensor in unique.values()}
    kept = sorted(used)
    return (
        [
            TensorSpec(t.key, t.dtype, t.shape, t.strides, t.offset, kept.index(t.storage))
            for t in unique.values()
        ],
        [storages[number] for number in kept],
    )


@given(state_dicts())
def test_any_tensors_come_back_and_verify(case: tuple[list[TensorSpec], list[np.ndarray]]) -> None:
    tensors, storages = case
    data = archive_of(tensors, storages)
    reader = ArchiveReader(data)
    assert verify(reader).problems == ()
    stored = TensorReader(reader, "net/w")
    assert list(stored) == [tensor.key for tensor in tensors]
    for tensor in tensors:
        found = stored[tensor.key]
        assert (found.dtype, found.shape, found.offset) == (tensor.dtype, tensor.shape, tensor.offset)
        assert bytes(stored.storage(found.storage)) == storages[tensor.storage].tobytes()
    safetensors.numpy.load(reader.read("net/w")) if tensors else None
    # What was read is written to the same bytes.
    sizes = {stored[key].storage for key in stored}
    again = archive_of(list(stored.values()), [stored.storage(number) for number in sorted(sizes)])
    assert again == data


@one_test
@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (TensorSpec("a", "F31", (2,), (1,), 0, 0), "dtype 'F31' is not one of BOOL"),
        (TensorSpec("a\0b", "U8", (8,), (1,), 0, 0), "may not be __metadata__, or contain NUL"),
        (TensorSpec("a\0\0b", "U8", (8,), (1,), 0, 0), "may not be __metadata__, or contain NUL"),
        (TensorSpec("\ud800", "U8", (8,), (1,), 0, 0), "unpaired surrogate"),
        (TensorSpec("__metadata__", "U8", (8,), (1,), 0, 0), "may not be __metadata__"),
        (
            TensorSpec("a", "U8", (9,), (1,), 0, 0),
            "elements 0 to 9 of U8 do not lie in its storage of 8 bytes",
        ),
        (TensorSpec("a", "U8", (8,), (1,), 1, 0), "elements 1 to 9"),
        (TensorSpec("a", "U8", (3,), (-1,), 1, 0), "elements -1 to 2"),
        (TensorSpec("a", "F32", (2,), (2,), 0, 0), "elements 0 to 3 of F32"),
        (TensorSpec("a", "U8", (-1,), (1,), 0, 0), "negative size"),
        (
            TensorSpec("a", "U8", (1,) * 65, (1,) * 65, 0, 0),
            "the shape has 65 dimensions; expected at most 64",
        ),
        (TensorSpec("a", "U8", (2, 4), (1,), 0, 0), "do not fit"),
        (TensorSpec("a", "U8", (2, 4), (4,), 0, 0), "do not fit"),
        (TensorSpec("a", "U8", (8,), (1, 1), 0, 0), "do not fit"),
        (TensorSpec("a", "U8", (0, 8), (), 0, 0), "do not fit"),
        (TensorSpec("a", "U8", (-2, -4), (1, 1), 0, 0), "negative size"),
        (TensorSpec("a", "U8", (8,), (1,), 0, 1), "storage 1 do not fit"),
        (TensorSpec("a", "U8", (8,), (1,), 0, -1), "storage -1 do not fit"),
        (TensorSpec("a", "F4", (8,), (1,), 0, 0), "packed elements of F4 must fill their storage"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_key(tensor: TensorSpec, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        archive_of([tensor], [bytes(8)])


def test_a_member_has_a_bounded_number_of_tensors() -> None:
    many = [TensorSpec(f"{i}", "U8", (), (), 0, 0) for i in range((1 << 18) + 1)]
    with pytest.raises(ArchiveError, match="262145 tensors are more than the 262144 of one member"):
        archive_of(many, [b"x"])


def test_all_problems_are_raised_together() -> None:
    bad = [TensorSpec("a", "X", (1,), (1,), 0, 0), TensorSpec("b", "U8", (9,), (1,), 0, 0)]
    with pytest.raises(ArchiveError) as refused:
        archive_of([*bad, bad[0]], [bytes(8), b"nobody"])
    lines = str(refused.value).splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "tensor 'a'",
        "tensor 'a'",
        "tensor 'b'",
        "tensor 'a'",
        "storage 1",
    ]


def test_packed_dtypes_are_stored_whole() -> None:
    tensors = [whole("four", "F4", (6,), 0), whole("six", "F6_E2M3", (4, 2), 1)]
    stored = opened(archive_of(tensors, [b"abc", b"defghi"]))
    assert (bytes(stored.data("four")), bytes(stored.data("six"))) == (b"abc", b"defghi")


def test_buffers_that_are_not_in_c_order_are_refused() -> None:
    with pytest.raises(ValueError, match="not C-contiguous"):
        archive_of([whole("a", "F32", (4, 3), 0)], [A.T])


@pytest.mark.parametrize("mapped", [True, False])
def test_private_memory_is_shared_within_a_reader_and_with_nobody_else(mapped: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.kellet"
    path.write_bytes(archive_of(TIED, STORAGES))
    with ArchiveReader(path, mmap=mapped) as reader:
        one, other = TensorReader(reader, "net/w"), TensorReader(reader, "net/w")
        number = one["z.weight"].storage
        one.storage(number, private=True)[:4] = b"\xff\xff\xff\xff"
        one.data("bits", private=True)[4] = 7
        assert bytes(one.data("a.tied", private=True)[:5]) == b"\xff\xff\xff\xff\x07"
        assert bytes(one.data("a.tied")) == bytes(other.data("a.tied", private=True)) == A.tobytes()
        kept = one.data("z.weight", private=True)
    assert bytes(kept[:5]) == b"\xff\xff\xff\xff\x07"
    assert path.read_bytes() == archive_of(TIED, STORAGES)


@pytest.mark.parametrize("mapped", [True, False])
def test_what_is_not_private_is_written_to_by_nobody(mapped: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.kellet"
    path.write_bytes(archive_of([whole("x", "U8", (7,), 0)], [b"needles"]))
    with ArchiveReader(path, mmap=mapped) as reader:
        stored = TensorReader(reader, "net/w")
        for view in (stored.part(0, 0, 7), stored.section(), stored.storage(0), stored.data("x")):
            assert (bytes(view), view.readonly) == (b"needles", True)
        assert bytes(stored.part(0, 0, 0)) == b""
        assert stored.storage(0, private=True).readonly is False
        assert stored._copies == {}  # it lies at a multiple of 64


def test_private_memory_is_checked_before_it_is_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "x.kellet"
    data = archive_of([whole("x", "U8", (7,), 0)], [b"needles"])
    path.write_bytes(data.replace(b"needles", b"beetles"))
    for mapped in (True, False):
        with (
            ArchiveReader(path, mmap=mapped) as reader,
            pytest.raises(ArchiveError, match=r"bytes 0 to .* do not have"),
        ):
            TensorReader(reader, "net/w").data("x", private=True)


def test_missing_names_are_key_errors() -> None:
    stored = opened(archive_of(TIED, STORAGES))
    for key in ("nope", "", "z", "weight", "z.weight\0a.tied", "row\0"):
        with pytest.raises(MissingEntryError, match="has no tensor"):
            stored[key]
        assert key not in stored
    assert stored.get("nope") is None
    reader = ArchiveReader(archive_of(TIED, STORAGES))
    with pytest.raises(KeyError, match="no entry 'net/x'"):
        TensorReader(reader, "net/x")
    with pytest.raises(KeyError, match="of kind index; expected tensors"):
        TensorReader(reader, index_name("net/w"))


def test_keys_are_found_before_and_after_they_are_split() -> None:
    keys = [f"{'x' * (i % 3)}.{i}" for i in range(40)] + [""]
    data = archive_of(
        [whole(key, "U8", (1,), i) for i, key in enumerate(keys)], [bytes([i]) for i in range(41)]
    )
    stored = opened(data)
    assert [bytes(stored.data(key)) for key in keys] == [bytes([i]) for i in range(41)]
    assert [bytes(stored.data(key)) for key in stored] == [bytes([i]) for i in range(41)]
    assert len(stored) == 41


def test_no_tensors_at_all() -> None:
    stored = opened(archive_of([], []))
    assert (list(stored), list(stored.contiguous()), bytes(stored.section())) == ([], [], b"")
    assert verify(ArchiveReader(archive_of([], []))).ok
    with pytest.raises(MissingEntryError):
        stored[""]


INDEX = unpack(ArchiveReader(archive_of(TIED, STORAGES)).read(index_name("net/w")), what="x")


def with_index(index: Any, member: bytes | None = None) -> bytes:
    """An archive with the member of TIED and another index, all digests right."""
    right = ArchiveReader(archive_of(TIED, STORAGES))
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("net/w", member or right.read("net/w"), kind="tensors", align=64)
        writer.add(index_name("net/w"), pack(index), kind="index")
        writer.seal(Manifest())
    return file.getvalue()


def changed(place: int, value: Any) -> list[Any]:
    return [value if i == place else column for i, column in enumerate(INDEX)]


HOSTILE_INDEXES = [
    {},
    [],
    INDEX[:-1],
    changed(0, 9),
    changed(0, 2**40),
    changed(0, -1),
    changed(1, "a"),
    changed(1, INDEX[1].replace("row", "empty")),
    changed(2, bytes(9)),
    changed(2, b"\xff" * 10),
    changed(3, b"\xff" * 10),
    changed(3, bytes(10)),
    changed(4, INDEX[4][:-1]),
    changed(4, b"\xff" * len(INDEX[4])),
    changed(5, b"\xff" * 40),
    changed(5, bytes(40)),
    changed(6, b""),
    changed(6, INDEX[6][::-1]),
    changed(6, INDEX[6][:-8] + (2**63).to_bytes(8, "little")),
    changed(6, INDEX[6][:-8] + (10**6).to_bytes(8, "little")),
    changed(6, INDEX[6] + INDEX[6][-8:]),
    changed(7, []),
    changed(7, INDEX[7][::-1]),
    changed(7, [[0, 0, [1, 3]], *INDEX[7]]),
    changed(7, [[0, 0, None], *INDEX[7]]),
    changed(7, [*INDEX[7], [10, 0, None]]),
    changed(7, [*INDEX[7], [9, 2**63, None]]),
    changed(7, [[2, 0, [2**62, 2**62]], *INDEX[7][1:]]),
    changed(7, [[2, 0, [1]], *INDEX[7][1:]]),
    changed(7, [[2, 0, [1, "4"]], *INDEX[7][1:]]),
    changed(7, [[2, -1, None], *INDEX[7][1:]]),
    changed(7, [5]),
    changed(7, [[2, 0, {}]]),
    changed(8, {"a": 1}),
    changed(8, {"more": "metadata"}),
]


@one_test
@pytest.mark.parametrize("index", HOSTILE_INDEXES)
def test_hostile_index_is_refused_by_verify_and_reads_inside_the_entry(index: Any) -> None:
    data = with_index(index)
    problems = verify(ArchiveReader(data)).problems
    assert problems, "verify found nothing"
    assert problems[0].entry == "net/w"
    with contextlib.suppress(PackageError):
        stored = opened(data)
        for key in stored:
            stored.data(key)
    with contextlib.suppress(PackageError):
        stored = opened(data)
        sizes = [(start, len(stored.data(key))) for key, _, _, start in stored.contiguous()]
        assert all(start + size <= len(stored.section()) for start, size in sizes)
        assert all(spec.storage < 4 for spec in stored.strided())


def test_verify_fails_where_index_and_header_disagree() -> None:
    right = ArchiveReader(archive_of(TIED, STORAGES)).read("net/w")
    assert verify(ArchiveReader(with_index(INDEX))).ok
    for old, new in (
        (b'"z.weight"', b'"y.weight"'),
        (b"[3,4]", b"[4,3]"),
        (b'"I64"', b'"F64"'),
        (b'"I64"', b'"U64"'),
    ):
        problems = verify(ArchiveReader(with_index(INDEX, right.replace(old, new)))).problems
        assert [problem.entry for problem in problems] == ["net/w"]
        assert "in the safetensors header; expected" in problems[0].message
    respelled = right.replace(b'"dtype":"I64","shape":[]', b'"shape":[],"dtype":"I64"')
    assert "other formatting" in verify(ArchiveReader(with_index(INDEX, respelled))).problems[0].message


def test_member_without_index_and_index_without_member_are_problems() -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("net/w", ArchiveReader(archive_of(TIED, STORAGES)).read("net/w"), kind="tensors", align=64)
        writer.add(index_name("other"), pack(INDEX), kind="index")
        writer.seal(Manifest())
    problems = {problem.entry: problem.message for problem in verify(ArchiveReader(file)).problems}
    assert "no entry '.data/index/net/w'" in problems["net/w"]
    assert "an index without a member" in problems[index_name("other")]


@pytest.mark.parametrize("kind", ["mapped", "bounded", "memory"])
def test_private_storages_start_at_whole_cache_lines(tmp_path: Path, kind: str) -> None:
    sizes = {"a": 5, "b": 16, "c": 3, "d": 32, "e": 0, "f": 1}
    specs = [TensorSpec(key, "F32", (n,), (1,), 0, at) for at, (key, n) in enumerate(sizes.items())]
    data = archive_of(specs, [bytes([at]) * 4 * n for at, n in enumerate(sizes.values())])
    (tmp_path / "x.kellet").write_bytes(data)
    with ArchiveReader(data if kind == "memory" else tmp_path / "x.kellet", mmap=kind == "mapped") as reader:
        stored = TensorReader(reader, "net/w")
        for at, (key, n) in enumerate(sizes.items()):
            memory = stored.storage(stored[key].storage, private=True)
            assert bytes(memory) == bytes([at]) * 4 * n
            if n:
                assert ctypes.addressof(ctypes.c_char.from_buffer(memory)) % 64 == 0
                memory[0] = 99
                assert stored.rows(key, 0, 1, private=True)[0] == 99
                assert stored.data(key)[0] == at
        kept = {key: bytes(stored.data(key, private=True))[1:] for key in stored}
    assert kept == {key: (bytes([at]) * 4 * n)[1:] for at, (key, n) in enumerate(sizes.items())}


@pytest.mark.parametrize(("count", "limit"), [(8, 2 << 20), (20_000, 8 << 20)])
def test_opening_takes_little_memory_however_large_the_tensors_are(
    tmp_path: Path, count: int, limit: int
) -> None:
    size = (64 << 20) // count
    tensors = [whole(f"model.layer{i}.block.weight", "U8", (size,), i) for i in range(count)]
    with ArchiveWriter(tmp_path / "x.kellet", digests="crc", fsync=False) as writer:
        add_tensors(writer, "net/w", tensors, [memoryview(bytes(size))] * count)
        writer.seal(Manifest())
    tracemalloc.start()
    try:
        with ArchiveReader(tmp_path / "x.kellet") as reader:
            stored = TensorReader(reader, "net/w")
            assert len(list(stored)) == count
            assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()
