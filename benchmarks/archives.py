"""State dicts as files by inner functions, as a program writes and reads them that knows the format.

What users call is timed in `public_calls` and `public_loads`; these rows show what the calls add.
A save is timed to the rename and without fsync, for everybody alike; the price of fsync has its own row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.places import folder_of
from benchmarks.row import Contender, Goal, Row
from benchmarks.stored_files import (
    PACKAGE,
    RESOURCE,
    SAVES,
    Case,
    cases,
    file_of,
    map_of,
    sha256,
    state_of,
    touch,
    touch_map,
)
from packager.archive import (
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    StateDictRecord,
    TensorReader,
    TensorSpec,
    add_tensors,
)
from packager.archive.entries import crc32

SECTION = "State dicts in files, by inner functions"
SAVING = (
    "records come one by one here, where a state dict's tensors are columns; with few large ones it is the "
    "digests and the copy that they are made of, which share two cores with the writing."
)
TOUCHING = "each tensor is looked up and handed out as a view of its own, in Python; a map is walked at once."
MEMBER = f"{PACKAGE}/{RESOURCE}"


def rows() -> list[Row]:
    return [row for case in cases() for row in _rows_of(case)]


def _rows_of(case: Case) -> list[Row]:
    many, with_peers = case.tensors > 1000, case == cases()[0]

    def row(
        title: str,
        contenders: Mapping[str, Callable[[Case], Contender]],
        goals: tuple[Goal, ...] = (),
        why: str = "",
    ) -> Row:
        bound = {name: lambda made=made: made(case) for name, made in contenders.items()}
        return Row(SECTION, f"{case}: {title}", "ms", bound, goals, "packager", why=why, most_rounds=5)

    def packager(digests: str, *, fsync: bool = False) -> Callable[[Case], Contender]:
        return partial(_saving, save=partial(_save, digests=digests, fsync=fsync))

    peers = ("writev", "safetensors", *(("torch", "numpy") if with_peers else ()))
    saves = {name: partial(_saving, save=SAVES[name], library=name) for name in peers}
    synced = {"packager": packager("sha256", fsync=True), "without": packager("sha256")}
    maps = {name: partial(_touching_map, digest=digest) for name, digest in _MAPS.items()}
    goals = (Goal(1.1, "writev"), Goal(0.9 if many else 1.0, "safetensors"))
    with_sha256 = {"packager": packager("sha256"), "writev": saves["writev"]}
    return [
        row("save with CRC-32", {"packager": packager("crc"), **saves}, goals, SAVING),
        row("save with sha256", with_sha256, (Goal(1.35, "writev"),), SAVING),
        *([row("save with sha256 and fsync", synced)] if with_peers else []),
        row("open, nothing touched", {"packager": _opening, "mmap": _opening_map}),
        *(
            row(
                f"load and touch everything{checked}",
                {"packager": partial(_touching, digests=digests), peer: maps[peer]},
                (Goal(limit, peer),) if limit else (),
                TOUCHING,
            )
            for checked, digests, peer, limit in (
                ("", "none", "mmap", 0 if many else 1.1),
                (", CRC-32 checked", "crc", "mmap + CRC", 0 if many else 1.1),
                (", sha256 checked", "sha256", "mmap + sha256", 1.2),
            )
        ),
    ]


_MAPS: dict[str, Callable[[memoryview], object] | None] = {
    "mmap": None,
    "mmap + CRC": crc32,
    "mmap + sha256": sha256,
}


def _save(state: Mapping[str, np.ndarray], path: Path, digests: str = "sha256", fsync: bool = False) -> None:
    with ArchiveWriter(path, digests=digests, fsync=fsync) as writer:
        tensors = [
            TensorSpec(key, "F32", array.shape, (1,), 0, i) for i, (key, array) in enumerate(state.items())
        ]
        add_tensors(writer, MEMBER, tensors, list(state.values()))
        writer.seal(Manifest(state_dicts=(StateDictRecord(PACKAGE, RESOURCE, MEMBER),)))


def _saving(case: Case, save: Callable[..., Any], library: str = "packager") -> Contender:
    if library in ("safetensors", "torch"):
        __import__(library)
    state, path = state_of(case), folder_of(__name__) / f"saved.{library}"

    def run() -> float:
        start = perf_counter()
        save(state, path)
        spent = perf_counter() - start
        # What is written back later would disturb whoever comes next.
        path.unlink()
        return spent

    return Contender(run, times_itself=True)


def _stored(case: Case, digests: str = "none") -> tuple[ArchiveReader, TensorReader]:
    reader = ArchiveReader(file_of(case, "packager"), digests=digests)
    return reader, TensorReader(reader, MEMBER)


def _opening(case: Case) -> Contender:
    file_of(case, "packager")
    return Contender(lambda: _stored(case, "crc"))


def _opening_map(case: Case) -> Contender:
    path = file_of(case, "writev")
    return Contender(lambda: map_of(path))


def _touching(case: Case, digests: str) -> Contender:
    """All tensors as arrays over the map, then one number of every page."""

    def run() -> float:
        _, stored = _stored(case, digests)
        section = stored.section()
        return touch(
            {key: np.ndarray(shape, "<f4", section, start) for key, _, shape, start in stored.contiguous()}
        )

    file_of(case, "packager")
    return Contender(run, result=lambda: [run()])


def _touching_map(case: Case, digest: Callable[[memoryview], object] | None) -> Contender:
    file_of(case, "writev")
    return Contender(lambda: touch_map(case, digest))
