"""Every bound on an archive stands in one table, and the format's own page says the same numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from packager._archive import bounds
from tests.tables import one_test

SPEC = Path(__file__).resolve().parents[2] / "docs" / "spec"
ROW = re.compile(r"(?m)^([A-Z_]+) ([0-9,]+): .+ \(((?:Objects|Migrations):)?([0-9.]+)\)$")
PAGES = {"": "archive-format.md", "Objects:": "stored-objects.md", "Migrations:": "migrations.md"}
ROWS = ROW.findall((SPEC / "archive-format.md").read_text(encoding="utf-8"))


def test_the_format_and_the_code_say_the_same_bounds() -> None:
    in_code = [
        (name, value) for name, value in vars(bounds).items() if name.isupper() and name != "TYPE_CHECKING"
    ]
    assert [(name, int(value.replace(",", ""))) for name, value, _, _ in ROWS] == in_code


@one_test
@pytest.mark.parametrize(("name", "objects", "section"), [(row[0], row[2], row[3]) for row in ROWS])
def test_the_section_of_a_bound_is_there(name: str, objects: str, section: str) -> None:
    page = SPEC / PAGES[objects]
    assert re.search(rf"^##+ {re.escape(section)}[. ]", page.read_text(encoding="utf-8"), re.MULTILINE), name


@pytest.mark.parametrize(
    ("bound", "free", "at_a_mebibyte"),
    [
        (bounds.most_values, 262_144, 327_680),
        (bounds.most_records, 524_288, 655_360),
        (bounds.largest_view, 67_108_864, 75_497_472),
        (bounds.most_key_text, 16_777_216, 20_971_520),
        (bounds.most_made, 268_435_456, 285_212_672),
    ],
)
def test_what_grows_with_the_file_starts_at_what_is_free(
    bound: Callable[[int], int], free: int, at_a_mebibyte: int
) -> None:
    assert (bound(0), bound(1 << 20)) == (free, at_a_mebibyte)
