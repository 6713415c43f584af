"""A signal may come at any line: what was made by then is gone, though nobody was given its name yet."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from packager import _atomic as atomic
from packager import _caches as caches
from packager._atomic import TemporaryFolder, files_into, new_folder, replaced_file, replaced_folder
from packager._process import EndedBySignal

HERE = (atomic.__file__, caches.__file__)


@contextmanager
def kept(folder: Path) -> Iterator[None]:
    """A kept file has no block of its own: it is there, and is taken away by the test."""
    caches.keep_file(folder / "kept", b"x")
    yield


def temporary(folder: Path) -> AbstractContextManager[Any]:
    return closing(TemporaryFolder("code", str(folder / "kellet-code-0123456789abcdef")))


WAYS: dict[str, Callable[[Path], AbstractContextManager[Any]]] = {
    "a file that is replaced": lambda folder: replaced_file(folder / "file"),
    "a folder": lambda folder: replaced_folder(folder / "deep" / "er" / "folder"),
    "files into a folder": lambda folder: files_into(folder / "deep" / "wheels"),
    "a new folder": lambda folder: new_folder(folder / "env"),
    "a temporary folder": temporary,
    "a kept file": kept,
    "a kept folder": lambda folder: caches.keep_folder(folder / "folder"),
}


class Ends:
    """Raises what a signal raises, before the line of this number is run."""

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: FrameType, event: str, argument: object) -> Ends | None:
        if frame.f_code.co_filename not in HERE:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise EndedBySignal(15)
        return self


def listed(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# Python itself leaves a file to its collector that is ended between a block and what closes it.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <_io.FileIO")
@pytest.mark.parametrize("way", WAYS)
def test_a_signal_on_the_way_in_leaves_nothing(way: str, tmp_path: Path) -> None:
    before = sys.gettrace()
    for line in range(1, 1000):
        reached = False
        sys.settrace(Ends(line))
        try:
            with WAYS[way](tmp_path):
                sys.settrace(before)
                reached = True
                raise EndedBySignal(15)
        except EndedBySignal:
            pass
        finally:
            sys.settrace(before)
        if reached:
            break
        assert listed(tmp_path) == [], line
    assert line > 3
    assert reached


@pytest.mark.parametrize("way", ["a folder", "a temporary folder"])
def test_a_signal_while_a_folder_is_removed_does_not_keep_the_rest(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, calls = shutil.rmtree, []

    def interrupted(path: str, **options: Any) -> None:
        calls.append(path)
        if len(calls) == 1:
            raise EndedBySignal(15)
        remove(path, **options)

    def fail() -> None:
        with WAYS[way](tmp_path):
            monkeypatch.setattr(shutil, "rmtree", interrupted)
            raise ZeroDivisionError

    with pytest.raises((EndedBySignal, ZeroDivisionError)):
        fail()
    assert listed(tmp_path) == []
    assert calls in ([], calls[:1] * 2)
    assert os.listdir(tmp_path) == []
