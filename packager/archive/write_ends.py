"""Where writes should end, so that the system keeps a file in pieces that it maps in one step each."""

from __future__ import annotations

from functools import cache
from typing import Final

_FOLIO: Final = 2 << 20  # the most that Linux keeps of a file in one piece, where one write covers it
_REPORTED: Final = "/sys/module/page_reporting/parameters/page_reporting_order"
_MOST: Final = 10  # the largest order of memory that Linux hands out; more stands for none


@cache
def write_multiple() -> int:
    """Return the bytes at whose multiples writes should end: 2 MiB, or 1 for anywhere.

    That is where free memory in such pieces is given back to the host of a virtual machine: to have it again
    takes longer than the write, so that what lies between such pieces is better taken first.
    """
    try:
        with open(_REPORTED, encoding="ascii") as file:
            order = int(file.read())
    except (OSError, ValueError):  # of other systems, and of Linux that knows no such thing
        return _FOLIO
    return 1 if 0 <= order <= _MOST else _FOLIO
