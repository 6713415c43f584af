"""What commands print: JSON for machines; for people plain text, with rich where it is installed.

Output that goes to a file or a pipe is plain, and shows no progress.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["print_json", "print_table", "print_text", "progress"]


def print_json(value: Any) -> None:
    """Print plain data or dataclasses as JSON, keys in their order; bytes become their length."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def print_text(text: str) -> None:
    """Print text as it is."""
    print(text.rstrip("\n"))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows below a title; nothing where there are none."""
    cells = [[str(cell) for cell in row] for row in rows]
    if not cells:
        return
    console = _console()
    if console is None:
        _print_plain_table(title, columns, cells)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    console.print()


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function of (done, total) that shows a bar on a terminal, or None where there is none."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
    except ImportError:
        yield _plain_progress(what)
        print(file=sys.stderr)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


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
    widths = [max(len(row[index]) for row in [list(columns), *rows]) for index in range(len(columns))]
    print(f"{title}:")
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(f"    {line.rstrip()}")
    print()


def _plain_progress(what: str) -> Callable[[int, int], None]:
    shown = -1

    def show(done: int, total: int) -> None:
        nonlocal shown
        percent = 100 * done // total if total else 100
        if percent != shown:
            shown = percent
            print(f"\r{what}: {percent} %", end="", file=sys.stderr, flush=True)

    return show


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (field for field in dataclasses.fields(value) if field.repr)
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes | memoryview):
        return len(value)
    return value
