"""Threads that share an importer, children that are forked, and memory that stays bounded."""

from __future__ import annotations

import dis
import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from packager import PackageImporter, verify
from packager._archive import ArchiveReader
from packager._remote import Fetching, fetching
from packager.errors import ArchiveError, ArchiveIOError, RemoteError
from tests.remote.conftest import archive_of
from tests.remote.serving import FileServer, serving


def test_threads_share_an_importer_and_fetch_nothing_twice(server: FileServer) -> None:
    server.delay = 0.005
    with PackageImporter(server.address()) as importer:
        state = importer.load_state_dict("model", "weights")
        with ThreadPoolExecutor(16) as pool:
            found = [*pool.map(lambda n: float(state[f"layer.{n % 3}"].sum()), range(48))]
    assert len({*found}) == 3
    assert server.sent <= len(server.files["/net.kellet"]) + (1 << 18)


def test_arrays_stay_valid_when_the_importer_is_closed_and_no_connection_stays_open(
    server: FileServer,
) -> None:
    with PackageImporter(server.address()) as importer:
        array = importer.load_state_dict("model", "weights", as_="numpy")["layer.1"]
    gc.collect()
    assert not array.flags.writeable
    assert np.isfinite(array).all()
    with pytest.raises(ArchiveError, match="closed"):
        importer.archive.view("model/weights", 0, 10)


def test_what_is_written_to_one_tensor_reaches_no_other(server: FileServer) -> None:
    with PackageImporter(server.address()) as importer:
        one = importer.load_state_dict("model", "weights", as_="kellet")
        for key in one:
            one[key].numpy()[...] = 7  # before its neighbour is fetched, with which it shares a page
        other = importer.load_state_dict("model", "weights", as_="numpy")
        assert all((one[key].numpy() == 7).all() for key in one)
        assert not any((other[key] == 7).any() for key in other)


@pytest.mark.unix
def test_forked_child_has_what_was_fetched_and_is_told_of_the_rest(server: FileServer) -> None:
    with PackageImporter(server.address()) as importer:
        state = importer.load_state_dict("model", "weights", as_="numpy")
        expected = float(state["layer.0"].sum())
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                same = float(state["layer.0"].sum()) == expected
                try:
                    state["layer.2"]
                    told = "nothing"
                except RemoteError as error:
                    told = str(error)
                importer.close()  # waits for no lock of the parent, and ends none of its connections
                os.write(writing, f"{same} {told}".encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        told = os.read(reading, 10_000).decode()
        os.close(reading)
        os.close(writing)
        assert told.startswith("True ")
        assert "packager.Predictor" in told
        assert state["layer.2"].shape == (64, 4096)


def test_reading_with_bounds_keeps_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "KEPT", 1 << 20)
    data = archive_of({f"w{n}": np.full((1 << 18,), n, np.float32) for n in range(6)})
    with serving({"/net.kellet": data}) as server, ArchiveReader(server.address(), mmap=False) as reader:
        for name in reader.names():
            assert len(reader.read(name)) == reader.entry(name).size
        assert kept_of(reader) <= (1 << 20) + fetching.PIECE
        assert verify(server.address()).ok
    with serving({"/net.kellet": data}) as server, PackageImporter(server.address(), mmap=False) as importer:
        assert len(importer.load_state_dict("model", "weights", as_="numpy").copy()) == 6
        assert kept_of(importer.archive) <= (1 << 20) + fetching.PIECE


def kept_of(reader: ArchiveReader) -> int:
    """Return how many bytes are kept, which is seen inside alone."""
    source: Any = reader._container._source  # type: ignore[union-attr]  # it is one file
    return source._fetching._states[:].count(2) * fetching.GRAIN


class Slow:
    """Ranges that wait until they are let go, and fail as often as they are told to."""

    name, size, parallel, opening = "slow", 8 << 20, 2, (0, b"")

    def __init__(self) -> None:
        self.go = threading.Event()
        self.failures = 0
        self.reads: list[tuple[int, int]] = []

    def read(self, start: int, target: memoryview, landed: fetching.Landed) -> None:
        if not self.go.is_set():  # a wait can be left locked by an interrupt
            self.go.wait(10)
        self.reads.append((start, start + len(target)))
        if self.failures:
            self.failures -= 1
            raise RemoteError("slow: no", "slow")
        target[:] = b"x" * len(target)
        landed(len(target))

    def close(self) -> None:
        """Do nothing."""


def test_failure_ahead_of_use_is_told_by_nobody_and_tried_again() -> None:
    ranges, memory = Slow(), memoryview(bytearray(8 << 20))
    ranges.failures = 1
    found = Fetching(ranges, memory)
    found.will_need(0, 1 << 20)
    ranges.go.set()
    while found._threads:
        pass
    found.need(0, 1 << 20)
    assert bytes(memory[:3]) == b"xxx"
    assert len(ranges.reads) == 2


def test_failure_is_told_to_all_that_wait_for_it() -> None:
    ranges, told = Slow(), []
    ranges.failures = 100
    found = Fetching(ranges, memoryview(bytearray(8 << 20)))

    def need() -> None:
        try:
            found.need(0, 1 << 20)
        except RemoteError as error:
            told.append(error)

    threads = [threading.Thread(target=need) for _ in range(6)]
    for thread in threads:
        thread.start()
    while len(found._waiting) < 6:
        pass
    ranges.go.set()
    for thread in threads:
        thread.join(10)
    assert len(told) == 6
    assert len(ranges.reads) == 1
    assert not found._waiting


def test_two_that_need_the_same_wait_for_one_request() -> None:
    ranges, memory = Slow(), memoryview(bytearray(8 << 20))
    found = Fetching(ranges, memory)
    threads = [threading.Thread(target=found.need, args=(0, 1 << 20)) for _ in range(4)]
    for thread in threads:
        thread.start()
    ranges.go.set()
    for thread in threads:
        thread.join(10)
    assert ranges.reads == [(0, 1 << 20)]


def test_bytes_that_are_there_are_never_written_again() -> None:
    ranges, memory = Slow(), memoryview(bytearray(8 << 20))
    ranges.go.set()
    found = Fetching(ranges, memory)
    found.need(1 << 20, 2 << 20)
    memory[1 << 20] = 0
    found.need(0, 3 << 20)
    assert memory[1 << 20] == 0
    assert sorted(ranges.reads)[:2] == [(0, 1 << 20), (1 << 20, 2 << 20)]


def test_worker_opens_the_address_for_itself(server: FileServer) -> None:
    program = (
        "import pickle, sys; sys.path[:] = eval(sys.argv[1]); "
        "print(pickle.loads(bytes.fromhex(sys.argv[2])).greet('you'))"
    )
    with PackageImporter(server.address()) as importer:
        data = pickle.dumps(importer.import_module("net").Greeter()).hex()
        command = [sys.executable, "-c", program, repr(sys.path), data]
        before = len(server.asked)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "hello you", done.stderr
    assert len(server.asked) > before


@pytest.mark.parametrize("mapped", [True, False])
def test_system_without_files_in_memory_has_one_without_a_name(
    server: FileServer, mapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(fetching, "KEPT", 1 << 20)
    with PackageImporter(server.address(), mmap=mapped) as importer:
        state = importer.load_state_dict("model", "weights", as_="kellet")
        assert [state[key].shape for key in state] == [(64, 4096)] * 3


def test_system_without_the_memory_is_a_typed_error(
    server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: int, size: int) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(os, "truncate", refuse)
    with pytest.raises(ArchiveIOError, match="bytes of memory cannot be allocated") as told:
        PackageImporter(server.address())
    assert told.value.errno == 12


class Odd:
    """Ranges of a file of `size` bytes, all of them zero."""

    name, parallel, opening = "odd", 1, (0, b"")

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self, start: int, target: memoryview, landed: Any) -> None:
        target[:] = bytes(len(target))
        landed(len(target))

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("step", ["extend", "extendleft", "remove"])
def test_interrupt_leaves_no_grain_that_nobody_fetches(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(fetching.deque):  # type: ignore[type-arg]  # of pairs
        """A queue one of whose calls is interrupted, once."""

    def interrupt(self: Any, given: Any) -> None:
        monkeypatch.delattr(Interrupted, step)
        if step == "remove":
            self.remove(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching, "deque", Interrupted)
    monkeypatch.setattr(Interrupted, step, interrupt, raising=False)
    memory = memoryview(bytearray(8 * fetching.GRAIN))
    filled = Fetching(Odd(len(memory)), memory)
    with pytest.raises(KeyboardInterrupt):
        filled.need(0, len(memory))
    done = threading.Thread(target=filled.need, args=(0, len(memory)), daemon=True)
    done.start()
    done.join(5)
    assert not done.is_alive()


def interrupted_at(count: int, call: Callable[[], object], files: set[str]) -> bool:
    """Call, with an interrupt after the call of that number in `files`; return whether there were so many."""
    left, before = count, {}

    def trace(frame: Any, event: str, given: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            name, offset = before.get(id(frame)), frame.f_code.co_code[frame.f_lasti]
            before[id(frame)] = dis.opname[offset]
            if name in (
                "CALL",
                "CALL_FUNCTION_EX",
                "JUMP_BACKWARD",
                "RESUME",
            ):  # where signals are handled
                left -= 1
                if not left:
                    raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except (KeyboardInterrupt, RemoteError):
        pass
    finally:
        sys.settrace(None)
    return left <= 0


@pytest.mark.skipif(
    sys.version_info[:2] not in ((3, 11), (3, 13)),
    reason="opcodes are not traced, or `with` has a call in it",
)
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", ["need", "close"])
def test_interrupt_after_any_call_leaves_a_file_that_can_be_read(name: str, fails: bool) -> None:
    files = {fetching.__file__, threading.__file__}
    for count in range(1, 1000):
        ranges, memory = Slow(), memoryview(bytearray(8 << 20))
        ranges.parallel = 1
        ranges.go.set()
        ranges.failures = int(fails)
        found = Fetching(ranges, memory)
        if name == "close":
            with found._lock:
                found._enqueue(0, len(memory))
        call = found.close if name == "close" else lambda: found.need(0, 6 << 20)
        if not interrupted_at(count, call, files):
            break
        ranges.failures = 0
        done = threading.Thread(target=found.need, args=(0, len(memory)), daemon=True)
        done.start()
        done.join(5)
        assert not done.is_alive(), count
    assert 2 < count < 999


def test_size_that_a_server_claims_takes_no_memory() -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        filled = Fetching(Odd(1 << 42), memoryview(b""))
        assert not filled._is_there(0, 1 << 10)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
