"""A transform by a function of the user's own, by its name: what no other transform can say.

The name is one that an audit judges: a migration that comes out of an archive does not run it unless
the archive holds the function itself or the caller trusts it. A function has no inverse, and what it
does to shapes is known only by running it; so a plan shows its values as they were.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from packager.errors import MigrationError

from .transforms import Header, Transform

__all__ = ["NamedFunction"]


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """Call `module:name` with the value; what it returns is the new one.

    `result` may say what the shape will be; without it the plan takes it to stay the same.
    """

    name: str
    result: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        module, colon, name = self.name.partition(":")
        if not (module and colon and name):
            raise MigrationError(f"function {self.name!r}: expected its name as 'package.module:name'")

    def header(self, before: Header) -> Header:
        return before if self.result is None else Header(self.result, before.dtype)

    def apply(self, value: Any) -> Any:
        module, _, name = self.name.partition(":")
        try:
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise MigrationError(f"function {self.name!r} of a migration was not found: {error}") from error
        return function(value)

    def inverse(self) -> Transform | None:
        return None
