"""The loader: batches in this process and in others, in the same order, and what it says when one fails."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import data
from tests.tables import one_test

Pair = namedtuple("Pair", "x y")
PROCESSES = ["spawn", *([pytest.param("fork", marks=pytest.mark.unix)] if hasattr(os, "fork") else [])]
QUICKEST = "fork" if hasattr(os, "fork") else "spawn"
"""How workers start where it makes no difference."""


METHOD = "fork" if hasattr(os, "fork") else "spawn"


class Numbers(data.Dataset):
    """Samples that say what the process is that fetched them; some are special."""

    def __init__(self, count: int = 10, special: str = "") -> None:
        self.count = count
        self.special = special

    def __getitem__(self, index: int) -> Any:
        if index == 5 and self.special == "raises":
            raise KeyError("no such row")
        if index == 5 and self.special == "odd":
            raise Odd(1, 2)
        if index == 5 and self.special == "ends":
            os._exit(3)
        if index == 5 and self.special == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if index == 5 and self.special == "waits":
            time.sleep(60)
        if index == 5 and self.special == "lambda":
            return lambda: 0
        if self.special == "large":
            return np.full(300_000, index)
        if self.special == "random":
            return [random.random(), kellet.rand(1).item()]
        info = data.get_worker_info()
        return {"index": index, "worker": -1 if info is None else info.id}

    def __len__(self) -> int:
        return self.count


class Slow(data.Dataset):
    """Numbers, the first of which takes its time."""

    def __getitem__(self, index: int) -> int:
        if index == 0:
            time.sleep(0.4)
        return index

    def __len__(self) -> int:
        return 4


class SlowStream(data.IterableDataset):
    """Every second number for each of two workers, the first of which takes its time."""

    def __iter__(self) -> Iterator[int]:
        info = data.get_worker_info()
        assert info is not None
        if info.id == 0:
            time.sleep(0.4)
        yield from range(info.id, 4, 2)


class Items(data.Dataset):
    """A list as a dataset; what is callable in it is called."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __getitem__(self, index: int) -> Any:
        item = self.items[index]
        return item() if callable(item) else item

    def __len__(self) -> int:
        return len(self.items)


class ItemStream(data.IterableDataset):
    """The same list as a stream."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class Unwritable:
    """What a closed file, for example, says when it is pickled."""

    def __reduce__(self) -> Any:
        raise OSError("the file is closed")


class Unreadable:
    """Something that is pickled, and is not read again."""

    def __reduce__(self) -> Any:
        return (fail_as_a_pipe, ())


def fail_as_a_pipe() -> None:
    raise EOFError("nothing more to read")


def rest() -> str:
    time.sleep(60)
    return "rested"


def nap() -> str:
    time.sleep(0.3)
    return "rested"


def large_before_its_worker_is_killed() -> Any:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return np.zeros(1_000_000)


def stop(batch: list[Any]) -> Any:
    raise StopIteration


class Odd(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("an odd error")


class Stream(data.IterableDataset):
    """Numbers that each worker has its own part of."""

    def __iter__(self) -> Iterator[int]:
        info = data.get_worker_info()
        step, start = (1, 0) if info is None else (info.num_workers, info.id)
        return iter(range(start, 11, step))


def as_is(batch: list[Any]) -> list[Any]:
    return batch


def note(worker: int) -> None:
    os.environ["KELLET_TEST_WORKER"] = str(worker)


def fail(worker: int) -> None:
    raise OSError(f"worker {worker} has no disk")


def test_samples_are_put_together_part_by_part() -> None:
    samples = [
        {"t": kellet.ones(2) * n, "a": np.float32([n]), "f": 0.5 * n, "i": n, "b": n > 1, "s": str(n),
         "pair": Pair(n, [n, b"x"])}
        for n in (1, 2)
    ]  # fmt: skip
    batch = data.default_collate(samples)
    assert list(batch) == list(samples[0])
    assert batch["t"].tolist() == [[1, 1], [2, 2]]
    assert (batch["a"].dtype, batch["a"].tolist()) == (kellet.float32, [[1], [2]])
    assert (batch["f"].dtype, batch["f"].tolist()) == (kellet.float64, [0.5, 1.0])
    assert (batch["i"].dtype, batch["b"].dtype, batch["s"]) == (kellet.int64, kellet.bool, ["1", "2"])
    assert type(batch["pair"]) is Pair
    assert [list(part) if isinstance(part, tuple) else part.tolist() for part in batch["pair"].y] == [
        [1, 2],
        [b"x"] * 2,
    ]
    assert type(data.default_collate([OrderedDict(x=1)])) is OrderedDict
    assert data.default_collate([(1, "a"), (2, "b")])[1] == ("a", "b")  # as in PyTorch, which cuts by zip
    assert data.default_convert((1, "a")) == [1, "a"]


@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        ([[1, 2], [1]], RuntimeError, r"should be of equal size; found \[1, 2\]"),
        ([{1, 2}], TypeError, "found <class 'set'>; pass collate_fn="),
        ([np.array(["a"])], TypeError, "expected arrays of numbers; found <U1"),
    ],
)
def test_what_cannot_be_put_together_is_told(samples: list[Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        data.default_collate(samples)


def test_without_batches_samples_come_alone_and_arrays_as_tensors() -> None:
    rows = [
        {"x": np.ones(2), "s": "a", "pair": Pair(np.float32(1), [np.arange(2)]), "names": np.array(["b"])}
    ]
    (sample,) = data.DataLoader(rows, batch_size=None)
    assert isinstance(sample["x"], kellet.Tensor)
    assert (sample["s"], type(sample["pair"]), type(sample["names"])) == ("a", Pair, np.ndarray)
    assert sample["pair"].y[0].tolist() == [0, 1]


def test_batches_come_in_order_shuffled_or_as_a_sampler_says() -> None:
    assert [b.tolist() for b in data.DataLoader(range(5), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in data.DataLoader(range(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert [b.tolist() for b in data.DataLoader(range(5), 2, sampler=[4, 0, 2])] == [[4, 0], [2]]
    assert [b.tolist() for b in data.DataLoader(range(5), batch_sampler=[[3], [1, 2]])] == [[3], [1, 2]]
    assert list(data.DataLoader("abc", 2, collate_fn="".join)) == ["ab", "c"]
    shuffled = data.DataLoader(range(40), 40, shuffle=True, generator=kellet.Generator().manual_seed(1))
    (one,), (other,) = shuffled, shuffled
    assert sorted(one.tolist()) == sorted(other.tolist()) == list(range(40))
    assert one.tolist() != other.tolist()
    assert [len(data.DataLoader(range(5), 2, drop_last=last)) for last in (False, True)] == [3, 2]


@pytest.mark.parametrize("method", PROCESSES)
def test_workers_give_the_same_batches_in_turn(method: str) -> None:
    loader = data.DataLoader(Numbers(), 2, num_workers=2, multiprocessing_context=method, worker_init_fn=note)
    batches = list(loader)
    assert [batch["index"].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert [batch["worker"].tolist() for batch in batches] == [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]]
    assert "KELLET_TEST_WORKER" not in os.environ


def test_each_worker_has_its_own_part_of_a_stream() -> None:
    loader = data.DataLoader(Stream(), 2, num_workers=3, multiprocessing_context="spawn")
    assert [batch.tolist() for batch in loader] == [[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8]]


def test_equal_seeds_give_equal_runs_and_workers_different_numbers() -> None:
    def run(workers: int, special: str = "random") -> list[Any]:
        kellet.manual_seed(4)
        loader = data.DataLoader(Numbers(6, special), 2, num_workers=workers, collate_fn=as_is,
                                 multiprocessing_context="spawn" if workers else None)  # fmt: skip
        return [list(loader), kellet.rand(1).item()]

    one, other = run(2), run(2)
    assert one == other
    values = [value for batch in one[0] for sample in batch for value in sample]
    assert len(set(values)) == len(values)
    assert run(0, "")[1] == one[1]  # the process goes on alike with workers and without


def test_large_batches_and_many_questions_do_not_wait_for_each_other() -> None:
    loader = data.DataLoader(Numbers(12, "large"), 1, num_workers=2, prefetch_factor=3,
                             multiprocessing_context="spawn")  # fmt: skip
    assert [int(batch[0, -1]) for batch in loader] == list(range(12))
    many = data.DataLoader(range(200_000), 100_000, num_workers=1, multiprocessing_context="spawn")
    assert [len(batch) for batch in many] == [100_000, 100_000]


def test_workers_that_are_kept_are_asked_again() -> None:
    loader = data.DataLoader(
        Numbers(4),
        1,
        num_workers=1,
        persistent_workers=True,
        multiprocessing_context=QUICKEST,
        collate_fn=as_is,
    )
    list(loader)
    kept = list(loader._kept)
    list(loader)
    assert loader._kept == kept
    next(iter(loader))  # left early: what it was asked is still under way
    assert loader._kept == []


@pytest.mark.parametrize("in_order", [True, False])
def test_a_stream_may_give_anything_without_ending(in_order: bool) -> None:
    odd = [
        "no more batches",
        None,
        (),
        [],
        "",
        b"",
        0,
        False,
        (None, []),
        {"": None},
        StopIteration,
        Ellipsis,
    ]
    options: dict[str, Any] = {"batch_size": None, "collate_fn": as_is}
    assert list(data.DataLoader(ItemStream(*odd), **options)) == odd
    loader = data.DataLoader(ItemStream(*odd), num_workers=1, in_order=in_order,
                             multiprocessing_context=METHOD, **options)  # fmt: skip
    assert list(loader) == odd


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("dataset", [Items(1, 2), ItemStream(1, 2)])
def test_an_end_that_the_collating_function_tells_is_an_error(workers: int, dataset: Any) -> None:
    loader = data.DataLoader(dataset, 1, num_workers=workers, collate_fn=stop,
                             multiprocessing_context=METHOD if workers else None)  # fmt: skip
    with pytest.raises(RuntimeError, match="generator raised StopIteration"):
        list(loader)


def children_besides(others: set[BaseProcess]) -> set[BaseProcess]:
    """Return the processes that this one started and that run, without `others`, which earlier tests left."""
    return set(multiprocessing.active_children()) - others


def test_a_pass_that_is_left_early_does_not_wait_for_busy_workers() -> None:
    others = set(multiprocessing.active_children())
    large = np.zeros(2_000_000)
    for items in ([0, 0, 0, *[rest] * 9], [large] * 30):  # the others wait for the loader to read
        loader = data.DataLoader(Items(*items), 1, num_workers=3, prefetch_factor=3, collate_fn=as_is,
                                 multiprocessing_context=METHOD)  # fmt: skip
        batches = iter(loader)
        next(batches)
        assert len(children_besides(others)) == 3
        start = time.monotonic()
        del batches
        assert time.monotonic() - start < 4  # half a second; it was 5 seconds for each
        assert children_besides(others) == set()


def test_passes_at_once_over_workers_that_are_kept_are_each_whole_and_leave_no_process() -> None:
    others = set(multiprocessing.active_children())
    loader = data.DataLoader(Numbers(6), 2, num_workers=2, persistent_workers=True, collate_fn=as_is,
                             multiprocessing_context=METHOD)  # fmt: skip
    expected = [[0, 1], [2, 3], [4, 5]]

    def indices(batch: list[Any]) -> list[int]:
        return [sample["index"] for sample in batch]

    for _ in range(2):
        inner = [[indices(batch) for batch in loader] for _ in loader]
        assert inner == [expected] * 3
        assert len(children_besides(others)) == 2
        passes = [iter(loader) for _ in range(3)]
        found = [[indices(next(one)) for one in passes] for _ in range(3)]
        assert found == [[batch] * 3 for batch in expected]
        assert [next(one, None) for one in passes] == [None] * 3
        assert len(children_besides(others)) == 2
    del loader, passes
    assert children_besides(others) == set()


PROGRAM = """
import multiprocessing, os, sys, time
from kellet import data
from tests.data.test_loader import Items, nap, rest
if __name__ == "__main__":
    items = Items(0, 0, *[REST] * 90)
    idle = data.DataLoader(Items(0), num_workers=1, persistent_workers=True, multiprocessing_context=METHOD)
    list(idle)
    batches = iter(data.DataLoader(items, num_workers=2, multiprocessing_context=METHOD))
    next(batches)
    print(*(process.pid for process in multiprocessing.active_children()), flush=True)
    END
"""


def left_by(end: str, tmp_path: Path, sample: str = "rest") -> tuple[list[int], str]:
    """Run a program that ends amid a pass; return the workers that it had, and what it printed of errors."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("METHOD", repr(METHOD)).replace("END", end).replace("REST", sample))
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    with open(tmp_path / "out", "w") as out, open(tmp_path / "err", "w") as err:
        subprocess.run([sys.executable, str(program)], stdout=out, stderr=err, env=environment, timeout=40,
                       start_new_session=True)  # fmt: skip
    workers = [int(word) for word in (tmp_path / "out").read_text().split()]
    assert len(workers) == 3
    return workers, (tmp_path / "err").read_text()


def is_there(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def are_there(processes: list[int]) -> list[int]:
    """Return those of some processes that are there, zombies not counted, once they had five seconds."""
    until = time.monotonic() + 5
    while True:
        left = [pid for pid in processes if is_there(pid)]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.05)


@pytest.mark.unix
def test_workers_end_when_the_process_of_the_loader_is_killed(tmp_path: Path) -> None:
    workers, _ = left_by("os.kill(os.getpid(), 9)", tmp_path, "nap")
    left = are_there(workers)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


@pytest.mark.unix
@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "os.killpg(0, 2); time.sleep(9)"])
def test_a_program_that_ends_amid_a_pass_leaves_no_worker_and_none_says_anything(
    tmp_path: Path, end: str
) -> None:
    workers, errors = left_by(end, tmp_path)
    assert are_there(workers) == []
    assert errors.count("Traceback") == ("killpg" in end)  # that of the program itself


@pytest.mark.unix
def test_a_worker_that_is_killed_while_it_sends_is_told_as_one() -> None:
    items = Items(0, large_before_its_worker_is_killed)
    loader = data.DataLoader(items, 1, num_workers=1, collate_fn=as_is, multiprocessing_context=METHOD)
    batches = iter(loader)
    next(batches)
    time.sleep(0.6)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid \d+\) was killed by signal 9"):
        next(batches)


@pytest.mark.parametrize(
    ("dataset", "sampler", "message"),
    [
        (Items(Unwritable), None, "the batch cannot be sent from its worker: the file is closed"),
        (Items(Unreadable), None, "the batch from its worker cannot be read: nothing more to read"),
        ([0], [Unreadable()], "nothing more to read"),
    ],
)
def test_messages_that_fail_as_a_closed_pipe_does_are_told_apart(
    dataset: Any, sampler: Any, message: str
) -> None:
    loader = data.DataLoader(dataset, 1, sampler=sampler, num_workers=1, timeout=20, collate_fn=as_is,
                             multiprocessing_context=METHOD)  # fmt: skip
    with pytest.raises((RuntimeError, EOFError), match=message):
        list(loader)


@pytest.mark.parametrize(
    ("special", "process", "error", "message"),
    [
        ("raises", QUICKEST, KeyError, "no such row"),
        ("odd", "spawn", RuntimeError, "Odd: an odd error"),
        ("ends", QUICKEST, RuntimeError, r"DataLoader worker \(pid \d+\) exited with code 3"),
        ("lambda", QUICKEST, RuntimeError, "the batch cannot be sent from its worker"),
    ],
)
def test_what_happens_in_a_worker_is_told_here(special: str, process: str, error: type, message: str) -> None:
    loader = data.DataLoader(Numbers(10, special), 2, num_workers=2, collate_fn=as_is,
                             multiprocessing_context=process)  # fmt: skip
    seen: list[Any] = []
    with pytest.raises(error, match=message) as caught:
        seen.extend(loader)
    assert len(seen) == 2
    (told,) = caught.value.__notes__
    assert told.startswith("in worker process 0 of a DataLoader:")
    assert special not in ("raises", "odd") or "__getitem__" in told


@pytest.mark.long
@pytest.mark.unix
def test_a_worker_that_is_killed_and_one_that_takes_too_long_are_seen() -> None:
    for special, timeout, message in (
        ("killed", 0.0, "was killed by signal 9"),
        ("waits", 1.0, "timed out after 1.0 seconds, waiting for worker 0"),
    ):
        loader = data.DataLoader(Numbers(10, special), 2, num_workers=1, timeout=timeout,
                                 multiprocessing_context="spawn")  # fmt: skip
        with pytest.raises(RuntimeError, match=message):
            list(loader)


@pytest.mark.parametrize("process", PROCESSES[-1:])
def test_without_order_a_batch_comes_when_it_is_made(process: str) -> None:
    options: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": process, "collate_fn": as_is}
    for dataset in (Slow(), SlowStream()):
        ordered = [one for (one,) in data.DataLoader(dataset, **options)]
        assert ordered == [0, 1, 2, 3]
        free = [one for (one,) in data.DataLoader(dataset, in_order=False, **options)]
        assert sorted(free) == [0, 1, 2, 3]
        assert free[0] != 0  # the first worker waits before its first sample
    with pytest.raises(RuntimeError, match=r"timed out after 0.05 seconds, waiting for any of its workers"):
        list(data.DataLoader(Slow(), in_order=False, timeout=0.05, **{**options, "num_workers": 1}))


def test_a_worker_that_cannot_begin_says_why() -> None:
    loader = data.DataLoader(range(4), num_workers=1, worker_init_fn=fail, multiprocessing_context="spawn")
    with pytest.raises(OSError, match="worker 0 has no disk"):
        list(loader)


@one_test
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "num_workers option should be non-negative, but got -1"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified with workers"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor option should be positive, but got 0"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [1], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "mutually exclusive with drop_last"),
        ({"pin_memory_device": "cuda"}, "there is no device 'cuda'; kellet computes on 'cpu' alone"),
        ({"batch_size": 0}, "batch_size should be a positive integer value"),
    ],
)
def test_options_that_exclude_each_other_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        data.DataLoader(range(4), **options)


def test_a_stream_has_no_order_of_its_own() -> None:
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="expected no shuffle, sampler or batch_sampler"):
            data.DataLoader(Stream(), **options)  # type: ignore[arg-type]  # each is one of the options


def test_a_loader_can_be_pickled_and_torchs_place_has_the_same() -> None:
    import pickle

    loader = pickle.loads(pickle.dumps(data.DataLoader(range(3), 2)))
    assert [batch.tolist() for batch in loader] == [[0, 1], [2]]
    assert kellet.utils.data.DataLoader is data.DataLoader
