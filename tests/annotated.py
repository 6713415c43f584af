"""Code whose annotations name what is not there: Python 3.14 runs it, since it asks for none of them."""

from __future__ import annotations
import __future__

import sys
from typing import Any

__all__ = ["DEFERRED", "FUTURE", "defined"]

DEFERRED = sys.version_info >= (3, 14)
FUTURE = "" if DEFERRED else "from __future__ import annotations\n"
"""What a module starts with so that its annotations may name anything."""


def defined(source: str, name: str) -> Any:
    """Run a source, and return what it calls `name`."""
    flags = 0 if DEFERRED else __future__.annotations.compiler_flag
    space: dict[str, Any] = {"__name__": "annotated"}
    exec(compile(source, "<annotated>", "exec", flags, dont_inherit=True), space)
    return space[name]
