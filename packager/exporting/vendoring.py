"""Wheels that an archive carries for its externs: fetched when it is written, and gone when it is."""

from __future__ import annotations

import dataclasses
import mmap
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from packager.environment import WHEELS, RecordedEnvironment, Target, fetch_wheels

from .plan import ExportPlan, PlannedEntry
from .runtime import zip64_warnings
from .writing import manifest_of


@contextmanager
def with_wheels(
    plan: ExportPlan, targets: Sequence[Target], find_links: Sequence[str]
) -> Iterator[ExportPlan]:
    """Give the plan with the wheels of its externs for every target; they are there for the block alone.

    Raises the errors of `packager.environment.errors`.
    """
    if not targets:
        yield plan
        return
    recorded = RecordedEnvironment.of(manifest_of(plan))
    with tempfile.TemporaryDirectory(prefix="kellet-vendored-") as folder:
        wheels = fetch_wheels(
            recorded.distributions,
            recorded.versions,
            targets,
            Path(folder),
            local=recorded.local,
            find_links=find_links,
        )
        entries = tuple(_entry(Path(folder, wheel.file)) for wheel in wheels)
        carried = (*plan.carried, *entries)
        runnable = any(entry.name == "__main__.py" for entry in plan.carried)
        said = zip64_warnings(plan.entries, plan.tensors, carried) if runnable else ()
        warnings = tuple(dict.fromkeys((*plan.warnings, *said)))
        yield dataclasses.replace(plan, carried=carried, warnings=warnings)


def _entry(path: Path) -> PlannedEntry:
    size = path.stat().st_size
    return PlannedEntry(
        f"{WHEELS}{path.name}", "resource", size, "a wheel of an extern", partial(_mapped, path)
    )


def _mapped(path: Path) -> memoryview:
    """The bytes of a file, which may be too large to be read at once."""
    with open(path, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
