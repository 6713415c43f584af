"""The metadata has the addresses that pyproject.toml has, and none of the checkout that it is built from."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

ROOT = Path(__file__).resolve().parents[2]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", ".ci/index_readme.py")
REPOSITORY = "https://code.example.org/tools/kellet"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in BUILT_FROM:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def metadata_of(checkout: Path) -> ProjectMetadata[PluginManager]:
    return ProjectMetadata(str(checkout), PluginManager())


def test_the_remote_of_a_checkout_is_not_told(checkout: Path) -> None:
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    subprocess.run(["git", "-C", str(checkout), "remote", "add", "origin", f"{REPOSITORY}.git"], check=True)
    core = metadata_of(checkout).core
    assert core.urls == {}
    assert REPOSITORY not in core.readme


def test_an_address_that_is_written_down_is_told_and_linked_to(checkout: Path) -> None:
    path = checkout / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    table = "[project.urls]"
    assert text.count(table) == 1
    head, _, rest = text.partition(table)
    first, _, others = rest.partition("\n")
    path.write_text(f'{head}{table}{first}\nRepository = "{REPOSITORY}"\n{others}', encoding="utf-8")
    core = metadata_of(checkout).core
    assert core.urls == {"Repository": REPOSITORY}
    assert f"({REPOSITORY}/blob/HEAD/docs/guides/index.md)" in core.readme
    assert f"]: {REPOSITORY}/blob/HEAD/docs/comparison.md#reads-old-keys" in core.readme
