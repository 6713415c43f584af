"""run, check and export --example: what is called, in which mode, with what, and how a failure is told."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter
from packager._cli import main

Project = Callable[[Mapping[str, str]], Path]
Run = Callable[..., tuple[int, str, str]]

TREE = {
    "zoo.py": """
import os
from dataclasses import dataclass
import numpy as np
import kellet
from kellet import nn


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x, drop=False):
        x = self.norm(x)
        return self.drop(x) if drop else x


@dataclass
class Found:
    label: str
    scores: object


class Mixed:
    def __call__(self, x, words=None, deep=None):
        return {
            "words": [word.upper() for word in words or ()],
            "none": None,
            "pair": (x * 2, {"n": 2**60, "big": 2**80, "ok": True}),
            "found": Found("cat", np.array(["a", "bcd"], object)),
            "labels": np.array(["x", "yz"]),
            "z": 1j,
            "raw": b"ab",
            "got": [type(words).__name__, type(deep).__name__],
        }

    def predict(self, x):
        return ["one", None]


class Several:
    def __call__(self, x, count=1):
        print("the model talks")
        return (x * 2, None, "a text", *(None for _ in range(int(count) - 1)))


class Moody:
    def __call__(self, x):
        mood = os.environ.get("MOOD", "")
        if mood == "opens":
            with open("/nowhere/vocab.txt") as file:
                return file.read()
        if mood == "exits":
            raise SystemExit(0)
        if mood == "warns":
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.warn("an old scale", DeprecationWarning)
        if mood == "imports":
            raise ImportError("no kernel")
        text = "cold" if mood == "text" else "warm"
        return {"text": text, "n": len(x) + (mood == "n"), "none": mood or None}


class Stateful:
    def __getstate__(self):
        return {"text": open("/nowhere/state.txt").read()}


class Hooked(nn.Module):
    def state_dict(self, *args, **kwargs):
        open("/nowhere/hook.txt").close()


class Late:
    def __call__(self, x):
        return x

    def __getstate__(self):
        return {"a": 1}

    def __setstate__(self, state):
        open("/nowhere/late.txt").close()


class Ticking:
    def __call__(self, x):
        return x + int.from_bytes(os.urandom(2), "big")


norm, mixed, moody, stateful, late = Norm(), Mixed(), Moody(), Stateful(), Late()
several, ticking = Several(), Ticking()


def absent():
    return open("/nowhere/weights.bin")
"""
}


@pytest.fixture
def run(project: Project, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Run:
    monkeypatch.chdir(project(TREE))
    np.savez("x.npz", x=np.arange(6, dtype="f4").reshape(3, 2))

    def call(*arguments: str, piped: bytes = b"") -> tuple[int, str, str]:
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(piped)))
            code = main(list(arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def made(run: Run, target: str, *more: str) -> None:
    code, _, errors = run("export", f"zoo:{target}", "-o", "net.kellet", "--no-proof", *more)
    assert code == 0, errors


def test_every_kind_of_answer_is_stored_and_found_again(run: Run) -> None:
    Path("in.json").write_text('{"x": 3, "words": ["a", "b"], "deep": {"k": [1, null]}}')
    made(run, "mixed", "--example", "in.json")
    code, out, _ = run("check", "net.kellet", "--tolerance", "0")
    assert code == 0
    assert sorted(line.removesuffix(": the same bits") for line in out.splitlines()) == [
        f"model: output.{name}"
        for name in (
            *(
                "found.label",
                "found.scores.0",
                "found.scores.1",
                "got.0",
                "got.1",
                "labels",
                "none",
                "pair.0",
            ),
            *("pair.1.big", "pair.1.n", "pair.1.ok", "raw", "words.0", "words.1", "z"),
        )
    ]
    code, out, _ = run("run", "net.kellet", "--input", "in.json", "-o", "-")
    assert (code, json.loads(out)["output.got.0"], json.loads(out)["output.got.1"]) == (0, "list", "dict")


@pytest.mark.parametrize(
    ("mood", "code", "lines"),
    [
        ("", 0, ["n: the same bits", "none: the same bits", "text: the same bits"]),
        ("n", 1, ["n: off by 1 at most", "none: stored as None, found 'n'", "text: the same bits"]),
        (
            "text",
            1,
            [
                "n: the same bits",
                "none: stored as None, found 'text'",
                "text: stored as 'warm', found 'cold'",
            ],
        ),
    ],
)
def test_what_differs_is_told_part_by_part(
    run: Run, monkeypatch: pytest.MonkeyPatch, mood: str, code: int, lines: list[str]
) -> None:
    made(run, "moody", "--example", "x.npz")
    monkeypatch.setenv("MOOD", mood)
    found, out, _ = run("check", "net.kellet")
    assert (found, sorted(out.splitlines())) == (code, [f"model: output.{line}" for line in lines])


@pytest.mark.parametrize("train", [False, True])
def test_a_call_is_made_in_the_mode_that_was_asked_for_and_checked_in_it(run: Run, train: bool) -> None:
    more = ["--train"] if train else []
    made(run, "norm", "--example", "x.npz", *more)
    assert run("check", "net.kellet", "--tolerance", "0")[0] == 0
    run("run", "net.kellet", "--input", "x.npz", "-o", "y.npz", *more)
    with np.load("y.npz") as answer:
        assert (abs(answer["output"].mean(axis=0)) < 1e-6).all() == train


def test_a_call_that_drops_at_random_is_repeatable(run: Run) -> None:
    Path("in.json").write_text('{"x": [[1, 2.5], [3, 4]], "drop": true}')
    for more in ([], ["--train"]):
        made(run, "norm", "--example", "in.json", *more)
        code, out, _ = run("check", "net.kellet", "--tolerance", "0")
        assert (code, out) == (0, "model: output: the same bits\n")


def test_a_call_that_is_not_repeatable_is_told_wherever_it_is_looked_at(run: Run) -> None:
    told = "not repeatable: its outputs differed from call to call, and nothing is compared"
    code, out, errors = run("export", "zoo:ticking", "-o", "net.kellet", "--example", "x.npz", "--train")
    said = " ".join(f"{out} {errors}".split())
    assert (code, "generator states, in training mode, gave another output (off" in said) == (0, True), said
    assert told in " ".join(run("inspect", "net.kellet")[1].split())
    assert run("check", "net.kellet")[:2] == (1, f"model: {told}\n")
    (outcome,) = json.loads(run("check", "net.kellet", "--json")[1])
    assert (outcome["repeatable"], outcome["deviations"]) == (False, [])
    assert run("verify", "net.kellet", "--deep")[0] == 0
    run("report", "net.kellet", "-o", "net.html")
    assert told in Path("net.html").read_text()
    assert run("diff", "net.kellet", "net.kellet", "--run")[0] == 0
    assert run("sbom", "net.kellet", "-o", "sbom.json")[0] == 0


def test_a_method_can_be_named_when_it_is_stored_and_when_it_is_run(run: Run) -> None:
    made(run, "mixed", "--callable", "predict", "--example", "x.npz")
    assert run("check", "net.kellet")[1].splitlines() == [
        "model: output.0: the same bits",
        "model: output.1: the same bits",
    ]
    made(run, "mixed")
    assert run("run", "net.kellet", "--callable", "predict", "--text", "a")[:2] == (
        0,
        'output.0: "one"\noutput.1: null\n',
    )
    code, _, errors = run("run", "net.kellet", "--callable", "__reduce__", "--text", "a")
    assert code == 1
    assert "entry point 'model' of model/model: '__reduce__' is not the name of a public method" in errors


def test_an_entry_point_that_is_missing_names_the_objects_that_are_there(run: Run) -> None:
    import zoo

    with PackageExporter("net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("zoo_data", "mixed", zoo.mixed)
        exporter.save_object("zoo_data", "words", ["a"])
    code, _, errors = run("run", "net.kellet", "--text", "a")
    there = "zoo_data/mixed, zoo_data/words; write entry='zoo_data/mixed' (--entry zoo_data/mixed)"
    assert code == 1
    assert errors == f"kellet: no entry point 'model'; the archive has {there}\n"
    code, out, _ = run(
        "run", "net.kellet", "--entry", "zoo_data/mixed", "--callable", "predict", "--input", "x.npz"
    )
    assert (code, out) == (0, 'output.0: "one"\noutput.1: null\n')
    code, _, errors = run("run", "net.kellet", "--entry", "zoo_data/words", "--text", "a")
    assert code == 1
    assert "builtins.list cannot be called" in errors


@pytest.mark.parametrize(
    ("piped", "more", "found"),
    [
        (b'{"x": 2, "words": ["a"]}', (), "json"),
        (b"two words\n", ("--callable", "predict"), "json"),
        (b"", (), "npz"),
    ],
)
def test_pipes_are_read_and_written(
    run: Run, monkeypatch: pytest.MonkeyPatch, piped: bytes, more: tuple[str, ...], found: str
) -> None:
    made(run, "norm" if found == "npz" else "mixed")
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw))
    code, _, errors = run(
        "run", "net.kellet", *more, "--input", "-", "-o", "-", piped=piped or Path("x.npz").read_bytes()
    )
    assert (code, errors) == (0, "")
    data = raw.getvalue()
    assert (
        list(np.load(io.BytesIO(data))) == ["output"]
        if found == "npz"
        else "output.0" in json.loads(data) or (json.loads(data)["output.words.0"] == "A")
    )


LEFT_OUT = "a .npz file holds arrays and texts; a .json file holds all\n"


@pytest.mark.parametrize(
    ("count", "left_out"),
    [
        (1, "output.1"),
        (3, "output.1, output.3, output.4"),
        (7, "output.1, output.3, output.4, output.5, output.6 and 2 more"),
    ],
)
def test_a_file_of_arrays_gets_the_arrays_and_the_rest_is_named(run: Run, count: int, left_out: str) -> None:
    made(run, "several")
    np.savez("x.npz", x=np.ones(2, "f4"), count=count)
    code, out, errors = run("run", "net.kellet", "--input", "x.npz", "-o", "y.npz")
    assert (code, errors) == (0, f"y.npz: left out {left_out}: {LEFT_OUT}")
    assert out.startswith("the model talks\noutput.0: float32 [2]\noutput.1: null\noutput.2: ")
    with np.load("y.npz") as arrays:
        assert {name: arrays[name].tolist() for name in arrays} == {
            "output.0": [2.0, 2.0],
            "output.2": "a text",
        }
    code, _, errors = run("run", "net.kellet", "--input", "x.npz", "-o", "y.json")
    assert (code, errors) == (0, "")
    assert json.loads(Path("y.json").read_text())["output.1"] is None


def test_a_file_of_arrays_that_would_hold_nothing_is_refused(run: Run) -> None:
    made(run, "late")
    Path("in.json").write_text('{"x": 3}')
    code, _, errors = run("run", "net.kellet", "--entry", "model", "--input", "in.json", "-o", "y.npz")
    assert (code, os.path.exists("y.npz")) == (1, False), errors


@pytest.mark.parametrize("name", ["x.npz", "in.json"])
def test_what_a_model_prints_is_not_in_the_answer_on_standard_output(
    run: Run, monkeypatch: Any, name: str
) -> None:
    made(run, "several")
    Path("in.json").write_text('{"x": 1}')
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw))
    code, _, errors = run("run", "net.kellet", "--input", name, "-o", "-")
    assert (code, errors.splitlines()[0]) == (0, "the model talks")
    if name == "in.json":
        assert json.loads(raw.getvalue()) == {"output.0": 2, "output.1": None, "output.2": "a text"}
    else:
        assert errors.endswith(f"\n-: left out output.1: {LEFT_OUT}")
        with np.load(io.BytesIO(raw.getvalue())) as arrays:
            assert list(arrays) == ["output.0", "output.2"]


def place(code: str) -> str:
    """Return the place of a line of the project, as an error tells it, for a pattern."""
    (number,) = (at for at, line in enumerate(TREE["zoo.py"].splitlines(), 1) if line.strip() == code)
    return rf", at \S*zoo\.py:{number} in "


@pytest.mark.parametrize(
    ("mood", "message", "code"),
    [
        ("opens", r"FileNotFoundError: .*'/nowhere/vocab\.txt'", 'with open("/nowhere/vocab.txt") as file:'),
        ("imports", "ImportError: no kernel", 'raise ImportError("no kernel")'),
        ("exits", r"its code ended with SystemExit\(0\)", "raise SystemExit(0)"),
        (
            "warns",
            "DeprecationWarning: an old scale",
            'warnings.warn("an old scale", DeprecationWarning)',
        ),
    ],
)
@pytest.mark.parametrize("command", ["run", "check", "export"])
def test_a_failure_of_the_model_is_told_with_file_and_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, mood: str, message: str, code: str
) -> None:
    made(run, "moody", "--example", "x.npz")
    monkeypatch.setenv("MOOD", mood)
    more = {"run": ["net.kellet", "--input", "x.npz"], "check": ["net.kellet"]}
    found, _, errors = run(
        command, *more.get(command, ["zoo:moody", "-o", "other.kellet", "--example", "x.npz"])
    )
    assert found == (1 if command == "export" else 4)
    assert re.search(message + place(code) + "__call__", errors)
    assert not Path("other.kellet").exists()


def test_a_file_that_a_factory_misses_is_told_with_its_line(run: Run) -> None:
    code, _, errors = run("export", "zoo:absent", "-o", "net.kellet")
    assert code == 4
    there = place('return open("/nowhere/weights.bin")')
    assert re.search(rf"calling it failed: FileNotFoundError: .*weights\.bin'{there}absent\n$", errors)
    assert run("run", "absent.kellet", "--text", "a")[0] == 3  # and one that is ours is what it was


def test_a_file_that_state_misses_is_told_with_its_line(run: Run) -> None:
    code, _, errors = run("export", "zoo:stateful", "-o", "net.kellet")
    there = place('return {"text": open("/nowhere/state.txt").read()}')
    assert code == 1
    assert re.search(rf"Stateful refuses to be stored: .*state\.txt'{there}__getstate__", errors)
    code, _, errors = run("export", "zoo:Hooked", "-o", "net.kellet", "--store", "factory")
    there = place('open("/nowhere/hook.txt").close()')
    assert code == 4
    assert re.search(
        rf"zoo:Hooked: the model failed: FileNotFoundError: .*hook\.txt'{there}state_dict", errors
    )


def test_a_failure_while_an_object_is_built_is_told_with_its_line(run: Run) -> None:
    made(run, "late")
    code, _, errors = run("run", "net.kellet", "--text", "a")
    there = place('open("/nowhere/late.txt").close()')
    assert code == 1
    assert re.search(rf"FileNotFoundError: .*late\.txt'{there}__setstate__", errors)


def test_the_outcome_of_a_check_is_json(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made(run, "mixed", "--example", "x.npz")
    import packager._calls.running as running

    far = {"output.z": complex("inf"), "output.none": float("nan")}
    monkeypatch.setattr(running, "call_in_mode", lambda *given, **more: far)
    code, out, _ = run("check", "net.kellet", "--json")
    found = json.loads(out, parse_constant=pytest.fail)
    assert code == 1
    told = {one["name"]: (one["largest"], one["message"]) for one in found[0]["deviations"]}
    assert told["output.z"] == ("Infinity", "")
    assert told["output.none"] == (None, "stored as None, found float64 []")
    assert told["output.raw"] == (None, "only in the archive, missing here")
