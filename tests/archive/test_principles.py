"""Section 1: one way to write, and nothing runs."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import processes

SAVE_ONE = """
import sys
from packager._archive import ArchiveWriter, Manifest, ModuleRecord, TensorSpec, add_tensors

names = ["net/b.py", "net/a.py", "net/c/__init__.py", "Readme"]
if sys.argv[2] == "reversed":
    names.reverse()
with ArchiveWriter(sys.argv[1]) as writer:
    for name in {*names}:
        writer.add(name, name.encode(), kind="source" if name.endswith(".py") else "resource")
    add_tensors(writer, "net/w", [TensorSpec("x", "U8", (3_000_000,), (1,), 0, 0)], [bytes(3_000_000)])
    sources = {name[:-3].replace("/", "."): name for name in names if name.endswith(".py")}
    rows = [ModuleRecord(name, "intern", "rule", "because", entry) for name, entry in sources.items()]
    print(writer.seal(Manifest(modules=tuple(rows), environment={key: 1 for key in {"b", "a", "c"}})))
"""


def test_same_content_gives_same_bytes_whatever_order_folder_name_and_hash_seed(tmp_path: Path) -> None:
    digests = set()
    for seed, folder, order in (
        ("0", "one", "given"),
        ("1", "two/deeper", "reversed"),
        ("4242", ".", "given"),
    ):
        path = tmp_path / folder / f"name-{seed}.kellet"
        path.parent.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": f"UTC+{seed[0]}"}
        processes.run(
            [sys.executable, "-c", SAVE_ONE, str(path), order], cold=True, env=environment, check=True
        )
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_the_same_is_written_with_isal_and_without(tmp_path: Path) -> None:
    code = "import sys; sys.modules['isal'] = None\n" + SAVE_ONE
    outputs = []
    for script in (SAVE_ONE, code):
        path = tmp_path / f"{len(outputs)}.kellet"
        processes.run([sys.executable, "-c", script, str(path), "given"], cold=True, check=True)
        outputs.append(path.read_bytes())
    assert outputs[0] == outputs[1]


AUDITED = """
import json, sys
from packager._archive import ArchiveReader, TensorReader, verify
import msgpack, hashlib, unicodedata, packager._archive.verifying, concurrent.futures.thread
import packager._archive.folder_container, packager._names

events = []
sys.addaudithook(lambda name, arguments: events.append(name))
for source in sys.argv[1:]:
    with ArchiveReader(source) as reader:
        names = reader.names()
        assert verify(reader).ok
        for name in names:
            reader.read(name)
        tensors = TensorReader(reader, "net/weights")
        [tensors.data(key, private=True) for key in tensors]
found = sorted(set(events))
print(json.dumps(found))
"""
RUNNING = (
    "exec",
    "import",
    "compile",
    "subprocess.",
    "socket.",
    "os.system",
    "os.exec",
    "os.fork",
    "pickle.",
    "ctypes.",
)
WRITING = (
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "shutil.",
)


def test_listing_reading_and_verifying_run_nothing_and_write_nothing(
    small_path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "unpacked"
    processes.run(["unzip", "-q", str(small_path), "-d", str(folder)], cold=True, check=True)
    command = [sys.executable, "-c", AUDITED, str(small_path), str(folder)]
    done = processes.run(command, cold=True, check=True, capture_output=True, text=True)
    events = json.loads(done.stdout)
    assert "open" in events, "the hook saw nothing"
    assert [event for event in events if event.startswith((*RUNNING, *WRITING))] == []


def test_reader_needs_neither_numpy_nor_kellet(small_path: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('numpy', 'kellet', 'importlib_metadata', 'isal'): sys.modules[name] = None\n"
        "from packager._archive import ArchiveReader, verify\n"
        "assert verify(ArchiveReader(sys.argv[1])).ok\n"
    )
    processes.run([sys.executable, "-c", code, str(small_path)], cold=True, check=True)


def test_identity_is_the_sha256_of_the_manifest(
    small: bytes, save_small: Callable[..., str], tmp_path: Path
) -> None:
    from packager._archive import ArchiveReader

    identity = save_small(tmp_path / "x.kellet")
    with ArchiveReader(small) as reader:
        assert reader.identity == identity
        assert reader.manifest.entry_points[0].name == "model"
    with ArchiveReader(tmp_path / "x.kellet") as reader, pytest.raises(AttributeError):
        reader.manifest.entries = ()  # type: ignore[misc]  # what is frozen stays so
