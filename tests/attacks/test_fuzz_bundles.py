"""A sample of the signatures that `make signing-fuzz` changes at random; no unix, no limits of a child."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography")

pytestmark = pytest.mark.unix

from .fuzz_bundles import judged


def test_no_changed_signature_counts() -> None:
    found, wrong = judged(1500, seed=7, jobs=1)
    assert wrong == []
    assert sum(found.values()) == 1500
    assert found["broken"] > 500
    assert found["foreign"] > 10
