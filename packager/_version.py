"""Our own distribution: its name, its packages, and the version that its metadata says."""

from __future__ import annotations

import os
import sys

OWN_NAME = "kellet"
"""The name of the distribution that holds both packages."""

OWN_PACKAGES = ("kellet", "packager")

_HERE = os.path.dirname(os.path.abspath(__file__))
_BESIDE = os.path.dirname(_HERE)
# As installed, or in a runnable archive, and in a checkout.
_OWN_FOLDERS = {
    "packager": (_HERE,),
    "kellet": (os.path.join(_BESIDE, "kellet"), os.path.join(_BESIDE, "src", "kellet")),
}


def is_namesake(name: str, path: str) -> bool:
    """Check whether the source at `path` only has the name of one of our packages, or of Python's.

    Python's own are those of the standard library; what is installed under such a name comes after them.

    >>> is_namesake("packager", __file__), is_namesake("packager", "/shop/packager.py")
    (False, True)
    >>> is_namesake("json", "/shop/json.py"), is_namesake("json", os.__file__)
    (True, False)
    >>> is_namesake("shop", "/shop/packager.py")
    False
    """
    top, place = name.partition(".")[0], os.path.abspath(path)
    folders = _OWN_FOLDERS.get(top)
    if folders is None and top in sys.stdlib_module_names:
        if any(f"{os.sep}{site}{os.sep}" in place for site in ("site-packages", "dist-packages")):
            return False
        folders = (os.path.dirname(os.path.abspath(os.__file__)), os.path.join(sys.base_prefix, "DLLs"))
    return folders is not None and not place.startswith(tuple(os.path.join(folder, "") for folder in folders))


def installed_version() -> str | None:
    """Return the version of the distribution; None where it is not installed, only importable."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(OWN_NAME)
    except PackageNotFoundError:
        return None
