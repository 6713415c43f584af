"""Where code comes from: what git knows without a network, and nothing that would be a guess."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter
from packager._exporting.provenance import provenance_of
from packager._texts import without_credentials


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "net").mkdir(parents=True)
    for name in ("a.py", "b.py"):
        (folder / "net" / name).write_text("x = 1\n")
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    git(folder, "remote", "add", "origin", "https://me:secret@example.org/team/net.git")
    return folder


def told(project: Path, *names: str) -> dict[str, str | bool]:
    return provenance_of([str(project / "net" / name) for name in names or ("a.py", "b.py")], "us")


def test_a_clean_commit_is_told_without_credentials(project: Path) -> None:
    found = told(project)
    assert found["commit"] == git(project, "rev-parse", "HEAD")
    assert (found["dirty"], found["by"]) == (False, "us")
    assert found["remote"] == "https://example.org/team/net.git"
    assert {"packager", "python"} <= found.keys()


def test_a_changed_or_unknown_file_makes_it_dirty(project: Path) -> None:
    (project / "net" / "new.py").write_text("")
    assert told(project)["dirty"] is False  # nothing that is stored differs
    assert told(project, "a.py", "new.py")["dirty"] is True
    (project / "net" / "b.py").write_text("x = 2\n")
    assert told(project, "a.py")["dirty"] is True


def test_nothing_is_told_of_a_commit_that_may_be_another(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_text("")
    for files in ([], [str(elsewhere)], [str(elsewhere), str(project / "net" / "a.py")]):
        assert not {"commit", "dirty", "remote"} & provenance_of(files, "").keys()


def test_no_monitor_that_a_repository_names_is_run(project: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    git(project, "config", "core.fsmonitor", str(program))
    assert told(project)["dirty"] is False
    assert not marker.exists()


@pytest.mark.parametrize(("url", "kept"), [
    ("https://token@example.org/a.git", "https://example.org/a.git"),
    ("https://example.org/a@b.git?x=1#y", "https://example.org/a@b.git"),
    ("git@example.org:team/a.git", "example.org:team/a.git"),
    ("ssh://git:pw@example.org:22/a", "ssh://example.org:22/a"),
    ("/srv/git/a.git", "/srv/git/a.git"),
])  # fmt: skip
def test_an_address_has_no_credentials(url: str, kept: str) -> None:
    assert without_credentials(url) == kept


def test_an_export_tells_the_commit_of_the_project_alone(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "net" / "__init__.py").write_text("import math\n")
    git(project, "add", ".")
    git(project, "commit", "-m", "second")
    monkeypatch.syspath_prepend(str(project))
    path = tmp_path / "net.kellet"
    with PackageExporter(path, policy="auto", prove=False, by="us", provenance=True) as exporter:
        exporter.save_module("net.a")
    with PackageImporter(path) as importer:
        found = importer.manifest.environment["provenance"]
    assert found["commit"] == git(project, "rev-parse", "HEAD")
    assert (found["dirty"], found["by"]) == (False, "us")
    assert "secret" not in str(found)
