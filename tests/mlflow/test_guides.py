"""The guides about MLflow and workers run, with what `make test` lacks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mlflow")
pytest.importorskip("distributed")

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
BLOCK = re.compile(r"(<!-- not run: [^>]+ -->\n)?```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize("name", ["mlflow.md", "workers.md"])
def test_a_guide_runs(name: str, tmp_path: Path, store: str) -> None:
    blocks = BLOCK.findall((GUIDES / name).read_text(encoding="utf-8"))
    ours = [code for why, code in blocks if not why or "tests/" in why]
    assert len(ours) > (name == "workers.md")
    program = tmp_path / "guide.py"
    program.write_text("\n".join(ours), encoding="utf-8")
    environment = os.environ | {"MLFLOW_TRACKING_URI": store}
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
