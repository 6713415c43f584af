"""Steps that give keys other names, exchange them, leave them out, or add what was not there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Unpack

from packager._arguments import check_kind
from packager._quick_dataclasses import dataclass

from .declaring import (
    Candidate,
    Spelling,
    Step,
    require_dtypes,
    require_holes,
    require_lengths,
    require_shape,
)
from .gates import Asked, GateOptions, Surroundings, beside, gates_of
from .migrated_values import Value, Values
from .templates import HoleValues, Template, TemplateError, shortened
from .transforms import Cast, Header, Transform, TransformError, fill_problem

_REPEATS = 100  # no key carries more wrappers' names than that; a step that undoes itself would never end


@dataclass(frozen=True)
class Rename(Step):
    """Give the keys that `old` fits the name that `new` makes of them, and transform their values.

    `repeat` renames again what still fits (a wrapper's prefix that stands several times); such a step
    has no inverse.

    >>> step = Rename(Template.parse("proj.{rest}"), Template.parse("fc.{rest}"))
    >>> step.what, step.inverse().what
    ('rename proj.{rest} -> fc.{rest}', 'rename fc.{rest} -> proj.{rest}')
    """

    old: Template
    new: Template
    transforms: tuple[Transform, ...] = ()
    repeat: bool = False

    @property
    def what(self) -> str:
        return f"rename {self.old.text} -> {self.new.text}"

    @property
    def templates(self) -> tuple[tuple[Template, ...], tuple[Template, ...]]:
        return (self.old,), (self.new,)

    def _back(self) -> Rename | None:
        back = [transform.inverse() for transform in reversed(self.transforms)]
        found = tuple(transform for transform in back if transform is not None)
        if self.repeat or len(found) < len(back):
            return None
        return Rename(self.new, self.old, found, line=self.line)

    def renamed(self, key: str) -> str:
        holes = self.old.match(key)
        return key if holes is None else self._new_key(holes)

    def check(self) -> None:
        require_holes(self.new, self.old, self.line)
        for transform in self.transforms:
            if isinstance(transform, Cast):
                require_dtypes(self, transform.dtype, transform.old)
            for what in ("shape", "old", "groups", "order", "axes", "result"):
                if isinstance(shape := getattr(transform, what, None), tuple):
                    require_shape(self, what, shape)

    def candidates(self, values: Values, around: Surroundings) -> list[Candidate]:
        return [
            ((key,), holes, partial(self._made, key, holes, values, around))
            for key, holes in self.old.matching(values)
        ]

    def _made(
        self, key: str, holes: HoleValues, values: Values, around: Surroundings
    ) -> tuple[tuple[str, Value], ...]:
        new, value = self._new_key(holes) if self.repeat else self.new.fill(holes), values[key]
        if not self.transforms:
            return ((new, value),)
        asked = Asked(around, holes, new, f"{self.described()}: {key!r}")
        for transform in self.transforms:
            if settled := getattr(transform, "settled", None):
                transform = settled(asked)
            value = value.changed(transform)
        return ((new, value),)

    def _new_key(self, holes: HoleValues) -> str:
        """Return the new name. Raises TemplateError for a repeated renaming that never ends."""
        new = self.new.fill(holes)
        for _ in range(_REPEATS if self.repeat else 0):
            again = self.old.match(new)
            if again is None:
                return new
            new = self.new.fill(again)
        if self.repeat:
            raise TemplateError(
                f"renaming never ends: {self.old.text!r} also matches new names, such as {shortened(new)!r}; "
                "leave out repeat, or change the new template"
            )
        return new


@dataclass(frozen=True)
class RenamePattern(Step):
    """Replace what a regular expression finds anywhere in a key.

    It has no inverse, may take very long, and is carried out from an archive only when trusted; so
    it is text until then.
    """

    pattern: str
    replacement: str

    @property
    def what(self) -> str:
        return f"rename /{self.pattern}/ -> {self.replacement}"

    def check_pattern(self) -> None:
        """Raise TemplateError for a regular expression that is none. It is tried, so it must be trusted."""
        try:
            re.compile(self.pattern).sub(self.replacement, "")
        except (re.error, RecursionError, OverflowError) as error:
            where = self.line or "pattern"
            what = f"/{self.pattern}/ -> {self.replacement}"
            raise TemplateError(f"{where}: {what}: {error}; correct it, as re.sub takes it") from None

    def candidates(self, values: Values, around: Surroundings) -> list[Candidate]:
        pattern = re.compile(self.pattern)
        renamed = ((key, pattern.sub(self.replacement, key)) for key in values)
        return [((old,), {}, partial(_as_is, new, values[old])) for old, new in renamed if new != old]


@dataclass(frozen=True)
class Drop(Step):
    """Leave out the keys that `old` fits."""

    old: Template

    @property
    def templates(self) -> tuple[tuple[Template, ...], tuple[Template, ...]]:
        return (self.old,), ()

    @property
    def what(self) -> str:
        return f"drop {self.old.text}"

    def candidates(self, values: Values, around: Surroundings) -> list[Candidate]:
        return [((key,), holes, tuple) for key, holes in self.old.matching(values)]


@dataclass(frozen=True)
class Default(Step):
    """Add a constant under `new` where there is no such key.

    The shape and dtype are given, or those of a sibling: `like` is the template of a key that is
    there, and makes one constant for each key that it fits.
    """

    new: Template
    fill: float | int | bool
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    like: Template | None = None

    @property
    def templates(self) -> tuple[tuple[Template, ...], tuple[Template, ...]]:
        return (() if self.like is None else (self.like,)), (self.new,)

    @property
    def names_one_key(self) -> bool:
        return False

    @property
    def what(self) -> str:
        return f"default {self.new.text}"

    def check_numbers(self) -> None:
        """Raise TemplateError for holes as every step does, and for a number that the dtype does not have."""
        super().check_numbers()
        if self.dtype is not None and (problem := fill_problem(self.fill, self.dtype)):
            raise TemplateError(f"{self.described()}: fill = {self.fill!r}: {problem}")

    def check(self) -> None:
        """Raise TemplateError for what no state dict can make right, and for holes without a sibling."""
        require_dtypes(self, self.dtype)
        require_lengths(self, "shape", self.shape)
        require_shape(self, "shape", self.shape)
        if self.like is not None:
            require_holes(self.new, self.like, self.line)
        elif not self.new.is_literal:
            raise TemplateError(
                f"{self.line or repr(self.new.text)}: a default with holes needs like, a template of keys "
                f'that are there: like = "{{p:any}}.weight"'
            )

    def candidates(self, values: Values, around: Surroundings) -> list[Candidate]:
        siblings = [("", {})] if self.like is None else self.like.matching(values)
        found: list[Candidate] = []
        for sibling, holes in siblings:
            key = self.new.fill(holes)
            if key not in values:
                like = None if self.like is None else values[sibling].header
                found.append(((), holes, partial(self._made, key, like)))
        return found

    def _made(self, key: str, like: Header | None) -> tuple[tuple[str, Value], ...]:
        shape = self.shape if self.shape is not None or like is None else like.shape
        dtype = self.dtype if self.dtype is not None or like is None else like.dtype
        if shape is None or dtype is None:
            raise TransformError(f"{key!r}: the sibling is not an array; add shape and dtype")
        if problem := fill_problem(self.fill, dtype):
            raise TransformError(f"{key!r}: fill = {self.fill!r}: {problem}")
        return ((key, Value.constant(self.fill, Header(shape, dtype))),)


def _as_is(key: str, value: Value) -> tuple[tuple[str, Value], ...]:
    return ((key, value),)


def rename(
    old: str,
    new: str,
    *transforms: Transform,
    repeat: bool = False,
    line: str = "",
    **gates: Unpack[GateOptions],
) -> Rename:
    """Give keys another name, and apply `transforms` to their values.

    `old` and `new` are templates; `repeat` renames again while `old` matches. `line` is the place in a file,
    for messages. The gates, those of every step, say when it applies: `before`, a version that the state dict
    is older than; `version_key`, the key of a value that is its version; `unless` and `if_all`, keys that
    must be absent, or present; `if_value` and `if_module`, the required value of a key, or of an attribute of
    the module.

    Raises TemplateError for templates that cannot be read, TransformError for transforms of another kind.

    >>> rename("mlp.linear_{n:int}.{rest:any}", "mlp.{3*(n-1)}.{rest}", before=2).gates.before
    2
    """
    source = Template.parse(old)
    for transform in transforms:
        if not hasattr(transform, "apply"):
            raise TransformError(
                f"{line or repr(old)}: the transform {transform!r:.60} is not one of packager.migrations; "
                'to call a function, name it: NamedFunction("package.module:name")'
            )
    judged = gates_of((source,), **gates)
    return Rename(source, beside(new, source), transforms, repeat, gates=judged, line=line)


def rename_pattern(
    pattern: str,
    replacement: str,
    *,
    line: str = "",
    **gates: Unpack[GateOptions],
) -> RenamePattern:
    """Replace matches of a regular expression in keys: one-way, for names that templates cannot match.

    Gates as for `rename`. From an archive it runs only if `trust` allows it. Raises TemplateError for an
    invalid regular expression.

    Source: re.sub.

    >>> rename_pattern("conv[0-9]", "conv").what
    'rename /conv[0-9]/ -> conv'
    """
    step = unchecked_pattern(pattern, replacement, line=line, **gates)
    step.check_pattern()
    return step


def unchecked_pattern(
    pattern: str,
    replacement: str,
    *,
    line: str = "",
    **gates: Unpack[GateOptions],
) -> RenamePattern:
    """Return the same for a source that may not be trusted: the expression is not compiled."""
    check_kind("pattern", pattern, str, "a regular expression as text")
    check_kind("replacement", replacement, str, "a text")
    judged = gates_of((), **gates)
    return RenamePattern(pattern, replacement, gates=judged, line=line)


def drop(old: str, *, line: str = "", **gates: Unpack[GateOptions]) -> Drop:
    """Leave out the keys that the template `old` fits.

    Gates as for `rename`. Raises TemplateError for a template that cannot be read.

    >>> drop("{p:any}.attn_mask").what
    'drop {p:any}.attn_mask'
    """
    source = Template.parse(old)
    return Drop(source, gates=gates_of((source,), **gates), line=line)


def default(
    new: str,
    fill: float | int | bool,
    *,
    shape: Sequence[int] | None = None,
    dtype: str | None = None,
    like: str | None = None,
    line: str = "",
    **gates: Unpack[GateOptions],
) -> Default:
    """Add a constant under a missing key, with the given shape or that of a sibling.

    `dtype` is a name of NumPy. `like` is the template of siblings: each gives one constant, with its shape
    and dtype by default. Gates as for `rename`.

    Raises TemplateError for a template that cannot be read, and unless `shape` and `dtype`, or `like`, are
    given.

    >>> default("{p:any}.bias", 0, like="{p:any}.weight", shape=(4,)).what
    'default {p:any}.bias'
    """
    sibling = None if like is None else Template.parse(like)
    if sibling is None and (shape is None or dtype is None):
        raise TemplateError(
            f'{line or repr(new)}: a default needs shape and dtype (shape = [2], dtype = "float32"), or '
            'like, a key of the same shape and dtype (like = "head.weight")'
        )
    target = Template.parse(new) if sibling is None else beside(new, sibling)
    given = None if shape is None else tuple(shape)
    sources = () if sibling is None else (sibling,)
    judged = gates_of(sources, **gates)
    return Default(target, fill, given, dtype, sibling, gates=judged, line=line)


@dataclass(frozen=True)
class Swap(Step):
    """Give the keys that `one` fits the names of `other`, and the other way round, all at once.

    Where only one of two keys is there it is renamed.
    """

    one: Template
    other: Template

    @property
    def what(self) -> str:
        return f"swap {self.one.text} <-> {self.other.text}"

    @property
    def templates(self) -> tuple[tuple[Template, ...], tuple[Template, ...]]:
        return (self.one, self.other), ()

    def _back(self) -> Swap:
        return Swap(self.one, self.other, line=self.line)

    def renamed(self, key: str) -> str:
        for given, made in ((self.one, self.other), (self.other, self.one)):
            holes = given.match(key)
            if holes is not None:
                return made.fill(holes)
        return key

    def check(self) -> None:
        require_holes(self.one, self.other, self.line)
        require_holes(self.other, self.one, self.line)

    def candidates(self, values: Values, around: Surroundings) -> list[Candidate]:
        """Return both directions. Raises TemplateError for a key that both templates fit."""
        found: list[Candidate] = []
        seen: set[str] = set()
        for given, made in ((self.one, self.other), (self.other, self.one)):
            for key, holes in given.matching(values):
                if key in seen:
                    raise TemplateError(
                        f"{key!r} matches both {self.one.text!r} and {self.other.text!r}; narrow one of them"
                    )
                seen.add(key)
                found.append(((key,), holes, partial(_made, made, holes, values[key])))
        return found


def _made(template: Template, holes: HoleValues, value: Value) -> tuple[tuple[str, Value], ...]:
    return ((template.fill(holes), value),)


def swap(one: str, other: str, *, line: str = "", **gates: Unpack[GateOptions]) -> Swap:
    """Swap the names of the keys of two templates.

    Gates as for `rename`. Raises TemplateError for templates that cannot be read.

    >>> swap("{p:any}.gate_proj.weight", "{p:any}.up_proj.weight").what
    'swap {p:any}.gate_proj.weight <-> {p:any}.up_proj.weight'
    """
    first = Template.parse(one)
    second = beside(other, first)
    first = beside(one, second)
    return Swap(first, second, gates=gates_of((first,), **gates), line=line)


def _rename_or_change(old: str, new: str = "", transforms: Sequence[Transform] = (), **more: Any) -> Rename:
    """Make a rename of what a table says; one without a new name keeps the old."""
    return rename(old, new or old, *transforms, **more)


RENAMING = (
    Spelling(
        Rename,
        _rename_or_change,
        {
            "rename": ("old", str),
            "to": ("new", str),
            "transforms": ("transforms", list),
            "repeat": ("repeat", bool),
        },
    ),
    Spelling(RenamePattern, unchecked_pattern, {"pattern": ("pattern", str), "to": ("replacement", str)}),
    Spelling(Drop, drop, {"drop": ("old", str)}),
    Spelling(
        Default,
        default,
        {
            "default": ("new", str),
            "fill": ("fill", (int, float, bool)),
            "shape": ("shape", list[int]),
            "dtype": ("dtype", str),
            "like": ("like", str),
        },
    ),
    Spelling(Swap, swap, {"swap": ("one", str), "with": ("other", str)}),
)
"""How files and archives spell these steps."""
