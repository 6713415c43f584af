"""A transform by a function of the user's own, by its name: what no other transform can say.

The name is one that an audit judges: a migration that comes out of an archive does not run it unless
the archive holds the function itself or the caller trusts it. A function has no inverse, and what it
does to shapes is known only by running it; so a plan shows its values as they were.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from packager.names import demangle
from packager.objects import resolve_name

from .transforms import Header, Transform, TransformError, header_of

Find = Callable[[str, str], Any]


def find_function(module: str, name: str) -> Any:
    """The function of that name in a module that is imported. Raises ImportError and AttributeError."""
    return resolve_name(importlib.import_module(module), name)


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """Call `module:name` with the value; what it returns is the new one.

    `result` may say what the shape will be; without it the plan takes it to stay the same. `find` gets
    the module and the name, and gives the function. By default it imports as the code does that names
    the function: code out of an archive means the modules of its own archive, whatever is installed
    beside it, and what it declared.

    Raises TransformError for a name of another form, and when it is planned for one that is not there.
    """

    name: str
    result: tuple[int, ...] | None = None
    find: Find | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        module, colon, name = self.name.partition(":")
        if not (module and colon and name):
            raise TransformError(f"function {self.name!r}: expected its name as 'package.module:name'")
        if self.find is None:
            object.__setattr__(self, "find", _as_the_caller_imports())

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
        assert self.find is not None
        try:
            function = self.find(module, name)
        except (ImportError, AttributeError) as error:
            why = "'".join(map(demangle, str(error).split("'")))  # by names that the reader knows
            raise TransformError(f"function {self.name!r} was not found: {why}") from error
        if not callable(function):
            raise TransformError(f"{self.name!r} is {type(function).__name__}, not a function")
        return function


def _as_the_caller_imports() -> Find:
    """What finds functions as the code outside of this package does that is asking now.

    Code out of an archive has an `__import__` of its own. Migrations that it reads from a file, or makes by
    functions of this package, are its own too, so it is the first frame above all of these that counts.
    """
    own = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == own:
        frame = frame.f_back
    found = frame.f_builtins.get("__import__", builtins.__import__)
    return find_function if found is builtins.__import__ else functools.partial(_find_by, found)


def _find_by(imported: Callable[..., Any], module: str, name: str) -> Any:
    # With a name that every module has, the module itself is the answer, and nothing else is imported.
    return resolve_name(imported(module, None, None, ("__name__",), 0), name)
