"""The script that the type checkers are asked about runs, and each of the mistakes is marked."""

from __future__ import annotations

import pytest

from tests.typing import __main__ as checks
from tests.typing import user_script


@pytest.mark.filterwarnings("ignore:the archive:packager.errors.PackagingWarning")
def test_the_script_trains_packs_loads_and_migrates(capsys: pytest.CaptureFixture[str]) -> None:
    assert user_script.main() == 0
    printed = capsys.readouterr().out
    assert "['first.bias', 'first.weight', 'last.bias', 'last.weight', 'mark'] 5 (1, 1)" in printed
    assert "4 changes, 0 skipped, 4 keys afterwards" in printed


def test_ten_mistakes_are_marked() -> None:
    assert len(checks.wanted(checks.HERE / "typos.py")) == 10
    assert checks.wanted(checks.HERE / "user_script.py") == set()
