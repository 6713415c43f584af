"""In the proof the project's folder is gone: what code of the archive opens there is not found."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import kellet
import packager
from packager import PackageExporter, PackagingWarning
from packager._proving import ProofError, search_places

pytestmark = pytest.mark.processes(share=3)

FIR = """
    import contextlib, os, sqlite3
    class Read:
        def __init__(self, path): self.path = os.path.abspath(path)
        def __call__(self, x):
            with open(self.path) as file: return x + len(file.read())
    class Listed(Read):
        def __call__(self, x): return x + len(os.listdir(self.path))
    class Scanned(Read):
        def __call__(self, x): return x + sum(1 for _ in os.scandir(self.path))
    class Asked(Read):
        def __call__(self, x):
            with contextlib.closing(sqlite3.connect(self.path)) as base:
                return x + base.execute("select 3").fetchone()[0]
    class Careful(Read):
        def __call__(self, x):
            try: return Read.__call__(self, x)
            except FileNotFoundError: return x
    """
TREE = {"fir/__init__.py": "", "fir/net.py": FIR, "words/list.txt": "abc", ".cache/list.txt": "abc"}


@pytest.fixture
def written(project, monkeypatch, tmp_path):
    """Write an archive of an object that was given a path of the project, with a golden call."""

    def write(cls: str, path: str) -> PackageExporter:
        import textwrap
        from importlib import import_module

        root = project({name: textwrap.dedent(text) for name, text in TREE.items()})
        monkeypatch.chdir(tmp_path)
        net = getattr(import_module("fir.net"), cls)(os.path.join(root, path))
        exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
        exporter.save_object("model", "model", net)
        exporter.save_example("model", {"x": np.ones(2)})
        exporter.close()
        return exporter

    return write


@pytest.mark.parametrize(
    ("cls", "path", "first"),
    [
        ("Read", "words/list.txt", "FileNotFoundError: [Errno 2] No such file or directory: "),
        ("Listed", "words", "FileNotFoundError: [Errno 2] No such file or directory: "),
        ("Scanned", "words", "FileNotFoundError: [Errno 2] No such file or directory: "),
        ("Asked", "words/list.db", "FileNotFoundError: [Errno 2] No such file or directory: "),
        ("Careful", "words/list.txt", "output: off by 3 at most"),
    ],
)
@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")
def test_what_a_golden_call_opens_in_the_project_is_not_there(written, tmp_path, cls, path, first):
    with pytest.raises(ProofError) as caught:
        written(cls, path)
    [problem] = caught.value.problems
    assert problem.reason == "An example fails or has other outputs in the clean process."
    assert problem.context.startswith(first)
    assert not (tmp_path / "net.kellet").exists()


@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")
def test_a_file_is_to_lie_beside_the_code_that_opens_it(written):
    with pytest.raises(ProofError) as caught:
        written("Read", "words/list.txt")
    [problem] = caught.value.problems
    assert "is in the project's folder, which the target lacks" in problem.context
    assert problem.fix == 'open(os.path.join(os.path.dirname(__file__), "list.txt"))  # import os'


@pytest.mark.parametrize("folder", [".", "project/.venv/lib/site-packages"])
@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")
def test_it_is_gone_wherever_our_own_packages_lie(written, tmp_path, monkeypatch, folder):
    """Above the project, as in a checkout where projects are, and below it, in its environment."""
    site = tmp_path / folder
    site.mkdir(parents=True, exist_ok=True)
    for own in (kellet, packager):
        (site / own.__name__).symlink_to(Path(own.__file__).parent)
    found = search_places._folders_of
    places = {"kellet": [str(site)], "packager": [str(site)]}
    monkeypatch.setattr(search_places, "_folders_of", lambda name: iter(places.get(name) or found(name)))
    with pytest.raises(ProofError, match="No such file or directory"):
        written("Read", "words/list.txt")


@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")
def test_it_is_gone_also_where_python_lies_in_it(written, tmp_path, monkeypatch):
    """As that of `conda create --prefix ./envs` does."""
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "project" / "envs"))
    with pytest.raises(ProofError, match="No such file or directory"):
        written("Read", "words/list.txt")


def test_what_is_hidden_in_it_counts_as_elsewhere_and_is_told(written):
    """Caches and environments lie there, which a target may have, too."""
    with pytest.warns(PackagingWarning, match=r"opened .*\.cache/list.txt, at fir/net.py:6 in Read.__call__"):
        exporter = written("Read", ".cache/list.txt")
    assert exporter.proof.ok
