"""The metadata has the URLs of the public repository that a distribution is built from, and no others."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

ROOT = Path(__file__).resolve().parents[2]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", ".ci/project_urls.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in BUILT_FROM:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def urls_of(checkout: Path) -> dict[str, str]:
    return ProjectMetadata(str(checkout), PluginManager()).core.urls


@pytest.mark.parametrize(
    "origin",
    [
        "https://code.example.org/tools/kellet.git",
        "https://code.example.org/tools/kellet",
        "git@code.example.org:tools/kellet.git",
        "ssh://git@code.example.org/tools/kellet.git",
    ],
)
def test_a_clone_of_a_public_repository_names_it(checkout: Path, origin: str) -> None:
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    subprocess.run(["git", "-C", str(checkout), "remote", "add", "origin", origin], check=True)
    assert urls_of(checkout) == {
        "Repository": "https://code.example.org/tools/kellet",
        "Documentation": "https://code.example.org/tools/kellet/tree/HEAD/docs",
        "Changelog": "https://code.example.org/tools/kellet/blob/HEAD/CHANGELOG.md",
        "Issues": "https://code.example.org/tools/kellet/issues",
    }


@pytest.mark.parametrize(
    "origin",
    ["/srv/git/kellet.git", "https://localhost/tools/kellet", "https://user:word@code.example.org/a/b"],
)
def test_a_path_a_local_host_and_a_password_are_no_public_address(checkout: Path, origin: str) -> None:
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    subprocess.run(["git", "-C", str(checkout), "remote", "add", "origin", origin], check=True)
    assert urls_of(checkout) == {}


def test_without_a_remote_or_a_repository_there_is_none(checkout: Path) -> None:
    assert urls_of(checkout) == {}
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    assert urls_of(checkout) == {}


def test_a_source_distribution_carries_those_that_it_was_made_with(checkout: Path) -> None:
    lines = [
        "Metadata-Version: 2.4",
        "Name: kellet",
        "Version: 0.1.0",
        "Project-URL: Repository, https://code.example.org/a/b",
    ]
    (checkout / "PKG-INFO").write_text("\n".join([*lines, "", "Text: of the README"]), encoding="utf-8")
    assert urls_of(checkout) == {"Repository": "https://code.example.org/a/b"}
