"""Random programs of hooks: the same events, in order, with the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.answers.hook_programs import first_difference, play
from tests.answers.subject import Play, Subject

COUNT = 400


def programs(seeds: range) -> dict[str, Play]:
    return {f"from {seed // 50 * 50} on | {seed}": partial(play, seed=seed) for seed in seeds}


def agree(case: str, found: Any, expected: Any) -> Iterator[str]:
    if isinstance(found, list) and (difference := first_difference(expected, found)):
        yield difference
    elif not isinstance(found, list):
        yield f"the program failed: {found}"


SUBJECT = Subject("programs_of_hooks", programs(range(COUNT)), agree=agree)
