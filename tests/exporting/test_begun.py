"""Tensors are written when they are saved: to a part beside the target, which never outlives the exporter."""

from __future__ import annotations

import errno
import gc
import io
import itertools
import os
import re
import sys
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from packager import PackageExporter, PackageImporter, PackagingError
from packager._archive import ArchiveIOError, ArchiveReader, TensorReader, output_files, verify
from packager.errors import ArchiveError
from tests import processes

pytestmark = pytest.mark.processes(share=3)


def parts(folder: Path) -> list[int]:
    """The sizes of what lies in a folder."""
    return [path.stat().st_size for path in folder.iterdir()]


def test_tensors_are_in_the_part_as_soon_as_they_are_saved(tmp_path: Path) -> None:
    exporter = PackageExporter(tmp_path / "out.kellet", policy="auto", prove=False)
    exporter.save_object("run", "plain", {"a": [1]})
    assert parts(tmp_path) == []
    exporter.save_state_dict("run", "weights", {"w": np.ones(3 << 17)})
    (size,) = parts(tmp_path)
    assert size > 3 << 20
    exporter.close()
    assert [path.name for path in tmp_path.iterdir()] == ["out.kellet"]


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_members_stand_in_the_order_of_the_calls() -> None:
    file, net = io.BytesIO(), nn.Linear(2, 1)
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_state_dict("run", "z", {"w": np.ones(2)})
        exporter.save_object("run", "m", net)
        exporter.save_object(
            "run", "built", nn.Linear(2, 1), factory=nn.Linear, config={"in_features": 2, "out_features": 1}
        )
        exporter.save_state_dict("run", "a", {"w": np.zeros(2)})
        exporter.save_example("m", {"input": np.ones((1, 2), "f4")})
        exporter.save_entry_point("m", "run", "m")
    with ArchiveReader(file) as reader:
        names = [name for name in reader.names() if reader.entry(name).kind == "tensors"]
    assert names == [
        "run/z",
        "run/m.safetensors",
        "run/built.safetensors",
        "run/a",
        ".data/checks/m/inputs.safetensors",
        ".data/checks/m/outputs.safetensors",
    ]


def test_what_is_planned_and_written_afterwards_has_the_same_bytes(tmp_path: Path) -> None:
    """A plan that is proved is written to a file of its own, from what was taken."""
    weights = {"w": np.arange(3 << 18, dtype="f4"), "small": np.ones(3)}
    with PackageExporter(tmp_path / "out.kellet", policy="auto", prove=False) as exporter:
        exporter.save_state_dict("run", "weights", weights)
        exporter.save_object("run", "again", weights)
        weights["w"][:] = 0
        plan = exporter.plan(prove=True)
        assert plan.ok
        assert exporter.proof is not None
    with PackageImporter(tmp_path / "out.kellet") as importer:
        assert np.array_equal(importer.load_object("run", "again")["w"], np.arange(3 << 18, dtype="f4"))


@pytest.mark.parametrize("library", ["numpy", "kellet"])
def test_one_storage_in_several_saves_is_stored_once(tmp_path: Path, library: str) -> None:
    array = np.random.default_rng(0).random((300, 500))
    weight: Any = array if library == "numpy" else kellet.from_numpy(array)
    path = tmp_path / "out.kellet"
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("run", "model", {"net": [weight]})
        exporter.save_state_dict("run", "first", {"net.weight": weight, "bias": np.zeros(3)})
        array[0, 0] = 7
        exporter.save_state_dict("run", "second", {"net.weight": weight, "bias": np.ones(3)})
        exporter.save_state_dict("run", "third", {"net.weight": weight, "bias": np.full(3, 2.0)})
    assert 2 * array.nbytes < path.stat().st_size < 2 * array.nbytes + 20_000
    with PackageImporter(path) as importer:
        model = np.asarray(importer.load_object("run", "model")["net"][0])
        states = [importer.load_state_dict("run", name) for name in ("first", "second", "third")]
        found = [np.asarray(state["net.weight"]) for state in states]
        assert [value[0, 0] == 7 for value in (model, *found)] == [False, False, True, True]
        assert all(np.array_equal(value[1:], array[1:]) for value in (model, *found))
        assert [state["bias"].tolist() for state in states] == [[0] * 3, [1] * 3, [2] * 3]


def test_packed_again_it_has_the_same_bytes(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
    with PackageExporter(tmp_path / "one.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("run", "net", net)
        exporter.save_state_dict("run", "state", net)
    with PackageImporter(tmp_path / "one.kellet") as importer:
        again = importer.load_object("run", "net")
        with PackageExporter(tmp_path / "two.kellet", policy="auto", prove=False) as exporter:
            exporter.save_object("run", "net", again)
            exporter.save_state_dict("run", "state", again)
    assert (tmp_path / "one.kellet").read_bytes() == (tmp_path / "two.kellet").read_bytes()


def _raised(exporter: PackageExporter) -> None:
    exporter.save_state_dict("run", "weights", {"w": np.ones(3)})
    with pytest.raises(ZeroDivisionError), exporter:
        raise ZeroDivisionError


def _refused(exporter: PackageExporter) -> None:
    exporter.save_state_dict("run", "weights", {"w": np.ones(3)})
    exporter.save_object("run", "bad", (value for value in ()))
    with pytest.raises(PackagingError, match="run/bad"):
        exporter.close()


def _unproved(exporter: PackageExporter) -> None:
    exporter.save_state_dict("run", "weights", {"w": np.ones(3)})
    exporter.save_source_string("net", "import not_installed_here")
    with pytest.raises(PackagingError, match="not_installed_here"):
        exporter.close()


@pytest.mark.parametrize("end", [_raised, _refused, _unproved])
@pytest.mark.parametrize("to_path", [True, False])
def test_nothing_stays_of_what_was_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[[PackageExporter], None], to_path: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    target = tmp_path / "out.kellet"
    target.write_bytes(b"an old file")
    buffer = io.BytesIO(b"an old file")
    end(PackageExporter(target if to_path else buffer, prove=False))
    assert [path.name for path in tmp_path.iterdir()] == ["out.kellet"]
    assert (target.read_bytes(), buffer.getvalue()) == (b"an old file", b"an old file")


@pytest.mark.unix
@pytest.mark.parametrize("to_path", [True, False])
def test_an_exporter_that_is_forgotten_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to_path: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gc.collect()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    exporter = PackageExporter(tmp_path / "out.kellet" if to_path else io.BytesIO(), prove=False)
    exporter.save_state_dict("run", "weights", {"w": np.ones(3 << 17)})
    assert len(os.listdir(tmp_path)) == 1
    with pytest.warns(ResourceWarning, match=r"out\.kellet was not written") if to_path else nullcontext():
        del exporter
        gc.collect()
    assert os.listdir(tmp_path) == []
    assert not before or len(os.listdir("/proc/self/fd")) == before


PROGRAM = """
import os, sys
import numpy as np
from packager import PackageExporter
exporter = PackageExporter(sys.argv[1])
exporter.save_state_dict("run", "weights", {"w": np.ones(3 << 17)})
"""


# From 3.12 on Python warns of a fork while the system still counts a thread, which may be one that
# digested, has been waited for, and is not quite gone.
AFTER_THREADS = ["-W", "ignore:This process:DeprecationWarning"]


@pytest.mark.parametrize(
    ("end", "code", "left"),
    [("", 0, 0), ("raise SystemExit(3)", 3, 0), ("1 / 0", 1, 0), ("os._exit(4)", 4, 1)],
)
def test_a_process_that_ends_leaves_nothing_that_the_next_does_not_remove(
    tmp_path: Path, end: str, code: int, left: int
) -> None:
    target = tmp_path / "out.kellet"
    done = processes.run([sys.executable, "-c", PROGRAM + end, str(target)], capture_output=True, check=False)
    assert (done.returncode, len(parts(tmp_path))) == (code, left), done.stderr
    with PackageExporter(target, prove=False) as exporter:
        exporter.save_state_dict("run", "weights", {"w": np.ones(3)})
    assert [path.name for path in tmp_path.iterdir()] == ["out.kellet"]


def test_a_forked_process_leaves_the_part_to_its_parent(tmp_path: Path) -> None:
    target = tmp_path / "out.kellet"
    program = PROGRAM + (
        "child = os.fork()\n"
        "if child == 0:\n    sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "exporter.close()\n"
    )
    done = processes.run(
        [sys.executable, *AFTER_THREADS, "-c", program, str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    with PackageImporter(target) as importer:
        assert importer.load_state_dict("run", "weights")["w"].tolist() == [1.0] * (3 << 17)


@pytest.mark.unix
def test_a_disk_that_is_full_ends_the_save_and_the_exporter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = PackageExporter(tmp_path / "out.kellet", prove=False)
    exporter.save_state_dict("run", "first", {"w": np.ones(3)})

    def full(*given: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        with pytest.raises(
            ArchiveIOError, match=r"out\.kellet: the archive could not be written: No space"
        ) as caught:
            exporter.save_state_dict("run", "second", {"w": np.ones(3 << 17)})
    assert caught.value.errno == errno.ENOSPC
    assert parts(tmp_path) == []
    with pytest.raises(PackagingError, match="this exporter was ended by an error"):
        exporter.save_text("run", "note", "")
    exporter.close()
    assert parts(tmp_path) == []


def _interrupt(step: str, done: int, total: int) -> None:
    raise KeyboardInterrupt


def test_a_save_that_is_interrupted_ends_the_exporter(tmp_path: Path) -> None:
    exporter = PackageExporter(tmp_path / "out.kellet", prove=False)
    exporter.save_state_dict("run", "first", {"w": np.ones(3)})
    exporter.progress = _interrupt
    with pytest.raises(KeyboardInterrupt):
        exporter.save_state_dict("run", "second", {"w": np.ones(3 << 17)})
    assert parts(tmp_path) == []
    with pytest.raises(PackagingError, match="this exporter was ended by an error"):
        exporter.save_state_dict("run", "third", {"w": np.ones(3)})


def test_a_save_that_fails_before_it_writes_changes_nothing(tmp_path: Path) -> None:
    long = {f"{number}{'x' * 2000}": np.zeros(1) for number in range(3)}
    with PackageExporter(tmp_path / "out.kellet", prove=False) as exporter:
        exporter.save_state_dict("run", "first", {"w": np.ones(3)})
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("packager._archive.safetensors.MAX_HEADER", 4000)
            with pytest.raises(
                ArchiveError, match="bytes of their safetensors header are more than the 4000"
            ):
                exporter.save_state_dict("run", "long", long)
        exporter.save_state_dict("run", "long", {"w": np.zeros(3)})
    with PackageImporter(tmp_path / "out.kellet") as importer:
        assert importer.load_state_dict("run", "long")["w"].tolist() == [0, 0, 0]


def test_half_a_save_that_fails_is_in_no_archive(tmp_path: Path) -> None:
    """The configuration is written by then, and cannot be taken back."""
    net = nn.Linear(2, 1)
    exporter = PackageExporter(tmp_path / "out.kellet", prove=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("packager._archive.safetensors.most_sizes", lambda size: 1)
        with pytest.raises(ArchiveError, match="3 sizes in their shapes are more than the 1 of one"):
            exporter.save_object("run", "net", net, factory=nn.Linear, config={"w": np.ones(3)})
    assert parts(tmp_path) == []
    with pytest.raises(PackagingError, match="this exporter was ended by an error"):
        exporter.save_text("run", "note", "")


def test_threads_save_side_by_side(tmp_path: Path) -> None:
    exporter = PackageExporter(tmp_path / "out.kellet", prove=False)

    def save(thread: int) -> None:
        for number in range(8):
            exporter.save_state_dict(
                "run", f"at{thread}_{number}", {"w": np.full(40_000, 10 * thread + number)}
            )

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(save, range(4)))
    exporter.close()
    with PackageImporter(tmp_path / "out.kellet") as importer:
        for thread, number in itertools.product(range(4), range(8)):
            found = importer.load_state_dict("run", f"at{thread}_{number}")["w"]
            assert np.array_equal(found, np.full(40_000, 10 * thread + number))


def test_what_is_written_to_meanwhile_has_the_digests_of_what_is_stored(tmp_path: Path) -> None:
    array, done = np.zeros(1 << 20), Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            number += 1
            array[:] = number

    with ThreadPoolExecutor(1) as threads:
        threads.submit(write)
        try:
            with PackageExporter(tmp_path / "out.kellet", prove=False) as exporter:
                for number in range(3):
                    exporter.save_state_dict("run", f"at{number}", {"w": array, "small": array[:50_000]})
        finally:
            done.set()
    with ArchiveReader(tmp_path / "out.kellet") as reader:
        assert verify(reader).problems == ()


def test_a_forked_process_cannot_write_into_the_file_of_its_parent(tmp_path: Path) -> None:
    target = tmp_path / "out.kellet"
    program = PROGRAM + (
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        exporter.save_state_dict('run', 'more', {'w': np.zeros(3)})\n"
        "    except Exception as error:\n"
        "        print(error, flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "exporter.save_state_dict('run', 'more', {'w': np.ones(3)})\n"
        "exporter.close()\n"
    )
    done = processes.run(
        [sys.executable, *AFTER_THREADS, "-c", program, str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(
        r"out\.kellet: process \d+ cannot write what process \d+ began; make another", done.stdout
    )
    with PackageImporter(target) as importer:
        assert importer.load_state_dict("run", "more")["w"].tolist() == [1, 1, 1]


class Nested:
    """Saves under the name that it is being saved under itself."""

    def __reduce_package__(self, exporter: Any) -> Any:
        exporter.save_object("run", "nested", {"w": np.ones(3)})
        return dict, ()


def test_a_name_that_a_nested_save_has_taken_is_told(tmp_path: Path) -> None:
    exporter = PackageExporter(tmp_path / "out.kellet", prove=False)
    with pytest.raises(PackagingError, match="run/nested was already saved in this archive"):
        exporter.save_object("run", "nested", Nested())
    exporter.close()
    with PackageImporter(tmp_path / "out.kellet") as importer:
        assert importer.load_object("run", "nested")["w"].tolist() == [1, 1, 1]


class Unwilling(io.BytesIO):
    def write(self, data: Any) -> int:
        raise OSError(errno.EPIPE, "nobody reads")


def test_an_error_of_a_file_object_is_its_own() -> None:
    exporter = PackageExporter(Unwilling(), prove=False)
    exporter.save_state_dict("run", "weights", {"w": np.ones(3)})
    with pytest.raises(BrokenPipeError, match="nobody reads"):
        exporter.close()


def test_what_cannot_be_stored_is_not_written(tmp_path: Path) -> None:
    exporter = PackageExporter(tmp_path / "out.kellet", prove=False)
    exporter.save_object("run", "model", {"w": np.ones(3 << 17), "bad": (value for value in ())})
    assert parts(tmp_path) == []
    assert [problem.subject for problem in exporter.plan().problems] == ["run/model"]
    with pytest.raises(PackagingError, match="run/model"):
        exporter.close()


def test_asking_for_the_plan_writes_nothing(tmp_path: Path) -> None:
    exporter = PackageExporter(tmp_path / "out.kellet", policy="auto", prove=False)
    exporter.save_source_string("net", "import math")
    exporter.save_text("net", "words", "one")
    exporter.save_pickle("net", "numbers", [1, 2])
    assert exporter.plan().ok
    assert parts(tmp_path) == []
    exporter.close()
    assert (tmp_path / "out.kellet").exists()


def test_progress_is_told_while_tensors_are_saved(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    exporter = PackageExporter(tmp_path / "out.kellet", policy="auto", prove=False)
    exporter.progress = lambda *step: told.append(step)
    exporter.save_state_dict("run", "weights", {"w": np.ones(3 << 20)})
    steps = [(done, total) for step, done, total in told if step == "writing tensors"]
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1] > 24 << 20
    exporter.close()
    assert (told[-1][0], told[-1][1]) == ("writing", told[-1][2])


@pytest.mark.parametrize(("saves", "size"), [(500, 3), (30, 150_000)])
def test_saves_need_no_descriptor_each(tmp_path: Path, saves: int, size: int) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with PackageExporter(tmp_path / "out.kellet", prove=False) as exporter:
        for number in range(saves):
            exporter.save_state_dict("run", f"at{number}", {"w": np.full(size, number)})
        assert not before or len(os.listdir("/proc/self/fd")) <= before + 2
    with ArchiveReader(tmp_path / "out.kellet") as reader:
        last = TensorReader(reader, f"run/at{saves - 1}").data("w")
        assert np.array_equal(np.frombuffer(last, "i8"), np.full(size, saves - 1))


@pytest.mark.parametrize(
    "save",
    [
        lambda exporter, array: exporter.save_state_dict("run", "w", {"w": array, "step": 3}),
        lambda exporter, array: exporter.save_state_dict("run", "w", OrderedDict(w=array, tied=array[2:])),
        lambda exporter, array: exporter.save_object("run", "w", {"model": {"w": array}, "epoch": 1}),
        lambda exporter, array: exporter.save_object("run", "w", [(array, array[::2])]),
    ],
    ids=["state", "ties", "checkpoint", "list"],
)
def test_what_is_never_called_is_let_go_of_when_it_is_saved(save: Callable[[Any, Any], None]) -> None:
    array = np.arange(5000, dtype="f4")
    held = weakref.ref(array)
    with PackageExporter(io.BytesIO(), policy="auto", prove=False) as exporter:
        save(exporter, array)
        del array
        gc.collect()
        assert held() is None
        assert exporter.plan().ok


def test_an_object_is_kept_for_calls_to_come_and_no_longer_than_that() -> None:
    net, file = nn.Linear(3, 2), io.BytesIO()
    held, of_state = weakref.ref(net), weakref.ref(other := nn.Linear(2, 2))
    exporter = PackageExporter(file, policy="auto", prove=False)
    exporter.save_object("run", "net", net)
    exporter.save_state_dict("run", "state", other)
    del net, other
    gc.collect()
    assert (held() is None, of_state() is None) == (False, True)
    exporter.save_entry_point("score", "run", "net")
    exporter.save_example("score", {"arg0": np.ones((1, 3), "f4")})
    exporter.close()
    gc.collect()
    assert held() is None
    assert [point.name for point in exporter.plan().entry_points] == ["score"]
    with PackageImporter(file) as importer:
        assert importer.check()[0].within(0)


def test_an_entry_point_of_a_container_is_refused_by_its_class() -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("run", "values", {"a": 1})
    exporter.save_entry_point("values", "run", "values", "update")
    with pytest.raises(PackagingError, match=r"of builtins\.dict is not defined by code of the archive"):
        exporter.close()


@pytest.mark.parametrize("digests", ["sha256", "crc"])
def test_what_is_saved_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digests: Any) -> None:
    hashed: list[int] = []
    original = output_files.hashlib.sha256

    def counted(data: bytes) -> Any:
        hashed.append(len(data))
        return original(data)

    monkeypatch.setattr(output_files, "hashlib", SimpleNamespace(sha256=counted))
    size = 5 << 20
    with PackageExporter(tmp_path / "out.kellet", policy="auto", digests=digests, prove=False) as exporter:
        for number, name in enumerate(("first", "second"), 1):
            exporter.save_state_dict("run", name, {"w": np.full(size // 4, number, "f4")})
            exporter.plan()
    assert sum(hashed) < 2.01 * size
    assert (sum(hashed) >= 2 * size) == (digests == "sha256")
