"""The reference page of the command, made from its own help, so that no option is forgotten."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from unittest import mock

from packager._cli.main import _parser
from packager._cli.summary import EXIT_CODES


def page() -> str:
    """Every command with its help."""
    with mock.patch.dict(os.environ, COLUMNS="100"):
        parts = [
            "# The command kellet",
            "The command; [the guide](../../guides/command.md) shows it at work.",
        ]
        parts += [f"```text\n{EXIT_CODES}```"]
        for name, parser in commands().items():
            parts.append(f"## kellet {name}\n\n```text\n{parser.format_help()}```")
    return "\n\n".join(parts) + "\n"


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command by its name."""
    choices = next(action.choices for action in _parser()._actions if isinstance(action.choices, dict))
    return dict(choices)


def write_command_page(folder: Path) -> None:
    """Write the page beside those of the modules."""
    path, text = folder / "command.md", page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
