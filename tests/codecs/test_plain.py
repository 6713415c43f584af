"""Values of Python at the bounds of their codecs: arrays, fractions, slices and loggers, one by one."""

from __future__ import annotations

import array
import logging
import sys
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from fractions import Fraction
from typing import Any, NamedTuple, cast

import pytest

from packager._archive import MAX_FRACTION_BYTES
from packager._codecs import CannotStore, Child, Decoding, Encoding
from packager._codecs.registry import default_registry
from tests.tables import one_test

NO_ENCODING, NO_DECODING = cast(Encoding, None), cast(Decoding, None)
TEXTS = "w" if sys.version_info >= (3, 13) else "u"  # the older one goes with Python 3.16


def codec_of(name: str) -> Any:
    return default_registry().find(name)


@pytest.mark.parametrize("text", ["", "a\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_an_array_of_characters_is_its_text(text: str) -> None:
    codec, live = codec_of("array.array"), array.array(TEXTS, text)
    node = codec.encode(live, NO_ENCODING)
    assert (node.literal, node.children) == ([TEXTS, 0, b""], (text,))
    again = codec.decode(node.literal, node.children, 1, NO_DECODING)
    assert (again.typecode, again.tounicode()) == (TEXTS, text)


@one_test
@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_an_array_of_numbers_is_its_bytes(code: str) -> None:
    codec, live = codec_of("array.array"), array.array(code, [1, 2])
    node = codec.encode(live, NO_ENCODING)
    assert (node.literal, node.children) == ([code, live.itemsize, live.tobytes()], ())
    codec.check(node.literal, (), 1)
    assert codec.decode(node.literal, (), 1, NO_DECODING) == live
    other = 4 if live.itemsize == 8 else 8
    with pytest.raises(ValueError, match=f"have {live.itemsize} bytes here, {other} in the archive"):
        codec.decode([code, other, bytes(8)], (), 1, NO_DECODING)


@pytest.mark.parametrize("size", [0, 3, 5, 16])
def test_items_of_an_array_have_a_size_that_there_is(size: int) -> None:
    with pytest.raises(ValueError, match="whole items"):
        codec_of("array.array").check(["h", size, b""], (), 1)


FULL = (1 << (8 * MAX_FRACTION_BYTES - 1)) - 1


def test_a_fraction_is_of_numbers_that_a_reader_takes() -> None:
    codec = codec_of("fraction")
    for live in (Fraction(FULL, 2), Fraction(-FULL, 2), Fraction(1, FULL)):
        node = codec.encode(live, NO_ENCODING)
        assert node.children == (live.numerator, live.denominator)
        assert codec.decode(None, node.children, 1, NO_DECODING) == live
    for live in (Fraction(FULL + 1, 3), Fraction(-FULL - 1, 3), Fraction(1, FULL + 1)):
        with pytest.raises(CannotStore, match=f"a fraction of ints of more than {MAX_FRACTION_BYTES} bytes"):
            codec.encode(live, NO_ENCODING)
    one = Child("scalar", None, 1)
    codec.check(None, [one, Child("scalar", None, bytes(MAX_FRACTION_BYTES))], 1)
    for parts in ([one, bytes(MAX_FRACTION_BYTES + 1)], [bytes(MAX_FRACTION_BYTES + 1), one]):
        children = [part if isinstance(part, Child) else Child("scalar", None, part) for part in parts]
        with pytest.raises(ValueError, match=f"ints of at most {MAX_FRACTION_BYTES} bytes"):
            codec.check(None, children, 1)


def test_slices_and_ranges_of_ints_are_shared() -> None:
    codec = codec_of("slice")
    for live, key in (
        (slice(1, None), ("slice", (1, None, None))),
        (range(3), ("range", (0, 3, 1))),
        (slice(1, True), None),
        (slice(1.0, 2), None),
    ):
        assert codec.encode(live, NO_ENCODING).key == key


def test_the_root_of_loggers_has_no_name() -> None:
    codec = codec_of("logging.logger")
    assert codec.encode(logging.getLogger(), NO_ENCODING).literal == ""
    assert codec.encode(logging.getLogger("kellet.test.plain"), NO_ENCODING).literal == "kellet.test.plain"


# --- collections, and classes that are made as their base is ---


class Ordered(OrderedDict[str, int]):
    pass


class Queue(deque[int]):
    pass


class Chain(ChainMap[str, int]):
    pass


@pytest.mark.parametrize(
    ("name", "claimed", "left"),
    [
        ("collections.mapping", [OrderedDict, Counter, defaultdict], [dict, Ordered]),
        ("collections.deque", [deque], [Queue, list]),
        ("collections.chainmap", [ChainMap], [Chain, dict]),
    ],
)
def test_collections_of_python_are_claimed_and_not_what_inherits(
    name: str, claimed: list[type], left: list[type]
) -> None:
    codec = codec_of(name)
    assert [codec.claims(cls) for cls in claimed] == [True] * len(claimed)
    assert [codec.claims(cls) for cls in left] == [False] * len(left)


def test_a_collection_is_its_kind_and_what_it_holds() -> None:
    mapping = codec_of("collections.mapping")
    for live, children in ((OrderedDict(a=1), ()), (Counter("a"), ()), (defaultdict(list, a=1), (list,))):
        node = mapping.encode(live, NO_ENCODING)
        assert (node.literal, node.children, node.pairs) == (type(live).__name__, children, live)
        assert type(mapping.decode(node.literal, node.children, 1, NO_DECODING)) is type(live)
    noted = OrderedDict(a=1)
    noted.note = "kept"  # type: ignore[attr-defined]  # it has a __dict__
    assert mapping.encode(noted, NO_ENCODING).attributes == {"note": "kept"}
    queue = codec_of("collections.deque")
    for live_queue in (deque([1, 2], 5), deque([1])):
        node = queue.encode(live_queue, NO_ENCODING)
        assert (node.literal, node.items) == (live_queue.maxlen, tuple(live_queue))
        assert queue.decode(node.literal, (), 1, NO_DECODING).maxlen == live_queue.maxlen
    chain = codec_of("collections.chainmap")
    node = chain.encode(ChainMap({"a": 1}, {}), NO_ENCODING)
    assert (node.literal, node.children) == (None, ({"a": 1}, {}))
    assert chain.decode(None, node.children, 1, NO_DECODING).maps == [{"a": 1}, {}]


class Width(int):
    pass


class Named(str):
    __slots__ = ("held", "left")

    def __str__(self) -> str:
        return "another text"


class Both(Named):
    pass


class Own(float):
    def __reduce__(self) -> Any:
        return float, (1.0,)


def test_a_scalar_of_a_class_is_its_value_and_its_attributes() -> None:
    codec = codec_of("scalar subclass")
    width, named, both = Width(3), Named("a"), Both("a")
    width.note = "kept"  # type: ignore[attr-defined]  # it has a __dict__
    named.held = both.held = 1  # type: ignore[attr-defined]  # a slot
    both.note = 2  # type: ignore[attr-defined]  # it has a __dict__
    for live, value, attributes in (
        (width, 3, {"note": "kept"}),
        (Width(4), 4, {}),
        (named, "a", {"held": 1}),
        (both, "a", {"held": 1, "note": 2}),
    ):
        node = codec.encode(live, NO_ENCODING)
        assert (node.children, type(node.children[1]), node.attributes) == (
            (type(live), value),
            type(value),
            attributes,
        )
    assert [codec.claims(cls) for cls in (Width, Named, Own, int, str, dict)] == [True, True, *[False] * 4]


class Pair(NamedTuple):
    left: int
    right: int


class Noted(Pair):
    pass


class Reduced(tuple[int, ...]):
    __slots__ = ()
    _fields = ("left",)

    def __reduce__(self) -> Any:
        return tuple, ((),)


def test_named_tuples_are_those_that_hold_nothing_else() -> None:
    codec = codec_of("namedtuple")
    assert [codec.claims(cls) for cls in (Pair, Noted, Reduced, tuple)] == [True, False, False, False]
    node = codec.encode(Pair(1, 2), NO_ENCODING)
    assert node.children == (Pair, 1, 2)
    assert codec.decode(None, node.children, 1, NO_DECODING) == Pair(1, 2)


def test_singletons_are_stored_by_their_names() -> None:
    codec = codec_of("singleton")
    for live, name in ((Ellipsis, "Ellipsis"), (NotImplemented, "NotImplemented")):
        assert codec.encode(live, NO_ENCODING).literal == name
        assert codec.decode(name, (), 1, NO_DECODING) is live


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_range_is_of_ints(at: int) -> None:
    one, codec = Child("scalar", None, 1), codec_of("slice")
    for odd in (Child("scalar", None, "a"), Child("scalar", None, None), Child("list")):
        parts = [one, one, one]
        parts[at] = odd
        codec.check("slice", parts, 1)
        with pytest.raises(ValueError, match="expected ints"):
            codec.check("range", parts, 1)
    codec.check("range", [one, one, Child("scalar", None, b"\1" * 9)], 1)
