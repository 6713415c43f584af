"""The reader stands alone: its own files, msgpack in pure Python, and nothing installed.

`.ci/pyodide` reads the same files in WebAssembly.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fixtures import reader_alone
from fixtures.reader_alone import make
from tests import processes


def test_an_archive_is_listed_verified_and_read_by_the_files_of_its_reader_alone(tmp_path: Path) -> None:
    make.main(tmp_path)
    script = Path(reader_alone.__path__[0]) / "read.py"
    command = [sys.executable, "-I", "-S", "-W", "error", script, tmp_path]
    run = processes.run(command, cold=True, capture_output=True, text=True, check=False)
    assert (run.stderr, run.returncode) == ("", 0)
    found, refused = run.stdout.splitlines()
    assert json.loads(found) == json.loads((tmp_path / "expected.json").read_text(encoding="utf-8"))
    assert refused == "IntegrityError"
