"""Under mpiexec: what the ranks of `program.py` have found, with two and with four of them.

Every process start is dear here, so the ranks do all that is asked for in one go and write it down; a test
is a sentence about what they have written.
"""

from __future__ import annotations

import pytest

pytest.importorskip("mpi4py")

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mpi4py
import numpy as np

pytestmark = pytest.mark.mpi

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300


def command(ranks: int, script: str, *arguments: str) -> list[str]:
    """mpiexec of the environment that these tests run in, whatever PATH says."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    return [str(mpiexec), "-n", str(ranks), sys.executable, str(ROOT / script), *arguments]


def environment() -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return os.environ | {"PYTHONPATH": paths, "PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1"}


class Found:
    """What the ranks of one run have written: `found[name]` is the list of their answers."""

    def __init__(self, folder: Path, size: int) -> None:
        self.size = size
        self.answers = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]

    def __getitem__(self, name: str) -> list[Any]:
        return [answers[name] for answers in self.answers]


@pytest.fixture(scope="module", params=[2, 4])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    size: int = request.param
    folder = tmp_path_factory.mktemp("ranks")
    done = subprocess.run(
        command(size, "tests/mpi/program.py", str(folder)),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout, done.stderr) == ("", "")
    return Found(folder, size)


def test_mpi4py_is_of_the_series_that_the_extra_asks_for() -> None:
    assert int(mpi4py.__version__.split(".")[0]) >= 4


def test_ranks_are_those_of_mpiexec(found: Found) -> None:
    assert found["where"] == [[rank, found.size, "MPITransport"] for rank in range(found.size)]


def test_sums_of_every_dtype_number_and_layout_are_exact(found: Found) -> None:
    assert found["sums"] == [[]] * found.size


def test_operations_give_each_rank_what_they_promise(found: Found) -> None:
    size = found.size
    for rank, answer in enumerate(found["other_operations"]):
        product, flag, mean, sent, gathered, rows, part, half = answer
        assert product == [int(np.prod(range(1, size + 1)))]
        assert flag == [True, False]
        assert mean == [(size - 1) / 2]
        assert sent == [size - 1] * 3
        assert gathered == [[float(each)] * 2 for each in range(size)]
        assert rows == [[float(each)] for each in range(size)]
        assert part == [size * 2.0 * rank, size * (2.0 * rank + 1)]
        assert half == [float(rank)]


def test_bytes_of_any_lengths_come_as_they_were(found: Found) -> None:
    assert found["small_bytes"] == [[True, 5000]] * found.size


def test_groups_of_some_ranks_have_numbers_of_their_own(found: Found) -> None:
    for rank, (total, own, members, backwards, first, count) in enumerate(found["parts"]):
        low = rank - rank % 2
        assert (total, own, members) == (2.0 * low + 1, rank % 2, [low, low + 1])
        assert backwards == found.size - 1 - rank
        assert first == (0 if rank == 0 else -1)
        assert count == found.size // 2


def test_ranks_that_differ_are_all_told_so_and_go_on(found: Found) -> None:
    for message, total in found["mismatch"]:
        assert message == found["mismatch"][0][0]
        assert "\n  rank 0: all_reduce SUM float32 (2,), as operation " in message
        assert "\n  rank 1: all_reduce SUM float32 (3,), as operation " in message
        assert total == found.size


def test_operations_of_callbacks_come_in_one_order(found: Found) -> None:
    assert found["in_order"] == [[2.0 * found.size**2, 40.0 * found.size, True]] * found.size


def test_training_is_that_of_one_process_on_the_joined_batch(found: Found) -> None:
    for answers in found["training"]:
        for gradients, losses, values, digest in answers:
            assert gradients < 1e-6
            assert losses < 1e-5
            assert values < 1e-4
            assert digest == found["training"][0][0][3]  # all ranks and options have the same bits


def test_hooks_of_the_founding_page(found: Found) -> None:
    total = float(sum(range(1, found.size + 1)))
    assert found["founding_page"] == [[rank + 1.0, total] for rank in range(found.size)]


def test_models_are_trained_with_every_hook_and_stay_one(found: Found) -> None:
    for answers in found["hooks"]:
        for name, (loss, digest) in answers.items():
            assert loss < 1e-2, name
            assert digest == found["hooks"][0][name][1], name


def test_unequal_numbers_of_batches_end_with_one_model(found: Found) -> None:
    assert len(set(found["joined"])) == 1


def test_a_rank_that_waits_leaves_its_core_to_others(found: Found) -> None:
    assert max(found["waiting"]) < 0.2  # of half a second


def test_ranks_on_one_core_do_not_stand_still(found: Found) -> None:
    for seconds, total in found["on_one_core"]:
        assert seconds < 60
        assert total == 1000.0
