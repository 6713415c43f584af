"""The environment in the clean process: what code of the project reads by names that no look at it shows.

`os.environ[f"{prefix}{name}"]`, a loop over `os.environ.items()` and libraries that read settings for a class
of the project do so. Such code finds no variables there but those of every machine, as elsewhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from types import FrameType
from typing import Any, Final

from packager.names import demangle, is_mangled

from .proof import ProofFrame
from .watching import CodePlaces

# What reads for its caller: of the library, and of others whose work it is.
_READ_FOR_OTHERS: Final = frozenset(
    "os collections posixpath ntpath genericpath pydantic pydantic_settings pydantic_core decouple environs "
    "environ dynaconf dotenv starlette omegaconf hydra click typer".split()
)
EVERY_NAME: Final = "*"
"""What stands for all variables, where code goes through them."""


class WatchedEnvironment:
    """Hides variables from code of the modules in `own`, and notes where it reads one of them.

    With `notes_all` it hides them from all stored code, and notes what that reads of variables that are not
    set, too, and which ones it sets.
    """

    def __init__(
        self, places: CodePlaces, hidden: Collection[str], own: Collection[str], *, notes_all: bool = False
    ) -> None:
        self.read: dict[str, ProofFrame] = {}
        self.set: dict[str, ProofFrame] = {}
        self._notes_all = notes_all
        self._places = places
        self._hidden = {*hidden}
        self._own = frozenset(own)

    def watch(self) -> None:
        """Put a class of this object in the place of that of `os.environ`, which stays the same object."""
        watched = self
        plain: Any = type(os.environ)

        class Environ(plain):  # type: ignore[misc]  # a private class of the library
            def __getitem__(self, key: Any) -> Any:
                if key in watched._hidden and watched._is_own(sys._getframe(1), key, watched.read):
                    raise KeyError(key)
                try:
                    return super().__getitem__(key)
                except KeyError:
                    if watched._notes_all and isinstance(key, str):
                        watched._is_own(sys._getframe(1), key, watched.read)
                    raise

            def __setitem__(self, key: Any, value: Any) -> None:
                super().__setitem__(key, value)
                if key in watched._hidden:  # where code sets it by itself, as it did here
                    watched._hidden.discard(key)
                    watched.read.pop(key, None)
                if watched._notes_all:
                    watched._is_own(sys._getframe(1), key, watched.set)

            def __delitem__(self, key: Any) -> None:
                super().__delitem__(key)
                if watched._notes_all:
                    watched._is_own(sys._getframe(1), key, watched.set)

            def __iter__(self) -> Iterator[Any]:
                names: Iterator[Any] = super().__iter__()
                if not watched._hidden or not watched._is_own(sys._getframe(1), EVERY_NAME, watched.read):
                    return names
                return (name for name in names if name not in watched._hidden)

        Environ.__name__, Environ.__qualname__, Environ.__module__ = plain.__name__, plain.__qualname__, "os"
        os.environ.__class__ = Environ

    def _is_own(self, frame: FrameType | None, name: str, noted: dict[str, ProofFrame]) -> bool:
        """Say whether code of the project asks, also by what reads for it; note the line if it does."""
        asking = frame
        while asking is not None and _top(asking) in _READ_FOR_OTHERS:
            asking = asking.f_back
        module = "" if asking is None else asking.f_globals.get("__name__")
        if not isinstance(module, str) or not is_mangled(module):
            return False
        if not self._notes_all and demangle(module) not in self._own:
            return False
        place = self._places.running(frame)
        if place is not None and name not in noted:
            noted[name] = place
        return True


def _top(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) else ""
