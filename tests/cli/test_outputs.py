"""Where each command writes what it makes: a file, replaced whole, or standard output, alone, for `-`."""

from __future__ import annotations

import dataclasses
import importlib
import io
import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter
from packager._archive import ArchiveReader, ArchiveWriter, ExternRecord, Manifest
from packager._cli import main
from packager._environment import Fingerprint

NET = """
import kellet
from kellet import nn
print("the module talks")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        nn.init.ones_(self.layer.weight)
        nn.init.zeros_(self.layer.bias)
    def forward(self, x):
        print("the model talks")
        return self.layer(x)
def build():
    print("the factory talks")
    return Net()
"""
# Each writes a file that ends so, at OUT. What is written for `-` is that very file.
TEXTS = {
    "report net.kellet -o OUT": ".html",
    "sbom net.kellet -o OUT": ".json",
    "plan outnet:build --html OUT": ".html",
    "plan outnet:build --json --html OUT": ".html",
    "diff net.kellet net.kellet --html OUT": ".html",
    "diff net.kellet net.kellet --run --json --html OUT": ".html",
    "suggest outnet:build -o OUT": ".toml",
    "suggest-migration old.npz outnet:build -o OUT": ".toml",
    "env lock plain.kellet -o OUT": ".txt",
    "export outnet:build -o other.kellet --no-proof --input x.npz --trace-policy OUT": ".toml",
    "run net.kellet --input in.json -o OUT": ".json",
}
BINARIES = {
    "export outnet:build -o OUT": ".kellet",
    "export outnet:build --example x.npz --json -o OUT": ".kellet",
    "convert old.npz OUT": ".kellet",
    "convert old.npz OUT --json": ".kellet",
    "migrate old.npz --with m.toml -o OUT": ".kellet",
    "migrate old.npz --with m.toml -o OUT --json": ".kellet",
    "run net.kellet --input x.npz -o OUT": ".npz",
}
FOLDERS = ("extract net.kellet OUT", "env create net.kellet OUT", "env lock net.kellet --wheels OUT")

Run = Callable[[str, str], tuple[int, bytes, str]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "outnet.py").write_text(NET)
    sys.path.insert(0, str(folder))
    with PackageExporter(folder / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", importlib.import_module("outnet").build())
    np.savez(folder / "x.npz", x=np.ones((3, 2), "f4"))
    (folder / "in.json").write_text('{"x": [[1.0, 2.0]]}')
    np.savez(folder / "old.npz", **{"a.weight": np.ones((1, 2), "f4"), "a.bias": np.ones(1, "f4")})
    (folder / "m.toml").write_text('[[step]]\nrename = "a.{k:any}"\nto = "layer.{k}"\n')
    with ArchiveWriter(folder / "plain.kellet", fsync=False) as writer:
        row = ExternRecord("tiny", "installed", "tiny", "1.0", "tiny>=1.0,<2")
        writer.seal(Manifest(externs=(row,), environment=dataclasses.asdict(Fingerprint.here())))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("outnet", None)


class Stream(io.TextIOWrapper):
    """Standard output that keeps its bytes, and says whether it is a terminal."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO())
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def written(self) -> bytes:
        self.flush()
        return self.buffer.getvalue()  # type: ignore[attr-defined]  # it is a BytesIO


@pytest.fixture
def run(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Carry out a command with OUT replaced; gives its code, standard output and standard error."""
    monkeypatch.chdir(prepared)
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))

    def call(line: str, out: str, terminal: bool = False) -> tuple[int, bytes, str]:
        sys.modules.pop("outnet", None)
        stream = Stream(terminal=terminal)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", stream)
            code = main([word.replace("OUT", out) for word in shlex.split(line)])
        return code, stream.written(), capsys.readouterr().err

    return call


@pytest.mark.parametrize("line", [*TEXTS, *BINARIES])
def test_a_dash_gives_the_bytes_of_the_file_and_nothing_else(run: Run, tmp_path: Path, line: str) -> None:
    target = tmp_path / f"suggested{ {**TEXTS, **BINARIES}[line] }"
    assert run(line, str(target))[0] == 0
    expected = target.read_bytes()
    before = sorted(os.listdir())
    code, written, errors = run(line, "-")
    assert (code, len(written)) == (0, len(expected)), errors
    if target.suffix == ".npz":  # its files have times
        assert np.load(io.BytesIO(written))["output"].tolist() == [[2.0]] * 3
    else:
        assert written == expected
    assert sorted(os.listdir()) == before, "no file has the name -"
    if line.startswith(("export", "suggest-migration")):
        assert "the factory talks\n" in errors


def test_what_is_on_standard_output_is_taken_by_the_next_command(prepared: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(prepared)}
    packager = [sys.executable, "-m", "packager"]
    made = subprocess.run(
        [*packager, "export", "outnet:build", "-o", "-"],
        cwd=prepared,
        env=environment,
        capture_output=True,
        check=True,
    )
    read = subprocess.run(
        [*packager, "verify", "-"], cwd=prepared, input=made.stdout, capture_output=True, check=True
    )
    assert read.stdout.startswith(b"-: everything holds; ")
    with ArchiveReader(made.stdout) as reader:
        assert f"identity {reader.identity}".encode() in made.stderr


@pytest.mark.parametrize("line", BINARIES)
def test_what_is_no_text_is_never_sent_to_a_terminal(run: Any, line: str) -> None:
    code, written, errors = run(line, "-", terminal=True)
    assert (code, written) == (1, b"")
    assert errors == (
        "kellet: -: this binary file cannot go to a terminal. Send standard output to a file or a pipe\n"
    )


def test_a_text_is_sent_to_a_terminal(run: Any) -> None:
    code, written, _ = run("sbom net.kellet -o OUT", "-", terminal=True)
    assert (code, written[:1]) == (0, b"{")


@pytest.mark.parametrize("line", FOLDERS)
def test_a_folder_does_not_go_to_standard_output(run: Run, capsys: Any, line: str) -> None:
    before = sorted(os.listdir())
    with pytest.raises(SystemExit) as ended:
        run(line, "-")
    assert ended.value.code == 2
    assert "-: expected a folder; only a file can go to standard output" in capsys.readouterr().err
    assert sorted(os.listdir()) == before


def test_only_one_file_goes_to_standard_output(run: Run) -> None:
    code, written, errors = run("export outnet:build -o OUT --trace-policy OUT", "-")
    assert (code, written) == (1, b"")
    assert errors.startswith("kellet: -o - --trace-policy -: only one of them can go to standard output. ")


def test_a_file_of_that_name_is_written_with_its_folder(run: Run) -> None:
    try:
        code, _, _ = run("sbom net.kellet -o OUT", "./-")
        assert (code, Path("-").read_bytes()[:1]) == (0, b"{")
    finally:
        Path("-").unlink()


@pytest.mark.unix
@pytest.mark.parametrize("line", [*TEXTS, *BINARIES])
def test_a_path_that_leads_to_no_file_is_refused_before_anything_is_done(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    fifo = tmp_path / "fifo.kellet"
    os.mkfifo(fifo)
    (tmp_path / "link.kellet").symlink_to(fifo)
    for path in (fifo, tmp_path / "link.kellet"):
        code, written, errors = run(line, str(path))
        assert (code, written) == (3, b"")
        assert errors == (
            "kellet: [Errno 22] it is a device, FIFO or socket, and a file is replaced whole; "
            f"- writes to standard output: '{path}'\n"
        )
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert (tmp_path / "link.kellet").is_symlink()


@pytest.mark.unix
@pytest.mark.parametrize("name", ["stdout", "log.txt"])
@pytest.mark.parametrize(
    "line",
    [
        "sbom net.kellet -o OUT",
        "export outnet:build -o OUT",
        "plan outnet:build --html OUT",
        "run net.kellet --text x -o OUT",
    ],
)
def test_the_file_that_standard_output_goes_to_keeps_what_is_in_it(
    prepared: Path, tmp_path: Path, line: str, name: str
) -> None:
    (tmp_path / "log.txt").write_text("kept\n")
    (tmp_path / "stdout").symlink_to("/dev/fd/1")  # as the one in /dev, which no test may touch
    words = shlex.split(line.replace("OUT", str(tmp_path / name)))
    with open(tmp_path / "log.txt", "ab") as log:
        done = subprocess.run(
            [sys.executable, "-m", "packager", *words],
            cwd=prepared,
            stdout=log,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, (tmp_path / "log.txt").read_text()) == (3, "kept\n")
    assert done.stderr.endswith(
        "standard output goes there, and a file is replaced whole; "
        f"- writes to standard output: '{tmp_path / name}'\n"
    )


@pytest.mark.unix
@pytest.mark.parametrize(
    "line", ["sbom net.kellet -o OUT", "convert old.npz OUT", "export outnet:build -o OUT"]
)
def test_a_link_stays_and_what_it_leads_to_is_written(run: Run, tmp_path: Path, line: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.kellet").symlink_to("folder/file.kellet")
    assert run(line, str(tmp_path / "link.kellet"))[0] == 0
    assert os.readlink(tmp_path / "link.kellet") == "folder/file.kellet"
    assert (tmp_path / "folder" / "file.kellet").stat().st_size > 500


@pytest.mark.parametrize("line", ["convert missing.npz OUT", "sbom m.toml -o OUT", "export outnet:no -o OUT"])
def test_an_error_leaves_standard_output_empty(run: Run, line: str) -> None:
    code, written, errors = run(line, "-")
    assert (code, written) == (4 if "export" in line else 3, b"")
    assert "kellet: " in errors
    assert sys.stdout is not sys.stderr, "it is put back"
