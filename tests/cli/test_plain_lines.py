"""Lines that are read without argparse mean what argparse takes them for, or are left to it."""

from __future__ import annotations

import itertools
from importlib import import_module

import pytest

from packager.cli.main import _parser
from packager.cli.plain_lines import PLAIN_COMMANDS, plain_options

FILES = {"net.kellet", "-", "", "a b"}
SWITCHES = {"inspect": {"--json", "--tensors"}, "verify": {"--json", "--deep"}}
WORDS = (*sorted(FILES), "--json", "--tensors", "--deep", "--js", "--", "-h", "--identity", "--trust=a:B")


def read(command: str, arguments: tuple[str, ...]) -> dict[str, object] | None:
    options = plain_options(import_module(f"packager.cli.{command}_command").add, arguments)
    return None if options is None else vars(options)


@pytest.mark.parametrize("command", sorted(PLAIN_COMMANDS))
def test_a_plain_line_means_what_argparse_takes_it_for(command: str) -> None:
    parser = _parser(command)
    lines = [line for length in range(4) for line in itertools.product(WORDS, repeat=length)]
    plain = {line: found for line in lines if (found := read(command, line)) is not None}
    assert plain == {line: vars(parser.parse_args([command, *line])) for line in plain}
    assert set(plain) == {
        line
        for line in lines
        if sum(word in FILES for word in line) == 1 and {*line} <= FILES | SWITCHES[command]
    }


def test_each_line_has_a_list_of_trust_of_its_own() -> None:
    first, second = (read("verify", ("net.kellet",)) or {} for _ in range(2))
    assert first["trust"] == second["trust"] == []
    assert first["trust"] is not second["trust"]
