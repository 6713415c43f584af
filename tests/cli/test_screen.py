"""What is printed of files that may be an enemy's: bounded, and without a word to the terminal itself."""

from __future__ import annotations

import argparse
import errno
import io
import json
import math
import os
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest

from packager.cli.main import carry_out
from packager.cli.screen import (
    own_streams,
    print_json,
    print_lines,
    print_table,
    print_text,
    printable,
    progress,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, größe, 模型", "plain, größe, 模型"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("up\rover", r"up\rover"),
        ("net\u202eyp.exe", r"net\u202eyp.exe"),
        ("\ud800", r"\ud800"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str, capsys: Any) -> None:
    assert printable(text) == shown
    print_text(text)
    assert capsys.readouterr().out == shown + "\n"


def test_cells_of_a_table_stay_on_their_line(capsys: Any) -> None:
    print_table("modules", ("name", "why"), [("a\nforged  row", "\x1b[31m")])
    assert capsys.readouterr().out.splitlines()[1] == r"    a\nforged  row  \x1b[31m"


@dataclass
class Row:
    name: str
    size: int
    hidden: int = field(default=1, repr=False)


def test_json_is_that_of_the_standard_library(capsys: Any) -> None:
    value = {
        "text": 'a"b\\\n\u2028',
        "nothing": None,
        "numbers": [1, -2.5, True],
        "empty": [[], {}, ()],
        "deep": {"a": {"b": [{"c": 1}]}},
        "größe": "模型",
    }
    print_json(value)
    printed = capsys.readouterr().out
    assert json.loads(printed) == {**value, "empty": [[], {}, []]}
    assert printed == json.dumps(value, indent=2, ensure_ascii=False).replace("\u2028", "\\u2028") + "\n"


def test_json_takes_rows_bytes_and_iterators(capsys: Any) -> None:
    print_json(
        {
            "rows": (Row(str(n), n) for n in range(2)),
            "bytes": b"12345",
            "set": {1},
            "nan": math.nan,
            "far": {"off": [-math.inf]},
        }
    )
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "rows": [{"name": "0", "size": 0}, {"name": "1", "size": 1}],
        "bytes": 5,
        "set": [1],
        "nan": "NaN",
        "far": {"off": ["-Infinity"]},
    }


def test_json_holds_no_word_to_the_terminal(capsys: Any) -> None:
    odd = "\x1b[2J\x9b\u202e\ud800\x7f\ufeff"
    print_json({odd: odd})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert printed.replace("\n", "").isprintable()
    assert json.loads(printed) == {odd: odd}


# --- the streams of a process that is a command ---


def test_a_closed_stream_swallows_what_is_printed_or_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with own_streams():
        print_table("modules", ("name",), [("net",)])
        print_lines("what is wrong", to=sys.stderr)
        with progress("reading") as show:
            assert show is None
        assert sys.stdin.read() == ""


def test_a_character_that_the_encoding_lacks_is_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    with own_streams():
        print_text("├── größe")
        print_json({"größe": "😀"})
    text, _, values = printed.getvalue().decode("ascii").partition("\n")
    assert text == r"\u251c\u2500\u2500 gr\xf6\xdfe"
    assert json.loads(values) == {"größe": "😀"}


def test_output_that_nobody_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with open(writing, "w", encoding="utf-8") as stream:  # closed at its end, as the interpreter does
        monkeypatch.setattr(sys, "stdout", stream)
        with own_streams():
            print_text("a line that stays in the buffer")
            os.close(reading)


def test_a_full_disk_is_an_exit_code_though_all_was_buffered(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    assert carry_out(lambda options: 0, argparse.Namespace()) == 3
    assert capsys.readouterr().err.splitlines()[1] == "  free some space, or write to another disk"
