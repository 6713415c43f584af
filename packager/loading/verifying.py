"""Verifying an archive from a path or a file object, on the surface or in depth; nothing of it is run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Mapping
from typing import BinaryIO

from packager.archive import ArchiveReader, EntryCheck, Verification
from packager.archive import verify as verify_reader
from packager.errors import ArchiveError

from .parsing import Limits, ParsingProcess


def verify(
    file: str | os.PathLike[str] | BinaryIO | bytes,
    *,
    deep: bool = False,
    trust: Collection[str] = (),
    memory: int = 1 << 30,
    seconds: float = 120,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Check everything about an archive that can be checked without running any of it.

    That is the layout, both digests of every chunk, the manifest and what its records name, msgpack,
    and safetensors headers against their indexes. With `deep=True` every source is compiled, its code
    thrown away, and the names in every stored object are audited, as `load_object` would with this
    `trust`: in a child process that is ended when it takes more than `memory` bytes (where the system
    can tell) or all of it more than `seconds`. `progress(done, total)` is called with bytes.

    `file` is a path, the folder of an unzipped archive, a file object or bytes. It is read with
    bounds, not mapped: one that others cut short meanwhile gives an error.

    Every problem is in the answer. Raises ArchiveError where the file is no archive at all, OSError
    where it cannot be opened.

    >>> import io
    >>> from packager import PackageExporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file, policy="auto") as exporter:
    ...     exporter.save_source_string("broken", "def f(:", dependencies=False)
    >>> verify(file).ok
    True
    >>> print(verify(file, deep=True).problems[0].message)
    entry 'broken.py', line 1: this Python cannot parse it: invalid syntax
    """
    with ArchiveReader(file, mmap=False) as reader, contextlib.ExitStack() as stack:
        checks: Mapping[str, EntryCheck] = {}
        if deep:
            with contextlib.suppress(ArchiveError):  # a manifest that cannot be read is a problem below
                process = stack.enter_context(ParsingProcess(reader, Limits(memory, seconds), trust))
                checks = {
                    "source": process.source,
                    "object": process.stored,
                    "extras": process.extras,
                    "migration": process.migrations,
                }
        return verify_reader(reader, checks=checks, progress=progress)
