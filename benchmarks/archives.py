"""State dicts as files: save, open, touch, read one tensor, verify; beside the libraries that do the same.

Three state dicts: 300 tensors of 399 MB, 8 of 1,074 MB, 20,000 of 665 MB. Everything stays in the
page cache. A save is timed to the rename and without fsync, for everybody alike; the price of fsync
has its own row. "writev", "mmap" and "read" are the least that the system takes for the same bytes.
"packager" reads and writes by inner functions, as a program does that knows the format (what users call is
timed in `public_calls`); "load_state_dict" is
the mapping that a user gets, asked for every key. Memory is what a fresh process takes at most while
it opens a file and touches nothing, beyond what it had before.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.places import folder_of
from benchmarks.row import Contender, Goal, Row
from packager import PackageImporter
from packager.archive import (
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    StateDictRecord,
    TensorReader,
    TensorSpec,
    add_tensors,
    verify,
)
from packager.archive.entries import crc32

SECTION = "State dicts in files, by inner functions"
SAVING = (
    "records come one by one here, where a state dict's tensors are columns; with few large ones it is the "
    "digests and the copy that they are made of, which share two cores with the writing."
)
OPENING = (
    "the manifest and the index are read and held against each other, field by field, before either is "
    "believed; a bare header is neither digested nor compared with anything."
)
REMEMBERING = "the records of the manifest and the modules that check them are part of it."
TOUCHING = "each tensor is looked up and handed out as a view of its own, in Python; a map is walked at once."
MEMBER = "net/weights"
CHUNK = 1 << 20


@dataclass(frozen=True)
class Case:
    """A state dict: how many tensors, and how many bytes in all."""

    tensors: int
    megabytes: int

    def __str__(self) -> str:
        return f"{self.megabytes:,} MB in {self.tensors:,} tensors"


CASES = (Case(300, 399), Case(8, 1074), Case(20_000, 665))
SMALL = (Case(300, 3), Case(8, 1), Case(20_000, 8))


def rows() -> list[Row]:
    cases = SMALL if os.environ.get("KELLET_BENCH_SMALL") else CASES
    return [row for case in cases for row in _rows_of(case)]


def _savers(case: Case) -> dict[str, Callable[[Case], Contender]]:
    """Who saves; the slower peers in the first case alone."""
    saves: dict[str, Callable[[Case], Contender]] = {
        "packager": lambda case: _saving(case, "packager", digests="crc"),
        "writev": lambda case: _saving(case, "writev"),
        "safetensors": lambda case: _saving(case, "safetensors"),
    }
    if case.tensors == CASES[0].tensors:
        saves["torch"] = lambda case: _saving(case, "torch")
        saves["numpy"] = lambda case: _saving(case, "numpy")
    return saves


def _rows_of(case: Case) -> list[Row]:
    many, large = case.tensors > 1000, case.tensors < 100

    def row(
        title: str, contenders: dict[str, Any], goals: tuple[Goal, ...], why: str = "", unit: str = "ms"
    ) -> Row:
        bound = {name: lambda m=make: m(case) for name, make in contenders.items()}
        return Row(
            SECTION, f"{case}: {title}", unit, bound, goals, subject="packager", why=why, most_rounds=5
        )

    saves = _savers(case)
    with_sha256 = {**saves, "packager": lambda case: _saving(case, "packager", digests="sha256")}
    synced = {
        "packager": lambda case: _saving(case, "packager", digests="sha256", fsync=True),
        "without": lambda case: _saving(case, "packager", digests="sha256"),
    }
    opens = {
        "packager": _opening,
        "load_state_dict": _opening_importer,
        "safetensors.torch": _opening_safetensors,
        "torch": _opening_torch,
        "mmap": _opening_map,
    }
    memories = {
        "packager": lambda case: _memory(case, "packager"),
        "safetensors": lambda case: _memory(case, "safetensors"),
        "torch": lambda case: _memory(case, "torch"),
    }
    touches = {
        "packager": lambda case: _touching(case, "none"),
        "load_state_dict": lambda case: _touching_importer(case, "none"),
        "mmap": lambda case: _touching_map(case, None),
        "safetensors.torch": _touching_safetensors_torch,
        "safetensors": _touching_safetensors,
    }
    with_crc = {
        "packager": lambda case: _touching(case, "crc"),
        "mmap + CRC": lambda case: _touching_map(case, crc32),
    }
    if many:
        with_crc["safetensors.torch"] = _touching_safetensors_torch
    checked = {
        "packager": lambda case: _touching(case, "sha256"),
        "mmap + sha256": lambda case: _touching_map(case, _sha256),
    }
    ones = {"packager": _one_tensor, "read": _one_tensor_read, "safetensors": _one_tensor_safetensors}
    verifies = {"packager": _verifying, "mmap + sha256": lambda case: _touching_map(case, _sha256)}
    two = {name: with_sha256[name] for name in ("packager", "writev")}
    save_goals = (Goal(1.1, "writev"), Goal(0.9 if many else 1.0, "safetensors"))
    open_goals = (Goal(2 if many else 1), Goal(0.01, "safetensors.torch")) if many else (Goal(1),)
    touch_goal = Goal(0.35, "safetensors.torch") if many else Goal(1.1, "mmap")
    one_goals = (
        (Goal(2.5), Goal(0.1, "safetensors")) if many else (Goal(1.1, "read" if large else "safetensors"),)
    )
    # With many tensors it is the making of arrays that costs, and reading the CRC adds to that.
    crc_goal = Goal(0.45, "safetensors.torch") if many else Goal(1.1, "mmap + CRC")
    return [
        row("save with CRC-32", saves, save_goals, SAVING),
        row("save with sha256", two, (Goal(1.35, "writev"),), SAVING),
        *([row("save with sha256 and fsync", synced, ())] if case.tensors == CASES[0].tensors else []),
        row("open, nothing touched", opens, open_goals, OPENING),
        row("peak memory before touching", memories, (Goal(8 if many else 2),), REMEMBERING, "MB"),
        row("load and touch everything", touches, (touch_goal,), TOUCHING),
        row("load and touch everything, CRC-32 checked", with_crc, (crc_goal,), TOUCHING),
        row("load and touch everything, sha256 checked", checked, (Goal(1.2, "mmap + sha256"),), TOUCHING),
        row("open and copy one tensor", ones, one_goals, OPENING),
        row("verify", verifies, ()),
    ]


@lru_cache(maxsize=1)
def _state(case: Case) -> dict[str, np.ndarray]:
    each = case.megabytes * 1_000_000 // case.tensors // 4
    return {f"model.layer{i}.block.weight": np.full(each, i, np.float32) for i in range(case.tensors)}


def _middle(case: Case) -> str:
    return f"model.layer{case.tensors // 2}.block.weight"


def _file(case: Case, library: str, **options: Any) -> Path:
    """The file of a library, written once and kept while its case is measured."""
    name = f"{case.tensors}.{library}"
    path = folder_of(__name__) / name
    if not path.exists():
        for old in folder_of(__name__).iterdir():
            if not old.name.startswith(f"{case.tensors}."):
                old.unlink()
        _SAVES[library](_state(case), path, **options)
    return path


def _save_packager(
    state: dict[str, np.ndarray], path: Path, digests: str = "sha256", fsync: bool = False
) -> None:
    with ArchiveWriter(path, digests=digests, fsync=fsync) as writer:
        tensors = [
            TensorSpec(key, "F32", array.shape, (1,), 0, i) for i, (key, array) in enumerate(state.items())
        ]
        add_tensors(writer, MEMBER, tensors, list(state.values()))
        writer.seal(Manifest(state_dicts=(StateDictRecord("net", "weights", MEMBER),)))


def _save_writev(state: dict[str, np.ndarray], path: Path) -> None:
    buffers = [memoryview(array).cast("B") for array in state.values()]
    with open(f"{path}.part", "wb", buffering=0) as file:
        batch: list[memoryview] = []
        for buffer in buffers:
            for start in range(0, len(buffer), 8 * CHUNK):
                batch.append(buffer[start : start + 8 * CHUNK])
                if len(batch) == 256 or sum(map(len, batch)) >= 8 * CHUNK:
                    os.writev(file.fileno(), batch)
                    batch = []
        os.writev(file.fileno(), batch)
    os.rename(f"{path}.part", path)


def _save_safetensors(state: dict[str, np.ndarray], path: Path) -> None:
    from safetensors.numpy import save_file

    save_file(state, f"{path}.part")
    os.rename(f"{path}.part", path)


def _save_torch(state: dict[str, np.ndarray], path: Path) -> None:
    import torch

    torch.save({key: torch.from_numpy(array) for key, array in state.items()}, f"{path}.part")
    os.rename(f"{path}.part", path)


def _save_numpy(state: dict[str, np.ndarray], path: Path) -> None:
    with open(f"{path}.part", "wb") as file:
        np.savez(file, **state)
    os.rename(f"{path}.part", path)


_SAVES: dict[str, Callable[..., None]] = {
    "packager": _save_packager,
    "writev": _save_writev,
    "safetensors": _save_safetensors,
    "torch": _save_torch,
    "numpy": _save_numpy,
}


def _saving(case: Case, library: str, **options: Any) -> Contender:
    if library in ("safetensors", "torch"):
        __import__(library)
    state, path = _state(case), folder_of(__name__) / f"saved.{library}"

    def run() -> float:
        start = perf_counter()
        _SAVES[library](state, path, **options)
        spent = perf_counter() - start
        # What is written back later would disturb whoever comes next.
        path.unlink()
        return spent

    return Contender(run, times_itself=True)


def _stored(case: Case, digests: str = "none") -> tuple[ArchiveReader, TensorReader]:
    reader = ArchiveReader(_file(case, "packager"), digests=digests)
    return reader, TensorReader(reader, MEMBER)


def _opening(case: Case) -> Contender:
    _file(case, "packager")
    return Contender(lambda: _stored(case, "crc"))


def _opening_importer(case: Case) -> Contender:
    path = _file(case, "packager")
    return Contender(lambda: PackageImporter(path).load_state_dict("net", "weights"))


def _opening_safetensors(case: Case) -> Contender:
    from safetensors.torch import load_file

    path = str(_file(case, "safetensors"))
    return Contender(lambda: load_file(path))


def _opening_torch(case: Case) -> Contender:
    import torch

    path = str(_file(case, "torch"))
    return Contender(lambda: torch.load(path, mmap=True, weights_only=True))


def _opening_map(case: Case) -> Contender:
    path = _file(case, "writev")
    return Contender(lambda: _map(path))


def _map(path: Path) -> mmap.mmap:
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


OPEN = {
    "packager": (
        "from packager import PackageImporter; from packager.loading import stored_objects",
        "state = PackageImporter({path!r}).load_state_dict('net', 'weights')",
    ),
    "safetensors": ("from safetensors.numpy import load_file", "state = load_file({path!r})"),
    "torch": ("import torch", "state = torch.load({path!r}, mmap=True, weights_only=True)"),
}
PEAK = """
{before}
def taken(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1000
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = taken("VmRSS")
{opened}
assert len(state) == {count}
print(taken("VmHWM") - before)
"""


def _memory(case: Case, library: str) -> Contender:
    """Megabytes that a fresh process takes at most while it opens the file, its libraries not counted."""
    __import__(library)
    path = str(_file(case, library))
    before, opened = OPEN[library]
    program = PEAK.format(before=before, opened=opened.format(path=path), count=case.tensors)

    def run() -> float:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return float(done.stdout)

    return Contender(run, times_itself=True)


def _touching(case: Case, digests: str) -> Contender:
    """All tensors as arrays over the map, then one number of every page."""

    def load() -> dict[str, np.ndarray]:
        _, stored = _stored(case, digests)
        section = stored.section()
        return {key: np.ndarray(shape, "<f4", section, start) for key, _, shape, start in stored.contiguous()}

    _file(case, "packager")
    return Contender(lambda: _touch(load()), result=lambda: [_touch(load())])


def _touching_importer(case: Case, digests: str) -> Contender:
    def load() -> dict[str, np.ndarray]:
        return dict(PackageImporter(path, digests=digests).load_state_dict("net", "weights"))

    path = _file(case, "packager")
    return Contender(lambda: _touch(load()), result=lambda: [_touch(load())])


def _touching_safetensors(case: Case) -> Contender:
    from safetensors.numpy import load_file

    path = str(_file(case, "safetensors"))
    return Contender(lambda: _touch(load_file(path)), result=lambda: [_touch(load_file(path))])


def _touching_safetensors_torch(case: Case) -> Contender:
    import torch
    from safetensors.torch import load_file

    torch.set_num_threads(1)
    path = str(_file(case, "safetensors"))
    return Contender(lambda: _touch({key: tensor.numpy() for key, tensor in load_file(path).items()}))


def _touch(state: dict[str, np.ndarray]) -> float:
    return float(sum([array[::1024].sum() for array in state.values()]))


def _touching_map(case: Case, digest: Callable[[memoryview], object] | None) -> Contender:
    """One number of every page of a bare map; with a digest, of every chunk on two threads as well."""
    path = _file(case, "writev")

    def run() -> float:
        view = memoryview(_map(path))
        if digest is not None:
            with ThreadPoolExecutor(2) as threads:
                list(
                    threads.map(digest, [view[start : start + CHUNK] for start in range(0, len(view), CHUNK)])
                )
        return float(np.frombuffer(view, "<f4")[::1024].sum())

    return Contender(run)


def _sha256(data: memoryview) -> bytes:
    return hashlib.sha256(data).digest()


def _one_tensor(case: Case) -> Contender:
    key = _middle(case)

    def run() -> np.ndarray:
        _, stored = _stored(case)
        return np.frombuffer(stored.data(key), "<f4").copy()

    _file(case, "packager")
    return Contender(run, result=lambda: [run()])


def _one_tensor_read(case: Case) -> Contender:
    path, size = _file(case, "writev"), _state(case)[_middle(case)].nbytes
    place = case.tensors // 2 * size

    def run() -> np.ndarray:
        data = np.empty(size // 4, "<f4")
        with open(path, "rb", buffering=0) as file:
            os.preadv(file.fileno(), [memoryview(data).cast("B")], place)
        return data

    return Contender(run, result=lambda: [run()])


def _one_tensor_safetensors(case: Case) -> Contender:
    from safetensors import safe_open

    path, key = str(_file(case, "safetensors")), _middle(case)

    def run() -> np.ndarray:
        with safe_open(path, "np") as file:
            return file.get_tensor(key)

    return Contender(run, result=lambda: [run()])


def _verifying(case: Case) -> Contender:
    path = _file(case, "packager")

    def run() -> None:
        with ArchiveReader(path) as reader:
            verify(reader).raise_for_problems()

    return Contender(run)
