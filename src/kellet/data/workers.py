"""Worker processes of a data loader: each has a copy of the dataset, and fetches whole batches.

A worker is asked and answers through a pipe of its own, so that batch i always comes from worker i modulo
their number, and runs repeat exactly. A worker that ends is seen at once: nothing waits for it.
"""

from __future__ import annotations

import pickle
import random
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from queue import SimpleQueue
from typing import Any

from ..core import manual_seed
from .dataset import IterableDataset, samples_of
from .sampler import in_batches

_END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker process knows of itself: its number, of how many, its seed, its copy of the dataset.

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
        samples = iter(self.dataset)
        if self.batch_size is None:
            return map(self.collate, samples)
        return map(self.collate, in_batches(samples, self.batch_size, self.drop_last))

    def batch(self, index: Any, *, alone: bool) -> Any:
        """Return the batch of some numbers; with `alone` the one sample of a number."""
        return self.collate(self.dataset[index] if alone else samples_of(self.dataset, index))


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return what this worker process of a DataLoader knows of itself; None in any other process.

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
        self._process = context.Process(target=_work, args=(other, info, fetching, init), daemon=True)
        self._process.start()
        other.close()

    def ask(self, task: Any) -> None:
        """Ask for a batch; None ends the worker. A worker that is gone is seen by `answer`."""
        with suppress(OSError):
            self._pipe.send(task)

    def answer(self, timeout: float | None) -> Any:
        """Return what the worker answers to the first question that is open.

        Raises what the dataset raised, with a note of where; RuntimeError for a worker that ended, and for
        one that takes longer than `timeout` seconds.
        """
        if not connection.wait(self.signs(), timeout):
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds, waiting for worker {self.id}")
        try:
            error, content = self._pipe.recv() if self._pipe.poll() else self._gone()
        except (EOFError, ConnectionError):  # reset, where questions were left unread
            error, content = self._gone()
        if error is not None:
            error.add_note(f"in worker process {self.id} of a DataLoader:\n{content}")
            raise error
        return content

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

    def end(self) -> None:
        """End the process; one that does not end when it is asked to is killed."""
        self.ask(None)
        self._pipe.close()
        self._process.join(_END_SECONDS if self._process.is_alive() else 0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def first_ready(workers: Iterable[Worker], timeout: float | None) -> Worker:
    """Return a worker that has answered, or ended; of several, the first.

    Raises RuntimeError when none has within `timeout` seconds.
    """
    signs = {worker: worker.signs() for worker in workers}
    ready = connection.wait([sign for two in signs.values() for sign in two], timeout)
    if not ready:
        raise RuntimeError(f"DataLoader timed out after {timeout} seconds, waiting for any of its workers")
    return next(worker for worker, two in signs.items() if any(sign in ready for sign in two))


def _work(pipe: Any, info: WorkerInfo, fetching: Fetching, init: Callable[[int], Any] | None) -> None:
    """Run in a worker: answer questions until there are no more."""
    global _info
    _info = info
    manual_seed(info.seed)
    random.seed(info.seed)
    questions: SimpleQueue[Any] = SimpleQueue()
    # Read beside the work: a loader that waits until its question is read would wait for a worker that waits
    # until its answer is.
    threading.Thread(target=_read, args=(pipe, questions), daemon=True).start()
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
            if batches is None:
                answer: Any = fetching.batch(question[0], alone=question[1])
            else:
                answer = next(batches, END)
        except Exception as error:
            _send(pipe, *_told(error))
        else:
            _send(pipe, None, answer)


END = "no more batches"
"""What a worker answers when its iterable dataset has come to its end."""


def _read(pipe: Any, questions: SimpleQueue[Any]) -> None:
    question: Any = ()
    while question is not None:
        try:
            question = pipe.recv()
        except (EOFError, OSError):
            question = None
        questions.put(question)


def _told(error: Exception) -> tuple[Exception, str]:
    """Return an error as it can be sent, and where it was raised."""
    place = "".join(traceback.format_exception(error))
    try:
        pickle.loads(
            pickle.dumps(error)
        )  # of this process alone: an error may not come back from its arguments
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}"), place
    return error, place


def _send(pipe: Any, error: Exception | None, content: Any) -> None:
    try:
        pipe.send((error, content))
    except OSError:  # the loader has gone
        return
    except Exception as fault:  # what cannot be pickled
        what = RuntimeError(f"the batch cannot be sent from its worker: {fault}")
        pipe.send((what, _told(fault)[1]))
