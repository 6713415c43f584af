"""Section 11: beside the target, then in one step; and nothing is left behind."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from packager._archive import ArchiveIOError, ArchiveReader, ArchiveWriter, Manifest, verify
from packager.errors import ArchiveError
from tests import processes
from tests.tables import one_test


def save(target: object, content: object = b"content", size: int | None = None, **options: object) -> None:
    with ArchiveWriter(target, **options) as writer:  # type: ignore[arg-type]  # paths and file objects alike
        writer.add("entry", content, kind="resource", size=size)
        writer.seal(Manifest())


def content_of(path: object) -> bytes:
    with ArchiveReader(path) as reader:  # type: ignore[arg-type]  # paths and file objects alike
        return reader.read("entry")


def test_a_process_writes_what_it_began_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.getpid()
    with ArchiveWriter(tmp_path / "x.kellet") as writer:
        writer.add("a", b"1", kind="tensors", align=64)
        with monkeypatch.context() as other:
            other.setattr(os, "getpid", lambda: own + 1)
            message = f"x.kellet: process {own + 1} cannot write what process {own} began; make another"
            for call in (
                lambda: writer.add("b", b"2", kind="tensors", align=64),
                lambda: writer.seal(Manifest()),
            ):
                with pytest.raises(ArchiveError, match=message):
                    call()
        assert writer.is_open


def test_nothing_is_written_before_seal_and_nothing_without_it(tmp_path: Path) -> None:
    with ArchiveWriter(tmp_path / "x.kellet") as writer:
        writer.add("entry", b"", kind="resource")
        assert "entry" in writer
        assert os.listdir(tmp_path) == []
    assert os.listdir(tmp_path) == []
    for call in (lambda: writer.add("b", b"", kind="resource"), lambda: writer.seal(Manifest())):
        with pytest.raises(ValueError, match="sealed or aborted; make a new writer"):
            call()


def test_error_in_the_block_leaves_the_old_file(tmp_path: Path) -> None:
    save(tmp_path / "x.kellet", b"old")
    with contextlib.suppress(ZeroDivisionError), ArchiveWriter(tmp_path / "x.kellet") as writer:
        writer.add("entry", b"new", kind="resource")
        raise ZeroDivisionError
    assert content_of(tmp_path / "x.kellet") == b"old"
    assert os.listdir(tmp_path) == ["x.kellet"]


def broken() -> Iterator[bytes]:
    yield bytes(3 << 20)
    raise ZeroDivisionError("division")


@pytest.mark.parametrize(
    ("content", "size", "error", "message"),
    [
        (broken, 9 << 20, ZeroDivisionError, "division"),
        (
            lambda: iter([b"123"]),
            4,
            ArchiveError,
            "its content has 3 bytes; expected the 4 bytes that were said",
        ),
        (lambda: iter([bytes(2 << 20)]), 5, ArchiveError, "its content has more; expected the 5 bytes"),
        (lambda: iter([bytes(10 << 20), b"more"]), 10 << 20, ArchiveError, "its content has more"),
        (lambda: iter(["text"]), 4, TypeError, "bytes-like"),
    ],
)
def test_error_while_writing_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, content: Callable[[], object], size: int, error: type[Exception], message: str
) -> None:
    path = tmp_path / "x.kellet"
    save(path, b"old")
    with pytest.raises(error, match=message):
        save(path, content(), size)
    assert content_of(path) == b"old"
    assert os.listdir(tmp_path) == ["x.kellet"]


@pytest.mark.parametrize(
    "call",
    [
        "os.fsync",
        "os.replace",
        "os.open",
        pytest.param("os.pwrite", marks=pytest.mark.unix),
    ],
)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EMFILE, errno.EROFS])
def test_failing_system_calls_give_a_typed_error_and_leave_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    path = tmp_path / "x.kellet"
    save(path, b"old")

    def fail(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(call, fail)
        with pytest.raises(ArchiveIOError) as failed:
            save(path, bytes(3 << 20))
    assert isinstance(failed.value, OSError)
    assert (failed.value.errno, failed.value.filename) == (number, str(path))
    assert str(failed.value).startswith(
        f"{path}: the archive could not be written: {os.strerror(number)}; nothing"
    )
    assert content_of(path) == b"old"
    assert os.listdir(tmp_path) == ["x.kellet"]


@pytest.mark.unix
def test_writes_that_take_only_a_part_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.pwrite

    def a_little(descriptor: int, data: memoryview, position: int) -> int:
        return full(descriptor, data[:100_003], position)

    content = bytes(range(256)) * 20_000
    save(tmp_path / "whole.kellet", content)
    monkeypatch.setattr(os, "pwrite", a_little)
    save(tmp_path / "parts.kellet", content)
    assert (tmp_path / "parts.kellet").read_bytes() == (tmp_path / "whole.kellet").read_bytes()


def test_an_archive_is_the_same_where_nothing_is_written_at_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = bytes(range(256)) * 20_000  # its header is written once its digests are known

    def write(path: Path) -> bytes:
        with ArchiveWriter(path) as writer:
            for name in ("first", "second"):
                writer.add(name, [large, b"end", large[:10]], kind="resource", size=len(large) + 13)
            writer.add("small", b"", kind="resource")
            writer.seal(Manifest())
        return path.read_bytes()

    whole = write(tmp_path / "whole.kellet")
    for name in ("pwrite", "preadv", "pread"):
        monkeypatch.delattr(os, name)
    assert write(tmp_path / "plain.kellet") == whole
    with ArchiveReader(tmp_path / "plain.kellet", mmap=False) as reader:
        assert reader.read("second") == large + b"end" + large[:10]


LIMITED = """
import os, resource, signal, sys
from packager._archive import ArchiveIOError, ArchiveWriter, Manifest, ArchiveReader
import concurrent.futures.thread
path, limit = sys.argv[1:]
limits = {"size": (resource.RLIMIT_FSIZE, 1_000_000), "files": (resource.RLIMIT_NOFILE, 3)}
kind, value = limits[limit]
resource.setrlimit(kind, (value, value))
try:
    with ArchiveWriter(path, digests="sha256") as writer:
        writer.add("entry", bytes(50_000_000), kind="resource")
        writer.seal(Manifest())
except ArchiveIOError as error:
    print(error.errno)
"""


@pytest.mark.parametrize(("limit", "number"), [("size", errno.EFBIG), ("files", errno.EMFILE)])
def test_real_limits_of_the_system(tmp_path: Path, limit: str, number: int) -> None:
    path = tmp_path / "x.kellet"
    save(path, b"old")
    done = processes.run(
        [sys.executable, "-c", LIMITED, str(path), limit], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{number}\n"
    assert content_of(path) == b"old"
    assert os.listdir(tmp_path) == ["x.kellet"]


AS_NOBODY = """
import os, sys
from packager._archive import ArchiveIOError, ArchiveWriter, Manifest
import concurrent.futures.thread
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
for path in sys.argv[1:]:
    try:
        with ArchiveWriter(path) as writer:
            writer.seal(Manifest())
    except ArchiveIOError as error:
        print(error.errno)
"""


def test_no_permission(tmp_path: Path) -> None:
    locked, open_to_all = tmp_path / "locked", tmp_path / "open"
    locked.mkdir(mode=0o555)
    open_to_all.mkdir()
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
    open_to_all.chmod(0o777)
    save(open_to_all / "x.kellet", b"old")
    (open_to_all / "x.kellet").chmod(0o444)
    paths = [str(locked / "x.kellet"), str(open_to_all / "x.kellet")]
    done = processes.run(
        [sys.executable, "-c", AS_NOBODY, *paths], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{errno.EACCES}\n" * 2
    assert os.listdir(locked) == []
    assert os.listdir(open_to_all) == ["x.kellet"]
    assert content_of(open_to_all / "x.kellet") == b"old"


def test_folder_that_is_not_there_is_an_error_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(
        ArchiveIOError, match=r"no/x.kellet: the archive could not be written: there is no such folder"
    ):
        ArchiveWriter(tmp_path / "no" / "x.kellet")


@pytest.mark.unix
def test_steps_are_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    sync, rename = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        steps.append(
            f"fsync {kind} of {os.fstat(descriptor).st_size if kind == 'file' else ''}".rstrip("of ")
        )
        sync(descriptor)

    def renamed(source: str, target: str) -> None:
        steps.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", renamed)
    save(tmp_path / "x.kellet")
    size = (tmp_path / "x.kellet").stat().st_size
    assert steps == [f"fsync file of {size}", "rename", "fsync folder"]
    steps.clear()
    save(tmp_path / "x.kellet", fsync=False)
    assert steps == ["rename"]


def test_symlink_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    save(tmp_path / "real/x.kellet", b"old")
    link = tmp_path / "link.kellet"
    link.symlink_to("real/x.kellet")
    save(link, b"new")
    assert link.is_symlink()
    assert content_of(tmp_path / "real/x.kellet") == b"new"
    dangling = tmp_path / "dangling"
    dangling.symlink_to("real/y.kellet")
    save(dangling, b"made")
    assert content_of(tmp_path / "real/y.kellet") == b"made"
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(ArchiveIOError) as failed:
        save(loop)
    assert failed.value.errno == errno.ELOOP


def test_devices_fifos_and_folders_are_never_replaced(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in ("/dev/null", "/dev/full", str(fifo), str(tmp_path)):
        with pytest.raises(
            ArchiveIOError, match=r"device, FIFO or socket, which is never replaced|it is a folder"
        ):
            save(path)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert stat.S_ISFIFO(os.stat(fifo).st_mode)


@pytest.mark.unix
def test_permissions_are_those_of_the_replaced_file_or_of_a_new_one(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save(tmp_path / "new.kellet")
        assert stat.S_IMODE((tmp_path / "new.kellet").stat().st_mode) == 0o640
        for mode in (0o600, 0o664, 0o755):
            (tmp_path / "new.kellet").chmod(mode)
            save(tmp_path / "new.kellet")
            assert stat.S_IMODE((tmp_path / "new.kellet").stat().st_mode) == mode
    finally:
        os.umask(before)


def test_file_objects_receive_the_archive_where_they_stand(tmp_path: Path) -> None:
    file = io.BytesIO()
    save(file)
    assert content_of(file) == b"content"
    with open(tmp_path / "x", "wb") as raw:
        save(raw)
    assert content_of(tmp_path / "x") == b"content"
    assert file.getvalue() == (tmp_path / "x").read_bytes()
    with processes.Popen(["cat"], stdin=processes.PIPE, stdout=processes.PIPE) as cat:
        save(cat.stdin)
        out, _ = cat.communicate()
    assert out == file.getvalue()


def test_file_object_is_untouched_by_a_failed_save() -> None:
    file = io.BytesIO(b"before")
    with pytest.raises(ZeroDivisionError):
        save(file, broken(), 9 << 20)
    assert file.getvalue() == b"before"


def test_relative_paths_and_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ArchiveWriter("x.kellet") as writer:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        writer.seal(Manifest())
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "x.kellet"]


@pytest.mark.parametrize("letter", ["x", "é", "模"])
def test_long_names_have_room_for_the_part_file(tmp_path: Path, letter: str) -> None:
    path = tmp_path / (letter * (248 // len(letter.encode())) + ".kellet")
    save(path)
    assert content_of(path) == b"content"


def test_litter_of_killed_writers_is_removed_and_that_of_living_ones_stays(tmp_path: Path) -> None:
    litter = tmp_path / ".other.kellet.0123456789abcdef.kellet-part"
    litter.write_bytes(b"half an archive")
    not_ours = tmp_path / ".other.kellet-part"
    not_ours.write_bytes(b"")
    seen: list[str] = []
    started, go_on = threading.Event(), threading.Event()

    def slow() -> Iterator[bytes]:
        yield bytes(1 << 20)
        started.set()
        go_on.wait(30)
        yield bytes(1 << 20)

    def save_slowly() -> None:
        with ArchiveWriter(tmp_path / "slow.kellet") as writer:
            writer.add("entry", slow(), kind="resource", size=2 << 20)
            writer.seal(Manifest())

    thread = threading.Thread(target=save_slowly)
    thread.start()
    started.wait(30)
    litter.write_bytes(b"again")
    save(tmp_path / "quick.kellet")
    seen = sorted(os.listdir(tmp_path))
    go_on.set()
    thread.join()
    assert [name for name in seen if name.endswith("-part") and "slow" in name]
    assert litter.name not in seen
    assert sorted(os.listdir(tmp_path)) == [".other.kellet-part", "quick.kellet", "slow.kellet"]
    assert len(content_of(tmp_path / "slow.kellet")) == 2 << 20


@pytest.mark.unix
def test_file_systems_without_locks_are_written_to_and_not_tidied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    litter = tmp_path / ".other.kellet.0123456789abcdef.kellet-part"
    litter.write_bytes(b"perhaps somebody's")

    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("packager._atomic.fcntl.flock", fail)
    save(tmp_path / "x.kellet")
    assert sorted(os.listdir(tmp_path)) == [litter.name, "x.kellet"]


@pytest.mark.unix
def test_folders_that_cannot_be_synchronised_are_no_error_but_failing_disks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def failing(number: int) -> Callable[[int], None]:
        def fsync(descriptor: int) -> None:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, os.strerror(number))
            sync(descriptor)

        return fsync

    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL))
    save(tmp_path / "x.kellet")
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with pytest.raises(ArchiveIOError, match="it is in place, but may not survive a power cut"):
        save(tmp_path / "x.kellet", b"new")
    assert content_of(tmp_path / "x.kellet") == b"new"
    assert os.listdir(tmp_path) == ["x.kellet"]


def test_writer_whose_file_was_taken_for_litter_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between making and locking its file, another writer may have removed it."""
    create = os.open
    removed: list[str] = []

    def create_and_lose(path: str, flags: int, *mode: int) -> int:
        descriptor = create(path, flags, *mode)
        if flags & os.O_CREAT and not removed:
            removed.append(path)
            os.unlink(path)
        return descriptor

    monkeypatch.setattr(os, "open", create_and_lose)
    save(tmp_path / "x.kellet")
    assert removed
    assert os.listdir(tmp_path) == ["x.kellet"]


@pytest.mark.unix
def test_many_writers_at_once_leave_one_whole_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.kellet"
    contents = [bytes([number]) * 300_000 for number in range(8)]
    threads = [threading.Thread(target=save, args=(path, content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert content_of(path) in contents
    assert os.listdir(tmp_path) == ["x.kellet"]


@one_test
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "secret"}, "kind 'secret' with align=1 is not allowed"),
        ({"kind": "resource", "align": 32}, "align=32 is not allowed"),
        ({"kind": "tensors"}, "tensors must be aligned"),
        ({"kind": "resource", "content": iter([b""])}, "the content is an iterable; give its size"),
        ({"kind": "resource", "size": 3}, "its buffers have 1 bytes; size=3 was given"),
        ({"kind": "resource", "content": memoryview(b"abcd")[::2]}, "not C-contiguous"),
    ],
)
def test_wrong_arguments_are_value_errors(arguments: dict[str, object], message: str) -> None:
    with ArchiveWriter(io.BytesIO()) as writer, pytest.raises(ValueError, match=message):
        writer.add("x", **{"content": b"1", **arguments})  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="digests='md5' is unknown"):
        ArchiveWriter(io.BytesIO(), digests="md5")


@pytest.mark.parametrize(
    ("kind", "align", "digests", "refused"),
    [
        ("resource", 64, "crc", True),
        ("resource", 64, "sha256", False),
        ("resource", 1, "crc", False),
        ("tensors", 64, "crc", False),
    ],
)
def test_only_tensors_may_do_without_a_sha256(kind: str, align: int, digests: str, refused: bool) -> None:
    with ArchiveWriter(io.BytesIO(), digests=digests) as writer:
        said = "kind 'resource' with align=64 has no sha256 in an archive written with digests=\"crc\""
        with pytest.raises(ValueError, match=said) if refused else contextlib.nullcontext():
            writer.add("x", b"", kind=kind, align=align)


def test_text_is_not_content() -> None:
    with ArchiveWriter(io.BytesIO()) as writer, pytest.raises((TypeError, ValueError)):
        writer.add("x", "text", kind="resource")


def test_progress_reaches_the_total(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with ArchiveWriter(
        tmp_path / "x.kellet", progress=lambda done, total: seen.append((done, total))
    ) as writer:
        writer.add("a", bytes(30 << 20), kind="resource")
        writer.add("b", b"b", kind="resource")
        writer.seal(Manifest())
    total = (30 << 20) + 1
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len(seen) > 3


KILLED = """
import os, random, signal, statistics, sys, time
from packager._archive import ArchiveReader, ArchiveWriter, Manifest, verify
import concurrent.futures.thread

path, rounds = sys.argv[1], int(sys.argv[2])

def save(version):
    with ArchiveWriter(path) as writer:
        for number in range(20):
            writer.add(f"{number}", bytes([version]) * 1000, kind="resource")
        writer.add("big", bytes([version]) * 4_000_000, kind="resource", align=64)
        writer.seal(Manifest())

def version():
    with ArchiveReader(path) as reader:
        assert verify(reader).ok
        return reader.read("0")[0]

def begun(version):
    child = os.fork()
    if not child:
        save(version)
        os._exit(0)
    return child

def seconds():
    started = time.perf_counter()
    os.waitpid(begun(0), 0)
    return time.perf_counter() - started

save(0)
usual = statistics.median(seconds() for _ in range(9))  # as those that are killed: a forked one takes longer
random.seed(7)
outcomes = {"old": 0, "new": 0}
for number in range(rounds):
    before, after = version(), (number + 1) % 256
    child = begun(after)
    time.sleep(random.uniform(0, 1.6 * usual))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = version()
    assert found in (before, after), (before, after, found)
    outcomes["new" if found == after else "old"] += 1
save(1)
assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)], os.listdir(os.path.dirname(path))
print(outcomes["old"], outcomes["new"])
"""


KILLS = int(os.environ.get("KELLET_KILLS", "200"))


@pytest.mark.long
def test_kill_at_any_moment_leaves_the_old_archive_or_the_new_one(tmp_path: Path) -> None:
    """Kills a writer as often as `KELLET_KILLS` says."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "x.kellet"), str(KILLS)]
    done = processes.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    old, new = map(int, done.stdout.split())
    assert old + new == KILLS
    sys.stdout.write(f"{KILLS} kills: the old archive {old} times, the new one {new} times\n")
    assert min(old, new) > 5, "the kills did not fall into the save"


@pytest.mark.unix
def test_readers_never_see_a_mixture_while_a_writer_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.kellet"

    def write(version: int) -> None:
        with ArchiveWriter(path, fsync=False) as writer:
            for number in range(3):
                writer.add(f"{number}", bytes([version % 256]) * 20_000, kind="resource")
            writer.seal(Manifest())

    write(0)
    stop, failures, counts = threading.Event(), [], [0] * 8

    def read(place: int) -> None:
        try:
            while not stop.is_set():
                with ArchiveReader(path, mmap=bool(place % 2)) as reader:
                    found = {byte for name in reader.names() for byte in set(reader.read(name))}
                    assert len(found) == 1, found
                    counts[place] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    until, version = time.monotonic() + 2, 0
    while time.monotonic() < until:
        version += 1
        write(version)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert version > 3
    assert min(counts) > 3
    assert verify(ArchiveReader(path)).ok
