"""Whether anything that is installed may offer codecs: known without the library that finds distributions.

That library, its backport and what the two import take longer than to encode a small model.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder

GROUP = "packager.codecs"
"""The group of entry points that offer codecs."""

_POINTS = "entry_points.txt"
_METADATA = (".dist-info", ".egg-info", "egg-info")  # the last one is that of a folder which is an egg
_BACKPORT = "importlib_metadata"


def are_codecs_offered(folders: Iterable[str]) -> bool:
    """Say whether a distribution may offer codecs; False is certain, True is to be looked into.

    The `folders` are those of `sys.path`, and are searched as `importlib.metadata` does: for folders of
    metadata that lie in them. What it looks for elsewhere (in ZIP files, by finders of others) counts as
    offered.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     before = are_codecs_offered([folder])
    ...     os.mkdir(os.path.join(folder, "units-1.0.dist-info"))
    ...     with open(os.path.join(folder, "units-1.0.dist-info", "entry_points.txt"), "w") as points:
    ...         _ = points.write("[packager.codecs]")
    ...     before, are_codecs_offered([folder])
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
        if name.lower().endswith(_METADATA):
            file = os.path.join(folder, name, _POINTS)
            if os.access(file, os.R_OK):  # most have none, and to fail to open it takes longer
                with contextlib.suppress(OSError), open(file, "rb") as points:
                    yield points.read()
