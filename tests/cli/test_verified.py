"""What is said of an archive's digests: by commands that have not checked them, and by the one that has."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter, verify
from packager._archive import ArchiveReader
from packager._cli.main import main
from packager.errors import IntegrityError

Said = pytest.CaptureFixture[str]


@pytest.fixture(params=["sha256", "crc"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "net.kellet"
    with PackageExporter(path, digests=request.param, prove=False) as exporter:
        exporter.save_text("net", "words.txt", "hello and goodbye")
        exporter.save_state_dict("net", "weights", {"w": np.arange(4.0)})
    return path


def _damaged(archive: Path) -> Path:
    """Change one number of a tensor, which nothing but its digest tells."""
    data = archive.read_bytes()
    archive.write_bytes(data.replace(np.arange(4.0).tobytes(), np.arange(1.0, 5.0).tobytes()))
    return archive


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _as_it_is(archive: Path) -> Path:
    return archive


@pytest.mark.parametrize("prepared", [_as_it_is, _damaged])
def test_inspect_says_that_it_has_not_verified(
    archive: Path, prepared: Callable[[Path], Path], capsys: Said
) -> None:
    file = str(prepared(archive))
    assert main(["inspect", file]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "    unsigned"
    assert re.fullmatch("    identity [0-9a-f]{64}", lines[2])
    assert lines[3] == "    contents not checked: `kellet verify` checks them"
    assert main(["inspect", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"] is False


@pytest.mark.parametrize(
    ("prepared", "options"), [(_as_it_is, ()), (_as_it_is, ("--no-values",)), (_damaged, ("--no-values",))]
)
def test_report_says_that_it_has_not_verified(
    archive: Path, prepared: Callable[[Path], Path], options: tuple[str, ...], tmp_path: Path
) -> None:
    assert main(["report", str(prepared(archive)), "-o", str(tmp_path / "net.html"), *options]) == 0
    page = (tmp_path / "net.html").read_text()
    with ArchiveReader(archive) as reader:
        assert f"identity {reader.identity}, contents not checked" in page
    assert "not checked: `kellet verify` checks them" in page


def test_verify_that_fails_prints_no_identity(archive: Path, capsys: Said) -> None:
    with ArchiveReader(_damaged(archive)) as reader:
        identity = reader.identity
    assert main(["verify", str(archive)]) == 1
    text = capsys.readouterr().out
    assert text.startswith("net/weights: ")
    assert main(["verify", str(archive), "--json"]) == 1
    told = capsys.readouterr().out
    assert (json.loads(told)["identity"], json.loads(told)["file_sha256"]) == (None, None)
    with pytest.raises(IntegrityError, match=r"^the archive has 1 problem:") as refused:
        verify(archive).raise_for_problems()
    for said in (text, told, str(refused.value)):
        assert identity not in said
        assert _sha256(archive) not in said


def test_verify_in_depth_that_fails_prints_no_identity(tmp_path: Path, capsys: Said) -> None:
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_source_string("broken", "def f(:", dependencies=False)
    assert main(["verify", str(tmp_path / "net.kellet"), "--deep"]) == 1
    assert "identity" not in capsys.readouterr().out


def test_verify_that_holds_prints_the_sha256_of_the_file_beside_the_identity(
    archive: Path, capsys: Said
) -> None:
    assert main(["verify", str(archive)]) == 0
    lines = capsys.readouterr().out.splitlines()
    with PackageImporter(archive) as importer:
        assert lines[1:3] == [f"    identity {importer.identity}", f"    sha256   {_sha256(archive)}"]
    assert main(["verify", str(archive), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file_sha256"] == _sha256(archive)


def test_sha256_of_a_file_does_not_depend_on_where_it_is_read_from(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    data = archive.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["verify", "-"]) == 0
    assert f"    sha256   {_sha256(archive)}\n" in capsys.readouterr().out
    with archive.open("rb") as file:
        assert verify(file).file_sha256 == verify(data).file_sha256 == _sha256(archive)


def test_sha256_of_a_large_file_is_that_of_all_of_it(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "large.kellet", prove=False) as exporter:
        exporter.save_binary("net", "noise", bytes(range(256)) * 10_000)
    assert verify(tmp_path / "large.kellet").file_sha256 == _sha256(tmp_path / "large.kellet")


def test_unzipped_archive_has_an_identity_and_no_sha256(archive: Path, tmp_path: Path, capsys: Said) -> None:
    with ZipFile(archive) as file:
        file.extractall(tmp_path / "net")
    assert main(["verify", str(tmp_path / "net")]) == 0
    out = capsys.readouterr().out
    assert "    identity " in out
    assert "    sha256 " not in out


def test_file_that_was_modified_while_it_was_verified_has_no_sha256(archive: Path) -> None:
    with ArchiveReader(archive, mmap=False) as reader:
        with archive.open("r+b") as file:
            file.write(archive.read_bytes())
        with pytest.raises(IntegrityError, match="it has been modified; it was changed after it was opened"):
            reader.file_sha256()
