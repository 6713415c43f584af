"""Values of a few bytes that take long to make, or much memory: seeds, shared strings, long versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager._environment import Requirement, requirement_for, version_key
from packager._objects import ObjectBuildError, encode
from packager._objects.records import Kind as K
from tests.attacks import object_forger as forge
from tests.tables import one_test


def load(records: list[list[Any]], codec: str) -> Any:
    return forge.load(forge.archive_of(forge.table_of(records, codecs=[codec])))


# --- seeds ---


def seeds(*entropy: Any) -> list[list[Any]]:
    made: list[list[Any]] = []
    places = []
    for value in entropy:
        made += [_int(value), [K.TUPLE], [K.CODEC, 1, [4, 0], -1 - len(made), -2 - len(made)]]
        places.append(-len(made))
    return [*made, [K.LIST, *places]]


def _int(value: int) -> list[Any]:
    return [K.INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)]


def test_entropy_is_as_long_as_a_seed() -> None:
    """An int of 100 kB took five seconds, and one of a megabyte ten minutes."""
    (found,) = load(seeds((1 << 32 * 1024 - 1) - 1), "numpy.seed_sequence")
    assert found.entropy.bit_length() == 32 * 1024 - 1
    with pytest.raises(ObjectBuildError, match="expected at most 1024 words"):
        load(seeds(1 << 32 * 1024), "numpy.seed_sequence")


def test_the_words_of_all_seeds_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._codecs.numpy_values.MAX_ALL_SEED_WORDS", 30)
    # The pool has 4 words, an int of 65 bits has 3, an empty key one.
    assert len(load(seeds(*((1 << 64) + number for number in range(3))), "numpy.seed_sequence")) == 3
    with pytest.raises(ObjectBuildError, match="seeds of at most 30 words in one object"):
        load(seeds(*((1 << 64) + number for number in range(4))), "numpy.seed_sequence")


HONEST_SEEDS = [7, [1, 2, 3], np.arange(624, dtype=np.uint32), (4, 5), list(range(1023)), 1 << 128]
LONG_SEEDS = [
    1 << 40_000,
    [1] * 1025,
    np.arange(1025, dtype=np.uint32),
    ["0x" + "1" * 9000],
    [1 << 9_999] * 9,
]


@one_test
@pytest.mark.parametrize("at", range(len(HONEST_SEEDS)))
def test_seeds_of_every_form_are_stored_and_long_ones_are_not(at: int) -> None:
    seed = np.random.SeedSequence(HONEST_SEEDS[at])
    again = forge.load(forge.archive_of(forge.encoded([seed])))[0]
    assert again.generate_state(3).tolist() == seed.generate_state(3).tolist()
    if at < len(LONG_SEEDS):
        refused = encode([np.random.SeedSequence(LONG_SEEDS[at])]).refusals
        assert "its seed is too long: expected at most 1024 words, found " in str(refused[0])


# --- strings of any length ---


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no strings of any length")
def test_a_shared_string_is_not_copied_for_each_element() -> None:
    """A megabyte that 10,000 elements share took ten gigabytes."""
    text = "x" * (1 << 20)

    def table(count: int, element: Any = -1) -> list[list[Any]]:
        strings: list[Any] = [K.CODEC, 1, ["string", True, False]]
        literal = ["ndarray", "elements", count]
        return [[K.STR, text], strings, [K.CODEC, 2, literal, -2, *[element] * count]]

    def made(records: list[list[Any]]) -> Any:
        table = forge.table_of(records, codecs=["numpy.dtype", "numpy.ndarray"])
        return forge.load(forge.archive_of(table))

    assert made(table(24)).tolist() == [text] * 24  # 64 MiB, and eight times the four bytes of each character
    with pytest.raises(ObjectBuildError, match="strings of at most 100663296 bytes, once copied"):
        made(table(25))
    with pytest.raises(ObjectBuildError, match="expected strings"):
        made(table(3, 7))


# --- versions ---


@one_test
@pytest.mark.parametrize(
    "form", ["{}", "{}!1", "1.{}", "1.0.post{}", "1.0a{}", "1.0.dev{}", "1.0+{}", "1-{}"]
)
def test_versions_of_thousands_of_digits_are_none_of_pep_440(form: str) -> None:
    long = form.format("9" * 5000)
    assert version_key(long) is None
    assert requirement_for("thing", long) == Requirement("thing", (("==", long),))
    assert not Requirement.parse("thing>=1").allows(long)
    assert version_key(form.format("9" * 900)) is not None
