"""The script of the guide, as a reader starts it with mpiexec."""

from __future__ import annotations

import pytest

pytest.importorskip("mpi4py")

import subprocess
import sys
from pathlib import Path

import mpi4py

from tests.architecture.test_examples import blocks_of
from tests.mpi.test_mpi import ROOT, environment

pytestmark = pytest.mark.mpi

GUIDE = ROOT / "docs" / "guides" / "several-processes.md"


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_script_of_the_guide_runs_with_several_ranks(ranks: int, tmp_path: Path) -> None:
    assert mpi4py.__version__
    script = tmp_path / "train.py"
    blocks = [block for _, block in blocks_of(GUIDE.read_text(encoding="utf-8"))]
    script.write_text("".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [str(Path(sys.executable).with_name("mpiexec")), "-n", str(ranks), sys.executable, str(script)],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{ranks} ranks\n", "")
