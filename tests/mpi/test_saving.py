"""One archive of several processes: its bytes are those of one; a rank that is killed leaves the old one."""

from __future__ import annotations

import pytest

pytest.importorskip("mpi4py")

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mpi4py
import numpy as np

from packager import PackageImporter, verify
from tests.mpi.saving import save, whole_state
from tests.mpi.test_mpi import command, environment

pytestmark = pytest.mark.mpi

LIMIT = 30.0
OLD = b"the old archive"
# Exchanges of a save: 0 is making the exporter, 1 to 7 are the state dict, 8 compares plans, 9 comes before
# the rename, 10 after it.
MOMENTS = (
    *("0:0", "1:1", "0:3", "1:4", "0:6", "1:7", "0:8", "1:8", "1:9", "0:9"),
    *("1:writing", "0:writing", "0:proving", "0:renaming", "0:renamed", "1:10"),
)


def run(ranks: int, what: str, folder: Path, *, launcher_sees: bool = True) -> tuple[int, str, float]:
    """Start ranks; return how mpiexec ended, what was written to the terminal, and after how many seconds.

    Unless `launcher_sees` a process end, and ends all of them, the other ranks have to see it.
    """
    line = command(ranks, "tests/mpi/saving.py", what, str(folder))
    if not launcher_sees:
        mpiexec, _, _, *program = line
        shell = f"{' '.join(program)}; sleep 60"
        line = [mpiexec, "-disable-auto-cleanup", "-n", str(ranks), "sh", "-c", shell]
    began = time.monotonic()
    done = subprocess.run(
        line,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=200,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr, time.monotonic() - began


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a process without a group writes."""
    assert mpi4py.__version__
    path = tmp_path_factory.mktemp("alone") / "net.kellet"
    save(path, None, whole_state())
    return path.read_bytes()


@pytest.mark.parametrize("size", [1, 2, 4])
def test_ranks_write_the_bytes_of_one_process_and_prove_them(size: int, tmp_path: Path, alone: bytes) -> None:
    code, text, _ = run(size, "save", tmp_path)
    assert (code, text) == (0, "")
    assert (tmp_path / "net.kellet").read_bytes() == alone
    told = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(size)]
    verified = verify(tmp_path / "net.kellet")
    assert verified.ok
    assert [identity for identity, _ in told] == [verified.identity] * size
    assert [proved for _, proved in told] == [True] + [False] * (size - 1)
    names = {f"{rank}.json" for rank in range(size)} | {"net.kellet"}
    assert {one.name for one in tmp_path.iterdir()} == names


def test_three_ranks_load_what_others_wrote_and_save_it_again(tmp_path: Path, alone: bytes) -> None:
    (tmp_path / "net.kellet").write_bytes(alone)
    code, text, _ = run(3, "again", tmp_path)
    assert (code, text) == (0, "")
    assert (tmp_path / "again.kellet").read_bytes() == alone
    with PackageImporter(tmp_path / "again.kellet") as importer:
        state = importer.load_state_dict("model", "state")
        assert all(np.array_equal(state[key], value) for key, value in whole_state().items())


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, float, Path]]:
    folder = tmp_path_factory.mktemp("kills")

    def kill(moment: str) -> tuple[int, str, float, Path]:
        place = folder / moment.replace(":", "-")
        place.mkdir()
        (place / "net.kellet").write_bytes(OLD)
        return *run(2, moment, place, launcher_sees=False), place

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(MOMENTS, pool.map(kill, MOMENTS), strict=True))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_rank_killed_at_any_moment_leaves_the_old_archive_or_the_new_one(
    kills: dict[str, tuple[int, str, float, Path]], moment: str, alone: bytes
) -> None:
    code, text, seconds, folder = kills[moment]
    assert code != 0, text
    assert seconds < LIMIT
    is_written = moment in ("0:renamed", "1:10")
    assert (folder / "net.kellet").read_bytes() == (alone if is_written else OLD)
    assert "RankFailedError: rank " in text
    assert f"rank {moment[0]} has ended unexpectedly" in text
    save(folder / "net.kellet", None, {"w": np.ones(1)})
    assert [one.name for one in folder.iterdir()] == ["net.kellet"]
