"""A subject: named cases that are played with either library, and how their answers must agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.answers.telling import Tolerance, attempt, differences

Play = Callable[[Any], Any]
Agree = Callable[[str, Any, Any], Iterator[str]]


@dataclass(frozen=True)
class Subject:
    """Cases by name; what stands before ` | ` in a name is the test that they belong to."""

    name: str
    cases: dict[str, Play]
    near: Callable[[str], Tolerance] = lambda name: Tolerance()
    agree: Agree | None = None
    groups: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        groups: dict[str, list[str]] = {}
        for case in self.cases:
            groups.setdefault(case.partition(" | ")[0], []).append(case)
        object.__setattr__(self, "groups", groups)

    def play(self, case: str, library: Any) -> Any:
        return attempt(lambda: self.cases[case](library))

    def differences(self, case: str, found: Any, expected: Any) -> list[str]:
        if self.agree is not None:
            return [*self.agree(case, found, expected)]
        return [*differences(found, expected, self.near(case))]
