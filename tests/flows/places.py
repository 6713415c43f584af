"""A small project, places in which it is exported, and an empty folder where what it wrote is loaded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fixtures.real_packages.projects import site_with
from packager import PackageImporter
from tests import processes

PROVED = "(True, '')"
"""What a program of the project prints where its archive was proved."""

PROJECT = {
    "net/__init__.py": "",
    "net/model.py": """
        from importlib import import_module

        class Net:
            def __init__(self, part):
                self.part = part

            def __call__(self, x):
                return import_module(f"net.parts.{self.part}").grown(x)
    """,
    "net/painted.py": """
        from paint import coat
        from .model import Net

        class Painted(Net):
            def __call__(self, x):
                return coat(super().__call__(x))
    """,
    "net/parts/__init__.py": "",
    "net/parts/wide.py": "def grown(x):\n    return 3 * x\n",
    "saving.py": """
        import sys
        from packager import PackageExporter

        def saved(model, path=sys.argv[-1], **options):
            with PackageExporter(path, policy="auto", **options) as exporter:
                exporter.save_object("model", "model", model)
                exporter.save_example("model", {"arg0": 2})
            return exporter.proof and (exporter.proof.ok, exporter.proof.unproved)
    """,
    "script.py": "from net.model import Net\nfrom saving import saved\nprint(saved(Net('wide')))\n",
    "painted.py": "from net.painted import Painted\nfrom saving import saved\nprint(saved(Painted('wide')))",
}
PAINT = {
    "paint.py": "def coat(x):\n    return x + 1\n",
    "paint-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: paint\nVersion: 1.0\n",
    "paint-1.0.dist-info/RECORD": "paint.py,,\npaint-1.0.dist-info/METADATA,,\n",
}
LOAD = """
import os, sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    model = importer.load_object("model", "model")
    print(model(2), all(one.within(0.0) for one in importer.check()), "paint" in importer.modules)
"""


class Place:
    """The project in a folder, with the Python and the variables of the place in which it is exported."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "out.kellet"
        self.here, self.elsewhere = folder / "here", folder / "elsewhere"
        self.python: list[str | Path] = [sys.executable]
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))
        }
        self.env = {**kept, "KELLET_CACHE": str(folder / "cache")}
        self.elsewhere.mkdir(parents=True)
        self.write(PROJECT)

    def write(self, tree: Mapping[str, str]) -> None:
        """Write files of the project."""
        write_into(self.here, tree)

    def run(
        self, *arguments: object, cwd: Path | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run the Python of the place, every warning an error."""
        return processes.run(
            [*self.python, "-W", "error", *map(str, arguments)],
            cold=True,
            cwd=cwd or self.here,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **options,
        )

    def said(self, *arguments: object, cwd: Path | None = None) -> str:
        """Run it, and return what it printed."""
        done = self.run(*arguments, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def loaded(self) -> str:
        """Load the archive with the Python of the place, without the project."""
        return self.said("-P", "-c", LOAD, self.file, cwd=self.elsewhere)


def answer_of(file: Path) -> object:
    """Load an archive here, and return what its model answers; its golden call gives the same."""
    with PackageImporter(file) as importer:
        model = importer.load_object("model", "model")
        assert all(outcome.within(0.0) for outcome in importer.check())
        assert "net.parts.wide" in importer.modules
        return model(2)


def write_into(folder: Path, tree: Mapping[str, str]) -> None:
    for name, text in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")


def install_paint(site: Path) -> Path:
    """Lay a library out in a folder as pip does."""
    write_into(site, PAINT)
    return site


def install_ours(site: Path) -> Path:
    """Link kellet, packager and what they require into a folder."""
    site.parent.mkdir(parents=True, exist_ok=True)
    site_with((), site)
    return site


def moved_python(prefix: Path) -> Path:
    """Make a Python of a prefix of its own: a copy of the program, links to its library, no packages."""
    library = Path(os.__file__).parent
    program = prefix / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    own = prefix / "lib" / library.name
    for folder in (program.parent, own / "site-packages"):
        folder.mkdir(parents=True)
    shutil.copy2(os.path.realpath(sys.executable), program)
    (program.parent / "python").hardlink_to(program)
    for one in library.iterdir():
        if one.name not in ("site-packages", "dist-packages", "__pycache__"):
            (own / one.name).symlink_to(one)
    return prefix / "bin" / "python"
