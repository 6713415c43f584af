"""Compiled code kept between loads, on the loading side only.

A file's name is a digest over everything that compiling depends on: the source's own digest, the file
name that tracebacks show, the interpreter's tag and magic number, the optimisation level. So nothing
is ever stale, and nothing of it is ever taken from an archive. Files are written aside and renamed, so
that processes can share the folder.

The source's digest is the one that the archive's manifest gives, and the reader has checked the source
against it, also where its code is kept: a load does not pass over a source that was changed.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from importlib.util import MAGIC_NUMBER
from types import CodeType
from typing import NamedTuple

from packager.archive import crc32
from packager.atomic import keep_file

_PLACES = frozenset({"__file__", "__path__"})
_BASIS = f"{sys.implementation.cache_tag} {sys.flags.optimize} ".encode() + MAGIC_NUMBER


class Compiled(NamedTuple):
    """A module's code, and whether it asks where it lies: it names `__file__` or `__path__`."""

    code: CodeType
    names_its_file: bool


class BytecodeCache:
    """Compiles sources, and keeps the result in `folder`; `None` compiles and keeps nothing.

    A folder that cannot be written (a read-only home), or a damaged file in it, costs the compile and
    nothing else.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else os.fspath(folder)
        self._writable = True

    def compiled(self, digest: str | None, filename: str, source: bytes) -> Compiled:
        """Return the code of `source`, which was found to have `digest` (a sha256, None for unknown).

        Raises SyntaxError as `compile` does.
        """
        if self.folder is None or digest is None:
            return _compiled(source, filename)
        path = os.path.join(self.folder, _key(digest, filename))
        kept = _read(path)
        if kept is None:
            kept = _compiled(source, filename)
            self._keep(path, kept)
        return kept

    def _keep(self, path: str, compiled: Compiled) -> None:
        if not self._writable:
            return
        data = marshal.dumps(tuple(compiled))
        try:
            keep_file(path, crc32(data).to_bytes(4, "little") + data)
        except OSError:  # a read-only home, a full disk: not tried for every module again
            self._writable = False


def _compiled(source: bytes, filename: str) -> Compiled:
    code = compile(source, filename, "exec", dont_inherit=True)
    mentioned = any(name.encode() in source for name in _PLACES)
    return Compiled(code, mentioned and _uses_place(code))


def _uses_place(code: CodeType) -> bool:
    """Whether code uses a place as a name, an attribute, or a text of its own, as `getattr` takes it.

    A comment, or a list of names to compare with, is no use.
    """
    work = [code]
    while work:
        current = work.pop()
        if any(name in _PLACES for name in current.co_names):
            return True
        for constant in current.co_consts:
            if type(constant) is str and constant in _PLACES:
                return True
            if isinstance(constant, CodeType):
                work.append(constant)
    return False


def _key(digest: str, filename: str) -> str:
    return hashlib.sha256(b"%s %s %s" % (_BASIS, digest.encode(), os.fsencode(filename))).hexdigest()


def _read(path: str) -> Compiled | None:
    """What was kept; the file carries a checksum, since marshal trusts what it reads."""
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
    except OSError:
        return None
    content = memoryview(data)[4:]
    if len(data) < 4 or crc32(content).to_bytes(4, "little") != data[:4]:
        return None
    return Compiled(*marshal.loads(content))
