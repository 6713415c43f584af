"""Many questions asked of one fresh process: a script answers each by name, or with the error that it met.

A question is a line `point("name", lambda: ...)`. What failed is an answer, too: none hides the next.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import processes

_HEAD = """
import json, sys

_table = {}


def point(name, ask):
    assert name not in _table, name
    try:
        _table[name] = ask()
    except BaseException as error:
        _table[name] = f"{type(error).__name__}: {error}"


"""
COMMANDS = """
def cli(*arguments, piped=b""):
    import io, warnings
    from types import SimpleNamespace
    from packager._cli import main
    kept = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    sys.stdin, sys.stdout, sys.stderr = SimpleNamespace(buffer=io.BytesIO(piped)), out, err
    try:
        code = main(list(arguments))
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))


"""
"""For the beginning of a script: `cli("run", ...)` gives the exit code of a command, and what it prints."""

_TAIL = "\nprint(json.dumps(_table, default=repr))\n"


def answers(script: str, folder: Path, *options: str, **variables: str) -> dict[str, Any]:
    """Return what the points of a script answer, run by a new interpreter with `options` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = _HEAD + script + _TAIL
    done = ran(folder, *options, "-c", text, **variables)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def ran(folder: Path, *arguments: str, **variables: str) -> processes.CompletedProcess[str]:
    """Run a new interpreter in `folder`, which has to succeed."""
    done = processes.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def write(folder: Path, tree: Mapping[str, str]) -> None:
    """Write files by their paths, without the indentation that they have in a test."""
    for name, text in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
