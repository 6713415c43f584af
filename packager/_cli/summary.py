"""What the command says of itself: its name, what each command is for, and what its ends mean."""

from __future__ import annotations

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Final

COMMAND: Final = "kellet"
"""What the command is called; it is installed as `packager`, too."""

DESCRIPTION: Final = "Pack a model with its code, weights and environment into one file, and look inside."
EXIT_CODES: Final = """\
exit codes:
  0    done
  1    no: the plan or the archive has problems, or files differ
  2    the command line was not understood
  3    a file cannot be read or written, or is damaged
  4    the target cannot be imported, or its code failed or called sys.exit()
  5    the archive has no signature, and one was asked for
  6    others signed it, or a certificate is no longer valid
  7    a signature is broken, or the bytes are not as they were signed
  8    a rule of signers.toml refuses it: revoked, too old, or code that is not approved
  9    it stores code, and --no-code was given
  130  interrupted from the keyboard; nothing is half-written
  143  ended by SIGTERM, and 129 by SIGHUP; nothing is half-written
"""

GROUPS: Final = {
    "make an archive": {
        "plan": "show what an export would store, and its problems, running nothing",
        "export": "write an object with its code, weights and environment into one file",
        "sign": "sign an archive with a key, so that others load only what you signed",
        "suggest": "write a policy file with the reason for each rule",
        "why": "show why a module is stored: the imports with file and line, and the rule",
    },
    "look inside, running nothing": {
        "inspect": "show what is inside an archive",
        "report": "write what is in an archive as a page of HTML",
        "sbom": "write a bill of materials (CycloneDX) with licences",
        "diff": "show the differences of two archives, or files of weights",
    },
    "check": {
        "verify": "check every digest and every inner format of an archive, running nothing",
        "approve": "show the code of a signed archive, and admit it in signers.toml",
        "check": "repeat the stored examples of an archive, and compare the outputs",
    },
    "load": {
        "run": "load a model from an archive and call it, which runs its code",
        "extract": "write the files of an archive to a folder, running nothing",
        "env": "check, lock or make the environment that an archive needs",
    },
    "bring old weights along": {
        "convert": "write an old file of weights as .safetensors or .kellet, running nothing",
        "migrate": "rename, drop, split and merge the keys of a checkpoint as a migration says",
        "suggest-migration": "draft a migration from an old checkpoint to a model, with reasons",
    },
    "this command": {
        "cache": "show what is kept between runs, or remove it",
        "completion": "print Tab completion for bash, zsh or fish",
    },
}
"""What each command does, by what a person wants, in the order of the help."""

COMMANDS: Final = {name: what for group in GROUPS.values() for name, what in group.items()}


def commands_text() -> str:
    """Return the commands of the help, one group after another."""
    lines = []
    for group, commands in GROUPS.items():
        lines += [f"{group}:", *(f"  {name:<18} {what}" for name, what in commands.items()), ""]
    return "\n".join(lines)
