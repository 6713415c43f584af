"""A function of the user's own as a transform, by its name: what no other transform can do.

The name is one that an audit judges: a migration that comes out of an archive does not run it unless the
archive holds the function itself or the caller trusts it. It has no inverse, and what it does to shapes is
known only by running it, where the migration does not say.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import sys
import traceback
from collections.abc import Callable
from typing import Any

from packager.audit import resolve_name
from packager.errors import CodeExitError, CodeFailedError, PackageError
from packager.names import demangle, demangle_text
from packager.process import AnswerRequired
from packager.quick_dataclasses import dataclass, field, replace

from .keywords import takes_fields
from .transforms import TARGET, Answers, Header, Transform, TransformError, header_of

Find = Callable[[str, str], Any]


class FunctionError(TransformError, CodeFailedError):
    """A function that a migration names is not there, or raises."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a function is called: at which step and key, and with what beside the value."""

    where: str
    more: tuple[Any, ...] = ()


@takes_fields
@dataclass(frozen=True, slots=True)
class NamedFunction:
    """Call `module:name` with the value; what it returns is the new one.

    `result` may say what the shape will be; `"target"` stands for the one that the module has under the new
    name, and the function is then called with the value and that shape. Without it any shape and dtype may
    come out, and the plan shows the value as it was. `find` gets the module and the name, and gives the
    function. By default it imports as the code does that names
    the function: code out of an archive means the modules of its own archive, whatever is installed
    beside it, and what it declared.

    Raises TransformError for a name of another form; FunctionError when it is planned for one that is not
    there, and with the step and the key for a function that raises.

    >>> NamedFunction("math:sqrt").apply(4)
    2.0
    """

    name: str
    result: tuple[int, ...] | str | None = None
    find: Find | None = field(default=None, compare=False, repr=False)
    place: _Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.result, str) and self.result != TARGET:
            raise TransformError(f"result = {self.result!r}: expected a list of lengths, or {TARGET!r}")
        module, colon, name = self.name.partition(":")
        if not (module and colon and name):
            raise TransformError(f"function {self.name!r}: expected its name as 'package.module:name'")
        if self.find is None:
            object.__setattr__(self, "find", _as_the_caller_imports())

    def settled(self, asked: Answers) -> NamedFunction:
        """Return the same for one place: with the shape of the module, where that is asked for."""
        if self.result != TARGET:
            return replace(self, place=_Place(asked.where))
        shape = asked.shape()
        return replace(self, result=shape, place=_Place(asked.where, (shape,)))

    def header(self, before: Header) -> Header:
        self._function()
        shape = self._shape()
        return before if shape is None else Header(shape, before.dtype)

    def apply(self, value: Any) -> Any:
        """Call the function.

        Raises FunctionError where it raises, CodeExitError where it ends with `sys.exit()` or the like, and
        TransformError for another shape than `result`.
        """
        function, shape, place = self._function(), self._shape(), self.place or _Place("")
        try:
            with AnswerRequired(f"{self._where()}function {self.name!r}"):
                made = function(value, *place.more)
        except CodeExitError:
            raise
        except Exception as error:
            raise FunctionError(f"{self._what()} raised {_told(error)}") from error
        if hasattr(value, "shape") and not (hasattr(made, "shape") and hasattr(made, "dtype")):
            raise self._problem(f"returned {type(made).__name__}, not an array")
        if shape is None:
            return made
        found, wanted = header_of(made), replace(header_of(value), shape=shape)
        if found != wanted:
            raise self._problem(f"made {found}; the migration says {wanted}")
        return made

    def _shape(self) -> tuple[int, ...] | None:
        if isinstance(self.result, str):
            raise TransformError(f"result = {self.result!r}: it asks the module, as a transform of a rename")
        return self.result

    def _problem(self, what: str) -> TransformError:
        return TransformError(f"{self._what()} {what}")

    def _what(self) -> str:
        return f"{self._where()}function {self.name!r}"

    def _where(self) -> str:
        return f"{self.place.where}: " if self.place is not None else ""

    def inverse(self) -> Transform | None:
        return None

    def _function(self) -> Any:
        module, _, name = self.name.partition(":")
        assert self.find is not None
        try:
            with AnswerRequired(f"{self._where()}importing {module} for {self.name!r}"):
                function = self.find(module, name)
        except (ImportError, AttributeError) as error:
            why = "'".join(map(demangle, str(error).split("'")))  # by names that the reader knows
            raise FunctionError(f"function {self.name!r} was not found: {why}") from error
        except PackageError:  # it may not be imported
            raise
        except Exception as error:
            what = f"{self._what()} was not found: importing {module} raised {_told(error)}"
            raise FunctionError(what) from error
        if not callable(function):
            raise TransformError(f"{self.name!r} is {type(function).__name__}, not a function")
        return function


def find_function(module: str, name: str) -> Any:
    """Return the function `name` of a module. Raises ImportError and AttributeError where it is not there."""
    return resolve_name(importlib.import_module(module), name)


def _as_the_caller_imports() -> Find:
    """Return what finds functions as the code outside of this package does that is asking now.

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


def _told(error: BaseException) -> str:
    """Return an error of a function in one line, with the place in the function's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if len(frames) > 1 else None  # the first one is ours
    where = "" if last is None else f" ({last.filename}, line {last.lineno})"
    text = f": {error}" if str(error) else ""
    return demangle_text(f"{type(error).__name__}{text}{where}")
