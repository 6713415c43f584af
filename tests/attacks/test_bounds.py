"""Promise 6: 64 MiB and eight times the file, and seconds, whatever the file says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packager._archive import index_name, pack, unpack
from packager._archive.safetensors import spell_header
from tests import processes

MEASURED = """
import re, sys, time
import unicodedata, json, packager._archive.verifying
from packager._archive import ArchiveReader, TensorReader, verify
from packager.errors import PackageError
def used():
    # Not ru_maxrss, which a process has from the one that started it.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
before, started = used(), time.process_time()
try:
    with ArchiveReader(sys.argv[1], mmap=False) as reader:
        verify(reader)
        reader.manifest
        for name in reader.names():
            if reader.entry(name).kind == "tensors":
                tensors = TensorReader(reader, name)
                for key in tensors:
                    tensors[key]
except PackageError as error:
    print(str(error)[:100], file=sys.stderr)
print(used() - before, time.process_time() - started)
"""
MIB = 1 << 20


def member_of(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header


def long_list(value: bytes, size: int) -> bytes:
    return b"\xdd" + (size // len(value)).to_bytes(4, "big") + value * (size // len(value))


def many_externs(forge: Any) -> bytes:
    """A manifest with as many rows as the limit on values lets through."""
    rows = 70_000
    top = unpack(forge().honest_manifest(), what="x")
    facts = unpack(top["facts"], what="x")
    names = [f"m{number:05}" for number in range(rows)]
    facts["externs"] = [names, *[[""] * rows] * 4, [False] * rows]
    return bytes(forge(manifest=pack({**top, "facts": pack(facts)})).build())


def many_keys(forge: Any) -> bytes:
    """Tensors that cost their index a dozen bytes each, and share one byte of data."""
    count, data = 1 << 18, spell_header([("000000", "U8", (), 1)], {}) + b"x"
    keys = "\0".join(f"{number:06}" for number in range(count))
    index = [
        count,
        keys,
        b"\x04" * count,
        bytes(count),
        b"",
        bytes(4 * count),
        (1).to_bytes(8, "little"),
        [],
        {},
    ]
    return bytes(
        forge(entries=[(index_name("w"), "index", 1, pack(index)), ("w", "tensors", 64, data)]).build()
    )


CASES: dict[str, Callable[[Any], bytes]] = {
    "many rows in the manifest": many_externs,
    "many tensors in one byte": many_keys,
    "empty lists": lambda forge: forge(entries=[("x", "extras", 1, long_list(b"\x90", 2 * MIB))]).build(),
    "empty maps in the manifest": lambda forge: forge(manifest=long_list(b"\x80", 2 * MIB)).build(),
    "single lists in the manifest": lambda forge: forge(manifest=long_list(b"\x91\xc0", 2 * MIB)).build(),
    "short strings in the manifest": lambda forge: forge(manifest=long_list(b"\xa2ab", 2 * MIB)).build(),
    "just under the limit of values": lambda forge: forge(manifest=long_list(b"\x90", 270_000)).build(),
    "json lists": lambda forge: forge(
        entries=[
            (index_name("w"), "index", 1, b"\xc0"),
            ("w", "tensors", 64, member_of(b'{"w":[' + b"[]," * 700_000 + b"[]]}")),
        ]
    ).build(),
    "json just under the limit": lambda forge: forge(
        entries=[
            (index_name("w"), "index", 1, b"\xc0"),
            ("w", "tensors", 64, member_of(b'{"w":[' + b"[],1234567890123456," * 100_000 + b"[]]}")),
        ]
    ).build(),
    "many tensors of nothing": lambda forge: forge(
        entries=[
            (index_name("w"), "index", 1, b"\xc0"),
            (
                "w",
                "tensors",
                64,
                member_of(
                    json.dumps(
                        {
                            f"{n}": {"dtype": "U8", "shape": [0] * 9, "data_offsets": [0, 0]}
                            for n in range(20_000)
                        }
                    ).encode()
                ),
            ),
        ]
    ).build(),
    "many names": lambda forge: forge(
        entries=[(f"{number:05}", "resource", 1, b"") for number in range(30_000)]
    ).build(),
    "deep names": lambda forge: forge(
        entries=sorted(
            (f"{number:05}/" + "/".join("x" for _ in range(30)), "resource", 1, b"")
            for number in range(5_000)
        )
    ).build(),
    "names of nothing but lines": lambda forge: forge(
        manifest=pack(
            {
                "digests": "sha256",
                "entries": ["\n" * 2 * MIB, b"", b"", b"", b"", b""],
                "facts": b"",
                "format": 1,
            }
        )
    ).build(),
    "sizes that promise the moon": lambda forge: forge(
        manifest=pack(
            {
                "digests": "sha256",
                "entries": ["x", b"\6", b"\xff" * 8, b"\1", b"", b""],
                "facts": b"",
                "format": 1,
            }
        )
    ).build(),
    "ranks that promise the moon": lambda forge: forge(
        entries=[
            (
                index_name("w"),
                "index",
                1,
                pack(
                    [
                        2 * MIB,
                        "\0" * (2 * MIB - 1),
                        bytes(2 * MIB),
                        b"\xff" * 2 * MIB,
                        b"",
                        bytes(8 * MIB),
                        b"",
                        [],
                        {},
                    ]
                ),
            ),
            ("w", "tensors", 64, b"12345678"),
        ]
    ).build(),
    "tensors without end": lambda forge: forge(
        entries=[
            (
                index_name("w"),
                "index",
                1,
                pack([MIB, "\0" * (MIB - 1), b"\x04" * MIB, bytes(MIB), b"", bytes(4 * MIB), b"", [], {}]),
            ),
            ("w", "tensors", 64, b"12345678"),
        ]
    ).build(),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_memory_and_time_are_bounded_by_the_file(
    forger: Any, tmp_path: Path, case: Callable[[Any], bytes]
) -> None:
    path = tmp_path / "x.kellet"
    path.write_bytes(case(forger))
    done = processes.run(
        [sys.executable, "-c", MEASURED, str(path)], cold=True, capture_output=True, text=True, check=True
    )
    memory, seconds = map(float, done.stdout.split())
    assert memory < 64 * MIB + 8 * path.stat().st_size
    assert seconds < 20
