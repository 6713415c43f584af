"""State dicts, and how each library saves one to a file."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.processes import folder_on_disk
from benchmarks.row import is_small

State = Mapping[str, np.ndarray]
Writer = Callable[[State, Path], None]

CHUNK = 1 << 20


def case_name(tensors: int, megabytes: int) -> str:
    """Return how a state dict is called in a title."""
    return f"{tensors:,} tensors of {megabytes:,} MB"


@lru_cache(maxsize=1)
def state_of(tensors: int, megabytes: int) -> dict[str, np.ndarray]:
    """Return arrays by their keys; small ones where rows are only started once."""
    megabytes = min(megabytes, 2) if is_small() else megabytes
    each = megabytes * 1_000_000 // tensors // 4
    return {f"model.layer{i}.block.weight": np.full(each, i, np.float32) for i in range(tensors)}


def save_packager(state: State, path: Path, digests: str = "sha256") -> None:
    """Save as users do."""
    from packager import PackageExporter

    with PackageExporter(path, digests=digests) as exporter:
        exporter.save_state_dict("net", "weights", state)


def save_safetensors(state: State, path: Path) -> None:
    """Save with safetensors, to the rename."""
    from safetensors.numpy import save_file

    save_file(dict(state), f"{path}.part")
    os.replace(f"{path}.part", path)


def save_by_loop(state: State, path: Path) -> None:
    """Hash and write chunks of 1 MiB in two threads, each the next one: the least that a digest costs."""
    chunks, at = [], 0
    for array in state.values():
        view = memoryview(array).cast("B")
        chunks += [(at + start, view[start : start + CHUNK]) for start in range(0, len(view), CHUNK)]
        at += len(view)
    left, digests = iter(chunks), {}
    file = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def work() -> None:
        for start, chunk in left:
            digests[start] = hashlib.sha256(chunk).digest()
            os.pwrite(file, chunk, start)

    helper = threading.Thread(target=work)
    helper.start()
    work()
    helper.join()
    os.close(file)
    os.replace(f"{path}.part", path)


def file_of(tensors: int, megabytes: int, writer: Writer, ending: str) -> str:
    """Return a file on disk and in the page cache, written when it is asked for first; others are removed."""
    path = folder_on_disk() / f"{tensors}-{megabytes}.{ending}"
    if not path.exists():
        for old in folder_on_disk().glob(f"[0-9]*.{ending}"):
            if not old.name.startswith(f"{tensors}-{megabytes}."):
                old.unlink()
        writer(state_of(tensors, megabytes), path)
    return str(path)
