"""A real package, exported and loaded in a process that cannot find it otherwise, gives the same output."""

from __future__ import annotations

import pytest

from fixtures.real_packages.proof_cases import CASES, Case
from fixtures.real_packages.walk_proof import prove

pytestmark = pytest.mark.processes(share=3)

# Four fresh processes each, two of which import the package as a user does.
PROVED = [case for case in CASES if case.name in ("autograd", "einops", "networkx")]


@pytest.mark.parametrize("case", PROVED, ids=lambda case: case.name)
def test_an_archive_alone_gives_the_same_output(case: Case) -> None:
    proof = prove(case)
    assert proof.trouble == ""
    assert proof.missing == []
    assert len(proof.used) > 1
    assert proof.ratio <= case.limit


def test_a_program_that_gives_something_else_from_the_archive_is_told() -> None:
    case = Case(
        "changed", "einops", ("einops",), "import sys\noutput = [type(m).__name__ for m in sys.meta_path]"
    )
    assert "_ArchiveFinder" in prove(case).trouble


def test_a_package_that_fails_from_the_archive_is_told_with_its_last_words() -> None:
    case = Case(
        "refused",
        "einops",
        ("einops",),
        "import einops, inspect\noutput = 1 / (\n    'kellet-proof' not in einops.__file__)",
    )
    assert "ZeroDivisionError" in prove(case).trouble
