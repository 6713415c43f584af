"""Archives load from where nothing can be written: file systems, folders, and whole machines."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from packager import PackageExporter
from tests import processes

LOAD = """
import sys, warnings
warnings.simplefilter("error")
sys.dont_write_bytecode = False
from packager import PackageImporter, verify

def load(path):
    assert verify(path).ok
    for mapped in (True, False):
        with PackageImporter(path, mmap=mapped) as importer:
            net = importer.load_object("model", "net")
            weights = importer.load_state_dict("model", "weights", as_="kellet")["w"]
            weights += 1  # on private memory
            resource = importer.import_module("ropkg").text()
            print(net["width"], weights.tolist(), resource)
"""
IN_PLACE = LOAD + "[load(path) for path in sys.argv[1:]]"

# What is imported late comes from where this user alone may read, perhaps: loads of both forms before.
AS_NOBODY = (
    LOAD
    + """
import contextlib, errno, os, tempfile
from packager._archive import ArchiveIOError
from packager._loading import unpacking

load(sys.argv[1])
with contextlib.redirect_stdout(None):
    load(sys.argv[2])
with PackageImporter(sys.argv[1]) as importer:
    print(importer.import_module("ropkg.placed").beside)
os.environ["KELLET_CACHE"] = sys.argv[3]
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
tempfile.tempdir = None
tempfile._candidate_tempdir_list = lambda: [sys.argv[3]]
load(sys.argv[1])
load(sys.argv[2])
unpacking._temporary_folder = lambda: sys.argv[3]  # and not /tmp, where tests may write
with PackageImporter(sys.argv[1]) as importer:
    try:
        importer.import_module("ropkg.placed")
    except ArchiveIOError as error:
        print(error.errno == errno.EACCES, str(error).partition(":")[0], str(error).rpartition("; ")[2])
"""
)
ANSWER = "4 [1.0, 2.0] cat\n" * 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds an archive, and the same unzipped."""
    import numpy as np

    folder = tmp_path / "held"
    folder.mkdir()
    with PackageExporter(folder / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_source_string(
            "ropkg",
            "import importlib.resources\n"
            "def text():\n    return (importlib.resources.files(__name__) / 'word.txt').read_text()\n",
            is_package=True,
        )
        exporter.save_source_string(
            "ropkg.placed",
            "import os\nbeside = open(os.path.join(os.path.dirname(__file__), 'word.txt')).read()\n",
        )
        exporter.save_text("ropkg", "word.txt", "cat")
        exporter.save_object("model", "net", {"width": 4})
        exporter.save_state_dict("model", "weights", {"w": np.arange(2, dtype="f4")})
    with zipfile.ZipFile(folder / "net.kellet") as archive:
        archive.extractall(folder / "unzipped")
    return folder


def printed(command: list[str], cache: Path) -> str:
    environment = {**os.environ, "KELLET_CACHE": str(cache)}
    done = processes.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


NAMESPACE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
MOUNTED = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && ! touch "$1/x" 2>/dev/null'


def may_mount(tmp_path: Path) -> bool:
    tried = processes.run([*NAMESPACE, "sh", "-c", MOUNTED, "sh", tmp_path], capture_output=True, check=False)
    return tried.returncode == 0


def test_everything_loads_from_a_read_only_file_system(folder: Path) -> None:
    if not may_mount(folder):
        pytest.skip("this system lets no user mount a file system; the test below needs none")
    program = f'{MOUNTED} && shift && cd {shlex.quote(str(folder))} && exec "$@"'
    paths = [str(folder / "net.kellet"), str(folder / "unzipped")]
    command = [*NAMESPACE, "sh", "-c", program, "sh", str(folder), sys.executable, "-c", IN_PLACE, *paths]
    assert printed(command, folder / "cache") == ANSWER * 2
    assert sorted(os.listdir(folder)) == ["net.kellet", "unzipped"]


@pytest.fixture
def open_folder(folder: Path) -> Iterator[Path]:
    """The same outside of pytest's own folders, which each run that starts closes to other users."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(shutil.copytree(folder, os.path.join(os.path.realpath(place), "held")))


def test_everything_loads_where_this_user_may_write_nowhere(open_folder: Path, tmp_path: Path) -> None:
    folder = open_folder
    for path in (folder, *folder.parents):
        if path.stat().st_uid == os.geteuid() and not path.stat().st_mode & stat.S_IXOTH:
            path.chmod(path.stat().st_mode | stat.S_IXOTH)
    folder.chmod(0o555)
    paths = [str(folder / "net.kellet"), str(folder / "unzipped"), str(folder)]
    found = printed([sys.executable, "-c", AS_NOBODY, *paths], tmp_path / "cache")
    folder.chmod(0o755)  # or what clears up after tests could not
    refused = "True ropkg set KELLET_CACHE to a folder that can be written\n"
    assert found == ANSWER + "cat\n" + ANSWER * 2 + refused
    assert sorted(os.listdir(folder)) == ["net.kellet", "unzipped"]
