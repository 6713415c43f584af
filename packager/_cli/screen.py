"""What commands print: JSON for machines; for people plain text, with rich where it is installed.

Output that goes to a file or a pipe is plain, and shows no progress.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import zip_longest
from shutil import get_terminal_size
from time import monotonic

from packager._texts import STEPS, counted, in_lines, one_line, printable

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, TextIO


@contextmanager
def own_streams() -> Iterator[None]:
    """Let the block print whatever the standard streams of this process are; for a process that is a command.

    A stream that was closed before the start swallows what is printed to it, or is empty. A character
    that the encoding of the output lacks is spelled out. Output that nobody reads any more is given up,
    where the interpreter would complain at its end.
    """
    with ExitStack() as opened:
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            stream = getattr(sys, name)
            if stream is None:
                opened.callback(setattr, sys, name, None)
                setattr(sys, name, opened.enter_context(open(os.devnull, mode, encoding="utf-8")))
            elif mode == "w" and isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            yield
        finally:
            _flush_or_give_up(sys.stdout)


def _flush_or_give_up(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:  # it has been told, or there is nobody to tell
        nowhere = os.open(os.devnull, os.O_WRONLY | getattr(os, "O_BINARY", 0))
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def print_json(value: object) -> None:
    """Print plain data or dataclasses as JSON, keys in their order; bytes become their length.

    An iterator is a list whose items are printed one by one, so that a long one is never in memory.
    """
    from packager._spelled_json import json_pieces, spelled_out

    has_all_characters = (sys.stdout.encoding or "").lower().startswith("utf")
    for piece in json_pieces(value):
        sys.stdout.write(piece if has_all_characters else _NOT_ASCII.sub(spelled_out, piece))
    sys.stdout.write("\n")


def print_text(text: str, *, to: TextIO | None = None) -> None:
    """Print a document of several lines; what would move a terminal's cursor or colour it is spelled out."""
    print(printable(text.rstrip("\n")), file=to)


def print_lines(*parts: str, to: TextIO | None = None) -> None:
    """Print each part on a line of its own, whatever a file has put into it; see `packager._texts`."""
    print(in_lines(*parts), file=to)


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, look: str = "bold"
) -> None:
    """Print rows below a title; nothing where there are none. `look` is rich's style of the title."""
    cells = [[one_line(f"{cell}") for cell in row] for row in rows]
    if not cells:
        return
    filled = [index for index in range(len(columns)) if any(row[index] for row in cells)]
    columns, cells = [columns[index] for index in filled], [[row[index] for index in filled] for row in cells]
    title, console = one_line(title), _console()
    if console is None:
        _print_plain_table(title, columns, cells)
        return
    from rich.table import Table
    from rich.text import Text

    looks = {"title_style": look, "header_style": "underline"}
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, **looks)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    console.print()


def print_changes(lines: Iterable[str]) -> None:
    """Print lines that are safe already: what begins with + or - is green or red on a terminal with rich.

    rich obeys NO_COLOR.
    """
    colour, is_item = "", False

    def style(line: str) -> str:
        nonlocal colour, is_item
        if not (is_item and line.startswith(" " * 6)):  # which goes on with the item before
            colour, is_item = _COLOURS.get(line.lstrip()[:1], ""), line.startswith("  ")
        return colour

    _print_coloured(lines, style)


def with_options(text: str) -> str:
    """Return a text with the rules of an exporter as options of the command.

    >>> with_options('To paste: exporter.extern("numpy.**")')
    "To paste: --extern 'numpy.**'"
    """
    return _RULE.sub(lambda found: f"--{_OPTIONS.get(found[1], found[1])} '{found[2]}'", text)


def print_plan(text: str) -> None:
    """Print the text of a plan: red what stops it, yellow what asks, green what helps, where rich is."""
    _print_coloured(printable(with_options(text).rstrip("\n")).split("\n"), _style_in_plan)


def _print_coloured(lines: Iterable[str], style: Callable[[str], str]) -> None:
    console = _console()
    if console is None:
        for line in lines:
            print(line)
        return
    from rich.text import Text

    for line in lines:
        console.print(Text(line, style=style(line)), soft_wrap=True)


def _style_in_plan(line: str) -> str:
    if line.startswith("* "):
        return "bold red"
    if line.lstrip().startswith("To paste: "):
        return "green"
    if line.endswith(":") and not line.startswith(" "):
        return "bold yellow" if line.startswith(_ASKS) else "bold"
    return ""


_RULE: Final = re.compile(r'exporter\.(intern|extern|mock|deny|allow_variable)\("([^"]+)"\)')
_OPTIONS: Final = {"allow_variable": "variable"}
_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan", "~": "yellow", ">": "blue"}
_ASKS: Final = ("warnings", "licences to look at")


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function of (done, total) bytes that shows a bar on a terminal, or None where there is none."""
    with stages() as show:
        yield None if show is None else partial(show, what)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a function of (step, done, total), as `progress` does for work of one step.

    A total of 0 means that it is not known, and that modules are counted instead of bytes.
    """
    if not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        yield _at_intervals(_plain_stages())
        print(file=sys.stderr)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[amount]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(STEPS.get(step, step), total=total or None, amount="")
            bars.update(tasks[step], completed=done, total=total or None, amount=_amount(done, total))

        yield _at_intervals(show)


def _console() -> Any:
    """rich's console where it is installed and the output is a terminal; else None."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(highlight=False)


def _print_plain_table(title: str, columns: Sequence[str], rows: list[list[str]]) -> None:
    widths = [max(len(row[index]) for row in [columns, *rows]) for index in range(len(columns))]
    if sys.stdout.isatty():
        # The widest give way: a table reads worse where the terminal breaks its lines.
        room = get_terminal_size().columns - len(_INDENT) - 2 * (len(columns) - 1)
        while sum(widths) > room and max(widths) > 8:
            widths[widths.index(max(widths))] -= 1
    from textwrap import wrap  # not needed where archives are loaded

    print(f"{title}:")
    for row in rows:
        folded = [
            [cell] if len(cell) <= width else wrap(cell, width, break_on_hyphens=False)
            for cell, width in zip(row, widths, strict=True)
        ]
        for pieces in zip_longest(*folded, fillvalue=""):
            line = "  ".join(piece.ljust(width) for piece, width in zip(pieces, widths, strict=True))
            print(f"{_INDENT}{line.rstrip()}")
    print()


def _at_intervals(show: Callable[[str, int, int], None]) -> Callable[[str, int, int], None]:
    """`show`, at most twenty times a second, and where a step ends."""
    held: tuple[str, int, int] | None = None
    last = 0.0

    def now_and_then(step: str, done: int, total: int) -> None:
        nonlocal held, last
        if held is not None and held[0] != step:
            show(*held)
        now = monotonic()
        if now - last >= 0.05 or done == total or (held is not None and held[0] != step):
            held, last = None, now
            show(step, done, total)
        else:
            held = (step, done, total)

    return now_and_then


def _plain_stages() -> Callable[[str, int, int], None]:
    shown = ""

    def show(step: str, done: int, total: int) -> None:
        nonlocal shown
        if shown not in ("", step):
            print(file=sys.stderr)
        shown = step
        print(f"\r{STEPS.get(step, step)}: {_amount(done, total)}", end="", file=sys.stderr, flush=True)

    return show


def _amount(done: int, total: int) -> str:
    return f"{100 * done // total} %" if total else counted(done, "module")


_INDENT: Final = "    "
_NOT_ASCII: Final = re.compile("[^\x00-\x7f]")
