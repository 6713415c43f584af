"""What codecs refuse to store, each with its reason; the last value that passes; what equal values share."""

from __future__ import annotations

import array
import decimal
import enum
import fractions
import logging
import re
import sys
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest

import kellet
from kellet import nn
from packager._archive import (
    MAX_FRACTION_BYTES,
    MAX_LOGGER_NAME,
    MAX_NAME_PARTS,
    MAX_PATTERN_STEPS,
    MAX_SEED_WORDS,
)
from packager._codecs import standard_values
from packager._codecs.kellet_codec import memory_key
from packager._objects import encode
from packager._objects.records import Kind as K
from packager.testing import round_trip
from tests.tables import one_test


class Shade(enum.Enum):
    DARK = "d"


class Bits(enum.Flag):
    A = 1
    B = 2


class Odd:
    """Looks like what it likes."""


class OwnGenerator(np.random.PCG64):
    pass


def _stranger(cls: Any, name: str, value: Any) -> Any:
    """An instance of an enumeration that is none of its members."""
    made = object.__new__(cls)
    made._name_, made._value_ = name, value
    return made


def _strings(missing: Any) -> np.dtype[Any]:
    return np.dtypes.StringDType(na_object=missing)


def _gradient() -> Any:
    return kellet.ones(2, requires_grad=True) * 2


PAIR = np.dtype([("a", "<i2"), ("o", "O")])
FRACTION = f"a fraction of ints of more than {MAX_FRACTION_BYTES} bytes"
MOST = 256 ** (MAX_FRACTION_BYTES - 1) * 128

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "metadata": (
        lambda: np.dtype("<i4", metadata={"a": 1}),
        "dtype int32 has metadata, which cannot be stored",
    ),
    "a title": (
        lambda: np.dtype({"names": ["a"], "formats": ["<i4"], "titles": [3]}),
        "dtype .* has the title 3; expected a string",
    ),
    "a missing value": (
        lambda: _strings(Odd()),
        r"dtype .* has a Odd as its missing value",
    ),
    "a scalar of objects": (lambda: np.zeros(1, PAIR)[0], "a structured scalar with objects in it"),
    "an own bit generator": (lambda: OwnGenerator(1), "bit generator OwnGenerator is not part of NumPy"),
    "a seed": (
        lambda: np.random.SeedSequence(list(range(MAX_SEED_WORDS))),
        f"its seed is too long: expected at most {MAX_SEED_WORDS} words, found {MAX_SEED_WORDS + 1}",
    ),
    "a spawn key": (
        lambda: np.random.SeedSequence(1, spawn_key=tuple(range(MAX_SEED_WORDS))),
        f"its seed is too long: expected at most {MAX_SEED_WORDS} words, found {MAX_SEED_WORDS + 1}",
    ),
    "half a pair": (
        lambda: re.compile("a\udc00"),
        "a pattern with an unpaired surrogate",
    ),
    "a long pattern": (
        lambda: re.compile("a" * (MAX_PATTERN_STEPS // 16 + 1)),
        f"expected patterns that compile in at most {MAX_PATTERN_STEPS} steps, found 4194320",
    ),
    "no member": (lambda: _stranger(Shade, "DARK", "d"), "<Shade.DARK: 'd'> is not a member of Shade"),
    "no flag": (lambda: _stranger(Bits, "A", "x"), "<Bits.A: 'x'> is not a member of Bits"),
    "an unnamed member": (lambda: _stranger(Shade, None, 3), ".* is not a member of Shade"),
    "a numerator": (lambda: fractions.Fraction(MOST, 3), FRACTION),
    "a negative one": (lambda: fractions.Fraction(-MOST, 3), FRACTION),
    "a denominator": (lambda: fractions.Fraction(1, MOST), FRACTION),
    "a logger by hand": (
        lambda: logging.Logger("by.hand"),
        "logger 'by.hand' was not made by logging.getLogger",
    ),
    "a logger called root": (
        lambda: logging.Logger("root"),
        "logger 'root' was not made by logging.getLogger",
    ),
    "a long name": (
        lambda: logging.Logger("a" * (MAX_LOGGER_NAME + 1)),
        f"a logger whose name has {MAX_LOGGER_NAME + 1} characters",
    ),
    "a deep name": (
        lambda: logging.Logger("." * MAX_NAME_PARTS),
        f"a logger whose name has {MAX_NAME_PARTS} characters",
    ),
    "a graph": (
        _gradient,
        r"a tensor with a graph of gradients \(grad_fn\), which cannot be stored",
    ),
}


if not hasattr(np.dtypes, "StringDType"):  # NumPy 1 has no strings of any length
    del REFUSED["a missing value"]


@one_test
@pytest.mark.parametrize(("make", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_stored_is_told(make: Callable[[], Any], reason: str) -> None:
    (refusal,) = encode([make()]).refusals
    assert refusal.path == "obj[0]"
    assert re.fullmatch(reason, refusal.reason)


TEXTS = "w" if sys.version_info >= (3, 13) else "u"  # the older one goes with Python 3.16
KEPT: dict[str, Callable[[], Any]] = {
    "a title": lambda: np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "titles": ["T", None]}),
    "no title": lambda: np.dtype({"names": ["a"], "formats": ["<i4"], "offsets": [4], "itemsize": 12}),
    "an aligned one": lambda: np.dtype([("a", "i1"), ("b", "<i4")], align=True),
    "a fraction": lambda: fractions.Fraction(MOST - 1, 2 - MOST),
    "flags": lambda: Bits.A | Bits.B,
    "a member": lambda: Shade.DARK,
    "an array": lambda: array.array("h", [1, -2]),
    "texts": lambda: array.array(TEXTS, "aé"),
    "no text": lambda: array.array(TEXTS),
    "a slice": lambda: slice(1, None, "a"),
    "a range": lambda: range(3, 9, 2),
}


@one_test
@pytest.mark.parametrize("make", KEPT.values(), ids=KEPT.keys())
def test_what_can_be_stored_comes_back(make: Callable[[], Any]) -> None:
    value = make()
    trip = round_trip([value], interned=[__name__])
    assert trip.is_stable
    (again,) = trip.object
    assert (type(again), again, repr(again)) == (type(value), value, repr(value))


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no strings of any length")
@one_test
@pytest.mark.parametrize("missing", [None, False, 1, 0.5, "a", b"a"])
def test_strings_have_a_scalar_for_what_is_missing(missing: Any) -> None:
    (again,) = round_trip([_strings(missing)]).object
    assert (type(again.na_object), again.na_object) == (type(missing), missing)
    (plain,) = round_trip([np.dtypes.StringDType(coerce=False)]).object
    assert (hasattr(plain, "na_object"), plain.coerce) == (False, False)


def test_the_loggers_of_a_process_are_stored() -> None:
    root, named = logging.getLogger(), logging.getLogger("kellet.test.encoded")
    assert round_trip([root, named]).object == [root, named]
    records = msgpack.unpackb(encode([root, named]).records)[1]
    assert [record[2] for record in records if record[0] == K.CODEC] == ["", "kellet.test.encoded"]


@one_test
@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (lambda: slice(1, 2), lambda: slice(1, 2), True),
        (lambda: slice(1, 2), lambda: slice(1, 3), False),
        (lambda: slice(0, 3), lambda: range(3), False),
        (lambda: slice(1, 2.0), lambda: slice(1, 2.0), False),
        (lambda: np.dtype("<f4"), lambda: np.dtype("<f8"), False),
        (lambda: np.dtype([("a", "<i4")]), lambda: np.dtype([("a", "<i4")]), True),
        (lambda: np.dtype([("a", "<i4")]), lambda: np.dtype([("a", "<i4")], align=True), False),
        (lambda: np.dtype(("<i4", 2)), lambda: np.dtype(("<i4", 2)), True),
        (lambda: np.dtype("O"), lambda: np.dtype("O"), True),
        (lambda: re.compile("a"), lambda: re.compile("a", re.IGNORECASE), False),
        (lambda: re.compile("a"), lambda: re.compile(b"a"), False),
        (lambda: bytearray(b"a"), lambda: bytearray(b"a"), False),
    ],
)
def test_equal_values_share_a_record_where_nobody_can_tell(
    one: Callable[[], Any], other: Callable[[], Any], shared: bool
) -> None:
    first, second = round_trip([one(), other()]).object
    assert (type(first), type(second)) == (type(one()), type(other()))
    records = msgpack.unpackb(encode([one(), other()]).records)[1]
    (items,) = [record[1:] for record in records if record[0] == K.LIST]
    assert (items[0] == items[1]) is shared


# --- patterns ---

RANGE = 256

STEPS: dict[str, int] = {
    "abc": 0,
    "-": 0,
    "a-": 0,
    "-a": 0,
    "a-b": RANGE + 1,
    "b-a": RANGE,
    "a-a": RANGE,
    "x[a-z]": RANGE + 25,
    "[a-z0-9]": 2 * RANGE + 25 + 9,
    "--a": RANGE + ord("a") - ord("-"),
    "a--": RANGE,
    r"\x41-\x5a": RANGE + 25,
    r"\u0041-\u005A": RANGE + 25,
    r"\U00000041-\U0010ffff": RANGE + 0xFFFF - 0x41,
    "\U00010000-\U0010ffff": RANGE,
    r"\101-\132": RANGE + 25,
    r"\0-\7": RANGE + 7,
    r"\a-\d": RANGE + 3,
    r"\x-\y": RANGE + 1,
    r"\N{DIGIT ONE}-\N{DIGIT TWO}": RANGE + 0xFFFF,
    r"a-\N{DIGIT TWO}": RANGE + 0xFFFF - ord("a"),
    r"\N{DIGIT ONE}-a": RANGE + ord("a"),
    "\n-\r": RANGE + 3,
    r"\--\.": RANGE + 1,
}


@one_test
@pytest.mark.parametrize(("pattern", "steps"), STEPS.items())
def test_ranges_cost_the_characters_between_their_ends(pattern: str, steps: int) -> None:
    assert standard_values._steps_of_ranges(pattern) == steps


def test_steps_of_all_patterns_of_an_object_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = 2 * (16 * 3 + RANGE + 1)
    monkeypatch.setattr(standard_values, "MAX_PATTERN_STEPS", cost)
    values = [re.compile("a-b"), re.compile(b"c-d")]
    encoded = encode(values)
    assert encoded.refusals == ()
    assert round_trip(values).object == values
    monkeypatch.setattr(standard_values, "MAX_PATTERN_STEPS", cost - 1)
    (refusal,) = encode(values).refusals
    assert (refusal.path, refusal.reason) == (
        "obj[1]",
        f"expected patterns that compile in at most {cost - 1} steps, found {cost}",
    )
    steps = standard_values._Steps()
    monkeypatch.setattr(standard_values, "_steps_of_ranges", lambda pattern: pytest.fail("it was read"))
    with pytest.raises(ValueError, match="patterns that compile"):
        steps.add("a" * cost)  # its length alone is too much
    assert steps.count == 16 * cost


def test_a_pattern_is_compiled_without_printing(capsys: pytest.CaptureFixture[str]) -> None:
    pattern = re.compile("a", re.DEBUG | re.IGNORECASE)
    capsys.readouterr()
    (again,) = round_trip([pattern]).object
    assert capsys.readouterr().out == ""
    assert again.flags == re.IGNORECASE | re.UNICODE


# --- tensors ---


def test_tensors_of_one_memory_have_one_key() -> None:
    tensor = kellet.arange(6, dtype=kellet.float32)
    assert memory_key(tensor) == memory_key(tensor.detach()) == memory_key(tensor[:])
    others = [
        tensor[1:],
        tensor[:3],
        tensor[::2],
        tensor.reshape(2, 3),
        kellet.arange(6, dtype=kellet.float32),
    ]
    assert len({memory_key(one) for one in [tensor, *others]}) == 6
    assert memory_key(kellet.zeros(2, dtype=kellet.int32)) != memory_key(kellet.zeros(2))


def test_gradients_are_warned_of_once_and_hooks_each_time() -> None:
    with_gradient = [nn.Parameter(kellet.ones(2)) for _ in range(2)]
    for one in with_gradient:
        one.grad = kellet.ones(2)
    hooked = [kellet.ones(2, requires_grad=True) for _ in range(2)]
    for one in hooked:
        one.register_hook(lambda grad: grad)
    encoded = encode([kellet.ones(2), *with_gradient, *hooked])
    assert encoded.refusals == ()
    assert [(found.path, found.reason) for found in encoded.warnings] == [
        ("obj[1]", "gradients (.grad) are not stored, here and elsewhere"),
        ("obj[3]", "hooks on a tensor are left out; register them after loading"),
        ("obj[4]", "hooks on a tensor are left out; register them after loading"),
    ]


def test_decimals_and_tensors_of_every_kind_keep_whether_they_want_a_gradient() -> None:
    values = [
        kellet.ones(2),
        kellet.ones(2, requires_grad=True),
        nn.Parameter(kellet.ones(2), requires_grad=False),
        nn.Parameter(kellet.ones(2)),
        nn.Buffer(kellet.ones(2)),
        decimal.Decimal("1.50"),
    ]
    *tensors, number = round_trip(values).object
    assert str(number) == "1.50"
    assert [(type(one), one.requires_grad) for one in tensors] == [
        (kellet.Tensor, False),
        (kellet.Tensor, True),
        (nn.Parameter, False),
        (nn.Parameter, True),
        (nn.Buffer, False),
    ]
