"""Hostile files and folders: links, devices, holes without end, and files that change while they are read."""

from __future__ import annotations

import errno
import io
import os
import signal
import socket
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from packager._archive import (
    ArchiveIOError,
    ArchiveReader,
    ArchiveWriter,
    ExternRecord,
    Manifest,
    ModuleRecord,
    verify,
)
from packager._archive.bounds import MAX_ENTRIES, MAX_PACKED
from packager._archive.zip_container import ZipEntry, end_records, local_header
from packager.errors import ArchiveError, IntegrityError, PackageError
from tests import processes
from tests.tables import one_test

CHUNK = 1 << 20


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "net.kellet"
    with ArchiveWriter(path, fsync=False) as writer:
        writer.add("net/__init__.py", b"x = 1\n", kind="source")
        writer.add("net/data/words.txt", b"one two", kind="resource")
        writer.add("net/big", bytes(3 * CHUNK), kind="resource", align=64)
        writer.seal(Manifest())
    return path


@pytest.fixture
def folder(archive: Path, tmp_path: Path) -> Path:
    zipfile.ZipFile(archive).extractall(tmp_path / "folder")
    return tmp_path / "folder"


# --- paths ---


def test_a_device_is_refused_before_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*arguments: object, **options: object) -> int:
        raise AssertionError("opened")

    monkeypatch.setattr(os, "open", opened)
    for device in ("/dev/null", "/dev/zero", "/dev/tty"):
        with pytest.raises(ArchiveError, match="a device or folder; expected a file"):
            ArchiveReader(device)


def test_a_socket_is_what_open_says(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="No such device or address"):
            ArchiveReader(tmp_path / "socket")


def test_a_file_open_for_text_is_a_type_error(archive: Path) -> None:
    for file in (open(archive, encoding="latin-1"), io.StringIO("PK")):  # noqa: SIM115  # closed below
        with file, pytest.raises(TypeError, match="open it with mode 'rb'"):
            ArchiveReader(file)  # type: ignore[arg-type]  # what a caller may do all the same


def test_a_pipe_that_does_not_fit_is_a_typed_error(archive: Path) -> None:
    code = (
        "import resource, signal, sys\n"
        "from packager._archive import ArchiveIOError, ArchiveReader\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "try:\n"
        "    ArchiveReader(sys.stdin.buffer)\n"
        "except ArchiveIOError as error:\n"
        "    print(error.errno, error)\n"
    )
    with processes.Popen(["cat", str(archive)], stdout=processes.PIPE) as cat:
        done = processes.run(
            [sys.executable, "-c", code], stdin=cat.stdout, capture_output=True, text=True, check=True
        )
    assert done.stdout.startswith(f"{errno.EFBIG} <stdin>: it cannot be copied")


# --- folders ---


def test_a_folder_of_something_else_is_not_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand names may tell of which kind it is; it may have millions, and folders below."""

    @contextmanager
    def listed(*arguments: object) -> Iterator[Any]:
        def names() -> Iterator[Any]:
            yield from [SimpleNamespace(name="a.txt")] * 1000
            raise AssertionError("listed to its end")

        yield names()

    monkeypatch.setattr(os, "scandir", listed)
    for path in (Path("/"), tmp_path):
        with pytest.raises(ArchiveError, match=r"no \.data/manifest\.msgpack; expected an unpacked archive"):
            ArchiveReader(path)


@pytest.mark.parametrize("name", ["net", "net/data", "net/data/words.txt", ".data", ".data/manifest.msgpack"])
@pytest.mark.parametrize("target", ["elsewhere", "/etc", "/dev/zero", "nowhere", "."])
def test_links_are_refused_wherever_they_stand(folder: Path, name: str, target: str) -> None:
    moved = folder.parent / "moved"
    (folder / name).rename(moved)
    (folder / name).symlink_to(moved if target == "elsewhere" else target)
    with pytest.raises(ArchiveError, match=r"a link or special file|no \.data/manifest\.msgpack"):
        ArchiveReader(folder)


@pytest.mark.parametrize("name", ["net", "net/data", "net/data/words.txt"])
@pytest.mark.parametrize("digests", ["crc", "none"])
def test_a_link_put_there_after_opening_is_not_followed(folder: Path, name: str, digests: str) -> None:
    with ArchiveReader(folder, digests=digests) as reader:
        assert reader.read("net/data/words.txt") == b"one two"
        (folder / name).rename(folder.parent / "moved")
        (folder / name).symlink_to(folder.parent / "moved")
        with pytest.raises(
            ArchiveIOError, match=r"entry 'net/data/words\.txt': it cannot be opened"
        ) as caught:
            reader.read("net/data/words.txt")
        assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)


@pytest.mark.unix  # Windows has no pipes among its files
def test_a_pipe_put_there_after_opening_is_not_waited_for(folder: Path) -> None:
    with ArchiveReader(folder) as reader:
        (folder / "net/data/words.txt").unlink()
        os.mkfifo(folder / "net/data/words.txt")
        with pytest.raises(ArchiveError):
            reader.read("net/data/words.txt")


@pytest.fixture
def endless(folder: Path) -> Iterator[Path]:
    """A folder deeper than any path may be long, taken away by a tool that can."""
    place = os.open(folder, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d" * 200, dir_fd=place)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    yield folder
    processes.run(["rm", "-rf", str(folder)], check=True)


def test_a_folder_without_end_is_refused(endless: Path) -> None:
    with pytest.raises(
        ArchiveError, match="a path that is too long; expected at most 32 parts and 1024 bytes"
    ):
        ArchiveReader(endless)


def test_a_part_that_may_not_be_listed_is_a_typed_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refused(path: Any) -> Any:
        if str(path).rstrip("/").endswith("net/data"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(ArchiveIOError, match="it cannot be listed"):
        ArchiveReader(folder)


# --- holes without end ---


def sparse(path: Path, size: int, tail: bytes = b"") -> Path:
    with open(path, "wb") as file:
        file.truncate(size - len(tail))
        file.seek(0, os.SEEK_END)
        file.write(tail)
    return path


TERA = 1 << 40


def directories() -> Iterator[tuple[str, bytes]]:
    yield "nothing at all", b""
    for name, count, start, length in (
        ("one endless record", 1, 0, TERA - 98),
        ("as many records as fit", (TERA - 98) // 46, 0, TERA - 98),
        ("an endless entry before nothing", 0, TERA - 98, 0),
    ):
        yield name, end_records(count, start, length)


@pytest.mark.parametrize("tail", [tail for _, tail in directories()], ids=[name for name, _ in directories()])
@pytest.mark.parametrize("mapped", [True, False])
def test_a_file_of_a_tebibyte_of_nothing_costs_nothing(tmp_path: Path, mapped: bool, tail: bytes) -> None:
    path = sparse(tmp_path / "x.kellet", TERA, tail)
    started = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveError):
            ArchiveReader(path, mmap=mapped)
        assert tracemalloc.get_traced_memory()[1] < CHUNK
    finally:
        tracemalloc.stop()
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("name", [".data/manifest.msgpack", ".data/manifest.sha256", ".data/signatures/me"])
def test_endless_reserved_entries_of_a_folder_are_not_read(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    sparse(folder / name, TERA)
    with pytest.raises(ArchiveError, match=rf"entry '{name}': found {TERA} bytes; expected at most"):
        ArchiveReader(folder).signatures()


def test_an_endless_manifest_or_signature_of_a_file_is_not_read(tmp_path: Path, forger: Any) -> None:
    size = MAX_PACKED + 1
    entry = ZipEntry(b".data/manifest.msgpack", size, 0, 1, 0)
    header = local_header(entry)
    digest = ZipEntry(b".data/manifest.sha256", 0, 0, 1, len(header) + size)
    from packager._archive.zip_container import central_directory

    path = tmp_path / "x.kellet"
    with open(path, "wb") as file:
        file.write(header)
        file.seek(size, os.SEEK_CUR)
        file.write(local_header(digest))
        file.write(central_directory([entry, digest], file.tell()))
    with pytest.raises(ArchiveError, match=f"found {size} bytes; expected at most {MAX_PACKED}"):
        ArchiveReader(path)
    signed = forger(after=[(".data/signatures/me", bytes(CHUNK + 1))]).build()
    assert "expected at most 1048576" in verify(ArchiveReader(signed)).problems[0].message


@pytest.mark.parametrize("kind", ["object", "extras", "index", "migration"])
def test_what_is_read_as_a_whole_may_not_be_endless(forger: Any, kind: str) -> None:
    from packager._archive import pack, unpack
    from packager._archive.entries import KINDS

    top = unpack(forger().honest_manifest(), what="x")
    top["entries"][1] = bytes([KINDS.index(kind)])
    top["entries"][2] = (MAX_PACKED + 1).to_bytes(8, "little")
    with pytest.raises(ArchiveError, match=f"{MAX_PACKED + 1} bytes of kind {kind}; at most"):
        ArchiveReader(forger(manifest=pack(top)).build())


def test_more_entries_than_are_read_are_refused_before_they_are() -> None:
    count = MAX_ENTRIES + 1
    data = bytes(47 * count)
    with pytest.raises(
        ArchiveError, match=f"found a directory of {count} entries .* expected at most {MAX_ENTRIES}"
    ):
        ArchiveReader(data + end_records(count, 0, len(data)))


# --- files that change ---


def overwrite(path: Path, position: int, data: bytes) -> None:
    """Change a file in place, as no writer of ours does, and make sure that its time says so."""
    before = path.stat().st_mtime_ns
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(data)
    os.utime(path, ns=(before + 10**9, before + 10**9))


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("digests", ["crc", "sha256"])
def test_what_was_changed_in_place_after_it_was_checked_is_checked_again(
    archive: Path, mapped: bool, digests: str
) -> None:
    at = archive.read_bytes().index(bytes(CHUNK)) + CHUNK
    with ArchiveReader(archive, mmap=mapped, digests=digests) as reader:
        assert reader.read("net/big") == bytes(3 * CHUNK)
        overwrite(archive, at, b"evil")
        with pytest.raises(IntegrityError, match="do not have the sha256"):
            reader.read("net/big")
        assert reader.view("net/big", 2 * CHUNK, 2 * CHUNK + 5) == bytes(5)
        overwrite(archive, at, bytes(4))
        assert reader.read("net/big") == bytes(3 * CHUNK)


def test_a_file_that_was_only_touched_is_read_on(archive: Path) -> None:
    with ArchiveReader(archive) as reader:
        reader.read("net/big")
        os.utime(archive)
        assert reader.read("net/big") == bytes(3 * CHUNK)


def test_another_file_in_its_place_is_not_looked_at(archive: Path, tmp_path: Path) -> None:
    with ArchiveReader(archive, mmap=False) as reader:
        (tmp_path / "other").write_bytes(bytes(archive.stat().st_size))
        os.replace(tmp_path / "other", archive)
        assert reader.read("net/big") == bytes(3 * CHUNK)


CUT = """
import os, sys
from packager._archive import ArchiveReader
from packager.errors import ArchiveError
with ArchiveReader(sys.argv[1], mmap=sys.argv[2] == "mapped") as reader:
    view = reader.view("net/big")
    os.truncate(sys.argv[1], 5000)
    try:
        reader.view("net/big")
    except ArchiveError as error:
        print(type(error).__name__, flush=True)
    print(bytes(view[-5:]))
"""


def test_what_holds_for_a_file_that_is_cut_short_is_as_promised(archive: Path) -> None:
    """New views are refused in both modes; a view that is out lives on when read, and not when mapped."""
    data = archive.read_bytes()
    outcomes = {}
    for mode in ("mapped", "read"):
        archive.write_bytes(data)
        done = processes.run([sys.executable, "-c", CUT, archive, mode], capture_output=True, text=True)
        outcomes[mode] = (done.returncode, done.stdout.splitlines())
    assert outcomes["read"] == (0, ["ArchiveChangedError", r"b'\x00\x00\x00\x00\x00'"])
    assert outcomes["mapped"] == (-signal.SIGBUS, ["ArchiveChangedError"])


@pytest.mark.parametrize("command", ["verify", "inspect", "extract"])
def test_commands_survive_a_file_that_is_cut_short_while_they_read(
    archive: Path, tmp_path: Path, command: str
) -> None:
    code = (
        "import os, sys\n"
        "from packager._archive import reader\n"
        "from packager._cli import main\n"
        "view, calls = reader.ArchiveReader.view, []\n"
        "def cut(self, name, *rest):\n"
        "    calls.append(name)\n"
        "    if len(calls) == 2: os.truncate(sys.argv[2], 200)\n"
        "    return view(self, name, *rest)\n"
        "reader.ArchiveReader.view = cut\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    extra = [str(tmp_path / "out")] if command == "extract" else []
    done = processes.run(
        [sys.executable, "-c", code, command, str(archive), *extra], capture_output=True, text=True
    )
    assert done.returncode in (0, 1, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


# --- names of modules ---


@one_test
@pytest.mark.parametrize(
    "name", ["", ".", "..", "../../tmp/evil", "a..b", ".a", "a.", "a/b", "a\\b", "c:x", "a b", "a\0", "a\nb"]
)
def test_names_of_modules_lead_nowhere_else(
    forger: Any, problems_of: Callable[[bytes], str], name: str
) -> None:
    module = ModuleRecord(name, "intern", "r", "b", "net/x.py")
    for facts in (Manifest(modules=(module,)), Manifest(externs=(ExternRecord(name, "unknown"),))):
        with pytest.raises(PackageError, match="expected a string, the dotted name of a module"):
            forger(facts=facts).build()


@one_test
@pytest.mark.parametrize("name", ["net", "net.layers", "_x.y2", "größe", "my-model.part-1", "__main__"])
def test_names_that_python_can_import_are_names_of_modules(
    forger: Any, accepts: Callable[..., bool], name: str
) -> None:
    module = ModuleRecord(name, "intern", "r", "b", "net/x.py")
    assert accepts(forger(facts=Manifest(modules=(module,))).build())
