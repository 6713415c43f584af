"""Pickles among the files beside stored code: which modules they name, that no code need import.

`babel` keeps the numbers and dates of each language so, and a project its vocabulary: the classes are of
modules that only the pickle names. Where stored code reads pickles by itself these are stored, as what it
imports is. joblib unpickles by a class of its own, which looks for modules in the process; that is warned of.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from packager.graph import DataFile, Walk, reason_to_leave_out
from packager.texts import counted

from .module_sources import archives_in
from .plan import PlannedEntry

if TYPE_CHECKING:
    from .deciding import Decisions

# A class: two short texts, which may be memoized, and STACK_GLOBAL; or GLOBAL and two lines.
_CLASS = re.compile(
    rb"\x8c.([A-Za-z_][\w.]*)\x94?\x8c.[A-Za-z_][\w.]*\x94?\x93|c([A-Za-z_][\w.]*)\n[A-Za-z_]", re.DOTALL
)
_PICKLES = re.compile(r".*\.(dat|pck|pickle|pkl|p)(\.gz)?", re.IGNORECASE)
_LARGEST = 1 << 26
_DEFLATED = (b"x", b"\x1f\x8b")


class PickledModules:
    """The modules that pickles beside stored code name, given to the walks of one export.

    A file is a pickle by its name (.pkl, .pickle, .pck, .p and .dat, also with .gz) and its last byte; those
    of more than 64 MiB are not looked at.
    """

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions
        self._named: dict[tuple[str, int], frozenset[str]] = {}

    def add_to(self, walk: Walk, known: dict[str, str]) -> bool:
        """Make what is named, and is to be stored, roots of a walk that has run; say whether any was new.

        `known` are those of this walk so far, each with the pickle that names it; the new ones are added.
        """
        found: dict[str, str] = {}
        for file in self._files(walk):
            for name in sorted(self._modules_in(file) - known.keys() - found.keys()):
                if self._is_stored(walk, name):
                    found[name] = f"pickle {file.package.replace('.', '/')}/{file.resource}".replace(
                        " /", " "
                    )
        for name in found:
            walk.add_root(name)
        known.update(found)
        return bool(found)

    def _files(self, walk: Walk) -> Iterator[DataFile]:
        """Yield the pickles beside the packages whose code has `pickle`, and those that such code names."""
        if "pickle" not in walk.modules:
            return
        importers = {edge.importer for edge in walk.edges if edge.target == "pickle" and edge.followed}
        readers = {name for name in importers if self._is_interned(name)}
        if any(self._decisions.origin(name).is_at_hand for name in readers):  # one helper reads for all of it
            interned = (name for name in walk.modules if self._is_interned(name))
            readers.update(name for name in interned if self._decisions.origin(name).is_at_hand)
        tops = dict.fromkeys(sorted(name.partition(".")[0] for name in readers))
        own = [name for name in readers if self._decisions.origin(name).is_at_hand]
        inside = chain.from_iterable(walk.data_files(top) for top in tops)
        archived = (
            DataFile("", name, name, size, read=read)
            for archive in archives_in(self._decisions.sources)  # whose packages are packed again
            for name, size, read in archive.resources()
            if name.partition("/")[0] in tops
        )
        for file in chain(inside, walk.project_files(sorted(own))[0], archived):
            if _PICKLES.fullmatch(file.resource) and not reason_to_leave_out(file):
                yield file

    def _modules_in(self, file: DataFile) -> frozenset[str]:
        place = (file.path, file.bytes)
        if place not in self._named:
            data = _beginning(bytes(file.read()) if file.bytes <= _LARGEST else b"")
            self._named[place] = frozenset(_modules_in(data) if data.endswith(b".") else ())
        return self._named[place]

    def _is_stored(self, walk: Walk, name: str) -> bool:
        """Say whether a module is here and goes into the archive; nothing is decided by it."""
        return walk.find(name).kind not in ("missing", "unknown") and self._decisions.takes_in(name)

    def _is_interned(self, name: str) -> bool:
        decision = self._decisions.standing.get(name)
        return decision is not None and decision.action == "intern"


def joblib_warnings(files: Iterable[PlannedEntry], stored: Collection[str]) -> Iterator[str]:
    """Warn of each file of joblib that names modules which are stored; no more than 64 MiB of one is read.

    >>> from packager.exporting.pickled_files import joblib_warnings
    >>> from packager.exporting.plan import PlannedEntry
    >>> data = b"\\x80\\x04\\x8c\\x09shop.bags\\x8c\\x03Bag\\x93."
    >>> files = [PlannedEntry("shop/bag.joblib", "resource", len(data), "", lambda: data)]
    >>> [line.partition(", ")[0] for line in joblib_warnings(files, {"shop.bags"})]
    ['shop/bag.joblib holds objects of shop.bags']
    """
    for file in files:
        if file.name.endswith(".joblib") and (named := _modules_in(_beginning(file.read())) & {*stored}):
            first = min(named)
            more = f" and {counted(len(named) - 1, 'more module')}" if len(named) > 1 else ""
            yield (
                f"{file.name} holds objects of {first}{more}, which joblib looks for in the process, and not "
                "in the archive: keep the object with save_object, or load the archive with install()"
            )


def _beginning(content: bytes | memoryview) -> bytes:
    """Return the first bytes of a file, inflated where it is deflated."""
    data = bytes(memoryview(content)[:_LARGEST])
    if not data.startswith(_DEFLATED):
        return data
    try:
        return zlib.decompressobj(wbits=47).decompress(data, _LARGEST)
    except zlib.error:
        return b""  # it is none of these


def _modules_in(data: bytes) -> set[str]:
    """Return the modules of the classes and functions that a pickle names."""
    return {(newer or older).decode("ascii") for newer, older in _CLASS.findall(data)}
