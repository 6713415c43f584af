"""Tools to forge archives: any bytes in any place, with every digest right where that is wanted."""

from __future__ import annotations

import gc
import hashlib
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import packager._archive
from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    EntryPoint,
    EntryRecord,
    Manifest,
    ModuleRecord,
    StateDictRecord,
    TensorReader,
    TensorSpec,
    add_tensors,
    verify,
)
from packager._archive.entries import crc32, crcs_of, sha256s_of
from packager._archive.entry_names import DIGEST, MANIFEST, digest_line
from packager._archive.manifest import dump_manifest
from packager._archive.zip_container import ZipEntry, central_record, end_records, local_header
from packager._weights.legacy_tensors import LegacyFile
from packager._weights.zip_files import ZipFile
from packager.errors import PackageError


@dataclass
class Forger:
    """Builds an archive piece by piece; every hook may replace the honest bytes of its piece.

    Entries are (name, kind, align, content). The manifest is made of them unless it is given.
    """

    entries: list[tuple[str, str, int, bytes]] = field(
        default_factory=lambda: [("net/x.py", "source", 1, b"x = 1\n")]
    )
    manifest: bytes | None = None
    digest: bytes | None = None
    facts: Manifest = field(default_factory=Manifest)
    after: list[tuple[str, bytes]] = field(default_factory=list)
    prefix: bytes = b""
    local: Callable[[ZipEntry, bytes], bytes] = lambda entry, header: header
    central: Callable[[ZipEntry, bytes], bytes] = lambda entry, record: record
    directory: Callable[[list[bytes]], list[bytes]] = lambda records: records
    end: Callable[[bytes], bytes] = lambda end: end
    zip_names: Mapping[str, str] = field(default_factory=dict)

    def build(self) -> bytes:
        body = bytearray(self.prefix)
        records = []
        manifest = self.manifest if self.manifest is not None else self.honest_manifest()
        digest = self.digest if self.digest is not None else digest_line(hashlib.sha256(manifest).hexdigest())
        listed = [(name, align, content) for name, _, align, content in self.entries]
        reserved = [(MANIFEST, 1, manifest), (DIGEST, 1, digest)]
        for name, align, content in [*listed, *reserved, *((name, 1, data) for name, data in self.after)]:
            raw = self.zip_names.get(name, name).encode("utf-8", "surrogatepass")
            entry = ZipEntry(raw, len(content), crc32(content), align, len(body))
            body += self.local(entry, local_header(entry))
            body += content
            records.append(self.central(entry, central_record(entry)))
        records = self.directory(records)
        directory = b"".join(records)
        return bytes(body) + directory + self.end(end_records(len(records), len(body), len(directory)))

    def honest_manifest(self) -> bytes:
        rows = [
            EntryRecord(name, kind, len(data), align, crcs_of(memoryview(data)), sha256s_of(memoryview(data)))
            for name, kind, align, data in self.entries
        ]
        return dump_manifest(replace(self.facts, entries=tuple(rows)))


@pytest.fixture(scope="session")
def forger() -> type[Forger]:
    return Forger


def use_everything(reader: ArchiveReader) -> None:
    """Do what a loader does; every error but a PackageError is a finding."""
    reader.names(), reader.manifest, reader.signatures()
    for name in reader.names():
        reader.read(name)
        if reader.entry(name).kind == "tensors":
            tensors = TensorReader(reader, name)
            for key in tensors:
                tensors.data(key), tensors.data(key, private=True)
            list(tensors.contiguous()), list(tensors.strided())


class Watch:
    """While it is entered, notes what runs, imports, connects or writes anywhere in this process."""

    RUNNING = ("exec", "compile", "import", "subprocess.", "socket.", "pickle.", "ctypes.", "shutil.", "os.")
    READING = ("os.listdir", "os.scandir")

    def __init__(self) -> None:
        self.entered = False
        self.seen: list[tuple[str, str]] = []
        sys.addaudithook(self.note)

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.entered:
            return
        writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or (event.startswith(self.RUNNING) and event not in self.READING):
            self.seen.append((event, repr(arguments)[:200]))

    def __enter__(self) -> None:
        gc.disable()  # what other tests left would be removed meanwhile
        self.seen.clear()
        self.entered = True

    def __exit__(self, *error: object) -> None:
        self.entered = False
        gc.enable()


def survives(watch: Watch, data: Any, **options: Any) -> bool:
    """Whether an archive opens, verifies and can be used; PackageErrors mean that it does not.

    Whatever becomes of it, nothing may run and nothing may be written meanwhile: promise 1.
    """
    sound = False
    with watch, suppress(PackageError), ArchiveReader(data, **options) as reader:
        sound = verify(reader).ok
        use_everything(reader)
    assert watch.seen == []
    return sound


@pytest.fixture(scope="session")
def accepts() -> Callable[..., bool]:
    watch = Watch()
    # What the reader imports late, for folders and for odd names and files, is there from now on.
    ours = [f"packager._archive.{path.stem}" for path in Path(packager._archive.__file__).parent.glob("*.py")]
    for late in ("tempfile", "unicodedata", *ours):
        import_module(late)
    with suppress(AssertionError):
        survives(watch, small_archive())
    return partial(survives, watch)


@pytest.fixture(scope="session")
def problems_of() -> Callable[[bytes], str]:
    def problems(data: bytes) -> str:
        """What is wrong with an archive, as text; empty when nothing is."""
        try:
            with ArchiveReader(data) as reader:
                found = "\n".join(problem.message for problem in verify(reader).problems)
        except PackageError as error:
            return str(error)
        return found

    return problems


def small_archive() -> bytes:
    """An honest archive with something of every kind."""
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("net/__init__.py", b"answer = 42\n", kind="source")
        writer.add("net/no", b"", kind="resource")
        tensors = [TensorSpec("w", "F32", (2,), (1,), 0, 0), TensorSpec("v", "U8", (3,), (-1,), 4, 0)]
        add_tensors(writer, "net/w", tensors, [b"12345678"])
        writer.seal(
            Manifest(
                modules=(ModuleRecord("net", "intern", "r", "b", "net/__init__.py", True),),
                state_dicts=(StateDictRecord("net", "w", "net/w", versions=(("", 1),)),),
                entry_points=(EntryPoint("model", "net", "model"),),
                environment={"python": "3.11"},
            )
        )
    return file.getvalue()


@pytest.fixture(scope="session")
def honest() -> bytes:
    return small_archive()


@pytest.fixture
def unpack_to(tmp_path: Path) -> Callable[[Sequence[tuple[str, bytes]]], Path]:
    def write(files: Sequence[tuple[str, bytes]]) -> Path:
        for name, data in files:
            path = tmp_path / "folder" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return tmp_path / "folder"

    return write


@pytest.fixture
def opened_zip(tmp_path: Path) -> Callable[[bytes], ZipFile]:
    """Open the bytes of another program's zip file with our reader."""

    def open_(data: bytes) -> ZipFile:
        (tmp_path / "x.zip").write_bytes(data)
        return ZipFile(LegacyFile(tmp_path / "x.zip"))

    return open_
