"""A library as packager knows it: one record, found when its name is the top-level package in question.

Everything that is known of a library stands in its `Library`: ours, in packager/_libraries, and those that
other distributions offer through the group of entry points `packager.libraries`, each under the name that the
library is imported by. None is imported before an object, a name or a codec of its library is met.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from types import MappingProxyType

from packager._file_access import folder_stamp
from packager._quick_dataclasses import dataclass
from packager._version import OWN_NAME
from packager.errors import PackageError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

_OURS: Final = f"{__name__.partition('.')[0]}._libraries"
NO_LIBRARIES: Final = frozenset({*sys.stdlib_module_names, "numpy", "torch", "kellet", "packager"})
"""A library is all but Python, NumPy, PyTorch and kellet."""


class CodecError(PackageError, ValueError):
    """A codec or a library is missing, or breaks the rules of codecs."""


@dataclass(frozen=True, eq=False)
class Library:
    """The codecs and rules for one library.

    `name` is what it is imported by, `distribution` what it is installed from. The names of its `codecs`
    begin with its own. `rows` are the `Rows` that say what data may do with its names.

    Register it as an entry point of the group "packager.libraries", under the name that the library is
    imported by: in pyproject.toml, `[project.entry-points."packager.libraries"]` and below it
    `gauges = "gauges._packager:LIBRARY"`.

    >>> Library("units", "units").codecs
    ()
    """

    name: str
    distribution: str
    codecs: Sequence[Any] = ()
    rows: Any = None


def find_library(name: str, points: Mapping[str, object] | None = None) -> Library | None:
    """Return what is known of the library of a top-level package; None where nothing is.

    `points` are the entry points of other distributions, which are searched where they are not given. Raises
    CodecError for an entry point that gives no such library.

    >>> find_library("os") is None
    True
    """
    if name in NO_LIBRARIES:
        return None
    home = _homes().get(name)
    if home is not None:
        return _ours(home)
    point = (offered_libraries() if points is None else points).get(name)
    return None if point is None else _loaded(name, point)


def library_names() -> Sequence[str]:
    """Return the libraries that something is known of here, ours first."""
    return [*_homes(), *offered_libraries()]


def library_files(names: Sequence[str]) -> tuple[str, ...]:
    """Return where ours of these libraries are, as paths without their ends: what an archive carries.

    >>> library_files(["pandas", "os"])
    ('packager/_libraries/__init__', 'packager/_libraries/pandas')
    """
    homes = [f"{_OURS}.{home.partition(':')[0]}" for name, home in _homes().items() if name in names]
    return tuple(home.replace(".", "/") for home in dict.fromkeys((f"{_OURS}.__init__", *homes)))


@lru_cache(maxsize=1)
def _homes() -> Mapping[str, str]:
    """Return the places of our records by what libraries are imported by; nothing without their folder."""
    try:
        found: Mapping[str, str] = import_module(f"{_OURS}.homes").HOMES
    except ModuleNotFoundError as error:
        if error.name not in (_OURS, f"{_OURS}.homes"):
            raise
        return MappingProxyType({})
    return found


@lru_cache(maxsize=64)
def _ours(home: str) -> Library | None:
    file, _, name = home.partition(":")
    try:
        found: Library = getattr(import_module(f"{_OURS}.{file}"), name)
    except ModuleNotFoundError as error:
        if error.name != f"{_OURS}.{file}":
            raise
        return None  # an archive carries those of the libraries that it needs
    return found


def offered_libraries() -> Mapping[str, object]:
    """Return the entry points of other distributions by the libraries that they are for."""
    # An install changes a folder of the path; without one nothing is searched again, which takes 20 ms.
    return _searched(tuple(map(id, sys.meta_path)), tuple(map(folder_stamp, sys.path)))


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


def _loaded(name: str, point: Any) -> Library:
    try:
        found: Any = point.load()
    except Exception as error:
        raise CodecError(
            f"library {name!r}: {point} cannot be loaded: {error!r}; repair or uninstall it"
        ) from error
    if not isinstance(found, Library) or found.name != name:
        raise CodecError(
            f"library {name!r}: {point} gave a {type(found).__name__} whose name is "
            f"{getattr(found, 'name', None)!r}; expected a Library whose name is {name!r}"
        )
    return found


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
