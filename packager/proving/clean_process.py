"""The clean process as the exporting one sees it: started, kept waiting, told its orders, asked and ended.

It is a process of its own, never one of multiprocessing: that would run the script again. Where the system
lets a process inherit pipes, it may be started before there is anything to prove: it imports what it begins
with, beside the work of the export, and waits. Each order is a run in a fork of it, so that no run sees what
another one did. It only imports: a process that has computed may hang once it is forked. Where there is no
such fork, a process does one order, and the next one starts another process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from packager.atomic import TemporaryFolder
from packager.errors import PackageError
from packager.process import python_here

from .clean_environment import standard_folders
from .line import PipeLines, SocketLines, answer
from .messages import add_message, write_message
from .search_places import own_folders, path_here, places_of, places_of_ours

_INTERVAL: Final = 0.05
_UNUSED: Final = "PYTHON"
"""How the variables begin that say how an interpreter starts: this one is started as we say."""
_KEPT: Final = "PYTHONHOME"
"""The one of them without which a Python that was moved does not find its standard library."""
_LAST_STANDARD: Final = 2
"""The highest number of a standard stream."""
CAN_WAIT = hasattr(os, "killpg")
"""Whether a process can be handed pipes that are neither its input nor its output, and sockets with names."""
CAN_FORK = CAN_WAIT and sys.platform != "darwin"
"""Whether a run is a fork: on macOS importing NumPy computes, with threads that a fork has not."""

Answer = Callable[[Any], Any]
"""Gives the answer to a question: plain data for plain data."""


class ProofStartError(PackageError, RuntimeError):
    """The clean process cannot be started, so that nothing was proved."""


class CleanProcess:
    """A clean process that has been started, and does orders; it ends with `close()` at the latest.

    It also ends with the last reference to this object, and with the process that started it, however
    that ends. Nothing of it stays: neither a process nor its folder. Raises ProofStartError where it cannot
    be started.
    """

    def __init__(
        self,
        *,
        loads_objects: bool = False,
        hash_seed: int = 0,
    ) -> None:
        """Start it. With `loads_objects` it imports at once what loading any object of a class imports."""
        self._hash_seed = hash_seed
        self._began_with = _environment_here(hash_seed)
        self._python = python_here()
        self._places = own_folders()
        if not self._python:
            raise ProofStartError(f"sys.executable is {sys.executable!r}, which is no Python to be started")
        with _told("there is no folder for temporary files (TMPDIR)"):
            self._holder = TemporaryFolder("proving")
        self.folder = self._root = os.path.realpath(self._holder.path)
        self._pipes: list[int] = []
        self._children: list[subprocess.Popen[bytes]] = []
        # Before anything is made, so that nothing is left, whatever comes in between.
        self._finalizer = weakref.finalize(
            self, _end_all, self._children, self._pipes, self._holder.close, os.getpid()
        )
        self._order = self._ended = -1
        self._runs = 0
        self._imported: list[str] = []
        self._waiting: dict[str, Any] = {"loads_objects": loads_objects, "forks": CAN_FORK}
        try:
            with _told(f"{self._python} cannot be started"):
                self._start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process, and what it has started and left behind; remove its folder."""
        self._finalizer()

    def fits(self) -> bool:
        """Say whether it waits for an order as one would that is started now."""
        return (
            self._order >= 0
            and self._children[-1].poll() is None
            and self._began_with == _environment_here(self._hash_seed)
            and (self._python, self._places) == (python_here(), own_folders())
            and os.path.isdir(os.path.join(self._root, "work"))  # nobody has cleared the temporary files
        )

    def import_early(self, *names: str) -> None:
        """Let it import modules of the environment while it waits: each of its runs finds them imported.

        A run of an archive that stores one of them, or finds it elsewhere, begins anew without.
        """
        names = tuple(name for name in names if name not in self._imported)
        if self._order < 0 or not names:
            return
        self._imported += names
        path = path_here()
        tops = {name.partition(".")[0] for name in names}
        places = {**places_of_ours(path), **places_of(tops, path)}
        self._tell({"import": names, "path": path, "places": places})

    @property
    def has_imported(self) -> bool:
        """Whether it has imported anything early, of which stored code could tell."""
        return bool(self._imported) or "module" in self._waiting

    def anew(self, hash_seed: int | None = None) -> CleanProcess:
        """Return another process, which has imported nothing early."""
        return CleanProcess(hash_seed=self._hash_seed if hash_seed is None else hash_seed)

    def run(
        self,
        order: Mapping[str, Any],
        timeout: float,
        tell: Callable[[], Any],
        answered: Answer | None = None,
    ) -> int | None:
        """Hand it an order, and wait for the end of that run; return its exit code, None if it took too long.

        Its questions are answered by `answered`; what that raises ends the process. `tell` is called every
        now and then. What the run did is in files of `folder`, which is another one for each run.
        """
        deadline = time.monotonic() + timeout
        with _told(f"{self._python} cannot be started"):
            begun = self._begin_run(dict(order), asks=answered is not None)
        with contextlib.closing(begun) as lines:
            try:
                while time.monotonic() < deadline:
                    with _told("what a run asks cannot be heard"):
                        asked = [*lines.questions(_INTERVAL)]
                    for number, told, question in asked:
                        assert answered is not None
                        answer(number, told, answered(question))
                    code = self._exit_code(lines)
                    if code is not None:
                        return code
                    tell()
            except BaseException:
                self._end_process()
                raise
            self._end_process()
        return None

    def _begin_run(self, order: dict[str, Any], *, asks: bool) -> SocketLines | PipeLines:
        """Give a run its folder and its order, and let it begin."""
        self._runs += 1
        self.folder = os.path.join(self._root, f"{self._runs}")
        for name in ("work", "temporary", "cache"):
            os.makedirs(os.path.join(self.folder, name), mode=0o700, exist_ok=True)
        address = os.path.join(self.folder, "cache", "line")
        order["line"] = (address if CAN_WAIT else "pipe") if asks else ""
        write_message(os.path.join(self.folder, "order"), order)
        if not CAN_WAIT:
            return PipeLines(self._begin({}))
        if self._order < 0:
            self._start()
        with _told("there can be no socket in the folder for temporary files (TMPDIR)"):
            lines = SocketLines(address if asks else "", self._ended)
        self._tell({"run": self.folder})
        return lines

    def _tell(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError), open(self._order, "wb", closefd=False) as order:
            add_message(order, message)  # where it has ended, its exit code says how

    def _exit_code(self, lines: SocketLines | PipeLines) -> int | None:
        """Return the exit code of a run that has ended, else None."""
        child = self._children[-1]
        if isinstance(lines, SocketLines) and self._ended >= 0 and lines.is_ready(self._ended):
            said = os.read(self._ended, 16)
            if said:
                return int(said)
            lines.ignore(self._ended)  # the process has ended, or closed it
            self._forget(self._ended)
            self._ended = -1
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_INTERVAL)
        code = child.poll()
        if code is not None:
            self._end_process()
        return code

    def _end_process(self) -> None:
        """End the process, and what it left behind; the next order starts another one."""
        while self._children:
            _end(self._children[-1])
            self._children.pop()
        for number in (self._order, self._ended):
            if number >= 0:
                self._forget(number)
        self._order = self._ended = -1
        self._imported = []

    def _forget(self, number: int) -> None:
        self._pipes.remove(number)
        os.close(number)

    def _start(self) -> None:
        for name in ("work", "temporary"):
            os.makedirs(os.path.join(self._root, name), exist_ok=True)
        if not CAN_WAIT:
            return  # it is started with its order
        order, self._order = self._pipe()
        self._ended, ended = self._pipe()
        self._begin({"order": order, "ended": ended, "parent": os.getpid(), **self._waiting})
        for number in (order, ended):
            self._forget(number)

    def _pipe(self) -> tuple[int, int]:
        """Make a pipe, none of whose ends is a standard stream: those are others in the process."""
        low: list[int] = []
        try:
            while True:  # once, but for where this process has closed its standard streams
                made = os.pipe()
                if min(made) > _LAST_STANDARD:
                    self._pipes += made
                    return made
                low += made
        finally:
            for number in low:
                os.close(number)

    def _begin(self, waiting: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """Start the process. Behind Python's own folders ours are first on its path."""
        folder = self._root if waiting else self.folder
        program = (
            f"import sys; sys.path[:0] = {[*standard_folders(), *self._places]!r}\n"
            "from packager.proving.proof_process import main\n"
            f"main({folder!r}, **{waiting!r})\n"
        )
        environment = dict(self._began_with)
        environment["KELLET_CACHE"] = os.path.join(folder, "cache")
        environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), os.path.join(folder, "temporary"))
        # Windows knows no such argument, not even an empty one.
        pipes: dict[str, Any] = {"pass_fds": (waiting["order"], waiting["ended"])} if waiting else {}
        with open(os.path.join(folder, "said"), "wb") as said:
            self._children.append(
                subprocess.Popen(
                    [self._python, "-s", "-P", "-c", program],
                    stdin=subprocess.DEVNULL if waiting else subprocess.PIPE,
                    stdout=said if waiting else subprocess.PIPE,
                    stderr=said,
                    cwd=os.path.join(folder, "work"),
                    env=environment,
                    start_new_session=True,
                    **pipes,
                )
            )
        return self._children[-1]


def _environment_here(hash_seed: int) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(_UNUSED)}
    kept = {} if sys.flags.ignore_environment or _KEPT not in os.environ else {_KEPT: os.environ[_KEPT]}
    return {**plain, **kept, "PYTHONHASHSEED": str(hash_seed)}


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Let what the system refuses be told as the reason why nothing is proved."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise ProofStartError(f"{what}: {error}") from error


def _end_all(
    children: list[subprocess.Popen[bytes]], pipes: list[int], remove: Callable[[], Any], owner: int
) -> None:
    """End what was started, close its pipes, remove its folder; a forked child closes the pipes alone."""
    while pipes:
        with contextlib.suppress(OSError):
            os.close(pipes.pop())
    if os.getpid() != owner:
        return
    try:
        for child in children:
            _end(child)
    finally:
        remove()


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process, and what it has started and left behind."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):  # all have ended
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()
