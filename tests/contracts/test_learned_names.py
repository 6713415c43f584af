"""The tables that scikit-learn taught know the release that is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from packager.codecs import find_library
from packager.libraries.family_names import FAMILY_CLASSES

SCRIPT = Path(__file__).parents[2] / "fixtures" / "learned" / "names.py"


def test_the_table_has_what_the_installed_source_assigns() -> None:
    """A release that assigns more is told here; `make learned` then makes the tables anew."""
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), "scikit_learn", "--check"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_each_class_of_the_family_has_a_line() -> None:
    library = find_library("sklearn")
    assert library is not None
    assert library.learned is not None
    rows = library.learned()
    missing = [
        f"{module}:{name}"
        for module, names in FAMILY_CLASSES.items()
        if module.partition(".")[0] == "sklearn"
        for name in names.split()
        if not rows.has_class(f"{module}:{name}")
    ]
    assert missing == []
