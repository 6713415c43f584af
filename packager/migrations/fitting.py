"""A state dict against the model that is to load it: what would be missing, too much, or of another shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .naming import Likeness
from .transforms import Header
from .values import Value, stored_values

_MOST = 20_000_000  # comparisons of names; larger models get no suggestions


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A key whose value has another shape than the target's."""

    key: str
    found: Header | None
    expected: Header | None


@dataclass(frozen=True, slots=True)
class NearName:
    """An unexpected key that could be a missing one; for people to judge, never applied unasked."""

    unexpected: str
    missing: str
    because: str


@dataclass(frozen=True)
class Fit:
    """What a strict load would find."""

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[Mismatch, ...]
    suggestions: tuple[NearName, ...]

    @property
    def ok(self) -> bool:
        """Whether every key fits."""
        return not (self.missing or self.unexpected or self.mismatched)

    def __str__(self) -> str:
        if self.ok:
            return "every key of the target has a value of its shape"
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for title, keys in (("missing", self.missing), ("unexpected", self.unexpected)):
            if keys:
                yield f"{title}:"
                yield from (f"    {key}" for key in keys)
        if self.mismatched:
            yield "of another shape:"
            yield from (
                f"    {one.key}  {one.found}, the target has {one.expected}" for one in self.mismatched
            )
        if self.suggestions:
            yield "could be the same (nothing was renamed):"
            yield from (f"    {one.unexpected} -> {one.missing}  ({one.because})" for one in self.suggestions)


def fit(values: Mapping[str, Value], target: Any) -> Fit:
    """Compare the keys and shapes of a planned state dict with those of a module, or of a mapping."""
    wanted = headers_of(target)
    missing = tuple(key for key in wanted if key not in values)
    unexpected = tuple(key for key in values if key not in wanted)
    mismatched = tuple(
        Mismatch(key, values[key].header, header)
        for key, header in wanted.items()
        if key in values and _shape(values[key].header) != _shape(header)
    )
    near = _near({key: values[key].header for key in unexpected}, {key: wanted[key] for key in missing})
    return Fit(missing, unexpected, mismatched, near)


def headers_of(target: Any) -> dict[str, Header | None]:
    """The keys of a module, or of a mapping that is a state dict, each with its header."""
    state = target if isinstance(target, Mapping) else target.state_dict()
    return {key: value.header for key, value in stored_values(state).items()}


def _near(
    unexpected: Mapping[str, Header | None], missing: Mapping[str, Header | None]
) -> tuple[NearName, ...]:
    """For each missing key the unexpected one of its shape with the longest equal end, or the likest name."""
    if len(unexpected) * len(missing) > _MOST:
        return ()
    likeness = Likeness([*unexpected, *missing])
    by_shape: dict[Any, list[str]] = {}
    for key, header in unexpected.items():
        by_shape.setdefault(_shape(header), []).append(key)
    found = []
    for key, header in missing.items():
        ranked = sorted(
            (
                (_common_end(key, other), likeness(key, other), other)
                for other in by_shape.get(_shape(header), ())
            ),
            reverse=True,
        )
        if ranked and (ranked[0][0] or ranked[0][1] > 0):
            same, alike, other = ranked[0]
            because = (
                f"the same shape, {same} equal names at the end"
                if same
                else f"the same shape, {alike:.0%} alike"
            )
            found.append(NearName(other, key, because))
    return tuple(found)


def _common_end(one: str, other: str) -> int:
    count = 0
    for left, right in zip(reversed(one.split(".")), reversed(other.split(".")), strict=False):
        if left != right:
            break
        count += 1
    return count


def _shape(header: Header | None) -> tuple[int, ...] | None:
    return None if header is None else header.shape
