"""Proving an archive: a clean process is given its order and asked for its answer, or it is loaded here."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from packager.archive import ArchiveReader
from packager.environment import Distributions
from packager.errors import ArchiveError, PackageError
from packager.loading import BytecodeCache, PackagedCode, Unpacker, default_bytecode_cache, place_of
from packager.package_importer import PackageImporter
from packager.quick_dataclasses import replace

from .clean_process import CleanProcess, ProofStartError
from .coming_back import ComingBack
from .held_values import Held
from .messages import messages_in, read_message
from .proof import Proof, ProofFailure, ProofFrame, bytecode_in, plain_of
from .search_places import order_for

TIMEOUT: Final = 1800
"""Seconds that a proof may take; loading a large model with its frameworks takes one or two minutes."""

_SAID_LINES: Final = 5

Progress = Callable[[int, int], None]


def prove_archive(
    path: str | os.PathLike[str],
    *,
    modules: Sequence[str] = (),
    unread: Sequence[str] = (),
    unneeded: Collection[str] = (),
    unset: Collection[str] = (),
    unfound: Collection[str] = (),
    asked: Iterable[tuple[str, int, str]] = (),
    given: Mapping[str, Mapping[str, Held]] = MappingProxyType({}),
    installed: Distributions | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    process: CleanProcess | None = None,
) -> Proof:
    """Open the archive at `path` once in a clean process, and return what came back.

    There nothing of the project can be imported, stored packages are hidden, and the working directory is
    an empty folder. `modules` are imported; every object and state dict is loaded and, but for what a
    factory makes, encoded again; entry points are made, golden calls repeated; pickles are read, but for
    those among `unread`. Variables of the environment that are `unset` are not set there; code of the project
    does not find those that are `unfound`, and which it looks for is noted. Globals are compared, but for
    those among `unneeded`; so is what a factory makes with what `given` says of the object that was saved, by
    its package and resource. Of the lines of stored code that are `asked` about it is noted if they run. What
    runs nothing when it is loaded is loaded in this process. `installed` is what is installed here,
    `progress(done, total)` is called with steps, `timeout` is in seconds. A `process` that was started
    before is taken, where one that is started now would begin as it did; it is ended in any case.

    Where all came back, what was compiled there is kept for loads on this machine, unless Python keeps
    no compiled code here (`-B`).

    Whatever goes wrong there is in the answer, also where the process dies. Raises ProofStartError where
    it cannot be started, ArchiveError and OSError for an archive that cannot be read.

    >>> import os, tempfile
    >>> from packager import PackageExporter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "sizes.kellet")
    ...     with PackageExporter(file) as exporter:
    ...         exporter.save_object("model", "sizes", {"layers": [8, 8]})
    ...     proof = prove_archive(file)
    >>> proof.ok, proof.in_process, proof.steps
    (True, True, ('object: object model/sizes',))
    """
    file = os.path.abspath(path)
    kept = default_bytecode_cache()
    with contextlib.ExitStack() as ending:
        if process is not None:
            ending.callback(process.close)
        reader = ending.enter_context(ArchiveReader(file, digests="none"))
        if _runs_nothing(reader, modules):
            return _prove_here(file)
        if process is None or not process.fits(unset):
            process = ending.enter_context(contextlib.closing(CleanProcess(unset)))
        order = order_for(file, reader, tuple(modules), installed or Distributions(), unneeded)
        order = replace(order, unread=tuple(unread), asked=tuple(asked), given=dict(given))
        order = replace(order, variables=tuple(sorted({*unfound} - {*unset})), keeps=kept.keeps)
        total = _count_of_steps(reader, modules) + bool(order.held or order.settings)
        folder = process.folder
        ended = process.run(
            plain_of(order),
            timeout,
            lambda: progress and progress(_steps_begun(folder)[0], total),
        )
        answer = _answer(folder)
        if answer is not None and answer.ok:
            _keep_compiled(kept, reader, os.path.join(folder, "cache"))
        if answer is not None and progress is not None:
            progress(total, total)  # the last steps may be done sooner than anybody looks
        return answer or _died(folder, ended, timeout)


def _keep_compiled(kept: BytecodeCache, reader: ArchiveReader, cache: str) -> None:
    """Keep for loads on this machine what a proof has compiled and unpacked in its `cache`."""
    entries = [one for one in reader.manifest.entries if one.kind == "source"]
    sources = [(place_of(one.name), one.sha256) for one in entries if one.sha256]
    kept.take_over(bytecode_in(cache), sources)
    if kept.keeps:
        _unpack_for_loads(reader.name, os.path.join(cache, "code"))


def _unpack_for_loads(file: str, proofs: str) -> None:
    """Unpack for loads on this machine what the proof had to unpack, below `proofs`; it runs nothing.

    Out of the archive, and checked as a load does, since code of the proof may have written into its own.
    """
    with contextlib.suppress(OSError, ArchiveError), ArchiveReader(file, digests="crc") as reader:
        try:
            tops = os.listdir(os.path.join(proofs, reader.identity))
        except FileNotFoundError:
            return
        code = PackagedCode(reader)
        Unpacker(code, reader.identity).unpack_for_others(
            code.owned.intersection(one.removesuffix(".py") for one in tops)
        )


def _runs_nothing(reader: ArchiveReader, modules: Sequence[str]) -> bool:
    """Say whether loading all of an archive runs no code and needs no name: plain data, tensors, texts."""
    manifest = reader.manifest
    named = any(record.types or record.factory for record in manifest.objects)
    pickled = any(entry.kind == "pickle" for entry in manifest.entries)
    return not (named or pickled or modules or manifest.checks)


def _prove_here(file: str) -> Proof:
    """Load plain data, tensors and texts in this process."""
    with PackageImporter(file, environment="ignore", digests="none", bytecode=None) as importer:
        coming_back = ComingBack(importer)
        done, failures = [], []
        for step in coming_back.steps():
            done.append(f"{step.kind}: {step.subject}")
            try:
                step.run()
            except PackageError as error:
                failures.append(ProofFailure(step.kind, step.subject, str(error)))
    return Proof(tuple(done), tuple(failures), notes=tuple(coming_back.notes), in_process=True)


def _count_of_steps(reader: ArchiveReader, modules: Sequence[str]) -> int:
    manifest = reader.manifest
    pickles = sum(entry.kind == "pickle" for entry in manifest.entries)
    return len(modules) + len(manifest.objects) + len(manifest.state_dicts) + pickles + len(manifest.checks)


def _answer(folder: str) -> Proof | None:
    """Return the answer, None where the process ended without one."""
    found = read_message(os.path.join(folder, "answer"))
    return None if found is None else Proof.of_plain(found)


def _died(folder: str, code: int | None, timeout: float) -> Proof:
    """Return the proof of a process that ended before its answer: what it was at, and how it ended.

    Raises ProofStartError where it had not come to a step.
    """
    number, kind, subject = _steps_begun(folder)
    said = _said(folder)
    if not number:
        raise ProofStartError(
            f"the process ended before it began (exit code {code}): {said or 'it said nothing'}"
        )
    ended = read_message(os.path.join(folder, "ended"))
    place = ProofFrame(**ended["place"]) if ended and ended["place"] else _crashed_at(folder)
    frames = () if place is None else (place,)
    if code is None:
        how = f"the process had not ended after {timeout:g} seconds"
    elif code < 0:
        how = f"signal {-code} ({_name_of_signal(-code)}) ended the process"
    elif ended is not None:
        how = f"{ended['how']} ended the process"
    else:
        how = f"the process ended with exit code {code}"
    message = f"{how} ({kind})" + (f"; it said: {said}" if said else "")
    return Proof(failures=(ProofFailure("died", subject, message, frames),))


def _crashed_at(folder: str) -> ProofFrame | None:
    """Return the innermost line of the archive's code that was running when a signal came, as far as said."""
    from .watching import CodePlaces  # most processes come to their end

    places = CodePlaces(os.path.join(folder, "cache", "code"))
    try:
        with open(os.path.join(folder, "crash"), encoding="utf-8", errors="replace") as crash:
            found = [re.fullmatch(r'  File "(.+)", line (\d+) in (.+)', line.rstrip("\n")) for line in crash]
    except FileNotFoundError:
        return None
    for match in filter(None, found):
        if entry := places.entry_of(match[1]):
            return ProofFrame(entry, int(match[2]), match[3], stored=True)
    return None


def _steps_begun(folder: str) -> tuple[int, str, str]:
    """Return how many steps have begun, and the kind and the subject of the last one."""
    steps = messages_in(os.path.join(folder, "steps"))
    if not steps:
        return 0, "", ""
    kind, subject = steps[-1]
    return len(steps), kind, subject


def _said(folder: str) -> str:
    """Return the last lines that a process printed, for people."""
    lines: list[str] = []
    for name in ("said", "crash"):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, name), "rb") as file:
            lines += file.read().decode("utf-8", "replace").strip().splitlines()[-_SAID_LINES:]
    return " | ".join(line.strip() for line in lines)


def _name_of_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown here"
