"""What `kellet.save` does to the thing that its path leads to: a file is replaced whole, all else is left."""

from __future__ import annotations

import errno
import io
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kellet

pytestmark = pytest.mark.unix


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path has 107 bytes at most


def make_socket() -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("thing")


MAKERS: dict[str, Callable[[], None]] = {"fifo": lambda: os.mkfifo("thing"), "socket": make_socket}
if getattr(os, "geteuid", lambda: 1)() == 0:  # nobody else makes devices
    MAKERS["device"] = lambda: os.mknod("thing", stat.S_IFCHR | 0o666, os.makedev(1, 3))


@pytest.mark.parametrize("path", ["thing", "a link", "a link to a link"])
@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_no_file_is_never_replaced(kind: str, path: str) -> None:
    MAKERS[kind]()
    os.symlink("thing", "a link")
    os.symlink("a link", "a link to a link")
    before = {name: (os.lstat(name).st_mode, os.lstat(name).st_ino) for name in os.listdir()}
    with pytest.raises(OSError, match="it is a device, FIFO or socket, which is never replaced") as caught:
        kellet.save(kellet.ones(2), path)
    assert (caught.value.errno, caught.value.filename) == (errno.EINVAL, path)
    assert {name: (os.lstat(name).st_mode, os.lstat(name).st_ino) for name in os.listdir()} == before


def test_a_pipe_that_is_an_open_file_is_refused_and_written_to_as_a_file_object() -> None:
    os.symlink("/dev/fd/1", "stdout")  # as the one in /dev, which no test may touch
    program = "import kellet, sys\nkellet.save(kellet.ones(2), 'stdout')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert "OSError: [Errno 22] it is a device, FIFO or socket, which is never replaced" in done.stderr
    assert os.readlink("stdout") == "/dev/fd/1"
    program = "import kellet, sys\nkellet.save(kellet.ones(2), sys.stdout.buffer)"
    written = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    assert kellet.load(io.BytesIO(written)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("path", ["here", "relative", "absolute", "twice"])
def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced_with_its_permissions(path: str) -> None:
    os.mkdir("elsewhere")
    kellet.save(kellet.zeros(1), "elsewhere/file")
    os.chmod("elsewhere/file", 0o640)
    before = os.stat("elsewhere/file").st_ino
    links = {
        "here": "elsewhere/file",
        "relative": "./elsewhere/../elsewhere/file",
        "absolute": os.path.abspath("elsewhere/file"),
        "twice": "here",
    }
    for name, target in links.items():
        os.symlink(target, name)
    kellet.save(kellet.ones(2), path)
    assert {name: os.readlink(name) for name in links} == links
    assert kellet.load("elsewhere/file").tolist() == [1.0, 1.0]
    assert stat.S_IMODE(os.stat("elsewhere/file").st_mode) == 0o640
    assert os.stat("elsewhere/file").st_ino != before, "replaced whole, not written over"
    assert os.listdir("elsewhere") == ["file"]


def test_the_file_that_a_dangling_link_names_is_made() -> None:
    os.mkdir("elsewhere")
    os.symlink("elsewhere/file", "link")
    kellet.save(kellet.ones(2), "link")
    assert os.readlink("link") == "elsewhere/file"
    assert kellet.load("elsewhere/file").tolist() == [1.0, 1.0]


def test_a_failed_save_through_a_link_leaves_the_old_file_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    os.mkdir("elsewhere")
    kellet.save(kellet.zeros(1), "elsewhere/file")
    os.symlink("elsewhere/file", "link")

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        kellet.save(kellet.ones(2), "link")
    assert kellet.load("elsewhere/file").tolist() == [0.0]
    assert (sorted(os.listdir()), os.listdir("elsewhere")) == (["elsewhere", "link"], ["file"])


@pytest.mark.parametrize(
    ("path", "kind", "said"),
    [
        ("loop", OSError, "Too many levels of symbolic links"),
        ("folder", IsADirectoryError, "it is a folder; name a file in it: 'folder'"),
        ("to a folder", IsADirectoryError, "it is a folder; name a file in it: 'to a folder'"),
        ("missing/file", FileNotFoundError, "No such file or directory: 'missing/file'$"),
        ("to a missing folder", FileNotFoundError, "No such file or directory: 'to a missing folder'$"),
        ("file/inside", NotADirectoryError, "Not a directory: '.*file/inside'$"),
    ],
)
def test_a_path_that_leads_to_no_file_is_an_error_that_names_it(
    path: str, kind: type[OSError], said: str
) -> None:
    os.symlink("loop", "loop")
    os.mkdir("folder")
    os.symlink("folder", "to a folder")
    os.symlink("missing/file", "to a missing folder")
    Path("file").touch()
    before = sorted(os.listdir())
    with pytest.raises(kind, match=said):
        kellet.save(kellet.ones(2), path)
    assert (sorted(os.listdir()), os.listdir("folder")) == (before, [])
