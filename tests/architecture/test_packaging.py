"""What an index shows: few requirements, extras for users, and a README whose links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FILES = sorted((ROOT / "requirements").glob("*.txt"))
REPOSITORY = "https://code.example.org/tools/kellet"


def index_readme() -> Any:
    spec = importlib.util.spec_from_file_location("index_readme", ROOT / ".ci/index_readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_index_shows_few_requirements() -> None:
    shown = metadata("kellet").get_all("Requires-Dist") or []
    assert 3 <= len(shown) < 40


def test_each_extra_is_for_users_and_the_page_tells_of_it() -> None:
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    extras = PROJECT["optional-dependencies"]
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.M)) == extras.keys()
    assert sorted(metadata("kellet").get_all("Provides-Extra") or []) == sorted(extras)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_of_requirements_hold_what_an_old_pip_reads(file: Path) -> None:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert lines
    for line in lines:
        if line.startswith("-r "):
            assert (file.parent / line.removeprefix("-r ")).is_file()
        else:
            Requirement(line)


def test_each_file_of_requirements_that_is_named_is_there() -> None:
    named = set()
    for place in [ROOT / "Makefile", ROOT / "CONTRIBUTING.md", *(ROOT / ".ci").iterdir()]:
        if place.is_file():
            text = place.read_text(encoding="utf-8")
            named |= {
                *re.findall(r"requirements/([\w-]+)\.txt", text),
                *re.findall(r"\.installed-([a-z-]+)", text),
            }
    assert named - {"mpi"} <= {file.stem for file in FILES}
    assert {"test", "dev", "docs", "parity", "bench", "any-model", "proof"} <= named


def test_the_badges_say_what_the_metadata_says() -> None:
    shown = re.findall(r"<text [^>]+>([^<]+)</text>", (ROOT / "docs/badges.svg").read_text(encoding="utf-8"))
    least = PROJECT["requires-python"].removeprefix(">=")
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert shown == ["python", f"{least}+", "licence", PROJECT["license"], "typed", "mypy --strict"]


@pytest.mark.parametrize("repository", ["", REPOSITORY])
def test_the_readme_of_an_index_has_no_relative_link(repository: str) -> None:
    text = index_readme().shown_elsewhere((ROOT / "README.md").read_text(encoding="utf-8"), repository)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    places = re.findall(r"\]\(([^)]+)\)|^\[[^\]]+\]: (.+)$", prose, re.M)
    places = [place or defined for place, defined in places]
    assert bool(places) is bool(repository)
    assert [place for place in places if not place.startswith(("https://", "#"))] == []


@pytest.mark.parametrize(
    ("text", "elsewhere", "nowhere"),
    [
        ("[`a`](docs/a.md#b)", f"[`a`]({REPOSITORY}/blob/HEAD/docs/a.md#b)", "`a`"),
        ("![a](docs/a.png)", f"![a]({REPOSITORY}/raw/HEAD/docs/a.png)", ""),
        (
            "[![a](docs/a.png)](docs/a.md)",
            f"[![a]({REPOSITORY}/raw/HEAD/docs/a.png)]({REPOSITORY}/blob/HEAD/docs/a.md)",
            "",
        ),
        ("[a][b]\n\n[b]: a.md#c\n", f"[a][b]\n\n[b]: {REPOSITORY}/blob/HEAD/a.md#c\n", "a\n\n"),
        ("[a](https://b.org/c.md)", "[a](https://b.org/c.md)", "[a](https://b.org/c.md)"),
        ("[a](#b) models[0](x)", "[a](#b) models[0](x)", "[a](#b) models[0](x)"),
        ("```\n[a](b.md)\n```\n", "```\n[a](b.md)\n```\n", "```\n[a](b.md)\n```\n"),
    ],
)
def test_links_lead_to_the_repository(text: str, elsewhere: str, nowhere: str) -> None:
    shown_elsewhere = index_readme().shown_elsewhere
    assert (shown_elsewhere(text, REPOSITORY), shown_elsewhere(text, "")) == (elsewhere, nowhere)
