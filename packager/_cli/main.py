"""The command line: which commands there are, and what their ends mean.

A command is a module with `add(commands)`, which declares it, and a function that carries it out
and returns an exit code. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from .suggestions import Parser
from .summary import COMMAND, COMMANDS, DESCRIPTION, EXIT_CODES, commands_text

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType
    from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line; return its exit code.

    `arguments` default to those of the process. Wrong usage raises SystemExit(2), as argparse does.
    """
    if arguments is not None:
        options = _understood(arguments)
        return carry_out(options.run, options)
    from packager._process import end_in_order

    from .screen import own_streams

    sys.excepthook = _show_traceback  # the process is this command's own
    try:
        with end_in_order(), own_streams():
            options = _understood(sys.argv[1:])
            return carry_out(options.run, options)
    except KeyboardInterrupt:  # while the command line was read: nothing was begun
        return _failed("interrupted; nothing is half-written", 130)


def _failures_of_code() -> tuple[type[Exception], ...]:
    """Return the errors of code that is not there, or fails; asked for where something was raised."""
    from packager._calls import TargetError
    from packager.errors import CodeFailedError

    return TargetError, CodeFailedError, ModuleNotFoundError


def _understood(arguments: Sequence[str]) -> Any:
    """Return the options of a command line; `run` is what carries it out."""
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what may come next
        from .completion_command import complete

        complete(_parser(COMMANDS))
    options = _parser(arguments[:1]).parse_args(arguments)
    for name in ("file", "old", "before", "after"):
        if "://" in (given := getattr(options, name, None) or ""):
            from packager._remote import hide_secrets

            setattr(options, name, hide_secrets(given))  # what is shown of it from here on
    return options


def carry_out(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Call `run`; warnings and an error become lines on stderr, and an error an exit code.

    Code of a model that ends with `sys.exit()` has failed, whatever code it gives.
    """
    import errno
    import warnings

    from packager._file_access import os_error_mend
    from packager._process import AnswerRequired, EndedBySignal
    from packager.errors import ArchiveError, LegacyFormatError, PackageError

    told_what_to_do = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            with AnswerRequired("running the code of the model", hold=True):
                code = int(run(options))
            sys.stdout.flush()  # a full disk is told with a line and a code, not at the interpreter's end
            return code
    except BrokenPipeError:  # the reader of the output closed it, as `head` does
        return 3
    except _failures_of_code() as error:
        _note_namesake(error)
        return _failed(error, 4)
    except (ArchiveError, LegacyFormatError, OSError) as error:
        if getattr(error, "errno", None) in told_what_to_do and not isinstance(error, PackageError):
            error.add_note(os_error_mend(error))
        return _failed(error, 3)
    except PackageError as error:
        return _failed(error, getattr(error, "exit_code", 1))
    except ImportError as error:
        _note_namesake(error)
        return _failed(error, 4)
    except EndedBySignal as ended:
        return _failed("ended by a signal; nothing is half-written", 128 + ended.number)
    except KeyboardInterrupt:
        return _failed("interrupted; nothing is half-written", 130)


def _parser(asked: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of the command line, in which commands that are `asked` for know their options."""
    as_it_stands = argparse.RawDescriptionHelpFormatter

    class Version(argparse.Action):
        """Print the version; it is looked up by this option only."""

        def __call__(self, parser: argparse.ArgumentParser, *parsed: object) -> None:
            from packager._version import installed_version

            print(f"{COMMAND} {installed_version() or 'that is not installed, only importable'}")
            parser.exit()

    parser = Parser(
        prog=COMMAND,
        description=DESCRIPTION,
        epilog=f"{commands_text()}\n{EXIT_CODES}",
        formatter_class=as_it_stands,
    )
    parser.add_argument(
        "--version", action=Version, nargs=0, default=argparse.SUPPRESS, help="print the version and exit"
    )
    commands = parser.add_subparsers(title="command", metavar="COMMAND", required=True, help="what to do")
    for name, what in COMMANDS.items():
        if name not in asked:
            commands.add_parser(name)
            continue
        module = import_module(f".{name.replace('-', '_')}_command", __package__)
        described = {"description": f"{what[0].upper()}{what[1:]}.", "epilog": module.EPILOG}
        command = commands.add_parser(name, formatter_class=as_it_stands, **described)
        command.set_defaults(run=getattr(module, "run", None))
        module.add(command)
    return parser


def _warned(message: Warning | str, *place: Any, **more: Any) -> None:
    from .screen import print_lines

    print_lines(f"{COMMAND}: warning: " + _of_others(message), to=sys.stderr)


def _show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an error that is not ours: its texts and lines of source are a file's, too."""
    import traceback

    from packager._texts import printable

    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, trace))))


def _note_namesake(error: Exception) -> None:
    """Add a note where a file in the current folder has the name of a package of ours, and that is why."""
    from packager._version import OWN_PACKAGES, is_namesake

    for name in OWN_PACKAGES:
        for file in (f"{name}.py", os.path.join(name, "__init__.py")):
            if f"'{name}" in str(error) and os.path.isfile(file) and is_namesake(name, file):
                error.add_note(
                    f"{file} has the name of a package that this command needs. Give your file another name"
                )


def _failed(error: object, code: int) -> int:
    from packager._texts import in_lines, on_screen

    from .screen import print_lines

    notes = [f"  {note}" for note in getattr(error, "__notes__", ())]
    if isinstance(error, Exception):
        from .suggestions import meant

        notes += [f"  {question}" for question in meant(error)]
    print_lines(on_screen(in_lines(f"{COMMAND}: " + _of_others(error), *notes), 40), to=sys.stderr)
    return code


def _of_others(said: object) -> str:
    """Return a text for the screen; that of an error which is not ours keeps its lines, indented."""
    from packager._texts import Lines, in_lines, on_screen, shown_place

    from .screen import with_options

    text = str(said)
    if isinstance(text, Lines):
        return Lines(with_options(text.rstrip()))
    if isinstance(name := getattr(said, "filename", None), str):  # of an OSError
        text = text.replace(repr(name), repr(shown_place(name)))
    first, *rest = text.rstrip().split("\n")
    return on_screen(in_lines(first, *(f"  {line}" for line in rest)))
