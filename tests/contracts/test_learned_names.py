"""The tables that scikit-learn taught know the release that is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "fixtures" / "learned" / "names.py"


def test_the_table_has_what_the_installed_source_assigns() -> None:
    """A release that assigns more is told here; `make learned` then makes the tables anew."""
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), "scikit_learn", "--check"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
