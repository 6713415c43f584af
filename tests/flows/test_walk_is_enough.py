"""The files that a walk captures, alone in an empty folder, give the same output as what is installed."""

from __future__ import annotations

import pytest

from benchmarks.walk_proof import CASES, prove


@pytest.mark.parametrize("name", ["autograd", "einops", "networkx"])
def test_the_captured_files_alone_give_the_same_output(name: str) -> None:
    (case,) = [case for case in CASES if case.name == name]
    proof = prove(case)
    assert proof.trouble == ""
    assert proof.missing == ()
    assert proof.captured == proof.used
