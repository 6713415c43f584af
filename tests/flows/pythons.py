"""The supported Pythons of this machine, and how they come by the packages that loading needs."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tests import processes

__all__ = ["Python", "pythons_at_hand"]

SERIES = ("3.11", "3.12", "3.13", "3.14")
# What loading code needs. msgpack has a form in pure Python, which every series can read.
NEEDED = ("packager", "msgpack")


@dataclass(frozen=True)
class Python:
    """An interpreter: its path, and whether packages must be lent to it."""

    series: str
    executable: str
    lent: bool = False

    @classmethod
    def running(cls) -> Python:
        """The one that runs the tests, as it is."""
        return cls(f"{sys.version_info[0]}.{sys.version_info[1]}", sys.executable)

    def environment(self, path: str = "") -> dict[str, str]:
        """Variables for a process of it; `path` is one folder to import from."""
        folders = [path] if path else []
        if not self.lent:
            return {"PYTHONPATH": os.pathsep.join(folders)}
        return {"PYTHONPATH": os.pathsep.join([*folders, _lent_packages()]), "MSGPACK_PUREPYTHON": "1"}

    def __str__(self) -> str:
        return self.series


@lru_cache
def pythons_at_hand() -> tuple[Python, ...]:
    """The running Python, and one of every other supported series that this machine has."""
    here = Python.running()
    others = [found for series in SERIES if series != here.series and (found := _find(series))]
    return (here, *others)


def _find(series: str) -> Python | None:
    """Look on PATH, then in pyenv's own folders: its shims refuse what is not switched on."""
    found = [shutil.which(f"python{series}")]
    for root in (os.environ.get("PYENV_ROOT", ""), os.path.expanduser("~/.pyenv")):
        found += map(str, sorted(Path(root or "/nowhere").glob(f"versions/*/bin/python{series}")))
    for candidate in filter(None, found):
        said = processes.run(
            [candidate, "-I", "-c", "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
        if said[1:] == [series]:
            return Python(series, said[0], lent=True)
    return None


@lru_cache
def _lent_packages() -> str:
    """A folder of links to the packages that loading needs, and to nothing else of where they lie."""
    folder = Path(tempfile.mkdtemp(prefix="kellet-lent-"))
    for name in NEEDED:
        spec = find_spec(name)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        (folder / name).symlink_to(next(iter(spec.submodule_search_locations)), target_is_directory=True)
    return str(folder)
