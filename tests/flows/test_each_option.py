"""Every option and every argument of every command, asked of the parser, given what nobody would give.

A command or an option that is new is tried without a word here: it is found in the parser.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from packager._cli import main
from packager._cli.main import _parser

from .test_each_command_ended import CASES, prepared

__all__ = ["prepared"]  # a fixture

ODD = {
    "300 bytes": "n" * 300,
    "a line feed": "one\ntwo",
    "nothing": "",
    "a colour": "\x1b[31mred",
    "half a character": "\udce9.npz",
    "no ASCII": "größe",
    "a dash": "--",
    "a number": "-1",
    "dots": "...",
}


def commands(parser: argparse.ArgumentParser, *path: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the words and the parser of each command that does something itself."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner or not inner[0].required:
        yield " ".join(path), parser
    for action in inner:
        for name, one in action.choices.items():
            yield from commands(one, *path, name)


def tried() -> Iterator[tuple[str, str]]:
    """Yield a line of each command, and the place in it where `{}` stands for one of its arguments."""
    for path, parser in commands(_parser()):
        words = next(shlex.split(case) for case in CASES if f"{case} ".startswith(f"{path} "))
        words += ["--no-proof"] if path == "export" else []  # what is odd is told before
        start = len(path.split())
        for at in range(start, len(words)):
            if not words[at].startswith("-") and not words[at - 1].startswith("-"):
                yield path, shlex.join(["{}" if n == at else word for n, word in enumerate(words)])
        for action in parser._actions:
            if action.option_strings and action.nargs != 0:
                yield path, shlex.join([*words, action.option_strings[-1], "{}"])


LINES = sorted(set(tried()))
LONG = ("export ", "env create ")  # they begin with much, before they are told what is odd


def test_every_option_with_a_value_is_tried() -> None:
    found = {
        (path, action.option_strings[-1])
        for path, parser in commands(_parser())
        for action in parser._actions
        if action.option_strings and action.nargs != 0
    }
    assert {(path, line.split()[-2]) for path, line in LINES if line.split()[-2].startswith("--")} >= found
    assert len(found) > 70


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for all of them: what kellet's own files import is read once."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize(
    ("path", "line"),
    [pytest.param(*one, id=one[1], marks=[pytest.mark.long] * one[1].startswith(LONG)) for one in LINES],
)
def test_it_answers_with_one_clear_line_and_a_documented_code(
    prepared: Path,
    cache: Path,
    path: str,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(prepared)
    monkeypatch.setenv("KELLET_CACHE", str(cache))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.syspath_prepend(prepared)
    for name, odd in ODD.items():
        before = {one for one in prepared.rglob("*") if "__pycache__" not in one.parts}
        try:
            code = main([odd if word == "{}" else word for word in shlex.split(line)])
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else -1
        out, errors = capsys.readouterr()
        told = f"{name}: {code}: {errors}"
        assert code in range(10), told
        assert "Traceback" not in errors, told
        assert "\x1b" not in out + errors, told
        if code:
            assert re.match(rf"(kellet: |usage: kellet {path})", errors), told
            assert "two" not in [line.strip() for line in errors.splitlines()], told
        after = {one for one in prepared.rglob("*") if "__pycache__" not in one.parts}
        assert not code or after == before, told
        for one in sorted(after - before, reverse=True):
            one.unlink() if one.is_symlink() or one.is_file() else shutil.rmtree(one, ignore_errors=True)
