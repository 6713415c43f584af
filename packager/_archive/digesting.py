"""sha256 of a few bytes, without what takes longer to load than they take to digest.

Opening an archive digests its manifest and little more. `hashlib` loads a large library of its system for
that, whose sha256 is several times as fast as Python's own: worth it from some hundred thousand bytes on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from hashlib import _Hash
    from typing import Any, Final

# Bytes in all that Python's own digests in less time than `hashlib` takes to load, and in 4 MB less memory:
# the manifest of an archive of three gigabytes.
_FEW: Final = 131_072
_digested = [0]


def sha256(data: bytes | memoryview) -> _Hash:
    """Return the digest object of `data`, as `hashlib.sha256` does.

    >>> sha256(b"kellet").hexdigest()[:16]
    '77151e97c6b0098d'
    """
    if "hashlib" not in sys.modules:
        _digested[0] += memoryview(data).nbytes
        if _digested[0] <= _FEW:
            found: _Hash = _own()(data)
            return found
    digest: _Hash = _of_hashlib()(data)
    return digest


def _of_hashlib() -> Callable[[Any], Any]:
    """Return hashlib's sha256, or Python's own where no descriptor is left to import it with."""
    try:
        import hashlib
    except (ImportError, OSError):
        return _own()
    return hashlib.sha256


@cache
def _own() -> Callable[[Any], Any]:
    """Return the sha256 that is built into Python, or that of hashlib where there is none.

    Source: `random` of Python takes its sha512 in this way.
    """
    for module in ("_sha2", "_sha256"):  # from 3.12 on, before
        try:
            found: Callable[[Any], Any] = __import__(module).sha256
        except ImportError:
            continue
        return found
    import hashlib

    return hashlib.sha256
