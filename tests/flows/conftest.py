"""A project of three files, exported here and loaded in fresh processes from another folder."""

import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import processes
from tests.flows.places import Place

PROJECT = {
    "flownet/__init__.py": "from .net import Net as Net, build as build\n",
    "flownet/net.py": """
        from importlib.resources import files

        from kellet import nn

        from .blocks import Block

        class Net(nn.Module):
            def __init__(self, width=6):
                super().__init__()
                self.words = (files(__package__) / "data" / "words.txt").read_text().split()
                self.first = nn.Linear(4, width)
                self.block = Block(width)
                self.head = nn.Linear(width, len(self.words))
                self.head.tied = self.first.bias

            def forward(self, x):
                return self.head(self.block(self.first(x)))

        def build(width=6):
            return Net(width)
    """,
    "flownet/blocks.py": """
        from kellet import nn

        try:
            import a_distribution_that_is_not_here as optional
        except ImportError:
            optional = None

        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.norm = nn.BatchNorm1d(width)
                self.act = nn.GELU()
                self.register_forward_hook(self.count)
                self.calls = 0

            def count(self, module, args, output):
                self.calls += 1

            def forward(self, x):
                return x + self.act(self.norm(x))
    """,
    "flownet/data/words.txt": "cat dog bird\n",
}


@pytest.fixture
def project(tmp_path) -> Path:
    """The folder of the project."""
    for name, text in PROJECT.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path / "project"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """The small project of `places.py` in a folder of its own."""
    return Place(tmp_path)


@pytest.fixture
def run(tmp_path) -> Callable[..., str]:
    """Run a script in a fresh process, in a folder; the original is importable in its own folder only."""

    def run(script: str, folder: Path | None = None, *, seed: str = "0") -> str:
        where = folder or tmp_path / "elsewhere"
        where.mkdir(exist_ok=True)
        done = processes.run(
            [sys.executable, *processes.STRICT, "-c", textwrap.dedent(script)],
            cwd=where,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONHASHSEED": seed, "KELLET_CACHE": str(tmp_path / "cache")},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
