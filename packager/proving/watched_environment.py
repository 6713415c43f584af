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
_ALL: Final = "*"  # as exporting.EVERY_NAME, which this process need not import


class WatchedEnvironment:
    """Hides variables from code of the modules in `own`, and notes where it reads one of them."""

    def __init__(self, places: CodePlaces, hidden: Collection[str], own: Collection[str]) -> None:
        self.read: dict[str, ProofFrame] = {}
        self._places = places
        self._hidden = frozenset(hidden)
        self._own = frozenset(own)

    def watch(self) -> None:
        """Put a class of this object in the place of that of `os.environ`, which stays the same object."""
        watched = self
        plain: Any = type(os.environ)

        class Environ(plain):  # type: ignore[misc]  # a private class of the library
            def __getitem__(self, key: Any) -> Any:
                if key in watched._hidden and watched._is_own(sys._getframe(1), key):
                    raise KeyError(key)
                return super().__getitem__(key)

            def __iter__(self) -> Iterator[Any]:
                names: Iterator[Any] = super().__iter__()
                if not watched._hidden or not watched._is_own(sys._getframe(1), _ALL):
                    return names
                return (name for name in names if name not in watched._hidden)

        Environ.__name__, Environ.__qualname__, Environ.__module__ = plain.__name__, plain.__qualname__, "os"
        os.environ.__class__ = Environ

    def _is_own(self, frame: FrameType | None, name: str) -> bool:
        """Say whether code of the project asks, also by what reads for it; note the line if it does."""
        asking = frame
        while asking is not None and _top(asking) in _READ_FOR_OTHERS:
            asking = asking.f_back
        module = "" if asking is None else asking.f_globals.get("__name__")
        if not isinstance(module, str) or not is_mangled(module) or demangle(module) not in self._own:
            return False
        place = self._places.running(frame)
        if place is not None and name not in self.read:
            self.read[name] = place
        return True


def _top(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) else ""
