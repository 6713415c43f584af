"""The script that compares golden archives sees what differs, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import msgpack
import pytest

from packager import PackageExporter
from tests import processes

ROOT = Path(__file__).resolve().parents[2]


def compared(old: Path, new: Path, *options: str) -> tuple[int, list[str]]:
    command = [sys.executable, ROOT / "fixtures" / "golden" / "compare.py", old, new, *options]
    done = processes.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def archive(path: Path, package: str, size: int = 2, text: str = "same") -> Path:
    with PackageExporter(path, prove=False) as exporter:
        exporter.save_text(package, "words.txt", text)
        exporter.save_binary(package, "sizes", msgpack.packb({"of": package, "sizes": [1, size]}))
    return path


def test_archives_that_differ_in_a_name_alone_are_equal_when_it_is_given(tmp_path: Path) -> None:
    old, new = archive(tmp_path / "old", "anchor"), archive(tmp_path / "new", "buoy")
    assert compared(old, new, "--name", "anchor=buoy") == (0, ["equal records, equal bytes"])
    code, lines = compared(old, new)
    assert code == 1
    assert f"anchor/sizes: only in {old}" in lines
    assert f"buoy/sizes: only in {new}" in lines


@pytest.mark.parametrize(
    ("size", "text", "line"),
    [
        (3, "same", "buoy/sizes.sizes[1]: 2 is now 3"),
        (2, "othe", "buoy/words.txt: other bytes"),
    ],
)
def test_a_changed_record_or_byte_is_told_at_its_place(
    tmp_path: Path, size: int, text: str, line: str
) -> None:
    old, new = archive(tmp_path / "old", "anchor"), archive(tmp_path / "new", "buoy", size, text)
    assert compared(old, new, "--name", "anchor=buoy") == (1, [line])
