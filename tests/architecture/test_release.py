"""What `make release` refuses: a tree, a promise or a version that is not as it was told."""

from __future__ import annotations

import hashlib
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.golden import released
from tests.architecture.rooms import ROOT

sys.path.append(str(ROOT / ".ci"))
release_problems = importlib.import_module("release_problems")

SUMS = "tests/golden/SHA256SUMS"


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run(["git", "-C", str(folder), *names, *arguments], check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that may be released as 0.1.0, whose public API is what its script says."""
    golden = {f"tests/golden/{kind}-0.1.0.kellet": kind for kind in released.KINDS}
    files = {
        "pyproject.toml": '[project]\nversion = "0.1.0"\n',
        "CHANGELOG.md": "# Changelog\n\n## 0.1.0, 2026-12-01\n",
        "docs/public_api.py": "",
        **golden,
        SUMS: "".join(f"{digest(text)}  {Path(name).name}\n" for name, text in golden.items()),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def problems(checkout: Path, tag: str = "") -> list[str]:
    return [*release_problems.problems(checkout, tag)]


def test_a_clean_tree_with_its_version_told_may_be_released(checkout: Path) -> None:
    assert problems(checkout) == problems(checkout, "v0.1.0") == []


def test_a_dirty_tree_is_refused(checkout: Path) -> None:
    (checkout / "new.py").write_text("", encoding="utf-8")
    assert problems(checkout) == ["the tree is dirty: commit or remove what `git status` shows"]


def test_a_tag_of_another_version_is_refused(checkout: Path) -> None:
    assert problems(checkout, "v0.2.0") == ["the tag is v0.2.0, and the version in pyproject.toml 0.1.0"]


@pytest.mark.parametrize("heading", ["## 0.2.0", "## 0.1.0, not yet released", "## 0.1.01"])
def test_a_changelog_without_the_version_is_refused(checkout: Path, heading: str) -> None:
    (checkout / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n", encoding="utf-8")
    commit(checkout)
    assert problems(checkout) == ["CHANGELOG.md has no heading `## 0.1.0`, with or without a date"]


def test_another_api_than_its_snapshot_is_refused(checkout: Path) -> None:
    (checkout / "docs/public_api.py").write_text("raise SystemExit('-load(file)')", encoding="utf-8")
    commit(checkout)
    assert problems(checkout) == ["the public API differs from its snapshot:\n-load(file)"]


def test_a_moved_golden_archive_is_refused(checkout: Path) -> None:
    (checkout / "tests/golden/model-0.1.0.kellet").write_text("made anew", encoding="utf-8")
    commit(checkout)
    assert problems(checkout) == [
        "tests/golden/model-0.1.0.kellet has other bytes than SHA256SUMS says: it is never made anew"
    ]


def test_a_released_golden_archive_that_moved_with_its_digest_is_refused(checkout: Path) -> None:
    git(checkout, "tag", "v0.1.0")
    (checkout / "tests/golden/model-0.1.0.kellet").write_text("made anew", encoding="utf-8")
    sums = (checkout / SUMS).read_text(encoding="utf-8")
    (checkout / SUMS).write_text(sums.replace(digest("model"), digest("made anew")), encoding="utf-8")
    commit(checkout)
    told = f"{SUMS} lacks a line that it had in v0.1.0: {digest('model')}  model-0.1.0.kellet"
    assert problems(checkout) == [told]


def test_a_version_without_golden_archives_is_refused(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n', encoding="utf-8")
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## 0.2.0\n", encoding="utf-8")
    commit(checkout)
    make = "is missing: python fixtures/golden/"
    assert problems(checkout) == [
        f"tests/golden/{kind}-0.2.0.kellet {make}{kind}.py tests/golden/{kind}-0.2.0.kellet"
        for kind in released.KINDS
    ]
