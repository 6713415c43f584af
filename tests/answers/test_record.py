"""The record is whole and PyTorch's alone, and everything public is among what is drawn."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kellet
import kellet.optim
from kellet import nn
from tests.answers import record
from tests.answers.choices import draw_all
from tests.answers.drawn_layers import LAYERS
from tests.answers.drawn_losses import FUNCTIONS, LOSSES
from tests.answers.drawn_sequences import SEQUENCES
from tests.answers.empty import ELSEWHERE as NOT_EMPTY
from tests.answers.empty import LAYERS as EMPTY
from tests.answers.hook_programs import first_difference, play
from tests.answers.lbfgs import DRAWN, OPTIONS
from tests.answers.optimizers_by_chance import ELSEWHERE, OPTIMISERS, SCHEDULERS
from tests.answers.subject import Subject
from tests.answers.subjects import NAMES, subject
from tests.answers.telling import Raised, Tolerance, differences

HERE = Path(__file__).parent
PUBLIC = {name for name in nn.layers.__all__ if isinstance(getattr(nn, name), type)}
MOST_BYTES = 10_000_000


def test_the_files_are_those_that_were_written() -> None:
    found = {path.stem: path.read_bytes() for path in record.FOLDER.glob("*.bin")}
    assert record.digests()["files"] == {name: record.digest(data) for name, data in sorted(found.items())}
    assert {*found} == {*NAMES}
    assert sum(map(len, found.values())) < MOST_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_every_case_has_an_answer(name: str) -> None:
    assert [*record.recorded(name)] == [*subject(name).cases]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def test_neither_the_cases_nor_what_writes_them_imports_kellet() -> None:
    files = [path for path in HERE.glob("*.py") if not path.name.startswith("test_")]
    assert {f"{name}.py" for name in (*NAMES, "write", "record")} <= {path.name for path in files}
    kellet_ = {path.name for path in files for name in imported(path) if name.split(".")[0] == "kellet"}
    assert kellet_ == set()
    assert [path.name for path in files if "torch" in {*imported(path)}] == ["write.py"]


def test_to_read_the_cases_runs_nothing_of_kellet() -> None:
    code = "import sys; from tests.answers.subjects import NAMES, subject; [subject(n) for n in NAMES]; "
    code += "assert not {'kellet', 'torch'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], cwd=HERE.parents[1], check=True, timeout=300)


# --- what is drawn ----------------------------------------------------------------------------------


def test_every_public_layer_is_drawn() -> None:
    assert {*LAYERS, *SEQUENCES, *LOSSES} == PUBLIC


def test_every_loss_function_is_drawn() -> None:
    assert set(FUNCTIONS) == set(LOSSES)
    rooms = ("kellet.nn.functional.losses", "kellet.nn.functional.distances")
    functions = {name: inspect.unwrap(getattr(nn.functional, name)) for name in nn.functional.__all__}
    found = {name for name, function in functions.items() if function.__module__ in rooms}
    assert set(FUNCTIONS.values()) == found


def test_every_layer_is_called_with_nothing() -> None:
    assert PUBLIC - {name for name, *_ in EMPTY} == NOT_EMPTY


def test_every_optimiser_and_scheduler_is_drawn() -> None:
    public = {name for name in kellet.optim.__all__ if isinstance(getattr(kellet.optim, name), type)}
    assert set(OPTIMISERS) | ELSEWHERE == public
    assert set(SCHEDULERS) == set(kellet.optim.lr_scheduler.__all__) - {"LRScheduler"}  # the base class


def test_every_option_of_lbfgs_is_drawn() -> None:
    names = set(inspect.signature(kellet.optim.LBFGS).parameters) - {"params"}
    assert names == {name for options in draw_all(DRAWN, "lbfgs", 50) for name in options}
    assert OPTIONS


# --- how answers are compared -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "expected", "near", "told"),
    [
        (np.ones(2), np.ones(2), Tolerance(), ""),
        (np.ones(2), np.ones(2, "f4"), Tolerance(1.0), "float64(2,), expected float32(2,)"),
        (np.ones(2), np.ones((2, 1)), Tolerance(1.0), "(2,), expected float64(2, 1)"),
        (np.ones(2), np.array([1.0, 1.1]), Tolerance(0.05), "Not equal to tolerance"),
        (np.ones(2), np.array([1.0, 1.1]), Tolerance(0.2), ""),
        (np.array([0.0, 100.0]), np.array([0.5, 100.0]), Tolerance(0.0, 0.01, scaled=True), ""),
        (np.array([0.0, 100.0]), np.array([0.5, 100.0]), Tolerance(0.0, 0.01), "Not equal"),
        ([1, None], [1, None], Tolerance(), ""),
        ([1, 2], [1, 3], Tolerance(), "[1]: 2, expected 3"),
        ([1], [1, 2], Tolerance(), "1 values, expected 2"),
        ({"a": 1}, {"b": 1}, Tolerance(), "keys ['a'], expected ['b']"),
        (1, True, Tolerance(), "1, expected True"),
        (None, np.ones(1), Tolerance(), "None, expected an array"),
        (1.0, 1.0 + 1e-9, Tolerance(), "Not equal"),
        (np.ones(1), Raised(("ValueError",), ""), Tolerance(), "expected Raised"),
        (Raised(("TypeError",), ""), Raised(("ValueError",), ""), Tolerance(), ""),
        (Raised(("TypeError",), ""), Raised(("ValueError",), ""), Tolerance(kinds=True), "expected Raised"),
        (Raised(("ValueError",), "a"), Raised(("ValueError",), "b"), Tolerance(), "expected Raised"),
        (Raised(("ValueError",), ""), np.ones(1), Tolerance(), "expected an array"),
    ],
)
def test_a_difference_is_seen(found: object, expected: object, near: Tolerance, told: str) -> None:
    said = "\n".join(differences(found, expected, near))
    assert said == "" if not told else told in said


def test_a_failure_is_an_answer_and_another_error_is_none() -> None:
    def fail(error: type[Exception]) -> Subject:
        def play(library: object) -> object:
            raise error("no")

        return Subject("failing", {"a": play})

    assert fail(IndexError).play("a", kellet) == Raised(("IndexError",), "")
    with pytest.raises(AttributeError):
        fail(AttributeError).play("a", kellet)


def test_what_is_packed_comes_back() -> None:
    told = {"a": [1, 2.5, None, "x", True, 2j, Raised(("ValueError",), "no")], "b": {"c": np.arange(3)}}
    found = record.unpack(record.pack(told))
    assert not [*differences(found, told, Tolerance(kinds=True))]
    with pytest.raises(TypeError, match="object cannot be recorded"):
        record.pack({"a": object()})


# --- programs of hooks ------------------------------------------------------------------------------


def test_a_program_is_the_same_each_time_and_tells_something() -> None:
    traces = [play(kellet, seed) for seed in range(20)]
    assert traces == [play(kellet, seed) for seed in range(20)]
    assert len({str(trace) for trace in traces}) == 20


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ([("a", 1.0), ("b", 2.0)], [("a", 1.0), ("b", 2.0 + 1e-9)], ""),
        ([("a", 1.0), ("b", 2.0)], [("b", 2.0), ("a", 1.0)], "event 0"),
        ([("found", 1.0), ("a", 1.0), ("b", 2.0)], [("found", 1.0), ("b", 2.0), ("a", 1.0)], ""),
        ([("found", 1.0), ("a", 1.0)], [("found", 1.0), ("a", 1.5)], "in the first trace alone"),
        ([("found", 1.0)], [("found", 1.0), ("a", 1.5)], "in the second trace alone"),
        ([("a", None)], [("a", 0.0)], "event 0"),
        ([("a", 1.0)], [("a", 1.0), ("b", 1.0)], "in the second trace alone"),
        ([("a", 1.0), ("b", 1.0)], [("a", 1.0)], "in the first trace alone"),
    ],
)
def test_traces_are_compared(one: list[object], other: list[object], told: str) -> None:
    difference = first_difference(one, other)
    assert difference == "" if not told else told in difference
