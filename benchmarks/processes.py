"""Fresh processes that rows start, and the folders that they write to, which go with this process."""

from __future__ import annotations

import atexit
import mmap
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def folder() -> Path:
    """Return a folder in memory, where there is one, so that no disk is in a figure."""
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    made = tempfile.TemporaryDirectory(prefix="kellet-bench-", dir=shared, ignore_cleanup_errors=True)
    atexit.register(made.cleanup)
    return Path(made.name)


@cache
def folder_on_disk() -> Path:
    """Return a folder in that for temporary files."""
    made = tempfile.TemporaryDirectory(prefix="kellet-bench-", ignore_cleanup_errors=True)
    atexit.register(made.cleanup)
    return Path(made.name)


def have_free(size: int) -> None:
    """Take memory of `size` bytes and a quarter in blocks of 2 MiB, and let it go again.

    A virtual machine may have given free blocks back to its host, and takes twenty times as long to get them
    again as to use them: who writes or reads a large file first would pay for it.
    """
    block, huge = 2 << 20, getattr(mmap, "MADV_HUGEPAGE", None)  # Linux
    if huge is None or size < block:
        return
    with mmap.mmap(-1, size + size // 4, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(huge)
        for at in range(0, len(memory), block):
            memory[at] = 1


def spent(program: str, *arguments: str, environment: Mapping[str, str] | None = None) -> float:
    """Run a program by itself; return its processor time and the system's for it, from start to exit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed(program, *arguments, environment=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def printed(program: str, *arguments: str, environment: Mapping[str, str] | None = None) -> list[float]:
    """Run a program by itself; return the numbers in the last line that it prints.

    Raises RuntimeError where it fails, ImportError where a library is not here.
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        env={**_environment(), **(environment or {})},
        cwd=folder(),
        capture_output=True,
        text=True,
        check=False,
    )
    if "ModuleNotFoundError" in done.stderr or "ModuleNotStoredError" in done.stderr:
        raise ImportError(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        raise RuntimeError(f"a benchmark's program failed:\n{done.stderr[-2000:]}")
    last = done.stdout.splitlines()[-1:] or [""]
    try:
        return [float(word) for word in last[0].split()]
    except ValueError:
        return []


def _environment() -> dict[str, str]:
    """Return what a process is given: the packages of this checkout, whose modules are kept compiled."""
    root = Path(__file__).resolve().parents[1]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, (root, root / "src")))}
