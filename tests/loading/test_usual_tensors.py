"""The usual tensors of a mapped state dict come by a straight path: the same values, checks and errors."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import IntegrityError, PackageExporter, PackageImporter
from packager._archive import ArchiveChangedError, ArchiveClosedError, ArchiveReader, EntryRecord

CHUNK = 1 << 20
BASE = np.arange(60, dtype=np.int16).reshape(6, 10)
SMALL: dict[str, Any] = {
    "scalar": np.array(2.5),
    **{f"w{n}": np.full((n % 7, 3), n, "<f4") for n in range(30)},
    "wide": np.array([1j, 2]),  # rows of bytes: safetensors has no word for it
    "base": BASE,
    "turned": BASE.T,
    "rows": BASE[2:4],
    "text": "a value",
    "when": np.array(["2020-01-01"], "<M8[D]"),
    "flags": np.ones((2, 1, 3), bool),
}
# Each is two chunks long, and lies in the file far from where its number is: keys are sorted as texts.
LARGE = {f"layer{n}": np.full(CHUNK // 4, n, "<f4") for n in range(40)}


def saved(folder: Path, state: Any, **options: Any) -> Path:
    path = folder / "state.kellet"
    with PackageExporter(path, prove=False, **options) as exporter:
        exporter.save_state_dict("net", "weights", state)
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("small"), SMALL)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("large"), LARGE)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The chunks of tensors whose digests are computed, in their order."""
    chunks: list[int] = []
    found_right = EntryRecord.found_right

    def counted(self: EntryRecord, data: memoryview, some: Any, digests: str) -> list[bool]:
        if self.kind == "tensors":
            chunks.extend(some)
        return found_right(self, data, some, digests)

    monkeypatch.setattr(EntryRecord, "found_right", counted)
    return chunks


def one_by_one(path: Path, **options: Any) -> Iterator[tuple[str, Any]]:
    """Each value by a mapping of its own, which makes no table."""
    with PackageImporter(path, **options) as importer:
        for key in importer.load_state_dict("net", "weights"):
            yield key, importer.load_state_dict("net", "weights")[key]


@pytest.mark.parametrize("digests", ["none", "crc", "sha256"])
@pytest.mark.parametrize("opened", ["mapped", "bytes", "read"])
def test_a_loop_and_many_give_what_each_key_gives_alone(small: Path, digests: str, opened: str) -> None:
    alone = dict(one_by_one(small, digests=digests))
    source = small.read_bytes() if opened == "bytes" else small
    for take in (dict, lambda state: state.many(list(state)), lambda state: dict(state.items())):
        with PackageImporter(source, digests=digests, mmap=opened != "read") as importer:
            state = importer.load_state_dict("net", "weights")
            found = take(state)
            assert (state._usual is None) is (opened == "read")
        assert list(found) == list(alone) == list(SMALL)
        assert len(state) == len(SMALL)
        assert found.pop("text") == "a value"
        for key, value in found.items():
            other = alone[key]
            assert (value.dtype, value.shape, value.strides) == (other.dtype, other.shape, other.strides)
            assert (value.flags.writeable, value.flags.aligned) == (False, True)
            np.testing.assert_array_equal(value, other)


def test_which_tensors_are_usual(small: Path) -> None:
    with PackageImporter(small) as importer:
        state = importer.load_state_dict("net", "weights")
        state.many(state)
        unusual = {"wide", "turned", "rows", "text", "when", *(f"w{n}" for n in range(0, 30, 7))}
        assert state._usual is not None
        assert set(state._usual.places) == set(SMALL) - unusual


def test_few_keys_make_no_table(large: Path) -> None:
    with PackageImporter(large) as importer:
        state = importer.load_state_dict("net", "weights")
        for key in ("layer3", "layer1", "layer2", "layer2"):
            assert state[key][0] == int(key[5:])
        assert state.many(["layer7"]).keys() == {"layer7"}
        assert state._usual is None


def test_a_loop_that_stops_has_checked_at_most_twice_what_it_used(large: Path, checked: list[int]) -> None:
    for steps in (1, 2, 5, 9, 20, 33):
        checked.clear()
        with PackageImporter(large) as importer:
            state = importer.load_state_dict("net", "weights")
            for key, _ in zip(state, range(steps), strict=False):
                state[key]
            alone = {chunk for key in list(state)[:steps] for chunk in chunks_of(state, key)}
        assert len(set(checked)) == len(checked), "nothing is checked twice"
        assert alone <= set(checked)
        assert len(checked) <= 2 * len(alone), steps


def chunks_of(state: Any, key: str) -> range:
    start = state._tensors.storage_place(state.spec(key).storage).start
    return range(start // CHUNK, -(-(start + state.spec(key).shape[0] * 4) // CHUNK))


@pytest.mark.parametrize("library", ["numpy", "kellet"])
def test_a_loop_checks_in_batches_and_other_orders_do_not(large: Path, library: str) -> None:
    orders = {"a loop": list(LARGE), "backwards": list(reversed(LARGE))}
    calls = {}
    for name, keys in orders.items():
        with PackageImporter(large, digests="sha256") as importer:
            state = importer.load_state_dict("net", "weights", as_=library)
            at_once: list[int] = []
            require = importer.archive.require

            def counted(*arguments: Any, check: Any = require, at_once: list[int] = at_once) -> int:
                at_once.append(check(*arguments))
                return at_once[-1]

            importer.archive.require = counted  # type: ignore[method-assign]  # counts what it returns
            for key in keys:
                assert int(state[key][-1].item()) == int(key[5:])
            calls[name] = max(at_once, default=0)
    assert calls["backwards"] <= 2
    assert calls["a loop"] > 10


@pytest.mark.parametrize("digests", ["crc", "sha256"])
def test_damage_is_told_of_the_tensor_that_is_used_and_of_no_other(large: Path, digests: str) -> None:
    data = bytearray(large.read_bytes())
    data[data.index(LARGE["layer21"].tobytes()) + 1] ^= 1
    with PackageImporter(bytes(data), digests=digests) as importer:
        state = importer.load_state_dict("net", "weights")
        messages = {}
        for _ in range(2):
            for key in state:
                try:
                    assert state[key][-1] == int(key[5:])
                except IntegrityError as error:
                    messages[key] = str(error)
        wrong = importer.load_state_dict("net", "weights")
        for key, message in messages.items():
            with pytest.raises(IntegrityError) as refused:
                wrong[key]
            assert str(refused.value) == message
        assert "layer21" in messages
        assert len(messages) == 2  # its neighbour lies in the same chunk
        rest = [key for key in LARGE if key not in messages]
        assert state.many(rest).keys() == set(rest)
        with pytest.raises(IntegrityError) as refused:
            state.many(state)
        assert str(refused.value) == messages["layer21"]


def test_a_file_that_is_written_to_is_found_out_at_the_next_use(tmp_path: Path) -> None:
    path = saved(tmp_path, {f"w{n}": np.arange(4.0) for n in range(40)})
    for digests in ("none", "crc"):
        with PackageImporter(path, digests=digests) as importer:
            state = importer.load_state_dict("net", "weights")
            values = iter(state.values())
            for _ in range(20):
                next(values)
            assert state._usual is not None
            whole = path.read_bytes()
            os.truncate(path, 100)
            for use in (lambda values=values: next(values), lambda: state["w3"], lambda: state.many(state)):
                with pytest.raises(ArchiveChangedError):
                    use()
            path.write_bytes(whole)


def test_a_touched_file_is_read_on_and_checked_anew(large: Path, checked: list[int]) -> None:
    with PackageImporter(large) as importer:
        state = importer.load_state_dict("net", "weights")
        dict(state)
        assert len(checked) == len(set(checked)) > 39
        checked.clear()
        os.utime(large)
        assert state["layer5"][0] == 5.0
        assert checked == list(chunks_of(state, "layer5"))


def test_values_outlive_an_archive_that_gives_no_more_of_them(large: Path) -> None:
    with PackageImporter(large) as importer:
        state = importer.load_state_dict("net", "weights")
        found = dict(state)
    assert [int(array[7]) for array in found.values()] == list(range(40))
    for use in (lambda: state["layer0"], lambda: state.many(state), lambda: next(iter(state.values()))):
        with pytest.raises(ArchiveClosedError):
            use()


@pytest.mark.parametrize("count", [3, 20])
def test_what_is_held_is_given_again_where_its_file_gives_no_more(tmp_path: Path, count: int) -> None:
    path = saved(tmp_path, {f"k{n}": np.full(4, n, "<f4") for n in range(count)})
    with PackageImporter(path) as importer:
        state = importer.load_state_dict("net", "weights", as_="kellet")
        for key in state:
            state[key]
        state["k2"].fill_(7.0)
        with open(path, "r+b") as file:
            file.write(bytes(100))
        assert state["k1"].tolist() == [1.0] * 4
    assert state["k2"].tolist() == [7.0] * 4


def test_threads_that_go_through_one_state_dict_find_the_same(large: Path) -> None:
    with PackageImporter(large) as importer:
        state = importer.load_state_dict("net", "weights")
        found: list[list[int]] = []

        def read(step: int) -> None:
            found.append([int(state[key][0]) for key in list(LARGE)[::step]])

        threads = [threading.Thread(target=read, args=(step,)) for step in (1, -1, 1, 2, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(sum, found)) == sorted([780, 780, 780, 780, 380])


def test_a_forked_process_goes_on_with_the_same_state_dict(large: Path) -> None:
    with PackageImporter(large) as importer:
        state = importer.load_state_dict("net", "weights")
        for key in list(LARGE)[:10]:
            state[key]
        child = os.fork()
        if not child:  # pragma: no cover  # another process
            right = [int(array[0]) for array in state.values()] == list(range(40))
            os._exit(0 if right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_reader_says_what_is_steady(large: Path, small: Path, tmp_path: Path) -> None:
    for options, steady in (({}, True), ({"mmap": False}, False), ({"mmap": "prefetch"}, False)):
        with ArchiveReader(large, **options) as reader:  # type: ignore[arg-type]  # options by name
            memory = reader.steady_memory("net/weights")
            assert (memory is not None) is steady
            assert memory is None or memory.readonly


def test_an_archive_without_sha256_is_refused_alike_by_each_key(tmp_path: Path) -> None:
    path = saved(tmp_path, {f"w{n}": np.arange(4.0) for n in range(40)}, digests="crc")
    with PackageImporter(path, digests="sha256") as importer:
        state = importer.load_state_dict("net", "weights")
        for key in state:
            with pytest.raises(IntegrityError, match="it has no sha256, as the archive was written with"):
                state[key]
        with pytest.raises(IntegrityError, match="it has no sha256, as the archive was written with"):
            state.many(state)
