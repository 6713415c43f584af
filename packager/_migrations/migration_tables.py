"""Migrations as plain tables: what an archive stores, and what a TOML file holds.

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

A table has `name`, `class`, `from`, `to`, `unwrap`, `unknown` and the list `step`, each left out where it
says nothing. Each step names one thing to do, by a word that stands with its class (`RENAMING`,
`DIVIDING`), and what goes with it; transforms are a list of tables, as `transforms = [{ transpose = [1, 0]
}, { cast = "float32" }]`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

from packager._arguments import check_kind, check_path
from packager._names import demangle
from packager._texts import did_you_mean, few_of, in_lines, listed, one_line, printable
from packager._toml_text import TomlError, parse_toml, read_toml, toml_string
from packager.errors import MigrationError

from .declaring import UNKNOWN, Migration, Spelling, Step
from .dividing import DIVIDING
from .renaming import RENAMING, RenamePattern
from .templates import Template
from .transforms import (
    Cast,
    NamedFunction,
    Permute,
    Reshape,
    Roll,
    Scale,
    Slice,
    Transform,
    TransformError,
    Transpose,
)

_STEPS: Mapping[str, Spelling] = {spelling.word: spelling for spelling in (*RENAMING, *DIVIDING)}
_GATES = {
    "before": int,
    "version_key": str,
    "unless": (str, list[str]),
    "if_all": (str, list[str]),
    "if_value": dict,
    "if_module": dict,
}


class MigrationFileError(MigrationError, ValueError):
    """A migration cannot be read; the message gives the file and the line of every mistake."""


def migration_from_table(
    table: Mapping[str, Any],
    where: str,
    name: str = "",
    lines: Sequence[str] = (),
    places: Mapping[str, str] | None = None,
    *,
    stored: bool = False,
) -> Migration:
    """Return the migration that a table describes.

    `where` names its source in messages, `lines` the place of each step, `places` those of single
    keys; `name` is what it is called where the table does not say. Of a `stored` one, what only running
    needs is not looked at: regular expressions, and whether its holes are numbers.

    Raises MigrationFileError for all mistakes together.

    >>> migration_from_table({"step": [{"drop": "{p:any}.attn_mask"}]}, "swin").steps[0].old.text
    '{p:any}.attn_mask'
    """
    problems: list[MigrationFileError] = []  # told together

    def tried(make: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return make(*arguments)
        except MigrationFileError as error:
            problems.append(error)
            return None

    at = places or {}
    keys = {"name", "class", "from", "to", "unknown", "unwrap", "step"}
    tried(_check_keys, table, keys, next((at[key] for key in at if key not in keys), where))
    rows = tried(_typed, table, "step", list, where, []) or []
    known = [*lines[: len(rows)], *[where] * (len(rows) - len(lines))]
    steps = [tried(_step, row, line, stored) for row, line in zip(rows, known, strict=True)]
    unwrap = tried(_typed, table, "unwrap", (str, list[str]), at.get("unwrap", where), [])
    fields = {
        field: tried(_typed, table, key, kind, at.get(key, where), absent)
        for field, key, kind, absent in (
            ("name", "name", str, name),
            ("target", "class", str, ""),
            ("to", "to", int, None),
            ("since", "from", int, None),
            ("unknown", "unknown", str, UNKNOWN[0]),
        )
    }
    if fields["unknown"] not in (None, *UNKNOWN):
        choices = ", ".join(map(repr, UNKNOWN))
        said = f"{at.get('unknown', where)}: unknown = {fields['unknown']!r}: choose one of {choices}"
        problems.append(MigrationFileError(said))
    if problems:
        every = [told for one in problems for told in one.problems or (str(one),)]
        raise MigrationFileError(in_lines(*few_of([*map(str, problems)]))).holding(every)
    names = (unwrap,) if isinstance(unwrap, str) else tuple(unwrap)
    try:
        place = at.get("to", where)
        return Migration(steps=steps, unwrap=names, where=place, stored=stored, **fields)
    except MigrationError as error:
        raise MigrationFileError(_placed(error, at.get("from", where))).holding(error.problems) from None


def table_of(migration: Migration) -> dict[str, Any]:
    """Return the table of a migration. Raises MigrationError for a transform that has no place in one."""
    table = {
        "name": migration.name,
        "class": demangle(migration.target) or None,
        "from": migration.since,
        "to": migration.to,
        "unwrap": list(migration.unwrap) or None,
        "unknown": None if migration.unknown == UNKNOWN[0] else migration.unknown,
        "step": [step_table(step) for step in migration.steps],
    }
    return {key: value for key, value in table.items() if value is not None}


def step_table(step: Step) -> dict[str, Any]:
    """Return the table of one step; raises MigrationError as `table_of` does."""
    table = _spelt(step, _STEPS)
    gates = {key: getattr(step.gates, key) for key in _GATES}
    return {**table, **{key: _gate(value) for key, value in gates.items() if value not in (None, ())}}


def _gate(value: Any) -> Any:
    """Return what a gate asks for; values by their keys, where there are any."""
    if isinstance(value, tuple) and isinstance(value[0], tuple):
        return {template.text: wanted for template, wanted in value}
    return _plain(value)


def _spelt(thing: Any, spellings: Mapping[str, Spelling]) -> dict[str, Any]:
    """Return the table of a step or a transform, without what is as it would be anyway.

    Raises MigrationError for one that has no spelling.
    """
    found = next((spelling for spelling in spellings.values() if type(thing) is spelling.kind), None)
    if found is None:
        raise MigrationError(
            f"the transform {thing!r:.80} cannot be stored; move it into a function of a module, and write "
            'NamedFunction("package.module:name")'
        )
    usual = {field.name: field.default for field in fields(thing)}
    values = {key: (name, getattr(thing, name)) for key, (name, _) in found.keys.items()}
    return {
        key: _plain(value)
        for key, (name, value) in values.items()
        if key == found.word or value != usual[name]
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Template):
        return value.text
    return value if isinstance(value, (str, int, float, type(None))) else _transform_table(value)


def _transform_table(transform: Transform) -> dict[str, Any]:
    table = _spelt(transform, _TRANSFORMS)
    if isinstance(transform, NamedFunction):
        return {
            **table,
            "function": demangle(transform.name),
        }  # code of an archive knows itself by another name
    if isinstance(transform, Transpose) and transform.axes is None:
        return {"transpose": True}
    if isinstance(transform, Slice):
        start, stop = transform.start or 0, transform.stop
        return {"slice": [start] if stop is None else [start, stop], "axis": transform.axis}
    return table


def _step(row: Any, line: str, stored: bool) -> Step:
    if not isinstance(row, Mapping):
        raise MigrationFileError(f"{line}: found {row!r:.60}; expected a table, [[step]]")
    spelling = _one_of(_STEPS, row, line, "a step", found=", ".join(word for word in _STEPS if word in row))
    given = _attributes(spelling, row, line, _GATES)
    try:
        if "transforms" in given:
            given["transforms"] = [_transform(inner, line) for inner in given["transforms"]]
        step: Step = spelling.make(**given, line=line)
        step.check()
        if problem := step.gates.problem():
            raise MigrationFileError(f"{step.described()}: {problem}")
        if not stored:
            step.check_numbers()
            if isinstance(step, RenamePattern):
                step.check_pattern()
    except (MigrationError, TypeError) as error:
        raise MigrationFileError(_placed(error, line)) from None
    return step


def _placed(error: Exception, line: str) -> str:
    return f"{line}: {str(error).removeprefix(f'{line}: ')}"


def _transform(row: Any, line: str) -> Transform:
    if not isinstance(row, Mapping):
        raise MigrationFileError(
            f"{line}: found {row!r:.60}; expected a transform such as {{ transpose = [1, 0] }}"
        )
    spelling = _one_of(_TRANSFORMS, row, line, "a transform", found=repr(dict(row)))
    given = _attributes(spelling, row, line, {})
    try:
        made: Transform = spelling.make(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        )
    except TransformError as error:
        raise MigrationFileError(_placed(error, line)) from None
    except (TypeError, KeyError) as error:
        what = f"{spelling.word} cannot be read from {dict(row)!r}"
        raise MigrationFileError(f"{line}: {what}: {error}") from None
    return made


_TRANSFORMS_ALONE: Final = (
    'Transforms stand beside a rename, which may keep the name: rename = "head.weight", to = "head.weight", '
    "transforms = [{ transpose = true }]"
)


def _one_of(
    spellings: Mapping[str, Spelling], row: Mapping[str, Any], line: str, what: str, *, found: str
) -> Spelling:
    """Return the spelling whose word is in a table. Raises MigrationFileError where there is not one."""
    words = [word for word in spellings if word in row]
    if len(words) != 1:
        beside = f". {_TRANSFORMS_ALONE}" if "transforms" in row and not words else ""
        raise MigrationFileError(
            f"{line}: {what} needs one of {', '.join(spellings)}; found "
            f"{found or _near(row, spellings)}{beside}"
        )
    return spellings[words[0]]


def _near(row: Mapping[str, Any], words: Iterable[str]) -> str:
    """Return the keys of a table that has none of the words, and the word that may be meant."""
    keys = [*row]
    near = next(filter(None, (did_you_mean(key, words) for key in keys)), "")
    return (listed([*map(repr, keys)]) or "nothing") + near


def _attributes(
    spelling: Spelling, row: Mapping[str, Any], line: str, more: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a table gives, by the names of attributes; `more` are the types of further keys.

    Raises MigrationFileError for keys that are not known or lack, and for values of another type.
    """
    _check_keys(row, {*spelling.keys, *more}, line, spelling.word)
    known = {**spelling.keys, **{key: (key, types) for key, types in more.items()}}
    if lacking := [key for key in spelling.required if key not in row]:
        raise MigrationFileError(
            f"{line}: {spelling.word} needs {', '.join(map(repr, lacking))} in the same table"
        )
    return {name: _typed(row, key, types, line, None) for key, (name, types) in known.items() if key in row}


def _slice(start: Sequence[int], axis: int = 0) -> Slice:
    return Slice(axis, *start)


_INTS = list[int]
_LENGTHS = list[int | str]
_AXIS = ("axis", int)
_TRANSFORMS: Mapping[str, Spelling] = {
    spelling.word: spelling
    for spelling in (
        Spelling(
            Transpose,
            lambda axes: Transpose(None if isinstance(axes, bool) else axes),
            {"transpose": ("axes", (bool, _INTS))},
        ),
        Spelling(Reshape, Reshape, {"reshape": ("shape", (str, _LENGTHS)), "was": ("old", _LENGTHS)}),
        Spelling(Slice, _slice, {"slice": ("start", _INTS), "axis": _AXIS}),
        Spelling(Roll, partial(Roll, axis=0), {"roll": ("by", int), "axis": _AXIS}),
        Spelling(Cast, Cast, {"cast": ("dtype", str), "was": ("old", str)}),
        Spelling(Scale, lambda by: Scale(float(by)), {"scale": ("by", (float, int))}),
        Spelling(
            Permute,
            partial(Permute, axis=0),
            {"permute": ("groups", _LENGTHS), "order": ("order", _INTS), "axis": _AXIS},
        ),
        Spelling(
            NamedFunction, NamedFunction, {"function": ("name", str), "result": ("result", (str, _INTS))}
        ),
    )
}


def _check_keys(table: Mapping[str, Any], known: set[str], where: str, word: str = "") -> None:
    """Raise MigrationFileError for keys that are not known, beside a `word` that names the thing."""
    if unknown := sorted(set(table) - known):
        beside = f" beside {word}" if word else ""
        told = listed([f"{key!r}{beside}{did_you_mean(key, known)}" for key in unknown])
        it = " Expected" if told.endswith("?") else "; expected"
        said = f"{where}: unknown {told}{it} {', '.join(sorted(known))}"
        raise MigrationFileError(said).holding(f"{where}: unknown {key!r}" for key in unknown)


def _typed(table: Mapping[str, Any], name: str, kind: Any, where: str, absent: Any) -> Any:
    """Return the value of a key, `absent` where it has none. Raises MigrationFileError for another type."""
    value = table.get(name, absent)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if value is absent or any(_is_of(value, one) for one in kinds):
        _require_small(value, name, where)
        return value
    wanted = " or ".join(map(_type_text, kinds))
    raise MigrationFileError(f"{where}: {name} = {value!r}: found {type(value).__name__}, expected {wanted}")


def _type_text(kind: Any) -> str:
    items = [one for item in get_args(kind) for one in get_args(item) or (item,)]
    return (
        f"{kind.__name__} of {' and '.join(item.__name__ for item in items)}" if items else str(kind.__name__)
    )


def _require_small(value: Any, name: str, where: str) -> None:
    """Raise MigrationFileError for a number that no machine word holds."""
    for number in value if isinstance(value, list) else (value,):
        if isinstance(number, int) and not -(2**63) <= number < 2**64:
            raise MigrationFileError(
                f"{where}: {name} has a number of {number.bit_length()} bits; at most 64"
            )


def _is_of(value: Any, kind: Any) -> bool:
    """Say whether a value has a type, `list[int]` for one; a truth value is no number here."""
    if items := get_args(kind):
        wanted = get_args(items[0]) or items  # of list[int | str], both
        return isinstance(value, list) and all(type(item) in wanted for item in value)
    return isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)


_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_TABLE = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_-]+)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[\[\s*step\s*\]\]")


def read_migration(path: str | os.PathLike[str]) -> Migration:
    """Read a migration file.

    Raises MigrationFileError with all mistakes, each with its line, OSError if the file cannot be opened, and
    ArgumentError unless it is a path.

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
    return parse_migration(text, os.fspath(path))


def parse_migration(text: str, where: str = "migration") -> Migration:
    """Read a migration from the text of a file; `where` names it in messages.

    Raises MigrationFileError with all mistakes, each with its line, ArgumentError unless it is text.

    >>> swin = parse_migration('name = "x"\\n[[step]]\\ndrop = "{p:any}.attn_mask"')
    >>> swin.steps[0].line
    'migration:2'
    """
    check_kind("text", text, str, "a migration as text")
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


def format_migration(migration: Migration, comments: Sequence[str] = (), remarks: str = "") -> str:
    """Return a migration as the text of a TOML file; `comments` are put above the steps, `remarks` at the
    end.

    Raises MigrationError for a transform that a file cannot store.

    >>> from packager.migrations import rename
    >>> print(format_migration(Migration("names", [rename("a", "b")]), ["its new name"]))
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
