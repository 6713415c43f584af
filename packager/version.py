"""Our own distribution: its name, its packages, and the version that its metadata says."""

from __future__ import annotations

import os

__all__ = ["OWN_NAME", "OWN_PACKAGES", "installed_version", "is_namesake"]

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
    """Check whether the source at `path` of module `name` only has the name of one of our packages.

    >>> is_namesake("packager", __file__), is_namesake("packager", "/shop/packager.py")
    (False, True)
    >>> is_namesake("shop", "/shop/packager.py")
    False
    """
    folders = _OWN_FOLDERS.get(name.partition(".")[0])
    return folders is not None and not os.path.abspath(path).startswith(
        tuple(os.path.join(folder, "") for folder in folders)
    )


def installed_version() -> str | None:
    """Return the version of the distribution; None where it is not installed, only importable."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(OWN_NAME)
    except PackageNotFoundError:
        return None
