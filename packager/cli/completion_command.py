"""`packager completion`: what lets a shell complete commands, options and files of this command by Tab."""

from __future__ import annotations

import argparse
from typing import Any

from .screen import print_text

_EXAMPLES = """\
examples:
  eval "$(packager completion bash)"  # in ~/.bashrc
  eval "$(packager completion zsh)"   # in ~/.zshrc
  packager completion fish > ~/.config/fish/completions/packager.fish

It needs the library argcomplete: python -m pip install argcomplete
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "completion",
        description="Print the lines that let a shell complete commands, options and files by Tab.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the lines. Raises PackageError where argcomplete is not installed."""
    from packager.errors import PackageError

    try:
        from argcomplete.shell_integration import shellcode
    except ImportError as error:
        raise PackageError(
            "argcomplete is not there, which completes; install it: python -m pip install argcomplete"
        ) from error
    print_text(shellcode(["packager", "kellet"], shell=options.shell))
    return 0


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks what may come next, and end the process."""
    from argcomplete import autocomplete

    autocomplete(parser)
