"""Tab: what a shell is told, as argcomplete asks for it, and the lines that let it ask."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from packager._cli import main
from tests import processes

ASK = """
import os, sys
os.dup2(1, 8)
sys.argv = ["packager"]
from packager._cli import main
main()
"""


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("kellet ex", ["export", "extract"]),
        ("kellet check --to", ["--tolerance "]),
        ("kellet env create x --no", ["--no-packager "]),
        ("kellet check x --environment w", ["warn "]),
        ("kellet cache cl", ["clear "]),
        ("kellet verify ne", ["net.kellet", "nets/"]),
    ],
)
def test_what_may_come_next_is_answered(line: str, answer: list[str], tmp_path: Path) -> None:
    (tmp_path / "net.kellet").touch()
    (tmp_path / "nets").mkdir()
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    done = processes.run(
        [sys.executable, "-c", ASK],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **asked},
        check=True,
    )
    assert done.stdout.split("\n") == answer


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_of_a_shell_name_both_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert "packager" in out
    assert "kellet" in out
    if shutil.which(shell):
        processes.run([shell, "-n"], input=out, text=True, check=True)


def test_without_the_library_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("argcomplete", "argcomplete.shell_integration"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == (
        "kellet: completion needs argcomplete. Install it: python -m pip install 'kellet[cli]'\n"
    )
