"""Compiled sources of archives, kept between runs."""

from __future__ import annotations

import _imp
import marshal
import os
import sys
from collections.abc import Iterable
from functools import cache
from types import CodeType

from packager.archive import crc32, sha256
from packager.caches import bytecode_folder, keep_file, read_own, usable_path
from packager.quick_dataclasses import dataclass

# What code asks that wants to know where it lies; `inspect` and code objects know it, too.
_PLACES = frozenset(
    "__file__ __path__ __spec__ co_filename getfile getsourcefile getabsfile get_filename".split()
)


@cache
def basis() -> bytes:
    """Return what compiled code depends on, beside its source."""
    from importlib.util import MAGIC_NUMBER

    return f"{sys.implementation.cache_tag} {sys.flags.optimize} {sorted(_PLACES)} ".encode() + MAGIC_NUMBER


@dataclass(frozen=True, slots=True)
class Compiled:
    """A module's code, and whether it asks where it lies: it names `__file__`, `co_filename` or the like."""

    code: CodeType
    names_its_file: bool


class BytecodeCache:
    """Compiles sources, and keeps the result in `folder`; `None` compiles and keeps nothing.

    With `keeps=False` what lies there is used, and what was compiled now is not kept, as Python itself does
    with `-B`; only `keep`, which is asked for it, writes all the same.

    A file is named by what compiling depends on, and not by the module's place: two archives that hold the
    same source share it. A folder that cannot be written (a read-only home) or that others may write to, or a
    damaged file in it, costs the compile and nothing else.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, *, keeps: bool = True) -> None:
        self.folder = None if folder is None else usable_path(folder)
        self.keeps = keeps and self.folder is not None

    def compiled(self, digest: str | None, filename: str, source: bytes) -> Compiled:
        """Return the code of `source`, which was found to have `digest` (a sha256, None for unknown).

        Raises SyntaxError as `compile` does.
        """
        if self.folder is None or digest is None:
            return _compiled(source, filename)
        path = os.path.join(self.folder, _key(digest))
        kept = _read(path)
        if kept is None:
            kept = _compiled(source, filename)
            self._try_to_keep(path, _packed(kept))
        else:
            _imp._fix_co_filename(kept.code, filename)  # type: ignore[attr-defined]  # as importlib does
        return kept

    def take_over(self, folder: str, digests: Iterable[str]) -> None:
        """Keep what another cache of this machine has in `folder` for sources of these digests.

        That is what a process that this one started has compiled. Nothing else that lies there is looked at,
        and what is kept already stays.
        """
        if self.folder is None or not self.keeps:
            return
        for name in map(_key, digests):
            path, given = os.path.join(self.folder, name), os.path.join(folder, name)
            if os.path.isfile(given) and not os.path.exists(path):
                self._try_to_keep(path, read_own(given))

    def has(self, digest: str) -> bool:
        """Say whether there is a file for a source; it may turn out to be damaged."""
        return self.folder is not None and os.path.exists(os.path.join(self.folder, _key(digest)))

    def keep(self, digest: str, data: bytes) -> None:
        """Keep what `packed_code` made of the source that has `digest`. Raises OSError; not for `None`."""
        assert self.folder is not None
        keep_file(os.path.join(self.folder, _key(digest)), data)

    def _try_to_keep(self, path: str, data: bytes) -> None:
        if not self.keeps:
            return
        try:
            keep_file(path, data)
        except OSError:  # a read-only home, a full disk: not tried for every module again
            self.keeps = False


def default_bytecode_cache() -> BytecodeCache:
    """Return the cache in `packager.caches.bytecode_folder()`; with `-B`, what is compiled is not kept."""
    return BytecodeCache(bytecode_folder(), keeps=not sys.dont_write_bytecode)


def _compiled(source: bytes, filename: str) -> Compiled:
    code = compile(source, filename, "exec", dont_inherit=True)
    return Compiled(code, _uses_place(code))


def _uses_place(code: CodeType) -> bool:
    """Say whether code uses a place as a name, an attribute, or a text of its own, as `getattr` takes it.

    A comment, or a list of names to compare with, is no use.
    """
    work = [code]
    while work:
        current = work.pop()
        if not _PLACES.isdisjoint(current.co_names):
            return True
        for constant in current.co_consts:
            kind = type(constant)
            if kind is CodeType:
                work.append(constant)
            elif kind is str and constant in _PLACES:
                return True
    return False


def _key(digest: str) -> str:
    return sha256(b"%s %s" % (basis(), digest.encode())).hexdigest()


def packed_code(source: bytes, filename: str) -> bytes:
    """Compile a source, and return what is kept of it. Raises what `compile` does."""
    return _packed(_compiled(source, filename))


def _packed(compiled: Compiled) -> bytes:
    """Return compiled code behind its checksum, which is there since marshal trusts what it reads."""
    data = marshal.dumps((compiled.code, compiled.names_its_file))
    return crc32(data).to_bytes(4, "little") + data


def _read(path: str) -> Compiled | None:
    """Return what was kept, if it is whole."""
    try:
        data = read_own(path)
    except OSError:
        return None
    content = memoryview(data)[4:]
    if len(data) <= 4 or crc32(content).to_bytes(4, "little") != data[:4]:
        return None
    try:
        code, names_its_file = marshal.loads(content)
    except (EOFError, ValueError, TypeError):
        return None
    return Compiled(code, names_its_file) if type(code) is CodeType else None
