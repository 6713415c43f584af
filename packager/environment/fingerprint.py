"""The environment an archive was made in: Python and platform, and nothing about the machine.

No host name, kernel, path, user or time: two machines with the same Python, distributions and
platform tag have the same fingerprint (a promise of the archive format).
"""

from __future__ import annotations

import platform
import sys
import sysconfig
from dataclasses import dataclass


@dataclass(frozen=True)
class Fingerprint:
    """Python's version and implementation, the platform tag and the byte order.

    >>> Fingerprint.here().implementation == sys.implementation.name
    True
    """

    python: str
    implementation: str
    platform: str
    byteorder: str

    @classmethod
    def here(cls) -> Fingerprint:
        """The fingerprint of the running interpreter."""
        return cls(
            python=platform.python_version(),
            implementation=sys.implementation.name,
            platform=sysconfig.get_platform(),
            byteorder=sys.byteorder,
        )

    @property
    def python_series(self) -> str:
        """Major and minor version, which decide what source means: `3.11`.

        >>> Fingerprint("3.11.7", "cpython", "linux-x86_64", "little").python_series
        '3.11'
        """
        return ".".join(self.python.split(".")[:2])
