"""Section 5.7 of the format: what a trace keeps of a value, and that nothing else is read."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from packager._archive import MAX_TRACE, MAX_TRACED_CALLS, MAX_TRACED_VALUES, pack, unpack
from packager._calls import Trace, pack_trace, unpack_trace
from packager._calls.drifts import distance
from packager._calls.traced_values import TracedValues, digest_of, positions, summary_of
from packager._calls.traces import NoSummary, Summary, TracedCall, TracedModule
from packager.errors import ArchiveError
from tests.tables import one_test


def test_the_numbers_are_those_that_the_format_says() -> None:
    array = np.random.default_rng(0).normal(size=(30, 41)).astype("float32")
    found = summary_of(array)
    flat = array.ravel()
    places = [(number * 2654435769 % 2**32) * flat.size // 2**32 for number in range(32)]
    assert found.numbers == (flat.min(), flat.max(), *flat[places])
    assert found.means == pytest.approx(
        [flat.mean(), *(flat[number::16].mean() for number in range(16))], abs=1e-6
    )
    assert (found.dtype, found.shape, found.finite) == ("float32", (30, 41), 1230)
    assert found.digest == hashlib.sha256(array.tobytes()).digest()


def test_the_digest_of_a_long_array_is_that_of_sums_of_its_words() -> None:
    array = np.random.default_rng(0).integers(0, 256, 100_003, "uint8")
    words = np.frombuffer(array[:100_000].tobytes(), "<u8")
    expected = array[100_000:].tobytes()
    for lanes in (256, 251):
        sums = [sum(map(int, words[lane::lanes])) % 2**64 for lane in range(lanes)]
        expected += struct.pack(f"<{lanes}Q", *sums)
    assert digest_of(array) == hashlib.sha256(expected).digest()


@pytest.mark.parametrize("place", [0, 17, 50_000, 99_999])
def test_any_changed_element_changes_the_digest_of_a_long_array(place: int) -> None:
    array = np.zeros(100_000, "float32")
    before = digest_of(array)
    array[place] = 1e-30
    assert digest_of(array) != before


def test_samples_lie_all_over_an_array_and_are_all_of_a_short_one() -> None:
    assert positions(32) == list(range(32))
    many = positions(10**6)
    assert len(set(many)) == 32
    assert np.diff([0, *sorted(many), 10**6]).max() < 10**6 / 16


def test_endless_numbers_are_counted_and_left_out_of_ends_and_means() -> None:
    found = summary_of(np.array([1.0, np.inf, np.nan, -3.0]))
    assert (found.finite, found.numbers[:2], found.means) == (2, (-3.0, 1.0), (-0.5,))
    nothing = summary_of(np.array([np.nan]))
    assert (nothing.finite, *map(math.isnan, nothing.numbers)) == (0, True, True, True)


def test_sums_that_leave_single_precision_are_taken_in_double() -> None:
    found = summary_of(np.full(1000, 3e38, "float32"))
    assert found.finite == 1000
    assert found.means[0] == pytest.approx(3e38, rel=1e-6)


def summaries_of(arrays: list[Any]) -> tuple[Summary, ...]:
    values = TracedValues()
    for array in arrays:
        values.number_of(array)
    return tuple(values.summaries)


def test_endless_numbers_stay_in_the_value_that_has_them() -> None:
    arrays = [np.ones(40), np.array([1.0, np.inf, np.nan]), np.full(40, 1e308), np.arange(3.0)]
    together = summaries_of(arrays)
    assert [found.finite for found in together] == [40, 1, 40, 3]
    assert [found.numbers[:2] for found in together] == [(1.0, 1.0), (1.0, 1.0), (1e308, 1e308), (0.0, 2.0)]
    assert together[3].means == (1.0,)


def test_equal_values_share_their_number() -> None:
    values = TracedValues()
    arrays = [np.full(2000, number, "float64") for number in range(300)]  # 4.8 MB
    assert [values.number_of(array) for array in (*arrays, *arrays)] == [*range(300), *range(300)]
    assert [found.numbers[0] for found in values.summaries] == list(range(300))


def test_a_value_is_kept_as_it_was_when_it_was_met() -> None:
    values = TracedValues()
    numbers = []
    for size in (4, 100_000):
        array = np.zeros(size)
        numbers.append(values.number_of(array))
        array += 1
        numbers.append(values.number_of(array))
    assert numbers == [0, 1, 2, 3]
    assert [found.numbers[1] for found in values.summaries] == [0.0, 1.0, 0.0, 1.0]


@one_test
@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (None, "NoneType"),
        ("text", "str"),
        (b"bytes", "bytes"),
        (2**80, "object"),
        (["a", None], "object"),
        (True, "bool"),
        (np.array(["a"]), "<U1"),
    ],
)
def test_what_is_no_number_has_a_digest_alone(value: Any, dtype: str) -> None:
    found = summary_of(value)
    assert found.dtype == dtype
    assert found.means == (() if dtype != "bool" else (1.0,))


def test_nothing_is_kept_of_other_objects() -> None:
    with pytest.raises(NoSummary, match="object"):
        summary_of(object())


# --- reading ---


def trace() -> Trace:
    values = tuple(map(summary_of, (np.arange(40.0), "text", np.arange(3), np.empty((0, 2)))))
    calls = (
        TracedCall(0, "", None, 1, (("arg0", 0),), (("output", 1),)),
        TracedCall(1, "predict", 0, 7, (("x", 2),), (("output.0", 3),)),
    )
    modules = (TracedModule("", "net:Net"), TracedModule("a.b", "net:Part"))
    return Trace(modules, values, calls, (0, 1, 1, 0), False)


def test_a_trace_comes_back() -> None:
    assert unpack_trace(pack_trace(trace()), what="trace") == trace()
    assert pack_trace(unpack_trace(pack_trace(trace()), what="trace")) == pack_trace(trace())


@pytest.mark.parametrize("fill", [b"\x80", b"\x90"])
def test_a_trace_of_more_values_than_the_longest_has_is_refused_before_they_are_built(fill: bytes) -> None:
    data = b"\x81\xa5calls\xdd" + (2_000_000).to_bytes(4, "big") + fill * 2_000_000
    with pytest.raises(ArchiveError, match=r"trace: .*values; the limit for a file of this size is 1310720"):
        unpack_trace(data, what="trace")


def changed(change: Callable[[Any], object]) -> bytes:
    top = unpack(pack_trace(trace()), what="trace")
    change(top)
    return pack(top)


def setting(*path: Any) -> Callable[[Any], None]:
    """Return what sets the item at a path to the last of it."""

    def change(top: Any) -> None:
        for part in path[:-2]:
            top = top[part]
        top[path[-2]] = path[-1]

    return change


BAD: dict[str, tuple[Callable[[Any], object], str]] = {
    "no such key": (setting("more", 1), "found no map, or other keys; expected calls, cut, modules"),
    "a key less": (lambda top: top.pop("cut"), "found no map, or other keys"),
    "no list": (setting("calls", {}), "found something else than a list"),
    "cut is no flag": (setting("cut", 0), "cut: found something else than true or false"),
    "a module with one field": (
        setting("modules", 0, [""]),
        "module 0: found something else than its fields",
    ),
    "a path that is no text": (setting("modules", 0, 0, 1), "module 0: found no path and class"),
    "a long path": (setting("modules", 0, 0, "a" * 10_001), "module 0: found no path and class"),
    "a digest too short": (setting("values", 0, 2, b"abc"), "value 0: found no sha256"),
    "a negative size": (setting("values", 0, 1, [-1]), "value 0: found no shape"),
    "another shape": (setting("values", 0, 1, [3]), "value 0: found other numbers than it has"),
    "numbers of a text": (setting("values", 1, 4, bytes(8)), "value 1: found other numbers than it has"),
    "fewer means": (setting("values", 0, 5, bytes(8)), "value 0: found other numbers than it has"),
    "too many finite": (setting("values", 2, 3, 4), "value 2: found more finite numbers than numbers"),
    "a long dtype": (setting("values", 0, 0, "f" * 201), "value 0: found no name of a dtype"),
    "no such module": (setting("calls", 0, 0, 2), "call 0: found no number of a module"),
    "a parent behind": (setting("calls", 1, 2, 1), "call 1: found no call before it as parent"),
    "no such value": (setting("calls", 1, 4, [["x", 4]]), "call 1: found no part and value"),
    "many parts": (setting("calls", 1, 4, [["x", 0]] * 65), "call 1: found no list of 64 parts at most"),
    "negative terms": (setting("calls", 1, 3, -1), "call 1: found no number of terms"),
    "a call that never ends": (setting("order", [0, 1, 1]), "order: found no order"),
    "a call that began late": (setting("order", [1, 0, 0, 1]), "order: found no order"),
    "a call outside of its parent": (setting("order", [0, 0, 1, 1]), "order: found no order"),
    "a call that is not there": (setting("order", [0, 1, 1, 0, 2, 2]), "order: found no order"),
    "no number in the order": (setting("order", [0, 1, 1, "0"]), "order: found no order"),
    "many calls": (
        lambda top: top.update(calls=[0] * 16_385),
        "calls: found 16,385, and at most 16,384 are read",
    ),
}


@one_test
@pytest.mark.parametrize("case", BAD)
def test_nothing_else_is_read(case: str) -> None:
    change, message = BAD[case]
    with pytest.raises(ArchiveError, match=re.escape(message)):
        unpack_trace(changed(change), what="trace")


def test_numbers_that_its_dtype_does_not_hold_are_told_as_other_values() -> None:
    found = summary_of(np.ones(40, "float32"))
    lying = replace(found, digest=bytes(32), numbers=(1e300,) * 34)
    told = distance(lying, found, tolerance=1e-5, terms=1, carried=0.0)
    assert (told.largest, told.is_exact) == (1e300, False)
    moved = replace(found, digest=bytes(32), means=(2.0,) * 17)
    assert str(distance(moved, found, tolerance=1e-5, terms=1, carried=0.0)) == (
        "off by 1, 8,388,608 ulps at least"
    )


def test_a_trace_has_so_many_bytes_calls_and_values() -> None:
    for size, message in (
        (MAX_TRACE + 1, "trace: 16,777,217 bytes; at most 16,777,216 are read"),
        (MAX_TRACE, ""),
    ):
        with pytest.raises(ArchiveError) as raised:  # as many zeros are no trace, but they are looked at
            unpack_trace(bytes(size), what="trace")
        assert ("at most" in str(raised.value)) is bool(message)
        assert message in str(raised.value)
    (value,) = map(summary_of, ("text",))
    call = TracedCall(0, "", None, 1, (), ())
    for field, most in (("calls", MAX_TRACED_CALLS), ("values", MAX_TRACED_VALUES)):
        for count in (most, most + 1):
            order = tuple(n for n in range(count) for _ in "be") if field == "calls" else ()
            many = Trace(
                (TracedModule("", "net:Net"),),
                (value,) * count if field == "values" else (),
                (call,) * count if field == "calls" else (),
                order,
                False,
            )
            if count == most:
                assert len(getattr(unpack_trace(pack_trace(many), what="trace"), field)) == most
                continue
            with pytest.raises(
                ArchiveError, match=f"{field}: found {count:,}, and at most {most:,} are read"
            ):
                unpack_trace(pack_trace(many), what="trace")


@pytest.mark.parametrize("elements", [[3, -1, 2], [2**62, 2**62, -(2**62)], [7]])
def test_few_integers_have_the_numbers_that_they_have_among_others(elements: list[int]) -> None:
    array = np.array(elements)
    assert summary_of(array) == summaries_of([np.arange(100), array])[1]
