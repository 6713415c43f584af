"""sha256 of a few bytes is that of hashlib, whoever computes it."""

from __future__ import annotations

import hashlib
import sys

import pytest

from packager._archive import sha256
from packager._archive.digesting import _FEW, _own
from tests import processes


@pytest.mark.parametrize("size", [0, 1, 64, _FEW, _FEW + 1])
def test_the_digest_is_that_of_hashlib(size: int) -> None:
    data = bytes(range(251)) * (size // 251 + 1)
    expected = hashlib.sha256(data[:size]).digest()
    assert sha256(data[:size]).digest() == expected
    assert sha256(memoryview(data)[:size]).digest() == expected
    assert _own()(data[:size]).digest() == expected


def test_hashlib_waits_until_there_is_much_to_digest() -> None:
    code = (
        "import sys; from packager._archive.digesting import sha256, _FEW\n"
        "sha256(bytes(_FEW)); assert 'hashlib' not in sys.modules\n"
        "sha256(bytes(_FEW + 1)); assert 'hashlib' in sys.modules\n"
    )
    processes.run([sys.executable, "-c", code], cold=True, check=True)


def test_where_hashlib_cannot_be_imported_python_digests_it(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hashlib.sha256(bytes(_FEW + 1)).hexdigest()
    monkeypatch.setitem(sys.modules, "hashlib", None)
    assert sha256(bytes(_FEW + 1)).hexdigest() == expected
