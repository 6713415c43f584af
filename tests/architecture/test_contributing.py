"""Every path, name and line that CONTRIBUTING tells of is there."""

from __future__ import annotations

import os
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest

from tests import processes
from tests.architecture.rooms import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIFFS = [body for kind, body in FENCE.findall(PAGE) if kind == "diff"]
ADDED = "\n".join(line for body in DIFFS for line in body.splitlines() if line.startswith("+"))
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", FENCE.sub("", PAGE))))
CODE = ("packager", "src", "tests", "fixtures", "benchmarks", "docs", ".ci")


@cache
def sources() -> str:
    """All code of the checkout."""
    files = [ROOT / "Makefile", ROOT / "pyproject.toml"]
    for folder in CODE:
        files += [path for path in (ROOT / folder).rglob("*.py") if "_build" not in path.parts]
    files += [path for path in (ROOT / ".ci").iterdir() if path.is_file()]
    mine = Path(__file__)
    return "\n".join(path.read_text(encoding="utf-8") for path in files if path != mine)


@cache
def file_names() -> set[str]:
    return {
        path.name for folder in CODE for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts
    }


def is_path(span: str) -> bool:
    return bool(re.fullmatch(r"\.?[\w.-]+(/[\w.-]*)+|\.?[\w-]+\.(py|md|toml|txt)", span))


def missing_names(span: str) -> list[str]:
    """The identifiers of a code span that neither the checkout nor a diff of the page has."""
    names = re.findall(r"[A-Za-z_]\w+", span)
    return [name for name in names if not re.search(rf"\b{re.escape(name)}\b", sources() + ADDED)]


@pytest.mark.parametrize("span", [span for span in SPANS if is_path(span)])
def test_every_path_exists(span: str) -> None:
    folders = (ROOT, ROOT / "packager", ROOT / "src" / "kellet")
    assert any((folder / span).exists() for folder in folders) or span in file_names()


@pytest.mark.parametrize("span", [span for span in SPANS if not is_path(span)])
def test_every_name_exists(span: str) -> None:
    assert missing_names(span) == []


@pytest.mark.parametrize("rule", sorted(set(re.findall(r"(?:^|`)make ([a-z][\w-]*)", PAGE, re.MULTILINE))))
def test_every_target_of_make_exists(rule: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^([\w-]+ )*{rule}( [\w-]+)*:", makefile, re.MULTILINE)


Hunk = tuple[str, list[str], list[str]]


def hunks(diff: str) -> list[Hunk]:
    """File, lines that are there, and lines that take their place, of each hunk."""
    found = []
    for part in re.split(r"^--- ", diff, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        for hunk in re.split(r"^@@\n", body, flags=re.MULTILINE):
            lines = hunk.splitlines()
            old = [line[1:] for line in lines if line[:1] in " -"]
            found.append((name, old, [line[1:] for line in lines if line[:1] in " +"]))
    return found


def applied(text: list[str], old: list[str], new: list[str]) -> list[str]:
    """Put `new` where `old` stands, or at the end where a hunk names no line."""
    if not old:
        return text + new
    places = [at for at in range(len(text)) if text[at : at + len(old)] == old]
    assert len(places) == 1, f"stands {len(places)} times in the file: {old}"
    return text[: places[0]] + new + text[places[0] + len(old) :]


@pytest.mark.parametrize("diff", DIFFS, ids=lambda diff: diff.splitlines()[0].split("/")[-1])
def test_every_diff_fits_the_files_it_changes(diff: str) -> None:
    for name, old, new in hunks(diff):
        there = (ROOT / name).exists()
        assert there or not old, f"{name} does not exist"
        applied((ROOT / name).read_text(encoding="utf-8").splitlines() if there else [], old, new)


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "tests"),
    [
        (
            "packager/_codecs/standard_values.py",
            ["tests/contracts/test_standard_codecs.py", "tests/codecs", "tests/attacks/test_inert_calls.py"],
        ),
        (
            "packager/_cli/summary.py",
            ["tests/cli/test_commands.py", "tests/cli/test_command_page.py", "-k", "count or page"],
        ),
    ],
    ids=["codec", "command"],
)
def test_a_recipe_that_is_typed_in_works(first: str, tests: list[str], tmp_path: Path) -> None:
    """The whole change of two recipes, in a copy of the checkout, under the tests that they name."""
    (diff,) = (diff for diff in DIFFS if hunks(diff)[0][0] == first)
    for folder in ("packager", "src", "tests", "docs", "fixtures"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("_build"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, old, new in hunks(diff):
        path = tmp_path / name
        text = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        path.write_text("\n".join(applied(text, old, new)) + "\n", encoding="utf-8")
    done = processes.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{tmp_path / 'src'}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_wrong_name_is_seen() -> None:
    assert missing_names("HookRegistrar.add") == ["Hook" + "Registrar"]
