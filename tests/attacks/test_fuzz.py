"""Archives and checkpoints changed at random, on every layer: sound, or refused by a PackageError."""

from __future__ import annotations

import importlib.util
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packager.errors import PackageError

INPUTS = st.builds(
    lambda which, layer, edits: bytes((which, layer)) + b"".join(edits),
    st.integers(0, 255),
    st.integers(0, 255),
    st.lists(st.binary(min_size=6, max_size=6), min_size=1, max_size=5),
)


def _module(name: str) -> ModuleType:
    path = Path(__file__).with_name(f"{name}.py")
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def fuzz() -> ModuleType:
    return _module("fuzz_archives")


@pytest.fixture(scope="session")
def fuzz_checkpoints(fuzz: ModuleType) -> ModuleType:
    """The target for files of weights; it takes its edits from that for archives."""
    return _module("fuzz_checkpoints")


@pytest.fixture(scope="session")
def fuzz_program() -> ModuleType:
    return _module("fuzz")


@settings(max_examples=1500)
@given(data=INPUTS)
@pytest.mark.long
def test_changed_archives_raise_package_errors_alone(fuzz: ModuleType, data: bytes) -> None:
    fuzz.one_input(data)


@settings(max_examples=200)
@given(data=st.binary(max_size=300))
def test_random_bytes_raise_package_errors_alone(fuzz: ModuleType, data: bytes) -> None:
    assert fuzz.check(data) != fuzz.SOUND


def test_unchanged_archives_are_sound_on_every_layer(fuzz: Any) -> None:
    for honest in fuzz.HONEST:
        for layer in range(honest.layers):
            assert fuzz.forged(honest, layer, b"") == honest.file, layer
    # One asks for an extern that nobody has; its report is an answer, and no error.
    assert {fuzz.check(honest.file) for honest in fuzz.HONEST} == {fuzz.SOUND}


@pytest.mark.parametrize("step", ["verify", "environment_report", "load_object", "load_state_dict"])
def test_the_target_would_notice(fuzz: Any, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise IndexError

    monkeypatch.setattr(fuzz, step, broken)
    assert not issubclass(IndexError, PackageError)
    with pytest.raises(IndexError):
        [fuzz.check(honest.file) for honest in fuzz.HONEST]


def test_inputs_reach_what_lies_behind_right_digests(fuzz: Any) -> None:
    """Between one in a hundred and half of what is forged is sound: harmless changes, not refusals alone."""
    layers = [bytes((which, layer, 0, 7, 0, 1, 3, 0)) for which in range(10) for layer in range(9)]
    assert 0.01 < sum(fuzz.one_input(data) == fuzz.SOUND for data in layers) / len(layers) < 0.5


FOUND = {
    "what a state dict holds in such a dtype": "0832002e72000c0c",
    "a dtype of extras that is a word": "0909001600001a00",
    "a dtype of extras that is a control character": "0909001800002000",
}


@pytest.mark.parametrize("data", FOUND.values(), ids=FOUND)
def test_what_was_found_once_stays_found(fuzz: Any, data: str) -> None:
    fuzz.one_input(bytes.fromhex(data))


@settings(max_examples=400)
@given(data=INPUTS)
def test_changed_checkpoints_raise_package_errors_alone(fuzz_checkpoints: ModuleType, data: bytes) -> None:
    fuzz_checkpoints.one_input(data)


def test_unchanged_checkpoints_are_sound_on_every_layer(fuzz_checkpoints: Any) -> None:
    for honest in fuzz_checkpoints.HONEST:
        for layer in range(honest.layers):
            assert fuzz_checkpoints.check(fuzz_checkpoints.forged(honest, layer, b"")) == "sound", layer


def test_other_operations_of_a_pickle_reach_the_machine(fuzz_checkpoints: Any) -> None:
    """A pickle taken apart and put together again is the same; edits of it reach the machine."""
    stream = fuzz_checkpoints.HONEST[1]
    assert fuzz_checkpoints.with_other_operations(stream.file, b"") == stream.file
    outcomes = [
        fuzz_checkpoints.check(fuzz_checkpoints.forged(stream, 1, bytes((what, 1, place, 0, 7, 3))))
        for what in range(6)
        for place in range(10)
    ]
    assert len(set(outcomes)) > 1
    assert "refused when opened: CheckpointPickleError" in outcomes


def test_the_target_for_checkpoints_would_notice(
    fuzz_checkpoints: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise IndexError

    monkeypatch.setattr(fuzz_checkpoints, "open_checkpoint", broken)
    with pytest.raises(IndexError):
        fuzz_checkpoints.one_input(bytes(8))


def test_a_run_can_be_repeated_and_tells_what_it_saw(
    fuzz: ModuleType, fuzz_program: Any, tmp_path: Path
) -> None:
    first, again = (
        fuzz_program.run("archives", 5, range(40), float("inf"), tmp_path / "note") for _ in range(2)
    )
    assert first.outcomes == again.outcomes
    assert first.outcomes.total() == 40
    assert len(first.slowest) == fuzz_program.SLOWEST
    assert first.peak >= first.before > 0
    other = fuzz_program.input_of(6, 0)
    assert other != fuzz_program.input_of(5, 0)
    assert (len(other) - 2) % 6 == 0


def test_an_input_that_ends_the_process_is_named(
    fuzz_program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ending = fuzz_program.input_of(3, 12)
    source = f"import os\ndef one_input(data):\n    return os._exit(9) if data == {ending!r} else 'works'\n"
    (tmp_path / "fuzz_ending.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    options = {"target": "ending", "seed": 3, "jobs": 1, "seconds": None}
    before = fuzz_program.run_side_by_side(SimpleNamespace(first=5, count=7, **options))
    assert before.outcomes == {"works": 7}
    with pytest.raises(BrokenProcessPool):
        fuzz_program.run_side_by_side(SimpleNamespace(first=10, count=7, **options))
    said = f"Tried at that moment:\ninput 12 of seed 3: one_input(bytes.fromhex({ending.hex()!r}))\n"
    assert said in capfd.readouterr().err
