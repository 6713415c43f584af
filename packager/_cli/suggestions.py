"""What was meant: the parser of command lines, and what stands beside an error for a wrong name."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence

from packager._texts import did_you_mean, listed, one_line, shown_place

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn


_CHOICE: Final = re.compile(r"invalid choice: '(?P<given>[^']*)' \(choose from (?P<choices>.*)\)")
_WORD: Final = re.compile(r"[\w.-]+")
_OPTION: Final = re.compile(r"--[a-z][a-z-]+")
_EXAMPLE: Final = re.compile(r"(.*?)(?:(  +)(\S.*))?")  # of a command, and what it does beside it
_MOST_NAMES: Final = 10_000
"""A folder with more files is not looked through for a name that is near."""


class Parser(argparse.ArgumentParser):
    """argparse's parser, whose errors say what was meant, with the usage of the very command."""

    _given: Sequence[str] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.color = False  # Python 3.14 colours its help, whose lines are measured below

    def parse_known_args(self, args: Any = None, namespace: object = None) -> Any:
        """Parse what is known. What is not is an error here: the command itself knows its options."""
        self._given = () if args is None else tuple(map(str, args))
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            meant = did_you_mean(unknown[0].partition("=")[0], self._long_options())
            words = listed([*map(shown_place, unknown)], apart=" ")
            self.error(f"unrecognized arguments: {words}{meant}")
        return parsed, unknown

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Return what the type of an option makes of a word; its ValueError says what is wrong."""
        try:
            return self._registry_get("type", action.type, action.type)(arg_string)
        except ValueError as error:
            raise argparse.ArgumentError(action, str(error)) from error

    def format_help(self) -> str:
        """Return the help, with paragraphs and examples that are as wide as the terminal, and no wider."""
        width = max(40, shutil.get_terminal_size().columns - 2)  # as argparse has it for options
        blocks = super().format_help().rstrip("\n").split("\n\n")
        return "\n\n".join("\n".join(_narrowed(block.split("\n"), width)) for block in blocks) + "\n"

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and end with code 2."""
        wrong = _CHOICE.search(message)
        if wrong is not None:
            message += did_you_mean(wrong["given"], _WORD.findall(wrong["choices"]))
        elif "required" in message:  # what is missing may be there under a name that is not quite its own
            message += self._misspelled_option()
        words = {part for given in self._given for part in (given, given.partition("=")[2])}
        for word in sorted(words, key=len, reverse=True):  # one may be the start of another
            bare = word.lstrip("-")
            if (shown := shown_place(bare)) != bare:  # an address
                for part in (bare, bare[1:]):  # of -http:// argparse takes off -h
                    message = message.replace(part, shown).replace(repr(part)[1:-1], shown)
        super().error(one_line(message))

    def _misspelled_option(self) -> str:
        known = self._long_options()
        for word in self._given:
            name = word.partition("=")[0]
            near = did_you_mean(name, known)
            if near and _OPTION.fullmatch(name) and not any(one.startswith(name) for one in known):
                return f"; there is no {name}{near.replace(';', ',')}"
        return ""

    def _long_options(self) -> list[str]:
        names = (name for action in self._actions for name in action.option_strings)
        return [name for name in names if _OPTION.fullmatch(name)]


def target(text: str, expected: str = "expected package.module:name, or a module") -> str:
    """Read an argument that is a target: dots, and no slashes. Raises ValueError."""
    module, colon, name = text.partition(":")
    parts = [*module.split("."), *(name.split(".") if colon else ())]
    if all(part.isidentifier() for part in parts) and not os.path.isfile(module):
        return text
    raise ValueError(f"{text!r}: {expected}{_spelled_as_target(module, name)}")


def target_or_file(text: str) -> str:
    """Read an argument that is a target or a file that is there, for argparse; see `target`."""
    if os.path.exists(text):
        return text
    return target(text, "expected a file that is there, package.module:name, or a module")


def meant(error: BaseException) -> Iterator[str]:
    """Yield what may have been meant by a name that is not there: of a file, a module, or in a module."""
    cause: BaseException | None = error
    while cause is not None:
        found = _meant(cause).removeprefix("; ")
        if found:
            yield found
            return
        cause = cause.__cause__


def _narrowed(block: list[str], width: int) -> list[str]:
    """Return a block of help, where it is too wide: a paragraph filled anew, an example continued."""
    if all(len(line) <= width for line in block):
        return block
    if not any(line.startswith(" ") for line in block):
        return textwrap.wrap(" ".join(block), width, break_on_hyphens=False)
    lines = []
    for line in block:
        indent = line[: len(line) - len(line.lstrip())]
        given, gap, said = _EXAMPLE.fullmatch(line.strip()).groups()  # type: ignore[union-attr]  # any fits
        is_command = given.startswith("kellet ")
        if len(line) <= width:
            lines.append(line)
        elif gap and is_command:
            hash_mark = f"{indent}    # "
            lines += [
                f"{indent}{given}",
                *textwrap.wrap(said, width, initial_indent=hash_mark, subsequent_indent=hash_mark),
            ]
        else:
            hanging = (
                " " * len(f"{indent}{given}{gap or ''}") if gap else f"{indent}    " if is_command else indent
            )
            *first, last = textwrap.wrap(
                line, width - 2, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
            )
            lines += [*(f"{one} \\" if is_command else one for one in first), last]
    return lines


def _meant(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str):
        folder, name = os.path.split(error.filename)
        near = did_you_mean(name, [one for one in _names_in(folder or os.curdir) if _are_alike(one, name)])
        return near.replace("mean ", f"mean {folder}{os.sep}", 1) if near and folder else near
    if isinstance(error, ModuleNotFoundError) and error.name:
        package, dot, _ = error.name.rpartition(".")
        inside = _modules_in(package.replace(".", os.sep)) if dot else ()
        if near := did_you_mean(error.name, [f"{package}.{name}" for name in inside]):
            return near
        names = [name.removesuffix(".py") for name in _names_in(os.curdir)]
        # What has a dot may have been meant for a file, as `net.kellet`.
        return did_you_mean(error.name, [name for name in names if "." in error.name or name.isidentifier()])
    if isinstance(error, AttributeError) and isinstance(error.name, str):
        return did_you_mean(error.name, vars(type(error.obj)) | getattr(error.obj, "__dict__", {}))
    return ""


def _are_alike(one: str, other: str) -> bool:
    """Say whether one file may have been meant for another: an equal ending alone says nothing of that."""
    (stem, ending), (other_stem, other_ending) = os.path.splitext(one), os.path.splitext(other)
    same_kind = ending == other_ending and bool(did_you_mean(stem, [other_stem]))
    return same_kind or stem == other_stem


def _modules_in(folder: str) -> Sequence[str]:
    names = {name.removesuffix(".py") for name in _names_in(folder)}
    return [name for name in names if name.isidentifier()]


def _names_in(folder: str) -> Sequence[str]:
    try:
        names = os.listdir(folder)
    except OSError:  # nothing is near there
        return ()
    return names if len(names) <= _MOST_NAMES else ()


def _spelled_as_target(module: str, name: str) -> str:
    """The target that a path means, where it lies in or below the current folder: `./nets/gate:Net`."""
    path = os.path.relpath(module.removesuffix(".py")) if module else os.curdir
    parts = path.split(os.sep)
    if all(part.isidentifier() for part in (*parts, *(name.split(".") if name else ()))):
        return f"; did you mean {'.'.join(parts)}{':' if name else ''}{name}?"
    above = os.path.dirname(os.path.abspath(module))
    if os.sep in module and os.pardir in parts and parts[-1].isidentifier():
        return f"; run it in the folder that the package lies in, as {above}"
    return ""
