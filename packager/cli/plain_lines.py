"""Command lines that are read without argparse, which takes as long to import as an archive to verify.

A line is plain where it names one file, and beside it nothing but switches, each spelt out. The options are
those that the command declares to argparse, which reads every other line: it alone knows abbreviations,
values, and what to say of a mistake.
"""

from __future__ import annotations

from types import SimpleNamespace

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final

PLAIN_COMMANDS: Final = frozenset({"inspect", "verify"})
"""Commands that take one file and options, and do what takes no longer than importing argparse."""


def plain_options(add: Callable[[Any], None], arguments: Sequence[str]) -> Any:
    """Return what argparse makes of the arguments of a command that `add` declares; None for no plain line.

    >>> from packager.cli.inspect_command import add
    >>> plain_options(add, ["net.kellet", "--json"]).json
    True
    >>> plain_options(add, ["net.kellet", "--js"]) is None
    True
    """
    declared = _Declared()
    add(declared)
    found, files = dict(declared.options), []
    for argument in arguments:
        if argument in declared.switches:
            found[declared.switches[argument]] = True
        elif argument != "-" and argument.startswith("-"):
            return None
        else:
            files.append(argument)
    if len(files) != 1:
        return None
    return SimpleNamespace(**found, **{declared.file: files[0]})


class _Declared:
    """What a command says of its options to argparse: their names and defaults. It is its own parser."""

    def __init__(self) -> None:
        self.file = ""
        self.options: dict[str, Any] = {}
        self.switches: dict[str, str] = {}

    def add_parser(self, name: str, **about: object) -> _Declared:
        return self

    def set_defaults(self, **options: object) -> None:
        self.options |= options

    def add_argument(self, name: str, *, action: str = "store", default: Any = None, **about: object) -> None:
        if not name.startswith("-"):
            assert not self.file, f"{self.file} and {name}: a plain command has one file"
            self.file = name
            return
        key = name.lstrip("-").replace("-", "_")
        self.options[key] = False if action == "store_true" else default
        if action == "store_true":
            self.switches[name] = key
