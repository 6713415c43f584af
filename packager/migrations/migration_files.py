"""Migrations as TOML files: read with the line of every mistake, and written.

    name = "swin"
    class = "timm.models.swin:SwinTransformer"     # left out: a checkpoint as a whole
    from = 1                                       # left out: from every older version
    to = 2                                         # left out: for every version

    [[step]]
    rename = "layers.{n:int}.downsample.{rest:any}"
    to = "layers.{n+1}.downsample.{rest}"
    unless = "head.fc.weight"

    [[step]]
    drop = "{p:any}.attn_mask"

What the words mean is in `migration_tables.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packager.arguments import check_path
from packager.texts import one_line, printable
from packager.toml_text import TomlError, parse_toml, read_toml, toml_string

from .declaring import Migration
from .migration_tables import MigrationFileError, migration_from_table, table_of

_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_TABLE = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_-]+)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[\[\s*step\s*\]\]")


def read_migration(path: str | Path) -> Migration:
    """Read a migration file.

    Raises MigrationFileError, once for all mistakes, each with its line, OSError where the file cannot be
    opened, and ArgumentError for what is no path.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "swin.toml")
    ...     _ = path.write_text('[[step]]\\ndrop = "mask"')
    ...     read_migration(path).name
    'swin'
    """
    check_path("path", path)
    try:
        text = read_toml(path)
    except TomlError as error:
        raise MigrationFileError(f"{path}: {error}") from None
    return migration_from_text(text, str(path))


def migration_from_text(text: str, where: str = "migration") -> Migration:
    """Read a migration from the text of a file; `where` names it in messages.

    Raises MigrationFileError, once for all mistakes, each with its line.

    >>> swin = migration_from_text('name = "x"\\n[[step]]\\ndrop = "{p:any}.attn_mask"')
    >>> swin.steps[0].line
    'migration:2'
    """
    try:
        table = parse_toml(text)
    except TomlError as error:
        raise MigrationFileError(f"{where}: {error}") from None
    lines: list[str] = []
    places: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if _HEADER.match(line):
            lines.append(f"{where}:{number}")
        elif (key := _TABLE.match(line)) or (not lines and (key := _KEY.match(line))):
            places.setdefault(key[1], f"{where}:{number}")
    return migration_from_table(table, where, one_line(Path(where).stem), lines, places)


def migration_text(migration: Migration, comments: Sequence[str] = (), remarks: str = "") -> str:
    """Return a migration as the text of a TOML file; `comments` stand above the steps, `remarks` at the end.

    Raises MigrationError for a transform that has no place in a file.

    >>> from packager.migrations import rename
    >>> print(migration_text(Migration("names", [rename("a", "b")]), ["its new name"]))
    name = "names"
    <BLANKLINE>
    # its new name
    [[step]]
    rename = "a"
    to = "b"
    <BLANKLINE>
    """
    table = table_of(migration)
    steps = table.pop("step")
    blocks = [_lines(table)]
    for number, step in enumerate(steps):
        comment = _comment(comments[number]) if number < len(comments) else ""
        blocks.append(f"{comment}[[step]]\n{_lines(step)}")
    return "\n".join([*blocks, *([_comment(remarks)] if remarks else [])])


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _comment(text: str) -> str:
    return "".join(f"# {printable(line)}".rstrip() + "\n" for line in text.splitlines())


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else str(_value(key))


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_name(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float) and not isinstance(value, bool):
        return repr(value)
    return toml_string(value) if isinstance(value, str) else json.dumps(value)  # as TOML has ints and bools
