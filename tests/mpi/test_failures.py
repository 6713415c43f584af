"""A rank that is killed, raises, leaves or does not come: the others end within 30 seconds, and say why."""

from __future__ import annotations

import pytest

pytest.importorskip("mpi4py")

import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mpi4py

from tests.mpi.test_mpi import command, environment

pytestmark = pytest.mark.mpi

RANKS, LIMIT = 3, 30.0


class Run:
    """One mpiexec: how it ended, after how long, and what it wrote."""

    def __init__(self, scenario: str, *, without_launcher: bool = False) -> None:
        line = command(RANKS, "tests/mpi/failing.py", scenario)
        if without_launcher:
            # Without what mpiexec itself does when a process ends: it sees a shell, which goes on.
            mpiexec, _, _, *program = line
            shell = f"{' '.join(program)}; sleep 60"
            line = [mpiexec, "-disable-auto-cleanup", "-n", str(RANKS), "sh", "-c", shell]
        began = time.monotonic()
        done = subprocess.run(
            line, capture_output=True, text=True, env=environment(), timeout=120, check=False
        )
        self.seconds = time.monotonic() - began
        self.code = done.returncode
        self.text = done.stdout + done.stderr


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    assert Path(sys.executable).with_name("mpiexec").exists(), f"mpi4py {mpi4py.__version__} without mpich"
    with ThreadPoolExecutor(2) as pool:
        started = {name: pool.submit(Run, name) for name in ("killed", "raises", "uneven", "late", "leaves")}
        started["seen"] = pool.submit(lambda: Run("killed", without_launcher=True))
        return {name: run.result() for name, run in started.items()}


@pytest.mark.parametrize("name", ["killed", "raises", "uneven", "late", "leaves", "seen"])
def test_all_ranks_end_with_an_error_in_time(runs: dict[str, Run], name: str) -> None:
    assert runs[name].code != 0, runs[name].text
    assert runs[name].seconds < LIMIT


def test_the_launcher_tells_of_a_killed_rank(runs: dict[str, Run]) -> None:
    assert "Killed (signal 9)" in runs["killed"].text


def test_the_other_ranks_see_that_a_process_is_gone(runs: dict[str, Run]) -> None:
    assert "kellet.errors.RankFailedError: rank 1 has ended unexpectedly: its process " in runs["seen"].text
    assert "is gone; look whether it was killed, for lack of memory for example" in runs["seen"].text


def test_the_error_of_one_rank_is_told_to_the_others(runs: dict[str, Run]) -> None:
    text = runs["raises"].text
    assert "\nValueError: no such file of data\n" in text
    told = "\nkellet.errors.RankFailedError: rank 1 has failed: ValueError: no such file of data\n"
    assert text.count(told) == RANKS - 1


def test_unequal_numbers_of_batches_are_told_on_all_ranks(runs: dict[str, Run]) -> None:
    text = runs["uneven"].text
    assert (
        text.count("kellet.errors.RankMismatchError: the group of all processes: its ranks do not") == RANKS
    )
    assert text.count("\n  rank 0: all_reduce SUM float32 (6,), as operation") == RANKS
    assert text.count("\n  rank 1: destroy_process_group, as operation") == RANKS


def test_a_rank_that_does_not_come_is_not_waited_for_longer_than_asked(runs: dict[str, Run]) -> None:
    # Ranks 0 and 2 wait equally long, and whichever tells it first ends the other.
    told = r"CollectiveTimeoutError: rank [02] of 3 has waited 2 s for the other ranks"
    assert re.search(told, runs["late"].text)


def test_a_rank_that_has_left_a_part_of_the_ranks_is_missed_there(runs: dict[str, Run]) -> None:
    expected = "RankFailedError: rank 1 has ended its work while rank 0 waits for it; every rank has to call"
    assert runs["leaves"].text.count(expected) == RANKS
