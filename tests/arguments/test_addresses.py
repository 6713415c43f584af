"""An address is taken where an archive or weights are read; elsewhere an error says what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

import kellet
from packager import PackageExporter, PackageImporter, Predictor, load, verify
from packager._archive import ArchiveReader
from packager._arguments import check_path
from packager._calls import load_inputs
from packager._cli.main import main
from packager._differences import compare_files
from packager._licenses import bill_of_materials
from packager._migrations import read_migration
from packager._policy import read_policy
from packager._pretrained import open_pretrained
from packager._weights import open_checkpoint, write_checkpoint
from packager.errors import AddressError, PackageError
from tests.tables import one_test

READERS: list[Callable[[Any], Any]] = [
    ArchiveReader,
    PackageImporter,
    Predictor,
    bill_of_materials,
    load,
    open_checkpoint,
    verify,
    partial(compare_files, os.devnull),
    lambda file: compare_files(file, os.devnull),
]
OTHERS: list[Callable[[Any], Any]] = [
    PackageExporter,
    load_inputs,
    read_migration,
    read_policy,
    open_pretrained,
    lambda file: write_checkpoint(file, {"w": np.ones(1)}),
]


@one_test
@pytest.mark.parametrize("take", OTHERS)
@pytest.mark.parametrize(
    "address", ["https://models.example/net.kellet", "s3://models/net.pt", "gs+zip://m/n.json", "hf://a/b"]
)
def test_address_in_the_place_of_a_path_says_what_to_do(take: Callable[[Any], Any], address: str) -> None:
    with pytest.raises(AddressError, match=f"^{re.escape(address)}: expected a path; ") as told:
        take(address)
    assert isinstance(told.value, PackageError)
    assert isinstance(told.value, FileNotFoundError)
    assert "curl -L -o FILE https://" in str(told.value)


@one_test
@pytest.mark.parametrize("take", READERS)
@pytest.mark.parametrize("address", ["ftp://models/net.kellet", "gs+zip://m/n.json", "hf://a/b"])
def test_address_of_an_unknown_scheme_says_what_to_do(take: Callable[[Any], Any], address: str) -> None:
    with pytest.raises(AddressError, match=f"^{re.escape(address)}: expected an address of http, ") as told:
        take(address)
    assert str(told.value).endswith("curl -L https://... | kellet verify -")


def test_command_for_an_address_can_be_pasted_into_a_shell_and_shows_no_secret() -> None:
    with pytest.raises(AddressError, match=re.escape("curl -L -o FILE 'https://a.example/x$(d)'")) as told:
        check_path("file", "https://me:secret@a.example/x$(d)?token=secret#secret")
    assert "secret" not in str(told.value)


def test_address_that_was_made_a_path_says_so() -> None:
    with pytest.raises(AddressError, match=r"^https://models\.example/net\.kellet: found a Path"):
        PackageImporter(Path("https://models.example/net.kellet"))


@pytest.mark.parametrize(
    "command",
    [
        *["inspect U", "verify U", "report U -o r.html", "run U --text x", "check U", "extract U out"],
        *["convert U x.safetensors", "diff U U", "env check U", "env lock U", "cache compile U", "sbom U"],
        "suggest-migration U json:loads",
        *["report f -o U", "sbom f -o U", "export m:f -o U", "run f --text x -o U"],
        *["env lock f -o U", "migrate f -o U --with m.toml", "suggest m:f -o U"],
        "suggest-migration f m:f -o U",
    ],
)
def test_command_ends_with_3_for_an_address_of_an_unknown_scheme(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command.replace("U", "ftp://models/net.kellet").split()) == 3
    assert capsys.readouterr().err.startswith("kellet: ftp://models/net.kellet: expected a")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["extract f U", "env create f U", "env lock f --wheels U"])
def test_address_is_no_folder_to_write(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(command.replace("U", "s3://models/net").split())
    assert ": s3://models/net: expected a path; " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["https://models.example/x", Path("s3://models/x")])
def test_load_of_kellet_takes_no_address(address: str | Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^load: .*: addresses are not opened yet; fetch the file"):
        kellet.load(address)


@one_test
@pytest.mark.parametrize(
    "name", ["a:b.kellet", "x://y.kellet", "-:/y.kellet", "1/a:/y", "é:/y", "C:/none.kellet"]
)
def test_odd_name_of_a_file_is_no_address(name: str) -> None:
    check_path("file", name)
    with pytest.raises(FileNotFoundError) as told:
        open_checkpoint(f"{name}.pt")
    assert not isinstance(told.value, AddressError)


def test_file_below_a_folder_that_is_called_like_a_scheme_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("https:").mkdir()
    with PackageExporter("https://net.kellet", prove=False) as exporter:
        exporter.save_text("net", "words.txt", "hello")
    assert verify("https://net.kellet").ok
    kellet.save(kellet.ones(1), "https:/x")
    assert kellet.load("https://x").item() == 1


def test_archive_at_an_address_is_verified_through_a_pipe(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "net.kellet", prove=False) as exporter:
        exporter.save_text("net", "words.txt", "hello")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/net.kellet"
        with urlopen(address) as answer:
            data = answer.read()
        command = [sys.executable, "-m", "packager", "verify", "-"]
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert f"identity {verify(data).identity}".encode() in done.stdout
