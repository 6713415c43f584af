"""The guide to the command: its examples run as they stand, and it names every command."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import sys
from pathlib import Path

from packager._cli.main import COMMANDS, EXIT_CODES
from tests import processes

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guides/command.md"
LIST = ROOT / "docs/reference/commands.md"
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"\[exit code (\d+)\]\n\Z")


def sessions(page: str) -> list[tuple[str, str]]:
    """Each command line of the page with what it is said to print."""
    console = "".join(text for kind, text in BLOCKS.findall(page) if kind == "console")
    return [tuple(part.split("\n", 1)) for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]]  # type: ignore[misc]  # two parts


def test_the_examples_run_as_they_stand(tmp_path: Path) -> None:
    page = GUIDE.read_text(encoding="utf-8")
    (tmp_path / "shop.py").write_text(next(text for kind, text in BLOCKS.findall(page) if kind == "python"))
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "KELLET_CACHE": str(tmp_path / "cache")}
    same = doctest.OutputChecker().check_output
    for line, expected in sessions(page):
        name, *arguments = shlex.split(line)
        command = [sys.executable, *(["-m", "packager"] if name == "kellet" else []), *arguments]
        done = processes.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        match = CODE.search(expected)
        code, text = (int(match[1]), expected[: match.start()]) if match else (0, expected)
        printed = done.stdout + done.stderr
        assert done.returncode == code, (line, printed)
        assert same(text, printed, doctest.ELLIPSIS), f"$ {line}\n{printed}"


def test_every_command_and_exit_code_is_on_its_page() -> None:
    page, commands = (one.read_text(encoding="utf-8") for one in (GUIDE, LIST))
    assert [name for name in COMMANDS if f"`{name}`" not in commands] == []
    codes = re.findall(r"^  (\d+) +", EXIT_CODES, re.MULTILINE)
    assert [code for code in codes if f"| {code} |" not in page] == []
