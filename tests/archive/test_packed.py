"""Section 6: canonical msgpack."""

from __future__ import annotations

import math
import random
import re
import struct
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._archive import pack, packed, unpack
from packager._archive.bounds import MAX_DEPTH
from packager._archive.packed import scan
from packager.errors import ArchiveError
from tests.tables import one_test

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.binary(max_size=300)
)
PLAIN = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner), max_leaves=30
)


@given(PLAIN)
def test_plain_data_comes_back_and_has_one_spelling(value: Any) -> None:
    data = pack(value)
    assert unpack(data, what="x") == value
    assert pack(unpack(data, what="x")) == data


class Text(str):
    """A text of a class of its own."""


@one_test
@pytest.mark.parametrize("value", [Text("a"), [Text("a")], {"a": Text("a")}, {1}, 1j, object()])
def test_what_is_not_plain_data_is_not_written(value: Any) -> None:
    with pytest.raises(TypeError):
        pack(value)


@pytest.mark.parametrize("key", [1, None, b"a", ("a",)])
def test_keys_that_are_no_strings_are_not_written(key: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"a map to be packed has the key {key!r}; ")):
        pack({key: 1})


@pytest.mark.parametrize("data", ["82a16101a16102", "82a16202a16101"])
def test_keys_of_a_map_rise(data: str) -> None:
    with pytest.raises(ArchiveError, match="a map has the key 'a' twice or out of order"):
        unpack(bytes.fromhex(data), what="x")


@pytest.mark.parametrize("around", [lambda value: [value], lambda value: {"a": value}])
def test_what_is_written_nests_as_deep_as_is_read(around: Any) -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = around(value)
    data = pack(value)
    assert unpack(data, what="x") == value
    with pytest.raises(ValueError, match=f"{MAX_DEPTH}"):
        pack(around(value))
    with pytest.raises(ArchiveError, match=f"{MAX_DEPTH}"):
        unpack((b"\x91" if data[0] == 0x91 else b"\x81\xa1a") + data, what="x")


@given(st.dictionaries(st.text(max_size=3), st.integers()))
def test_maps_are_sorted_by_the_bytes_of_their_keys(value: dict[str, int]) -> None:
    if all(-(2**63) <= number < 2**64 for number in value.values()):
        keys = list(unpack(pack(value), what="x"))
        assert keys == sorted(keys, key=str.encode)


@given(PLAIN)
def test_scan_counts_every_value(value: Any) -> None:
    def count(value: Any) -> int:
        if isinstance(value, list):
            return 1 + sum(map(count, value))
        if isinstance(value, dict):
            return 1 + sum(1 + count(inner) for inner in value.values())
        return 1

    assert scan(pack(value), what="x") == count(value)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_that_is_spelled_so_or_an_archive_error(data: bytes) -> None:
    try:
        value = unpack(data, what="x")
    except ArchiveError:
        return
    assert pack(value) == data


@given(PLAIN, st.data())
def test_changed_bytes_are_another_value_or_refused(value: Any, draw: st.DataObject) -> None:
    data = bytearray(pack(value))
    data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    try:
        found = unpack(bytes(data), what="x")
    except ArchiveError:
        return
    assert pack(found) == data


def spelled(value: Any, **options: Any) -> bytes:
    return bytes(msgpack.packb(value, **options))


@one_test
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        spelled(1.5, use_single_float=True),
        b"\xcc\x05",  # 5 in two bytes
        b"\xcd\x00\x05",
        b"\xd0\x05",
        b"\xd1\xff\xff",  # -1 in three bytes
        b"\xd2\x00\x00\x01\x00",  # 256, signed
        b"\xd9\x01a",
        b"\xda\x00\x01a",
        b"\xc5\x00\x01a",
        b"\xdc\x00\x01\x01",
        b"\xde\x00\x01\xa1a\x01",
        b"\xdd\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xffabc",
        b"\xc6\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xa2\xff\xff",  # not UTF-8
        b"\xa3\xed\xa0\x80",  # half a surrogate pair
        b"\x82\xa1a\x01\xa1a\x02",
        b"\x82\xa1b\x01\xa1a\x02",
        b"\x81\x01\x01",
        b"\x81\xc4\x01a\x01",
        b"\x81\xc0\x01",
        b"\x81\x90\x01",
        b"\x01\x01",
        b"\x92\x01",
        b"\x90\x90",
        spelled(msgpack.ExtType(5, b"data")),
        spelled(msgpack.ExtType(5, b"d")),
        spelled(msgpack.Timestamp(1)),
        b"\xc7\x00\x01",
        b"\x91" * 65 + b"\x01",
        b"\x91" * 100_000 + b"\x01",
        b"\x81\xa1a" * 600 + b"\x01",
        b"\xcb\x00",
        b"\xcf\x00\x00",
    ],
)
def test_other_spellings_are_refused(data: bytes) -> None:
    with pytest.raises(ArchiveError, match=r"^thing: "):
        unpack(data, what="thing")


def test_nesting_up_to_the_limit_is_read() -> None:
    assert scan(b"\x91" * 64 + b"\x01", what="x") == 65
    unpack(b"\x91" * 64 + b"\x01", what="x")
    assert unpack(b"\x91\x91\x01", what="x", max_depth=2) == [[1]]
    with pytest.raises(ArchiveError, match="nested 2 deep"):
        unpack(b"\x91\x91\x01", what="x", max_depth=1)


def test_floats_keep_every_bit() -> None:
    for bits in (0x8000000000000000, 0x7FF8000000000001, 0x0000000000000001):
        number = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
        assert struct.pack(">d", unpack(pack(number), what="x")) == bits.to_bytes(8, "big")
    assert math.isinf(unpack(pack(math.inf), what="x"))


def test_more_values_than_the_size_allows_are_refused_before_they_are_built() -> None:
    data = b"\xdd" + (1 << 20).to_bytes(4, "big") + b"\x90" * (1 << 20)
    with pytest.raises(
        ArchiveError, match=r"at least \d+ values; the limit for a file of this size is 327680"
    ):
        unpack(data, what="x")
    assert len(unpack(data, what="x", max_nodes=1 << 21)) == 1 << 20


def weight(value: Any) -> int:
    """What a value weighs, by the words of section 6 of the stored objects."""
    if isinstance(value, list):
        return 80 + 8 * len(value) + sum(map(weight, value))
    if isinstance(value, str):
        return 64 if len(value.encode()) in (2, 3) else 0
    return 32 if type(value) is int and -128 <= value < -5 else 0


TABLES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-300, 300)
    | st.sampled_from([2**16, 2**40, -(2**40), 1.5])
    # Texts of each length with a header of its own, and bytes with headers inside.
    | st.integers(0, 70).map("x".__mul__)
    | st.sampled_from(["é", "中", "😀", b"\x80\x90", b"\xa2" * 300]),
    lambda inner: st.lists(inner, max_size=20) | st.integers(0, 40).map([-7, "ab"].__mul__),
    max_leaves=60,
)


@given(TABLES)
def test_a_table_is_read_up_to_what_it_may_weigh(value: Any) -> None:
    value = [value]
    data = pack(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("packager._archive.packed._AT_ONCE", 0)
        patch.setattr("packager._archive.bounds.WEIGHT_PER_BYTE", 0)
        patch.setattr("packager._archive.bounds.FREE_WEIGHT", weight(value))
        assert unpack(data, what="x", is_table=True) == value
        patch.setattr("packager._archive.bounds.FREE_WEIGHT", weight(value) - 1)
        with pytest.raises(
            ArchiveError, match=rf"values up to byte \d+ .* beyond the limit of {weight(value) - 1} "
        ):
            unpack(data, what="x", is_table=True)


@pytest.mark.parametrize("at_once", [0, 1 << 19])
@pytest.mark.parametrize(
    "value", [{}, [{}], ["abc", [-7, {"a": 1}]], [{f"{n}": n for n in range(20)}], [[None] * 9, {"a": {}}]]
)
def test_a_table_has_no_map(value: Any, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._archive.packed._AT_ONCE", at_once)
    with pytest.raises(ArchiveError, match=r"x: .*a map.*a table of records"):
        unpack(pack(value), what="x", is_table=True)
    assert unpack(pack(value), what="x") == value


def test_a_list_inside_is_counted_by_its_header() -> None:
    data = pack([[["records", 1]], [1] * 300_000, -1])
    assert packed.length_within(data, 1) == 300_000
    assert [packed.length_within(data[:stop], 1) for stop in (0, 1, 5, 14)] == [0] * 4
    assert [packed.length_within(data, place) for place in (0, 2, 3)] == [1, 0, 0]


@pytest.mark.parametrize("value", [{1: 2}, object(), {"a": {None: 1}}, 2**64, {"a": {1, 2}}])
def test_what_is_not_plain_data_is_not_packed(value: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        pack(value)


@pytest.mark.parametrize("value", ["caf\udce9", {"caf\udce9": 1}, ["a", {"b": "caf\udce9"}]])
def test_a_text_without_a_utf8_form_is_not_packed(value: Any) -> None:
    with pytest.raises(
        ArchiveError, match=r"the text 'caf\\udce9' cannot be stored: it has an unpaired surrogate"
    ):
        pack(value)


def test_tuples_are_lists() -> None:
    assert unpack(pack((1, (2,))), what="x") == [1, [2]]


def test_what_could_not_be_read_back_is_not_packed() -> None:
    deep: list[Any] = []
    for _ in range(63):
        deep = [deep]
    assert unpack(pack(deep), what="x") == deep
    with pytest.raises(ValueError, match="more than 64 deep"):
        pack([[deep]])


def counted(value: Any) -> int:
    """How many values a value is made of."""
    if isinstance(value, list):
        return 1 + sum(map(counted, value))
    return 1 + sum(1 + counted(inner) for inner in value.values()) if isinstance(value, dict) else 1


@pytest.fixture(params=["value by value", "in runs"])
def walked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walk over few bytes as over few, and as over many."""
    if request.param == "in runs":
        monkeypatch.setattr(packed, "_FEW", 0)


@pytest.mark.usefixtures("walked")
@pytest.mark.parametrize("tail", [b"\x00", b"\x01\xc0", b"\xa1a\x02"])
@pytest.mark.parametrize("width", [0, 1, 2, 4])
def test_every_first_byte_is_walked_over_as_msgpack_reads_it(width: int, tail: bytes) -> None:
    """Cut behind every byte: what is a whole value counts its values, and everything else is refused."""
    for first in range(256):
        begin = bytes([first]) + (3).to_bytes(4, "big")[4 - width :]
        data = begin + tail * 12
        for stop in range(len(data) + 1):
            try:
                value = msgpack.unpackb(data[:stop], strict_map_key=False, raw=True, object_pairs_hook=list)
            except (ValueError, msgpack.UnpackException):
                value = None if data[:stop] == b"\xc0" else ...
            if value is ... or isinstance(value, msgpack.ExtType) or first == 0xCA:
                with pytest.raises(ArchiveError, match="x: "):
                    scan(data[:stop], what="x")
            else:
                pairs = first in range(0x80, 0x90) or first in (0xDE, 0xDF)
                inner = sum(1 + counted(part) for _, part in value) if pairs else counted(value) - 1
                assert scan(data[:stop], what="x") == 1 + inner


@pytest.mark.usefixtures("walked")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "x: the msgpack value at byte 0 needs more bytes than the 0 of the data"),
        (b"\x92\x01", "x: the msgpack value at byte 1 needs more bytes than the 2 of the data"),
        (b"\xa5ab", "x: the msgpack value at byte 6 needs more bytes than the 3 of the data"),
        (b"\xc4\x05ab", "x: the msgpack value at byte 7 needs more bytes than the 4 of the data"),
        (b"\xcd\x01", "x: byte 0 of the msgpack data is 0xcd, which starts no value of the format"),
        (b"\x91\xc1", "x: byte 1 of the msgpack data is 0xc1, which starts no value of the format"),
        (b"\x01\x02", "x: the msgpack value ends at byte 1 of 2"),
        (b"\x91\x91\x91\x01", "x: the msgpack data holds lists nested 3 deep; the limit is 2"),
        (
            b"\x93\x01\x02\x03",
            r"x: the msgpack data holds at least 4 values; the limit for a file of this size is 3",
        ),
    ],
)
def test_what_cannot_be_walked_over_is_said(data: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        scan(data, what="x", max_nodes=3, max_depth=2)


def test_as_many_values_and_levels_are_walked_over_as_are_allowed() -> None:
    assert scan(b"\x92\x01\x02", what="x", max_nodes=3) == 3
    assert scan(b"\x91\x91\x01", what="x", max_depth=2) == 3


def _outcome(data: bytes, max_nodes: int, max_depth: int) -> str:
    try:
        return repr(unpack(data, what="x", max_nodes=max_nodes, max_depth=max_depth))
    except ArchiveError as error:
        return f"refused: {error}"


@pytest.mark.parametrize("part", range(4))
def test_a_value_for_each_byte_is_read_and_refused_as_where_they_are_counted(part: int) -> None:
    """Then msgpack, which builds nothing, walks over the bytes in the place of our scan."""
    table = [
        [["records", 1], ["a", 2]],
        [[7, "key", 1.5, [], [1, -2]], [12, None, b"b", "c"]],
        -1,
        {"m": [1]},
    ]
    honest, counts = pack(table), {"ok": 0, "refused": 0}
    for seed in range(part * 2500, part * 2500 + 2500):
        rng = random.Random(seed)
        data = bytearray(honest)
        for _ in range(rng.randrange(4)):
            odd = (0x80, 0x90, 0x91, 0xC1, 0xC4, 0xC7, 0xCA, 0xD4, 0xDC, 0xDD, rng.randrange(256))
            data[rng.randrange(len(data))] = rng.choice(odd)
        depth = rng.choice((2, 3, 4, 64))
        # One value more than there can be: then every node is counted, and none is too many.
        counted = _outcome(bytes(data), len(data) - 1, depth)
        quick = _outcome(bytes(data), len(data), depth)
        assert quick == counted, data.hex()
        counts["refused" if quick.startswith("refused") else "ok"] += 1
    assert min(counts.values()) > 200


def test_bytes_that_may_hold_more_values_than_are_allowed_are_counted_built_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Up to some hundred thousand bytes the values are counted when they are built, as `scan` counts them."""
    monkeypatch.setattr("packager._archive.bounds.FREE_VALUES", 12)
    counts = {"ok": 0, "refused": 0}
    for seed in range(1000):
        rng = random.Random(seed)
        columns = [
            ["text" * rng.randrange(9) for _ in range(rng.randrange(5))] for _ in range(rng.randrange(3))
        ]
        value = {
            "columns": columns,
            "map": {f"key{n}": {} for n in range(rng.randrange(4))},
            "rest": [[], [None]],
        }
        data = pack(value)
        outcomes = []
        for at_once in (1 << 19, 0):
            monkeypatch.setattr("packager._archive.packed._AT_ONCE", at_once)
            try:
                outcomes.append(repr(unpack(data, what="x")))
            except ArchiveError as error:
                outcomes.append(f"refused: {error}")
        assert outcomes[0] == outcomes[1], value
        counts["refused" if outcomes[0].startswith("refused") else "ok"] += 1
    assert min(counts.values()) > 200


@one_test
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x91\xc7\x00\x05", "byte 1 of the msgpack data is 0xc7, which starts no value of the format"),
        (
            b"\x91\xca\x00\x00\x00\x00",
            "byte 1 of the msgpack data is 0xca, which starts no value of the format",
        ),
        (b"\x91" * 5 + b"\x01", r"lists nested 5 deep; the limit is 4"),
        (b"\x91" * 600 + b"\x01", r"lists nested 5 deep; the limit is 4"),
        (b"\x91" * 100_000 + b"\x01", r"lists nested 5 deep; the limit is 4"),
        (b"\xdd\xff\xff\xff\xff\x01", "needs more bytes than the 6 of the data"),
        (b"\x91" * 3 + b"\xdd\xff\xff\xff\xff\x01", "needs more bytes than the 9 of the data"),
        (b"\x01\x02", "ends at byte 1 of 2"),
        (b"\x92\x01\xcc\x01", "not in canonical form"),
    ],
)
def test_what_is_no_table_is_said_of_the_bytes_of_tables_too(data: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        unpack(data, what="x", max_nodes=len(data), max_depth=4)
