"""The version, which pyproject.toml says and the metadata of the installed distribution repeats."""

from __future__ import annotations

__all__ = ["OWN_NAME", "installed_version"]

OWN_NAME = "kellet"
"""The name of the distribution that holds both packages."""


def installed_version() -> str | None:
    """Return the version of the distribution; None where it is not installed, only importable."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(OWN_NAME)
    except PackageNotFoundError:
        return None
