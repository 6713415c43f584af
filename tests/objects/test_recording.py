"""The paths of what is being encoded, and memory whose values must not be in an archive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager._codecs import CannotStore, TensorData
from packager._codecs.registry import default_registry
from packager._objects.recording import Frame, Recorder, path_of
from tests.tables import one_test

TABLES = frozenset({"_modules"})


def frame(
    style: str, at: Any = None, *, tables: frozenset[str] = frozenset(), base: str | None = None
) -> Frame:
    made = Frame(None, base=base)
    made.style, made.at, made.tables = style, at, tables
    return made


PATHS: list[tuple[list[Frame], str]] = [
    ([], "obj"),
    ([frame("none")], "obj"),
    ([frame("attr", "a"), frame("item", 0)], "obj.a[0]"),
    (
        [frame("item", "a"), frame("item", None), frame("item", b"x"), frame("item", 0.5)],
        "obj['a'][None][b'x'][0.5]",
    ),
    ([frame("item", (1, 2))], "obj[<tuple>]"),
    ([frame("element"), frame("key"), frame("state")], "obj<element><key>"),
    ([frame("argument", 1), frame("cell", "x")], "obj<argument 1><variable x>"),
    ([frame("attr", "_modules", tables=TABLES), frame("item", "layer"), frame("item", 0)], "obj.layer[0]"),
    ([frame("attr", "_modules", tables=TABLES), frame("none"), frame("item", "layer")], "obj.layer"),
    ([frame("attr", "_modules", tables=TABLES), frame("state"), frame("item", "layer")], "obj['layer']"),
    ([frame("attr", "_modules"), frame("item", "layer")], "obj._modules['layer']"),
    ([frame("item", "_modules", tables=TABLES), frame("item", "layer")], "obj['_modules']['layer']"),
    ([frame("item", 0), frame("attr", "a", base="it[1]")], "it[1].a"),
]


@one_test
@pytest.mark.parametrize(("frames", "path"), PATHS)
def test_a_path_reads_as_python_would_write_it(frames: list[Frame], path: str) -> None:
    assert path_of(frames, "obj") == path


def view(memory: Any, *part: int) -> TensorData:
    shown = memory[slice(*part)]
    return TensorData("F32", shown.shape, (1,), shown.__array_interface__["data"][0], shown)


def test_memory_that_is_forbidden_is_not_stored_until_it_is_allowed() -> None:
    recorder = Recorder(None, None, default_registry(), "obj")
    memory = np.zeros(12, np.float32)
    recorder.forbid(view(memory, 4, 8), "it is forbidden")
    recorder.forbid(view(memory, 4, 5), "it is forbidden twice")
    for part in ((0, 4), (8, 12), (5, 5)):
        recorder.add_tensor(view(memory, *part))
    for part in ((0, 5), (7, 12), (5, 6), (0, 12)):
        with pytest.raises(CannotStore, match=r"^it is forbidden$"):
            recorder.add_tensor(view(memory, *part))
    recorder.allow(view(memory, 4, 8))
    recorder.add_tensor(view(memory, 0, 12))
    recorder.allow(view(memory, 4, 8))
    recorder.forbid(view(memory, 0, 1), "it is forbidden again")
    with pytest.raises(CannotStore, match=r"^it is forbidden again$"):
        recorder.add_tensor(view(memory, 0, 2))
