"""Headers of safetensors and indexes of shards: 64 MiB and eight times their bytes, whatever they say.

Each case is 6 MB; with 12 MB a general reader of JSON took 160 to 540 MiB. The honest twin is as large.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packager._archive import index_name
from tests import processes

pytestmark = pytest.mark.processes(share=3)

MIB = 1 << 20
SIZE = 6_000_000

# `read` says whether the file is one that may be read.
MEASURED = """
import re, sys
import ast, json, numpy, packager._archive.verifying
from packager._archive import ArchiveReader, verify
from packager.errors import PackageError
from packager._weights import open_checkpoint
def used():
    # Not ru_maxrss, which a process has from the one that started it.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
before = used()
try:
    if sys.argv[1].endswith(".kellet"):
        with ArchiveReader(sys.argv[1], mmap=False) as reader:
            verify(reader).raise_for_problems()
    else:
        open_checkpoint(sys.argv[1])
    print(used() - before, "read")
except (PackageError, FileNotFoundError) as error:
    print(used() - before, str(error)[:300])
"""


def entry(key: object, shape: str = "0", offsets: str = "0,0") -> str:
    return f'"{key}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[{offsets}]}}'


def many(part: Callable[[int], str], each: int) -> str:
    return ",".join(map(part, range(SIZE // each)))


def bits(number: int) -> str:
    """A shape of 64 dimensions that no other tensor has."""
    return ",".join(f"{number:064b}")


HEADERS: dict[str, tuple[Callable[[], str], str]] = {
    "honest": (
        lambda: "{" + many(lambda n: entry(f"model.layers.{n}.self_attn.q_proj.weight", "0,4096"), 110) + "}",
        "read",
    ),
    "tiny tensors": (lambda: "{" + many(entry, 58) + "}", "read"),
    "astral names": (lambda: "{" + many(lambda n: entry(f"{n}\U0001f600"), 66) + "}", "read"),
    "one name of escapes": (lambda: "{" + entry("\\u0000" * (SIZE // 6)) + "}", "read"),
    "metadata of escapes": (
        lambda: '{"__metadata__":{"a":"' + "\\u0000" * (SIZE // 6) + '"}}',
        "read",
    ),
    "metadata of pairs": (
        lambda: '{"__metadata__":{' + many(lambda n: f'"{n:x}":""', 11) + "}}",
        " texts; expected at most",
    ),
    "deep metadata": (
        lambda: '{"__metadata__":' + '{"a":' * (SIZE // 5),
        "nested deeper than 64 levels",
    ),
    "maps": (
        lambda: '{"a":{"b":[' + many(lambda _: '{"a":{}}', 9) + "]}}",
        "other fields|expected at most",
    ),
    "lists": (
        lambda: '{"a":[' + many(lambda _: "[],1234567", 11) + "]}",
        "other fields|expected at most",
    ),
    "fields": (
        lambda: '{"a":{' + many(lambda n: f'"k{n}":0', 10) + "}}",
        "other fields|expected at most",
    ),
    "spellings of rows behind texts": (
        lambda: (
            '{"a":{"b":['
            + many(lambda n: f'"k{n}"', 20)
            + "]},"
            + '{"dtype":"","shape":[],"data_offsets":[' * (SIZE // 80)
        ),
        "texts; expected at most|nested deeper|invalid JSON",
    ),
    "one field": (
        lambda: '{"a":{' + many(lambda _: '"dtype":"U8"', 13) + "}}",
        "the key 'dtype' twice|texts; expected at most",
    ),
    "one tensor": (lambda: "{" + many(lambda _: entry("a"), 58) + "}", "the key 'a' twice"),
    "dimensions": (
        lambda: "{" + many(lambda n: entry(n, bits(n)), 190) + "}",
        "sizes in the shapes so far|commas; expected",
    ),
    "one shape": (
        lambda: "{" + entry("a", many(lambda _: "0", 2)) + "}",
        "at most 64 sizes|commas; expected",
    ),
    "one number": (lambda: "{" + entry("a", "9" * SIZE) + "}", "a number of more than 4300 digits"),
    "white space": (lambda: "{" + " " * SIZE + "}", "read"),
    "spaced tensors": (lambda: "{" + many(lambda n: entry(n, " " * 200 + "0"), 265) + "}", "read"),
}
INDEXES: dict[str, tuple[Callable[[], str], str]] = {
    "honest": (
        lambda: '{"weight_map":{' + many(lambda n: f'"model.layers.{n}.experts.w":"1.bin"', 70) + "}}",
        "No such file|there is no such file",
    ),
    "other keys": (
        lambda: '{"metadata":{' + many(lambda n: f'"{n:x}":{{}}', 11) + '},"weight_map":{"a":"b"}}',
        "maps and lists; expected at most",
    ),
    "maps": (
        lambda: '{"weight_map":' + '{"a":' * (SIZE // 5),
        "nested deeper than 64 levels",
    ),
    "depth": (lambda: '{"x":' + "[" * SIZE, "nested deeper than 64 levels"),
    "pairs": (
        lambda: '{"weight_map":{' + many(lambda n: f'"{n:x}":""', 11) + "}}",
        " texts; expected at most",
    ),
    "fields": (
        lambda: "{" + many(lambda n: f'"{n:x}":0', 9) + "}",
        "commas; expected at most",
    ),
}


def measured(path: Path) -> tuple[int, str]:
    command = [sys.executable, "-c", MEASURED, str(path)]
    done = processes.run(command, cold=True, capture_output=True, text=True, check=True)
    memory, outcome = done.stdout.split(" ", 1)
    return int(memory), outcome.strip()


@pytest.mark.parametrize("case", HEADERS)
def test_memory_for_a_header_is_bounded_by_its_bytes(case: str, tmp_path: Path) -> None:
    made, message = HEADERS[case]
    text = made().encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    memory, outcome = measured(path)
    assert any(part in outcome for part in message.split("|"))
    assert memory < 64 * MIB + 8 * len(text)


@pytest.mark.parametrize("case", ["metadata of pairs", "deep metadata", "fields", "tiny tensors"])
def test_memory_for_a_member_of_an_archive_is_bounded_the_same(
    case: str, forger: Any, tmp_path: Path
) -> None:
    text = HEADERS[case][0]().encode()
    member = len(text).to_bytes(8, "little") + text
    path = tmp_path / "x.kellet"
    path.write_bytes(
        forger(entries=[(index_name("w"), "index", 1, b"\xc0"), ("w", "tensors", 64, member)]).build()
    )
    memory, outcome = measured(path)
    assert outcome != "read"
    assert memory < 64 * MIB + 8 * path.stat().st_size


@pytest.mark.parametrize("case", INDEXES)
def test_memory_for_an_index_of_shards_is_bounded_by_its_bytes(case: str, tmp_path: Path) -> None:
    made, message = INDEXES[case]
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(made())
    memory, outcome = measured(path)
    assert any(part in outcome for part in message.split("|"))
    assert memory < 64 * MIB + 8 * path.stat().st_size
