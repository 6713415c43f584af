"""Packages to read, written as text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

Tree = Callable[[str], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Write files given as one text, each after a line `== path`; return their folder."""

    def write(text: str) -> Path:
        root = tmp_path / "tree"
        for part in re.split(r"^== ", textwrap.dedent(text), flags=re.MULTILINE)[1:]:
            name, _, content = part.partition("\n")
            path = root / name.strip()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return root

    return write
