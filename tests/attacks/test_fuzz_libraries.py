"""Some changed objects of each library that is here, in a process of their own; `make fuzz` has more."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.contracts.libraries import installed_samples

pytestmark = pytest.mark.processes(share=9)

FUZZ = Path(__file__).with_name("fuzz.py")
INPUTS = 200


@pytest.mark.parametrize("library", installed_samples())
def test_changed_objects_end_no_process(library: str, tmp_path: Path) -> None:
    command = [sys.executable, str(FUZZ), "libraries", str(INPUTS), "--seed", "11", "--jobs", "1"]
    ran = processes.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "KELLET_LIBRARIES": library},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert f"{INPUTS} inputs of seed 11" in ran.stdout
    assert "refused" in ran.stdout
