"""The clean process as the exporting one sees it: started, kept waiting, told of runs, heard and ended.

It is a process of its own, never one of multiprocessing: that would run the script again. It may be started
before there is anything to prove: it imports what it begins with, beside the work of the export, and waits.
Each run is a fork of it, so that no run sees what another one did. It only imports: a process that has
computed may hang once it is forked. Where there is no such fork, a process does one run.
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

from packager._atomic import TemporaryFolder
from packager._process import python_here
from packager.errors import PackageError

from .line import Listener, packed
from .search_places import own_folders, path_here, places_of, standard_folders

_INTERVAL: Final = 0.05
MOST_TO_BEGIN: Final = 60
"""Seconds in which a process that was started has to ask for its order."""
_UNUSED: Final = "PYTHON"
"""How the variables begin that say how an interpreter starts: this one is started as we say."""
_KEPT: Final = "PYTHONHOME"
"""The one of them without which a Python that was moved does not find its standard library."""
CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
"""Whether a run is a fork: on macOS importing NumPy computes, with threads that a fork has not."""


class ProofStartError(PackageError, RuntimeError):
    """The clean process cannot be started, so nothing was proved."""


class CleanProcess:
    """A clean process that has been started, and does runs; it ends with `close()` at the latest.

    It also ends with the last reference to this object, and with the process that started it, however
    that ends. Nothing of it stays: neither a process nor its folder. `imported` are the modules that it was
    told to import early, of which stored code could tell. Raises ProofStartError where it cannot be started.
    """

    def __init__(self, *, hash_seed: int = 0) -> None:
        self._hash_seed = hash_seed
        self._began_with = self._environment_here()
        self._python = python_here()
        self._places = own_folders()
        if not self._python:
            raise ProofStartError(
                f"sys.executable is {sys.executable!r}, not a Python interpreter that can be started"
            )
        with _told("no folder for temporary files can be made (TMPDIR)"):
            self._holder = TemporaryFolder("proving")
        self.folder = self._root = os.path.realpath(self._holder.path)
        self._children: list[subprocess.Popen[bytes]] = []
        # Before anything is made, so that nothing is left, whatever comes in between.
        self._finalizer = weakref.finalize(self, _end_all, self._children, self._holder.close, os.getpid())
        self._runs = 0
        self.imported: list[str] = []
        try:
            with _told("no socket can be made in the folder for temporary files (TMPDIR)"):
                self._line = Listener(self._root)
            weakref.finalize(self, self._line.close)
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
            bool(self._children)
            and self._children[-1].poll() is None
            and self._began_with == self._environment_here()
            and (self._python, self._places) == (python_here(), own_folders())
            and os.path.isdir(os.path.join(self._root, "work"))  # nobody has cleared the temporary files
        )

    def import_early(self, *names: str) -> None:
        """Let it import modules of the environment while it waits: each of its runs finds them imported.

        A run of an archive that stores one of them, or finds it elsewhere, begins anew without.
        """
        names = tuple(name for name in names if name not in self.imported)
        if self._children and names:
            self.imported += names
            path = path_here()
            places = places_of({name.partition(".")[0] for name in names}, path)
            self._tell({"import": names, "path": path, "places": places})

    def anew(self, hash_seed: int | None = None) -> CleanProcess:
        """Return another process, which has imported nothing early."""
        return CleanProcess(hash_seed=self._hash_seed if hash_seed is None else hash_seed)

    def run(self, hear: Callable[[Any], Any], timeout: float) -> int | None:
        """Begin a run, and wait for its end; return its exit code, None if it took too long.

        `hear` answers what the run says; what that raises ends the process. What the run printed is in
        `folder`, which is another one for each run.
        """
        begun = now = time.monotonic()
        ended: list[int] = []
        is_heard = False

        def heard(message: Any) -> Any:
            nonlocal is_heard
            is_heard = True
            return ended.append(message["ended"]) if isinstance(message, dict) else hear(message)

        self._begin_run()
        try:
            while now - begun < (timeout if is_heard else min(timeout, MOST_TO_BEGIN)):
                with _told("the clean process does not connect"):
                    connection = self._line.wait(_INTERVAL)
                if connection is not None:
                    self._line.hear(connection, heard)
                code = ended[0] if ended else self._children[-1].poll()
                if code is not None:
                    if not ended:
                        self._end_process()
                    return code
                now = time.monotonic()
        except BaseException:
            self._end_process()
            raise
        self._end_process()
        return None

    def _begin_run(self) -> None:
        """Give a run its folder, and let it begin."""
        self._runs += 1
        self.folder = os.path.join(self._root, f"{self._runs}")
        with _told(f"{self._python} cannot be started"):
            for name in ("work", "temporary", "cache"):
                os.makedirs(os.path.join(self.folder, name), mode=0o700)
        if not self._children:
            self._start()
        self._line.begin()
        self._tell({"run": self.folder, "token": self._line.token})

    def _tell(self, message: Mapping[str, Any]) -> None:
        order = self._children[-1].stdin
        assert order is not None
        with contextlib.suppress(BrokenPipeError):  # where it has ended, its exit code says how
            order.write(packed(message))

    def _end_process(self) -> None:
        """End the process, and what it left behind; the next run starts another one."""
        while self._children:
            _end(self._children[-1])
            self._children.pop()
        self.imported = []

    def _start(self) -> None:
        """Start the process. Behind Python's own folders ours are first on its path."""
        program = (
            f"import sys; sys.path[:0] = {[*standard_folders(), *self._places]!r}\n"
            "from packager._proving.proof_process import main\n"
            f"main({self._line.address!r}, {os.getpid()}, forks={CAN_FORK})\n"
        )
        environment = dict(self._began_with)
        environment["KELLET_CACHE"] = os.path.join(self._root, "cache")
        environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), os.path.join(self._root, "temporary"))
        with _told(f"{self._python} cannot be started"):
            for name in ("work", "temporary"):
                os.makedirs(os.path.join(self._root, name), exist_ok=True)
            with open(os.path.join(self._root, "said"), "wb") as said:
                self._children.append(
                    subprocess.Popen(
                        [self._python, "-s", "-P", "-c", program],
                        stdin=subprocess.PIPE,
                        stdout=said,
                        stderr=said,
                        bufsize=0,
                        cwd=os.path.join(self._root, "work"),
                        env=environment,
                        start_new_session=True,
                    )
                )

    def _environment_here(self) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(_UNUSED)}
        if not sys.flags.ignore_environment and _KEPT in os.environ:
            plain[_KEPT] = os.environ[_KEPT]
        return {**plain, "PYTHONHASHSEED": str(self._hash_seed)}


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Let what the system refuses be told as the reason why nothing is proved."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise ProofStartError(f"{what}: {error}") from error


def _end_all(children: list[subprocess.Popen[bytes]], remove: Callable[[], Any], owner: int) -> None:
    """End what was started, and remove its folder; a forked child closes the pipes alone."""
    is_owner = os.getpid() == owner
    try:
        for child in children:
            _end(child, kills=is_owner)
    finally:
        if is_owner:
            remove()


def _end(child: subprocess.Popen[bytes], *, kills: bool = True) -> None:
    """End a process, and what it has started and left behind."""
    if child.stdin is not None:
        child.stdin.close()
    if not kills:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):  # all have ended, or the child has no group of its own yet
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    child.wait()
