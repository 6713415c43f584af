"""Where benchmarks keep their files: a folder for each module, which goes with the process."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path


@cache
def folder_of(module: str) -> Path:
    """Return the folder of a module of benchmarks, given its `__name__`: made when it is first asked for."""
    folder = tempfile.TemporaryDirectory(prefix="kellet-benchmarks-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return Path(folder.name)
