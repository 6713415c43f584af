"""`run` and `Popen`, which have the server fork what it can fork."""

from __future__ import annotations

import atexit
import ctypes
import itertools
import os
import socket
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from .orders import PYTHON, ColdError, Key, command_of, environment_of, key_of, order_of
from .server import receive, send

_ONE_OF = 10
"""One test of so many starts fresh interpreters."""
_CAN_FORK: Final = sys.platform == "linux" and not os.environ.get("KELLET_VIEW")
_SUBREAPER: Final = 36
"""PR_SET_CHILD_SUBREAPER: orphans below this process become its children."""

_PATH: Final = [entry for entry in sys.path if os.path.isabs(entry)]
"""Where a server finds what it imports, also without site."""

_started: defaultdict[str, list[str]] = defaultdict(list)
_servers: dict[Key, Server | LentServer] = {}
_asking = threading.Lock()
_here = os.getpid()
_KNOWN: Final = {
    *("stdin", "stdout", "stderr", "cwd", "env", "pass_fds", "start_new_session", "process_group"),
    *("text", "universal_newlines", "encoding", "errors", "bufsize"),
}
"""The options of `subprocess.Popen` that the server can do."""


def run(
    args: Any,
    *,
    cold: bool = False,
    input: Any = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run a command and wait for it, as `subprocess.run` does."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with Popen(args, cold=cold, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


class Popen(subprocess.Popen[Any]):
    """A `subprocess.Popen` whose Python is forked from a server, unless it is to be `cold`."""

    def __init__(self, args: Any, *, cold: bool = False, **options: Any) -> None:
        self._cold = "as asked" if cold else _cold_by_choice()
        for name in sorted(options.keys() - _KNOWN):
            self._cold = self._cold or f"option {name}"
        if options.get("process_group") not in (None, 0):
            self._cold = self._cold or "group of another process"
        self._options = options
        super().__init__(args, **options)

    def _execute_child(self, args: Any, *others: Any) -> None:
        """Have it forked, or start it as `subprocess` does, whose method for just that this is."""
        pipes = others[9:15]
        given = (pipes[0], pipes[3], pipes[5])
        streams = [own if number == -1 else number for own, number in enumerate(given)]
        try:
            if self._cold:
                raise ColdError(self._cold)
            self.pid, how = _forked(args, self._options, streams)
        except ColdError as error:
            _note(f"cold, {error}", args)
            super()._execute_child(args, *others)  # type: ignore[misc]  # typeshed leaves it out
            return
        _note(how, args)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]  # typeshed leaves it out


def lend(place: str) -> None:
    """Have this process, which was forked itself, ask the server that listens at `place` for its proofs."""
    global _here, _ONE_OF
    _here, _ONE_OF = os.getpid(), 1 << 40
    _servers[("-s", "-P"), "0"] = LentServer(place)


def how_started(test: str, *, forget: bool = False) -> str:
    """Say how the processes of a test were started, a line each."""
    said = "\n".join(_started.get(test, []))
    if forget:
        _started.pop(test, None)
    return said


def _test() -> str:
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]


def _note(how: str, args: Any) -> None:
    _started[_test()].append(f"{how}: {str(args)[:200]}")


def _cold_by_choice() -> str:
    if not _CAN_FORK:
        return "this system cannot fork"
    if os.environ.get("KELLET_COLD") == "1":
        return "KELLET_COLD=1"
    if os.getpid() != _here:
        return "in a process of a test"
    return f"one test in {_ONE_OF}" if crc32(_test().encode()) % _ONE_OF == 0 else ""


def _forked(args: Any, options: dict[str, Any], streams: list[int]) -> tuple[int, str]:
    """Return the process that a server has forked for a command, a child of this one, and how it began."""
    command = command_of(args)
    env = dict(_variables() if options.get("env") is None else options["env"])
    try:
        cwd = os.path.abspath(options.get("cwd") or os.getcwd())
    except OSError as error:
        raise ColdError("no working directory") from error
    if not os.path.isdir(cwd):
        raise ColdError("no working directory")
    key = key_of(command, env)
    passed = [int(number) for number in options.get("pass_fds", ())]
    with _asking:
        server = _servers.get(key)
        if server is None:
            server = _servers[key] = Server(key)
        order = order_of(command, cwd, env, server.imported)
        order["session"] = options.get("start_new_session", False)
        order["group"] = options.get("process_group") == 0
        order["numbers"] = [0, 1, 2, *passed]
        sys.audit("subprocess.Popen", PYTHON, list(map(os.fsdecode, args)), cwd, env)
        how = "forked, its proofs too" if order["proves"] else "forked"
        return server.fork(order, [*streams, *passed]), how


def _variables() -> Iterator[tuple[str, str]]:
    """Yield what a process inherits, with variables that only C has set, as readline sets COLUMNS."""
    environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    for line in itertools.takewhile(bool, environ):
        name, _, value = os.fsdecode(line).partition("=")
        yield name, value


class Server:
    """A server: started when it is first asked, ended with this process."""

    def __init__(self, key: Key) -> None:
        self._channel, there = socket.socketpair()
        with there:
            self._process = subprocess.Popen(
                [PYTHON, *key[0], str(Path(__file__).with_name("server.py")), str(there.fileno()), *_PATH],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment_of(key),
                cwd="/",
                pass_fds=[there.fileno()],
            )
        atexit.register(self.close)
        self.imported: dict[str, str | None] = receive(self._channel)[0]

    def fork(self, order: dict[str, Any], descriptors: list[int]) -> int:
        """Return the number of the process that is forked for an order."""
        return _forked_by(self._channel, order, descriptors)

    def close(self) -> None:
        """End the server; processes that it has forked go on."""
        if os.getpid() == _here:
            self._channel.close()
            self._process.wait()


class LentServer:
    """A server that a process has for its proofs, and that ends with it; nothing is open to it meanwhile."""

    imported: Final[dict[str, str | None]] = {}  # no folder hides any of it: it is isolated

    def __init__(self, place: str) -> None:
        self._place = place

    def fork(self, order: dict[str, Any], descriptors: list[int]) -> int:
        """Return the number of the process that is forked for an order."""
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(self._place)
            return _forked_by(channel, order, descriptors)


def _forked_by(channel: socket.socket, order: dict[str, Any], descriptors: list[int]) -> int:
    order["umask"] = os.umask(0o22)
    os.umask(order["umask"])
    with _reaping():
        send(channel, order, descriptors)
        child, _ = receive(channel)
    return int(child)


@contextmanager
def _reaping() -> Iterator[None]:
    """Have orphans below this process become its children."""
    system = ctypes.CDLL(None)
    system.prctl(_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        system.prctl(_SUBREAPER, 0, 0, 0, 0)
