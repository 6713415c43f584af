"""The clean process as the exporting one sees it: started, kept waiting, told its order, watched and ended.

It is a process of its own, never one of multiprocessing: that would run the script again. Where the system
lets a process inherit pipes, it may be started before there is anything to prove: it imports what it begins
with, beside the work of the export, and waits. What it is and finds is the same: its order comes before it
touches the environment, its path or an archive.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from packager.atomic import TemporaryFolder
from packager.errors import PackageError

from .messages import write_message
from .search_places import own_folders, path_here, places_of_ours

_INTERVAL: Final = 0.05
_UNUSED: Final = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
_LAST_STANDARD: Final = 2
"""The highest number of a standard stream."""
_CAN_WAIT: Final = hasattr(os, "killpg")
"""Whether a process can be handed pipes that are neither its input nor its output."""


class ProofStartError(PackageError, RuntimeError):
    """The clean process cannot be started, so that nothing was proved."""


class CleanProcess:
    """A clean process that has been started, and does one order; it ends with `close()` at the latest.

    It also ends with the last reference to this object, and with the process that started it, however
    that ends. Nothing of it stays: neither a process nor its folder. Variables of the environment that are
    `unset` are not set there. Raises ProofStartError where it cannot be started, OSError where it can have no
    folder.
    """

    def __init__(
        self, unset: Collection[str] = (), *, loads_objects: bool = False, of: type | None = None
    ) -> None:
        """Start it. With `loads_objects` it imports at once what loading any object of a class imports.

        Where the first object is `of` a class, it goes on to import what the class's module begins with of
        NumPy and kellet, until it has its order; if that turns out to have been too early, it begins anew.
        """
        self._began_with = _environment_here(unset)
        self._python = sys.executable
        self._places = own_folders()
        self._holder = TemporaryFolder("proving")
        self.folder = self._holder.path
        self._pipes: list[int] = []
        self._children: list[subprocess.Popen[bytes]] = []
        # Before anything is made, so that nothing is left, whatever comes in between.
        self._finalizer = weakref.finalize(
            self, _end_all, self._children, self._pipes, self._holder.close, os.getpid()
        )
        self._order = self._ended = -1
        waiting: dict[str, Any] = {"loads_objects": loads_objects}
        if loads_objects and of is not None:
            waiting |= _first_of(of)
        try:
            self._start(waiting)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process, and what it has started and left behind; remove its folder."""
        self._finalizer()

    def fits(self, unset: Collection[str]) -> bool:
        """Say whether it waits for an order as one would that is started now."""
        return (
            self._order >= 0
            and self._children[0].poll() is None
            and self._began_with == _environment_here(unset)
            and (self._python, self._places) == (sys.executable, own_folders())
            and os.path.isdir(os.path.join(self.folder, "work"))  # nobody has cleared the temporary files
        )

    def run(self, order: Mapping[str, Any], timeout: float, tell: Callable[[], Any]) -> int | None:
        """Hand it its order, and wait for its end; return its exit code, None where it took too long.

        `tell` is called every now and then. What it did is in files of its folder.
        """
        write_message(os.path.join(self.folder, "order"), order)
        if not _CAN_WAIT:
            self._begin({})
        elif self._order >= 0:
            with contextlib.suppress(BrokenPipeError):  # it has ended: its exit code says how
                os.write(self._order, b"\n")
        [child], deadline = self._children, time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self._ended >= 0 and not self._has_closed():
                tell()
                if (code := child.poll()) is not None:  # what code there has forked keeps the pipe open
                    return code
                continue
            with contextlib.suppress(subprocess.TimeoutExpired):
                return child.wait(_INTERVAL)
            tell()
        return None

    def _has_closed(self) -> bool:
        """Wait a while for the end of the process, which closes its pipe; code there may close it before."""
        import select

        poll = select.poll()
        poll.register(self._ended, select.POLLIN)
        if not poll.poll(_INTERVAL * 1000):
            return False
        self._pipes.remove(self._ended)
        os.close(self._ended)
        self._ended = -1
        return True

    def _start(self, waiting: Mapping[str, Any]) -> None:
        os.mkdir(os.path.join(self.folder, "work"))
        # It ends at once, so that what it keeps for itself goes with the folder.
        os.mkdir(os.path.join(self.folder, "temporary"))
        if not _CAN_WAIT:
            return  # it is started with its order
        order, self._order = self._pipe()
        self._ended, ended = self._pipe()
        self._begin({"order": order, "ended": ended, "parent": os.getpid(), **waiting})
        for number in (order, ended):
            self._pipes.remove(number)
            os.close(number)

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

    def _begin(self, waiting: Mapping[str, Any]) -> None:
        """Start the process. Our own folders are first on its path until it has imported itself."""
        program = (
            f"import sys; sys.path[:0] = {list(self._places)!r}\n"
            "from packager.proving.proof_process import main\n"
            f"main({self.folder!r}, {len(self._places)}, **{waiting!r})\n"
        )
        environment = dict(self._began_with)
        environment["KELLET_CACHE"] = os.path.join(self.folder, "cache")
        environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), os.path.join(self.folder, "temporary"))
        # Windows knows no such argument, not even an empty one.
        pipes: dict[str, Any] = {"pass_fds": (waiting["order"], waiting["ended"])} if waiting else {}
        try:
            with open(os.path.join(self.folder, "said"), "wb") as said:
                self._children.append(
                    subprocess.Popen(
                        [self._python, "-I", "-c", program],
                        stdin=subprocess.DEVNULL,
                        stdout=said,
                        stderr=said,
                        cwd=os.path.join(self.folder, "work"),
                        env=environment,
                        start_new_session=True,
                        **pipes,
                    )
                )
        except (OSError, ValueError, TypeError) as error:  # no sys.executable, no room for a process
            what = self._python or "sys.executable"
            raise ProofStartError(f"{what} cannot be started: {error}") from error


def _environment_here(unset: Collection[str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in (*_UNUSED, *unset)}


def _first_of(cls: type) -> dict[str, Any]:
    """Return where the process finds NumPy and kellet, and the files of a class's module and its packages.

    Those of installed packages are left out, as they are seldom stored.
    """
    path, parts = path_here(), cls.__module__.split(".")
    modules = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    installed = tuple(os.path.join(folder, "") for folder in path)
    found: dict[str, str | None] = {}
    for name in modules:
        file = getattr(sys.modules.get(name), "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and not file.startswith(installed):
            found[name] = file
        elif file is None and hasattr(sys.modules.get(name), "__path__"):
            found[name] = None
    return {"path": path, "places": places_of_ours(path), "module": cls.__module__, "files": found}


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
