"""The steps of a migration: rename, drop, default, split, merge. (Unwrapping is `checkpoints.py`.)

Every step acts on all keys at once, so `layers.{n}` to `layers.{n+1}` does not overwrite its
neighbours. Its gates are judged on the keys that entered the whole chain of steps, so one step
cannot disarm the next. A step is a frozen record; `applying.py` carries it out on records of values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .mixed_holes import find_mixed_holes
from .templates import Template, TemplateError
from .transforms import Cast, Transform, is_dtype

__all__ = [
    "Default",
    "Drop",
    "Gates",
    "Merge",
    "Rename",
    "RenamePattern",
    "Split",
    "Step",
    "check_numbers",
    "check_pattern",
    "check_step",
    "described",
    "inverse_step",
    "names_one_key",
]


@dataclass(frozen=True)
class Gates:
    """When a step applies: judged on the keys as they entered the chain.

    `before` is a version: the step is for state dicts older than that (None counts as oldest).
    `unless` names keys that must not be there, `if_all` keys that must. Holes that the step's
    own template has stand for what they stand for there, so the gate is judged match by match.
    """

    before: int | None = None
    unless: tuple[Template, ...] = ()
    if_all: tuple[Template, ...] = ()

    def open_at(self, version: int | None) -> bool:
        """Whether a state dict of this version is old enough."""
        return self.before is None or version is None or version < self.before

    def reason_shut(self, values: Mapping[str, str | int], entered: Collection[str]) -> str:
        """Why the gates are shut for this match; "" where they are open."""
        for template in self.unless:
            if found := _present(template, values, entered):
                return f"{found!r} is there already"
        for template in self.if_all:
            if not _present(template, values, entered):
                return f"{template.text!r} is not there"
        return ""


def _present(template: Template, values: Mapping[str, str | int], entered: Collection[str]) -> str:
    """A key that the template, with the holes filled that `values` knows, fits; "" when there is none."""
    if all(hole.name in values for hole in template.holes):
        key = template.fill(values)
        return key if key in entered else ""
    for key in entered:
        found = template.match(key)
        if found is not None and all(values.get(name, value) == value for name, value in found.items()):
            return key
    return ""


@dataclass(frozen=True)
class Rename:
    """Give the keys that `old` fits the name that `new` makes of them, and transform their values.

    `repeat` renames again what still fits (a wrapper's prefix that stands several times); such a step
    has no inverse.
    """

    old: Template
    new: Template
    transforms: tuple[Transform, ...] = ()
    repeat: bool = False
    gates: Gates = field(default_factory=Gates)
    line: str = ""


@dataclass(frozen=True)
class RenamePattern:
    """Replace what a regular expression finds anywhere in a key.

    It has no inverse, may take very long, and is carried out from an archive only when trusted; so
    it is text until then.
    """

    pattern: str
    replacement: str
    gates: Gates = field(default_factory=Gates)
    line: str = ""


@dataclass(frozen=True)
class Drop:
    """Leave out the keys that `old` fits."""

    old: Template
    gates: Gates = field(default_factory=Gates)
    line: str = ""


@dataclass(frozen=True)
class Default:
    """Add a constant under `new` where there is no such key.

    The shape and dtype are given, or those of a sibling: `like` is the template of a key that is
    there, and makes one constant for each key that it fits.
    """

    new: Template
    fill: float | int | bool
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    like: Template | None = None
    gates: Gates = field(default_factory=Gates)
    line: str = ""


@dataclass(frozen=True)
class Split:
    """Cut a value along an axis into parts under several names; `sizes` None means equal parts.

    With `over` the parts are all that the value has along the axis, one under each number of that
    hole, and the axis goes away: the inverse of stacking.
    """

    old: Template
    new: tuple[Template, ...]
    axis: int = 0
    sizes: tuple[int, ...] | None = None
    over: str | None = None
    gates: Gates = field(default_factory=Gates)
    line: str = ""


@dataclass(frozen=True)
class Merge:
    """Put values under several names behind one another under one.

    With `over` the values are those of one template, in the order of that int hole's numbers, along a
    new axis. A group that is not complete is an error: half a merged value is none.
    """

    old: tuple[Template, ...]
    new: Template
    axis: int = 0
    sizes: tuple[int, ...] | None = None
    over: str | None = None
    gates: Gates = field(default_factory=Gates)
    line: str = ""


Step = Rename | RenamePattern | Drop | Default | Split | Merge


def described(step: Step) -> str:
    """A step in one line: what it does, and before it the line of the file that says so."""
    match step:
        case RenamePattern():
            what = f"rename /{step.pattern}/ -> {step.replacement}"
        case Drop():
            what = f"drop {step.old.text}"
        case Default():
            what = f"default {step.new.text}"
        case Rename():
            what = f"rename {step.old.text} -> {step.new.text}"
        case Split():
            what = f"split {step.old.text} -> {', '.join(template.text for template in step.new)}"
        case Merge():
            what = f"merge {', '.join(template.text for template in step.old)} -> {step.new.text}"
    return f"{step.line}: {what}" if step.line else what


def names_one_key(step: Step) -> bool:
    """Whether a step asks for keys by their very names, so that it is a mistake when they are not there."""
    match step:
        case Rename() | Drop() | Split():
            return step.old.is_literal
        case Merge():
            return all(template.is_literal for template in step.old)
        case _:
            return False


def inverse_step(step: Step) -> Step | None:
    """The step that goes back; None where nothing can. Its gates stand open."""
    match step:
        case Rename(repeat=False):
            back = [transform.inverse() for transform in reversed(step.transforms)]
            found = tuple(transform for transform in back if transform is not None)
            if len(found) < len(back):
                return None
            inverse: Step = Rename(step.new, step.old, found, line=step.line)
        case Split():
            inverse = Merge(step.new, step.old, step.axis, step.sizes, step.over, line=step.line)
        case Merge():
            inverse = Split(step.new, step.old, step.axis, step.sizes, step.over, line=step.line)
        case _:
            return None
    return None if _number_problems(inverse) else inverse


def check_step(step: Step) -> None:
    """Raise TemplateError for what no state dict can make right.

    A hole that one side lacks or has too much, lengths below zero, a dtype that there is not.
    """
    match step:
        case Rename():
            _require_holes(step.new, step.old, step.line)
            for cast in step.transforms:
                if isinstance(cast, Cast):
                    _require_dtypes(step, cast.dtype, cast.old)
        case Split():
            _require_lengths(step, "sizes", step.sizes)
            _require_over(step, step.new, step.old)
            for template in step.new:
                _require_holes(template, step.old, step.line, extra=step.over)
        case Merge():
            _require_lengths(step, "sizes", step.sizes)
            _require_over(step, step.old, step.new)
            for template in step.old:
                _require_holes(step.new, template, step.line)
        case Default():
            _require_dtypes(step, step.dtype)
            _require_lengths(step, "shape", step.shape)
            if step.like is not None:
                _require_holes(step.new, step.like, step.line)
            elif not step.new.is_literal:
                raise TemplateError(f"{step.line or repr(step.new.text)}: a default with holes needs `like`")


def check_numbers(step: Step) -> None:
    """Raise TemplateError for holes that are numbers in one place of a step, and text in another.

    Arithmetic on text would leave the text as it is, and a text is never equal to a number: the step
    would do nothing, and say nothing. All such holes are told together.
    """
    problems = _number_problems(step)
    if problems:
        raise TemplateError(f"{described(step)}: {'; '.join(problems)}")


def check_pattern(step: RenamePattern) -> None:
    """Raise TemplateError for a regular expression that is none. It is tried, so whoever asks trusts it."""
    try:
        re.compile(step.pattern).sub(step.replacement, "")
    except (re.error, RecursionError, OverflowError) as error:
        where = step.line or "pattern"
        raise TemplateError(f"{where}: /{step.pattern}/ -> {step.replacement}: {error}") from None


def _number_problems(step: Step) -> list[str]:
    """The holes of a step that are numbers in one place and text in another."""
    given: tuple[Template, ...] = ()
    made: tuple[Template, ...] = ()
    match step:
        case Rename():
            given, made = (step.old,), (step.new,)
        case Drop():
            given = (step.old,)
        case Default():
            given, made = (() if step.like is None else (step.like,)), (step.new,)
        case Split():
            given, made = (step.old,), step.new
        case Merge():
            given, made = step.old, (step.new,)
        case RenamePattern():
            pass
    return find_mixed_holes(given, made, (*step.gates.unless, *step.gates.if_all))


def _require_over(step: Split | Merge, many: tuple[Template, ...], one: Template) -> None:
    """With `over` there is one template on the side of the parts, and it alone has that hole."""
    if step.over is None:
        return
    kinds = [{hole.name: hole.kind for hole in template.holes}.get(step.over) for template in many]
    if kinds != ["int"] or any(hole.name == step.over for hole in one.holes):
        raise TemplateError(
            f"{described(step)}: over = {step.over!r} needs one template of the parts, with the hole "
            f"{{{step.over}:int}}, which the other side does not have"
        )


def _require_lengths(step: Step, what: str, lengths: tuple[int, ...] | None) -> None:
    if lengths is not None and any(length < 0 for length in lengths):
        raise TemplateError(f"{described(step)}: {what} = {list(lengths)}: lengths are not negative")


def _require_dtypes(step: Step, *names: str | None) -> None:
    for name in names:
        if name is not None and not is_dtype(name):
            raise TemplateError(f"{described(step)}: there is no dtype {name!r}; write it as 'float32' is")


def _require_holes(wanted: Template, given: Template, line: str, extra: str | None = None) -> None:
    known = {hole.name for hole in given.holes} | ({extra} if extra else set())
    for hole in wanted.holes:
        if hole.name not in known:
            raise TemplateError(
                f"{line or repr(wanted.text)}: hole {hole.name!r} of {wanted.text!r} has no value: "
                f"{given.text!r} has no hole of that name"
            )
