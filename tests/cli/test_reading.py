"""inspect, verify and extract on whatever they are given: a helpful answer or an error, and bounded cost."""

from __future__ import annotations

import errno
import io
import json
import os
import pty
import re
import struct
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter
from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    TensorSpec,
    add_tensors,
    index_name,
    pack,
)
from packager._archive.safetensors import spell_header
from packager._cli import main
from packager._cli.extract_command import refuse_names_of_windows
from packager.errors import PackageError
from tests import processes

Run = Callable[..., tuple[int, str, str]]
MIB = 1 << 20


@pytest.fixture
def run(capsys: Any) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "net.kellet"
    with PackageExporter(path, policy="auto", fsync=False, prove=False) as exporter:
        exporter.save_source_string("net", "def f(x):\n    return x\n")
        exporter.save_text("net_data", "words.txt", "one two")
        exporter.save_state_dict("net_data", "w", {"weight": np.ones((2, 3), "f4"), "step": 3})
    return path


# --- inspect on anything ---


def safetensors_file(path: Path) -> Path:
    header = spell_header([("w", "F32", (2,), 8)], {"format": "pt"})
    path.write_bytes(header + bytes(8))
    return path


def torch_file(path: Path) -> Path:
    """What `torch.save({"w": torch.zeros(2)})` writes."""
    data = (
        b"\x80\x02}q\x00X\x01\x00\x00\x00wq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\x00storage"
        b"q\x03ctorch\nFloatStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x02tq\x07QK\x00K\x02"
        b"\x85q\x08K\x01\x85q\t\x89ccollections\nOrderedDict\nq\n)Rq\x0btq\x0cRq\rs."
    )
    with zipfile.ZipFile(path, "w") as file:
        for name, content in (("data.pkl", data), ("byteorder", b"little"), ("data/0", bytes(8))):
            file.writestr(f"archive/{name}", content)
        file.writestr("archive/version", b"3\n")
    return path


def numpy_file(path: Path) -> Path:
    np.savez(path, w=np.ones(2, "f4"))
    return path


@pytest.mark.parametrize(
    ("name", "make", "format"),
    [
        ("x.safetensors", safetensors_file, "safetensors"),
        ("x.npz", numpy_file, "npz"),
        ("x.pt", torch_file, "torch"),
        ("odd.name", torch_file, "torch"),
    ],
)
def test_inspect_shows_weights_of_other_kinds(
    run: Run, tmp_path: Path, name: str, make: Callable[[Path], Path], format: str
) -> None:
    path = make(tmp_path / name)
    code, out, errors = run("inspect", path)
    assert (code, errors) == (0, "")
    assert out.startswith(f"{path}: no archive of packager, but weights ({format})")
    assert re.search(r"^    w +\S+ +\[2\]$", out, re.MULTILINE)
    shown = json.loads(run("inspect", path, "--json")[1])
    assert shown["format"] == format
    assert [(row["key"], row["shape"]) for row in shown["tensors"]] == [("w", [2])]


def test_inspect_shows_an_archive_in_every_form(run: Run, archive: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(archive).extractall(tmp_path / "folder")
    for form in (archive, tmp_path / "folder"):
        code, out, _ = run("inspect", form, "--tensors")
        assert code == 0
        assert "words.txt" in out
        assert "weight  F32    [2, 3]  24 B" in out


def test_inspect_counts_once_what_several_saves_share(run: Run, tmp_path: Path) -> None:
    """Ties inside of a save, and whole storages of an earlier one; what is small is stored with each."""
    path, big, small = tmp_path / "x.kellet", np.arange(4096, dtype="f4"), np.ones(2)
    with PackageExporter(path, policy="auto", fsync=False, prove=False) as exporter:
        exporter.save_state_dict("m", "a", {"w": big, "tied": big, "row": big[8:16], "s": small})
        exporter.save_state_dict("m", "b", {"v": big + 1, "again": big, "both": big, "s": small})
        exporter.save_state_dict("m", "c", {"x": big + 1, "y": big})
    code, out, _ = run("inspect", path, "--tensors")
    assert code == 0
    rows = [re.split(r" {2,}", line.strip()) for line in out.splitlines()]
    table = rows[rows.index(["tensors:"]) + 1 :]
    assert table[:4] == [
        ["m/a", "4", "16.0 KiB"],
        ["m/b", "4", "16.0 KiB", "and 16.0 KiB in m/a"],
        ["m/c", "2", "0 B", "and 16.0 KiB in m/a, 16.0 KiB in m/b"],
        ["in all", "10", "32.0 KiB"],
    ]
    assert [row[4:] for row in table[6:10]] == [[], ["memory of w"], ["memory of w"], []]
    assert [row[4:] for row in table[12:16]] == [[], ["in m/a"], ["memory of again"], []]
    shown = json.loads(run("inspect", path, "--json")[1])
    assert shown["tensors_stored"] == {
        "m/a": {"bytes": 16400, "elsewhere": {}},
        "m/b": {"bytes": 16400, "elsewhere": {"m/a": 16384}},
        "m/c": {"bytes": 0, "elsewhere": {"m/a": 16384, "m/b": 16384}},
    }
    sharing = [(row["lies_in"], row["shares_memory_with"]) for row in shown["tensors"]["m/b"]]
    assert sharing == [(None, None), ("m/a", None), ("m/a", "again"), (None, None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "neither an archive nor a file of weights"),
        (b"random bytes, and more of them", "As an archive: .*x, end of the archive: found"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "As weights: .* found b'.x89PNG"),
        (b"PK\x03\x04" + bytes(100), "neither an archive nor a file of weights"),
        (b"\x80\x04cos\nsystem\n(S'true'\ntR.", "neither an archive nor a file of weights"),
    ],
    ids=["empty", "random", "png", "zip", "pickle"],
)
def test_inspect_says_what_a_file_is_not(run: Run, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x").write_bytes(content)
    code, out, errors = run("inspect", tmp_path / "x")
    assert (code, out) == (3, "")
    assert re.search(message, errors)


def test_inspect_of_a_folder_says_what_to_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    code, _, errors = run("inspect", tmp_path / "pkg")
    assert code == 3
    assert "no .data/manifest.msgpack; expected an unpacked archive" in errors
    assert "kellet plan PACKAGE" in errors


def test_a_damaged_archive_is_never_read_as_something_else(run: Run, archive: Path, tmp_path: Path) -> None:
    """An archive around weights that another reader would find in it, and whose own reader refuses it."""
    damaged = archive.read_bytes()[:-1] + b"\1"
    for name in ("x.kellet", "x.npz", "x.pt", "x"):
        (tmp_path / name).write_bytes(damaged)
        code, out, errors = run("inspect", tmp_path / name)
        assert (code, out) == (3, "")
        assert "end of the archive" in errors


# --- standard input ---


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["verify", "-"], "-: everything holds"),
        (["verify", "--deep", "-"], "-: everything holds"),
        (["inspect", "-"], "words.txt"),
        (["extract", "-", "out"], "files of -"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
@pytest.mark.parametrize("through", ["pipe", "file"])
def test_standard_input_is_a_file_like_any_other(
    archive: Path, tmp_path: Path, arguments: list[str], answer: str, through: str
) -> None:
    command = [sys.executable, "-m", "packager", *arguments]
    with open(archive, "rb") as file:
        given: dict[str, Any] = {"input": file.read()} if through == "pipe" else {"stdin": file}
        done = processes.run(command, **given, capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert answer in done.stdout.decode()
    if arguments[0] == "extract":
        with ArchiveReader(tmp_path / "out") as unpacked, ArchiveReader(archive) as packed:
            assert unpacked.identity == packed.identity


# --- extract ---


@pytest.mark.unix  # what stands in for modules takes some of the memory
def test_extract_writes_large_entries_piece_by_piece(tmp_path: Path) -> None:
    path, size = tmp_path / "x.kellet", 150 * MIB
    with ArchiveWriter(path, fsync=False) as writer:
        writer.add("big", bytes(size), kind="resource", align=64)
        writer.seal(Manifest())
    memory = measured("extract", path, tmp_path / "out")
    assert memory < 96 * MIB
    assert (tmp_path / "out/big").stat().st_size == size


def test_extract_names_the_file_that_a_full_disk_does_not_take(
    run: Run, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(reader: ArchiveReader, name: str) -> Iterator[memoryview]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield memoryview(b"")

    monkeypatch.setattr("packager._cli.extract_command._pieces", full)
    with ArchiveReader(archive) as reader:
        first = reader.names()[0]
    code, _, errors = run("extract", archive, tmp_path / "out")
    assert code == 3
    assert (
        f"{tmp_path}/out/{first}: it cannot be written: No space left on device; no file was left" in errors
    )
    assert "free some space, or write to another disk" in errors
    assert sorted(os.listdir(tmp_path)) == ["net.kellet"]


@pytest.mark.parametrize("place", [b"one two", b"return x"])
def test_extract_leaves_nothing_of_a_damaged_archive(
    run: Run, archive: Path, tmp_path: Path, place: bytes
) -> None:
    data = bytearray(archive.read_bytes())
    data[data.index(place)] ^= 1
    archive.write_bytes(data)
    code, _, errors = run("extract", archive, tmp_path / "out")
    assert code == 3
    assert "do not have the sha256" in errors
    assert sorted(os.listdir(tmp_path)) == ["net.kellet"]


def test_extract_takes_what_matches_and_says_when_nothing_does(
    run: Run, archive: Path, tmp_path: Path
) -> None:
    assert run("extract", archive, tmp_path / "out", "net_data/*.txt")[0] == 0
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["words.txt"]
    assert run("extract", archive, tmp_path / "other", "nothing/**")[0] == 1
    code, _, errors = run("extract", archive, tmp_path / "out")
    assert (code, "not an empty folder" in errors) == (1, True)


def test_extract_never_follows_a_link_out_of_the_folder(run: Run, archive: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    assert run("extract", archive, tmp_path / "out")[0] == 3
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.unix
@pytest.mark.parametrize("leads_to", ["empty", "nothing", "loop", "net.kellet", "full"])
def test_extract_refuses_a_link_by_its_name_before_anything_is_read(
    run: Run, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leads_to: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "loop").symlink_to(leads_to)
    before = sorted(tmp_path.rglob("*"))

    def read(*arguments: Any, **options: Any) -> None:
        raise AssertionError("never reached")

    monkeypatch.setattr(ArchiveReader, "__init__", read)
    code, out, errors = run("extract", "net.kellet", "loop/")
    assert (code, out) == (3, "")
    assert errors == "kellet: [Errno 20] it is a link; name the folder that it leads to: 'loop'\n"
    assert sorted(tmp_path.rglob("*")) == before


def test_extract_into_an_empty_folder_behind_a_link_above_it_works(
    run: Run, archive: Path, tmp_path: Path
) -> None:
    (tmp_path / "real" / "empty").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert run("extract", archive, tmp_path / "link" / "empty")[0] == 0
    assert run("extract", archive, tmp_path / "link" / "new")[0] == 0
    assert os.listdir(tmp_path / "real" / "empty") == os.listdir(tmp_path / "real" / "new")
    assert os.path.islink(tmp_path / "link")


@pytest.mark.parametrize(
    "name",
    [
        "con",
        "net/aux.py",
        "NUL",
        "a/com1",
        "a/LPT9.txt",
        "prn/x",
        "x:stream",
        "a?b",
        "a|b",
        "con .txt",
        "lpt²",
    ],
)
def test_names_that_are_devices_or_streams_on_windows_are_not_written_there(name: str) -> None:
    refuse_names_of_windows(["net/__init__.py", "console.py", "net/auxiliary/com.py", "lpt10", "nu.l"])
    with pytest.raises(PackageError, match="Windows has no files of such names"):
        refuse_names_of_windows(["net/__init__.py", name])


# --- bounded, also when the archive is an enemy's ---

MEASURED = """
import re, sys
import packager._archive.verifying, packager._cli.inspect_command, packager._policy
import packager._loading.resources, packager._texts, packager._loading.deep_checks, msgpack
from packager._cli import main
def used():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
before = used()
code = main(sys.argv[1:])
print(used() - before, code, file=sys.stderr)
"""


def measured(*arguments: object) -> int:
    """How many bytes a command that succeeds took beyond what an idle one does."""
    done = processes.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments)],
        cold=True,
        stdout=processes.DEVNULL,
        stderr=processes.PIPE,
        text=True,
        check=True,
    )
    taken, code = map(int, done.stderr.split()[-2:])
    assert code == 0
    return taken


@pytest.fixture
def many_tensors(tmp_path: Path) -> Path:
    """As many tensors as are read, which share one byte and cost their index a dozen."""
    count, path = 1 << 18, tmp_path / "x.kellet"
    keys = "\0".join(f"{number:06}" for number in range(count))
    index = [
        count,
        keys,
        b"\4" * count,
        bytes(count),
        b"",
        bytes(4 * count),
        struct.pack("<Q", 1),
        [],
        {},
        [],
    ]
    with ArchiveWriter(path, fsync=False) as writer:
        data = spell_header([("000000", "U8", (), 1)], {}) + b"x"
        writer.add("w", data, kind="tensors", align=64)
        writer.add(index_name("w"), pack(index), kind="index")
        writer.seal(Manifest())
    return path


@pytest.mark.long
def test_inspect_is_bounded_by_the_file(many_tensors: Path) -> None:
    """Takes seconds, as an index with fewer tensors would fit into what any file may cost."""
    assert measured("inspect", many_tensors, "--json") < 64 * MIB + 8 * many_tensors.stat().st_size


# --- what a terminal shows ---


def on_a_terminal(*arguments: object) -> str:
    """What a command writes to standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    shown: list[bytes] = []

    def watch() -> None:
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other side is closed
                return
            if not piece:
                return
            shown.append(piece)

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = (
        "import sys; sys.modules['rich'] = None; from packager._cli import main; sys.exit(main(sys.argv[1:]))"
    )
    processes.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cold=True,
        stdout=processes.DEVNULL,
        stderr=theirs,
        check=True,
    )
    os.close(theirs)
    watcher.join()
    os.close(ours)
    return b"".join(shown).decode()


@pytest.mark.parametrize(
    ("command", "word"), [("verify", "verifying"), ("extract", "extracting")], ids=["verify", "extract"]
)
def test_long_reads_show_how_far_they_are_on_a_terminal(tmp_path: Path, command: str, word: str) -> None:
    path = tmp_path / "x.kellet"
    with ArchiveWriter(path, fsync=False) as writer:
        add_tensors(writer, "w", [TensorSpec("w", "U8", (200 * MIB,), (1,), 0, 0)], [bytes(200 * MIB)])
        writer.seal(Manifest())
    arguments = [command, path, *([tmp_path / "out"] if command == "extract" else [])]
    percent = [int(found) for found in re.findall(rf"{word}:? +(\d+) ?%", on_a_terminal(*arguments))]
    assert percent == sorted(percent)
    assert percent[0] < 50, "one long entry moves the bar along the way; how often is a matter of time"
    assert percent[-1] == 100


def test_commands_are_quiet_where_nobody_looks(archive: Path, tmp_path: Path) -> None:
    for arguments in (["verify", archive], ["extract", archive, tmp_path / "out"], ["inspect", archive]):
        done = processes.run(
            [sys.executable, "-m", "packager", *map(str, arguments)],
            cold=True,
            capture_output=True,
            check=True,
        )
        assert done.stderr == b""


def test_reading_commands_need_neither_numpy_nor_kellet(archive: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('numpy', 'kellet', 'importlib_metadata', 'isal', 'rich'): sys.modules[name] = None\n"
        "from packager._cli import main\n"
        "for line in sys.argv[1:]:\n"
        "    assert main(line.split('|')) == 0, line\n"
        "from packager import PackageImporter\n"
        "with PackageImporter(sys.argv[1].split('|')[-1], environment='ignore') as importer:\n"
        "    assert importer.import_module('net').f(5) == 5\n"
        "    assert importer.load_text('net_data', 'words.txt') == 'one two'\n"
        "    assert importer.archive.read('net.py')\n"
    )
    lines = [
        f"verify|{archive}",
        f"verify|--deep|{archive}",
        f"inspect|{archive}",
        f"inspect|--json|{archive}",
    ]
    lines += [f"extract|{archive}|{tmp_path / 'out'}", f"why|{archive}|net"]
    done = processes.run(
        [sys.executable, "-c", code, *lines], cold=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_hold_no_word_to_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\x93NUMPY\x01\0v\0{'descr': '\x1b]0;evil\x07', 'fortran_order': False, 'shape': ()}")
    for file in (path, tmp_path / "\x1b[2J"):
        code, _, errors = run("inspect", file)
        assert code == 3
        assert "\x1b" not in errors


def test_a_file_in_memory_is_as_good(archive: Path) -> None:
    from packager import verify

    assert verify(io.BytesIO(archive.read_bytes())).ok
