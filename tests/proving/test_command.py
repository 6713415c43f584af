"""The command proves what it writes, unless it is told not to; a plan is proved when that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packager._cli import main

pytestmark = pytest.mark.processes(share=3)

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


# A computed import, a package that is not here, a secret, a rule for nothing, a name to trust, in one target.
TELLS = {
    "till/__init__.py": "",
    "till/.env": "KEY=1",
    "till/rates.json": "[1]",
    "till/shop.py": (
        "import importlib, logging\nfrom pathlib import Path\n"
        "RATES = Path(__file__).parent / 'rates.json'\n"
        "class Till:\n"
        "    def __init__(self): self.only = logging.Filter('till')\n"
        "    def __call__(self, x): return importlib.import_module(x), RATES.read_text()\n"
        "    def draw(self):\n        import absent_plots\n"
        "till = Till()\n"
    ),
}


def test_export_shows_what_plan_shows_for_the_same_target(run: Callable[[Mapping[str, str]], Run]) -> None:
    call = run(TELLS)
    options = ("till.shop:till", "--mock", "never.**")
    code, exported = call("export", *options, "-o", "till.kellet")
    assert code == 0
    found, planned = call("plan", *options, "--prove")
    assert found == 0
    for line in (
        "till/shop.py:6  importlib.import_module(x)",
        "absent_plots was not found here. Code that imports it fails at the target as it does here",
        "till/.env  5 B  it looks like a secret",
        "till/rates.json  3 B  beside the code of till",
        "mock('never.**')",
        "trust=('logging:Filter',)",
    ):
        assert line in exported
    shown = {line.strip() for line in exported.splitlines()}
    only_planned = [line for line in planned.splitlines()[1:] if line.strip() not in shown]
    assert only_planned == ["    till.shop  (asked for: saved by name)"]  # there an object asks for it
