"""The verdicts on the page "Beside other packers" are what trying them anew gives."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("mlflow")

import re
import shutil
import sys
from pathlib import Path

from tests import processes

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "comparison.md"


def verdicts(page: str) -> list[str]:
    """Return the headings and the lines of tables, without their last column, which is what was printed."""
    lines = [line for line in page.splitlines() if line.startswith(("#", "|"))]
    return [line.rpartition(" | ")[0] if line.startswith("|") else line for line in lines]


def test_verdicts_of_the_page_are_those_of_the_packers_that_are_installed(tmp_path: Path) -> None:
    anew = tmp_path / PAGE.name
    shutil.copyfile(PAGE, anew)
    command = [sys.executable, str(ROOT / "fixtures" / "peers" / "compare.py"), "--page", str(anew)]
    processes.run(command, cwd=tmp_path, check=True)
    assert verdicts(anew.read_text(encoding="utf-8")) == verdicts(PAGE.read_text(encoding="utf-8"))


def test_cells_of_the_readme_are_the_verdicts_below_the_headings_that_they_link_to() -> None:
    readme, page = (ROOT / "README.md").read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w -]", "", text).lower().replace(" ", "-"): re.findall(
            r"^\| [^|`]+ \| ([^|]+) \| `", rest, re.M
        )
        for text, rest in re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", page, re.M)
    }
    for name, anchor in re.findall(r"^\[(\w+)\]: docs/comparison\.md#(\S+)", readme, re.M):
        assert re.findall(rf"\[([^\]]+)\]\[{name}\]", readme) == headings[anchor]
