"""File objects with ranges, of obstore, fsspec and Python: read as bytes are used, never whole at first."""

from __future__ import annotations

import gzip
import io
from typing import Any

import fsspec
import obstore
import pytest
from obstore.store import MemoryStore

from packager import PackageImporter, load, verify
from packager._archive import ArchiveReader
from packager.errors import RemoteError


class Counted(io.RawIOBase):
    """A file that counts what is read of it."""

    def __init__(self, data: bytes) -> None:
        self.inner = io.BytesIO(data)
        self.taken = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.inner.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.inner.seek(offset, whence)

    def readinto(self, target: Any) -> int:
        count = self.inner.readinto(target)
        self.taken += count
        return count


def read(file: Any) -> int:
    """Read all tensors, and return how many there are."""
    with PackageImporter(file) as importer:
        assert importer.load_text("net", "words.txt") == "one two"
        return len(importer.load_state_dict("model", "weights").copy())


def test_file_object_is_not_read_whole_before_something_is_asked(small: bytes) -> None:
    file = Counted(small)
    with PackageImporter(file) as importer:  # type: ignore[arg-type]  # any binary file object
        state = importer.load_state_dict("model", "weights")
        assert len(state) == 3
        assert file.taken < 1 << 16
        state["layer.1"]
        assert file.taken < len(small)
        assert file.tell() == 0
        state.copy()
    assert file.taken <= len(small) + (1 << 16)


def test_file_of_obstore_is_taken(small: bytes) -> None:
    store = MemoryStore()
    obstore.put(store, "models/net.kellet", small)
    assert read(obstore.open_reader(store, "models/net.kellet")) == 3
    assert verify(obstore.open_reader(store, "models/net.kellet")).ok  # type: ignore[arg-type]  # not typed as a file


def test_file_of_fsspec_is_taken(small: bytes) -> None:
    files = fsspec.filesystem("memory")
    files.pipe("/net.kellet", small)
    with fsspec.open("memory://net.kellet", "rb") as file:
        assert read(file) == 3
    with files.open("/net.kellet", block_size=1 << 16) as file:
        assert verify(file).ok


def test_compressed_file_object_is_taken(small: bytes) -> None:
    with gzip.open(io.BytesIO(gzip.compress(small, 1))) as file:
        assert read(file) == 3


def test_object_of_a_file_object_is_loaded(small: bytes) -> None:
    with pytest.raises(LookupError, match="holds no object"):
        load(Counted(small))  # type: ignore[arg-type]  # any binary file object


def test_file_object_that_is_closed_is_a_typed_error(small: bytes) -> None:
    file = Counted(small)
    with ArchiveReader(file) as reader:  # type: ignore[arg-type]  # any binary file object
        file.inner.close()
        with pytest.raises(RemoteError, match="keep the file object open"):
            reader.read("model/weights")


def test_file_object_that_ends_early_is_a_typed_error(small: bytes) -> None:
    file = Counted(small)
    with ArchiveReader(file) as reader:  # type: ignore[arg-type]  # any binary file object
        file.inner.truncate(1000)
        with pytest.raises(RemoteError, match="0 bytes came"):
            reader.read("model/weights")


@pytest.mark.parametrize("when", ["opened", "read"])
def test_any_error_of_a_file_object_is_a_remote_error(small: bytes, when: str) -> None:
    class Odd(Counted):
        broken = False

        def seek(self, offset: int, whence: int = 0) -> int:
            if self.broken:
                raise KeyError("gone")
            return super().seek(offset, whence)

    file = Odd(small)
    file.broken = when == "opened"
    with pytest.raises(RemoteError, match="gone") as told, PackageImporter(file) as importer:  # type: ignore[arg-type]  # noqa: PT012  # either may raise
        file.broken = True
        importer.load_state_dict("model", "weights").copy()
    assert isinstance(told.value.__cause__, KeyError)
