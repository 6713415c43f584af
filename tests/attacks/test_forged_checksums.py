"""Bytes that are run or interpreted are checked by sha256 at every use: CRC-32 can be forged.

The archive is honest, and so is its manifest, which says who it is. Then bytes of one entry are
exchanged for others with the same CRC-32, which takes four bytes that may be chosen. Every public call
that leads to that entry is tried, with the weakest checks that a caller may choose.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import io
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import KINDS, ArchiveReader, ArchiveWriter
from packager._archive.bounds import CHUNK
from packager._archive.entry_names import MIGRATIONS
from packager._cli import main
from packager._environment.creating import create_environment
from packager._environment.locks import wheels_held
from packager._environment.own import wheel_of
from packager._migrations import Migration, attach, rename
from packager.errors import IntegrityError, PackageError
from tests import processes

NET = """
from importlib.resources import files
from kellet import nn

class Net(nn.Module):
    _version = 2
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
    def forward(self, x):
        return self.fc(x)

def words():
    return (files(__package__) / "words.txt").read_text()

def unpacked():
    with open(__file__.replace("net.py", "words.txt")) as file:
        return file.read()

answer = "honest"
# @@@@@@@@
"""
BIG = bytes(range(256)) * (CHUNK // 128) + b"the last chunk is a short one"
WHEEL, WHEEL_DATA = wheel_of({"tiny-1.dist-info/METADATA": b"Name: tiny\nVersion: 1\n"}, "tiny", "1")
WHEEL_ENTRY = f".data/wheels/{WHEEL}"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An archive with an entry of every kind."""
    folder = tmp_path_factory.mktemp("forged")
    (folder / "shop").mkdir()
    (folder / "shop/__init__.py").write_text("")
    (folder / "shop/net.py").write_text(NET)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        shop = importlib.import_module("shop.net")
        attach(shop.Net, Migration("to 2", [rename("old.{rest}", "fc.{rest}")], to=2))
        net = shop.Net()
        path = folder / "net.kellet"
        with PackageExporter(path, policy="auto", prove=False) as exporter:
            exporter.save_object("model", "model", net)
            exporter.save_example("model", {"x": np.ones((1, 2), "f4")})
            exporter.save_object("shop", "prices", {"cat": 3, "dog": (4, b"five" * 20)})
            exporter.save_state_dict("shop", "state", {"w": np.arange(4.0), "extra": {"epoch": 12345}})
            exporter.save_text("shop", "words.txt", "honest words")
            exporter.save_binary("shop", "big.bin", BIG)
            exporter.save_pickle("shop", "old.pkl", {"cat": 3})
        sys.modules.pop("shop.net"), sys.modules.pop("shop")
    whole = io.BytesIO()
    with ArchiveReader(path) as reader, ArchiveWriter(whole) as writer:
        for name in reader.names():
            entry = reader.entry(name)
            writer.add(name, reader.read(name), kind=entry.kind, align=entry.align)
        writer.add(WHEEL_ENTRY, WHEEL_DATA, kind="resource")
        writer.seal(reader.manifest)
    return whole.getvalue()


def same_crc(data: bytes, free: list[tuple[int, int]], wanted: int) -> bytes:
    """Give `data` the CRC-32 `wanted` by bits at `free` places (byte, bit): CRC-32 is linear in each."""
    blank = zlib.crc32(bytes(len(data)))
    rows = []
    for number, (at, bit) in enumerate(free):
        one = bytearray(len(data))
        one[at] = 1 << bit
        rows.append((zlib.crc32(one) ^ blank, 1 << number))
    missing, chosen = zlib.crc32(data) ^ wanted, 0
    for place in range(32):  # elimination over the field of two elements
        pivot = next((row for row in rows if row[0] >> place & 1), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows = [(row[0] ^ pivot[0], row[1] ^ pivot[1]) if row[0] >> place & 1 else row for row in rows]
        if missing >> place & 1:
            missing, chosen = missing ^ pivot[0], chosen ^ pivot[1]
    assert missing == 0
    found = bytearray(data)
    for number, (at, bit) in enumerate(free):
        if chosen >> number & 1:
            found[at] ^= 1 << bit
    return bytes(found)


def forged(archive: bytes, name: str) -> bytes:
    """The archive with other bytes in one entry, and every CRC-32 as it was."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        info = opened.getinfo(name)
        content = opened.read(name)
    head = archive[info.header_offset : info.header_offset + 30]
    start = info.header_offset + 30 + int.from_bytes(head[26:28], "little")
    start += int.from_bytes(head[28:30], "little")
    assert archive[start : start + len(content)] == content
    first = max(0, (len(content) - 1) // CHUNK * CHUNK)
    chunk = content[first:]
    if name.endswith("shop/net.py"):  # still a program: the bits lie in letters of a comment
        places = [(chunk.rindex(b"@@@@@@@@") + at, bit) for at in range(8) for bit in range(5)]
        other = same_crc(chunk.replace(b"honest", b"forged"), places, zlib.crc32(chunk))
    else:
        places = [(len(chunk) - 1 - at, bit) for at in range(4) for bit in range(8)]
        other = same_crc(bytes([chunk[0] ^ 1]) + chunk[1:], places, zlib.crc32(chunk))
    assert other != chunk
    assert zlib.crc32(other) == zlib.crc32(chunk)
    return archive[: start + first] + other + archive[start + len(content) :]


def resource_of(importer: PackageImporter) -> Any:
    files: Any = importer.get_resource_reader("shop").files()
    return files


def installed(importer: PackageImporter) -> Any:
    importer.install()
    return importlib.import_module("shop.net").answer


Use = Callable[[PackageImporter], Any]
CODE: Mapping[str, Use] = {
    "import_module": lambda importer: importer.import_module("shop.net").answer,
    "install": installed,
    "get_source": lambda importer: importer.get_source("shop.net"),
    "get_data": lambda importer: (
        lambda loader: loader.get_data(loader.path.replace("__init__.py", "net.py"))
    )(importer.import_module("shop").__spec__.loader),
    "load_object": lambda importer: importer.load_object("model", "model"),
    "run": lambda importer: importer.run({"x": np.ones((1, 2), "f4")}),
    "check": lambda importer: importer.check(),
    "materialize": lambda importer: importer.materialize(),
    "a file": lambda importer: resource_of(importer).joinpath("net.py").read_text(),
    "load_text": lambda importer: importer.load_text("shop", "net.py"),
}
USES: Mapping[str, Mapping[str, Use]] = {
    "shop/net.py": CODE,
    "shop/words.txt": {
        "load_text": lambda importer: importer.load_text("shop", "words.txt"),
        "load_binary": lambda importer: importer.load_binary("shop", "words.txt"),
        "a file": lambda importer: resource_of(importer).joinpath("words.txt").read_bytes(),
        "a path": lambda importer: os.fspath(resource_of(importer).joinpath("words.txt")),
        "importlib.resources": lambda importer: importer.import_module("shop.net").words(),
        "__file__": lambda importer: importer.import_module("shop.net").unpacked(),
        "materialize": lambda importer: importer.materialize(),
    },
    "shop/big.bin": {"load_binary": lambda importer: importer.load_binary("shop", "big.bin")},
    "shop/prices": {"load_object": lambda importer: importer.load_object("shop", "prices")},
    "model/model": {
        "load_object": lambda importer: importer.load_object("model", "model"),
        "run": lambda importer: importer.run({"x": np.ones((1, 2), "f4")}),
        "check": lambda importer: importer.check(),
    },
    ".data/extras/shop/state": {
        "load_state_dict": lambda importer: importer.load_state_dict("shop", "state")["extra"]
    },
    ".data/index/shop/state": {
        "load_state_dict": lambda importer: importer.load_state_dict("shop", "state")["w"]
    },
    ".data/index/model/model.safetensors": {
        "load_object": lambda importer: importer.load_object("model", "model")
    },
    MIGRATIONS: {
        "load_migrations": lambda importer: importer.load_migrations(),
        "import_module": lambda importer: importer.import_module("shop.net"),
        "load_object": lambda importer: importer.load_object("model", "model"),
    },
    "shop/old.pkl": {
        "load_pickle": lambda importer: importer.load_pickle("shop", "old.pkl"),
        "load_binary": lambda importer: importer.load_binary("shop", "old.pkl"),
    },
    WHEEL_ENTRY: {"load_binary": lambda importer: importer.load_binary("", WHEEL_ENTRY)},
}
UNPACKED = ("materialize", "a path", "__file__")  # uses that read what the cache holds for the identity
CASES = [(entry, name) for entry, uses in USES.items() for name in uses]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def open_(data: Any, **options: Any) -> PackageImporter:
    return PackageImporter(data, allow_pickle=True, environment="ignore", **options)


def test_every_kind_of_entry_but_tensors_is_forged(archive: bytes) -> None:
    with ArchiveReader(archive) as reader:
        kinds = {reader.entry(name).kind for name in USES}
        assert kinds == {*KINDS} - {"tensors", "check"}  # no exporter writes an entry of kind check
        assert {reader.entry(name).kind for name in reader.names()} == {*kinds, "tensors"}


@pytest.mark.parametrize(("entry", "use"), CASES)
def test_honest_bytes_are_used(archive: bytes, entry: str, use: str) -> None:
    with open_(archive) as importer:
        assert USES[entry][use](importer) is not None


@pytest.mark.parametrize("options", [{}, {"digests": "none"}, {"digests": "none", "mmap": False}], ids=str)
@pytest.mark.parametrize(("entry", "use"), CASES)
def test_forged_bytes_are_refused_by_every_call(
    archive: bytes, tmp_path: Path, entry: str, use: str, options: dict[str, Any]
) -> None:
    path = tmp_path / "net.kellet"
    path.write_bytes(forged(archive, entry))
    with (
        open_(path, bytecode=None, **options) as importer,
        pytest.raises(IntegrityError, match=rf"{entry}.* do not have the sha256 that the manifest gives"),
    ):
        USES[entry][use](importer)
    assert not list((tmp_path / "cache").rglob("*.txt")), "nothing of a forged archive is unpacked"


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(("entry", "use"), CASES)
def test_forged_bytes_of_a_folder_are_refused_by_every_call(
    archive: bytes, tmp_path: Path, entry: str, use: str, kept: bool
) -> None:
    folder = tmp_path / "net"
    zipfile.ZipFile(io.BytesIO(archive)).extractall(folder)
    if kept:  # what was compiled and unpacked before vouches for nothing
        with open_(folder) as importer:
            assert importer.import_module("shop.net").answer == "honest"
    with zipfile.ZipFile(io.BytesIO(forged(archive, entry))) as other:
        (folder / entry).write_bytes(other.read(entry))
    with open_(folder, digests="none") as importer:
        if kept and use in UNPACKED:  # files of this identity, which were right
            assert b"forged" not in b"".join(
                path.read_bytes() for path in (tmp_path / "cache").rglob("*.txt")
            )
            assert USES[entry][use](importer) is not None
            return
        with pytest.raises(
            IntegrityError, match=rf"{entry}.* do not have the sha256 that the manifest gives"
        ):
            USES[entry][use](importer)


@pytest.mark.parametrize("use", CODE)
def test_forged_source_of_an_archive_with_crc_alone_is_refused(archive: bytes, use: str) -> None:
    whole = io.BytesIO()
    with ArchiveReader(archive) as reader, ArchiveWriter(whole, digests="crc") as writer:
        for name in reader.names():
            entry = reader.entry(name)
            writer.add(name, reader.read(name), kind=entry.kind, align=entry.align)
        writer.seal(reader.manifest)
    expected = pytest.raises(IntegrityError, match=r"shop/net\.py.* do not have the sha256")
    with open_(forged(whole.getvalue(), "shop/net.py")) as importer, expected:
        CODE[use](importer)
    with open_(whole.getvalue()) as importer:
        assert CODE[use](importer) is not None


@pytest.mark.parametrize("use", ["import_module", "install", "load_object", "run", "check"])
@pytest.mark.parametrize("digests", ["crc", "none"])
def test_forged_source_is_refused_although_code_of_the_honest_one_is_kept(
    archive: bytes, tmp_path: Path, use: str, digests: str
) -> None:
    with open_(archive) as importer:
        assert importer.import_module("shop.net").answer == "honest"
    assert list((tmp_path / "cache" / "bytecode").iterdir())
    expected = pytest.raises(IntegrityError, match=r"shop/net\.py")
    with open_(forged(archive, "shop/net.py"), digests=digests) as importer, expected:
        CODE[use](importer)


def test_tensors_are_checked_as_the_caller_chose(archive: bytes) -> None:
    for name, package, read in (
        ("shop/state", "shop", lambda importer: importer.load_state_dict("shop", "state")["w"]),
        ("model/model.safetensors", "model", lambda importer: importer.load_object("model", "model").fc.bias),
    ):
        data = forged(archive, name)
        for digests in ("crc", "none"):
            with open_(data, digests=digests) as importer:
                assert read(importer) is not None, package
        expected = pytest.raises(PackageError, match=f"{name}.* do not have the sha256")
        with open_(data, digests="sha256") as importer, expected:
            read(importer)


def test_forged_wheels_are_neither_installed_nor_locked(archive: bytes, tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    with ArchiveReader(forged(archive, WHEEL_ENTRY), digests="none") as reader:
        with pytest.raises(IntegrityError, match=r"tiny-1.*sha256"):
            create_environment(reader, tmp_path / "env", installer="pip", offline=True)
        for folder in (None, tmp_path / "wheels"):
            with pytest.raises(IntegrityError, match=r"tiny-1.*sha256"):
                wheels_held(reader, folder)
    assert not (tmp_path / "env").exists()
    with ArchiveReader(archive) as reader:
        (held,) = wheels_held(reader, tmp_path / "wheels")
        assert (tmp_path / "wheels" / held.wheel.file).read_bytes() == WHEEL_DATA


@pytest.mark.parametrize("forge", [False, True])
def test_a_worker_that_takes_over_an_open_archive_checks_it_too(
    archive: bytes, tmp_path: Path, forge: bool
) -> None:
    path = tmp_path / "net.kellet"
    path.write_bytes(archive)
    with open_(path, digests="none") as importer:
        module = importer.import_module("shop.net").__name__
        if forge:
            path.write_bytes(forged(archive, "shop/net.py"))
        program = f"import importlib, sys\nsys.path[:] = {sys.path!r}\n"  # as multiprocessing does
        program += f"print(importlib.import_module({module!r}).answer)"
        done = processes.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if forge:
        assert done.stdout == ""
        assert "IntegrityError: entry 'shop/net.py'" in done.stderr
    else:
        assert done.stdout == "honest\n", done.stderr


@pytest.mark.parametrize(
    ("command", "exit_code"), [(("extract",), 3), (("verify",), 1), (("verify", "--deep"), 1)]
)
def test_commands_find_forged_bytes(
    archive: bytes,
    tmp_path: Path,
    command: tuple[str, ...],
    exit_code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, data in (("honest", archive), ("forged", forged(archive, "shop/net.py"))):
        path = tmp_path / f"{name}.kellet"
        path.write_bytes(data)
        target = (str(tmp_path / name),) if command[0] == "extract" else ()
        code = main([command[0], str(path), *target, *command[1:]])
        printed = capsys.readouterr()
        told = "entry 'shop/net.py'" in printed.out + printed.err
        assert (code, told) == ((0, False) if name == "honest" else (exit_code, True))


def test_bytes_that_were_read_before_are_checked_again(archive: bytes, tmp_path: Path) -> None:
    # A map shows what others write, and they may set the time of the last change back.
    path = tmp_path / "net.kellet"
    path.write_bytes(archive)
    with ArchiveReader(path) as reader:
        assert reader.read("shop/words.txt") == b"honest words"
        stamp = path.stat()
        with open(path, "r+b") as file:
            file.write(forged(archive, "shop/words.txt"))
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        with pytest.raises(IntegrityError, match=r"words\.txt"):
            reader.read("shop/words.txt")


def test_what_is_aligned_and_is_no_tensor_is_written_with_sha256_or_not_at_all(tmp_path: Path) -> None:
    with ArchiveWriter(tmp_path / "x.kellet", digests="crc") as writer:
        with pytest.raises(ValueError, match=r"'x': kind 'source' with align=64 has no sha256"):
            writer.add("x", b"1", kind="source", align=64)
        writer.add("x", b"1", kind="source")
