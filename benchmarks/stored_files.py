"""Three state dicts, and their files as each library writes them: written once for all rows of a case.

300 tensors of 399 MB, 8 of 1,074 MB, 20,000 of 665 MB. Everything stays in the page cache. "writev" is the
bare bytes, one tensor behind another, and "mmap" and "read" are the least that the system takes to hand
them out.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.places import folder_of
from benchmarks.row import is_small

PACKAGE, RESOURCE = "net", "weights"
CHUNK = 1 << 20


@dataclass(frozen=True)
class Case:
    """A state dict: how many tensors, and how many bytes in all."""

    tensors: int
    megabytes: int

    def __str__(self) -> str:
        return f"{self.megabytes:,} MB in {self.tensors:,} tensors"

    @property
    def middle(self) -> str:
        """Return the key of the tensor that is asked for where one is."""
        return f"model.layer{self.tensors // 2}.block.weight"


_CASES = (Case(300, 399), Case(8, 1074), Case(20_000, 665))
_SMALL = (Case(300, 3), Case(8, 1), Case(2_000, 1))


def cases() -> tuple[Case, ...]:
    """Return the state dicts, or small ones where rows are only started once."""
    return _SMALL if is_small() else _CASES


@lru_cache(maxsize=1)
def state_of(case: Case) -> dict[str, np.ndarray]:
    """Return the arrays of a case by their keys."""
    each = case.megabytes * 1_000_000 // case.tensors // 4
    return {f"model.layer{i}.block.weight": np.full(each, i, np.float32) for i in range(case.tensors)}


def file_of(case: Case, library: str) -> Path:
    """Return the file of a library; those of other cases are removed before it is written."""
    path = folder_of(__name__) / f"{case.tensors}.{library}"
    if not path.exists():
        for old in folder_of(__name__).iterdir():
            if not old.name.startswith(f"{case.tensors}."):
                old.unlink()
        SAVES[library](state_of(case), path)
    return path


def save_packager(
    state: Mapping[str, np.ndarray], path: Path, digests: str = "sha256", fsync: bool = False
) -> None:
    """Save as users do."""
    from packager import PackageExporter

    with PackageExporter(path, prove=False, digests=digests, fsync=fsync) as exporter:
        exporter.save_state_dict(PACKAGE, RESOURCE, state)


def save_writev(state: Mapping[str, np.ndarray], path: Path) -> None:
    """Write the bare bytes, in batches of a few megabytes."""
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


def save_safetensors(state: Mapping[str, np.ndarray], path: Path) -> None:
    """Save with safetensors, to the rename."""
    from safetensors.numpy import save_file

    save_file(dict(state), f"{path}.part")
    os.rename(f"{path}.part", path)


def save_torch(state: Mapping[str, np.ndarray], path: Path) -> None:
    """Save with torch, to the rename."""
    import torch

    torch.save({key: torch.from_numpy(array) for key, array in state.items()}, f"{path}.part")
    os.rename(f"{path}.part", path)


def save_numpy(state: Mapping[str, np.ndarray], path: Path) -> None:
    """Save with NumPy, to the rename."""
    with open(f"{path}.part", "wb") as file:
        np.savez(file, **state)
    os.rename(f"{path}.part", path)


SAVES: dict[str, Callable[..., None]] = {
    "packager": save_packager,
    "writev": save_writev,
    "safetensors": save_safetensors,
    "torch": save_torch,
    "numpy": save_numpy,
}


def touch(state: Mapping[str, Any]) -> float:
    """Return the sum of one number of every page of every array."""
    return float(sum([array[::1024].sum() for array in state.values()]))


def map_of(path: Path) -> mmap.mmap:
    """Return a bare map of a file."""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def touch_map(case: Case, digest: Callable[[memoryview], object] | None) -> float:
    """Touch every page of a bare map; with a digest, of every chunk on two threads as well."""
    view = memoryview(map_of(file_of(case, "writev")))
    if digest is not None:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(digest, [view[start : start + CHUNK] for start in range(0, len(view), CHUNK)]))
    return float(np.frombuffer(view, "<f4")[::1024].sum())


def sha256(data: memoryview) -> bytes:
    """Return the sha256 of bytes."""
    return hashlib.sha256(data).digest()


def read_one(case: Case) -> np.ndarray:
    """Return a copy of the tensor in the middle, read from the bare bytes."""
    size = state_of(case)[case.middle].nbytes
    data = np.empty(size // 4, "<f4")
    with open(file_of(case, "writev"), "rb", buffering=0) as file:
        os.preadv(file.fileno(), [memoryview(data).cast("B")], case.tensors // 2 * size)
    return data
