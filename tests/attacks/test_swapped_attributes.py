"""Archives of estimators with swapped attributes: a small sample of what `make swapped` does."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn")

FOLDER = Path(__file__).parent
SCRIPT = FOLDER / "swapped_attributes.py"


@pytest.mark.long
@pytest.mark.unix
def test_nothing_comes_of_swapped_attributes(tmp_path: Path) -> None:
    found = tmp_path / "found.txt"
    command = [sys.executable, str(SCRIPT), "300", "--seed", "1", "--library", "sklearn-few"]
    run = subprocess.run(
        [*command, "--write", str(found), "--cache", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert "300 of 300" in run.stdout
    told = [line for line in found.read_text().splitlines() if not line.startswith(("#", "in use: "))]
    assert [line for line in told if line] == [], run.stdout


@pytest.mark.long
@pytest.mark.unix
def test_each_planted_fault_is_found(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(FOLDER / "swapped" / "planted.py")],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    lines = run.stdout.splitlines()
    assert len(lines) == 23
    assert [line for line in lines if not line.startswith("found ")] == []
