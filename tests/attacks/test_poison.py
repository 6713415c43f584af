"""The search for attributes that do not fit finds what rows keep away, and nothing that they let through."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
SCRIPT = Path(__file__).parents[2] / "fixtures" / "families" / "poison.py"


@pytest.mark.skipif(sys.platform != "linux", reason="guard pages and limits are those of Linux")
def test_each_row_is_found_again_when_it_is_taken_away() -> None:
    line = [sys.executable, SCRIPT, "DictVectorizer", "KNeighborsClassifier", "--fits", "1", "--rows"]
    made = subprocess.run(line, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    assert re.search(r"^without rows: DictVectorizer\.vocabulary_: SIG(SEGV|ABRT|BUS) ", made.stdout, re.M)
    assert re.search(r"^\d+ changes of 2 fits in .* minutes$", made.stdout, re.M)
    assert made.stdout.endswith(" 0 that no row refuses\n")
