"""Compiled sources of archives, kept between runs: as they are imported, or all of an archive ahead."""

from __future__ import annotations

import _imp
import marshal
import os
import sys
from collections.abc import Iterable
from functools import cache
from time import monotonic
from types import CodeType
from typing import Final

from packager._archive import ArchiveIOError, ArchiveReader, sha256
from packager._caches import bytecode_folder, usable_path
from packager._kept_file import Kept, KeptFile
from packager._quick_dataclasses import dataclass
from packager.errors import PackageError

# What code asks that wants to know where it lies; `inspect` and code objects know it, too.
_PLACES = frozenset(
    "__file__ __path__ __spec__ co_filename getfile getsourcefile getabsfile get_filename".split()
)


_NOT_DEEP: Final = 2  # imports inside of imports
_PATIENCE: Final = 0.3  # seconds that what was compiled may wait: more than that is never compiled again


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

    There is a file for each folder of modules, named by that folder and by what compiling depends on beside
    the source, and not by a place on the disk: archives that hold the same source share what is kept of it.
    What is compiled while modules import one another is gathered, and written when an import ends, see
    `end_import`. A folder that cannot be written (a read-only home) or that others may write to, or damage
    in a file, costs the compile and nothing else.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, *, keeps: bool = True) -> None:
        self.folder = None if folder is None else usable_path(folder)
        self.keeps = keeps and self.folder is not None
        self._files: dict[str, KeptFile] = {}
        self._waiting: dict[str, list[Kept]] = {}
        self._imports: list[None] = []  # one for each that is at work; a list, as threads may share it
        self._due = 0.0

    def kept(self, digest: str | None, filename: str, place: str = "") -> Compiled | None:
        """Return the code that is kept for a source by its `digest` (a sha256, None for unknown), or None.

        `place` is the folder of the archive that the source lies in.
        """
        if self.folder is None or digest is None:
            return None
        data = self._file(place).take(bytes.fromhex(digest))
        found = None if data is None else _unpacked(data)
        if found is not None:
            _imp._fix_co_filename(found.code, filename)  # type: ignore[attr-defined]  # as importlib
        return found

    def compiled(self, digest: str | None, filename: str, source: bytes, place: str = "") -> Compiled:
        """Compile `source`, which was found to have `digest`, and keep the code for `kept`.

        Raises SyntaxError as `compile` does.
        """
        compiled = _compiled(source, filename)
        if self.keeps and digest is not None:
            # First, as another thread may write what waits.
            record = Kept(bytes.fromhex(digest), _packed(compiled))
            if not self._waiting:
                self._due = monotonic() + _PATIENCE
            self._waiting.setdefault(place, []).append(record)
            if not self._imports:
                self._write()
        return compiled

    def begin_import(self) -> None:
        """Gather what is compiled from now on, until `end_import`."""
        self._imports.append(None)

    def end_import(self) -> None:
        """Write what was gathered when the outermost import ends, and of one that takes long on the way.

        That may run for as long as a server does. So what has waited for some time is written when an import
        ends that is not deep inside of another one.
        """
        self._imports.pop()
        inside = len(self._imports)
        if self._waiting and (not inside or (inside <= _NOT_DEEP and monotonic() >= self._due)):
            self._write()

    def take_over(self, folder: str, sources: Iterable[tuple[str, str]]) -> None:
        """Keep what another cache of this machine has in `folder` for sources: their places and digests.

        That is what a process that this one started has compiled. Nothing else that lies there is looked at,
        and what is kept already stays.
        """
        if self.folder is None or not self.keeps:
            return
        other = BytecodeCache(None)
        other.folder = folder
        for place, digest in sources:
            if not self.has(digest, place):
                data = other._file(place).take(bytes.fromhex(digest))
                if data is not None:
                    self._waiting.setdefault(place, []).append(Kept(bytes.fromhex(digest), data))
        self._write()

    def has(self, digest: str, place: str = "") -> bool:
        """Say whether something is kept for a source; it may turn out to be damaged."""
        return self.folder is not None and self._file(place).has(bytes.fromhex(digest))

    def keep(self, place: str, kept: Iterable[Kept]) -> None:
        """Keep packed code by the digests of sources. Raises OSError; not for `None`."""
        self._file(place).add(kept)

    def _file(self, place: str) -> KeptFile:
        found = self._files.get(place)
        if found is None:
            assert self.folder is not None
            found = self._files.setdefault(place, KeptFile(os.path.join(self.folder, _name(place))))
        return found

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, {}
        try:
            for place, kept in waiting.items():
                self._file(place).add(kept)
        except OSError:  # a read-only home, a full disk: not tried for every module again
            self.keeps = False


def default_bytecode_cache() -> BytecodeCache:
    """Return the cache in `packager._caches.bytecode_folder()`; with `-B`, what is compiled is not kept."""
    return BytecodeCache(bytecode_folder(), keeps=not sys.dont_write_bytecode)


class NothingKeptError(PackageError, RuntimeError):
    """Code cannot be compiled for later loads, as the importer stores no compiled code."""


def compile_ahead(reader: ArchiveReader, cache: BytecodeCache, what: str) -> int:
    """Compile every source of an archive that `cache` lacks; return how many were compiled and kept.

    None of them is run, and one that does not compile is left to the import.

    Raises NothingKeptError where the cache is switched off, ArchiveIOError where it cannot be written, and
    ArchiveError for sources that are not as the manifest says.
    """
    if cache.folder is None:
        raise NothingKeptError(
            f"{what}: no compiled code is kept: bytecode=None was given, no home folder is known, or others "
            "can write to the cache. Open it with bytecode=FOLDER"
        )
    compiled: dict[str, Kept | None] = {}  # the same source may lie in several folders
    places: dict[str, list[Kept]] = {}
    for entry in reader.manifest.entries:
        place = place_of(entry.name)
        if entry.kind != "source" or not entry.sha256 or cache.has(entry.sha256, place):
            continue
        if entry.sha256 not in compiled:
            compiled[entry.sha256] = _compiled_ahead(entry.sha256, reader.read(entry.name))
        if (record := compiled[entry.sha256]) is not None:
            places.setdefault(place, []).append(record)
    for place, kept in places.items():
        try:
            cache.keep(place, kept)
        except OSError as error:
            raise ArchiveIOError(
                f"{what}: compiled code cannot be kept in {cache.folder}: {error}; give bytecode= "
                "another folder, or with bytecode=True set KELLET_CACHE to a folder that can be written",
                error,
                cache.folder,
            ) from error
    return sum(record is not None for record in compiled.values())


def _compiled_ahead(digest: str, source: bytes) -> Kept | None:
    from packager._process import syntax_unwarned

    try:
        with syntax_unwarned():
            return Kept(bytes.fromhex(digest), _packed(_compiled(source, "<compiled ahead>")))
    except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
        return None  # importing it says what is wrong; a parser out of stack is out of memory


def place_of(entry: str) -> str:
    """Return the folder whose file an entry's code is kept in; a module of no package has its own.

    >>> place_of("net/layers/conv.py"), place_of("net.py")
    ('net/layers', 'net.py')
    """
    return entry.rpartition("/")[0] or entry


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
            elif kind is str and constant in _PLACES and _loads(current, constant):
                return True
    return False


def _loads(code: CodeType, text: str) -> bool:
    """Say whether code loads a constant: Python 3.14 keeps those of a tuple, too."""
    import dis  # few sources have such a text

    return any(step.opcode in dis.hasconst and step.argval == text for step in dis.get_instructions(code))


def _name(place: str) -> str:
    """Return the name of a file of compiled code: digests, as names of folders may be long, or odd."""
    return sha256(b"%s %s" % (basis(), os.fsencode(place))).hexdigest()


def _packed(compiled: Compiled) -> bytes:
    return marshal.dumps((compiled.code, compiled.names_its_file))


def _unpacked(data: memoryview) -> Compiled | None:
    """Return what was kept; None for what is no such thing, though its checksum is right."""
    try:
        code, names_its_file = marshal.loads(data)
    except (EOFError, ValueError, TypeError):
        return None
    return Compiled(code, names_its_file) if type(code) is CodeType else None
