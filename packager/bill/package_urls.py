"""Package URLs: one name for a distribution, wherever bills of materials are read.

Source: the purl specification, and its type `pypi`.
"""

from __future__ import annotations

from urllib.parse import quote


def index_url(name: str, version: str) -> str:
    """Return the URL of a distribution that package indexes have; `name` is normalised.

    >>> index_url("torch", "2.4.0+cpu")
    'pkg:pypi/torch@2.4.0%2Bcpu'
    """
    return _url("pypi", name, version)


def local_url(name: str, version: str = "") -> str:
    """Return the URL of what no index has: whatever has its name there is something else.

    >>> local_url("shop")
    'pkg:generic/shop'
    """
    return _url("generic", name, version)


def _url(kind: str, name: str, version: str) -> str:
    at = f"@{quote(version, safe='')}" if version else ""
    return f"pkg:{kind}/{quote(name, safe='')}{at}"
