"""Small archives to look at from every side."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from packager._archive import (
    ArchiveWriter,
    EntryPoint,
    Manifest,
    ModuleRecord,
    StateDictRecord,
    TensorSpec,
    add_tensors,
)

WEIGHT = bytes(range(24))
SOURCE = b"answer = 42\n"


def write_small(target: object, **options: object) -> str:
    """A package of one module, one resource and a state dict of two tied tensors."""
    with ArchiveWriter(target, **options) as writer:  # type: ignore[arg-type]  # paths and file objects alike
        writer.add("net/__init__.py", SOURCE, kind="source")
        writer.add("net/notes.txt", b"", kind="resource")
        tensors = [
            TensorSpec("w", "F32", (2, 3), (3, 1), 0, 0),
            TensorSpec("tied", "F32", (2, 3), (3, 1), 0, 0),
        ]
        add_tensors(writer, "net/weights", tensors, [WEIGHT])
        return writer.seal(
            Manifest(
                modules=(
                    ModuleRecord("net", "intern", "intern net.**", "first rule", "net/__init__.py", True),
                ),
                state_dicts=(StateDictRecord("net", "weights", "net/weights", versions=(("", 1),)),),
                entry_points=(EntryPoint("model", "net", "model"),),
                environment={"python": "3.11"},
            )
        )


@pytest.fixture
def small() -> bytes:
    file = io.BytesIO()
    write_small(file)
    return file.getvalue()


@pytest.fixture
def save_small() -> Callable[..., str]:
    return write_small


@pytest.fixture
def small_path(tmp_path: Path) -> Path:
    path = tmp_path / "small.kellet"
    write_small(path)
    return path
