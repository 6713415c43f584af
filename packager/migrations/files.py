"""Migrations as TOML files: read with the line of every mistake, and written.

    name = "swin"
    class = "timm.models.swin:SwinTransformer"     # left out: a checkpoint as a whole
    to = 2                                         # left out: for every version

    [[step]]
    rename = "layers.{n:int}.downsample.{rest:any}"
    to = "layers.{n+1}.downsample.{rest}"
    unless = "head.fc.weight"

    [[step]]
    drop = "{p:any}.attn_mask"

Each step names one thing to do (rename, pattern, drop, default, split, merge) and what goes with it;
transforms are a list of tables: `transforms = [{ transpose = [1, 0] }, { cast = "float32" }]`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from packager.errors import MigrationError

from .declaring import Migration, default, drop, merge, rename, rename_pattern, split
from .functions import NamedFunction
from .steps import Step, check_step
from .transforms import Cast, Permute, Reshape, Roll, Scale, Slice, Transform

__all__ = ["MigrationFileError", "migration_from_text", "read_migration"]

_HEADER = re.compile(r"\s*\[\[\s*step\s*\]\]")
_GATES = {"before": int, "unless": (str, list), "if_all": (str, list)}


class MigrationFileError(MigrationError, ValueError):
    """A migration file that cannot be read; the message gives the file and the line."""


def read_migration(path: str | Path) -> Migration:
    """Read a migration file. Raises MigrationFileError, and OSError where it cannot be opened."""
    return migration_from_text(Path(path).read_text(encoding="utf-8"), str(path))


def migration_from_text(text: str, where: str = "migration") -> Migration:
    """Read a migration from the text of a file; `where` names it in messages.

    >>> swin = migration_from_text('name = "x"\\n[[step]]\\ndrop = "{p:any}.attn_mask"')
    >>> swin.steps[0].line
    'migration:2'
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MigrationFileError(f"{where}: {error}") from None
    _check_keys(table, {"name", "class", "to", "unwrap", "step"}, where)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]
    rows = _typed(table, "step", list, where, [])
    steps = [
        _step(row, f"{where}:{line}")
        for row, line in zip(rows, [*lines, *[0] * (len(rows) - len(lines))], strict=True)
    ]
    unwrap = _typed(table, "unwrap", (str, list), where, [])
    return Migration(
        _typed(table, "name", str, where, Path(where).stem),
        steps,
        _typed(table, "class", str, where, ""),
        _typed(table, "to", int, where, None),
        (unwrap,) if isinstance(unwrap, str) else tuple(unwrap),
    )


def _step(row: Any, line: str) -> Step:
    if not isinstance(row, Mapping):
        raise MigrationFileError(f"{line}: a step is a table, found {row!r}")
    actions = [action for action in _ACTIONS if action in row]
    if len(actions) != 1:
        raise MigrationFileError(
            f"{line}: a step has one of {', '.join(_ACTIONS)}; found {', '.join(actions) or 'none of them'}"
        )
    make, fields = _ACTIONS[actions[0]]
    _check_keys(row, {actions[0], *fields, *_GATES}, line)
    given = {
        name: _typed(row, name, kind, line, None)
        for name, kind in {**fields, **_GATES}.items()
        if name in row
    }
    try:
        step = make(row[actions[0]], line, **given)
        check_step(step)
    except (MigrationError, TypeError) as error:
        shown = str(error).removeprefix(f"{line}: ")
        raise MigrationFileError(f"{line}: {shown}") from None
    return step


def _rename(old: str, line: str, *, to: str = "", transforms: list[Any] | None = None, **rest: Any) -> Step:
    changes = [_transform(row, line) for row in transforms or []]
    return rename(old, to or old, *changes, line=line, **rest)


def _pattern(old: str, line: str, *, to: str, **rest: Any) -> Step:
    return rename_pattern(old, to, line=line, **rest)


def _drop(old: str, line: str, **rest: Any) -> Step:
    return drop(old, line=line, **rest)


def _default(new: str, line: str, *, fill: float, **rest: Any) -> Step:
    return default(new, fill, line=line, **rest)


def _split(old: str, line: str, *, to: Any, **rest: Any) -> Step:
    return split(old, to, line=line, **rest)


def _merge(old: Any, line: str, *, to: str, **rest: Any) -> Step:
    return merge(old, to, line=line, **rest)


_Fields = Mapping[str, Any]
_PARTS: _Fields = {"to": (str, list), "axis": int, "sizes": list, "over": str}
_ACTIONS: Mapping[str, tuple[Callable[..., Step], _Fields]] = {
    "rename": (_rename, {"to": str, "transforms": list, "repeat": bool}),
    "pattern": (_pattern, {"to": str}),
    "drop": (_drop, {}),
    "default": (_default, {"fill": (int, float, bool), "shape": list, "dtype": str, "like": str}),
    "split": (_split, _PARTS),
    "merge": (_merge, _PARTS),
}


def _transform(row: Any, line: str) -> Transform:
    if not isinstance(row, Mapping):
        raise MigrationFileError(
            f"{line}: a transform is a table such as {{ transpose = [1, 0] }}, found {row!r}"
        )
    names = [name for name in _TRANSFORMS if name in row]
    if len(names) != 1:
        raise MigrationFileError(
            f"{line}: a transform has one of {', '.join(_TRANSFORMS)}; found {dict(row)!r}"
        )
    make, allowed = _TRANSFORMS[names[0]]
    _check_keys(row, {names[0], *allowed}, line)
    return make(row)


def _transpose(row: Mapping[str, Any]) -> Transform:
    from .transforms import Transpose

    axes = row["transpose"]
    return Transpose(tuple(axes) if isinstance(axes, list) else None)


_TRANSFORMS: Mapping[str, tuple[Callable[[Mapping[str, Any]], Transform], set[str]]] = {
    "transpose": (_transpose, set()),
    "reshape": (
        lambda row: Reshape(tuple(row["reshape"]), tuple(row["was"]) if "was" in row else None),
        {"was"},
    ),
    "slice": (lambda row: Slice(row.get("axis", 0), *row["slice"]), {"axis"}),
    "roll": (lambda row: Roll(row.get("axis", 0), row["roll"]), {"axis"}),
    "cast": (lambda row: Cast(row["cast"], row.get("was")), {"was"}),
    "scale": (lambda row: Scale(row["scale"]), set()),
    "permute": (
        lambda row: Permute(row.get("axis", 0), tuple(row["permute"]), tuple(row["order"])),
        {"axis", "order"},
    ),
    "function": (lambda row: NamedFunction(row["function"]), set()),
}


def _check_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(table) - known):
        raise MigrationFileError(
            f"{where}: unknown {', '.join(map(repr, unknown))}; expected {', '.join(sorted(known))}"
        )


def _typed(table: Mapping[str, Any], name: str, kind: Any, where: str, absent: Any) -> Any:
    value = table.get(name, absent)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if value is absent or (isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)):
        return value
    wanted = " or ".join(one.__name__ for one in kinds)
    raise MigrationFileError(f"{where}: {name} = {value!r} is {type(value).__name__}, expected {wanted}")
