"""A proof of large weights reads and copies no byte of them: it asks which pages of the map were written to.

Where the system does not say that, it looks at the pages, as mapped.
"""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import kellet
from kellet import nn
from packager import PackageExporter, PackageImporter
from packager._archive import byte_sources
from packager._proving import coming_back
from packager._proving.coming_back import ComingBack
from packager._tensors import storages

pytestmark = pytest.mark.processes(share=3)

SIZE = 48 << 20


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes are read into memory of its own, each time: by a call, or as a copy of a range."""
    found: list[int] = []

    def counted(original: Callable[..., object]) -> Callable[..., object]:
        def read(first: object, second: int, third: int) -> object:
            found.append(len(first) if isinstance(first, memoryview) else third - second)
            return original(first, second, third)

        return read

    monkeypatch.setattr(byte_sources, "read_into", counted(byte_sources.read_into))
    for kind in (byte_sources.MappedFile, byte_sources.BoundedFile):
        for name in ("copy", "private"):
            if kind is byte_sources.BoundedFile or name == "copy":
                monkeypatch.setattr(kind, name, counted(getattr(kind, name)))
    return found


def large() -> nn.Linear:
    layer = nn.Linear(1, 1)
    layer.weight = nn.Parameter(kellet.ones(24, SIZE // 24 // 4))
    return layer


def pages(file: Path, kind: str) -> int:
    """Return how many bytes of maps of a file are of a kind: "Rss" were looked at, "Anonymous" copied."""
    maps = Path("/proc/self/smaps").read_text(encoding="ascii")
    of_file = [one for one in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", maps) if str(file) in one]
    assert of_file
    found = (re.search(rf"^{kind}: +(\d+) kB$", one, re.MULTILINE) for one in of_file)
    return sum(int(size[1]) << 10 for size in found if size is not None)


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("pages_are_known", [True, False])
def test_a_large_object_is_compared_in_its_map_and_each_byte_once_or_not_at_all(
    tmp_path: Path,
    reads: list[int],
    monkeypatch: pytest.MonkeyPatch,
    peak: Callable[[], int],
    pages_are_known: bool,
) -> None:
    if not pages_are_known:
        monkeypatch.setattr(storages, "_PAGES", str(tmp_path / "no such file"))
    file = tmp_path / "net.kellet"
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "net", large())
    compared: list[tuple[int, int]] = []
    same_bytes = coming_back.same_bytes

    def noted(stored: memoryview, found: memoryview) -> bool:
        compared.append((stored.nbytes, found.nbytes))
        return same_bytes(stored, found)

    monkeypatch.setattr(coming_back, "same_bytes", noted)
    reads.clear()
    before = peak()
    with PackageImporter(file, environment="ignore", digests="none", bytecode=None) as importer:
        for step in ComingBack(importer).steps():
            step.run()
        looked_at = pages(file, "Rss")
        assert pages(file, "Anonymous") < 1 << 20
    assert max(reads, default=0) < 1 << 20
    assert sum(reads) < 4 << 20
    if pages_are_known:
        assert looked_at < SIZE // 8
        assert compared == [(4, 4)]
    else:
        # As stored, and as loaded: two maps of the same pages, which the disk is asked for once.
        assert SIZE <= looked_at < file.stat().st_size * 2.1
        assert sorted(compared) == [(4, 4), (SIZE, SIZE)]
    assert peak() - before < SIZE // 2


def test_of_a_large_state_dict_no_page_of_a_tensor_is_looked_at(
    tmp_path: Path, reads: list[int], peak: Callable[[], int]
) -> None:
    file = tmp_path / "net.kellet"
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_state_dict("model", "weights", {"all": np.ones(SIZE // 4, "f4"), "step": 3})
    reads.clear()
    with PackageImporter(file, environment="ignore", digests="none", bytecode=None) as importer:
        for step in ComingBack(importer).steps():
            step.run()
        assert pages(file, "Rss") < SIZE // 8
    assert sum(reads) < 1 << 20
    assert peak() < SIZE * 2
