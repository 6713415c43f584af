"""Views of a file whose pages nobody has written to are known to show the same bytes; all others are not."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from packager._tensors import MappedPages, storages

PAGE = mmap.PAGESIZE
IS_KNOWN = Path("/proc/self/pagemap").exists()


@pytest.fixture
def views(tmp_path: Path) -> tuple[memoryview, memoryview]:
    """A file of eight equal pages, mapped read-only, and copy on write."""
    file = tmp_path / "pages"
    file.write_bytes(bytes(range(256)) * (PAGE // 256) * 8)
    with open(file, "rb") as opened:
        shared = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        private = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    return memoryview(shared), memoryview(private)


@pytest.mark.parametrize(("low", "high"), [(0, 8 * PAGE), (1, 3 * PAGE + 1), (PAGE, PAGE + 8), (70, 71)])
def test_a_range_of_a_file_is_the_same_in_each_map_of_it(views, low, high):
    shared, private = (view[low:high] for view in views)
    assert MappedPages().are_same(shared, private) is IS_KNOWN
    assert bytes(shared) == bytes(private)  # each page has been looked at now
    assert MappedPages().are_same(private, shared) is IS_KNOWN


@pytest.mark.parametrize("at", [0, PAGE - 1, 4 * PAGE, 8 * PAGE - 1])
def test_a_page_that_was_written_to_is_not_known_to_be_the_same_with_whatever_bytes(views, at):
    shared, private = views
    private[at] = private[at]
    pages = MappedPages()
    assert not pages.are_same(shared, private)
    assert not pages.are_same(shared[at : at + 1], private[at : at + 1])
    page = (at // PAGE + 1) % 8 * PAGE
    assert pages.are_same(shared[page : page + PAGE], private[page : page + PAGE]) is IS_KNOWN


def test_other_places_of_the_file_are_not_the_same_though_their_bytes_are(views):
    shared, private = views
    assert shared[:PAGE] == private[PAGE : 2 * PAGE]
    assert not MappedPages().are_same(shared[:PAGE], private[PAGE : 2 * PAGE])
    assert not MappedPages().are_same(shared[:PAGE], private[: 2 * PAGE])


def test_another_file_and_memory_of_no_file_are_not_the_same(views, tmp_path):
    shared, _ = views
    other = tmp_path / "other"
    other.write_bytes(bytes(shared))
    copy = np.memmap(other, mode="r")
    pages = MappedPages()
    assert not pages.are_same(shared, memoryview(copy))
    assert not pages.are_same(shared, memoryview(bytes(shared)))
    assert not pages.are_same(memoryview(bytes(shared)), memoryview(bytes(shared)))
    assert not pages.are_same(memoryview(b""), memoryview(b""))


@pytest.mark.parametrize("name", ["_MAPS", "_PAGES"])
def test_nothing_is_known_where_the_system_does_not_say(views, monkeypatch, name, tmp_path):
    monkeypatch.setattr(storages, name, str(tmp_path / "absent"))
    assert not MappedPages().are_same(*views)
