"""The line between a run of stored code and the exporter: numbered questions, and an answer to each.

On Unix it is a socket with a name, so that a process which stored code forks opens a connection of its own.
On Windows it is the pipes of the process's standard input and output, and what that starts has none. While
a question is asked nothing is imported, opened or logged.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from .messages import packed, unpacker

if TYPE_CHECKING:
    from socket import socket
    from subprocess import Popen

_AT_ONCE: Final = 1 << 18
_LONGEST: Final = 100
"""Bytes of a socket's name: Linux takes 107, macOS 103."""
_READABLE: Final = 1
"""POLLIN: there is something to read; `select` is imported where it is used."""

Ends = tuple[int, int]
"""The descriptors that a connection is read from, and written to."""


class Line:
    """The run's end: `ask` returns what the exporter answers; None where it does not listen any more.

    `connect` gives the ends of a new connection, None where this process can have none.
    """

    def __init__(self, connect: Callable[[], Ends | None]) -> None:
        self._connect = connect
        self._lock = threading.RLock()
        self._ends: Ends | None = None
        self._number = 0
        self._answers: dict[int, Any] = {}
        self._unpacker = unpacker()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def ask(self, question: Any) -> Any:
        """Send a question, and return the answer; another thread waits for its turn.

        What the collector runs meanwhile in this thread may ask, too: answers go by numbers.
        """
        with self._lock:
            for _ in range(2):  # once more where stored code has closed what it did not open
                with contextlib.suppress(OSError):
                    return self._asked(question)
                self._ends = None
            return None  # the run is over, and this is a process that outlives it

    def _asked(self, question: Any) -> Any:
        self._number += 1
        number = self._number
        if self._ends is None:
            self._ends = self._connect()
        if self._ends is None:
            return None
        _write(self._ends[1], [number, question])
        while number not in self._answers:
            data = os.read(self._ends[0], _AT_ONCE)
            if not data:
                return None
            self._unpacker.feed(data)
            self._answers |= dict(self._unpacker)
        return self._answers.pop(number)

    def _forget(self) -> None:
        """Begin anew: in a forked process, where another thread may have held the lock."""
        self._lock = threading.RLock()
        self._ends = None
        self._answers, self._unpacker = {}, unpacker()


def socket_line(address: str) -> Line:
    """Return a line through a named socket."""
    from socket import AF_UNIX, socket

    def connect() -> Ends:
        with _reachable(address) as name, socket(AF_UNIX) as made:
            made.connect(name)
            number = made.detach()
        return number, number

    return Line(connect)


def pipe_line() -> Line:
    """Return a line through standard input and output, which are others from here on; forks have none."""
    own, ends = os.getpid(), (os.dup(0), os.dup(1))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return Line(lambda: ends if os.getpid() == own else None)


Asked = tuple[int, int, Any]
"""The descriptor that an answer goes to, the number of the question, and the question."""


class SocketLines:
    """The exporter's end of a socket named `address`, if any: the questions of every process of a run.

    `questions` also returns when there is something to read from the descriptor `watched`.
    """

    def __init__(self, address: str, watched: int) -> None:
        import select

        self._listener: socket | None = None
        self._ready: set[int] = set()
        self._unpackers: dict[int, Any] = {}
        self._poll = select.poll()
        self._poll.register(watched, _READABLE)
        if address:
            from socket import AF_UNIX, socket

            self._listener = socket(AF_UNIX)
            try:
                with _reachable(address) as name:
                    self._listener.bind(name)
                self._listener.listen()
            except BaseException:
                self._listener.close()
                raise
            self._poll.register(self._listener.fileno(), _READABLE)

    def questions(self, seconds: float) -> Iterator[Asked]:
        """Wait so long for questions, and yield them."""
        self._ready = {number for number, _ in self._poll.poll(seconds * 1000)}
        for number in [*self._ready]:
            if self._listener is not None and number == self._listener.fileno():
                opened, _ = self._listener.accept()
                made = opened.detach()
                self._unpackers[made] = unpacker()
                self._poll.register(made, _READABLE)
            elif number in self._unpackers:
                yield from self._read(number)

    def is_ready(self, number: int) -> bool:
        """Say whether there was something to read from a descriptor as questions were last waited for."""
        return number in self._ready

    def ignore(self, number: int) -> None:
        """Wait for a descriptor no more."""
        self._poll.unregister(number)

    def close(self) -> None:
        """Close all connections."""
        for number in [*self._unpackers]:
            self._drop(number)
        if self._listener is not None:
            self._listener.close()

    def _read(self, number: int) -> Iterator[Asked]:
        messages = self._unpackers[number]
        try:
            data = os.read(number, _AT_ONCE)
        except OSError:  # a process that was killed
            data = b""
        if not data:
            self._drop(number)
            return
        messages.feed(data)
        for told, question in messages:
            yield number, told, question

    def _drop(self, number: int) -> None:
        self._poll.unregister(number)
        del self._unpackers[number]
        os.close(number)


class PipeLines:
    """The exporter's end of the pipes of a process, read by a thread: Windows cannot wait for a pipe."""

    def __init__(self, child: Popen[bytes]) -> None:
        from queue import SimpleQueue

        assert child.stdin is not None
        assert child.stdout is not None
        self._child = child
        self._writing = child.stdin.fileno()
        self._said: SimpleQueue[bytes] = SimpleQueue()
        self._unpacker = unpacker()
        threading.Thread(target=self._listen, args=(child.stdout.fileno(),), daemon=True).start()

    def questions(self, seconds: float) -> Iterator[Asked]:
        """Wait so long for questions, and yield them."""
        from queue import Empty

        try:
            self._unpacker.feed(self._said.get(timeout=seconds))
        except Empty:
            return
        for told, question in self._unpacker:
            yield self._writing, told, question

    def close(self) -> None:
        """Close the pipes, of a process that has ended."""
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                stream.close()

    def _listen(self, number: int) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(number, _AT_ONCE):
                self._said.put(data)
        self._said.put(b"")  # whoever waits looks whether the process has ended


def answer(number: int, told: int, value: Any) -> None:
    """Answer a question, where who asked is still there."""
    with contextlib.suppress(OSError):
        _write(number, [told, value])


@contextlib.contextmanager
def _reachable(address: str) -> Iterator[str]:
    """Give a name of a socket that is short enough; temporary folders may have long ones."""
    if len(os.fsencode(address)) <= _LONGEST:
        yield address
        return
    folder = os.open(os.path.dirname(address), os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(address)}"
    finally:
        os.close(folder)


def _write(number: int, message: Any) -> None:
    rest = memoryview(packed(message))
    while rest:
        rest = rest[os.write(number, rest) :]
