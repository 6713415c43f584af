"""Where a system has no locks, an open file is one: folders at work, parts, and what is left behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from packager import _atomic as atomic
from packager._atomic import ReplacedFile, TemporaryFolder
from packager._file_access import NEW_FILE, os_error_mend
from packager._without_locks import held_folder, is_held, let_go


@pytest.fixture(autouse=True)
def without_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(atomic, "fcntl", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_folder_at_work_has_an_open_file_beside_it(tmp_path: Path) -> None:
    folder = TemporaryFolder("code")
    beside = f"{os.path.basename(folder.path)}.held"
    assert sorted(os.listdir(tmp_path)) == sorted([os.path.basename(folder.path), beside])
    folder.close()
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_left_goes_with_the_next_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, kept, begun = (tmp_path / f"kellet-code-{at * 16}" for at in "abc")
    for folder in (left, kept, begun):
        (folder / "below").mkdir(parents=True)
    for folder in (left, kept):
        Path(f"{folder}.held").touch()
    unlink = os.unlink

    def refusing(path: Any, **options: Any) -> None:
        if str(path) == f"{kept}.held":
            raise PermissionError(13, "it is open")
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", refusing)
    TemporaryFolder("code").close()
    assert sorted(os.listdir(tmp_path)) == sorted([kept.name, f"{kept.name}.held", begun.name])


def test_a_folder_without_a_file_beside_it_is_about_to_be_held(tmp_path: Path) -> None:
    assert is_held(str(tmp_path))
    held: list[int] = []
    assert held_folder(lambda: str(tmp_path / "made"), held, NEW_FILE) == str(tmp_path / "made")
    let_go(held)
    assert held == []
    assert not is_held(str(tmp_path / "made"))
    assert os.listdir(tmp_path) == []


def test_a_part_is_closed_before_it_is_renamed_and_before_it_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def requiring_closed(call: Any) -> Any:
        def checked(path: Any, *rest: Any, **options: Any) -> Any:
            open_files = {
                os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")
            }
            assert str(path) not in open_files
            return call(path, *rest, **options)

        return checked

    monkeypatch.setattr(os, "replace", requiring_closed(os.replace))
    monkeypatch.setattr(os, "unlink", requiring_closed(os.unlink))
    target = tmp_path / "file"
    with ReplacedFile(target).open(fsync=True) as descriptor:
        os.write(descriptor, b"whole")
    assert target.read_bytes() == b"whole"
    given_up = ReplacedFile(target)
    os.write(given_up.begin(), b"half")
    given_up.discard()
    assert target.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["file"]


def test_parts_that_were_left_go_and_open_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, at_work = (tmp_path / f".file.{at * 16}.kellet-part" for at in "ab")
    left.touch()
    at_work.touch()
    unlink = os.unlink

    def refusing(path: Any, **options: Any) -> None:
        if str(path) == str(at_work):
            raise PermissionError(13, "it is open")
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", refusing)
    with ReplacedFile(tmp_path / "file").open(fsync=False):
        pass
    assert sorted(os.listdir(tmp_path)) == [at_work.name, "file"]


def test_what_has_a_file_open_is_the_first_thing_to_look_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    advice = (
        "close what has it open (arrays that were loaded from an archive keep it open), give permission, "
        "or write elsewhere"
    )
    assert os_error_mend(PermissionError(13, "Access is denied")) == advice
