"""Files and folders appear whole or not at all; one place says where what is kept lies."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from packager._atomic import files_into, new_folder, replaced_file, replaced_folder
from packager._caches import cache_folder, keep_file, keep_folder
from packager._file_access import os_error_mend
from packager.errors import ArgumentError
from tests import processes


def _fail_in(context: AbstractContextManager[Any], write: Callable[[Any], object]) -> None:
    with context as place:
        write(place)
        raise ZeroDivisionError


def listed(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_replaced_file_keeps_the_permissions_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "lock.txt"
    path.write_text("old")
    path.chmod(0o640)
    with replaced_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert listed(tmp_path) == ["lock.txt"]


def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "lock.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError):
        _fail_in(replaced_file(path), lambda file: file.write(b"half"))
    assert path.read_text() == "old"
    assert listed(tmp_path) == ["lock.txt"]


def test_an_error_names_the_file_that_the_user_named(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "lock.txt"
    with pytest.raises(FileNotFoundError, match="there is no such folder") as caught, replaced_file(missing):
        raise AssertionError("never reached")
    assert caught.value.filename == str(tmp_path / "no")
    with pytest.raises(OSError, match="No space left") as full, replaced_file(tmp_path / "lock.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert full.value.filename == str(tmp_path / "lock.txt")
    with pytest.raises(IsADirectoryError) as folder, replaced_file(tmp_path):
        raise AssertionError("never reached")
    assert folder.value.filename == str(tmp_path)


def test_a_symlink_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with replaced_file(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.unix
def test_the_file_that_a_dangling_link_names_is_made(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    with replaced_file(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "file").read_text() == "new"


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # it has 107 bytes at most


MAKERS: dict[str, Callable[[Path], None]] = {"fifo": os.mkfifo, "socket": make_socket}
if getattr(os, "geteuid", lambda: 1)() == 0:  # nobody else makes devices
    MAKERS["device"] = lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))


@pytest.mark.unix
@pytest.mark.parametrize("name", ["thing", "link"])
@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_no_file_is_neither_replaced_nor_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    MAKERS[kind](tmp_path / "thing")
    (tmp_path / "link").symlink_to("thing")
    before = (tmp_path / "thing").stat()
    with (
        pytest.raises(OSError, match="it is a device, FIFO or socket, which is never replaced") as caught,
        replaced_file(tmp_path / name),
    ):
        raise AssertionError("never reached")
    assert (caught.value.errno, caught.value.filename) == (errno.EINVAL, str(tmp_path / name))
    assert (tmp_path / "thing").stat() == before
    assert listed(tmp_path) == ["link", "thing"]


@pytest.mark.unix
def test_an_open_file_that_has_no_name_is_refused_by_the_path_that_leads_to_it() -> None:
    with tempfile.TemporaryFile() as removed:
        reading, writing = os.pipe()
        try:
            for number in (writing, removed.fileno()):
                path = f"/dev/fd/{number}"
                with (
                    pytest.raises(OSError, match=f"which is never replaced; .*: '{path}'"),
                    replaced_file(path),
                ):
                    raise AssertionError("never reached")
        finally:
            os.close(reading)
            os.close(writing)


@pytest.mark.unix
def test_a_link_that_leads_back_to_itself_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="Too many levels of symbolic links"), replaced_file(tmp_path / "loop"):
        raise AssertionError("never reached")
    assert listed(tmp_path) == ["loop"]


def test_the_part_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    killed = """
import os, signal, sys
from packager._atomic import replaced_file
with replaced_file(sys.argv[1]) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = processes.run([sys.executable, "-c", killed, str(tmp_path / "a")], check=False)
    assert done.returncode == -9
    (litter,) = listed(tmp_path)
    assert litter.startswith(".a.")
    assert litter.endswith(".kellet-part")
    with replaced_file(tmp_path / "b") as file:
        file.write(b"whole")
        assert len(listed(tmp_path)) == 1  # its own part, while it is at work
    assert listed(tmp_path) == ["b"]


def test_the_part_of_a_writer_at_work_stays(tmp_path: Path) -> None:
    with replaced_file(tmp_path / "slow") as slow:
        slow.write(b"1")
        with replaced_file(tmp_path / "quick") as quick:
            quick.write(b"2")
        slow.write(b"3")
    assert (tmp_path / "slow").read_bytes() == b"13"
    assert listed(tmp_path) == ["quick", "slow"]


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    with replaced_folder(tmp_path / "out" / "net") as part:
        (part / "a").mkdir()
        (part / "a" / "b").write_text("1")
        assert not (tmp_path / "out" / "net").exists()
    assert listed(tmp_path) == ["out", "out/net", "out/net/a", "out/net/a/b"]


def test_a_folder_that_fails_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        _fail_in(replaced_folder(tmp_path / "net"), lambda part: (part / "a").write_text("1"))
    assert listed(tmp_path) == []


def test_a_folder_that_holds_something_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "mine").write_text("kept")
    with pytest.raises(OSError, match=r"not empty: '.*net'$"), replaced_folder(tmp_path / "net") as part:
        (part / "a").write_text("1")
    assert listed(tmp_path) == ["net", "net/mine"]


@pytest.mark.unix
@pytest.mark.parametrize("there", [True, False])
def test_a_link_to_a_folder_is_never_replaced(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    before = listed(tmp_path)
    with (
        pytest.raises(OSError, match=r"it is a link; name the folder that it leads to: '.*link'$"),
        replaced_folder(tmp_path / "link"),
    ):
        raise AssertionError("never reached")
    assert listed(tmp_path) == before


@pytest.mark.unix
def test_a_folder_that_fails_behind_a_link_is_empty_again(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    with pytest.raises(ZeroDivisionError):
        _fail_in(new_folder(tmp_path / "link"), lambda _: (tmp_path / "link" / "a").write_text("1"))
    assert listed(tmp_path) == ["empty", "link"]
    assert (tmp_path / "link").is_symlink()


def test_files_come_into_a_folder_together(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "old").write_text("kept")
    with files_into(tmp_path / "wheels") as part:
        (part / "a").write_text("1")
        (part / "b").write_text("2")
        assert not (tmp_path / "wheels" / "a").exists()
    assert listed(tmp_path / "wheels") == ["a", "b", "old"]


def test_files_that_fail_leave_no_folder_that_was_not_there(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        _fail_in(files_into(tmp_path / "wheels"), lambda part: (part / "a").write_text("1"))
    assert listed(tmp_path) == []


def test_what_is_kept_is_for_this_user_alone(tmp_path: Path) -> None:
    keep_file(tmp_path / "cache" / "5e" / "5e1f", b"scan")
    assert (tmp_path / "cache" / "5e" / "5e1f").read_bytes() == b"scan"
    assert stat.S_IMODE((tmp_path / "cache" / "5e" / "5e1f").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "cache" / "5e").stat().st_mode) == 0o700


def test_the_first_folder_that_is_kept_stays(tmp_path: Path) -> None:
    with keep_folder(tmp_path / "net") as mine:
        (mine / "a").write_text("second")
        with keep_folder(tmp_path / "net") as other:
            (other / "a").write_text("first")
    assert (tmp_path / "net" / "a").read_text() == "first"
    assert listed(tmp_path) == ["net", "net/a"]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"KELLET_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own/scans"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/kellet/scans"),
        ({"HOME": "/home/ada"}, "/home/ada/.cache/kellet/scans"),
        ({"XDG_CACHE_HOME": "xdg", "HOME": "/home/ada"}, "/home/ada/.cache/kellet/scans"),
    ],
)
def test_one_variable_says_where_everything_is_kept(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("KELLET_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder("scans") == Path(expected)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOENT, "create the folder"),
        pytest.param(errno.EACCES, "give permission, or write elsewhere", marks=pytest.mark.unix),
        (errno.ENOSPC, "free some space, or write to another disk"),
        (errno.ENAMETOOLONG, "choose a shorter name"),
        (errno.EIO, "look after the disk"),
    ],
)
def test_each_failure_has_its_own_advice(number: int, advice: str) -> None:
    assert os_error_mend(OSError(number, os.strerror(number))) == advice


def test_a_cache_of_ours_does_not_depend_on_the_working_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KELLET_CACHE", "cache")
    with pytest.raises(ArgumentError, match=r"KELLET_CACHE='cache': expected an absolute path, .* set it"):
        cache_folder("scans")
