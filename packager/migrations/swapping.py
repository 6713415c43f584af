"""The step by which two keys change places. The first of two renames would overwrite the second key."""

from __future__ import annotations

from functools import partial
from typing import Unpack

from packager.quick_dataclasses import dataclass

from .declaring import Candidate, Spelling, Step, require_holes
from .gates import GateOptions, beside, gates_of, takes_gates
from .migrated_values import Value, Values
from .surroundings import Surroundings
from .templates import HoleValues, Template, TemplateError


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
                    raise TemplateError(f"{key!r} fits both {self.one.text!r} and {self.other.text!r}")
                seen.add(key)
                found.append(((key,), holes, partial(_made, made, holes, values[key])))
        return found


def _made(template: Template, holes: HoleValues, value: Value) -> tuple[tuple[str, Value], ...]:
    return ((template.fill(holes), value),)


@takes_gates
def swap(one: str, other: str, *, line: str = "", **gates: Unpack[GateOptions]) -> Swap:
    """Let the keys of two templates change their names with each other.

    Gates as for `rename`. Raises TemplateError for templates that cannot be read.

    >>> swap("{p:any}.gate_proj.weight", "{p:any}.up_proj.weight").what
    'swap {p:any}.gate_proj.weight <-> {p:any}.up_proj.weight'
    """
    first = Template.parse(one)
    second = beside(other, first)
    first = beside(one, second)
    return Swap(first, second, gates=gates_of((first,), **gates), line=line)


SWAPPING = (Spelling(Swap, swap, {"swap": ("one", str), "with": ("other", str)}),)
"""How files and archives spell it."""
