"""The command line: which commands there are, and what their ends mean.

A command is a module with `add(commands)`, which declares it, and a function that carries it out
and returns an exit code. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any

EXIT_CODES = """\
exit codes:
  0    done
  1    no: the plan holds problems, a verification found some, or files differ
  2    the command line was not understood
  3    a file cannot be read or written, or is damaged
  4    the target cannot be imported, or its code failed, or ended with sys.exit()
  130  interrupted from the keyboard; nothing is half-written
  143  ended by SIGTERM, and 129 by SIGHUP; nothing is half-written
"""

_TOLD_WHAT_TO_DO = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE)

COMMANDS = (
    "plan",
    "export",
    "suggest",
    "why",
    "inspect",
    "report",
    "sbom",
    "diff",
    "verify",
    "run",
    "check",
    "extract",
    "convert",
    "migrate",
    "suggest-migration",
    "env",
    "cache",
    "completion",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line; return its exit code.

    `arguments` default to those of the process. Wrong usage raises SystemExit(2), as argparse does.
    """
    if arguments is None:  # the process is this command's own
        try:
            from packager.process import end_in_order

            from .screen import own_streams

            sys.excepthook = _show_traceback
            with end_in_order(), own_streams():
                return main(sys.argv[1:])
        except KeyboardInterrupt:  # while the command line was read: nothing was begun
            return _failed("interrupted; nothing is half-written", 130)
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what may come next
        from .completion_command import complete

        complete(parser)
    options = parser.parse_args(arguments)
    return carry_out(options.run, options)


def carry_out(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Call `run`; warnings and an error become lines on stderr, and an error an exit code.

    Code of a model that ends with `sys.exit()` has failed, whatever code it gives.
    """
    from packager.atomic import os_error_mend
    from packager.calls import TargetError
    from packager.errors import ArchiveError, CodeFailedError, LegacyFormatError, PackageError
    from packager.process import AnswerRequired, EndedBySignal

    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            with AnswerRequired("running the code of the model", hold=True):
                code = int(run(options))
            sys.stdout.flush()  # a full disk is told with a line and a code, not at the interpreter's end
            return code
    except BrokenPipeError:  # the reader of the output closed it, as `head` does
        return 3
    except (TargetError, CodeFailedError, ModuleNotFoundError) as error:
        _note_namesake(error)
        return _failed(error, 4)
    except (ArchiveError, LegacyFormatError, OSError) as error:
        if getattr(error, "errno", None) in _TOLD_WHAT_TO_DO and not isinstance(error, PackageError):
            error.add_note(os_error_mend(error))
        return _failed(error, 3)
    except PackageError as error:
        return _failed(error, 1)
    except ImportError as error:
        _note_namesake(error)
        return _failed(error, 4)
    except EndedBySignal as ended:
        return _failed("ended by a signal; nothing is half-written", 128 + ended.number)
    except KeyboardInterrupt:
        return _failed("interrupted; nothing is half-written", 130)


def _parser() -> argparse.ArgumentParser:
    from .suggestions import Parser

    parser = Parser(
        prog=_command_name(),
        description="Pack a model with its code, weights and environment into one file, and look inside.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f".{name.replace('-', '_')}_command", __package__).add(commands)
    return parser


def _command_name() -> str:
    """Return the name that the command was started by: `kellet` is the same as `packager`."""
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0] if sys.argv else ""
    return "kellet" if name == "kellet" else "packager"


class _Version(argparse.Action):
    """Print the version; it is looked up by this option only."""

    def __call__(self, parser: argparse.ArgumentParser, *parsed: object) -> None:
        from packager.version import installed_version

        print(f"{_command_name()} {installed_version() or 'that is not installed, only importable'}")
        parser.exit()


def _warned(message: Warning | str, *place: Any, **more: Any) -> None:
    from .screen import print_lines

    print_lines(f"{_command_name()}: warning: " + _of_others(message), to=sys.stderr)


def _show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an error that is not ours: its texts and lines of source are a file's, too."""
    import traceback

    from packager.texts import printable

    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, trace))))


def _note_namesake(error: Exception) -> None:
    """Add a note where a file in the current folder has the name of a package of ours, and that is why."""
    from packager.version import OWN_PACKAGES, is_namesake

    for name in OWN_PACKAGES:
        for file in (f"{name}.py", os.path.join(name, "__init__.py")):
            if f"'{name}" in str(error) and os.path.isfile(file) and is_namesake(name, file):
                error.add_note(
                    f"{file} has the name of a package that this command runs on; give yours another name"
                )


def _failed(error: object, code: int) -> int:
    from .screen import print_lines

    notes = [f"  {note}" for note in getattr(error, "__notes__", ())]
    if isinstance(error, Exception):
        from .suggestions import meant

        notes += [f"  {question}" for question in meant(error)]
    print_lines(f"{_command_name()}: " + _of_others(error), *notes, to=sys.stderr)
    return code


def _of_others(said: object) -> str:
    """Return a text for the screen; that of an error which is not ours keeps its lines, indented."""
    from packager.texts import Lines, in_lines

    text = str(said)
    if isinstance(text, Lines):
        return Lines(text.rstrip())
    first, *rest = text.rstrip().split("\n")
    return in_lines(first, *(f"  {line}" for line in rest))
