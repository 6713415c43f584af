"""Many readers at once: threads and processes, beside a writer that replaces the file all the time.

`KELLET_RACE_SECONDS=600` makes the races with a writer longer than the ten seconds that are promised.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kellet import nn
from packager import PackageExporter, PackageImporter, verify
from tests import processes

SECONDS = float(os.environ.get("KELLET_RACE_SECONDS", "10"))


def export(path: Path, version: int) -> None:
    """An archive whose code, object, state dict and text all tell its version."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    for parameter in model.parameters():
        parameter.detach().numpy()[...] = version
    with PackageExporter(path, policy="auto", fsync=False) as exporter:
        exporter.save_source_string("net.core", f"VERSION = {version}\n")
        exporter.save_source_string("net", "from net.core import VERSION\n", is_package=True)
        for number in range(8):
            text = f"from net import core\nfrom . import part{(number + 1) % 8}\nVERSION = core.VERSION\n"
            exporter.save_source_string(f"net.part{number}", text)
        exporter.save_object("model", "model", model)
        exporter.save_state_dict("model", "state", {"w": np.full(10_000, version, "f4"), "version": version})
        exporter.save_text("model", "version.txt", str(version))


def versions_in(importer: PackageImporter, part: int = 0) -> set[int]:
    """Every version that an archive tells: one, if it is whole."""
    state = importer.load_state_dict("model", "state")
    model = importer.load_object("model", "model")
    weights = {int(value) for parameter in model.parameters() for value in parameter.detach().numpy().flat}
    return {
        importer.import_module(f"net.part{part}").VERSION,
        importer.import_module("net").VERSION,
        state["version"],
        *(int(value) for value in np.unique(state["w"])),
        *weights,
        int(importer.load_text("model", "version.txt")),
    }


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run `work` in threads that start together; raise what the first of them raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


WRITER = """
import os, shutil, sys, time
until, count = time.monotonic() + float(sys.argv[1]), 0
from packager._archive import ArchiveReader, ArchiveWriter
while time.monotonic() < until:
    # Our own writer, over the file that is being read: beside it, then renamed.
    with ArchiveReader(sys.argv[3 + count % 2]) as reader, ArchiveWriter(sys.argv[2], fsync=False) as writer:
        for name in reader.names():
            entry = reader.entry(name)
            writer.add(name, reader.read(name), kind=entry.kind, align=entry.align)
        writer.seal(reader.manifest)
    count += 1
print(count)
"""


@pytest.mark.unix  # Windows replaces no file that somebody has open
@pytest.mark.long
def test_eight_readers_never_see_a_mixture_while_a_writer_replaces_the_file(tmp_path: Path) -> None:
    """Takes as long as the race is asked to be."""
    for version in (1, 2):
        export(tmp_path / f"{version}.kellet", version)
    path = tmp_path / "net.kellet"
    export(path, 1)
    command = [sys.executable, "-c", WRITER, str(SECONDS), path, tmp_path / "1.kellet", tmp_path / "2.kellet"]
    reads, seen = [0] * 8, set()
    with processes.Popen([*map(str, command)], stdout=processes.PIPE, text=True) as writer:

        def read(number: int) -> None:
            while writer.poll() is None:
                assert verify(path).ok
                with PackageImporter(path, mmap=bool(number % 2)) as importer:
                    (version,) = versions_in(importer, number)
                seen.add(version)
                reads[number] += 1

        in_threads(8, read)
        assert writer.stdout is not None
        replaced = int(writer.stdout.read())
    assert writer.returncode == 0
    assert min(reads) > 0
    assert replaced > 5
    assert seen == {1, 2}
    assert set(os.listdir(tmp_path)) - {"cache"} == {"1.kellet", "2.kellet", "net.kellet"}
    sys.stdout.write(f"{sum(reads)} loads by 8 readers while the file was replaced {replaced} times\n")


READING = """
import sys, time
import numpy as np
from packager import PackageImporter
from packager._archive import ArchiveReader, verify

until, reads, versions = time.monotonic() + float(sys.argv[1]), 0, set()
while time.monotonic() < until:
    with ArchiveReader(sys.argv[2]) as reader:
        assert verify(reader).ok
        found = {int(reader.read("model/version.txt")), int(reader.read("net/core.py").split()[-1])}
        reads += 1
    assert len(found) == 1, found
    versions |= found
    if reads % 10 == 0:
        with PackageImporter(sys.argv[2], mmap=bool(reads % 20)) as importer:
            state = importer.load_state_dict("model", "state")
            found = {state["version"], *np.unique(state["w"]).astype(int).tolist()}
            found.add(int(importer.load_text("model", "version.txt")))
        assert len(found) == 1, found
print(reads, *sorted(versions))
"""


@pytest.mark.unix  # for the same reason
@pytest.mark.long
def test_reader_processes_never_see_a_mixture_while_a_writer_replaces_the_file(
    tmp_path: Path,
) -> None:
    """Takes as long as the race is asked to be."""
    for version in (1, 2):
        export(tmp_path / f"{version}.kellet", version)
    path = tmp_path / "net.kellet"
    export(path, 1)

    def start(program: str, *arguments: object) -> processes.Popen[str]:
        command = [sys.executable, "-c", program, str(SECONDS), str(path), *map(str, arguments)]
        return processes.Popen(command, stdout=processes.PIPE, stderr=processes.PIPE, text=True)

    writer = start(WRITER, tmp_path / "1.kellet", tmp_path / "2.kellet")
    readers = [start(READING) for _ in range(4)]
    reads, seen = 0, set[int]()
    for process in readers:
        out, errors = process.communicate(timeout=SECONDS + 100)
        assert (process.returncode, errors) == (0, "")
        count, *versions = map(int, out.split())
        assert count > 0
        seen |= {*versions}
        reads += count
    replaced = int(writer.communicate(timeout=100)[0])
    assert replaced > 5
    assert seen == {1, 2}
    sys.stdout.write(f"{reads} reads by 4 processes while the file was replaced {replaced} times\n")


@pytest.mark.parametrize("mapped", [True, False])
def test_64_threads_import_and_load_everything_from_one_importer(tmp_path: Path, mapped: bool) -> None:
    export(tmp_path / "net.kellet", 3)
    found: list[set[int]] = []
    with PackageImporter(tmp_path / "net.kellet", mmap=mapped) as importer:
        in_threads(64, lambda number: found.append(versions_in(importer, number % 8)))
        assert sorted(importer.modules) == ["net", "net.core", *(f"net.part{number}" for number in range(8))]
    assert found == [{3}] * 64


READER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from test_races import PackageImporter, in_threads, verify, versions_in
path = Path(sys.argv[2])
assert verify(path).ok
found = []
with PackageImporter(path) as importer:
    in_threads(8, lambda number: found.extend(versions_in(importer, number)))
print(*found)
"""


def test_several_processes_load_one_archive_at_once(tmp_path: Path) -> None:
    export(tmp_path / "net.kellet", 4)
    here, path = str(Path(__file__).parent), str(tmp_path / "net.kellet")
    readers = [
        processes.Popen(
            [sys.executable, "-c", READER, here, path],
            stdout=processes.PIPE,
            stderr=processes.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    started = time.monotonic()
    for process in readers:
        out, errors = process.communicate(timeout=100)
        assert (process.returncode, errors) == (0, "")
        assert out.split() == ["4"] * 8
    assert time.monotonic() - started < 100
