"""The metadata names the systems and Pythons on which everything is tried, and no others."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLASSIFIERS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]


def named(group: str) -> list[str]:
    return [one.removeprefix(f"{group} :: ") for one in CLASSIFIERS if one.startswith(f"{group} :: ")]


def test_each_python_is_one_that_the_wheel_is_tried_on() -> None:
    (tried,) = re.findall(r"^PYTHONS=\((.*)\)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.M)
    assert named("Programming Language :: Python") == tried.split()


def test_the_system_is_the_one_that_is_tried() -> None:
    """Windows is only viewed, on Linux: that is no system on which anything was tried."""
    assert named("Operating System") == ["POSIX :: Linux"]


def test_the_environment_is_one_that_is_tried() -> None:
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert named("Environment") == ["WebAssembly :: Emscripten"]
    assert "WebAssembly" in steps
