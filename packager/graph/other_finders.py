"""The finders that others put on `sys.meta_path`, asked for modules that Python's own do not find.

What one does not find it may find the next time, so that answer is noted (`packager.seen`), and the finder is
asked again where a plan is to be used that was made so. What one does find is never remembered.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from packager import seen


def ask_finder(finder: Any, name: str, *where: Any) -> Any:
    """Return the spec that a foreign finder gives, None where it has none or fails."""
    try:
        return finder.find_spec(name, *where)
    except Exception:  # a foreign finder may raise anything; then it has not found the module
        return None


def ask_noted(finder: Any, place: int, name: str, where: Sequence[str] | None) -> Any:
    """Return the spec that a finder gives, and note where it gives none; `place` is its on `sys.meta_path`.

    `where` are the folders of the package that holds the module; None at the top.
    """
    spec = ask_finder(finder, name, None if where is None else [*where])
    if spec is None:
        seen.note_answer("finder", "\0".join([str(place), name, *(where or ())]), "")
    else:
        seen.refuse(f"{name} is found by {type(finder).__qualname__}")
    return spec


def finder_answer(asked: str) -> str:
    """Return "" where a finder gives no spec for what was noted, else the kind of what it gives."""
    place, name, *where = asked.split("\0")
    if int(place) >= len(sys.meta_path):
        return "gone"
    spec = ask_finder(sys.meta_path[int(place)], name, where if "." in name else None)
    return "" if spec is None else type(spec).__qualname__
