"""What a user names on a command line: an object or factory as "package.module:name", and its weights."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module

from packager.errors import PackageError
from packager.process import AnswerRequired, failure_of_model, place_in_model

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any


class TargetError(PackageError, ValueError):
    """A target that is not spelled as one, is not there, or fails when it is called."""


def split_target(target: str) -> tuple[str, str]:
    """Split a target into module and name; the name is empty where there is none.

    Raises TargetError for a text that is not spelled as a target.

    >>> split_target("mypkg.models:build")
    ('mypkg.models', 'build')
    """
    module, colon, name = target.partition(":")
    if not module or (colon and not name):
        raise TargetError(f"target {target!r}: expected package.module or package.module:name")
    return module, name


def put_folder_on_path() -> None:
    """Let targets in the current folder be found, as `python -m` does."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def resolve_target(target: str, kwargs: Mapping[str, Any] | None = None) -> Any:
    """Import what `target` names. A class or function is a factory and called with `kwargs`.

    Raises TargetError where it is not there, where `kwargs` are given for something that is no
    factory, and where its code fails; the error behind it is the cause. Raises CodeExitError where the
    code ends with `sys.exit()` or the like.
    """
    module, name = split_target(target)
    if not name:
        raise TargetError(f"target {target!r} is a module: name the object or factory, as {target}:name")
    what = f"target {target}"
    with AnswerRequired(what):
        try:
            found: Any = import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise TargetError(f"{what}: {error}{place_in_model(error)}") from error
        except Exception as error:  # whatever the user's module raises is told with its name
            raise _failed(f"{what}: importing it failed", error) from error
        import inspect  # most commands make nothing

        if not (inspect.isclass(found) or inspect.isroutine(found)):
            if kwargs:
                raise TargetError(f"{what} is an object, no factory: it takes no arguments")
            return found
        try:
            return found(**(kwargs or {}))
        except Exception as error:  # whatever the user's factory raises is told with its name
            raise _failed(f"{what}: calling it failed", error) from error


def _failed(what: str, error: Exception) -> TargetError:
    return TargetError(f"{what}: {failure_of_model(error)}")


class WeightsError(PackageError, ValueError):
    """An object that takes no weights."""


def load_weights(module: Any, path: str | os.PathLike[str]) -> None:
    """Load the state dict in a file into `module`, strictly, by its own `load_state_dict`.

    The file has any format that `packager.weights.open_checkpoint` knows.

    Raises WeightsError for an object that takes none, LegacyFormatError for other files, and what
    `load_state_dict` raises for keys and shapes that do not fit.
    """
    from packager.migrations import load_checkpoint  # NumPy is not needed to find what a name means

    if not callable(getattr(module, "load_state_dict", None)):
        raise WeightsError(f"{type(module).__name__} takes no weights: it has no load_state_dict()")
    load_checkpoint(module, path)
