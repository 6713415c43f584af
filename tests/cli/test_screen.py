"""What is printed of files that may be an enemy's: bounded, and without a word to the terminal itself."""

from __future__ import annotations

import argparse
import errno
import io
import json
import math
import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from packager._cli import main
from packager._cli.main import carry_out
from packager._cli.screen import (
    own_streams,
    print_changes,
    print_json,
    print_lines,
    print_plan,
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


# --- a terminal ---


def stand_in_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 60 columns; called by the test, since pytest puts its own stream there after the fixtures."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "")


def test_without_rich_the_widest_columns_of_a_table_give_way_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    stand_in_for_a_terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    row = ("net.layers", "a" * 70, "because it is " + "b" * 36)
    print_table("modules", ("name", "rule", "why"), [row, ("x", "y", "")])
    printed = capsys.readouterr().out.splitlines()
    assert max(map(len, printed)) == 60
    parts = [(line[4:14], line[16:37], line[39:]) for line in printed[1:5]]
    assert ["".join(pieces).strip() for pieces in zip(*parts, strict=True)][:2] == list(row[:2])
    assert [part[2] for part in parts] == ["because it is bbbbbbb", "b" * 21, "b" * 8, ""]
    assert printed[5:] == [f"    x{' ' * 11}y", ""]


def test_a_wrapped_change_keeps_its_colour(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    stand_in_for_a_terminal(monkeypatch)
    print_changes(["  ~ w", "      1 of 2", "code:", "-x", "       y", "  - a", "      b"])
    shown = capsys.readouterr().out.splitlines()
    yellow, red, end = "\x1b[33m", "\x1b[31m", "\x1b[0m"
    assert shown[:3] == [f"{yellow}  ~ w{end}", f"{yellow}      1 of 2{end}", "code:"]
    assert shown[3:] == [f"{red}-x{end}", "       y", f"{red}  - a{end}", f"{red}      b{end}"]


def test_a_column_with_nothing_in_it_is_left_out(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    stand_in_for_a_terminal(monkeypatch)
    print_table("checks", ("check", "entry point", ""), [("one", "model", "")])
    assert capsys.readouterr().out == "checks:\n    one    model\n\n"


@pytest.mark.parametrize("rich", [True, False])
@pytest.mark.parametrize("no_color", ["", "1"])
def test_inspect_fits_into_80_columns_and_colours_what_needs_a_look(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path, rich: bool, no_color: str
) -> None:
    golden = Path(__file__).resolve().parents[1] / "golden" / "model-0.1.0.kellet"
    shutil.copy(golden, tmp_path / "net.kellet")
    monkeypatch.chdir(tmp_path)
    stand_in_for_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", no_color)
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    assert main(["inspect", "net.kellet", "--tensors"]) == 0
    print_table("pickles (reading one runs code)", ("entry",), [("net.pkl",)], look="bold yellow")
    shown = capsys.readouterr().out
    lines = re.sub("\x1b\\[[0-9;]*m", "", shown).splitlines()
    assert max(map(len, lines)) <= 80
    assert "things.safetensors" in shown
    assert any(line.split() == ["model", "model"] for line in lines)  # the golden call, without a trace
    assert ("\x1b[1;33mpickles" in shown) == (rich and not no_color)
    assert ("\x1b[" in shown) == rich
    assert not (no_color and re.search("\x1b\\[(?:[0-9;]*;)?3[0-7]m", shown))


def test_without_a_terminal_a_row_is_a_line(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    print_table("modules", ("name", "rule"), [("net", "a" * 90)])
    assert capsys.readouterr().out.splitlines()[1] == f"    net   {'a' * 90}"


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_plan_shows_what_stops_it_and_what_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, no_color: str
) -> None:
    stand_in_for_a_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", no_color)
    lines = [
        "Export plan: 2 problems",
        "",
        "stored:",
        "    net  (asked for: a:b)",
        "warnings:",
        "    one",
        "* a reason",
        "      To paste: exporter.deny('x')",
    ]
    print_plan("\n".join([*lines, ""]))
    printed = capsys.readouterr().out.splitlines()
    assert [re.sub("\x1b\\[[0-9;]*m", "", line) for line in printed] == lines
    coloured = {
        line: re.findall("\x1b\\[([0-9;]+)m", shown)[:1] for line, shown in zip(lines, printed, strict=True)
    }
    codes = [coloured[line] for line in ("stored:", "warnings:", lines[6], lines[7])]
    assert codes == ([["1"], ["1"], ["1"], []] if no_color else [["1"], ["1;33"], ["1;31"], ["32"]])
    assert coloured["    net  (asked for: a:b)"] == coloured["    one"] == []
