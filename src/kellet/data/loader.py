"""DataLoader: batches of a dataset, in order or shuffled, made here or by worker processes."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..core import Generator
from ..core.device import check_device
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed
from .workers import Fetching, Worker, WorkerInfo, end_all, first_ready


class DataLoader:
    """The batches of a dataset, anew for each pass: `for batch in loader`.

    `batch_size` samples make a batch, put together by `collate_fn` (by default `default_collate`); with
    `batch_size=None` each sample is given alone, its arrays made tensors. `shuffle`, a `sampler` or a
    `batch_sampler` say which samples come when; `drop_last` leaves out a last batch that is not full.

    With `num_workers` so many processes make the batches, `prefetch_factor` of them ahead each. The order is
    the same with any number of workers. Every pass draws a seed from `generator`, or from that of the
    process; worker i starts with that seed plus i, in kellet and in `random`, and calls `worker_init_fn(i)`.
    So equal seeds give equal runs. An exception in a worker is raised here, with a note of where it occurred;
    a worker that dies is an error at once, and one that takes longer than `timeout` seconds (0: no limit) is,
    too. When a pass is left early, its workers have half a second to finish their sample; then they are
    killed. `persistent_workers` are kept for the next pass; a pass that begins while another runs starts
    workers of its own. `multiprocessing_context` is the name of a start method or a context; by default that
    of multiprocessing. Without `in_order` a batch is given as soon as a worker has made it, and that worker
    is asked for the next one. `pin_memory` is accepted and ignored; `pin_memory_device` may only name the
    CPU.

    Raises ValueError for options that exclude each other or are out of range, TypeError for `len` of a loader
    whose dataset has no length.

    Source: torch.utils.data.DataLoader; there, a second pass over persistent workers begins the first anew.

    >>> pairs = kellet.data.TensorDataset(kellet.arange(5), kellet.arange(5) * 10)
    >>> for x, y in kellet.data.DataLoader(pairs, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0, 1] [0, 10]
    [2, 3] [20, 30]
    [4] [40]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if pin_memory_device:
            check_device(pin_memory_device)
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        is_iterable = isinstance(dataset, IterableDataset)
        if is_iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader with IterableDataset: expected no shuffle, sampler or batch_sampler, since "
                "its samples have no numbers; shuffle in its __iter__"
            )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context)
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.drop_last = drop_last
        self.batch_size = batch_size
        if sampler is None and not is_iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(() if sampler is None else sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._kept: list[Worker] = []

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers:
            return self._by_workers()
        fetching = self._fetching()
        if isinstance(self.dataset, IterableDataset):
            drawn_seed(self.generator)  # as with workers, so that the process goes on alike
            return fetching.batches()
        drawn_seed(self.generator)
        return (fetching.batch(index, alone=self.batch_sampler is None) for index in self._indices())

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._indices())  # type: ignore[arg-type]  # TypeError for a sampler without a length
        count = len(self.dataset)  # type: ignore[arg-type]  # TypeError where it has none
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def _indices(self) -> Iterable[Any]:
        chosen = self.sampler if self.batch_sampler is None else self.batch_sampler
        return () if chosen is None else chosen

    def _fetching(self) -> Fetching:
        return Fetching(self.dataset, self.collate_fn, self.batch_size, self.drop_last)

    def _by_workers(self) -> Iterator[Any]:
        seed = drawn_seed(self.generator)
        workers, self._kept = self._kept or self._start(seed), []
        is_whole = False
        try:
            if isinstance(self.dataset, IterableDataset):
                yield from self._from_streams(workers)
            else:
                yield from self._from_numbers(workers)
            is_whole = True
        finally:
            # A pass that was left early has questions open: its workers are at another place than a new pass.
            is_kept = self.persistent_workers and is_whole and not isinstance(self.dataset, IterableDataset)
            if is_kept and not self._kept:  # another pass that ran beside this one may have come first
                self._kept = workers
            else:
                end_all(workers, idle=is_whole)

    def _start(self, seed: int) -> list[Worker]:
        workers: list[Worker] = []
        try:
            for place in range(self.num_workers):
                info = WorkerInfo(place, self.num_workers, seed + place, self.dataset)
                workers.append(
                    Worker(self.multiprocessing_context, info, self._fetching(), self.worker_init_fn)
                )
        except BaseException:
            end_all(workers, idle=False)
            raise
        return workers

    def _from_numbers(self, workers: list[Worker]) -> Iterator[Any]:
        """Yield the batch of each list of numbers: each worker that answers is asked for the next one."""
        indices, alone = iter(self._indices()), self.batch_sampler is None
        asked: deque[Worker] = deque()

        def ask(worker: Worker) -> None:
            for index in indices:
                worker.ask((index, alone))
                asked.append(worker)
                return

        for _ in range(self.prefetch_factor or 1):
            for worker in workers:
                ask(worker)
        while asked:
            worker = self._next(asked)
            answer = worker.answer(self.timeout or None)
            ask(worker)
            yield from answer

    def _next(self, asked: deque[Worker]) -> Worker:
        """Take the worker whose batch comes next out of those that were asked."""
        worker = asked[0] if self.in_order else first_ready(asked, self.timeout or None)
        asked.remove(worker)
        return worker

    def _from_streams(self, workers: list[Worker]) -> Iterator[Any]:
        """Yield the batches of each worker's copy of an iterable dataset, one from each in turn."""
        going = deque(workers)
        for _ in range(self.prefetch_factor or 1):
            for worker in workers:
                worker.ask((None, False))
        while going:
            worker = self._next(going)
            answer = worker.answer(self.timeout or None)
            if answer:
                worker.ask((None, False))
                going.append(worker)
                yield from answer

    def __del__(self) -> None:
        end_all(self.__dict__.get("_kept", []), idle=True)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": []}


def _check_workers(num_workers: int, timeout: float, prefetch: int | None, persistent: bool) -> None:
    if num_workers < 0:
        raise ValueError(
            f"num_workers option should be non-negative, but got {num_workers}; 0 means no workers"
        )
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, but got {timeout}")
    if num_workers == 0 and prefetch is not None:
        raise ValueError("prefetch_factor option could only be specified with workers; set num_workers > 0")
    if prefetch is not None and prefetch < 1:
        raise ValueError(f"prefetch_factor option should be positive, but got {prefetch}")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _context(given: Any) -> Any:
    return multiprocessing.get_context(given) if given is None or isinstance(given, str) else given
