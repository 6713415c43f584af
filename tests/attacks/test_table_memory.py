"""Tables of records: 64 MiB and eight times their bytes, whatever they hold that is refused.

Each case is 6 MB, for which maps took 900 MB of memory. The honest twin is as large.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgpack
import pytest

from packager import PackageImporter
from packager._objects import EncodedObject
from packager._objects.records import VERSION
from packager._objects.records import Kind as K
from tests.attacks.object_forger import archive_of, encoded, extras_of

MIB = 1 << 20
SIZE = 6_000_000

MEASURED = """
import re, sys
import numpy, packager._archive.verifying, packager._cli.inspect_command
from packager import PackageImporter
from packager._cli.main import main
from packager.errors import PackageError
def used():
    # Not ru_maxrss, which a process has from the one that started it.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
before = used()
way, path = sys.argv[1:]
try:
    if way in ("inspect", "verify"):
        sys.stderr = sys.stdout
        main([way, path])
    else:
        with PackageImporter(path, environment="ignore") as importer:
            importer.load_object("m", "o") if way == "load" else dict(importer.load_state_dict("m", "s"))
        print("read")
except PackageError as error:
    print(error)
print("memory:", used() - before)
"""


def listed(count: int) -> bytes:
    return b"\xdd" + count.to_bytes(4, "big")


def table(records: bytes, codecs: bytes = b"\x91\x92\xa7records\x01", root: bytes = b"\xc0") -> bytes:
    return b"\x93" + codecs + records + root


def of_many(fill: bytes) -> bytes:
    """A table with one record, a list that is packed, of many values."""
    count = SIZE // len(fill)
    return table(b"\x91" + listed(count + 1) + b"\x0b" + fill * count)


def many(fill: bytes) -> bytes:
    return listed(SIZE // len(fill)) + fill * (SIZE // len(fill))


RECORDS = "Store so many tiny objects as an array"
MEMORY = "bytes of memory, beyond the limit of 1391"
MAP = "expected a table of records, without maps"
TABLES: dict[str, tuple[Callable[[], bytes], str]] = {
    "records that are empty maps": (lambda: table(many(b"\x80")), RECORDS),
    "records that are empty lists": (lambda: table(many(b"\x90")), RECORDS),
    "records that are ints": (lambda: table(many(b"\xe0")), RECORDS),
    "records of lists inside each other": (lambda: table(many(b"\x91\x91\x91\x90")), RECORDS),
    "one record of empty maps": (lambda: of_many(b"\x80"), MAP),
    "one record of maps": (lambda: of_many(b"\x81\xa1a\x80"), MAP),
    "one record of empty lists": (lambda: of_many(b"\x90"), MEMORY),
    "one record of small lists": (lambda: of_many(b"\x92\x01\x02"), MEMORY),
    "one record of references": (lambda: of_many(b"\xe7"), MEMORY),
    "one record of short texts": (lambda: of_many(b"\xa2ab"), MEMORY),
    "many records of references": (
        lambda: table(listed(SIZE // 300) + (b"\xdc\x01\x29\x06" + b"\xe7" * 296) * (SIZE // 300)),
        MEMORY,
    ),
    "codecs that are maps": (lambda: table(b"\x90", codecs=many(b"\x80")), MAP),
    "a root of lists": (lambda: table(b"\x90", root=many(b"\x90")), MEMORY),
    "maps alone": (lambda: many(b"\x80"), MAP),
    "extension types": (lambda: of_many(b"\xd4\x01\x01"), "0xd4, which starts no value of the format"),
}


def measured(way: str, path: Path) -> tuple[int, str]:
    """How many bytes of memory a process takes for an archive, and what it says."""
    command = [sys.executable, "-c", MEASURED, way, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said, _, memory = done.stdout.rpartition("memory:")
    return int(memory), " ".join(said.split())


@pytest.mark.unix
@pytest.mark.parametrize(
    ("case", "way"),
    [(case, "load") for case in TABLES]
    + [(case, way) for case in list(TABLES)[::5] for way in ("inspect", "verify")],
)
def test_memory_for_a_table_that_is_refused_is_bounded_by_its_bytes(
    case: str, way: str, tmp_path: Path
) -> None:
    made, message = TABLES[case]
    path = tmp_path / "x.kellet"
    path.write_bytes(archive_of(EncodedObject(made(), (), ())).getvalue())
    memory, said = measured(way, path)
    # Who verifies does not look at what records mean: there each table is weighed.
    assert any(one in said for one in ([MAP, MEMORY] if way == "verify" else []) + [message])
    assert memory < 64 * MIB + 8 * path.stat().st_size


@pytest.mark.unix
@pytest.mark.parametrize("case", ["records that are empty maps", "one record of empty lists"])
def test_memory_for_extras_is_bounded_the_same(case: str, tmp_path: Path) -> None:
    made, message = TABLES[case]
    path = tmp_path / "x.kellet"
    path.write_bytes(archive_of(extras=EncodedObject(made(), (), ())).getvalue())
    memory, said = measured("state", path)
    assert message in said
    assert memory < 64 * MIB + 8 * path.stat().st_size


TEXTS = SIZE // 3
RUNS: dict[str, list[object]] = {
    "ints": ["u2", bytes(range(1, 251)) * (SIZE // 250)],
    "texts of one letter": ["text", "u1", b"\1" * TEXTS, "\u0100".encode() * TEXTS, None, None],
    "texts by their places": ["text", "u1", b"\1", b"a", "u1", bytes(SIZE)],
}


@pytest.mark.unix
@pytest.mark.parametrize("case", RUNS)
def test_memory_for_runs_that_are_read_is_bounded_by_their_bytes(case: str, tmp_path: Path) -> None:
    made = msgpack.packb([[["records", VERSION]], [[K.LONG_LIST, RUNS[case]]], -1])
    path = tmp_path / "x.kellet"
    path.write_bytes(archive_of(EncodedObject(made, (), ())).getvalue())
    for way, said_of_it, times in (("load", "read", 32), ("inspect", "m/o", 8)):
        memory, said = measured(way, path)
        assert said_of_it in said
        assert memory < 64 * MIB + times * path.stat().st_size


HONEST: dict[str, Callable[[], object]] = {
    "empty sets": lambda: [set() for _ in range(200_000)],
    "dicts of one key": lambda: [{"a": 5} for _ in range(200_000)],
    "lists eight deep": lambda: [[[[[[[[[5]]]]]]]] for _ in range(20_000)],
}


@pytest.mark.parametrize("case", HONEST)
def test_small_containers_that_honest_objects_have_come_back(case: str) -> None:
    obj = HONEST[case]()
    with PackageImporter(archive_of(encoded(obj)), environment="ignore") as importer:
        assert importer.load_object("m", "o") == obj


@pytest.mark.unix
def test_a_table_as_large_that_is_honest_is_read(tmp_path: Path) -> None:
    texts = [f"{n:0100}" for n in range(SIZE // 105)]
    path = tmp_path / "x.kellet"
    path.write_bytes(archive_of(encoded([texts, object]), extras=extras_of({"texts": texts})).getvalue())
    for way, expected in (("load", "read"), ("state", "read"), ("inspect", "m/o"), ("verify", "holds")):
        memory, said = measured(way, path)
        assert expected in said
        assert memory < 64 * MIB + 8 * path.stat().st_size


@pytest.mark.unix
def test_numbers_that_stand_side_by_side_are_walked_over_without_memory(tmp_path: Path) -> None:
    """A repetition that the pattern for them could have taken back cost a hundred bytes."""
    path = tmp_path / "x.kellet"
    path.write_bytes(archive_of(EncodedObject(of_many(b"\xcd\x20\x01"), (), ())).getvalue())
    memory, _ = measured("verify", path)
    assert memory < 64 * MIB
