"""The second reader, written from the specification alone, stands before what attacks packager's reader.

Each test of these files is gone through again: `accepts` asks the second reader, and `problems_of` demands
that both agree. So a new attack on the form of archives is one on the second reader, too. What it leaves out
stands in `LEFT_OUT`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.second_reader import Archive, Refused
from tests.archive import test_shared_storages
from tests.attacks import (
    test_bits,
    test_bounds,
    test_manifest,
    test_msgpack,
    test_names_that_look_alike,
    test_safetensors,
    test_zip,
)

Accepts = Callable[[bytes], bool]
Table = list[Any]

LEFT_OUT = {
    "test_every_changed_byte_of_an_unpacked_archive_is_detected": "it reads no folders (section 9)",
    # It asks for a fixture of the session; `test_no_byte_of_a_resealed_...` below does the same without.
    "test_any_byte_of_a_resealed_manifest_may_change_without_a_stray_error": "asks hypothesis",
}

globals().update(
    {
        name: test
        for module in (test_bits, test_manifest, test_msgpack, test_safetensors, test_zip)
        for name, test in vars(module).items()
        if name.startswith("test_") and callable(test) and name not in LEFT_OUT
    }
)


@pytest.fixture
def accepts() -> Accepts:
    """Whether the second reader takes an archive whole. Any exception but `Refused` is a finding."""

    def taken(data: bytes) -> bool:
        try:
            archive = Archive(data)
            archive.verify(all_named=False)
            for name, (kind, _) in archive.entries.items():
                if kind == "tensors":
                    archive.tensors(name)
        except Refused:
            return False
        return True

    return taken


@pytest.fixture
def problems_of(problems_of: Callable[[bytes], str], accepts: Accepts) -> Callable[[bytes], str]:
    def told(data: bytes) -> str:
        problems = problems_of(data)
        assert accepts(data) == (not problems), problems
        return problems

    return told


def table_of(test: Callable[..., None]) -> Table:
    """The cases of a parametrized test."""
    test = getattr(test, "__wrapped__", test)
    (mark,) = (one for one in test.pytestmark if one.name == "parametrize")  # type: ignore[attr-defined]  # pytest puts it there
    cases: Table = list(mark.args[1])
    return cases


def test_every_bit_of_a_small_archive_counts(honest: bytes, accepts: Accepts) -> None:
    data = bytearray(honest)
    assert accepts(bytes(data))
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        assert not accepts(bytes(data)), bit
        data[bit // 8] ^= 1 << bit % 8


def test_no_byte_of_a_resealed_manifest_leads_to_another_error(forger: Any, accepts: Accepts) -> None:
    honest = forger().honest_manifest()
    for place in range(len(honest)):
        for byte in (0, 0x80, 0xC1, 0xDD, 0xFF, honest[place] ^ 4):
            accepts(forger(manifest=honest[:place] + bytes([byte]) + honest[place + 1 :]).build())


def test_names_that_look_alike_or_hide_something_are_refused(forger: Any, accepts: Accepts) -> None:
    pairs = table_of(test_names_that_look_alike.test_two_entries_that_are_normalised_alike_are_refused)
    hidden = [(f"net/x{one}.py",) for one in test_names_that_look_alike.HIDDEN_ONES]
    assert len(pairs) > 4
    for names in [*pairs, *hidden]:
        assert not accepts(forger(entries=[(name, "resource", 1, b"") for name in sorted(names)]).build())


def test_storages_elsewhere_that_are_none_are_refused(accepts: Accepts) -> None:
    shared = test_shared_storages
    forms = [rows for rows, _ in table_of(shared.test_places_that_cannot_be_are_refused)]
    nowhere = [
        [["q", bytes(16)]],
        *table_of(shared.test_a_verifier_refuses_what_is_no_storage_of_a_member_before),
    ]

    def honest(place: Any) -> Table:
        return [["z", shared.places(place.start, place.stop)]]

    assert accepts(shared.forged_bytes(honest))
    for rows in [*forms, *nowhere, [["q", bytes(16)]]]:
        assert not accepts(shared.forged_bytes(rows)), rows
    for storage in (2, 1 << 31):
        assert not accepts(shared.forged_bytes(honest, storage=storage))


@pytest.mark.long
@pytest.mark.parametrize("case", test_bounds.CASES.values(), ids=test_bounds.CASES)
def test_what_promises_more_than_it_has_is_judged_alike(
    forger: Any, problems_of: Callable[[bytes], str], case: Callable[[Any], bytes]
) -> None:
    problems_of(case(forger))


def test_an_endless_signature_is_refused(forger: Any, accepts: Accepts) -> None:
    assert accepts(forger(after=[(".data/signatures/me", bytes(1 << 20))]).build())
    assert not accepts(forger(after=[(".data/signatures/me", bytes((1 << 20) + 1))]).build())


def with_crc_alone(top: dict[str, Any], facts: dict[str, Any]) -> None:
    top["digests"] = "crc"


def with_a_version_twice(top: dict[str, Any], facts: dict[str, Any]) -> None:
    facts["state_dicts"] = [["n"], ["w"], ["w"], [None], [[["", 1], ["", 2]]], [[]]]


def with_a_type_twice(top: dict[str, Any], facts: dict[str, Any]) -> None:
    facts["objects"] = [["n"], ["o"], ["o"], [None], [None], [[["a:b", "call"]] * 2], [[]]]


def with_a_schema_of_nothing(top: dict[str, Any], facts: dict[str, Any]) -> None:
    facts["schemas"] = [["nothing"], [[]], [[]], [False], ["calls"]]


SPELLINGS = [with_crc_alone, with_a_version_twice, with_a_type_twice, with_a_schema_of_nothing]


@pytest.mark.parametrize("change", SPELLINGS)
def test_second_spellings_and_records_of_nothing_are_refused_by_both(
    forger: Any, problems_of: Callable[[bytes], str], change: Callable[[Any, Any], object]
) -> None:
    assert problems_of(test_manifest.changed(forger, change))


@pytest.mark.parametrize(("stride", "is_one"), [((1 << 62) - 1, True), (1 << 62, False), (-(1 << 62), False)])
def test_a_stride_that_leads_nowhere_is_bounded_by_both(
    forger: Any, problems_of: Callable[[bytes], str], stride: int, is_one: bool
) -> None:
    """That of a dimension of size 1, in a view that is not in C order."""
    header = {"w#storage": test_safetensors.tensor("U8", (8,))}
    columns = test_safetensors.index(
        dtypes=b"\x04",
        ranks=b"\x02",
        dims=(2).to_bytes(8, "little") + (1).to_bytes(8, "little"),
        views=[[0, 0, [2, stride]]],
    )
    data = test_safetensors.archive(forger, test_safetensors.member(header), columns)
    assert bool(problems_of(data)) is not is_one
