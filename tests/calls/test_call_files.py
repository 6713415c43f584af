"""Inputs of calls from files and pipes, and answers to them: arrays, JSON and text."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from packager._calls import CallError, json_text, load_inputs, write_answer
from packager.errors import PackageError


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        (
            "x.json",
            b'{"text": "a", "n": 3, "more": [1, [2.5, null]]}',
            {"text": "a", "n": 3, "more": [1, [2.5, None]]},
        ),
        ("x.json", b"[[1, 2]]", {"arg0": [[1, 2]]}),
        ("x.json", b'\n "one"\n', {"arg0": "one"}),
        ("x.json", b"{}", {}),
        ("x.txt", "caf\u00e9\n\n".encode(), {"arg0": "caf\u00e9\n"}),
        ("x.txt", b"{}", {"arg0": "{}"}),
        ("x.npz", npz(arg0=np.arange(3)), {"arg0": [0, 1, 2]}),
        ("-", npz(x=np.arange(2)), {"x": [0, 1]}),
        ("-", b'{"x": true}\n', {"x": True}),
        ("-", b"7", {"arg0": 7}),
        ("-", b"two words\n", {"arg0": "two words"}),
        ("-", b"NaN", {"arg0": "NaN"}),
        ("-", b"", {"arg0": ""}),
    ],
)
def test_inputs_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes, found: Any
) -> None:
    piped(monkeypatch, data)
    path = "-" if name == "-" else str(tmp_path / name)
    if name != "-":
        Path(path).write_bytes(data)
    inputs = load_inputs(path)
    assert {
        key: getattr(value, "tolist", lambda value=value: value)() for key, value in inputs.items()
    } == found


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.json", b'{"a": 1, "a": 2}', "not JSON: the key 'a' appears twice"),
        ("x.json", b'{"a": NaN}', "not JSON: JSON cannot express NaN"),
        ("x.json", b'{"a": [-Infinity]}', "not JSON: JSON cannot express -Infinity"),
        ("x.json", b"two words", "not JSON: Expecting value"),
        ("x.json", b"[" * 100_000, "not JSON: nested too deep"),
        ("x.json", b'"\xff"', "byte 1 is not UTF-8"),
        ("x.txt", b"caf\xe9", "byte 3 is not UTF-8"),
        ("x.bin", b"{}", "not a .npz file of arrays"),
        ("-", b'{"a": NaN}', "standard input: not JSON: JSON cannot express NaN"),
        ("-", b"  [1,", "standard input: not JSON"),
        ("-", b"PK\x03\x04rest", "standard input: not a .npz file"),
        ("-", b"\x80", "standard input: byte 0 is not UTF-8"),
    ],
)
def test_what_is_no_input_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes, message: str
) -> None:
    piped(monkeypatch, data)
    (tmp_path / "x").with_name(name).write_bytes(data) if name != "-" else None
    with pytest.raises(CallError, match=message):
        load_inputs("-" if name == "-" else str(tmp_path / name))


ANSWER = {
    "output.0": np.array([[1.5, np.nan], [np.inf, -0.0]], "f4"),
    "output.1": "two",
    "output.n": np.array(2**60),
    "output.c": np.array(1 - 2j),
    "output.d": np.array("2024-02-29", "M8[D]"),
}


def test_an_answer_is_json_that_any_reader_takes(tmp_path: Path) -> None:
    path = tmp_path / "y.json"
    write_answer(
        {**ANSWER, "none": None, "raw": b"\x00\xff", "z": complex(math.nan, 1)}, str(path), as_arrays=True
    )
    assert json.loads(path.read_text(), parse_constant=pytest.fail) == {
        "output.0": [[1.5, "NaN"], ["Infinity", -0.0]],
        "output.1": "two",
        "output.n": 2**60,
        "output.c": [1.0, -2.0],
        "output.d": "2024-02-29",
        "none": None,
        "raw": "00ff",
        "z": ["NaN", 1.0],
    }
    assert json_text([]) == "[]"


def test_a_file_of_arrays_takes_texts_and_leaves_out_what_is_neither(tmp_path: Path) -> None:
    path = tmp_path / "y.npz"
    others = {"output.x": None, "output.y": [], "output.z": 3, "output.b": b"raw"}
    assert write_answer({**others, **ANSWER}, str(path), as_arrays=False) == tuple(others)
    with np.load(path) as arrays:
        assert {name: arrays[name].dtype.kind for name in arrays.files} == {
            "output.0": "f",
            "output.1": "U",
            "output.n": "i",
            "output.c": "c",
            "output.d": "M",
        }
    before = path.read_bytes()
    with pytest.raises(PackageError, match=r"^output\.x, output\.y: a \.npz file .* write a \.json file$"):
        write_answer({"output.x": None, "output.y": []}, str(path), as_arrays=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("as_arrays", [True, False])
def test_standard_output_takes_either(monkeypatch: pytest.MonkeyPatch, as_arrays: bool) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, write_through=True))
    write_answer({"output": np.arange(3)}, "-", as_arrays=as_arrays)
    if as_arrays:
        with np.load(io.BytesIO(raw.getvalue())) as arrays:
            assert arrays["output"].tolist() == [0, 1, 2]
    else:
        assert raw.getvalue() == b'{"output": [0, 1, 2]}\n'
