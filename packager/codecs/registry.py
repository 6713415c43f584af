"""All codecs, by name and by class: those of Python, NumPy, kellet and PyTorch, and those of libraries.

Everything that is known of a library stands in its `Library`: ours, in packager/libraries, and those that
other distributions offer through the group of entry points `packager.libraries`, each under the name that the
library is imported by. None is imported before an object, a name or a codec of its library is met.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from types import MappingProxyType

from packager.errors import PackageError
from packager.names import is_from_archive
from packager.quick_dataclasses import dataclass
from packager.version import OWN_NAME

from .base import Codec
from .c_state import StateCheck
from .families import FAMILIES, FILE_OF, FILE_OF_TYPE

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

_OURS: Final = f"{__name__.partition('.')[0]}.libraries"
_NO_LIBRARIES: Final = frozenset({*sys.stdlib_module_names, "numpy", "torch", "kellet", "packager"})
"""A library is all but Python, NumPy, PyTorch and kellet."""


class CodecError(PackageError, ValueError):
    """A codec or a library that is missing, or that does not keep the rules."""


@dataclass(frozen=True, eq=False)
class Library:
    """What packager knows of a library.

    `name` is what it is imported by, `distribution` what it is installed from. The names of its `codecs`
    begin with its own. `rows` say what data may do with its names: see packager/audit/rows.py. `learned`
    gives what its source and its fits say of the attributes of its objects: see packager/libraries/learned.

    >>> Library("units", "units").codecs
    ()
    """

    name: str
    distribution: str
    codecs: Sequence[Codec] = ()
    rows: Any = None
    learned: Callable[[], Any] | None = None


def find_library(name: str, points: Mapping[str, object] | None = None) -> Library | None:
    """Return what is known of the library of a top-level package; None where nothing is.

    `points` are the entry points of other distributions, which are searched where they are not given. Raises
    CodecError for an entry point that gives no such library.

    >>> find_library("os") is None
    True
    """
    if name in _NO_LIBRARIES:
        return None
    home = _homes().get(name)
    if home is not None:
        return _ours(home)
    point = (_points() if points is None else points).get(name)
    return None if point is None else _loaded(name, point)


def state_checks(cls: type, find: Callable[[str], Library | None] = find_library) -> tuple[StateCheck, ...]:
    """Return the checks of a class, and of all that it inherits from.

    >>> state_checks(dict)
    ()
    """
    found: list[StateCheck] = []
    for base in cls.__mro__:
        module = f"{base.__module__}"
        library = None if is_from_archive(module) else find(module.partition(".")[0])
        row = (
            None if library is None or library.rows is None else library.rows.find(module, base.__qualname__)
        )
        found += [check for check in (row.c_state if row is not None else ()) if check not in found]
    return tuple(found)


def stored_state(cls: type, state: Any) -> Any:
    """Return the state of an object of a class as it is stored, by the checks of the class.

    >>> stored_state(dict, (1, 2))
    (1, 2)
    """
    for check in state_checks(cls):
        state = check.stored_state(state)
    return state


def library_names() -> Sequence[str]:
    """Return the libraries that something is known of here, ours first."""
    return [*_homes(), *_points()]


def library_files(names: Sequence[str]) -> tuple[str, ...]:
    """Return where ours of these libraries are, as paths without their ends: what an archive carries.

    >>> library_files(["pandas", "os"])
    ('packager/libraries/__init__', 'packager/libraries/pandas')
    """
    homes = [f"{_OURS}.{home}" for name, home in _homes().items() if name in names]
    return tuple(home.replace(".", "/") for home in (f"{_OURS}.__init__", *homes))


@lru_cache(maxsize=1)
def _homes() -> Mapping[str, str]:
    """Return the files of our libraries by what these are imported by; nothing without their folder."""
    try:
        found: Mapping[str, str] = import_module(_OURS).HOMES
    except ModuleNotFoundError as error:
        if error.name != _OURS:
            raise
        return MappingProxyType({})
    return found


@lru_cache(maxsize=64)
def _ours(home: str) -> Library | None:
    try:
        found: Library = import_module(f"{_OURS}.{home}").LIBRARY
    except ModuleNotFoundError as error:
        if error.name != f"{_OURS}.{home}":
            raise
        return None  # an archive carries those of the libraries that it needs
    return found


def _points() -> Mapping[str, object]:
    """Return the entry points of other distributions by the libraries that they are for."""
    # An install changes a folder of the path; without one nothing is searched again, which takes 20 ms.
    return _searched(tuple(map(id, sys.meta_path)), tuple(map(_stamp, sys.path)))


@lru_cache(maxsize=4)
def _searched(finders: tuple[int, ...], folders: tuple[object, ...]) -> Mapping[str, object]:
    """Return what `_points` does; the arguments tell when it must be searched again."""
    if not are_libraries_offered(sys.path):
        return MappingProxyType({})
    # The archive that carries its loader does not carry the backport.
    try:
        from importlib_metadata import entry_points
    except ImportError:
        from importlib.metadata import entry_points  # type: ignore[assignment]  # the same, untyped

    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return MappingProxyType({point.name: point for point in points if not point.value.startswith(_OURS)})


def _stamp(folder: str) -> object:
    """Return what tells a folder of the path from another one, and from itself after a change."""
    try:
        now = os.stat(folder or ".")
    except (OSError, ValueError):
        return folder
    return folder, now.st_dev, now.st_ino, now.st_mtime_ns


def _loaded(name: str, point: Any) -> Library:
    try:
        found: Any = point.load()
    except Exception as error:
        raise CodecError(
            f"library {name!r}: {point} cannot be loaded: {error!r}; repair or uninstall it"
        ) from error
    if not isinstance(found, Library) or found.name != name:
        raise CodecError(
            f"library {name!r}: {point} gave {found!r}; expected a Library whose name is {name!r}"
        )
    wrong = [codec for codec in found.codecs if not _is_of(codec, name)]
    if wrong:
        raise CodecError(
            f"library {name!r}: {wrong[0]!r} is no codec whose name begins with {name + '.'!r}; rename it"
        )
    return found


def _is_of(codec: object, library: str) -> bool:
    return isinstance(codec, Codec) and str(codec.name).startswith(f"{library}.")


# --- whether anything installed offers a library, known without what finds distributions: that, its
# backport and what they import take longer than to encode a small model ---

GROUP = "packager.libraries"
"""The group of entry points that offer libraries."""

_POINTS = "entry_points.txt"
_METADATA = (".dist-info", ".egg-info", "egg-info")  # the last one is that of a folder which is an egg
_BACKPORT = "importlib_metadata"


def are_libraries_offered(folders: Iterable[str]) -> bool:
    """Say whether a distribution may offer libraries; False is certain, True is to be looked into.

    The `folders` are those of `sys.path`, and are searched as `importlib.metadata` does: for folders of
    metadata that lie in them. What it looks for elsewhere (in ZIP files, by finders of others) counts as
    offered.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     before = are_libraries_offered([folder])
    ...     os.mkdir(os.path.join(folder, "units-1.0.dist-info"))
    ...     with open(os.path.join(folder, "units-1.0.dist-info", "entry_points.txt"), "w") as points:
    ...         _ = points.write("[packager.libraries]")
    ...     before, are_libraries_offered([folder])
    (False, True)
    """
    if any(map(_finds_distributions_elsewhere, sys.meta_path)):
        return True
    return any(map(_is_offering, dict.fromkeys(folders)))


def _finds_distributions_elsewhere(finder: object) -> bool:
    """Say whether a finder may know of distributions that no folder of the path holds."""
    if finder is PathFinder or type(finder).__module__ == _BACKPORT:
        return False
    if getattr(finder, "find_distributions", None) is None:
        return False
    return bool(getattr(finder, "has_distributions", True))  # as that of archives answers


def _is_offering(folder: object) -> bool:
    if not isinstance(folder, str):
        return True  # what becomes of it is up to who looks
    try:
        names = os.listdir(folder or ".")
    except NotADirectoryError:
        return True  # a ZIP file, most likely
    except (OSError, ValueError):
        return False
    return any(GROUP.encode() in text for text in _points_in(folder or ".", names))


def _points_in(folder: str, names: Iterable[str]) -> Iterator[bytes]:
    for name in names:
        if name.lower().endswith(_METADATA) and not name.startswith(f"{OWN_NAME}-"):  # ours are known
            file = os.path.join(folder, name, _POINTS)
            if os.access(file, os.R_OK):  # most have none, and to fail to open it takes longer
                with contextlib.suppress(OSError), open(file, "rb") as points:
                    yield points.read()


# --- all codecs ---


class CodecRegistry:
    """Codecs by name and by class, and libraries. Those of other distributions are searched for once.

    >>> registry = default_registry()
    >>> registry.find("complex").name, registry.for_class(complex).name
    ('complex', 'complex')
    >>> registry.for_class(list) is None
    True
    """

    def __init__(
        self,
        codecs: Iterable[Codec] = (),
        *,
        below: Callable[[], CodecRegistry] | None = None,
    ) -> None:
        self._by_name: dict[str, Codec] = {}
        self._by_type: dict[str, tuple[Codec, ...]] = {}
        self._opened: dict[str, Library | None] = {}
        self._below = below  # what gives the registry that this one begins as
        for codec in codecs:
            self.add(codec)

    def __iter__(self) -> Iterator[Codec]:
        self._begin()
        for library in library_names():
            self._open(library)
        return iter(self._by_name.values())

    def add(self, codec: Codec) -> None:
        """Add a codec. Raises CodecError when its name is taken or malformed."""
        name = getattr(codec, "name", None)
        if not isinstance(name, str) or not name or codec.version < 1:
            raise CodecError(f"codec {codec!r}: expected a name and a version of 1 or more, found {name!r}")
        self._begin()
        if name in self._by_name:
            raise CodecError(
                f"codec {name!r} is there twice: {self._by_name[name]!r} and {codec!r}; rename one"
            )
        self._by_name[name] = codec
        for type_name in codec.types:
            # Later ones first: a codec that somebody adds may take over a class, and leave it by `claims`.
            self._by_type[type_name] = (codec, *self._by_type.get(type_name, ()))

    def replace(self, codecs: Iterable[Codec]) -> None:
        """Let codecs take the place of those of their names, for what is decoded."""
        self._begin()
        self._by_name.update({codec.name: codec for codec in codecs})

    def copy(self) -> CodecRegistry:
        """Return a registry with the same codecs; what is added to one of the two is not in the other."""
        copied = CodecRegistry(below=self._below)
        copied._by_name, copied._by_type = dict(self._by_name), dict(self._by_type)
        copied._opened = dict(self._opened)
        return copied

    def settled(self) -> CodecRegistry:
        """Return a copy that looks for no more libraries of other distributions: while data is built."""
        copied = self.copy()
        copied._points = vars(self).get("_points", {})
        return copied

    def find(self, name: str) -> Codec | None:
        """Return the codec of that name, from a library if not built in; None when there is none.

        Raises CodecError for an entry point that gives no library.
        """
        if self._below is not None:
            if name in FILE_OF:
                return _built_in_codec(name)
            self._begin()
        if name not in self._by_name:
            self._open(name.partition(".")[0])
        return self._by_name.get(name)

    def for_class(self, cls: type) -> Codec | None:
        """Return the codec for instances of `cls`: that of the nearest base class that claims it."""
        for base in cls.__mro__[:-1]:
            self._open(str(base.__module__).partition(".")[0])
            name = f"{base.__module__}:{base.__qualname__}"
            known = self._by_type.get(name, ()) if self._below is None else _built_in_for(name)
            for codec in known:
                if codec.claims(cls):
                    return codec
        return None

    def library(self, name: str) -> Library | None:
        """Return what is known of the library of a top-level package; None where nothing is."""
        self._open(name)
        return self._opened[name]

    @cached_property
    def _points(self) -> Mapping[str, object]:
        return _points()

    def _begin(self) -> None:
        """Take over the codecs of the registry that this one begins as."""
        if self._below is not None:
            below, self._below = self._below(), None
            self._by_name, self._by_type = dict(below._by_name), dict(below._by_type)

    def _open(self, name: str) -> None:
        """Add the codecs of a library that were not asked for before, behind those that are there."""
        if name in self._opened:
            return
        library = self._opened[name] = find_library(name, self._points)
        if library is None or not library.codecs:
            return
        self._begin()
        for codec in library.codecs:
            before = {type_name: self._by_type.get(type_name, ()) for type_name in codec.types}
            self.add(codec)
            self._by_type.update({type_name: (*known, codec) for type_name, known in before.items()})


def carried_files(tops: Iterable[str]) -> tuple[str, ...]:
    """Return the files that are found by names alone, as paths without their ends: what an archive carries.

    `tops` are the top-level packages of what is stored: other libraries are left out.

    >>> files = carried_files(["numpy", "pandas"])
    >>> [f"packager/{name}" in files for name in ("codecs/arrays", "libraries/pandas", "libraries/polars")]
    [True, True, False]
    """
    ours = (f"{__package__.replace('.', '/')}/{name}" for name in FAMILIES)
    return (*ours, *library_files([*tops]))


def default_registry() -> CodecRegistry:
    """Return a registry with everything that packager brings and that is installed here.

    It is the caller's own: what is added to it is in no other one.
    """
    return CodecRegistry(below=_built_in)


@lru_cache(maxsize=1)
def _built_in() -> CodecRegistry:
    families = (import_module(f"{__package__}.{name}") for name in FAMILIES)
    return CodecRegistry(codec for family in families for codec in family.CODECS)


@lru_cache(maxsize=len(FILE_OF))
def _built_in_codec(name: str) -> Codec:
    """Return the codec of one of these names; its file alone is imported."""
    found: Iterable[Codec] = import_module(f"{__package__}.{FILE_OF[name]}").CODECS
    return next(codec for codec in found if codec.name == name)


def _built_in_for(type_name: str) -> Iterable[Codec]:
    """Return the codecs of a type, in the order in which they are asked; their file alone is imported."""
    if type_name not in FILE_OF_TYPE:
        return ()
    codecs: Sequence[Any] = import_module(f"{__package__}.{FILE_OF_TYPE[type_name]}").CODECS
    return [codec for codec in reversed(codecs) if type_name in codec.types]
