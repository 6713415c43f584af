"""What pickles in a file name, whichever container they lie in; nothing of them is run.

A pickle may lie in a file by itself, deflated, among the bytes of arrays (`joblib`), in a database
(`shelve`), in a member of a zip file (`numpy.savez`, `torch.save`), or behind the head of an array (`.npy`).
Files of any size are read in pieces.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO, Final, NamedTuple

from packager import seen

# A class: two short texts, which may be memoized, and STACK_GLOBAL; or GLOBAL and two lines.
_CLASSES: Final = (
    re.compile(rb"\x8c.([A-Za-z_][\w.]*)\x94?\x8c.[A-Za-z_][\w.]*\x94?\x93", re.DOTALL),
    re.compile(rb"c([A-Za-z_][\w.]*)\n[A-Za-z_]"),
)
_PIECE: Final = 1 << 20
_OVERLAP: Final = 1 << 10  # a module and a class, of 255 bytes each at most, and a few more
_ZIPPED, _ARRAY = b"PK\x03\x04", b"\x93NUMPY"
_UNREAD: Final = {b"\x04\x22\x4d\x18": "lz4", b"\x28\xb5\x2f\xfd": "zstd"}
_OF_TORCH: Final = (
    b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # the number that its files began with until 1.6
)
# What `shelve` keeps its pickles in: SQLite, gdbm (in either order of bytes), Berkeley (behind 12 bytes).
_DATABASES: Final = re.compile(
    rb"SQLite format 3\x00|[\xcd-\xcf]\x9aW\x13|\x13W\x9a[\xcd-\xcf]"
    rb"|.{12}(\x00\x05\x31\x62|\x62\x31\x05\x00|\x00\x06\x15\x61|\x61\x15\x06\x00)",
    re.DOTALL,
)
_READ_WHOLE: Final = 1 << 24
_HEAD: Final = 16
_BROKEN: Final = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


class PickledContent(NamedTuple):
    """What the pickles of a file name: modules, and the library that the file is of.

    `library` is "numpy" or "torch" where the container says so, "lz4" or "zstd" for what is compressed so and
    not looked into, else "pickle".
    """

    library: str
    modules: frozenset[str]


_NOTHING: Final = PickledContent("pickle", frozenset())


def pickled_content(path: str, read: Callable[[], bytes | memoryview], *, any_end: bool) -> PickledContent:
    """Return what the pickles in a file name; `read` gives its content where there is no file at `path`.

    What begins as no pickle of today does is one of the first protocols where `any_end` says that its name is
    a pickle's, and where it ends as pickles do. A file that is broken names nothing.

    >>> data = b"\\x80\\x04\\x8c\\x09shop.bags\\x8c\\x03Bag\\x93."
    >>> pickled_content("", lambda: gzip.compress(data), any_end=False)
    PickledContent(library='pickle', modules=frozenset({'shop.bags'}))
    """
    try:
        with _opened(path, read) as file:
            return _content(file, any_end)
    except _BROKEN:
        return _NOTHING


def _opened(path: str, read: Callable[[], bytes | memoryview]) -> IO[bytes]:
    if os.path.isabs(path) and seen.is_file(path):
        if seen.size_of(path) <= _READ_WHOLE:
            return io.BytesIO(seen.read_file(path))
        seen.refuse(f"{path} is looked into piece by piece")
        return open(path, "rb")
    return io.BytesIO(read())


def _content(file: IO[bytes], any_end: bool) -> PickledContent:
    head = file.read(_HEAD)
    file.seek(0)
    if head.startswith(_ZIPPED):
        return _zipped_content(file)
    if head.startswith(tuple(_UNREAD)):
        return PickledContent(_UNREAD[head[:4]], frozenset())
    rest = _inflated(file, head) or _pieces(file)
    try:
        first = next(rest, b"")
    except _BROKEN:  # it only begins as deflated ones do
        file.seek(0)
        rest = _pieces(file)
        first = next(rest, b"")
    pieces = chain([first], rest)
    if first.startswith(_ARRAY):
        return PickledContent("numpy", _modules_of_array(pieces))
    library = "torch" if first.startswith(_OF_TORCH) else "pickle"
    is_certain = _is_pickle(first) or _DATABASES.match(first) is not None
    return PickledContent(library, _modules_in(pieces, is_certain) if is_certain or any_end else frozenset())


def _inflated(file: IO[bytes], head: bytes) -> Iterator[bytes] | None:
    """Yield the content of a file that begins as deflated ones do, in pieces; return None for another one."""
    if head.startswith(b"\x1f\x8b"):
        return _pieces(gzip.GzipFile(fileobj=file))
    if head.startswith(b"BZh"):
        return _pieces(bz2.BZ2File(file))
    if head.startswith((b"\xfd7zXZ\x00", b"]\x00\x00")):
        return _pieces(lzma.LZMAFile(file))
    return _unzipped(file) if head.startswith(b"x") else None


def _unzipped(file: IO[bytes]) -> Iterator[bytes]:
    stream = zlib.decompressobj()
    for data in _pieces(file):
        while data:
            yield stream.decompress(data, _PIECE)
            data = stream.unconsumed_tail


def _zipped_content(file: IO[bytes]) -> PickledContent:
    library, found = "pickle", set[str]()
    with zipfile.ZipFile(file) as zipped:
        for member in zipped.namelist():
            with zipped.open(member) as inner:
                head = inner.read(_HEAD)
            if head.startswith(_ARRAY):
                library = "numpy"
                with zipped.open(member) as inner:
                    found |= _modules_of_array(_pieces(inner))
            elif _is_pickle(head):
                library = "torch" if member.endswith("/data.pkl") else library
                with zipped.open(member) as inner:
                    found |= _modules_in(_pieces(inner), is_certain=True)
    return PickledContent(library, frozenset(found))


def _is_pickle(head: bytes) -> bool:
    return head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def _modules_of_array(pieces: Iterator[bytes]) -> frozenset[str]:
    """Return what an array of objects names; the bytes of another array, which may be many, are not read."""
    first = next(pieces, b"")
    if b"O'" not in first[:_OVERLAP]:
        return frozenset()
    return _modules_in(chain([first], pieces), is_certain=True)


def _modules_in(pieces: Iterator[bytes], is_certain: bool) -> frozenset[str]:
    """Return the modules that a pickle names; what is not certain is one by its last byte."""
    found, rest = set[str](), b""
    for piece in pieces:
        rest += piece
        found |= {name.decode("ascii") for pattern in _CLASSES for name in pattern.findall(rest)}
        rest = rest[-_OVERLAP:]
    return frozenset(found) if is_certain or rest.endswith(b".") else frozenset()


def _pieces(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
