"""Files of joblib beside the code that hold objects of packaged classes, which joblib does not find there.

joblib unpickles by a class of its own, which looks for modules in the process. `pickle` in packaged code is
read by the archive's names.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Iterator

from packager.texts import counted

from .plan import PlannedEntry

# A class: two short texts, which may be memoized, and STACK_GLOBAL; or GLOBAL and two lines.
_CLASS = re.compile(
    rb"\x8c.([A-Za-z_][\w.]*)\x94?\x8c.[A-Za-z_][\w.]*\x94?\x93|c([A-Za-z_][\w.]*)\n[A-Za-z_]", re.DOTALL
)
_LARGEST = 1 << 26
_DEFLATED = (b"x", b"\x1f\x8b")


def joblib_warnings(files: Iterable[PlannedEntry], stored: Collection[str]) -> Iterator[str]:
    """Warn of each file of joblib that names modules which are stored; no more than 64 MiB of one is read.

    >>> from packager.exporting.joblib_files import joblib_warnings
    >>> from packager.exporting.plan import PlannedEntry
    >>> data = b"\\x80\\x04\\x8c\\x09shop.bags\\x8c\\x03Bag\\x93."
    >>> files = [PlannedEntry("shop/bag.joblib", "resource", len(data), "", lambda: data)]
    >>> [line.partition(", ")[0] for line in joblib_warnings(files, {"shop.bags"})]
    ['shop/bag.joblib holds objects of shop.bags']
    """
    for file in files:
        if file.name.endswith(".joblib") and (named := _modules_in(_beginning(file)) & {*stored}):
            first = min(named)
            more = f" and {counted(len(named) - 1, 'more module')}" if len(named) > 1 else ""
            yield (
                f"{file.name} holds objects of {first}{more}, which joblib looks for in the process, and not "
                "in the archive: keep the object with save_object, or load the archive with install()"
            )


def _beginning(file: PlannedEntry) -> bytes:
    data = bytes(memoryview(file.read())[:_LARGEST])
    if not data.startswith(_DEFLATED):
        return data
    try:
        return zlib.decompressobj(wbits=47).decompress(data, _LARGEST)
    except zlib.error:
        return b""  # it is no file of joblib


def _modules_in(data: bytes) -> set[str]:
    """Return the modules of the classes and functions that a pickle names."""
    return {(newer or older).decode("ascii") for newer, older in _CLASS.findall(data)}
