"""A file of compiled code: records are added at its end, by any process; what is odd in it is no error."""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from pathlib import Path

import pytest

from packager import _kept_file as kept_file
from packager._kept_file import Kept, KeptFile
from packager._loading.bytecode import BytecodeCache
from tests import processes

A, B, C = (Kept(hashlib.sha256(name).digest(), name * 50) for name in (b"a", b"b", b"c"))


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cache" / "one")


def taken(path: str, *records: Kept) -> list[bytes | None]:
    kept = KeptFile(path)
    return [
        None if found is None else bytes(found) for found in map(kept.take, [one.digest for one in records])
    ]


def test_records_are_added_at_the_end_and_taken_any_number_of_times(path: str) -> None:
    kept = KeptFile(path)
    assert (kept.take(A.digest), kept.has(A.digest)) == (None, False)
    kept.add([A, B])
    kept.add([C])
    assert Path(path).read_bytes() == A.packed() + B.packed() + C.packed()
    assert taken(path, C, A, B, A) == [C.data, A.data, B.data, A.data]
    assert [bytes(kept.take(A.digest) or b"") for _ in range(2)] == [A.data, A.data]
    assert (kept.has(C.digest), kept.take(hashlib.sha256(b"d").digest())) == (True, None)


def test_what_another_process_adds_is_found_and_both_stay(path: str) -> None:
    one, other = KeptFile(path), KeptFile(path)
    assert (one.take(A.digest), other.take(A.digest)) == (None, None)
    other.add([A])
    one.add([B])
    one.add([A, C])  # of which the first is there
    assert Path(path).read_bytes() == A.packed() + B.packed() + C.packed()
    assert bytes(one.take(A.digest) or b"") == A.data
    assert bytes(other.take(B.digest) or b"") == B.data
    assert taken(path, A, B, C) == [A.data, B.data, C.data]
    os.unlink(path)  # the cache was cleared meanwhile
    assert (one.has(C.digest), other.has(C.digest), other.take(A.digest)) == (False, False, None)
    one.add([C])
    assert taken(path, A, C) == [None, C.data]


WHOLE = A.packed() + B.packed()
ODD = {
    "cut short in its head": (WHOLE + C.packed()[:20], [A.data, B.data, None]),
    "cut short in its code": (WHOLE + C.packed()[:-1], [A.data, B.data, None]),
    "with something behind it": (WHOLE + b"x", [A.data, B.data, None]),
    "without its first byte": (WHOLE[1:], [None, None, None]),
    "interleaved": (A.packed()[:60] + B.packed() + A.packed()[60:], [None, None, None]),
    "of no bytes": (b"", [None, None, None]),
    "of zeros": (bytes(5000), [None, None, None]),
    "of another mark": (WHOLE.replace(b"kel1", b"kel2"), [None, None, None]),
    "of a length beyond its end": (A.packed()[:40] + b"\xff" * 4 + A.packed()[44:], [None, None, None]),
    "damaged inside": (A.packed()[:-1] + b"?" + B.packed(), [None, B.data, None]),
    "of another digest": (A.packed().replace(A.digest, C.digest) + B.packed(), [None, B.data, None]),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_record_is_passed_over_and_mended_by_the_next_that_is_added(path: str, odd: str) -> None:
    data, expected = ODD[odd]
    os.mkdir(os.path.dirname(path), 0o700)
    Path(path).write_bytes(data)
    assert taken(path, A, B, C) == expected
    kept = KeptFile(path)
    missing = [one for one in (A, B, C) if kept.take(one.digest) is None]
    kept.add(missing)
    assert taken(path, A, B, C) == [A.data, B.data, C.data]
    size = os.path.getsize(path)
    assert [one for one in (A, B, C) if KeptFile(path).take(one.digest) is None] == []
    assert os.path.getsize(path) == size <= len(data) + len(A.packed() + B.packed() + C.packed())


def test_a_file_does_not_grow_beyond_its_bound_and_keeps_what_is_used(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_file, "MOST", 3 * len(A.packed()))
    KeptFile(path).add([A, B])
    kept = KeptFile(path)
    assert kept.take(B.digest) is not None
    kept.add([C])
    assert Path(path).read_bytes() == A.packed() + B.packed() + C.packed()
    later = Kept(hashlib.sha256(b"later").digest(), b"l")
    kept.add([later])
    assert Path(path).read_bytes() == B.packed() + C.packed() + later.packed()
    assert taken(path, A, B, C, later) == [None, B.data, C.data, b"l"]


@pytest.mark.unix
@pytest.mark.parametrize("odd", ["a link", "open to others", "a folder"])
def test_a_file_that_is_not_only_ours_is_neither_read_nor_written(tmp_path: Path, odd: str) -> None:
    source = b"value = 5\n"
    digest = hashlib.sha256(source).hexdigest()
    BytecodeCache(tmp_path / "cache").compiled(digest, "net.py", source)
    (file,) = (tmp_path / "cache").iterdir()
    planted = Kept(bytes.fromhex(digest), marshal.dumps((compile("value = 6", "", "exec"), False))).packed()
    file.unlink()
    if odd == "a folder":
        file.mkdir()
    elif odd == "a link":
        (tmp_path / "elsewhere").write_bytes(b"")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.write_bytes(planted)
        file.chmod(0o666)
    cache = BytecodeCache(tmp_path / "cache")
    assert cache.kept(digest, "net.py") is None
    assert cache.compiled(digest, "net.py", source).code.co_consts[0] == 5
    assert not cache.keeps
    if odd == "a link":
        assert (tmp_path / "elsewhere").read_bytes() == b""
    elif odd == "open to others":
        assert file.read_bytes() == planted


def test_a_write_that_is_cut_short_leaves_nothing_behind(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    KeptFile(path).add([A])
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda number, data: write(number, data[:30]))  # a full disk
        with pytest.raises(OSError, match="No space left"):
            KeptFile(path).add([B])
    assert Path(path).read_bytes() == A.packed()


ADDING = """
import hashlib, sys
from packager._kept_file import KeptFile, Kept
kept = KeptFile(sys.argv[1])
for number in range(60):
    name = sys.argv[2].encode() + bytes([number])
    kept.add([Kept(hashlib.sha256(name).digest(), name * 2000)])
"""


@pytest.mark.long
def test_processes_that_add_at_once_lose_nothing(path: str) -> None:
    workers = [processes.Popen([sys.executable, "-c", ADDING, path, name]) for name in "pqrs"]
    assert [worker.wait(60) for worker in workers] == [0] * 4
    kept = KeptFile(path)
    for name in (who + bytes([number]) for who in (b"p", b"q", b"r", b"s") for number in range(60)):
        assert bytes(kept.take(hashlib.sha256(name).digest()) or b"") == name * 2000
