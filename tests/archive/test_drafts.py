"""A whole archive that is read before it is sealed: its tensors stay, everything else is written anew."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from packager._archive import ArchiveReader, ArchiveWriter, Manifest, ModuleRecord
from packager.errors import ArchiveError


def manifest(*names: str) -> Manifest:
    return Manifest(
        modules=tuple(ModuleRecord(name, "intern", "r", "b", f"{name}.py", False) for name in names)
    )


def draft(writer: ArchiveWriter, files: dict[str, bytes]) -> str:
    for name, content in files.items():
        writer.add(name, content, kind="source")
    return writer.draft(manifest(*(name.removesuffix(".py") for name in files)), files)


@pytest.mark.parametrize("later", [{"a.py": b"1"}, {"a.py": b"1", "b.py": b"2" * 70_000}, {}])
def test_what_is_sealed_after_a_draft_is_what_would_be_sealed_without(
    tmp_path: Path, later: dict[str, bytes]
) -> None:
    first, second = tmp_path / "first.kellet", tmp_path / "second.kellet"
    tensors = os.urandom(200_000)
    identities = []
    for path in (first, second):
        with ArchiveWriter(path) as writer:
            writer.add("t.bin", tensors, kind="tensors", align=64)
            if path is second:
                part = draft(writer, {"a.py": b"1", "gone.py": b"3" * 100_000})
                with ArchiveReader(part) as reader:
                    assert reader.read("gone.py") == b"3" * 100_000
                    assert bytes(reader.view("t.bin")) == tensors
                assert not path.exists()
            for name, content in later.items():
                writer.add(name, content, kind="source")
            identities.append(writer.seal(manifest(*(name.removesuffix(".py") for name in later))))
    assert first.read_bytes() == second.read_bytes()
    assert identities[0] == identities[1]
    assert sorted(os.listdir(tmp_path)) == ["first.kellet", "second.kellet"]


def test_a_draft_of_a_file_object_is_a_file_of_its_own() -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        part = draft(writer, {"a.py": b"1"})
        assert file.getvalue() == b""
        with ArchiveReader(part) as reader:
            assert reader.manifest.stored_modules == {"a"}
        writer.add("b.py", b"2", kind="source")
        writer.seal(manifest("b"))
    assert not os.path.exists(part)
    with ArchiveReader(file) as reader:
        assert reader.manifest.stored_modules == {"b"}


def test_a_draft_that_cannot_be_written_is_the_end_of_the_writer(tmp_path: Path) -> None:
    with ArchiveWriter(tmp_path / "x.kellet") as writer:
        writer.add("a.py", b"1", kind="source")
        writer.add("a.py/b.py", b"2", kind="source")
        with pytest.raises(ArchiveError, match=r"a\.py"):
            writer.draft(manifest("a"))
    assert os.listdir(tmp_path) == []
