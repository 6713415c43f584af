"""What is printed of files that may be an enemy's: bounded, and without a word to the terminal itself."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import pytest

from packager.cli.screen import print_json, print_table, print_text, printable


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
    print_json({"rows": (Row(str(n), n) for n in range(2)), "bytes": b"12345", "set": {1}, "nan": math.nan})
    assert json.loads(capsys.readouterr().out.replace("NaN", '"nan"')) == {
        "rows": [{"name": "0", "size": 0}, {"name": "1", "size": 1}],
        "bytes": 5,
        "set": [1],
        "nan": "nan",
    }


def test_json_holds_no_word_to_the_terminal(capsys: Any) -> None:
    odd = "\x1b[2J\x9b\u202e\ud800\x7f\ufeff"
    print_json({odd: odd})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert printed.replace("\n", "").isprintable()
    assert json.loads(printed) == {odd: odd}
