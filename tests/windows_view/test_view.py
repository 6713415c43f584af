"""The view of Windows itself, in fresh processes: what our modules see, and how processes are started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
from tests.windows_view import put_on

def pid(_=None):
    return os.getpid()

if __name__ == "__main__":
    put_on()
    put_on()
"""


def printed(tmp_path: Path, program: str) -> list[str]:
    text = PROGRAM + "".join(f"    {line}\n" for line in program.strip().splitlines())
    (tmp_path / "program.py").write_text(text)
    command = [sys.executable, str(tmp_path / "program.py"), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "way", ["import multiprocessing", "from concurrent import futures; import multiprocessing"]
)
def test_processes_are_spawned_and_nothing_else(tmp_path: Path, way: str) -> None:
    program = f"""
{way}
print(multiprocessing.get_start_method(), multiprocessing.get_all_start_methods())
for method in ("fork", "forkserver"):
    try:
        multiprocessing.get_context(method)
    except ValueError as error:
        print(error)
with multiprocessing.Pool(1) as pool:
    print(pool.apply_async(pid).get(60) != pid(), type(pool._pool[0]).__name__)
"""
    assert printed(tmp_path, program) == [
        "spawn ['spawn']",
        "cannot find context for 'fork'",
        "cannot find context for 'forkserver'",
        "True SpawnProcess",
    ]


def test_what_is_set_on_a_module_is_set_on_the_one_of_the_process(tmp_path: Path) -> None:
    program = """
from packager import atomic
before = os._exit
atomic.os._exit = "held"
print(os._exit, atomic.os._exit, hasattr(atomic.os, "fork"), hasattr(os, "fork"))
os._exit = before
print(atomic.os._exit is before)
own = atomic.os.replace
atomic.os.replace = "own"
print(os.replace is own, atomic.os.replace, callable(os.replace))
"""
    assert printed(tmp_path, program) == [
        "held held False True",
        "True",
        "False own True",
    ]
