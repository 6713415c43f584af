"""What a run of the tests runs, and what it says of files and tests that it skips."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).resolve().parents[2]
ASKING = 'import pytest\n\npytest.importorskip("{}")\n\n\ndef test_one():\n    pass\n'
FILES = {
    "test_plain.py": "def test_one():\n    pass\n",
    "test_first.py": ASKING.format("nowhere_a"),
    "test_second.py": ASKING.format("nowhere_a"),
    "test_third.py": ASKING.format("nowhere_b"),
    "test_here.py": ASKING.format("msgpack"),
    "test_inside.py": 'import pytest\n\n\ndef test_one():\n    pytest.importorskip("nowhere_a")\n',
}
SAID = [
    "skipped 2 files: could not import 'nowhere_a': No module named 'nowhere_a'",
    "skipped 1 test: could not import 'nowhere_a': No module named 'nowhere_a'",
    "skipped 1 file: could not import 'nowhere_b': No module named 'nowhere_b'",
]


def run(folder: Path, *options: str) -> tuple[int, str, str]:
    """Run six test files as the tests of this project are run; return the code, the output and the errors."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    long\n    processes\n    unix\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    environment.pop("PYTEST_XDIST_WORKER", None)
    done = processes.run(
        command, cold=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two-workers"])
def test_each_reason_to_skip_is_said_once_with_its_files_and_tests(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    code, out, _ = run(tmp_path, *workers)
    assert code == 0
    assert sorted(line for line in out.splitlines() if line.startswith("skipped")) == sorted(SAID)
    assert "2 passed" in out


def test_a_run_that_needs_a_library_runs_the_files_that_ask_for_it(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, "--needs", "msgpack,numpy", "-vv")
    assert code == 0
    assert [line.split(" ")[0] for line in out.splitlines() if "PASSED" in line] == ["test_here.py::test_one"]


def test_a_file_that_is_named_runs_whatever_it_asks_for(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, "--needs", "msgpack", "-vv", "test_plain.py")
    assert code == 0
    assert [line.split(" ")[0] for line in out.splitlines() if "PASSED" in line] == [
        "test_plain.py::test_one"
    ]


LONG = """
import pytest

@pytest.mark.long
def test_long():
    pass

def test_short():
    pass

@pytest.mark.processes(share=2)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_share(number):
    pass
"""


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        (("--needs", "msgpack"), ["test_here.py::test_one"]),
        (("-m", "long"), ["test_marked.py::test_long", "test_marked.py::test_share[1]"]),
    ],
)
def test_what_a_run_is_not_about_is_not_imported(
    tmp_path: Path, options: tuple[str, ...], passed: list[str]
) -> None:
    (tmp_path / "test_broken.py").write_text("raise NameError\n")
    (tmp_path / "test_marked.py").write_text(LONG)
    code, out, _ = run(tmp_path, *options, "-vv")
    assert code == 0
    assert sorted(line.split(" ")[0] for line in out.splitlines() if "PASSED" in line) == passed


def test_a_run_that_needs_a_library_fails_where_it_is_missing(tmp_path: Path) -> None:
    code, out, errors = run(tmp_path, "--needs", "msgpack,nowhere_a,nowhere_b")
    assert (code, out) == (pytest.ExitCode.USAGE_ERROR, "")
    assert errors == (
        "ERROR: --needs: not installed here: nowhere_a, nowhere_b; install them, or leave them out\n\n"
    )
