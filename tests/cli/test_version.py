"""The version: said in pyproject.toml, and everywhere else read from what is installed."""

from __future__ import annotations

import importlib.metadata
import sys
import tomllib
from pathlib import Path

import pytest

import kellet
import packager
from packager._cli import main, summary
from tests import processes

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("package", [kellet, packager])
def test_both_packages_have_the_version_of_the_distribution(package: object) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert package.__version__ == project["version"]  # type: ignore[attr-defined]  # read when asked for


def test_the_command_is_kellet_and_has_another_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"kellet": "packager._cli:main", "packager": "packager._cli:main"}
    assert summary.COMMAND == project["name"] == "kellet"


def test_the_command_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["--version"])
    assert (exit.value.code, capsys.readouterr().out) == (0, f"kellet {packager.__version__}\n")


@pytest.mark.parametrize("package", [kellet, packager])
def test_where_nothing_is_installed_there_is_no_version(
    package: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(
        AttributeError,
        match="has no __version__, as it is not installed; run python",
    ):
        package.__version__  # type: ignore[attr-defined]  # asking is what raises
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == "kellet that is not installed, only importable\n"


@pytest.mark.parametrize("name", ["kellet", "packager"])
def test_importing_reads_no_metadata(name: str) -> None:
    program = f"import sys, {name}; print('importlib.metadata' in sys.modules)"
    done = processes.run(
        [sys.executable, "-c", program], cold=True, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
