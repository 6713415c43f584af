"""Migrations as plain tables: what a TOML file holds, and what an archive stores.

A table has `name`, `class`, `from`, `to`, `unwrap` and the list `step`, each left out where it says
nothing. Each step names one thing to do (rename, pattern, drop, default, split, merge) and what goes
with it; transforms are a list of tables: `transforms = [{ transpose = [1, 0] }, { cast = "float32" }]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from packager.errors import MigrationError

from .declaring import Migration
from .dividing import Merge, Split, merge, split
from .functions import NamedFunction
from .renaming import Default, Drop, Rename, RenamePattern, default, drop, rename, unchecked_pattern
from .steps import Step
from .templates import Template
from .transforms import Cast, Permute, Reshape, Roll, Scale, Slice, Transform, Transpose

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
    keys; `name` is what it is called where the table does not say. Of a `stored` one, what only running
    needs is not looked at: regular expressions, and whether its holes are numbers.

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
        place = (places or {}).get("to", where)
        return Migration(steps=steps, unwrap=names, where=place, stored=stored, **fields)
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


@dataclass(frozen=True)
class _Word:
    """How a thing is written in a table: for each key of it an attribute, and the types of its value.

    The first key names the thing; the attributes of the others may be left out where they have a default.
    """

    kind: type
    make: Callable[..., Any]
    keys: Mapping[str, tuple[str, Any]]

    @property
    def types(self) -> dict[str, Any]:
        """The types of each key's value."""
        return {key: types for key, (_, types) in self.keys.items()}

    def table(self, thing: Any) -> dict[str, Any]:
        """The table of a thing, without what is as it would be anyway."""
        usual = {field.name: field.default for field in fields(thing)}
        found = {key: (getattr(thing, name), usual[name]) for key, (name, _) in self.keys.items()}
        named = next(iter(self.keys))
        return {
            key: _plain(value) for key, (value, default) in found.items() if key == named or value != default
        }


def step_table(step: Step) -> dict[str, Any]:
    """The table of one step; raises MigrationError as `table_of` does."""
    table = _written_as(step, _ACTIONS).table(step)
    gates = {"before": step.gates.before, "unless": step.gates.unless, "if_all": step.gates.if_all}
    return {**table, **{key: _plain(value) for key, value in gates.items() if value not in (None, ())}}


def _written_as(thing: Any, words: Mapping[str, _Word]) -> _Word:
    found = next((word for word in words.values() if type(thing) is word.kind), None)
    if found is None:
        raise MigrationError(
            f"the transform {thing!r} cannot be written down; make it a function at the top of a module and "
            "name that with NamedFunction"
        )
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Template):
        return value.text
    return value if isinstance(value, (str, int, float, type(None))) else _transform_table(value)


def _transform_table(transform: Transform) -> dict[str, Any]:
    table = _written_as(transform, _TRANSFORMS).table(transform)
    if isinstance(transform, Transpose) and transform.axes is None:
        return {"transpose": True}
    if isinstance(transform, Slice):
        start, stop = transform.start or 0, transform.stop
        return {"slice": [start] if stop is None else [start, stop], "axis": transform.axis}
    return table


def _step(row: Any, line: str, stored: bool) -> Step:
    if not isinstance(row, Mapping):
        raise MigrationFileError(f"{line}: a step is a table, found {row!r}")
    actions = [action for action in _ACTIONS if action in row]
    if len(actions) != 1:
        raise MigrationFileError(
            f"{line}: a step has one of {', '.join(_ACTIONS)}; found {', '.join(actions) or 'none of them'}"
        )
    (action,) = actions
    word = _ACTIONS[action]
    _check_keys(row, {*word.keys, *_GATES}, line)
    given = {
        name: _typed(row, name, kind, line, None)
        for name, kind in {**word.types, **_GATES}.items()
        if name in row and name != action
    }
    try:
        step: Step = word.make(row[action], line, **given)
        step.check()
        if not stored:
            step.check_numbers()
            if isinstance(step, RenamePattern):
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


def _parts_to(make: Callable[..., Step]) -> Callable[..., Step]:
    return lambda old, line, *, to, **rest: make(old, to, line=line, **rest)


_PARTS = {"axis": ("axis", int), "sizes": ("sizes", list), "over": ("over", str)}
_TO = ("new", (str, list))
_ACTIONS: Mapping[str, _Word] = {
    "rename": _Word(
        Rename,
        _rename,
        {
            "rename": ("old", str),
            "to": ("new", str),
            "transforms": ("transforms", list),
            "repeat": ("repeat", bool),
        },
    ),
    "pattern": _Word(RenamePattern, _pattern, {"pattern": ("pattern", str), "to": ("replacement", str)}),
    "drop": _Word(Drop, lambda old, line, **rest: drop(old, line=line, **rest), {"drop": ("old", str)}),
    "default": _Word(
        Default,
        lambda new, line, *, fill, **rest: default(new, fill, line=line, **rest),
        {
            "default": ("new", str),
            "fill": ("fill", (int, float, bool)),
            "shape": ("shape", list),
            "dtype": ("dtype", str),
            "like": ("like", str),
        },
    ),
    "split": _Word(Split, _parts_to(split), {"split": ("old", str), "to": _TO, **_PARTS}),
    "merge": _Word(Merge, _parts_to(merge), {"merge": ("old", (str, list)), "to": _TO, **_PARTS}),
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
    word = _TRANSFORMS[names[0]]
    _check_keys(row, set(word.keys), line)
    given = {name: _typed(row, name, kind, line, None) for name, kind in word.types.items() if name in row}
    if "axis" in word.keys:
        given.setdefault("axis", 0)
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    try:
        made: Transform = word.make(**{word.keys[name][0]: value for name, value in values.items()})
    except (TypeError, KeyError) as error:
        raise MigrationFileError(f"{line}: {names[0]} cannot be read from {dict(row)!r}: {error}") from None
    return made


_TRANSFORMS: Mapping[str, _Word] = {
    "transpose": _Word(
        Transpose,
        lambda axes: Transpose(None if isinstance(axes, bool) else axes),
        {"transpose": ("axes", (bool, list))},
    ),
    "reshape": _Word(Reshape, Reshape, {"reshape": ("shape", list), "was": ("old", list)}),
    "slice": _Word(
        Slice, lambda start, axis: Slice(axis, *start), {"slice": ("start", list), "axis": ("axis", int)}
    ),
    "roll": _Word(Roll, Roll, {"roll": ("by", int), "axis": ("axis", int)}),
    "cast": _Word(Cast, Cast, {"cast": ("dtype", str), "was": ("old", str)}),
    "scale": _Word(Scale, lambda by: Scale(float(by)), {"scale": ("by", (float, int))}),
    "permute": _Word(
        Permute, Permute, {"permute": ("groups", list), "order": ("order", list), "axis": ("axis", int)}
    ),
    "function": _Word(NamedFunction, NamedFunction, {"function": ("name", str), "result": ("result", list)}),
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
