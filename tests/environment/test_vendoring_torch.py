"""PyTorch's own wheel in an archive: an environment is made of that file alone, and the model runs there."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from tests import processes

NET = """
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.GRUCell(3, 2)

    def forward(self, x, state):
        return self.inner(x, state)


def build():
    torch.manual_seed(29)
    return Gate()
"""


@pytest.mark.long
def test_an_environment_with_torch_is_made_of_the_archive_alone() -> None:
    with TemporaryDirectory() as name:  # over a gigabyte, which `tmp_path` would keep
        folder = Path(name)
        (folder / "gatenet.py").write_text(NET)
        np.savez(folder / "call.npz", x=np.eye(2, 3, dtype="f4"), state=np.ones((2, 2), "f4"))
        packager = (sys.executable, "-m", "packager")
        options = ("--example", "call.npz", "-o", "gate.kellet", "--vendor-wheels", "here", "--no-proof")
        ran(folder, {}, *packager, "export", "gatenet:build", *options)
        (folder / "gatenet.py").unlink()
        shown = ran(folder, {}, *packager, "inspect", "gate.kellet")
        assert f"\n    torch-{torch.__version__}-" in shown.partition("\nwheels")[2]
        # No index, no folder of wheels, no configuration: what pip is told of, the archive has.
        alone = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
        made = ran(folder, alone, *packager, "env", "create", "gate.kellet", "env", "--offline")
        assert f"torch=={torch.__version__}" in made
        python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        assert (
            ran(folder, {}, str(python), "-I", "-m", "packager", "check", "gate.kellet")
            == "model: output: the same bits\n"
        )


def ran(folder: Path, more: Mapping[str, str], *command: str) -> str:
    """Run a command that has to succeed; return what it printed."""
    done = processes.run(
        command, cwd=folder, env={**os.environ, **more}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
