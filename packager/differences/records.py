"""What a comparison finds: one record for each thing that is not the same on both sides."""

from __future__ import annotations

import math
from typing import Literal

from packager.calls import Deviation
from packager.quick_dataclasses import dataclass

ChangeKind = Literal["added", "removed", "changed", "moved", "renamed"]


@dataclass(frozen=True)
class Change:
    """Something that both sides say of themselves, and not the same.

    `section` is where it belongs ("decisions", "environment", "objects", ...), `before` and `after` are what
    stands there, each empty where there is nothing.
    """

    section: str
    kind: ChangeKind
    name: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        if self.kind == "changed":
            return f"{self.name}: {self.before} -> {self.after}" if self.before or self.after else self.name
        return f"{self.name}{': ' if self.before or self.after else ''}{self.before or self.after}"


@dataclass(frozen=True)
class TextChange:
    """A file of code, or another text, that differs.

    `old_name` is where it was, for one that is "moved"; `hunks` are lines of a unified diff, without those
    that name the files. `note` stands in their place where they would be of no use.
    """

    kind: ChangeKind
    name: str
    old_name: str = ""
    hunks: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class KeyChange:
    """A key of a state dict that is on one side alone, or has another name on the other.

    `state` is the state dict or object, empty for a file that is one. `old_keys` are the names that a
    renamed value had: several where it was made of more than one, as `because` says. `layout` is its dtype
    and shape, where it is an array.
    """

    state: str
    kind: ChangeKind
    key: str
    old_keys: tuple[str, ...] = ()
    layout: str = ""
    because: str = ""

    def __str__(self) -> str:
        if self.kind == "renamed":
            return f"{' + '.join(self.old_keys)} -> {self.key}  ({self.because})"
        return f"{self.key}  {self.layout}".rstrip()


@dataclass(frozen=True)
class TensorChange:
    """A tensor that has other values, or another dtype or shape.

    `norm` is the Euclidean norm of the difference, `relative` that norm over the norm of what was there,
    `largest` the greatest absolute difference: an int between integers, endless where a NaN or an infinity
    stands against a number. `ulps` counts the floats that lie between two values, at most, both of one dtype;
    None for what is no float, or where a NaN is met. `differing` of `size` elements are not equal. Without
    numbers (`size` is 0) `note` says why there are none.
    """

    state: str
    key: str
    before: str
    after: str
    norm: float = 0.0
    relative: float = 0.0
    largest: float | int = 0
    ulps: int | None = None
    differing: int = 0
    size: int = 0
    note: str = ""
    old_key: str = ""

    def __str__(self) -> str:
        name = f"{self.old_key} -> {self.key}" if self.old_key else self.key
        layout = self.before if self.before == self.after else f"{self.before} -> {self.after}"
        parts = [f"{name}  {layout}"]
        if self.size:
            share = "all zeros before" if self.relative == math.inf else f"{self.relative:.2g} of it"
            ulps = "" if self.ulps is None else f", {self.ulps:,} ulps"
            parts.append(
                f"norm {self.norm:.3g} ({share}), largest {self.largest:.3g}{ulps}, "
                f"{self.differing:,} of {self.size:,} elements"
            )
        return "; ".join([*parts, *([self.note] if self.note else [])])


@dataclass(frozen=True)
class CallChange:
    """A golden call with other answers on each side, both run here; `source` says whose call it is."""

    name: str
    source: Literal["before", "after", "both"]
    deviations: tuple[Deviation, ...] = ()
    failed_before: str = ""
    failed_after: str = ""

    def __str__(self) -> str:
        if self.failed_before or self.failed_after:
            sides = (("before", self.failed_before), ("after", self.failed_after))
            return f"{self.name}: " + "; ".join(f"{side} it failed: {why}" for side, why in sides if why)
        parts = (one for one in self.deviations if not one.same_bits)
        return f"{self.name}: " + "; ".join(f"{one.name} {one}" for one in parts)
