"""The command proves what it writes, unless it is told not to; a plan is proved when that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packager.cli import main

# It goes by the folder that it runs in.
LOSES = {
    "till/__init__.py": "",
    "till/shop.py": (
        "from pathlib import Path\n"
        "TABLE = 3 if Path.cwd().name == 'project' else 1 / 0\n"
        "class Till:\n    def __call__(self, x): return x * TABLE\n"
        "def build(): return Till()\n"
    ),
}
KEEPS = {
    **LOSES,
    "till/shop.py": "class Till:\n    def __call__(self, x): return x\ndef build(): return Till()\n",
}

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(
    project: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> Callable[[Mapping[str, str]], Run]:
    """Write a project, and carry out command lines in its folder; each gives its code and its print."""

    def write(tree: Mapping[str, str]) -> Run:
        monkeypatch.chdir(project(tree))

        def call(*arguments: str) -> tuple[int, str]:
            code = main(list(arguments))
            printed = capsys.readouterr()
            return code, printed.out + printed.err

        return call

    return write


def test_export_writes_nothing_that_does_not_come_back(run: Callable[[Mapping[str, str]], Run]) -> None:
    code, printed = run(LOSES)("export", "till.shop:build", "-o", "till.kellet")
    assert code == 1
    assert "till/shop.py:2" in printed
    assert "ZeroDivisionError" in printed
    assert not Path("till.kellet").exists()


def test_export_writes_it_where_no_proof_is_wanted(run: Callable[[Mapping[str, str]], Run]) -> None:
    code, printed = run(LOSES)("export", "till.shop:build", "-o", "till.kellet", "--no-proof")
    assert (code, Path("till.kellet").exists()) == (0, True)
    assert "ZeroDivisionError" not in printed


@pytest.mark.parametrize(("tree", "code"), [(LOSES, 1), (KEEPS, 0)], ids=["loses", "keeps"])
def test_a_plan_runs_nothing_unless_it_is_to_be_proved(
    run: Callable[[Mapping[str, str]], Run], tree: Mapping[str, str], code: int
) -> None:
    call = run(tree)
    assert call("plan", "till.shop")[0] == 0
    found, printed = call("plan", "till.shop", "--prove")
    assert found == code
    assert ("ZeroDivisionError" in printed) is bool(code)
    assert sorted(path.name for path in Path().iterdir()) == ["till"]
