"""What an export tells `logging`, and that it prints nothing."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import packager


def test_each_step_is_told_and_nothing_is_printed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "table.kellet"
    with caplog.at_level(logging.INFO, "packager"):
        packager.save({"scale": np.ones(1000)}, file)
    assert {(one.name, one.levelno) for one in caplog.records} == {("packager", logging.INFO)}
    told = [one.getMessage().removeprefix(f"{file}: ") for one in caplog.records]
    steps = ["writing tensors", "reading modules", "writing tensors", "writing"]
    assert told == [*steps, "in place; loaded in this process"]
    assert capfd.readouterr() == ("", "")


def test_logging_is_not_imported_for_it(tmp_path: Path) -> None:
    script = (
        "import sys; from packager import _notebook_line\n"
        "_notebook_line.log('x.kellet', 'writing')\n"
        "assert 'logging' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-S", "-c", script], check=True, cwd=tmp_path, env={"PYTHONPATH": PATH})


PATH = str(Path(packager.__file__).parents[1])
