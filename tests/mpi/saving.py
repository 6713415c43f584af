"""Ranks that save one archive together, under mpiexec.

    mpiexec -n 4 python tests/mpi/saving.py save FOLDER         write FOLDER/net.kellet, and what was found
    mpiexec -n 3 python tests/mpi/saving.py again FOLDER        load that, and save it as FOLDER/again.kellet
    mpiexec -n 2 python tests/mpi/saving.py RANK:MOMENT FOLDER  be killed there

A moment is the number of an exchange, before which a rank is killed, or one of "writing" (half of its bytes
are written), "proving", "renaming" and "renamed".
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import kellet.distributed as dist
from packager import PackageExporter, PackageImporter, Shard
from packager._archive import shared_tensors
from packager._proving import ExportProof


def whole_state() -> dict[str, Any]:
    """What all ranks have together: more than a chunk, rows, columns, whole tensors, ties, and none."""
    draw = np.random.default_rng(0)
    tied = draw.standard_normal((30, 8)).astype("float32")
    return {
        "rows": draw.standard_normal((70_001, 5)).astype("float32"),
        "columns": draw.standard_normal((301, 1030)),
        "half": draw.standard_normal((9, 3)).astype(ml_dtypes.bfloat16),
        "all": np.arange(10),
        "stage0": np.ones((3, 3), "float16"),
        "a": tied,
        "b": tied,
        "empty": np.zeros((0, 4), "int32"),
        "note": "step 3",
    }


AXES = {"rows": 0, "columns": 1, "half": 0, "empty": 0, "a": 0, "b": 0}


def part_of(whole: dict[str, Any], rank: int, size: int) -> dict[str, Any]:
    """What one rank has: slices, what all have, and, on rank 0 alone, a whole tensor and a text."""
    found = {
        key: Shard.cut(value, rank, size, AXES[key]) if key in AXES else value for key, value in whole.items()
    }
    return found if rank == 0 else {key: found[key] for key in found if key not in ("stage0", "note")}


def save(path: Path, group: Any, part: dict[str, Any]) -> PackageExporter:
    """Save a part, proved as by default."""
    with PackageExporter(path, group=group) as exporter:
        exporter.save_state_dict("model", "state", part)
        exporter.save_text("model", "words.txt", "one two")
    return exporter


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Mortal:
    """A group whose process is killed before one of its exchanges."""

    def __init__(self, group: Any, moment: int) -> None:
        self.rank, self.size = group.rank, group.size
        self._group, self._left = group, moment

    def all_gather_bytes(self, data: bytes) -> list[bytes]:
        if not self._left:
            die()
        self._left -= 1
        found: list[bytes] = self._group.all_gather_bytes(data)
        return found


def kill_at(moment: str, group: Any) -> Any:
    """Prepare the end of this process; return the group to save with."""
    if moment.isdigit():
        return Mortal(group, int(moment))
    write, replace = shared_tensors.write_at, os.replace

    def half(descriptor: int, data: Any, position: int) -> None:
        write(descriptor, data[: len(data) // 2], position)
        die()

    def renamed(*places: Any) -> None:
        replace(*places)
        die()

    if moment == "writing":
        shared_tensors.write_at = half  # type: ignore[assignment]  # it does not come back
    elif moment == "proving":
        ExportProof.prove = lambda *arguments: die()  # type: ignore[method-assign]  # instead of proving
    else:
        dying: Callable[..., Any] = renamed if moment == "renamed" else lambda *places: die()
        os.replace = dying
    return group


def main(what: str, folder: Path) -> None:
    dist.init_process_group(timeout=timedelta(seconds=100))
    rank, size = dist.get_rank(), dist.get_world_size()
    group: Any = dist.group.WORLD
    if what == "again":
        with PackageImporter(folder / "net.kellet") as importer:
            part = importer.load_state_dict("model", "state").shards(rank, size)
        save(folder / "again.kellet", group, part)
        return
    part = part_of(whole_state(), rank, size)
    if what != "save":
        victim, _, moment = what.partition(":")
        group = kill_at(moment, group) if rank == int(victim) else group
    exporter = save(folder / "net.kellet", group, part)
    proved = exporter.proof is not None and exporter.proof.ok
    (folder / f"{rank}.json").write_text(json.dumps([exporter.identity, proved]))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
