"""Operations of a group, in the order in which they were asked for, on a thread of their own.

Ranks have to do the same operations in the same order, or they wait for each other for ever. So a group has
one queue, and everything that may start an operation stands in it: the operations themselves, and the
callbacks of their futures. A callback stands where `then` was called, whether the operation was over by
then or not, for this is in one place of the program on every rank; the moment at which an operation ends is
not.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from ..errors import DistributedError
from ..futures import Future, _require_callable


class Work(Future[Any]):
    """The future of an operation of a group: its value is the list of tensors that hold the result.

    Its callbacks run on the thread of the group, in their turn; an operation that one of them starts is done
    on the spot.

    Source: torch.distributed.Work, and the future that its `get_future` returns, in one.

    >>> import kellet.distributed as dist
    >>> group = dist.ProcessGroup(dist.AloneTransport())
    >>> work = dist.all_reduce(kellet.ones(2), group=group, async_op=True)
    >>> work.then(lambda future: future.value()[0] * 3).wait()
    tensor([3., 3.])
    """

    def __init__(self, turn: WorkQueue) -> None:
        super().__init__()
        self._turn = turn

    def get_future(self) -> Work:
        """Return the work itself, which is a future."""
        return self

    def is_completed(self) -> bool:
        """Say whether the operation is over."""
        return self.done()

    def result(self) -> Any:
        """Return the value of an operation that is over."""
        return self.value()

    def then(self, callback: Callable[[Future[Any]], Any]) -> Work:
        """Return the work of calling `callback(work)` in its turn; see `kellet.futures.Future.then`.

        Raises TypeError for a value that is not callable.
        """
        _require_callable(callback)
        return self._turn.put(lambda: callback(self))

    def add_done_callback(self, callback: Callable[[Future[Any]], Any]) -> None:
        """Call `callback(work)` in its turn; its return value is ignored, its exception is printed."""

        def call(work: Future[Any]) -> None:
            try:
                callback(work)
            except Exception as error:  # nobody waits for it
                where = error.__traceback__
                threading.excepthook(
                    threading.ExceptHookArgs((type(error), error, where, threading.current_thread()))
                )

        _require_callable(callback)
        self.then(call)


class WorkQueue:
    """Runs pieces of work one after another, on a thread that starts with the first one.

    Work that is put in by the thread itself, from a callback, runs at once, and so does all of it with
    `inline`.
    """

    def __init__(self, name: str, *, inline: bool = False) -> None:
        self._name = name
        self._inline = inline
        self._waiting: queue.SimpleQueue[tuple[Work, Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False

    def put(self, call: Callable[[], Any]) -> Work:
        """Return the work of `call()`, whose value is what that returns.

        Raises DistributedError for a queue that has been closed.
        """
        work = Work(self)
        if self._inline or threading.current_thread() is self._thread:
            self._require_open()
            work._set_by(call)
            return work
        with self._lock:
            self._require_open()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._waiting.put((work, call))
        return work

    def close(self) -> None:
        """Wait for the queued work, and take no more."""
        with self._lock:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            self._waiting.put(None)
            thread.join()

    def _require_open(self) -> None:
        if self._closed:
            raise DistributedError(
                f"{self._name} has been destroyed; call its operations before destroy_process_group()"
            )

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            work, call = item
            work._set_by(call)
            del item, work, call  # else the last result lives until the next operation
