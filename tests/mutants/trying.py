"""A mutant in a copy of the checkout, and the tests that may notice it, in a process of their own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .faults import Fault

COPIED = (
    "packager",
    "src",
    "tests",
    "fixtures",
    "benchmarks",
    "docs",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "NOTICE",
    ".ci",
)
SECONDS = 600.0
MOST_TESTS = 100  # of those near to a fault, in a fresh process
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_NOT_THERE = re.compile(r"^ERROR: not found: (.+) \(no match in any of", re.MULTILINE)


def copy_of(root: Path, folder: Path) -> Path:
    """Make a copy of the checkout that a mutant may be written into."""
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(
                root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build")
            )
        else:
            shutil.copy2(root / name, folder / name)
    return folder


@contextmanager
def mutated(copy: Path, fault: Fault) -> Iterator[None]:
    """Write a fault into a copy while it is tried."""
    file = copy / fault.file
    source = file.read_text(encoding="utf-8")
    file.write_text(fault.applied(source), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(source, encoding="utf-8")


def failing_test(copy: Path, tests: list[str], *options: str) -> str | None:
    """Return the first of these tests that fails, or what else went wrong; None where nothing does."""
    # Fresh processes that tests start import the packages by this path, too, and not by that of the checkout.
    path = os.pathsep.join((str(copy / "src"), str(copy)))
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "--no-header",
            *options,
            *tests,
        ],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "the tests do not end"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode == pytest.ExitCode.OK:
        return None
    gone = {name.removeprefix(f"{copy}{os.sep}") for name in _NOT_THERE.findall(said)}
    left = [test for test in tests if test not in gone]
    if process.returncode == pytest.ExitCode.USAGE_ERROR and 0 < len(left) < len(tests):
        # Names of cases hold a constant that has changed, which judges nothing.
        return failing_test(copy, left, *options)
    failed = _FAILED.search(said)
    return failed[1] if failed else "the tests cannot be run"
