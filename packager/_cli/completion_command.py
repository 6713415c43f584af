"""`kellet completion`: what lets a shell complete commands, options and files of this command by Tab."""

from __future__ import annotations

import argparse

from .screen import print_text

EPILOG = """\
examples:
  eval "$(kellet completion bash)"  # in ~/.bashrc
  eval "$(kellet completion zsh)"   # in ~/.zshrc
  kellet completion fish > ~/.config/fish/completions/kellet.fish

It needs the library argcomplete: python -m pip install 'kellet[cli]'
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print the lines. Raises PackageError where argcomplete is not installed."""
    from packager.errors import PackageError

    try:
        from argcomplete.shell_integration import shellcode
    except ImportError as error:
        raise PackageError(
            "completion needs argcomplete. Install it: python -m pip install 'kellet[cli]'"
        ) from error
    print_text(shellcode(["kellet", "packager"], shell=options.shell))
    return 0


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks what may come next, and end the process."""
    from argcomplete import autocomplete

    autocomplete(parser)
