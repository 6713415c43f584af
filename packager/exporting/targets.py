"""Targets: what a user names on a command line as "package.module:name", imported or called here."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from packager.errors import PackageError
from packager.exits import AnswerRequired


class TargetError(PackageError, ValueError):
    """A target that is not spelled as one, is not there, or fails when it is called."""


def split_target(target: str) -> tuple[str, str]:
    """The module and the name of a target; the name is empty where there is none.

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
            raise TargetError(f"{what}: {error}") from error
        except Exception as error:  # whatever the user's module raises is told with its name
            raise TargetError(f"{what}: importing it failed: {type(error).__name__}: {error}") from error
        if not (inspect.isclass(found) or inspect.isroutine(found)):
            if kwargs:
                raise TargetError(f"{what} is an object, no factory: it takes no arguments")
            return found
        try:
            return found(**(kwargs or {}))
        except Exception as error:  # whatever the user's factory raises is told with its name
            raise TargetError(f"{what}: calling it failed: {type(error).__name__}: {error}") from error
