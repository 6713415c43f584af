"""What the command says of itself: its name, what each command is for, and what its ends mean."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Final

DESCRIPTION: Final = "Pack a model with its code, weights and environment into one file, and look inside."
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

GROUPS: Final = {
    "make an archive": {
        "plan": "show what an export would store, and what is wrong, without running anything",
        "export": "write an object with its code, weights and environment into one file",
        "suggest": "write a policy file with the reason for each rule",
        "why": "show why a module is in: the chain of imports with file and line, and the rule",
    },
    "look inside, running nothing": {
        "inspect": "show what is inside an archive",
        "report": "write what is in an archive as a page of HTML",
        "sbom": "write a bill of materials (CycloneDX) with licences",
        "diff": "show what differs between two archives, or files of weights",
    },
    "check": {
        "verify": "check every digest and every inner format of an archive, running nothing",
        "check": "run the golden calls of an archive here, and say how far the answers are off",
    },
    "load": {
        "run": "load a model from an archive and call it",
        "extract": "write the files of an archive to a folder, running nothing",
        "env": "check, lock or make the environment that an archive needs",
    },
    "bring old weights along": {
        "convert": "write the weights of a legacy file as .safetensors or .kellet, running nothing",
        "migrate": "rename, drop, split and merge the keys of a checkpoint as a migration says",
        "suggest-migration": "draft a migration from an old checkpoint to a model, with its reasons",
    },
    "this command": {
        "cache": "show what is kept between runs, or remove it",
        "completion": "print what completes this command in bash, zsh or fish",
    },
}
"""What each command does, by what a person wants, in the order of the help."""

COMMANDS: Final = {name: what for group in GROUPS.values() for name, what in group.items()}


def command_name() -> str:
    """Return the name that the command was started by: `kellet` is the same as `packager`."""
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0] if sys.argv else ""
    return "kellet" if name == "kellet" else "packager"


def commands_text() -> str:
    """Return the commands of the help, one group after another."""
    lines = []
    for group, commands in GROUPS.items():
        lines += [f"{group}:", *(f"  {name:<18} {what}" for name, what in commands.items()), ""]
    return "\n".join(lines)
