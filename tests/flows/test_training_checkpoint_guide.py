"""The guide docs/guides/training-checkpoint.md, run block by block where nothing can be downloaded.

Here the other Python is an environment of the running one, since an index would have to be asked for what
another series needs; `.ci/matrix` runs the page for each other Python of the machine.
"""

from __future__ import annotations

import os
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import processes

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "fixtures" / "training" / "guide.py"
# What a process finds in the place of PyTorch, where that is installed.
WITHOUT_TORCH = "import sys\nsys.modules['torch'] = None\n"


def wheels_of(name: str, folder: Path) -> None:
    """Write wheels of an installed distribution and of all that it requires here, as they are installed."""
    found = distribution(name)
    wheel = dict(line.split(": ", 1) for line in (found.read_text("WHEEL") or "").splitlines() if line)
    target = folder / f"{found.name.replace('-', '_')}-{found.version}-{wheel['Tag']}.whl"
    if target.exists():
        return
    with zipfile.ZipFile(target, "w") as file:
        for path in found.files or ():
            if ".." not in path.parts and path.suffix != ".pyc":
                file.write(path.locate(), str(path))
    require(found.requires or (), folder)


def require(requirements: list[str] | tuple[str, ...], folder: Path) -> None:
    for one in map(Requirement, requirements):
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            wheels_of(one.name, folder)


@pytest.mark.unix  # the page is for a shell
def test_every_block_of_the_guide_runs(tmp_path: Path) -> None:
    """With the installed command, without PyTorch and without an index."""
    (tmp_path / "wheels").mkdir()
    require(distribution("kellet").requires or (), tmp_path / "wheels")
    (tmp_path / "hiding").mkdir()
    (tmp_path / "hiding" / "sitecustomize.py").write_text(WITHOUT_TORCH)
    own = {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    own |= {"KELLET_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path / "hiding")}
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    done = processes.run(
        [sys.executable, str(GUIDE), str(tmp_path / "work"), sys.executable],
        env=environment | own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for told in (
        "    args         object of argparse.Namespace  not part of the state dict 'model'\n",
        "waves:build: every key of the target has a value of its shape\n",
        "last.pt: 41 keys -> waves.safetensors: 33 keys",
        "3 modules stored, ",
        "output: float32 [12, 3]\n",
        "model: output: the same bits\n",
    ):
        assert told in done.stdout
    assert (
        'merge = ["encoder.{n:int}.attention.query.weight", '
        in (tmp_path / "work" / "last_year.toml").read_text()
    )
