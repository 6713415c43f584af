"""Pickles among the files beside stored code: which modules they name, that no code need import.

`babel` keeps the numbers and dates of each language so, and a project its vocabulary: the classes are of
modules that only the pickle names. Where stored code reads pickles by itself these are stored, as what it
imports is. NumPy, PyTorch, pandas and dill unpickle by classes of their own, which look for modules in the
process: where code of the project reads files so that name stored modules, that is a problem of the plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from packager.graph import DataFile, Module, Walk, reason_to_leave_out, unpickling_places
from packager.texts import counted, listed

from .module_sources import archives_in
from .pickle_contents import PickledContent, pickled_content
from .plan import PlannedEntry

if TYPE_CHECKING:
    from .deciding import Decisions

_NAMED_SO: Final = re.compile(
    r".*\.(dat|pck|pickle|pkl|p|joblib|jl|sav|dill)(\.(gz|z|bz2|xz|lzma|lz4|zst))?", re.IGNORECASE
)
# Which libraries read a file of what is of one: those that find the archive's modules do so by `pickle`.
_READ_BY: Final = {
    "pickle": ("pickle", "joblib", "cloudpickle", "shelve", "pandas", "dill"),
    "numpy": ("numpy",),
    "torch": ("torch",),
}
_BY_PICKLE: Final = re.compile(rb"\b(pickle|joblib|cloudpickle|shelve)\b")
_OF_NUMPY: Final = re.compile(r".*\.(npy|npz|pkl|pickle|pck|p)", re.IGNORECASE)  # it reads pickles, too
_LOADS: Final = re.compile(rb"\bload\b")
_MOST_PLACES: Final = 3
_MENDS: Final = {
    "numpy": "write it with pickle.dump or joblib.dump, and read it with pickle.load or joblib.load",
    "torch": "give torch.load a pickle_module that finds them (`import pickle` at the top of the file, and "
    "weights_only=False, pickle_module=pickle)",
    "pandas": "read it with pickle.load",
    "dill": "write it with pickle.dump or cloudpickle.dump, and read it with pickle.load",
}


class PickledModules:
    """The modules that pickles beside stored code name, given to the walks of one export.

    A file is a pickle, or holds some, by its first bytes; one of the first protocols by its name (.pkl,
    .pickle, .pck, .p, .dat, .joblib, .jl, .sav and .dill, also compressed) and its last byte.
    """

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions
        self._contents: dict[tuple[str, int], PickledContent] = {}

    def add_to(self, walk: Walk, known: dict[str, str]) -> bool:
        """Make what is named, and is to be stored, roots of a walk that has run; say whether any was new.

        `known` are those of this walk so far, each with the pickle that names it; the new ones are added.
        """
        found: dict[str, str] = {}
        for file in self._files(walk):
            content = self._content(file)
            if not any(reader in walk.modules for reader in _READ_BY.get(content.library, ())):
                continue
            for name in sorted(content.modules - known.keys() - found.keys()):
                if self._is_stored(walk, name):
                    found[name] = f"pickle {file.package.replace('.', '/')}/{file.resource}".replace(
                        " /", " "
                    )
        for name in found:
            walk.add_root(name)
        known.update(found)
        return bool(found)

    def _files(self, walk: Walk) -> Iterator[DataFile]:
        """Yield the data files beside packages whose code reads pickles, and those that such code names."""
        reading = {name for names in _READ_BY.values() for name in names} & walk.modules.keys()
        if not reading:
            return
        importers = {
            (edge.importer, edge.target) for edge in walk.edges if edge.target in reading and edge.followed
        }
        # Of installed packages only those that read pickles by themselves: most of them import NumPy.
        readers = {
            name
            for name, target in importers
            if self._is_interned(name) and (target == "pickle" or self._decisions.origin(name).is_at_hand)
        }
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
            if not reason_to_leave_out(file):
                yield file

    def _content(self, file: DataFile) -> PickledContent:
        place = (file.path, file.bytes)
        if place not in self._contents:
            named_so = _NAMED_SO.fullmatch(file.resource) is not None
            self._contents[place] = pickled_content(file.path, file.read, any_end=named_so)
        return self._contents[place]

    def _is_stored(self, walk: Walk, name: str) -> bool:
        """Say whether a module is here and goes into the archive; nothing is decided by it."""
        return walk.find(name).kind not in ("missing", "unknown") and self._decisions.takes_in(name)

    def _is_interned(self, name: str) -> bool:
        decision = self._decisions.standing.get(name)
        return decision is not None and decision.action == "intern"


class ReadInProcess(NamedTuple):
    """A file whose pickles name stored modules, and that is read by what looks for them in the process.

    Where nothing is seen that reads it (`is_certain` is False), a library may do so.
    """

    file: str
    told: str
    is_certain: bool = True


def read_in_process(
    files: Iterable[PlannedEntry],
    stored: Collection[str],
    own: Sequence[Module],
    is_live: Callable[[str, int], bool],
) -> Iterator[ReadInProcess]:
    """Yield each file that names modules which are `stored`, with what may read it in the `own` modules.

    Which file a call reads is not known. What NumPy and PyTorch have written is read by them alone; another
    pickle is taken to be read by pandas or dill where code of the project reads pickles by these, and by
    NumPy where it has nothing else that could.
    """
    places: dict[str, list[str]] | None = None
    texts = [module.source or b"" for module in own]
    others = any(_BY_PICKLE.search(text) for text in texts)
    for entry in files:
        if entry.kind != "resource":
            continue
        named_so = _NAMED_SO.fullmatch(entry.name) is not None
        content = pickled_content(entry.path, entry.read, any_end=named_so)
        library, named = content.library, content.modules & {*stored}
        if library in ("lz4", "zstd") and named_so and others:
            yield ReadInProcess(
                entry.name,
                f"{entry.name} is compressed by {library}, and was not looked through: a module that it "
                "alone names is stored where save_module asks for it, and a golden call that reads it shows "
                f'before the file is written what is missing; exporter.answer("{entry.name}", "none") says '
                "that nothing is",
                is_certain=False,
            )
        if not named:
            continue
        more = f" and {counted(len(named) - 1, 'more module')}" if len(named) > 1 else ""
        held = f"it holds objects of {min(named)}{more}"
        is_of_numpy = not others and _OF_NUMPY.fullmatch(entry.name) is not None
        of_pickles = ["pandas", "dill", "numpy"] if is_of_numpy else ["pandas", "dill"]
        readers = of_pickles if library == "pickle" else [library]
        if places is None:  # all of the project is parsed for them
            places = _reading_places(own, is_live)
        if reader := next((one for one in readers if one in places), ""):
            yield ReadInProcess(
                entry.name,
                f"{held}, which {listed(places[reader], _MOST_PLACES)} looks for in the process, and not "
                f"in the archive: {_MENDS[reader]}; or keep the object with save_object. Where nothing that "
                "is loaded reads it, leave it out by name; where it is read otherwise, or the archive is "
                f'loaded with install(), say so: exporter.answer("{entry.name}", "none")',
            )
        elif library != "pickle" and not any(
            library.encode() in text and _LOADS.search(text) for text in texts
        ):
            yield ReadInProcess(
                entry.name,
                f"{entry.name} is of {library}, and {held}; no code of the project reads it, and a library "
                "that does so looks for them in the process, and not in the archive: leave it out "
                f'(exporter.exclude_data("{entry.name}")), keep the object with save_object, or say that it '
                f'is right so: exporter.answer("{entry.name}", "none")',
                is_certain=False,
            )


def _reading_places(own: Sequence[Module], is_live: Callable[[str, int], bool]) -> dict[str, list[str]]:
    """Return the places of code that can run, by the library that reads pickles there."""
    found: dict[str, list[str]] = {}
    for module in own:
        package = module.name if module.is_package else module.name.rpartition(".")[0]
        for place in unpickling_places(module.source or b"", package):
            if not place.begins or is_live(module.name, place.begins):
                told = f"{place.function} ({module.file}:{place.line})"
                found.setdefault(place.library, []).append(told)
    return found
