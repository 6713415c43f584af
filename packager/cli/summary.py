"""The help of the whole command, which is printed without argparse: it takes as long as all the rest.

Here stands what the command says of itself, in one place: `main` gives the same words to argparse.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing `typing` takes longer than printing the help
if TYPE_CHECKING:
    from typing import Any, Final

DESCRIPTION: Final = "Pack a model with its code, weights and environment into one file, and look inside."
VERSION_HELP: Final = "print the version and exit"
EXIT_CODES: Final = """\
exit codes:
  0    done
  1    no: the plan holds problems, a verification found some, or files differ
  2    the command line was not understood
  3    a file cannot be read or written, or is damaged
  4    the target cannot be imported, or its code failed, or ended with sys.exit()
  130  interrupted from the keyboard; nothing is half-written
  143  ended by SIGTERM, and 129 by SIGHUP; nothing is half-written
"""

COMMANDS: Final = {
    "plan": "show what an export would store, and what is wrong, without running anything",
    "export": "write an object with its code, weights and environment into one file",
    "suggest": "write a policy file with the reason for each rule",
    "why": "show why a module is in: the chain of imports with file and line, and the rule",
    "inspect": "show what is inside an archive, running nothing",
    "report": "write what is in an archive as a page of HTML, running nothing",
    "sbom": "write a bill of materials (CycloneDX) with licences, running nothing",
    "diff": "show what differs between two archives, or files of weights, running nothing",
    "verify": "check every digest and every inner format of an archive, running nothing",
    "run": "load a model from an archive and call it",
    "check": "run the golden calls of an archive here, and say how far the answers are off",
    "extract": "write the files of an archive to a folder, running nothing",
    "convert": "write the weights of a legacy file as .safetensors or .kellet, running nothing",
    "migrate": "rename, drop, split and merge the keys of a checkpoint as a migration says",
    "suggest-migration": "draft a migration from an old checkpoint to a model, with a reason for each line",
    "env": "check, lock or make the environment that an archive needs",
    "cache": "show what is kept between runs, or remove it",
    "completion": "print what completes this command in bash, zsh or fish",
}
"""What each command does, in the order of the help."""

NARROWEST: Final = 80
"""The columns that `help_text` can fill; argparse has its own ways with fewer."""

# Where argparse puts what an option or a command does; before 3.13 it left the indent of commands out.
_COLUMN: Final = max(map(len, COMMANDS)) + (6 if sys.version_info >= (3, 13) else 4)
_HELP: Final = "show this help message and exit"


def command_name() -> str:
    """Return the name that the command was started by: `kellet` is the same as `packager`."""
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0] if sys.argv else ""
    return "kellet" if name == "kellet" else "packager"


def terminal_width() -> int:
    """Return how many columns the terminal has, or 80.

    Source: shutil.get_terminal_size of Python, whose module takes long to import.
    """
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    if columns <= 0:
        try:
            output: Any = sys.__stdout__
            columns = os.get_terminal_size(output.fileno()).columns
        except (AttributeError, ValueError, OSError):
            columns = 0
    return columns or 80


def help_text(name: str, columns: int) -> str:
    """Return what argparse prints for `packager --help`, for a terminal of at least `NARROWEST` columns."""
    width = columns - 2
    lines = [f"usage: {name} [-h] [--version] COMMAND ...", ""]
    lines += [*_filled("", DESCRIPTION.split(" "), width, ""), "", "options:"]
    lines += _described("  -h, --help", _HELP, width) + _described("  --version", VERSION_HELP, width)
    lines += ["", "commands:", "  COMMAND"]
    for command, what in COMMANDS.items():
        lines += _described(f"    {command}", what, width)
    lines.append("")
    for line in EXIT_CODES.rstrip("\n").split("\n"):
        if len(line) <= width:
            lines.append(line)
            continue
        code, _, what = line.strip().partition(" ")
        head = f"  {code:<5}"
        lines += _filled(head, what.split(), width - 2, " " * len(head))
    return "\n".join(lines) + "\n"


def _described(head: str, what: str, width: int) -> list[str]:
    """Return the lines of an option or a command and what it does, in two columns."""
    first, *rest = _filled("", _parts(what), width - _COLUMN, "")
    beside = [f"{head:<{_COLUMN}}{first}"] if len(head) <= _COLUMN - 2 else [head, " " * _COLUMN + first]
    return [*beside, *(" " * _COLUMN + line for line in rest)]


def _parts(text: str) -> list[str]:
    """Return words; one with hyphens is several, the first of which keep theirs."""
    return [part for word in text.split(" ") for part in word.replace("-", "-\0").split("\0")]


def _filled(head: str, words: list[str], width: int, indent: str) -> list[str]:
    """Fill lines with words; one that ends in a hyphen takes the next one without a space."""
    lines, line = [], head
    is_begun = False
    for word in words:
        gap = " " if is_begun and not line.endswith("-") else ""
        if is_begun and len(line) + len(gap) + len(word) > width:
            lines.append(line)
            line, gap = indent, ""
        line, is_begun = f"{line}{gap}{word}", True
    return [*lines, line]
