"""Verifying an archive from a path or a file object, on the surface or in depth; nothing of it is run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Mapping

from packager.archive import ArchiveReader, EntryCheck, EntryRecord, Verification
from packager.archive import verify as verify_reader
from packager.arguments import check_file
from packager.errors import ArchiveError

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import BinaryIO


def verify(
    file: str | os.PathLike[str] | BinaryIO | bytes,
    *,
    deep: bool = False,
    identity: str | None = None,
    trust: Collection[str] = (),
    memory: int = 1 << 30,
    seconds: float = 120,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Check everything about an archive that can be checked without running any of it.

    That is the layout, both digests of every chunk, the manifest and what its records name, msgpack,
    and safetensors headers against their indexes. With `deep=True` every source is compiled, its code
    thrown away, and the names in every stored object are audited, as `load_object` would with this
    `trust`, and tensors and records that nothing in the archive refers to are problems. Data alone is built
    with the libraries that are installed and encoded again: another spelling of it is a problem. That is done
    in a child process that is ended when it takes more than `memory` bytes (where the system can tell) or all
    of it more than `seconds`. `progress(done, total)` is called with bytes.

    `file` is a path, the folder of an unzipped archive, a file object or bytes. It is read with
    bounds, not mapped: one that others cut short meanwhile gives an error. `identity` is that of the only
    archive that is taken: the sha256 of its manifest is compared with it first, and then all is checked.

    Every problem is in the answer. Raises ArgumentError for a `file` of the wrong kind, ArchiveError
    where it is no archive at all, IdentityMismatchError for another than that of `identity`, OSError where
    it cannot be opened.

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
    if not isinstance(file, bytes | bytearray | memoryview):
        check_file("file", file, method="read")
    with (
        ArchiveReader(file, identity=identity, digests="crc", mmap=False) as reader,
        contextlib.ExitStack() as stack,
    ):
        checks: Mapping[str, EntryCheck] = {"check": _check_trace}
        if deep:
            from .deep_checks import Limits, ParsingProcess

            with contextlib.suppress(ArchiveError):  # a manifest that cannot be read is a problem below
                process = stack.enter_context(ParsingProcess(reader, Limits(memory, seconds), trust))
                checks = {
                    **checks,
                    "source": process.source,
                    "object": process.stored,
                    "extras": process.extras,
                    "migration": process.migrations,
                }
        return verify_reader(reader, checks=checks, progress=progress, all_named=deep)


def _check_trace(reader: ArchiveReader, entry: EntryRecord) -> None:
    """Read the trace of a golden call. Raises ArchiveError for what no exporter writes."""
    for record in reader.manifest.traces:
        if record.entry == entry.name:
            from .drifting import stored_trace  # few archives hold one

            stored_trace(reader, record.check)
