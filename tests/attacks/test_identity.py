"""An identity admits one archive alone: any other is refused before anything of it is built or run.

The archives here differ in one entry each, or in the bytes of tensors under one CRC-32. Each refusal has a
twin with the right identity that loads.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packager
from kellet.nn import Linear
from packager import ArgumentError, IdentityMismatchError, PackageExporter, PackageImporter, verify
from packager._archive import ArchiveReader
from packager._cli import main
from packager.errors import IntegrityError
from tests import processes

from .test_forged_checksums import same_crc


def save(path: Path, *, marker: Path | None = None, digests: str = "sha256", scale: float = 1.0) -> Path:
    """An archive with code that writes a marker when it is imported, an object, a state and a text."""
    code = "" if marker is None else f"import pathlib; pathlib.Path({str(marker)!r}).write_text('ran')\n"
    with PackageExporter(path, policy="auto", digests=digests, prove=False) as exporter:
        exporter.save_source_string("shop", f"{code}answer = 42\n")
        exporter.save_object("model", "model", Linear(2, 1))
        exporter.save_state_dict("shop", "state", {"w": np.full(64, scale)})
        exporter.save_text("shop", "words.txt", "one two")
    return path


def identity_of(path: Path) -> str:
    with ArchiveReader(path) as reader:
        return reader.identity


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "marker"


FORMS: Mapping[str, Callable[[Path], Any]] = {
    "path": str,
    "bytes": Path.read_bytes,
    "file object": lambda path: io.BytesIO(path.read_bytes()),
    "folder": lambda path: unpacked(path),
}


def unpacked(path: Path) -> Path:
    folder = path.with_suffix(".folder")
    shutil.rmtree(folder, ignore_errors=True)
    zipfile.ZipFile(path).extractall(folder)
    return folder


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prefix", ["", "sha256:"])
def test_the_archive_of_the_identity_loads_in_every_form(
    tmp_path: Path, marker: Path, form: str, prefix: str
) -> None:
    path = save(tmp_path / "net.kellet", marker=marker)
    given = FORMS[form](path)
    with PackageImporter(given, identity=prefix + identity_of(path), environment="ignore") as importer:
        assert importer.import_module("shop").answer == 42
        assert importer.load_state_dict("shop", "state")["w"][0] == 1.0
    assert marker.exists()


@pytest.mark.parametrize("form", FORMS)
def test_another_archive_is_refused_before_anything_of_it_is_read(
    tmp_path: Path, marker: Path, form: str
) -> None:
    wanted = identity_of(save(tmp_path / "honest.kellet"))
    path = save(tmp_path / "net.kellet", marker=marker)
    with pytest.raises(IdentityMismatchError, match="Get the archive that was asked for, or, if") as caught:
        PackageImporter(FORMS[form](path), identity=wanted)
    assert (caught.value.expected, caught.value.found) == (wanted, identity_of(path))
    assert f"found identity {identity_of(path)}, expected {wanted}. Get the archive" in str(caught.value)
    assert isinstance(caught.value, IntegrityError)
    assert not marker.exists()


def test_a_changed_byte_of_any_entry_but_tensors_changes_the_identity(tmp_path: Path) -> None:
    seen = {identity_of(save(tmp_path / "one.kellet"))}
    for name, text in (("words.txt", "one two three"), ("more.txt", "")):
        path = tmp_path / "other.kellet"
        with PackageExporter(path, policy="auto", prove=False) as exporter:
            exporter.save_text("shop", name, text)
        seen.add(identity_of(path))
    seen.add(identity_of(save(tmp_path / "two.kellet", scale=2.0)))
    assert len(seen) == 4


def test_the_name_of_the_file_is_no_part_of_the_identity(tmp_path: Path) -> None:
    path = save(tmp_path / "net.kellet")
    (tmp_path / "elsewhere").mkdir()
    other = Path(shutil.copy(path, tmp_path / "elsewhere" / "x.zip"))
    assert identity_of(other) == identity_of(path) == identity_of(unpacked(path))


@pytest.mark.parametrize(
    "identity",
    ["", "0f", "0" * 63, "0" * 65, "g" * 64, "A" * 64, f" {'0' * 64}", f"{'0' * 64}\n", "md5:" + "0" * 64,
     b"0", 3],
)  # fmt: skip
def test_what_is_no_identity_is_refused_before_the_file_is_opened(tmp_path: Path, identity: Any) -> None:
    for use in (PackageImporter, ArchiveReader, verify):
        with pytest.raises(ArgumentError, match=r"identity=.*: expected the"):
            use(tmp_path / "absent.kellet", identity=identity)
    if isinstance(identity, str):
        with pytest.raises(SystemExit) as caught:
            main(["verify", str(tmp_path / "absent.kellet"), "--identity", identity])
        assert caught.value.code == 2


def forged_tensors(path: Path) -> bytes:
    """The archive with other bytes in a state's tensor, under the CRC-32 of the honest ones."""
    data = path.read_bytes()
    with zipfile.ZipFile(path) as opened:
        info, content = opened.getinfo("shop/state"), opened.read("shop/state")
    start = data.index(content, info.header_offset)
    places = [(len(content) - 1 - at, bit) for at in range(4) for bit in range(8)]
    changed = content[:-512] + np.full(64, 666.0).tobytes()
    other = same_crc(changed, places, int.from_bytes(info.CRC.to_bytes(4, "little"), "little"))
    return data[:start] + other + data[start + len(content) :]


def test_beside_an_identity_tensors_are_checked_by_sha256(tmp_path: Path) -> None:
    path = save(tmp_path / "net.kellet")
    identity, forged = identity_of(path), forged_tensors(path)
    with PackageImporter(forged) as importer:  # CRC-32 finds no intent
        assert importer.load_state_dict("shop", "state")["w"][0] == 666.0
    with PackageImporter(forged, identity=identity) as importer:
        state = importer.load_state_dict("shop", "state")
        with pytest.raises(IntegrityError, match=r"entry 'shop/state'.* do not have the sha256"):
            state["w"]
    with PackageImporter(forged, identity=identity, digests="crc") as importer:  # the caller's choice
        assert importer.load_state_dict("shop", "state")["w"][0] == 666.0


def test_an_identity_that_does_not_bind_tensors_is_not_taken_for_one(
    tmp_path: Path, marker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "net.kellet", marker=marker, digests="crc")
    identity = identity_of(path)
    with pytest.raises(IntegrityError, match=r'not cover the tensors.*digests="crc"\. Export it again'):
        PackageImporter(path, identity=identity)
    assert main(["run", str(path), "--identity", identity, "--input", _inputs(tmp_path)]) == 3
    assert "its identity does not cover the tensors" in capsys.readouterr().err
    assert main(["verify", str(path)]) == 0
    out = capsys.readouterr().out
    assert "its identity does not cover the bytes of tensors, which have only a CRC-32" in out
    assert "kellet run" not in out
    assert not marker.exists()
    with PackageImporter(path, identity=identity, digests="crc", environment="ignore") as importer:
        assert importer.import_module("shop").answer == 42


def test_an_archive_of_crc_without_tensors_is_bound_by_its_identity(tmp_path: Path) -> None:
    path = tmp_path / "net.kellet"
    with PackageExporter(path, policy="auto", digests="crc", prove=False) as exporter:
        exporter.save_text("shop", "words.txt", "one")
    with PackageImporter(path, identity=identity_of(path)) as importer:
        assert importer.load_text("shop", "words.txt") == "one"


def _inputs(folder: Path) -> str:
    np.savez(folder / "x.npz", arg0=np.ones((3, 2), "f4"))
    return str(folder / "x.npz")


def test_every_command_that_uses_an_archive_takes_no_other(
    tmp_path: Path, marker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "net.kellet", marker=marker)
    commands = [
        ["run", str(path), "--input", _inputs(tmp_path)],
        ["check", str(path)],
        ["verify", str(path)],
        ["verify", str(path), "--deep"],
        ["extract", str(path), str(tmp_path / "out")],
        ["env", "lock", str(path)],
        ["env", "create", str(path), str(tmp_path / "env")],
    ]
    for command in commands:
        assert main([*command, "--identity", "0" * 64]) == 3, command
        assert f"expected {'0' * 64}" in capsys.readouterr().err
    assert not any((tmp_path / name).exists() for name in ("out", "env", "marker"))
    for command in (commands[0], commands[2], commands[3], commands[4]):
        assert main([*command, "--identity", f"sha256:{identity_of(path)}"]) == 0, command


@pytest.mark.parametrize("name", ["net.kellet", "my net; touch pwned.kellet", "it's.kellet"])
def test_verify_prints_what_to_paste(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = save(tmp_path / name)
    assert main(["verify", name]) == 0
    head, identity, digest, title, python, shell = capsys.readouterr().out.splitlines()
    assert head.endswith("digests sha256")
    assert identity == f"    identity {identity_of(path)}"
    assert digest == f"    sha256   {sha256(path.read_bytes()).hexdigest()}"
    assert title == "to load only this archive:"
    assert f'identity="{identity_of(path)}"' in python
    assert isinstance(eval(python.strip(), {"packager": packager}), Linear)
    shell = shell.strip().replace("kellet ", f"{sys.executable} -m packager ", 1)
    line = f"{shell} --input {_inputs(tmp_path)}"
    done = processes.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "output: float32 [3, 1]\n"
    assert not os.path.exists("pwned.kellet")


def test_what_does_not_hold_is_not_offered_to_be_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "net.kellet")
    path.write_bytes(path.read_bytes().replace(b"one two", b"one 2wo"))
    assert main(["verify", str(path)]) == 1
    assert "to load only this archive" not in capsys.readouterr().out


def test_a_worker_takes_no_other_tensors_than_those_of_the_identity(tmp_path: Path) -> None:
    path = save(tmp_path / "net.kellet")
    honest, identity = path.read_bytes(), identity_of(path)
    forged = forged_tensors(path)
    program = f"import importlib, os, sys\nsys.path[:] = {sys.path!r}\n"
    program += "from packager._loading.open_archives import _announced\n"
    program += f"path = {str(path)!r}\n"  # other tests may have archives open in this process
    program += "print({one['digests'] for one in _announced().values() if one['path'] == path})"
    for given, expected in ((identity, "{'sha256'}"), (None, "{'crc'}")):
        path.write_bytes(honest)
        with PackageImporter(path, identity=given, environment="ignore") as importer:
            importer.import_module("shop")
            path.write_bytes(forged)
            done = processes.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected
