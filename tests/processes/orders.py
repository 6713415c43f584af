"""What a command asks of the server, and the reasons why it cannot do it."""

from __future__ import annotations

import os
import resource
import signal
import site
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

PYTHON: Final = sys.executable
_SERVED: Final = ((), ("-I",), ("-P",), ("-s", "-P"), ("-I", "-S"))
"""The flags for which there is a server, started with them itself; `-W` each child takes up."""
_SEEDS: Final = (None, "0")
_READ_AT_ONCE: Final = tuple("PYTHON LD_ LC_ LANG MALLOC_ GLIBC_ OMP_ OPENBLAS_ MKL_ MSGPACK_".split())
"""Variables that an interpreter, its libraries and what the server imports read as they begin."""
_TAKEN_UP: Final = ("PYTHONPATH", "PYTHONWARNINGS", "PYTHONHASHSEED")
"""Those of them that a child takes up, or that have a server of their own."""
_CLEAN_PROCESS: Final = "from packager._proving.proof_process import main"
"""A line of the program of a clean process, which exports nothing."""
_STARTUP: Final = ("sitecustomize", "usercustomize")
_BEGAN_WITH: Final = dict(os.environ)

Key = tuple[tuple[str, ...], str | None]
"""What makes a server another one: its flags, and the seed of its hashes."""


class ColdError(Exception):
    """A command is started as a fresh interpreter; the message says why."""


@dataclass(frozen=True)
class Command:
    """A Python command: flags, options of `-W`, what it runs, and what the program gets."""

    flags: tuple[str, ...]
    warnings: tuple[str, ...]
    kind: str
    program: str
    arguments: tuple[str, ...]
    words: tuple[str, ...]


def command_of(args: Sequence[Any]) -> Command:
    """Read the words of a command; raise ColdError for one that the server cannot run."""
    if isinstance(args, str | bytes | os.PathLike):
        raise ColdError("no list of words")
    first, *words = map(os.fsdecode, args)
    given = tuple(words)
    if first != PYTHON:
        raise ColdError("another program")
    flags: list[str] = []
    warnings: list[str] = []
    while words:
        word = words.pop(0)
        if word.startswith("-W"):
            warnings.append(word[2:] or words.pop(0))
        elif word in ("-c", "-m") and words:
            return Command(_served(flags), tuple(warnings), word, words[0], tuple(words[1:]), given)
        elif word.startswith("-"):
            flags.append(word)
        else:
            return Command(_served(flags), tuple(warnings), "", word, tuple(words), given)
    raise ColdError("no program")


def _served(flags: list[str]) -> tuple[str, ...]:
    if tuple(flags) not in _SERVED:
        raise ColdError(f"flags {' '.join(flags)}")
    return tuple(flags)


def key_of(command: Command, env: Mapping[str, str]) -> Key:
    """Return which server runs a command; raise ColdError where variables need a fresh interpreter."""
    if _inherited() != _INHERITED:
        raise ColdError("limits or ignored signals of this process have changed")
    isolated = "-I" in command.flags
    own = {"PYTHONHASHSEED", *env} if "-s" in command.flags else {*env, *_BEGAN_WITH}
    for name in own:
        if name in _TAKEN_UP or (isolated and name.startswith("PYTHON")):
            continue
        if name.startswith(_READ_AT_ONCE) and env.get(name) != _BEGAN_WITH.get(name):
            raise ColdError(f"variable {name}")
    seed = None if isolated else env.get("PYTHONHASHSEED")
    if seed not in _SEEDS:
        raise ColdError(f"variable PYTHONHASHSEED={seed}")
    return command.flags, seed


def _inherited() -> list[object]:
    """Return what else a process has from the one that starts it: limits, and which signals it ignores."""
    limits = [
        resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")
    ]
    ignored = [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]
    return [limits, ignored]


_INHERITED: Final = _inherited()


def environment_of(key: Key) -> dict[str, str]:
    """Return the variables that a server begins with."""
    seed = {} if key[1] is None else {"PYTHONHASHSEED": key[1]}
    return {name: value for name, value in _BEGAN_WITH.items() if name not in _TAKEN_UP} | seed


def order_of(
    command: Command, cwd: str, env: Mapping[str, str], imported: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return what a server that has `imported` this is told; raise ColdError where it could not do it."""
    isolated = bool(command.flags)
    given = [] if "-I" in command.flags else env.get("PYTHONPATH", "").split(os.pathsep)
    added = [os.path.join(cwd, entry) for entry in given] if given != [""] else []
    first = [] if isolated else [_first_entry(command, cwd)]
    for folder in [*(os.path.join(cwd, entry) for entry in first), *added]:
        for name in _hidden_by(folder, imported):
            raise ColdError(f"{name} would be imported from {folder}")
    ours = [] if "-I" in command.flags else env.get("PYTHONWARNINGS", "").split(",")
    return {
        "kind": command.kind,
        "program": command.program,
        "command": [PYTHON, *command.words],
        "argv": [command.kind or command.program, *command.arguments],
        "path": [*first, *dict.fromkeys(added)],
        "warnings": [*filter(None, ours), *command.warnings],
        "cwd": cwd,
        "env": dict(env),
        "proves": _may_prove(command, cwd, env),
    }


def _may_prove(command: Command, cwd: str, env: Mapping[str, str]) -> bool:
    """Say whether a program may export, and has a server fork what `-s -P` gives in this environment.

    Of the variables of Python that are ignored there, a process that has begun can take back these alone.
    """
    read = {name for name in _BEGAN_WITH if name.startswith("PYTHON")}
    if (
        "-S" in command.flags
        or site.ENABLE_USER_SITE
        or read - {*_TAKEN_UP, "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
    ):
        return False
    if "-I" not in command.flags and "PYTHONHASHSEED" in env:
        return False
    text = command.program
    if not command.kind:
        with open(os.path.join(cwd, command.program), encoding="utf-8", errors="replace") as file:
            text = file.read()
    return command.kind == "-m" or ("packager" in text and _CLEAN_PROCESS not in text)


def _first_entry(command: Command, cwd: str) -> str:
    """Return what stands first on the path of a command."""
    if command.kind == "-c":
        return ""
    if command.kind == "-m":
        return os.path.realpath(cwd)
    file = os.path.join(cwd, command.program)
    if not os.path.isfile(file) or zipfile.is_zipfile(file):
        raise ColdError("its program is a folder or an archive")
    return os.path.dirname(os.path.realpath(file))


def _hidden_by(folder: str, imported: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the modules that an interpreter would find in a folder, and the server has found elsewhere."""
    try:
        found = os.listdir(folder)
    except OSError:
        return
    for entry in found:
        name, _, suffix = entry.partition(".")
        file = os.path.join(folder, entry) if suffix else os.path.join(folder, entry, "__init__.py")
        if name in _STARTUP and os.path.isfile(file):
            yield name
        is_module = bool(imported.get(name)) and suffix in ("", "py", "so") and os.path.isfile(file)
        if is_module and os.path.realpath(file) != imported[name]:
            yield name
