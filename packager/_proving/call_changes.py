"""What a call changes on modules: they are looked at before and after, and nothing of them runs.

Caches may be filled or not, so they are not told. Nothing is known of a value that is too large.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Final

from .differences import EMPTY, each_once, is_cache, line_of, seen_on
from .proof import Difference, Kind, Seen, cut_to_differ
from .values import UNKNOWN, Texts

_MOST_VALUES: Final = 10_000
_MOST_BYTES: Final = 2**14
_NOT_SET: Final = "not set"
_COPYING: Final = ("__getstate__", "__deepcopy__", "__copy__", "__reduce__", "__reduce_ex__")


class CallWatch:
    """Modules that calls may change: `sources` are file and text of each, by name.

    >>> CallWatch({}).changes()
    []
    """

    def __init__(self, sources: Mapping[str, tuple[str, bytes]]) -> None:
        self._sources = sources
        self._told: set[str] = set()
        self._before: Seen = {}

    def look(self) -> None:
        """Take what is there now for what is there before a call."""
        self._before = _look(self._sources)

    def changes(self) -> list[str]:
        """Return what has changed since the last look and was not told before, each with its place."""
        after = _look(self._sources)
        found = [(0, one) for home in after for one in self._changed(home, after[home])]
        told = [one for _, one in each_once(found) if one.place not in self._told]
        self._told.update(one.place for one in told)
        return [*map(_text, told)]

    def _changed(self, home: str, after: Mapping[str, tuple[str, Kind]]) -> Iterator[Difference]:
        before, (file, source) = self._before.get(home), self._sources[home]
        if before == after or not (before and after):
            return  # without one, the call has imported it, or there are too many places
        text = source.decode("utf-8", "replace")
        words = set(re.findall(r"\w+", text)) if home == "__main__" else None
        changed: list[str] = []
        for name in sorted(before.keys() | after.keys()):
            was, now = (seen.get(name, (_NOT_SET, "object"))[0] for seen in (before, after))
            first, last = re.split(r"\W", name)[0], name.rpartition(".")[2]
            if was == now or UNKNOWN in (was, now) or name.endswith("()") or is_cache(last):
                continue
            if words is not None and first not in words:
                continue  # a script holds much that is not stored
            if not any(name.startswith((f"{outer}.", f"{outer}(")) for outer in changed):
                changed.append(name)
                yield Difference(f"{home}.{name}", was, now, file, line_of(text, name))

    def suspects(self, obj: object) -> Iterator[str]:
        """Yield what the modules of an object's package keep that a copy does not get.

        These are methods that say what a copy holds, caches, weak containers, and dicts by the object's id.
        """
        top = type(obj).__module__.partition(".")[0]
        of_object = [name for name in sorted(sys.modules) if name.partition(".")[0] == top != "builtins"]
        own = {f"{base.__module__}.{base.__qualname__}" for base in type(obj).__mro__}
        for home, seen in _look(of_object).items():
            for name, (text, kind) in seen.items():
                place = f"{home}.{name}"
                outer, _, last = place.rpartition(".")
                if last in _COPYING and outer in own:
                    yield f"{place} defines what a copy holds"
                elif kind == "size" and text != EMPTY:
                    yield f"{place.removesuffix('.cache_info()')} is a cache of {text}"
                elif text.startswith("weakref.Weak") and not text.endswith(" of 0"):
                    yield f"{place} is a {text.removeprefix('weakref.')}"
                elif text.startswith("{") and re.search(rf"[{{ ]{id(obj)}: ", text):
                    yield f"{place} has the id of the object among its keys"


def _look(names: Iterable[str]) -> Seen:
    modules = {name: sys.modules.get(name) for name in names}
    loaded = {name: module for name, module in modules.items() if type(module) is ModuleType}
    texts = Texts({name.partition(".")[0] for name in loaded}, most=_MOST_VALUES, most_bytes=_MOST_BYTES)
    return seen_on(loaded, lambda name, module: texts)


def _text(one: Difference) -> str:
    was, now = cut_to_differ(one.here, one.there), cut_to_differ(one.there, one.here)
    return f"{one.place} ({was} -> {now}), {one.file}" + (f":{one.line}" if one.line else "")
