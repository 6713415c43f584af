"""Steps that cut values into parts, and put parts together: each the inverse of the other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Unpack

from packager._arguments import check_kind
from packager._quick_dataclasses import dataclass

from .declaring import (
    Candidate,
    Spelling,
    Step,
    require_holes,
    require_lengths,
)
from .gates import GateOptions, Surroundings, Templates, beside, gates_of, several
from .migrated_values import Value, Values, cut, joined
from .templates import HoleValues, Template, TemplateError
from .transforms import Reshape, TransformError, checked_axis

_SHOWN_GAPS = 8  # keys that a merge lacks; the others are counted


@dataclass(frozen=True)
class Split(Step):
    """Cut a value along an axis into parts under several names; `sizes` None means equal parts.

    With `over` the parts are all that the value has along the axis, one under each number of that
    hole, and the axis goes away: the inverse of stacking.
    """

    old: Template
    new: tuple[Template, ...]
    axis: int = 0
    sizes: tuple[int, ...] | None = None
    over: str | None = None

    @property
    def what(self) -> str:
        return f"split {self.old.text} -> {', '.join(template.text for template in self.new)}"

    @property
    def templates(self) -> tuple[tuple[Template, ...], tuple[Template, ...]]:
        return (self.old,), self.new

    def _back(self) -> Merge:
        return Merge(self.new, self.old, self.axis, self.sizes, self.over, line=self.line)

    def check(self) -> None:
        _check_parts(self, self.new, self.old)
        for template in self.new:
            require_holes(template, self.old, self.line, extra=self.over)

    def candidates(self, values: Values, around: Surroundings) -> list[Candidate]:
        found = self.old.matching(values)
        return [((key,), holes, partial(self._made, values[key], holes)) for key, holes in found]

    def _made(self, value: Value, holes: HoleValues) -> tuple[tuple[str, Value], ...]:
        if self.over is None:
            parts = cut(value, self.axis, list(self.sizes) if self.sizes else None, len(self.new))
            return tuple((template.fill(holes), part) for template, part in zip(self.new, parts, strict=True))
        if value.header is None:
            raise TransformError("the value is not an array")
        shape = value.header.shape
        axis = checked_axis("split", self.axis, shape)
        rest = shape[:axis] + shape[axis + 1 :]
        return tuple(
            (self.new[0].fill({**holes, self.over: at}), part.changed(Reshape(rest)))
            for at, part in enumerate(cut(value, axis, None, shape[axis]))
        )


@dataclass(frozen=True)
class Merge(Step):
    """Put values under several names behind one another under one.

    With `over` the values are those of one template, in the order of that int hole's numbers, along a
    new axis. A group that is not complete is an error: half a merged value is none.
    """

    old: tuple[Template, ...]
    new: Template
    axis: int = 0
    sizes: tuple[int, ...] | None = None
    over: str | None = None

    @property
    def what(self) -> str:
        return f"merge {', '.join(template.text for template in self.old)} -> {self.new.text}"

    @property
    def templates(self) -> tuple[tuple[Template, ...], tuple[Template, ...]]:
        return self.old, (self.new,)

    def _back(self) -> Split:
        return Split(self.new, self.old, self.axis, self.sizes, self.over, line=self.line)

    def check(self) -> None:
        _check_parts(self, self.old, self.new)
        for template in self.old:
            require_holes(self.new, template, self.line)

    def candidates(self, values: Values, around: Surroundings) -> list[Candidate]:
        """Return the groups of keys whose holes agree, in the order of the templates (or of the numbers)."""
        groups: dict[tuple[tuple[str, str | int], ...], dict[int, str]] = {}
        shared = {hole.name for hole in self.new.holes} if self.over is None else None
        for at, template in enumerate(self.old):
            for key, holes in template.matching(values):
                place = at if self.over is None else int(holes[self.over])
                named = {n: v for n, v in holes.items() if n != self.over and (shared is None or n in shared)}
                groups.setdefault(tuple(sorted(named.items())), {})[place] = key
        return [
            (
                tuple(parts[at] for at in sorted(parts)),
                dict(group),
                partial(self._made, dict(group), parts, values),
            )
            for group, parts in groups.items()
        ]

    def _made(
        self, holes: HoleValues, parts: Mapping[int, str], values: Values
    ) -> tuple[tuple[str, Value], ...]:
        # By the keys that are there: a number in a key may be of any size.
        count = len(self.old) if self.over is None else max(parts) + 1
        if count > len(parts):
            gaps = itertools.islice((place for place in range(count) if place not in parts), _SHOWN_GAPS)
            shown = [repr(self._key_at(place, holes)) for place in gaps]
            if more := count - len(parts) - len(shown):
                shown.append(
                    f"and {more:,} more; {len(parts):,} are there, the last is {parts[max(parts)]!r}"
                )
            raise TransformError(f"merge: missing {', '.join(shown)}")
        members = [values[parts[place]] for place in sorted(parts)]
        whole = joined(members, self.axis, self.over is not None)
        if self.over is None:
            self._check_sizes(members)
        return ((self.new.fill(holes), whole),)

    def _key_at(self, place: int, holes: HoleValues) -> str:
        """Return the key that is lacking; its template where a hole of it could be anything."""
        template = self.old[place if self.over is None else 0]
        known = holes if self.over is None else {**holes, self.over: place}
        return template.fill(known) if all(hole.name in known for hole in template.holes) else template.text

    def _check_sizes(self, members: list[Value]) -> None:
        """Raise TransformError where the lengths of the parts are not those in `sizes`."""
        found = [
            member.header.shape[checked_axis("merge", self.axis, member.header.shape)]
            for member in members
            if member.header is not None
        ]
        if self.sizes is not None and found != list(self.sizes):
            raise TransformError(f"merge: found parts of {found} rows, expected sizes = {list(self.sizes)}")
        if self.sizes is None and len(set(found)) > 1:
            raise TransformError(
                f"merge: the parts have {found} rows; add sizes = {found}, which the inverse needs"
            )


def _check_parts(step: Split | Merge, many: tuple[Template, ...], one: Template) -> None:
    """Check that with `over` there is one template of the parts, and that it alone has that hole.

    Raises TemplateError.
    """
    require_lengths(step, "sizes", step.sizes)
    if step.over is None:
        return
    kinds = [{hole.name: hole.kind for hole in template.holes}.get(step.over) for template in many]
    if kinds != ["int"] or any(hole.name == step.over for hole in one.holes):
        raise TemplateError(
            f"{step.described()}: over = {step.over!r} needs one template of the parts, with the hole "
            f"{{{step.over}:int}}; the other side must not have that hole"
        )


def split(
    old: str,
    new: Templates,
    *,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    over: str | None = None,
    line: str = "",
    **gates: Unpack[GateOptions],
) -> Split:
    """Cut values along `axis` into parts under several names, of the lengths `sizes` or equal ones.

    With `over` there is one template of the parts: one part for each number of that int hole, and the axis is
    removed. Gates as for `rename`. Raises TemplateError for templates that cannot be read.

    >>> split("qkv.weight", ["q.weight", "k.weight", "v.weight"]).inverse().what
    'merge q.weight, k.weight, v.weight -> qkv.weight'
    """
    source = Template.parse(old)
    targets = tuple(beside(text, source, over) for text in several(new))
    judged = gates_of((source,), **gates)
    check_kind("axis", axis, int, "the number of an axis")
    return Split(source, targets, axis, _lengths(sizes), over, gates=judged, line=line)


def merge(
    old: Templates,
    new: str,
    *,
    axis: int = 0,
    sizes: Sequence[int] | None = None,
    over: str | None = None,
    line: str = "",
    **gates: Unpack[GateOptions],
) -> Merge:
    """Join values under several names along `axis`.

    With `over` there is one template of the parts: they are stacked along a new axis, in the order of that
    int hole's numbers. `sizes` are the lengths of the parts, for the way back. Gates as for `rename`.
    Raises TemplateError for templates that cannot be read.

    >>> merge("experts.{e:int}.weight", "experts.weight", over="e").what
    'merge experts.{e:int}.weight -> experts.weight'
    """
    texts = [Template.parse(text) for text in several(old)]
    kinds = {hole.name: hole.kind for template in texts for hole in template.holes if hole.kind}
    sources = tuple(template.with_kinds(kinds) for template in texts)
    judged = gates_of(sources, **gates)
    check_kind("axis", axis, int, "the number of an axis")
    return Merge(sources, beside(new, *sources), axis, _lengths(sizes), over, gates=judged, line=line)


def _lengths(sizes: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if sizes is None else tuple(sizes)


_PARTS = {"axis": ("axis", int), "sizes": ("sizes", list[int]), "over": ("over", str)}
DIVIDING = (
    Spelling(Split, split, {"split": ("old", str), "to": ("new", (str, list[str])), **_PARTS}),
    Spelling(Merge, merge, {"merge": ("old", (str, list[str])), "to": ("new", str), **_PARTS}),
)
"""How files and archives spell these steps."""
