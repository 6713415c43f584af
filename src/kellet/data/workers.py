"""Worker processes of a data loader: each has a copy of the dataset, and fetches whole batches.

Each worker has a pipe for requests and answers, so that batch i always comes from worker i modulo
their number, and runs repeat exactly. A worker that ends is seen at once: nothing waits for it. Messages are
sent as bytes: what cannot be pickled, or read from them, is told apart from a pipe that is closed.
"""

from __future__ import annotations

import pickle
import random
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from multiprocessing.util import register_after_fork
from queue import Empty, SimpleQueue
from typing import Any

from ..core import manual_seed
from .dataset import IterableDataset, samples_of
from .sampler import in_batches

_END_SECONDS = 5.0  # for a worker that has nothing left to do
_BUSY_SECONDS = 0.5  # for all workers of a pass that was left early


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The description of a worker process: its number, of how many, its seed, its copy of the dataset.

    >>> kellet.data.WorkerInfo(id=0, num_workers=2, seed=7, dataset=range(4)).num_workers
    2
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


@dataclass(frozen=True, slots=True)
class Fetching:
    """How batches are made of a dataset: what puts samples together, and how an iterable one is cut.

    Without a `batch_size` of an iterable dataset each of its samples is given alone.
    """

    dataset: Any
    collate: Callable[[Any], Any]
    batch_size: int | None
    drop_last: bool

    def batches(self) -> Iterator[Any]:
        """Yield the batches of an iterable dataset, one after another."""
        parts = iter(self.dataset)
        if self.batch_size is not None:
            parts = in_batches(parts, self.batch_size, self.drop_last)
        # A StopIteration out of `collate` is an error in a generator; in `map` it would be the end.
        return (self.collate(part) for part in parts)

    def batch(self, index: Any, *, alone: bool) -> Any:
        """Return the batch of some numbers; with `alone` the one sample of a number."""
        return self.collate(self.dataset[index] if alone else samples_of(self.dataset, index))


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the WorkerInfo of this worker process of a DataLoader; None in any other process.

    Source: torch.utils.data.get_worker_info.

    >>> kellet.data.get_worker_info() is None
    True
    """
    return _info


class Worker:
    """One worker process, seen from the loader."""

    def __init__(
        self, context: Any, info: WorkerInfo, fetching: Fetching, init: Callable[[int], Any] | None
    ) -> None:
        self.id = info.id
        self._pipe, other = context.Pipe()
        # Closed in each process that is forked: otherwise a worker would not see that the loader has gone.
        register_after_fork(self._pipe, type(self._pipe).close)
        self._process = context.Process(target=_work, args=(other, info, fetching, init), daemon=True)
        with _interrupts_held():
            self._process.start()
        other.close()

    def ask(self, task: object) -> None:
        """Ask for a batch. A worker that is gone is seen by `answer`."""
        data = ForkingPickler.dumps(task)
        with suppress(OSError):
            self._pipe.send_bytes(data)

    def answer(self, timeout: float | None) -> list[Any]:
        """Return the batch that the worker was first asked for; no batch where its stream is at its end.

        Raises the exception of the dataset, with a note of where it occurred; RuntimeError for a worker that
        ended, for one that takes longer than `timeout` seconds, and for a batch that cannot be unpickled.
        """
        if not connection.wait(self.signs(), timeout):
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds, waiting for worker {self.id}")
        error, content = self._received()
        if error is not None:
            error.add_note(f"in worker process {self.id} of a DataLoader:\n{content}")
            raise error
        found: list[Any] = content
        return found

    def _received(self) -> tuple[Exception | None, Any]:
        try:
            data = self._pipe.recv_bytes() if self._pipe.poll() else b""
        except (EOFError, OSError):  # closed, perhaps within a message
            data = b""
        if not data:
            return self._gone()
        try:
            error, content = pickle.loads(data)
        except Exception as fault:
            return RuntimeError(f"the batch from its worker cannot be read: {fault}"), _told(fault)[1]
        return error, content

    def signs(self) -> list[Any]:
        """Return what is ready when the worker has answered, or has ended."""
        return [self._pipe, self._process.sentinel]

    def _gone(self) -> tuple[Exception, str]:
        self._process.join(_END_SECONDS)
        code = self._process.exitcode
        reason = (
            f"was killed by signal {-code}" if code is not None and code < 0 else f"exited with code {code}"
        )
        return RuntimeError(f"DataLoader worker (pid {self._process.pid}) {reason}"), "no answer came from it"

    def leave(self) -> None:
        """Close the pipe, upon which the process ends as soon as it is done with what it fetches."""
        self._pipe.close()

    def join(self, seconds: float) -> None:
        """Wait so long until the process has ended."""
        self._process.join(max(seconds, 0))

    def end(self) -> None:
        """End the process now: one that is still there is killed."""
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def end_all(workers: list[Worker], *, idle: bool) -> None:
    """End processes and forget them; those that have something left to do get half a second for it."""
    until = time.monotonic() + (_END_SECONDS if idle else _BUSY_SECONDS)
    try:
        for worker in workers:
            worker.leave()
        for worker in workers:
            worker.join(until - time.monotonic())
    finally:
        while workers:
            workers.pop().end()


def first_ready(workers: Iterable[Worker], timeout: float | None) -> Worker:
    """Return a worker that has answered, or ended; of several, the first.

    Raises RuntimeError when none has within `timeout` seconds.
    """
    signs = {worker: worker.signs() for worker in workers}
    ready = connection.wait([sign for two in signs.values() for sign in two], timeout)
    if not ready:
        raise RuntimeError(f"DataLoader timed out after {timeout} seconds, waiting for any of its workers")
    return next(worker for worker, two in signs.items() if any(sign in ready for sign in two))


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold interrupts back here, and in a process that starts in the block until it can take one."""
    was_held = _hold_interrupts(True)
    try:
        yield
    finally:
        _hold_interrupts(was_held)


def _hold_interrupts(held: bool) -> bool:
    """Hold interrupts back, or let them in; return what was done before. Windows cannot, and holds none."""
    if not hasattr(signal, "pthread_sigmask"):
        return False
    how = signal.SIG_BLOCK if held else signal.SIG_UNBLOCK
    return signal.SIGINT in signal.pthread_sigmask(how, {signal.SIGINT})


def _work(pipe: Any, info: WorkerInfo, fetching: Fetching, init: Callable[[int], Any] | None) -> None:
    """Run in a worker: answer questions until there are no more."""
    global _info
    _info = info
    manual_seed(info.seed)
    random.seed(info.seed)
    questions: SimpleQueue[bytes | None] = SimpleQueue()
    # Read beside the work: a loader that waits until its question is read would wait for a worker that waits
    # until its answer is.
    threading.Thread(target=_read, args=(pipe, questions), daemon=True).start()
    with suppress(KeyboardInterrupt):  # a terminal sends it to all processes, and the loader's own raises it
        _hold_interrupts(False)
        try:
            if init is not None:
                init(info.id)
            batches = fetching.batches() if isinstance(fetching.dataset, IterableDataset) else None
        except Exception as error:
            questions.get()
            _send(pipe, *_told(error))
            return
        while (question := questions.get()) is not None:
            try:
                answer = _answer(fetching, batches, *pickle.loads(question))
            except Exception as error:
                _send(pipe, *_told(error))
            else:
                _send(pipe, None, answer)


def _answer(fetching: Fetching, batches: Iterator[Any] | None, index: Any, alone: bool) -> list[Any]:
    """Return one batch; none where those of an iterable dataset are at their end."""
    return [fetching.batch(index, alone=alone)] if batches is None else list(islice(batches, 1))


def _read(pipe: Any, questions: SimpleQueue[bytes | None]) -> None:
    """Put questions into a queue; at their end None alone, for nobody waits for the answers."""
    with suppress(EOFError, OSError):
        while True:
            questions.put(pipe.recv_bytes())
    with suppress(Empty):
        while True:
            questions.get_nowait()
    questions.put(None)


def _told(error: Exception) -> tuple[Exception, str]:
    """Return an error as it can be sent, and where it was raised."""
    place = "".join(traceback.format_exception(error))
    try:
        # Of this process alone: an error may not come back from its arguments.
        is_same = type(pickle.loads(pickle.dumps(error))) is type(error)
    except Exception:
        is_same = False
    return error if is_same else RuntimeError(f"{type(error).__name__}: {error}"), place


def _send(pipe: Any, error: Exception | None, content: Any) -> None:
    try:
        data = ForkingPickler.dumps((error, content))
    except Exception as fault:
        what = RuntimeError(f"the batch cannot be sent from its worker: {fault}")
        data = ForkingPickler.dumps((what, _told(fault)[1]))
    with suppress(OSError):  # the loader has gone
        pipe.send_bytes(data)
