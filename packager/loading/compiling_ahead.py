"""Compiling all code of an archive before it is imported, side by side where cores are free.

Compiling holds Python's lock, so threads gain nothing: other processes of this Python compile a share each,
of sources that they are sent, and send back what goes into the cache. None of it is run anywhere. Such a
process is started by `compile_all` alone and never by an import: one that appears behind an `import` would
surprise whoever counts processes, and compete with other workers that import the same.
"""

from __future__ import annotations

import marshal
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from packager.archive import ArchiveIOError, ArchiveReader, thread_count
from packager.errors import PackageError
from packager.process import python_here, syntax_unwarned

from .bytecode import BytecodeCache, basis, place_of
from .compiling_process import Sources, compiled_here

if TYPE_CHECKING:
    import subprocess

_WORTH_A_PROCESS: Final = 150_000
"""Bytes of source that take about as long to compile as a process takes to start, and twice as long again."""


class NothingKeptError(PackageError, RuntimeError):
    """Code cannot be compiled for later loads, as nothing is kept for them."""


def compile_ahead(reader: ArchiveReader, cache: BytecodeCache, workers: int | None, what: str) -> int:
    """Compile every source of an archive that `cache` lacks; return how many were compiled and kept.

    `workers` processes share the work, this one among them; None takes as many as there are cores, four at
    most, and no more than the sources are worth. A source that does not compile is left to the import.

    Raises NothingKeptError where the cache is switched off, ArchiveIOError where it cannot be written, and
    ArchiveError for sources that are not as the manifest says.
    """
    if cache.folder is None:
        raise NothingKeptError(
            f"{what}: no compiled code is kept, as the importer was opened with bytecode=None, no home "
            "folder is known, or the cache is open to others; open it with bytecode=FOLDER"
        )
    places: defaultdict[str, set[str]] = defaultdict(set)  # the same source may lie in several folders
    names: dict[str, str] = {}
    for entry in reader.manifest.entries:
        if entry.kind == "source" and entry.sha256:
            place = place_of(entry.name)
            if not cache.has(entry.sha256, place):
                places[entry.sha256].add(place)
                names[entry.sha256] = entry.name
    sources = [(digest, reader.read(name)) for digest, name in names.items()]
    with syntax_unwarned():
        compiled = dict(_compiled(sources, _count(sources, workers)))
    by_place: defaultdict[str, list[tuple[str, bytes]]] = defaultdict(list)
    for digest in filter(compiled.__contains__, names):  # in the order of the archive, whoever was first
        for place in places[digest]:
            by_place[place].append((digest, compiled[digest]))
    for place, codes in by_place.items():
        try:
            cache.keep(place, codes)
        except OSError as error:
            raise ArchiveIOError(
                f"{what}: compiled code cannot be kept in {cache.folder}: {error}; set KELLET_CACHE to a "
                "folder that can be written",
                error,
                cache.folder,
            ) from error
    return len(compiled)


def _count(sources: Sources, workers: int | None) -> int:
    """Return how many processes are to share the sources."""
    if not _can_start():
        return 1
    if workers is not None:
        return max(1, min(workers, len(sources)))
    size = sum(len(source) for _, source in sources)
    return max(1, min(thread_count(), size // _WORTH_A_PROCESS))


def _can_start() -> bool:
    """Say whether there is a Python that can be started, and this process may have children."""
    processes = sys.modules.get("multiprocessing.process")
    is_daemon = processes is not None and processes.current_process().daemon
    return bool(python_here()) and not is_daemon and sys.platform not in ("emscripten", "wasi")


def _compiled(sources: Sources, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield the packed code of sources by their digests, without those that do not compile."""
    own, *others = _shares(sources, count)
    helpers = [_Helper(share) for share in others]
    try:
        yield from compiled_here(own)
        for helper in helpers:
            answer = helper.answer()
            if answer is None:  # it could not be started, or has died: what it was to do is done here
                yield from compiled_here(helper.share)
            else:
                yield from answer.items()
    finally:
        for helper in helpers:
            helper.end()


def _shares(sources: Sources, count: int) -> list[Sources]:
    """Divide sources into shares of about the same size."""
    shares: list[Sources] = [[] for _ in range(count)]
    sizes = [0] * count
    for digest, source in sorted(sources, key=lambda one: -len(one[1])):
        least = sizes.index(min(sizes))
        shares[least].append((digest, source))
        sizes[least] += len(source)
    return shares


class _Helper:
    """Another process of this Python, which compiles a share while this one compiles its own."""

    def __init__(self, share: Sources) -> None:
        self.share = share
        self._child: subprocess.Popen[bytes] | None = None
        self._answered = b""
        try:
            self._child = _started()
        except (OSError, ValueError):
            return
        self._thread = threading.Thread(target=self._talk, daemon=True)
        self._thread.start()

    def answer(self) -> Mapping[str, bytes] | None:
        """Wait for it; return packed code by digests, None where it ended badly or is another Python."""
        if self._child is None:
            return None
        self._thread.join()
        if self._child.wait() != 0:
            return None
        try:
            of_python, answer = marshal.loads(self._answered)
        except (EOFError, ValueError, TypeError):
            return None
        asked = {digest for digest, _ in self.share}
        is_whole = of_python == basis() and type(answer) is dict and answer.keys() <= asked
        return answer if is_whole else None

    def end(self) -> None:
        """End the process, where it has not ended."""
        if self._child is not None:
            self._child.kill()
            self._thread.join()
            self._child.wait()

    def _talk(self) -> None:
        assert self._child is not None
        try:
            self._answered = self._child.communicate(marshal.dumps(self.share))[0]
        except OSError:  # a broken pipe: it has died
            self._answered = b""


def _started() -> subprocess.Popen[bytes]:
    """Start a process of this Python, without site and its `.pth` files, that compiles for the same level."""
    import subprocess

    levels = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    program = (
        f"import sys; sys.path.insert(0, {own!r})\n"
        "from packager.loading.compiling_process import main; main()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-I", "-S", *levels, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
