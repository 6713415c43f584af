"""A transform by a function of the user's own, by its name: what no other transform can say.

The name is one that an audit judges: a migration that comes out of an archive does not run it unless
the archive holds the function itself or the caller trusts it. A function has no inverse, and what it
does to shapes is known only by running it; so a plan shows its values as they were.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .transforms import Header, Transform, TransformError, header_of

__all__ = ["NamedFunction"]


def find_function(module: str, name: str) -> Any:
    """The function of that name in a module that is imported. Raises ImportError and AttributeError."""
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """Call `module:name` with the value; what it returns is the new one.

    `result` may say what the shape will be; without it the plan takes it to stay the same. `find`
    gets the module and the name, and gives the function: an archive looks for its own.

    Raises TransformError for a name of another form, and when it is planned for one that is not there.
    """

    name: str
    result: tuple[int, ...] | None = None
    find: Callable[[str, str], Any] = field(default=find_function, compare=False, repr=False)

    def __post_init__(self) -> None:
        module, colon, name = self.name.partition(":")
        if not (module and colon and name):
            raise TransformError(f"function {self.name!r}: expected its name as 'package.module:name'")

    def header(self, before: Header) -> Header:
        self._function()
        return before if self.result is None else Header(self.result, before.dtype)

    def apply(self, value: Any) -> Any:
        made = self._function()(value)
        if self.result is not None and header_of(made).shape != self.result:
            raise TransformError(
                f"function {self.name!r} made a value of shape {list(header_of(made).shape)}; the migration "
                f"says {list(self.result)}"
            )
        return made

    def inverse(self) -> Transform | None:
        return None

    def _function(self) -> Any:
        module, _, name = self.name.partition(":")
        try:
            function = self.find(module, name)
        except (ImportError, AttributeError) as error:
            raise TransformError(f"function {self.name!r} was not found: {error}") from error
        if not callable(function):
            raise TransformError(f"{self.name!r} is {type(function).__name__}, not a function")
        return function
