"""Verifying an archive in depth: sources and stored objects are parsed, and nothing of it is run.

A parser that reads hostile input may run out of memory, of time or of its stack, whatever was checked
before. So in depth sources and stored objects are handed, byte by byte checked, to a child process
(`parsing_process.py`) whose memory and time are limited: when it dies,
the entry that it was reading is named, and another goes on with the rest.

Data alone is built there as well, and encoded again: another spelling of the same table is told.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from packager._archive import ArchiveReader, EntryRecord, ObjectRecord, TensorReader, storages_of
from packager._audit import Trust
from packager._quick_dataclasses import dataclass
from packager._state_dicts import EXTRA
from packager.errors import ArchiveError

from .packaged_code import PackagedCode
from .stored_objects import require_factory_allowed
from .stored_states import called_factory, names_listed, trust_context_of


class ParsingError(ArchiveError):
    """An entry whose content cannot be parsed; the message names it, and the line where it has lines."""


class ParsingLimitError(ParsingError):
    """An entry that was not parsed within the limits, or that killed the process which parsed it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What parsing may cost: bytes of memory, beyond what an idle Python takes, and seconds in all.

    Where the system cannot limit the memory of a process (Windows, macOS), only the time is.
    """

    memory: int
    seconds: float


class ParsingProcess:
    """Checks entries of an open archive by parsing them in a child process; use it with `with`.

    `source`, `stored`, `extras` and `migrations` are checks for `packager._archive.verify`. Each raises
    ParsingError for what is wrong, ParsingLimitError for what was too much.
    """

    def __init__(self, reader: ArchiveReader, limits: Limits, trust: Any = ()) -> None:
        self._limits = limits
        self._trust = tuple(trust)
        Trust(self._trust)  # what is wrong with it is the caller's, and not for the child to find
        self._child: subprocess.Popen[bytes] | None = None
        self._deadline = time.monotonic() + limits.seconds
        code = PackagedCode(reader)
        self._trust_context = trust_context_of(reader, code)
        self._settings = {
            "memory": limits.memory,
            "trust": self._trust,
            "interned": [name for name in code.modules if self._trust_context.interned(name)],
            "externs": sorted(self._trust_context.externs),
            "distributions": dict(self._trust_context.distributions),
        }
        manifest = reader.manifest
        self._objects = {record.entry: record for record in manifest.objects}
        self._states = {record.extras: record for record in manifest.state_dicts if record.extras}

    def source(self, reader: ArchiveReader, entry: EntryRecord) -> None:
        """Compile a source, and throw the code away."""
        self._parse(reader, entry, {"kind": "source"})

    def stored(self, reader: ArchiveReader, entry: EntryRecord) -> None:
        """Read the records of a stored object, and audit their names, which the manifest must list."""
        record, what = self._objects.get(entry.name), f"entry {entry.name!r}"
        tensors, factory, listed, called = None, "", None, set[tuple[str, str]]()
        if record is not None:
            what = f"object {record.package}/{record.resource}"
            tensors = None if record.tensors is None else TensorReader(reader, record.tensors)
            listed, called = names_listed(record), called_factory(record)
            if record.factory is not None:
                require_factory_allowed(record.factory, self._trust_context, self._trust)
                factory = record.factory.partition(":")[0]
        order: dict[str, Any] = {"kind": "object", "what": what, "storages": storages_of(tensors)}
        order |= {"factory": factory, "listed": listed, "called": list(called)}
        self._parse(reader, entry, order)
        if record is not None and not self._is_beside_code(record):
            self._encode_again(reader, entry, order, tensors)

    def extras(self, reader: ArchiveReader, entry: EntryRecord) -> None:
        """Read the records beside a state dict, and audit the names in them."""
        record, tensors = self._states.get(entry.name), None
        if record is not None:
            tensors = TensorReader(reader, record.entry)
        order = {"kind": "extras", "what": f"entry {entry.name!r}", "storages": storages_of(tensors, EXTRA)}
        self._parse(reader, entry, order)
        if record is not None:
            self._encode_again(reader, entry, order, tensors, EXTRA)

    def migrations(self, reader: ArchiveReader, entry: EntryRecord) -> None:
        """Read stored migrations."""
        self._parse(reader, entry, {"kind": "migration"})

    def close(self) -> None:
        """End the child process."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    _close_quietly(stream)
            child.wait()

    def __enter__(self) -> ParsingProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _is_beside_code(self, record: ObjectRecord) -> bool:
        names = [use.name.partition(":")[0] for use in record.types]
        names += [] if record.factory is None else [record.factory.partition(":")[0]]
        return self._trust_context.for_object(names).allows_code

    def _encode_again(
        self,
        reader: ArchiveReader,
        entry: EntryRecord,
        order: dict[str, Any],
        tensors: TensorReader | None,
        prefix: str = "",
    ) -> None:
        """Let data be built and encoded again, where its tensors are no more than the memory allowed."""
        sizes = {name: nbytes for name, (_, nbytes) in order["storages"].items()}
        if sum(sizes.values()) > self._limits.memory:
            return
        buffers: list[memoryview] = []
        if tensors is not None:
            buffers = [tensors.storage(tensors[prefix + name].storage) for name in sizes]
        order = {**order, "again": [[name, one.nbytes] for name, one in zip(sizes, buffers, strict=True)]}
        self._parse(reader, entry, order, *buffers)

    def _parse(
        self, reader: ArchiveReader, entry: EntryRecord, order: dict[str, Any], *more: memoryview
    ) -> None:
        if entry.size > self._limits.memory:
            raise ParsingLimitError(
                f"entry {entry.name!r}: {entry.size} bytes to parse; {self._limits.memory} bytes of memory "
                "are allowed: allow more, if you trust where it comes from"
            )
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise ParsingLimitError(
                f"entry {entry.name!r}: not parsed, as entries before it took the "
                f"{self._limits.seconds:g} seconds that are allowed for all"
            )
        child = self._running()
        timer = threading.Timer(left, child.kill)
        timer.start()
        try:
            order = {**order, "name": entry.name, "size": entry.size}
            answer = _ask(child, order, reader.view(entry.name), *more)
        finally:
            timer.cancel()
        if not answer.endswith(b"\n"):
            raise self._died(entry.name)
        problem = json.loads(answer)
        if problem is not None:
            raise ParsingError(problem)

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the child, started anew where the one before has died."""
        if self._child is None:
            self._child = child = _started()
            _send(child, json.dumps(self._settings).encode() + b"\n")
            if child.stdout is None or child.stdout.readline() != b"ready\n":
                raise RuntimeError(
                    f"{sys.executable} cannot be started to parse in: exit code {child.wait()}"
                )
        return self._child

    def _died(self, name: str) -> ParsingLimitError:
        """Say of what the child died while it parsed an entry."""
        from .parsing_process import OUT_OF_MEMORY

        assert self._child is not None
        child = self._child
        code = child.wait()
        self.close()
        if time.monotonic() >= self._deadline:
            found = f"was not parsed within the {self._limits.seconds:g} seconds allowed"
        elif code == OUT_OF_MEMORY:
            found = f"takes more than the {self._limits.memory} bytes of memory allowed to parse"
        else:
            found = f"ended the process that parsed it (exit code {code})"
        return ParsingLimitError(
            f"entry {name!r}: it {found}. Do not load it, unless you know where it comes from; then allow "
            "more: kellet verify FILE --deep --memory 4096 --seconds 600"
        )


def _started() -> subprocess.Popen[bytes]:
    """Start a process of this Python with this `sys.path`, whatever the folder that it starts in.

    Without site, so that nothing runs which lies beside installed packages. An editable install may be
    found by its .pth alone: our own packages are looked for where they were found here.
    """
    path = [*dict.fromkeys([*sys.path, *_own_folders()])]
    program = (
        f"import sys; sys.path[:] = {path!r}\nfrom packager._loading.parsing_process import main; main()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _own_folders() -> list[str]:
    """Return the folders that kellet and packager lie in."""
    specs = [find_spec(name) for name in ("packager", "kellet")]
    folders = [folder for spec in specs if spec for folder in spec.submodule_search_locations or ()]
    return [os.path.dirname(os.path.abspath(folder)) for folder in folders]


def _ask(child: subprocess.Popen[bytes], order: dict[str, Any], *contents: memoryview) -> bytes:
    """Send one order; its answer is a line, and cut short where the child has died."""
    _send(child, json.dumps(order).encode() + b"\n", *contents)
    assert child.stdout is not None
    return child.stdout.readline()


def _send(child: subprocess.Popen[bytes], *parts: bytes | memoryview) -> None:
    """Write to a child that may have died: then the answer will say so."""
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        for part in parts:
            child.stdin.write(part)
        child.stdin.flush()


def _close_quietly(stream: Any) -> None:
    with contextlib.suppress(BrokenPipeError):
        stream.close()
