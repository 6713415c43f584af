"""A row of the list of what may run: patterns of names, and why what they name is inert."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property


@dataclass(frozen=True)
class Row:
    """What one step of a load, one kind of record, or one codec may call.

    `calls` are patterns of names, `makes` the classes in C that are called, `on` says on which exact types
    all of it works, `why` why it is inert. `trusted` are calls that data alone does not lead to: only where
    the caller trusts a name by `trust=`.
    """

    where: str
    calls: str = ""
    makes: str = ""
    on: str = ""
    why: str = ""
    trusted: str = ""

    def allows(self, name: str, *, trusted: bool = False) -> bool:
        """Say whether a function of this name may be called."""
        return any(pattern.fullmatch(name) for pattern in self._patterns[: None if trusted else 1])

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        """The patterns of data alone, then those of what is trusted."""
        return [
            re.compile("|".join(translate(name) for name in names.split()) or "(?!)")
            for names in (self.calls, self.trusted)
        ]
