"""What commands read: a file, the folder of an unzipped archive, or standard input."""

from __future__ import annotations

import sys
from typing import Any

FILE_HELP = "the archive, the folder of an unzipped one, or - for standard input"


def source_of(file: str) -> Any:
    """What the reader is given for an argument FILE: standard input for `-`, copied where it is a pipe."""
    return sys.stdin.buffer if file == "-" else file
