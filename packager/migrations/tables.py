"""Migrations as plain tables: what a TOML file holds, and what an archive stores.

A table has `name`, `class`, `from`, `to`, `unwrap` and the list `step`, each left out where it says
nothing. Each step names one thing to do (rename, pattern, drop, default, split, merge) and what goes
with it; transforms are a list of tables: `transforms = [{ transpose = [1, 0] }, { cast = "float32" }]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from packager.errors import MigrationError

from .declaring import Migration
from .dividing import Merge, Split, merge, split
from .functions import NamedFunction
from .renaming import Default, Drop, Rename, RenamePattern, default, drop, rename, unchecked_pattern
from .steps import Step
from .transforms import Cast, Permute, Reshape, Roll, Scale, Slice, Transform, Transpose

__all__ = ["MigrationFileError", "migration_from_table", "step_table", "table_of"]

_GATES = {"before": int, "unless": (str, list), "if_all": (str, list)}


class MigrationFileError(MigrationError, ValueError):
    """A migration that cannot be read; the message gives the file and the line of every mistake."""


def migration_from_table(
    table: Mapping[str, Any],
    where: str,
    name: str = "",
    lines: Sequence[str] = (),
    places: Mapping[str, str] | None = None,
    *,
    stored: bool = False,
) -> Migration:
    """The migration that a table describes.

    `where` names its source in messages, `lines` the place of each step, `places` those of single
    keys; `name` is what it is called where the table does not say. Regular expressions of a `stored`
    one are not looked at.

    Raises MigrationFileError for all mistakes together.

    >>> migration_from_table({"step": [{"drop": "{p:any}.attn_mask"}]}, "swin").steps[0].old.text
    '{p:any}.attn_mask'
    """
    reading = _Reading()
    reading.tried(_check_keys, table, {"name", "class", "from", "to", "unwrap", "step"}, where)
    rows = reading.tried(_typed, table, "step", list, where, []) or []
    known = [*lines[: len(rows)], *[where] * (len(rows) - len(lines))]
    steps = [reading.tried(_step, row, line, stored) for row, line in zip(rows, known, strict=True)]
    unwrap = reading.tried(_typed, table, "unwrap", (str, list), where, [])
    fields = {
        field: reading.tried(_typed, table, key, kind, where, absent)
        for field, key, kind, absent in (
            ("name", "name", str, name),
            ("target", "class", str, ""),
            ("to", "to", int, None),
            ("since", "from", int, None),
        )
    }
    reading.require_sound()
    names = (unwrap,) if isinstance(unwrap, str) else tuple(unwrap)
    try:
        return Migration(steps=steps, unwrap=names, where=(places or {}).get("to", where), **fields)
    except MigrationError as error:
        raise MigrationFileError(_placed(error, (places or {}).get("from", where))) from None


class _Reading:
    """Goes on after a mistake, so that all can be told together."""

    def __init__(self) -> None:
        self._problems: list[str] = []

    def tried(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """What `make` answers; None, and one more problem, where it cannot."""
        try:
            return make(*arguments)
        except MigrationFileError as error:
            self._problems.append(str(error))
            return None

    def require_sound(self) -> None:
        """Raise MigrationFileError for all problems."""
        if self._problems:
            raise MigrationFileError("\n".join(self._problems))


def table_of(migration: Migration) -> dict[str, Any]:
    """The table of a migration. Raises MigrationError for a transform that has no place in one."""
    table = {
        "name": migration.name,
        "class": migration.target or None,
        "from": migration.since,
        "to": migration.to,
        "unwrap": list(migration.unwrap) or None,
        "step": [step_table(step) for step in migration.steps],
    }
    return {key: value for key, value in table.items() if value is not None}


def step_table(step: Step) -> dict[str, Any]:
    """The table of one step; raises MigrationError as `table_of` does."""
    match step:
        case Rename():
            fields: dict[str, Any] = {"rename": step.old.text, "to": step.new.text}
            if step.transforms:
                fields["transforms"] = [_transform_table(transform) for transform in step.transforms]
            if step.repeat:
                fields["repeat"] = True
        case RenamePattern():
            fields = {"pattern": step.pattern, "to": step.replacement}
        case Drop():
            fields = {"drop": step.old.text}
        case Default():
            fields = {"default": step.new.text, "fill": step.fill}
            if step.shape is not None:
                fields["shape"] = list(step.shape)
            if step.dtype is not None:
                fields["dtype"] = step.dtype
            if step.like is not None:
                fields["like"] = step.like.text
        case Split():
            fields = {"split": step.old.text, "to": [template.text for template in step.new], **_parts(step)}
        case Merge():
            fields = {"merge": [template.text for template in step.old], "to": step.new.text, **_parts(step)}
    gates = step.gates
    if gates.before is not None:
        fields["before"] = gates.before
    for name, templates in (("unless", gates.unless), ("if_all", gates.if_all)):
        if templates:
            fields[name] = [template.text for template in templates]
    return fields


def _parts(step: Split | Merge) -> dict[str, Any]:
    found = {"axis": step.axis, "sizes": None if step.sizes is None else list(step.sizes), "over": step.over}
    return {name: value for name, value in found.items() if value not in (None, 0)}


def _step(row: Any, line: str, stored: bool) -> Step:
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
        step.check()
        if isinstance(step, RenamePattern) and not stored:
            step.check_pattern()
    except (MigrationError, TypeError) as error:
        raise MigrationFileError(_placed(error, line)) from None
    return step


def _placed(error: Exception, line: str) -> str:
    return f"{line}: {str(error).removeprefix(f'{line}: ')}"


def _rename(old: str, line: str, *, to: str = "", transforms: list[Any] | None = None, **rest: Any) -> Step:
    changes = [_transform(row, line) for row in transforms or []]
    return rename(old, to or old, *changes, line=line, **rest)


def _pattern(old: str, line: str, *, to: str, **rest: Any) -> Step:
    if type(old) is not str:
        raise TypeError(f"pattern = {old!r} is {type(old).__name__}, expected str")
    return unchecked_pattern(old, to, line=line, **rest)


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
    for name, kind in {names[0]: _KINDS[names[0]], **allowed}.items():
        _typed(row, name, kind, line, None)
    try:
        return make(row)
    except (TypeError, KeyError) as error:
        raise MigrationFileError(f"{line}: {names[0]} cannot be read from {dict(row)!r}: {error}") from None


def _transform_table(transform: Transform) -> dict[str, Any]:
    match transform:
        case Transpose():
            return {"transpose": True if transform.axes is None else list(transform.axes)}
        case Reshape():
            was = {} if transform.old is None else {"was": list(transform.old)}
            return {"reshape": list(transform.shape), **was}
        case Slice(start=start, stop=stop):
            ends = [start or 0] if stop is None else [start or 0, stop]
            return {"slice": ends, "axis": transform.axis}
        case Roll():
            return {"roll": transform.by, "axis": transform.axis}
        case Cast():
            return {"cast": transform.dtype, **({} if transform.old is None else {"was": transform.old})}
        case Scale():
            return {"scale": transform.by}
        case Permute():
            return {
                "permute": list(transform.groups),
                "order": list(transform.order),
                "axis": transform.axis,
            }
        case NamedFunction():
            result = {} if transform.result is None else {"result": list(transform.result)}
            return {"function": transform.name, **result}
    raise MigrationError(
        f"the transform {transform!r} cannot be written down; make it a function at the top of a module and "
        "name that with NamedFunction"
    )


def _axes(row: Mapping[str, Any]) -> Transform:
    axes = row["transpose"]
    return Transpose(tuple(axes) if isinstance(axes, list) else None)


def _slice(row: Mapping[str, Any]) -> Transform:
    return Slice(row.get("axis", 0), *row["slice"])


_KINDS: _Fields = {
    "transpose": (bool, list),
    "reshape": list,
    "slice": list,
    "roll": int,
    "cast": str,
    "scale": (float, int),
    "permute": list,
    "function": str,
}
_TRANSFORMS: Mapping[str, tuple[Callable[[Mapping[str, Any]], Transform], _Fields]] = {
    "transpose": (_axes, {}),
    "reshape": (
        lambda row: Reshape(tuple(row["reshape"]), tuple(row["was"]) if "was" in row else None),
        {"was": list},
    ),
    "slice": (_slice, {"axis": int}),
    "roll": (lambda row: Roll(row.get("axis", 0), row["roll"]), {"axis": int}),
    "cast": (lambda row: Cast(row["cast"], row.get("was")), {"was": str}),
    "scale": (lambda row: Scale(float(row["scale"])), {}),
    "permute": (
        lambda row: Permute(row.get("axis", 0), tuple(row["permute"]), tuple(row["order"])),
        {"axis": int, "order": list},
    ),
    "function": (
        lambda row: NamedFunction(row["function"], tuple(row["result"]) if "result" in row else None),
        {"result": list},
    ),
}


def _check_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(table) - known):
        raise MigrationFileError(
            f"{where}: unknown {', '.join(map(repr, unknown))}; expected {', '.join(sorted(known))}"
        )


def _typed(table: Mapping[str, Any], name: str, kind: Any, where: str, absent: Any) -> Any:
    """The value of a field, of one of these types; the items of a list are whole numbers, texts or tables."""
    value = table.get(name, absent)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if value is absent:
        return value
    fits = isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)
    if fits and name in _ITEMS and isinstance(value, list):
        fits = all(type(item) is _ITEMS[name] for item in value)
    if fits:
        return value
    wanted = " or ".join(one.__name__ for one in kinds)
    if name in _ITEMS:
        wanted = wanted.replace("list", f"list of {_ITEMS[name].__name__}")
    raise MigrationFileError(f"{where}: {name} = {value!r} is {type(value).__name__}, expected {wanted}")


_ITEMS: Mapping[str, type] = {
    **dict.fromkeys(
        ("shape", "sizes", "transpose", "reshape", "was", "slice", "permute", "order", "result"), int
    ),
    **dict.fromkeys(("unwrap", "unless", "if_all"), str),
}
